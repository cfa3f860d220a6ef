package server

import (
	"bytes"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ninepocket/engine"
	"ninepocket/internal/testsweep"
	"ninepocket/site"
	"ninepocket/snapshot"
	"ninepocket/wire"
	"ninepocket/wire/openapi"
)

// sitePages are the pages of all worlds that have some: nothing changes in them.
var sitePages = sync.OnceValues(func() (*site.Pages, error) {
	document, err := openapi.Render(baseURL, "", openapi.Both)
	if err != nil {
		return nil, err
	}
	return site.New(site.Options{BaseURL: baseURL, Document: document})
})

// siteWorld is a world with pages, whose caller says who it is by X-Forwarded-For.
func siteWorld(tb testing.TB, change func(*setup)) *world {
	tb.Helper()
	pages, err := sitePages()
	if err != nil {
		tb.Fatal(err)
	}

	s := setup{options: func(o *Options) {
		o.Pages = pages
		o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/32")} // the in-memory connection
	}}
	if change != nil {
		change(&s)
	}
	return newWorld(tb, s)
}

// sharedSite is the world with pages of all tests that change nothing in it.
var sharedSite = sync.OnceValue(func() *world { return siteWorld(forever{}, nil) })

var visits atomic.Uint32

// anybody is the header line of a new visitor, with its own limit.
func anybody() string {
	n := visits.Add(1)
	return fmt.Sprintf("X-Forwarded-For: 10.%d.%d.%d", byte(n>>16), byte(n>>8), byte(n))
}

// page asks for a page, each time from another address.
func (w *world) page(tb testing.TB, target string, header ...string) reply {
	tb.Helper()
	r, err := w.send(request{method: http.MethodGet, target: target, header: append([]string{anybody()}, header...)})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

var inlinePattern = regexp.MustCompile(`(?i)\sstyle=|<style|\son[a-z]+=|javascript:|<script>|<script (?:[^s>]|` +
	`type="text)[^>]*javascript`)

// inlineWords are those of which each match of the pattern has one. Most parts of a page have none,
// and the pattern is slow.
var inlineWords = []string{"style", "script", " on", "\non", "\ton", "\ron", "\fon"}

// inlineSearch looks for inline code in pages. Most of a page stands in others as well: it is
// looked at once, up to each ">", behind which no match of the pattern goes on.
type inlineSearch map[string]bool

// find returns a part of a page with inline code, nil when there is none.
func (s inlineSearch) find(page []byte) []byte {
	for part := range bytes.SplitAfterSeq(page, []byte{'>'}) {
		if s[string(part)] {
			continue
		}
		lower := strings.ToLower(string(part))
		suspect := slices.ContainsFunc(inlineWords, func(word string) bool { return strings.Contains(lower, word) })
		if suspect && inlinePattern.Match(part) {
			return part
		}
		s[string(part)] = true
	}
	return nil
}

// links are the values of attributes that lead somewhere.
func links(page []byte) (values []string) {
	for {
		name, rest, found := bytes.Cut(page, []byte(`="`))
		if !found {
			return values
		}

		page = rest
		if bytes.HasSuffix(name, []byte("href")) || bytes.HasSuffix(name, []byte("src")) ||
			bytes.HasSuffix(name, []byte("data-from")) || bytes.HasSuffix(name, []byte(`image" content`)) {
			var value []byte
			value, page, found = bytes.Cut(rest, []byte{'"'})
			if !found {
				return values
			}
			values = append(values, string(value))
		}
	}
}

// TestEveryLinkOfTheSiteLeadsSomewhere walks the site from its home page, and judges each page by
// what all have in common.
func TestEveryLinkOfTheSiteLeadsSomewhere(t *testing.T) {
	w := sharedSite()
	queue := []string{
		"/", "/nothing-here", "/search", "/search?q=booster+box", "/robots.txt", "/sitemap.xml", "/llms.txt",
	}
	seen := map[string]bool{}
	kinds := map[string]int{}
	clean := inlineSearch{}
	for len(queue) > 0 && len(seen) < 700/testsweep.Stride(2) {
		target := queue[0]
		queue = queue[1:]
		if seen[target] {
			continue
		}

		seen[target] = true
		// To paint one takes a second under the race detector, and each card has one.
		if strings.HasPrefix(target, "/previews/") && kinds["previews"] == 20/testsweep.Stride(20) {
			continue
		}

		r := w.page(t, target, "Accept: text/html")
		kinds[strings.SplitN(target, "/", 3)[1]]++
		switch {
		case strings.HasPrefix(target, "/v1/"):
			if r.status != http.StatusUnauthorized { // it is there, and wants a key
				t.Errorf("%s: status %d", target, r.status)
			}
			continue
		case target == "/nothing-here":
			if r.status != http.StatusNotFound {
				t.Errorf("%s: status %d", target, r.status)
			}
		case r.status != http.StatusOK:
			t.Errorf("%s: status %d", target, r.status)
		}

		if r.header.Get("X-Content-Type-Options") != "nosniff" && !strings.HasPrefix(target, "/openapi") {
			t.Errorf("%s may be sniffed", target)
		}
		// That is a fragment.
		if !strings.HasPrefix(r.header.Get("Content-Type"), "text/html") || target == suggestPath {
			continue
		}

		found := links(r.body)
		judgePage(t, target, r, found, clean)
		for _, link := range found {
			link, _, _ = strings.Cut(html.UnescapeString(link), "#")
			link = strings.TrimPrefix(link, baseURL)
			if link != "" && !strings.HasPrefix(link, "https://schema.org") {
				queue = append(queue, link)
			}
		}
	}

	for _, kind := range []string{
		"", "cards", "sets", "search", "movers", "errors", "docs", "assets", "value", "embed", "previews", "sealed",
	} {
		if kinds[kind] == 0 {
			t.Errorf("no page below /%s was found; walked %v", kind, kinds)
		}
	}
}

// judgePage checks the rules of every page: a policy, no inline script or style, a title, a
// language, and links within the site.
func judgePage(t *testing.T, target string, r reply, found []string, clean inlineSearch) {
	t.Helper()
	policy := r.header.Get("Content-Security-Policy")
	framed := strings.HasPrefix(target, "/embed/")
	if !strings.Contains(policy, "default-src 'none'") || !framed && !strings.Contains(policy, "script-src 'self';") ||
		strings.Contains(policy, "unsafe-eval") {
		t.Errorf("%s: policy %q", target, policy)
	}
	if strings.Contains(policy, "unsafe-inline") {
		t.Errorf("%s: the policy lets inline code in: %q", target, policy)
	}
	if strings.HasSuffix(policy, "frame-ancestors *") != framed ||
		strings.HasSuffix(policy, "frame-ancestors 'none'") == framed {
		t.Errorf("%s: who may frame it is told wrong: %q", target, policy)
	}
	if inline := clean.find(r.body); inline != nil {
		t.Errorf("%s has inline code: %s", target, inline)
	}

	for _, want := range []string{"<!doctype html>\n<html lang=\"en\">", "<title>", "</html>"} {
		if strings.Count(string(r.body), want) != 1 {
			t.Errorf("%s does not have %q once", target, want)
		}
	}
	if strings.Contains(string(r.body), "ZgotmplZ") || strings.Contains(string(r.body), "[[") {
		t.Errorf("%s shows a template's refusal or an unfilled constant", target)
	}

	for _, link := range found {
		if !strings.HasPrefix(link, "/") && !strings.HasPrefix(link, "#") && !strings.HasPrefix(link, baseURL+"/") {
			t.Errorf("%s leads off the site: %s", target, link)
		}
	}
}

// hrefs are the cards that a page lists, by slug, in order.
func hrefs(body []byte, class string) (slugs []string) {
	_, list, _ := strings.Cut(string(body), `<ul class="`+class+`">`)
	list, _, _ = strings.Cut(list, "</ul>")
	if _, binder, found := strings.Cut(string(body), `<div class="binder">`); found {
		list, _, _ = strings.Cut(binder, "</ul> </div>")
	}
	for _, m := range regexp.MustCompile(`href="/(?:cards|sets)/([^"?#]*)"`).FindAllStringSubmatch(list, -1) {
		slugs = append(slugs, m[1])
	}
	return slugs
}

// listed are the items of an API answer, by the last segment of their url.
func (w *world) listed(tb testing.TB, target string) (slugs []string) {
	tb.Helper()
	var list struct{ Data []struct{ URL string } }
	r := w.get(tb, target)
	r.decode(tb, &list)

	for _, item := range list.Data {
		slugs = append(slugs, item.URL[strings.LastIndexByte(item.URL, '/')+1:])
	}
	return slugs
}

// TestPagesListWhatTheAPILists holds searches, movers and sets of the two against each other.
func TestPagesListWhatTheAPILists(t *testing.T) {
	w := sharedSite()
	f := func(page, api string) {
		t.Helper()
		shown := hrefs(w.page(t, page).body, "cards")
		listed := w.listed(t, api)
		if len(listed) == 0 || !slices.Equal(shown[:min(len(shown), len(listed))], listed) {
			t.Errorf("%s shows %v, %s has %v", page, shown, api, listed)
		}
	}

	for _, words := range []string{"charizrd", "pikachu", "luffy", "4%2F102", "dark%20", "base%20set"} {
		f("/search?q="+words, "/v1/cards?limit=30&q="+words)
		if words != "luffy" {
			f("/search?sort=price_asc&game=pokemon&q="+words, "/v1/cards?limit=30&sort=price_asc&game=pokemon&q="+words)
		}
	}

	f("/search", "/v1/cards?limit=30")
	f("/search?sort=newest&game=one-piece", "/v1/cards?limit=30&sort=newest&game=one-piece")
	f("/movers", "/v1/market/movers?direction=up&game=pokemon&limit=25")
	f("/movers?days=7&game=one-piece", "/v1/market/movers?direction=up&game=one-piece&limit=50")
	f("/movers?direction=down&game=pokemon", "/v1/market/movers?direction=down&game=pokemon&limit=50")
	set := w.view0().Catalog.Sets.Slug.At(3)
	const base = "kanto-classic"
	f("/sets/"+set+"?sort=price", "/v1/cards?sort=price_desc&limit=50&set="+set)
	f("/sets/"+set+"?sort=price&view=list", "/v1/cards?sort=price_desc&limit=50&set="+set)
	f("/search?rarity=common&min=0.5&max=2&view=list",
		"/v1/cards?limit=30&rarity=common&min_price_cents=50&max_price_cents=200")
	f("/search?q=pikachu&set="+base+"&variant=holofoil", "/v1/cards?limit=30&q=pikachu&variant=holofoil&set="+base)
	second := hrefs(w.page(t, "/search?page=2").body, "cards")
	if first := w.listed(t, "/v1/cards?limit=50"); !slices.Equal(second[:14], first[36:]) {
		t.Errorf("page 2 shows %v, want %v", second[:14], first[36:])
	}
}

// view0 is the View that the world serves.
func (w *world) view0() *engine.View { return w.Engine.View() }

var sumsPattern = regexp.MustCompile(
	`<dt>Low</dt><dd>([^<]*).*<dt>High</dt><dd>([^<]*).*<dt>Average</dt><dd>([^<]*)</dd>`)

// TestChartsAgreeWithTheAPI compares the display price, and the low, high and average of a chart,
// with the answers of the API, to the cent.
func TestChartsAgreeWithTheAPI(t *testing.T) {
	w := sharedSite()
	v := w.view0()
	dollars := func(cents int64) string { return fmt.Sprintf("$%d.%02d", cents/100, cents%100) }
	compared := 0
	for card := 0; card < v.Catalog.Cards.ID.Len(); card += 37 * testsweep.Stride(3) {
		slug := v.Catalog.Cards.Slug.At(card)
		var entry struct {
			Data []struct {
				Cents *int64 `json:"market_price_cents"`
			}
		}

		r := w.ask(t, request{
			method: "POST", target: "/v1/prices/batch",
			header: []string{"X-API-Key: " + w.named("bench"), "Content-Type: application/json"}, body: `{"ids":["` +
				slug + `"]}`,
		})
		r.decode(t, &entry)
		page := strings.ReplaceAll(string(w.page(t, "/cards/"+slug).body), ",", "")
		switch cents := entry.Data[0].Cents; {
		case cents == nil:
			if !strings.Contains(page, `<p class="amount none">No current price</p>`) {
				t.Errorf("%s: the API has no price, the page does not say so", slug)
			}
		case !strings.Contains(page, `<p class="amount">`+dollars(*cents)+`</p>`):
			t.Errorf("%s: the page does not show %s", slug, dollars(*cents))
		}

		for _, days := range snapshot.StatWindows {
			var stats struct {
				Data struct {
					Variants []struct {
						Variant  string
						Mean     int64 `json:"average_price_cents"`
						MinCents int64 `json:"min_price_cents"`
						MaxCents int64 `json:"max_price_cents"`
					}
				}
			}

			r := w.get(t, fmt.Sprintf("/v1/cards/%s/price-stats?window=%dd", slug, days))
			r.decode(t, &stats)
			for _, s := range stats.Data.Variants {
				page := strings.ReplaceAll(string(w.page(t, fmt.Sprintf("/cards/%s?days=%d&variant=%s", slug, days,
					s.Variant)).body), ",", "")
				m := sumsPattern.FindStringSubmatch(page)
				compared++
				// A chart of one price is a sentence.
				if m == nil && s.MinCents == s.MaxCents && strings.Contains(page, dollars(s.Mean)) {
					continue
				}
				if m == nil || m[1] != dollars(s.MinCents) || m[2] != dollars(s.MaxCents) || m[3] != dollars(s.Mean) {
					t.Errorf("%s, %s over %d days: page %v, API %d %d %d", slug, s.Variant, days, m, s.MinCents,
						s.MaxCents, s.Mean)
				}
			}
		}
	}

	if compared < 100/testsweep.Stride(3) {
		t.Errorf("only %d charts were compared", compared)
	}
}

// TestOldAddressesRedirect wants ids and former slugs to lead to the slug that stands for them now.
func TestOldAddressesRedirect(t *testing.T) {
	w := siteWorld(t, func(s *setup) { s.views = []*engine.View{tomorrow().view} })
	c := w.view0().Catalog
	f := func(from, to string) {
		t.Helper()
		r := w.page(t, from)
		if r.status != http.StatusMovedPermanently || r.header.Get("Location") != to {
			t.Errorf("%s: status %d to %q, want 301 to %q", from, r.status, r.header.Get("Location"), to)
		}
		if end := w.page(t, r.header.Get("Location")); end.status != http.StatusOK {
			t.Errorf("%s leads to a %d", from, end.status)
		}
	}

	for _, method := range []string{"GET", "HEAD"} {
		old := method + " /cards/" + c.Cards.ID.At(0) + " HTTP/1.1\r\nHost: cards.test\r\nConnection: close\r\n\r\n"
		if text := w.rawText(t, old); !strings.Contains(text, " 301 ") ||
			!strings.Contains(text, "\r\nContent-Length: 0\r\n") {
			t.Errorf("%s of an old address: %q", method, text)
		}
	}

	f("/cards/"+c.Cards.ID.At(0), "/cards/"+c.Cards.Slug.At(0))
	f("/cards/"+c.Cards.ID.At(0)+"/?days=7&variant=a%20b", "/cards/"+c.Cards.Slug.At(0)+"?days=7&variant=a%20b")
	f("/cards/"+percentAll(c.Cards.ID.At(0)), "/cards/"+c.Cards.Slug.At(0))
	f("/sets/"+c.Sets.ID.At(0), "/sets/"+c.Sets.Slug.At(0))
	former := 0
	for k := range c.Registry.Slug.Len() {
		if card, ok := w.view0().Index.Card(c.Registry.SlugID.At(k)); ok {
			former++
			f("/cards/"+c.Registry.Slug.At(k), "/cards/"+c.Cards.Slug.At(card))
		}
	}

	if former == 0 {
		t.Error("no card of tomorrow's edition has a former slug")
	}
	if r := w.page(t, "/cards/"+c.Cards.Slug.At(0)+"/"); r.status != http.StatusOK {
		t.Errorf("one trailing slash: status %d", r.status)
	}
}

// TestWhoGetsAPageFor404 wants programs to keep the envelope, and browsers to get a page outside
// the API.
func TestWhoGetsAPageFor404(t *testing.T) {
	w := sharedSite()
	const browser = "Accept: text/html,application/xhtml+xml,*/*;q=0.8"
	f := func(method, target, accept, media string, status int) {
		t.Helper()
		r, err := w.send(request{method: method, target: target, header: []string{accept, anybody()}})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.header.Get("Content-Type"); r.status != status || !strings.HasPrefix(got, media) {
			t.Errorf("%s %s with %s: status %d, %s", method, target, accept, r.status, got)
		}
	}
	const page, problem = "text/html", "application/problem+json"
	f("GET", "/nope", browser, page, 404)
	f("HEAD", "/nope", browser, page, 404)
	f("GET", "/nope", "Accept: */*", problem, 404)
	f("GET", "/nope", "Accept: application/json", problem, 404)
	f("POST", "/nope", browser, problem, 404)
	for _, target := range []string{"/v1", "/v1/", "/v1/nope", "/v1/cards/x/y/z"} {
		f("GET", target, browser, problem, 404)
	}

	f("GET", "/v1beta", browser, page, 404)
	for _, target := range []string{
		"/.well-known", "/.well-known/oauth-protected-resource",
		"/.well-known/oauth-authorization-server/mcp",
	} {
		f("GET", target, browser, problem, 404)
	}

	f("GET", "/.well-knownish", browser, page, 404)
	f("GET", "/nope", "Accept: text/html;q=0", problem, 404)
	f("GET", "/nope", "Accept: application/json, TEXT/HTML ; q=0.0, */*", problem, 404)
	f("GET", "/nope", "Accept: text/html-not", problem, 404)
	f("GET", "/nope", "Accept: application/json, Text/HTML;level=1;q=0.1", page, 404)
	f("GET", "/mcp", browser, problem, 405)
	f("GET", "/v1/cards/nope", browser, problem, 401)
	for _, target := range []string{
		"/cards/nope", "/sets/nope", "/errors/nope", "/assets/nope.css", "/sitemaps/0",
		"/sitemaps/01", "/sitemaps/99", "/cards/%00", "/cards/a%2Fb",
	} {
		f("GET", target, "Accept: */*", page, 404)
	}

	for _, accept := range []string{
		"application/json", "application/problem+json",
		"application/json;q=0.5, */*;q=0.1", "APPLICATION/JSON, text/html;q=0",
	} {
		f("GET", "/cards/nope", "Accept: "+accept, problem, 404)
		f("HEAD", "/sets/nope", "Accept: "+accept, problem, 404)
	}

	for _, accept := range []string{
		"application/json, text/html;q=0.1", "application/json;q=0", "application/*",
		"text/plain", "application/ld+json",
	} {
		f("GET", "/cards/nope", "Accept: "+accept, page, 404)
	}
	f("POST", "/cards/nope", browser, problem, 405)
	f("GET", "/images/x.png", browser, page, 404) // no folder: no such path
	f("GET", "/images/x.png", "Accept: image/*", problem, 404)
}

// TestErrorPages wants a page for each code of both tables, at the address that problems name.
func TestErrorPages(t *testing.T) {
	w := sharedSite()
	codes := map[wire.Code]wire.Meaning{}
	maps.Copy(codes, wire.LiveCodes)
	maps.Copy(codes, wire.PreviewCodes)
	for code, m := range codes {
		r := w.page(t, "/errors/"+string(code))
		text := html.UnescapeString(string(r.body))
		if r.status != http.StatusOK || !strings.Contains(text, "<h1>"+m.Title+"</h1>") ||
			!strings.Contains(text, fmt.Sprint("status ", m.Status)) ||
			strings.Contains(text, "<p></p>") {
			t.Errorf("%s: status %d\n%s", code, r.status, text)
		}
		if !strings.Contains(string(w.page(t, "/errors").body), `href="/errors/`+string(code)+`"`) {
			t.Errorf("%s is not in the list", code)
		}
	}

	var problem struct{ Type string }
	r, err := w.send(request{method: "GET", target: "/v1/games"})
	if err != nil {
		t.Fatal(err)
	}

	r.decode(t, &problem)
	if page := w.page(t, strings.TrimPrefix(problem.Type, baseURL)); page.status != http.StatusOK {
		t.Errorf("problem type %q leads to a %d", problem.Type, page.status)
	}
}

// TestPageHeaders wants validators, encodings and HEAD as the API has them, and public caching.
func TestPageHeaders(t *testing.T) {
	w := sharedSite()
	slug := w.view0().Catalog.Cards.Slug.At(0)
	style := regexp.MustCompile(`/assets/style-[0-9a-f]{12}\.css`).FindString(string(w.page(t, "/").body))
	for target, cache := range map[string]string{
		"/": pageCache, "/cards/" + slug: pageCache, "/docs": pageCache,
		style: assetCache,
	} {
		plain := w.page(t, target)
		if got := plain.header.Get("Cache-Control"); got != cache {
			t.Errorf("%s: Cache-Control %q, want %q", target, got, cache)
		}
		if got := plain.header.Get("Vary"); got != "Accept-Encoding" {
			t.Errorf("%s: Vary %q", target, got)
		}

		for _, encoding := range []string{"gzip", "zstd"} {
			r := w.page(t, target, "Accept-Encoding: "+encoding)
			if len(plain.body) > 1<<10 && r.header.Get("Content-Encoding") != encoding ||
				string(r.body) != string(plain.body) {
				t.Errorf("%s: as %s it is another page", target, encoding)
			}
			if len(plain.body) > 1<<10 && r.header.Get("ETag") == plain.header.Get("ETag") {
				t.Errorf("%s: as %s it has the validator of other bytes, %s", target, encoding, r.header.Get("ETag"))
			}
			if target == "/cards/"+slug && len(r.wire) > 10_000 {
				t.Errorf("a card page takes %d bytes as %s", len(r.wire), encoding)
			}
			if target == style {
				continue // immutable: nobody asks again
			}
			again := w.page(t, target, "Accept-Encoding: "+encoding, "If-None-Match: "+r.header.Get("ETag"))
			if again.status != http.StatusNotModified || len(again.wire) != 0 ||
				again.header.Get("ETag") != r.header.Get("ETag") {
				t.Errorf("%s: a client that has it gets %d", target, again.status)
			}
		}

		head, err := w.send(request{method: "HEAD", target: target, header: []string{anybody()}})
		if err != nil {
			t.Fatal(err)
		}

		for _, name := range []string{
			"Content-Type", "Content-Length", "ETag", "Cache-Control",
			"Content-Security-Policy",
		} {
			if head.status != plain.status || head.header.Get(name) != plain.header.Get(name) || len(head.wire) != 0 {
				t.Errorf("%s: HEAD has %s %q, GET %q", target, name, head.header.Get(name), plain.header.Get(name))
			}
		}
	}

	if w.page(t, "/cards/"+slug).header.Get("ETag") == w.page(t, "/cards/"+slug+"?days=7").header.Get("ETag") {
		t.Error("two ranges have one validator")
	}
}

// TestNoCatalogYet wants a page that says so, and explanations all the same.
func TestNoCatalogYet(t *testing.T) {
	w := siteWorld(t, func(s *setup) { s.noViews = true })
	if r := w.page(t, "/"); r.status != http.StatusServiceUnavailable || r.header.Get("Retry-After") == "" ||
		!strings.Contains(string(r.body), "One moment") {
		t.Errorf("status %d", r.status)
	}
	if r := w.page(t, "/", "Accept: application/json"); r.status != http.StatusServiceUnavailable ||
		r.header.Get("Retry-After") != "5" ||
		!strings.Contains(string(r.body), `"code":"temporarily_unavailable"`) || r.header.Get("Vary") != "Accept" {
		t.Errorf("a program gets %d: %s", r.status, r.body)
	}

	for _, target := range []string{"/errors", "/errors/not_found", "/docs", "/llms.txt"} {
		if r := w.page(t, target); r.status != http.StatusOK {
			t.Errorf("%s: status %d", target, r.status)
		}
	}
}
