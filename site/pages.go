package site

import (
	"embed"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strings"
	"time"

	"ninepocket/engine"
	"ninepocket/snapshot"
)

//go:embed templates
var templateFiles embed.FS

// Options say where pages lead.
type Options struct {
	// BaseURL is what clients reach the service by, without a slash at the end. Its path begins every link of a page.
	BaseURL string
}

// Pages renders pages. It is immutable and safe for concurrent use.
type Pages struct {
	base      string                        // BaseURL
	root      string                        // its path: what links within the site begin with
	templates map[string]*template.Template // by the name of their file, without .html
	assets    *assets
}

// New parses the templates and prepares the assets.
func New(o Options) (*Pages, error) {
	base, err := url.Parse(o.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("cannot make pages for base URL %q: %w", o.BaseURL, err)
	}
	p := &Pages{
		base: strings.TrimSuffix(o.BaseURL, "/"), root: strings.TrimSuffix(base.EscapedPath(), "/"),
		templates: map[string]*template.Template{},
	}
	p.assets, err = readAssets(p.root)
	if err != nil {
		return nil, err
	}

	// Every page is the frame with parts of its own.
	frame := template.New("frame")
	for _, name := range []string{"frame", "parts"} {
		if err := p.parse(frame, name); err != nil {
			return nil, err
		}
	}

	for _, name := range []string{"home", "card", "set", "sets", "search", "movers", "error", "errors", "message"} {
		page, err := frame.Clone()
		if err == nil {
			err = p.parse(page, name)
		}
		if err != nil {
			return nil, err
		}
		p.templates[name] = page
	}

	// The reference has nothing of the frame.
	reference := template.New("frame")
	p.templates["reference"] = reference
	err = p.parse(reference, "reference")
	return p, err
}

// parse adds a file of templates to t. What is the same for every page, as [[root]] and the paths of [[assets]], is put
// in before parsing: it costs nothing afterwards.
func (p *Pages) parse(t *template.Template, name string) error {
	text, err := templateFiles.ReadFile("templates/" + name + ".html")
	if err != nil {
		return fmt.Errorf("cannot read template %q: %w", name, err)
	}

	constants := []string{"[[root]]", template.HTMLEscapeString(p.root)}
	for file := range p.assets.files {
		constants = append(constants, "[["+file+"]]", template.HTMLEscapeString(p.assets.path(file)))
	}
	if _, err := t.Parse(strings.NewReplacer(constants...).Replace(string(text))); err != nil {
		return fmt.Errorf("cannot parse template %q: %w", name, err)
	}
	return nil
}

// Root is the path of the base URL, "" for none: what every link within the site begins with.
func (p *Pages) Root() string { return p.root }

// sink lets a template append to a slice.
type sink struct{ b []byte }

func (s *sink) Write(b []byte) (int, error) {
	s.b = append(s.b, b...)
	return len(b), nil
}

// render appends a page.
func (p *Pages) render(dst []byte, name string, data any) ([]byte, error) {
	w := sink{dst}
	if err := p.templates[name].ExecuteTemplate(&w, "frame", data); err != nil {
		return dst, fmt.Errorf("cannot render page %q: %w", name, err)
	}
	return w.b, nil
}

// frame is what every page has.
type frame struct {
	Title       string // of the page alone
	Description string
	Canonical   string // absolute, "" for none
	Image       string // absolute URL for link previews, "" for none
	Kind        string // Open Graph's type
	Hidden      bool   // search engines are asked not to list the page
	Query       string // in the search box
	Hero        bool   // the page has the search box in its middle
	AsOf        moment // of the catalog; zero without one
	Old         bool   // the catalog itself is old
	Credits     []string
	Data        any // structured data, nil for none
}

// frame makes the frame of a page; v may be nil.
func (p *Pages) frame(v *engine.View, now time.Time, title, description string) frame {
	f := frame{Title: title, Description: description, Kind: "website"}
	if v == nil {
		return f
	}

	at := v.Catalog.SnapshotAt
	f.AsOf = momentOf(at)
	f.Old = !snapshot.Fresh(at, now.UnixMilli())
	f.Credits = credits(v.Catalog)
	return f
}

// credits are the feeds' attributions, each once.
func credits(c *snapshot.Catalog) []string {
	var all []string
	for i := range c.Feeds.Attribution.Len() {
		if credit := c.Feeds.Attribution.At(i); !slices.Contains(all, credit) {
			all = append(all, credit)
		}
	}
	return all
}

// canonical is the public address of a page, which --site-url may put on another site.
func canonical(v *engine.View, path string) string { return v.Site().URL + path }

func (p *Pages) cardLink(slug string) string { return p.root + "/cards/" + slug }
func (p *Pages) setLink(slug string) string  { return p.root + "/sets/" + slug }

// game is the name of a game, and where its sets are.
func (p *Pages) game(c *snapshot.Catalog, game int) (name, link string) {
	return c.Games.Name.At(game), p.root + "/sets?game=" + c.Games.Slug.At(game)
}

// imagePath is where a card's image is on this site, "" without one.
func (p *Pages) imagePath(v *engine.View, card int) string {
	file := v.Catalog.Cards.Image.At(card)
	if !v.Site().Shows(file) {
		return ""
	}
	return p.root + "/images/" + url.PathEscape(file)
}
