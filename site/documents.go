package site

import (
	"github.com/valyala/quicktemplate"

	"ninepocket/engine"
)

// AppendGuide appends /llms.txt, the guide for agents.
func (p *Pages) AppendGuide(dst []byte) []byte { return render(dst, p.streamguide) }

// AppendRobots appends /robots.txt.
func (p *Pages) AppendRobots(dst []byte) []byte { return render(dst, p.streamrobots) }

// perSitemap is the number of cards in one file of the sitemap; the protocol allows 50,000.
const perSitemap = 5000

// sitemaps returns the number of files of the sitemap. There is one even without any card.
func sitemaps(v *engine.View) int { return max((v.Catalog.Cards.ID.Len()+perSitemap-1)/perSitemap, 1) }

// AppendSitemapIndex appends the list of the files of the sitemap.
func (p *Pages) AppendSitemapIndex(dst []byte, v *engine.View) []byte {
	return render(dst, func(w *quicktemplate.Writer) { p.streamsitemapIndex(w, sitemaps(v)) })
}

// AppendSitemap appends file n of the sitemap, from 1; it returns false if there is none. The first
// file has the sets and the sealed products, too.
func (p *Pages) AppendSitemap(dst []byte, v *engine.View, n int) ([]byte, bool) {
	if n < 1 || n > sitemaps(v) {
		return dst, false
	}
	return render(dst, func(w *quicktemplate.Writer) { streamsitemap(w, v, n) }), true
}
