package site

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/bytebufferpool"
	"github.com/valyala/quicktemplate"

	"ninepocket/engine"
	"ninepocket/snapshot"
)

// Options say where pages lead.
type Options struct {
	// BaseURL is what clients reach the service by, without a slash at the end. Its path begins every link of a page.
	BaseURL string
	// Version is what a picture is now, as the names of its small copies have it, "" where it has
	// none. It is nil where nothing has small copies.
	Version func(file string) string
	// Document is the OpenAPI document, which the reference shows; nil for a reference without
	// operations.
	Document []byte
}

// Pages renders pages. It is immutable and safe for concurrent use.
type Pages struct {
	base   string            // BaseURL
	root   string            // its path: what links within the site begin with
	assets map[string]*Asset // by the names of their files

	version      func(file string) string
	groups       []group // of the reference
	suggestIndex suggestIndex
}

// New prepares the assets.
func New(o Options) (*Pages, error) {
	base, err := url.Parse(o.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("cannot make pages for base URL %q: %w", o.BaseURL, err)
	}

	// Links begin with the path alone, so that a page works by every name that leads to the server.
	root := strings.TrimSuffix(base.EscapedPath(), "/")
	assets, err := readAssets(root)
	if err != nil {
		return nil, err
	}
	groups, err := readReference(o.Document)
	if err != nil {
		return nil, err
	}
	if o.Version == nil {
		o.Version = func(string) string { return "" }
	}
	return &Pages{
		groups: groups, base: strings.TrimSuffix(o.BaseURL, "/"), root: root, assets: assets, version: o.Version,
	}, nil
}

// Root is the path of the base URL, "" for none: what every link within the site begins with.
func (p *Pages) Root() string { return p.root }

// pageLayout is what every page has beside its content. The parts that several pages share are its
// templates.
type pageLayout struct {
	*Pages
	view *engine.View // nil when no catalog is loaded

	title       string // of the page alone
	description string
	canonical   string // absolute, "" for none
	image       string // absolute URL for link previews, "" for none
	kind        string // Open Graph's type
	data        []byte // structured data, escaped for a script element; nil for none
	script      string // of this kind of page, a file of assets; "" for none
	hidden      bool   // search engines are asked not to list the page
	hero        bool   // the page has the search box in its middle
	query       string // in the search box
	asOf        moment // of the catalog
	old         bool   // the catalog itself is old
}

// pageLayout makes the frame of a page; v may be nil.
func (p *Pages) newLayout(v *engine.View, now time.Time, title, description string) pageLayout {
	frame := pageLayout{Pages: p, view: v, title: title, description: description, kind: "website"}

	// Pages about errors are there before any catalog is.
	if v != nil {
		at := v.Catalog.SnapshotAt
		frame.asOf = momentOf(at)
		frame.old = !snapshot.Fresh(at, now.UnixMilli())
	}
	return frame
}

func (f *pageLayout) head() *pageLayout { return f }

// page is a frame with a content, which is the template of that name.
type page interface {
	head() *pageLayout
	streamcontent(w *quicktemplate.Writer)
}

// appendPage appends a page. Templates are compiled, so that nothing of a page can fail.
func appendPage(dst []byte, page page) []byte {
	return render(dst, func(w *quicktemplate.Writer) { streamdocument(w, page) })
}

// render appends what a template writes.
func render(dst []byte, write func(*quicktemplate.Writer)) []byte {
	out := bytebufferpool.ByteBuffer{B: dst}
	w := quicktemplate.AcquireWriter(&out)
	write(w)
	quicktemplate.ReleaseWriter(w)

	// HTML has no spelling for NUL, and the escaping of templates leaves it as it is.
	if written := out.B[len(dst):]; bytes.IndexByte(written, 0) >= 0 {
		return append(dst, bytes.ReplaceAll(written, []byte{0}, []byte("\uFFFD"))...)
	}
	return out.B
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

// setsLink is where a page of the list of sets is, of one game or of "" for all.
func (p *Pages) setsLink(game string, page int) string {
	return pageAddress(p.root+"/sets", page, param{"game", game})
}

// param is a query parameter; "" leaves it out.
type param struct{ name, value string }

// pageAddress is a path with query parameters; the first page of a list has no parameter of its
// own.
func pageAddress(path string, page int, params ...param) string {
	query := url.Values{}
	for _, param := range params {
		if param.value != "" {
			query.Set(param.name, param.value)
		}
	}
	if page > 1 {
		query.Set("page", strconv.Itoa(page))
	}

	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}
