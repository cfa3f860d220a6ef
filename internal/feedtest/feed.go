// Package feedtest is a fake of the TCGCSV feed, for tests of its client.
//
// It serves the live tree: last-updated.txt at the root, tcgplayer/CATEGORY/groups, and products
// and prices of every group below it. All data are computed from numbers, so that a test knows each
// price: Cents is the oracle. Rebuild moves it to another day, and Faults sets its failures:
//
//	fast             the zero Faults
//	slow             Slow, before each answer
//	429              Busy or BusyUntil, with Retry-After
//	5xx              Broken
//	half a tree      Lost, or a whole category of it
//	cut, error page  Cut, Page
//	changed          RebuildAfter so many requests
//	of no day        Lost or Page of last-updated.txt, Stamp, Modified
//	gone             Down
package feedtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Faults are the failures of the feed. Paths are as in requests, such as tcgplayer/3/101/prices.
type Faults struct {
	Slow time.Duration // before each answer
	// Busy is how many times each path is answered 429 first, with After seconds in Retry-After.
	Busy  int
	After int
	// BusyUntil is the instant before which every path is answered 429, with After seconds in
	// Retry-After.
	BusyUntil time.Time
	// Broken is how many times each path is answered 503 first.
	Broken int
	Lost   []string // paths that are 404; one that ends in / includes all below it
	Cut    []string // paths whose body is truncated
	Page   []string // paths that return an error page with status 200
	Empty  []string // paths of products and prices that return no results
	// Wrong are paths of prices in cents instead of dollars.
	Wrong []string
	// Of is the day whose prices are served, as if an old file were served again; zero for the day
	// of the feed.
	Of time.Time
	// Doubled are paths of prices that are twice what they should be.
	Doubled []string
	// Stamp is what last-updated.txt says, "" for when the feed was built.
	Stamp string
	// Modified is the Last-Modified of every file, zero for none.
	Modified time.Time
	// RebuildAfter is the number of requests after which the feed is rebuilt, as of a minute later;
	// 0 for never.
	RebuildAfter int
	Down         bool // every request is answered 500
	// Change makes another body of a file; nil leaves all as they are.
	Change func(path, body string) string
}

// Asked is a request that the feed received.
type Asked struct {
	Path, Agent string
	At          time.Time
}

// Feed is the fake; it is an http.Handler. Groups alternate between Pokémon and One Piece, and have
// PerGroup cards and one booster box each.
type Feed struct {
	Groups, PerGroup int

	mu     sync.Mutex
	at     time.Time
	alias  [2]string
	faults Faults
	failed map[string]int
	asked  []Asked
	since  int // requests since Set
}

// New returns a feed that was built at an instant.
func New(groups, perGroup int, at time.Time) *Feed {
	return &Feed{Groups: groups, PerGroup: perGroup, at: at, failed: map[string]int{}}
}

// Alias has the feed answer for paths with one category and group, such as 3/9101, what it has for
// another one.
func (f *Feed) Alias(asked, has string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.alias = [2]string{asked, has}
}

func (f *Feed) aliased(path string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.alias[0] == "" {
		return path
	}
	return strings.Replace(path, "/"+f.alias[0]+"/", "/"+f.alias[1]+"/", 1)
}

// Rebuild moves the feed to another instant, with other prices if it is another day.
func (f *Feed) Rebuild(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = at
}

// Set changes the failures of the feed, and clears the list of requests.
func (f *Feed) Set(faults Faults) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = faults
	f.failed = map[string]int{}
	f.asked = nil
	f.since = 0
}

// Asked returns the requests since Set.
func (f *Feed) Asked() []Asked {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.asked)
}

// At returns the instant at which the feed was built.
func (f *Feed) At() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at
}

// Category returns the category of group g, from 0 on.
func Category(g int) string { return []string{"3", "68"}[g%2] }

// Group returns the number of group g.
func Group(g int) int { return 101 + g }

// Product returns the number of card c of group g; the booster box has the number after its cards.
func Product(g, c int) int { return 1000*Group(g) + c }

// Cents is the oracle: the price of a product on a day. Most prices change by a few percent a day.
func Cents(product int, day time.Time) int64 {
	n := day.UTC().Unix() / 86_400
	base := int64(200 + product*7919%20_000)
	swing := (int64(product)*31 + n*17) % 97
	return base + base*swing/1000
}

// Picture is the begin of every picture of the fake; the path of the picture follows.
const Picture = "\xff\xd8\xff"

// PicturePath returns the path of the picture of a product, which another host serves in the real
// feed.
func PicturePath(product int) string { return fmt.Sprintf("product/%d_200w.jpg", product) }

// Path returns the path of a file of group g.
func Path(g int, file string) string {
	return fmt.Sprintf("tcgplayer/%s/%d/%s", Category(g), Group(g), file)
}

// ServeHTTP implements http.Handler.
func (f *Feed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := f.aliased(strings.TrimPrefix(r.URL.Path, "/"))
	at, faults, status := f.take(path, r.UserAgent())
	time.Sleep(faults.Slow)

	switch {
	case status != 0:
		if status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", strconv.Itoa(faults.After))
		}
		http.Error(w, http.StatusText(status), status)
		return
	case named(faults.Page, path):
		fmt.Fprint(w, "<html><body>We will be back soon</body></html>")
		return
	}

	if !faults.Of.IsZero() && strings.HasSuffix(path, "/prices") {
		at = faults.Of
	}
	if !faults.Modified.IsZero() {
		w.Header().Set("Last-Modified", faults.Modified.UTC().Format(http.TimeFormat))
	}
	body := f.body(path, at, faults)
	if faults.Change != nil && body != "" {
		body = faults.Change(path, body)
	}
	switch {
	case body == "":
		http.NotFound(w, r)
	case named(faults.Cut, path):
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		fmt.Fprint(w, body[:len(body)/2])
	default:
		fmt.Fprint(w, body)
	}
}

// take records a request and returns the status of its response, or 0 to serve the file.
func (f *Feed) take(path, agent string) (at time.Time, faults Faults, status int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, Asked{Path: path, Agent: agent, At: time.Now()})
	f.since++
	if f.faults.RebuildAfter > 0 && f.since == f.faults.RebuildAfter {
		f.at = f.at.Add(time.Minute)
	}

	n := f.failed[path]
	f.failed[path]++
	switch {
	case f.faults.Down:
		status = http.StatusInternalServerError
	case n < f.faults.Busy || time.Now().Before(f.faults.BusyUntil):
		status = http.StatusTooManyRequests
	case n < f.faults.Busy+f.faults.Broken:
		status = http.StatusServiceUnavailable
	case named(f.faults.Lost, path):
		status = http.StatusNotFound
	}
	return f.at, f.faults, status
}

func named(list []string, path string) bool {
	return slices.ContainsFunc(list, func(of string) bool {
		return of == path || strings.HasSuffix(of, "/") && strings.HasPrefix(path, of)
	})
}

// body returns a file of the tree, "" for none.
func (f *Feed) body(path string, at time.Time, faults Faults) string {
	if path == "last-updated.txt" && faults.Stamp != "" {
		return faults.Stamp
	}
	if path == "last-updated.txt" {
		return at.UTC().Format("2006-01-02T15:04:05-0700") + "\n"
	}

	if strings.HasPrefix(path, "product/") {
		return Picture + path
	}
	for g := range f.Groups {
		switch path {
		case "tcgplayer/" + Category(g) + "/groups":
			return f.groups(Category(g))
		case Path(g, "products"):
			if named(faults.Empty, path) {
				return reply([]any{})
			}
			return f.products(g)
		case Path(g, "prices"):
			if named(faults.Empty, path) {
				return reply([]any{})
			}
			factor := int64(1)
			if named(faults.Doubled, path) {
				factor = 2
			}
			return f.prices(g, at, factor, named(faults.Wrong, path))
		}
	}
	return ""
}

type object = map[string]any

func reply(results []any) string {
	text, err := json.Marshal(object{"success": true, "errors": []any{}, "results": results})
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (f *Feed) groups(category string) string {
	var all []any
	for g := range f.Groups {
		if Category(g) == category {
			all = append(all, object{
				"groupId": Group(g), "name": fmt.Sprintf("Set %c", 'A'+g), "abbreviation": fmt.Sprintf("S%c", 'A'+g),
				"publishedOn": "2024-05-01T00:00:00",
			})
		}
	}
	return reply(all)
}

func (f *Feed) products(g int) string {
	var all []any
	for c := range f.PerGroup {
		all = append(all, object{
			"productId": Product(g, c), "name": fmt.Sprintf("Card %d of %c", c, 'A'+g),
			"imageUrl": "https://pictures.example.com/" + PicturePath(Product(g, c)),
			"extendedData": []any{
				object{"name": "Number", "value": fmt.Sprintf("%d/%d", c+1, f.PerGroup)},
				object{"name": "Rarity", "value": "Common"},
			},
		})
	}
	return reply(append(all, object{
		"productId": Product(g, f.PerGroup), "name": fmt.Sprintf("Set %c Booster Box", 'A'+g), "extendedData": []any{},
	}))
}

func (f *Feed) prices(g int, at time.Time, factor int64, wrong bool) string {
	var all []any
	for c := range f.PerGroup + 1 {
		cents := factor * Cents(Product(g, c), at)
		price := json.Number(fmt.Sprintf("%d.%02d", cents/100, cents%100))
		if wrong {
			price = json.Number(strconv.FormatInt(cents, 10))
		}
		all = append(all, object{"productId": Product(g, c), "subTypeName": "Normal", "marketPrice": price})
	}
	return reply(all)
}
