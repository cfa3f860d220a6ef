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

	"ninepocket/cardvocab"
	"ninepocket/engine"
	"ninepocket/snapshot"
)

// Options configure Pages.
type Options struct {
	// BaseURL is the URL of the service for clients, without a slash at the end. Every link of a
	// page begins with its path.
	BaseURL string
	// Version returns the version of a picture, which is part of the names of its thumbnails; "" if
	// it has none. It is nil if there are no thumbnails.
	Version func(file string) string
	// Document is the OpenAPI document that the reference shows; nil for a reference without
	// operations.
	Document []byte
}

// Pages renders pages. It is immutable and safe for concurrent use.
type Pages struct {
	base   string            // BaseURL
	root   string            // its path, the start of every link within the site
	assets map[string]*Asset // by file name

	version func(file string) string
	groups  []group // of the reference
	release string  // of the program, as the reference names it
	names   perView[*cardvocab.Suggester]
	home    perView[homePages]
	moves   perView[[]gameMoves]
	sealed  perView[sealedNames]
}

// New returns Pages with all assets.
func New(o Options) (*Pages, error) {
	base, err := url.Parse(o.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("cannot make pages for base URL %q: %w", o.BaseURL, err)
	}

	// Links begin with the path alone, so that a page works with every host name of the server.
	root := strings.TrimSuffix(base.EscapedPath(), "/")
	assets, err := readAssets(root)
	if err != nil {
		return nil, err
	}
	groups, release, err := readReference(o.Document)
	if err != nil {
		return nil, err
	}
	if o.Version == nil {
		o.Version = func(string) string { return "" }
	}
	return &Pages{
		groups: groups, release: release, base: strings.TrimSuffix(o.BaseURL, "/"), root: root, assets: assets,
		version: o.Version,
	}, nil
}

// Root returns the path of the base URL, "" for none. Every link within the site begins with it.
func (p *Pages) Root() string { return p.root }

// pageLayout is the part of every page around its content. Its templates are shared by several
// pages.
type pageLayout struct {
	*Pages
	view *engine.View // nil when no catalog is loaded

	title       string // of the page alone
	description string
	canonical   string // absolute, "" for none
	image       string // absolute URL for link previews, "" for none
	kind        string // Open Graph's type
	data        []byte // structured data, escaped for a script element; nil for none
	script      string // file of an asset for this kind of page; "" for none
	skip        string // where the first link leads: skipToResults, or "" for the content
	hidden      bool   // search engines shall not list the page
	hero        bool   // the page has the search box in its middle
	query       string // text in the search box
	asOf        moment // of the catalog
	old         bool   // the catalog itself is old
}

// skipToResults is the id of the results of a page, which come after its filters.
const skipToResults = "results"

// newLayout makes the layout of a page; v may be nil.
func (p *Pages) newLayout(v *engine.View, now time.Time, title, description string) pageLayout {
	layout := pageLayout{Pages: p, view: v, title: title, description: description, kind: "website"}

	// Pages about errors work without a catalog.
	if v != nil {
		at := v.Catalog.SnapshotAt
		layout.asOf = momentOf(at)
		layout.old = !snapshot.Fresh(at, now.UnixMilli())
	}
	return layout
}

func (f *pageLayout) head() *pageLayout { return f }

// page is a layout with content, which is the template of that name.
type page interface {
	head() *pageLayout
	streamcontent(w *quicktemplate.Writer)
}

// appendPage appends a page. It cannot fail, because templates are compiled.
func appendPage(dst []byte, page page) []byte {
	return render(dst, func(w *quicktemplate.Writer) { streamdocument(w, page) })
}

// render appends the output of a template.
func render(dst []byte, write func(*quicktemplate.Writer)) []byte {
	out := bytebufferpool.ByteBuffer{B: dst}
	w := quicktemplate.AcquireWriter(&out)
	write(w)
	quicktemplate.ReleaseWriter(w)

	// HTML cannot encode NUL, and templates do not escape it.
	if written := out.B[len(dst):]; bytes.IndexByte(written, 0) >= 0 {
		return append(dst, bytes.ReplaceAll(written, []byte{0}, []byte("\uFFFD"))...)
	}
	return out.B
}

// credits returns the feeds' attributions, each once.
func credits(c *snapshot.Catalog) []string {
	var all []string
	for i := range c.Feeds.Attribution.Len() {
		if credit := c.Feeds.Attribution.At(i); !slices.Contains(all, credit) {
			all = append(all, credit)
		}
	}
	return all
}

// canonical returns the public URL of a page, which --site-url may put on another site.
func canonical(v *engine.View, path string) string { return v.Site().URL + path }

func (p *Pages) cardLink(slug string) string { return p.root + "/cards/" + slug }
func (p *Pages) setLink(slug string) string  { return p.root + "/sets/" + slug }

// setsLink returns the URL of the list of sets of a game.
func (p *Pages) setsLink(game string) string {
	return pageAddress(p.root+"/sets", 1, param{"game", game})
}

// param is a query parameter; it is left out if its value is "".
type param struct{ name, value string }

// pageAddress returns a path with query parameters by name; the first page of a list has no page
// parameter.
func pageAddress(path string, page int, params ...param) string {
	if page > 1 {
		params = append(params, param{"page", strconv.Itoa(page)})
	}
	slices.SortFunc(params, func(a, b param) int { return strings.Compare(a.name, b.name) })

	address := append(make([]byte, 0, 128), path...)
	separator := byte('?')
	for _, param := range params {
		if param.value != "" {
			address = append(append(append(address, separator), param.name...), '=')
			address = append(address, url.QueryEscape(param.value)...)
			separator = '&'
		}
	}
	return string(address)
}
