package server

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"ninepocket/cardvocab"
	"ninepocket/engine/cursor"
	"ninepocket/index"
	"ninepocket/internal/testsweep"
)

// filter is a random query of cards and what it means.
type filter struct {
	game, set, number, rarity, sort, words string
	lo, hi                                 int64 // -1 for none
}

func (f *filter) query() url.Values {
	q := url.Values{}
	for name, v := range map[string]string{
		"game": f.game, "set": f.set, "number": f.number, "rarity": f.rarity,
		"sort": f.sort, "q": f.words,
	} {
		if v != "" {
			q.Set(name, v)
		}
	}

	if f.lo >= 0 {
		q.Set("min_price_cents", fmt.Sprint(f.lo))
	}
	if f.hi >= 0 {
		q.Set("max_price_cents", fmt.Sprint(f.hi))
	}
	return q
}

// plain are the letters and digits of s in lower case, without marks.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if i := strings.IndexRune("éèûâ", r); i >= 0 {
			return rune("eeua"[i/2])
		}
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// passes judges a card by decisions 22 and 23.
func (f *filter) passes(tr *truth, k *trueCard) bool {
	price := k.price()
	switch {
	case f.game != "" && k.game != f.game,
		f.lo >= 0 && price < f.lo, f.hi >= 0 && (price < 0 || price > f.hi),
		f.rarity != "" && (k.rarity == "" || plain(k.rarity) != plain(f.rarity)),
		f.number != "" && !numberMatches(f.number, k.number):
		return false
	case f.set == "":
		return true
	case k.set == nil:
		return false
	case slices.ContainsFunc(tr.sets, func(s *trueSet) bool { return s.id == f.set }):
		return k.set.id == f.set
	}

	names := append([]string{k.set.name}, k.set.aliases...)
	return slices.ContainsFunc(names, func(n string) bool { return plain(n) == plain(f.set) })
}

// order sorts cards as the filter asks (decision 22).
func (f *filter) order(cards []*trueCard) {
	slices.SortFunc(cards, func(a, b *trueCard) int {
		pa := a.price()
		pb := b.price()
		var c int
		switch f.sort {
		case "name":
			return cmp.Or(cmp.Compare(cardvocab.Fold(a.name), cardvocab.Fold(b.name)), cmp.Compare(a.id, b.id))
		case "newest", "number":
			return cmp.Compare(a.rank, b.rank)
		case "price_asc":
			c = cmp.Compare(pa, pb)
		default:
			c = cmp.Compare(pb, pa)
		}

		if (pa < 0) != (pb < 0) {
			c = cmp.Compare(pb, pa) // no price last, both ways
		}
		return cmp.Or(c, cmp.Compare(a.rank, b.rank))
	})
}

// want are the ids that pagination must show.
func (f *filter) want(tr *truth) []string {
	var cards []*trueCard
	for _, k := range tr.cards {
		if f.passes(tr, k) {
			cards = append(cards, k)
		}
	}

	f.order(cards)
	return idsOf(cards)
}

func idsOf(cards []*trueCard) []string {
	ids := []string{}
	for _, k := range cards {
		ids = append(ids, k.id)
	}
	return ids
}

var sorts = []string{"", "relevance", "price_desc", "price_asc", "newest", "name", "number"}

// draw makes a random filter out of what the catalog has.
func draw(r *rand.Rand, tr *truth) *filter {
	f := &filter{lo: -1, hi: -1, sort: sorts[r.IntN(len(sorts))]}
	k := tr.cards[r.IntN(len(tr.cards))]
	if r.IntN(3) == 0 {
		f.game = k.game
	}

	if r.IntN(4) == 0 && k.set != nil {
		f.set = []string{
			k.set.id, strings.ToUpper(k.set.name), strings.ReplaceAll(k.set.name, " ", " - "),
			"nowhere",
		}[r.IntN(4)]
		if len(k.set.aliases) > 0 && r.IntN(2) == 0 {
			f.set = strings.ToLower(k.set.aliases[0])
		}
	}
	if r.IntN(5) == 0 && k.number != "" {
		number, _, _ := strings.Cut(k.number, "/")
		f.number = []string{k.number, number, "0" + number, strings.ToLower(number)}[r.IntN(4)]
	}
	if r.IntN(4) == 0 && k.rarity != "" {
		f.rarity = []string{k.rarity, strings.ToUpper(k.rarity), strings.ReplaceAll(k.rarity, " ", "-")}[r.IntN(3)]
	}
	if r.IntN(3) == 0 {
		f.lo = []int64{0, 1, 100, k.price(), 1_000_000}[r.IntN(5)]
	}
	if r.IntN(3) == 0 {
		f.hi = max(f.lo, []int64{0, 50, 500, k.price(), 100_000_000}[r.IntN(5)])
	}
	return f
}

// page is a page of cards or sets.
type page struct {
	Data []struct{ ID string }
	Next *string `json:"next_cursor"`
}

// walk follows cursors from the first page to the last and returns the ids in order. between runs
// after each page.
func (w *world) walk(tb testing.TB, path string, query url.Values, limit func() int, between func(page int)) []string {
	tb.Helper()
	ids := []string{}
	for n := 0; ; n++ {
		size := limit()
		query.Set("limit", fmt.Sprint(size))
		r := w.try(tb, scenario{path: path + "?" + query.Encode()})
		var p page
		r.decode(tb, &p)
		for _, d := range p.Data {
			ids = append(ids, d.ID)
		}

		if p.Next == nil {
			if len(p.Data) == 0 && n > 0 {
				tb.Errorf("%s?%s: an empty page follows the last", path, query.Encode())
			}
			if r.header.Get("Link") != "" {
				tb.Error("the last page has a Link")
			}
			return ids
		}
		if len(p.Data) != size {
			tb.Fatalf("%s?%s: %d entries on a page of %d that is not the last", path, query.Encode(), len(p.Data), size)
		}

		query.Set("cursor", *p.Next)
		w.checkLink(tb, r.header.Get("Link"), path, query)
		if between != nil {
			between(n)
		}
		if n > 3000 {
			tb.Fatal("the walk does not end")
		}
	}
}

// checkLink wants the Link of a page to lead to the next one with the same parameters.
func (w *world) checkLink(tb testing.TB, link, path string, query url.Values) {
	tb.Helper()
	link, rel, _ := strings.Cut(strings.TrimPrefix(link, "<"), ">")
	u, err := url.Parse(link)
	if err != nil || rel != `; rel="next"` || u.Scheme+"://"+u.Host != baseURL || u.Path != path ||
		u.Query().Encode() != query.Encode() {
		tb.Errorf("Link %q leads to %q %q, want %q", link, u.Path, u.RawQuery, query.Encode())
	}
}

func always(n int) func() int { return func() int { return n } }

// TestWalks compares full walks under random filters, sorts and page sizes with brute force over
// the files.
func TestWalks(t *testing.T) {
	w := shared()
	tr := todaysTruth()
	r := rand.New(rand.NewPCG(1, 2))
	matched := 0
	for i := range 90 / testsweep.Stride(9) {
		f := draw(r, tr)
		want := f.want(tr)
		limit := always(50)
		if len(want) < 120 {
			limit = func() int { return 1 + r.IntN(50) } // the limit may change between pages
		}
		if i < len(sorts) {
			f = &filter{lo: -1, hi: -1, sort: sorts[i]}
			want = f.want(tr)
			limit = always(49 + i%2)
		}
		if got := w.walk(t, "/v1/cards", f.query(), limit, nil); !slices.Equal(got, want) {
			t.Errorf("%s: %s", f.query().Encode(), unequal(got, want))
		}
		matched += len(want)
	}

	if matched < 12_000/testsweep.Stride(9) {
		t.Errorf("only %d cards walked", matched)
	}
}

// unequal says where two lists of ids part.
func unequal(got, want []string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("entry %d of %d is %s, want %s of %d", i, len(got), got[i], want[i], len(want))
		}
	}
	return fmt.Sprintf("%d entries, want %d", len(got), len(want))
}

// TestWordWalks holds searches under filters and sorts against the unfiltered search, and pages
// against each other.
func TestWordWalks(t *testing.T) {
	w := shared()
	tr := todaysTruth()
	r := rand.New(rand.NewPCG(3, 4))
	for _, words := range []string{
		"pikachu", "charizard", "luffy", "n", "energy", "zoro 25", "umbreon vmax",
		"kanto classic", "ex", "pikchu", "the", "monkey d luffy",
	} {
		all := w.walk(t, "/v1/cards", url.Values{"q": {words}}, always(50), nil)
		found := map[string]int{}
		for i, id := range all {
			if _, twice := found[id]; twice {
				t.Fatalf("%q: card %s comes twice", words, id)
			}
			found[id] = i
		}
		if paged := w.walk(t, "/v1/cards", url.Values{"q": {words}}, func() int { return 1 + r.IntN(9) },
			nil); !slices.Equal(paged, all) {
			t.Errorf("%q in small pages: %s", words, unequal(paged, all))
		}

		for range 4 {
			f := draw(r, tr)
			f.words = words
			var cards []*trueCard
			for _, k := range tr.cards {
				if _, ok := found[k.id]; ok && f.passes(tr, k) {
					cards = append(cards, k)
				}
			}

			f.order(cards)
			if f.sort == "" || f.sort == "relevance" {
				slices.SortFunc(cards, func(a, b *trueCard) int { return cmp.Compare(found[a.id], found[b.id]) })
			}

			// Where a filter leaves none of them, the search may turn to cards that match less
			// well.
			if got := w.walk(t, "/v1/cards", f.query(), always(17), nil); len(cards) > 0 &&
				!slices.Equal(got, idsOf(cards)) {
				t.Errorf("%s: %s", f.query().Encode(), unequal(got, idsOf(cards)))
			}
		}
	}
}

// TestSetWalks compares walks of sets with the files.
func TestSetWalks(t *testing.T) {
	w := shared()
	tr := todaysTruth()
	for _, game := range []string{"", "pokemon", "one-piece", "magic"} {
		for _, series := range []string{
			"", tr.sets[0].series, strings.ToUpper(tr.sets[1].series), "classic-journey",
			"nowhere",
		} {
			query := url.Values{}
			want := []string{}
			if game != "" {
				query.Set("game", game)
			}
			if series != "" {
				query.Set("series", series)
			}

			for _, s := range tr.sets {
				if (game == "" || s.game == game) && (series == "" || s.series != "" &&
					plain(s.series) == plain(series)) {
					want = append(want, s.id)
				}
			}

			for _, size := range []int{1, 7, 50} {
				query.Del("cursor")
				if got := w.walk(t, "/v1/sets", query, always(size), nil); !slices.Equal(got, want) {
					t.Errorf("%s: %s", query.Encode(), unequal(got, want))
				}
			}
		}
	}

	var list struct{ Data []object }
	r := w.get(t, "/v1/sets?limit=50")
	r.decode(t, &list)
	for i, s := range tr.sets[:len(list.Data)] {
		a := fmt.Sprint(list.Data[i])
		if b := fmt.Sprint(s.summary()); a != b {
			t.Errorf("set %d is %s, want %s", i, a, b)
		}
	}
}

// TestWalksAcrossASwap publishes another catalog in the middle of walks. While the first is
// retained, pagination shows it to the end. When it is gone, pagination continues by sort key in
// the new catalog.
func TestWalksAcrossASwap(t *testing.T) {
	old := todaysTruth()
	next := tomorrowsTruth()
	for _, retained := range []bool{true, false} {
		budget := int64(0)
		if !retained {
			budget = -1
		}

		w := newWorld(t, setup{retired: budget})
		const size = 20 // each list is longer than the pages before the swap
		for i, sort := range []string{"price_desc", "price_asc", "newest", ""} {
			for k, game := range []string{"", "one-piece"} {
				if (i+k)%testsweep.Stride(2) != 0 {
					continue
				}

				w.Engine.Swap(today().view, time.Now())
				f := &filter{lo: -1, hi: -1, sort: sort, game: game}
				var seen []string
				swapAfter := 3 + i
				got := w.walk(t, "/v1/cards", f.query(), always(size), func(n int) {
					if n == swapAfter {
						w.Engine.Swap(tomorrow().view, time.Now())
					}
				})
				if want := f.want(old); retained {
					if !slices.Equal(got, want) {
						t.Errorf("%s, retained: %s", f.query().Encode(), unequal(got, want))
					}
					continue
				}

				first := (swapAfter + 1) * size
				seen = got[:first]
				if want := f.want(old)[:first]; !slices.Equal(seen, want) {
					t.Errorf("%s, before the swap: %s", f.query().Encode(), unequal(seen, want))
				}
				if want := f.after(old.byID[seen[first-1]], next); !slices.Equal(got[first:], want) {
					t.Errorf("%s, after the swap: %s", f.query().Encode(), unequal(got[first:], want))
				}
			}
		}

		w.Engine.Swap(today().view, time.Now())
		got := w.walk(t, "/v1/sets", url.Values{}, always(4), func(n int) {
			if n == 1 {
				w.Engine.Swap(tomorrow().view, time.Now())
			}
		})
		var want []string
		for _, s := range old.sets {
			want = append(want, s.id)
		}

		if len(got) < len(want) || !slices.Equal(got[:8], want[:8]) || retained && !slices.Equal(got, want) {
			t.Errorf("sets: %s", unequal(got, want))
		}
	}
}

// after are the cards of a catalog that come after the place of a card of an earlier one, by the
// sort key the card then had.
func (f *filter) after(last *trueCard, tr *truth) []string {
	var cards []*trueCard
	for _, k := range tr.cards {
		if f.passes(tr, k) {
			cards = append(cards, k)
		}
	}

	f.order(cards)
	now, ok := tr.byID[last.id]
	var rank int
	if ok {
		rank = now.rank
	} else {
		rank = -1
		for _, k := range tr.cards { // the place where it would stand
			if placeBefore(k, last) {
				rank = k.rank
			}
		}
	}

	price := last.price()
	ids := []string{}
	for _, k := range cards {
		p := k.price()
		after := k.rank > rank
		if f.sort != "newest" && p != price {
			switch {
			case p < 0:
				after = true
			case price < 0:
				after = false
			case f.sort == "price_asc":
				after = p > price
			default:
				after = p < price
			}
		}
		if after {
			ids = append(ids, k.id)
		}
	}
	return ids
}

func placeBefore(k, gone *trueCard) bool {
	switch {
	case k.set == nil || gone.set == nil:
		return k.set != nil && gone.set == nil || k.set == gone.set && k.id < gone.id
	case k.set.id != gone.set.id:
		return compareSets(k.set, gone.set) < 0
	}
	return cmp.Or(cardvocab.CompareNumbers(k.number, gone.number), cmp.Compare(k.id, gone.id)) < 0
}

// TestCursors refuses every cursor that is not exactly one that was issued for the request.
func TestCursors(t *testing.T) {
	w := shared()
	next := func(path, key string) string {
		r := w.try(t, scenario{path: path, key: key})
		for _, where := range []string{"next_cursor", "pagination.next_cursor"} {
			if v, ok := dig(t, r.body, where); ok {
				text, _ := v.(string)
				return text
			}
		}
		return ""
	}

	refused := func(path, key, token string, parts ...string) {
		t.Helper()
		join := "?"
		if strings.Contains(path, "?") {
			join = "&"
		}
		w.try(t, scenario{
			path: path + join + "cursor=" + url.QueryEscape(token), key: key, status: 400, code: "invalid_request",
			want: []match{has(append(parts, "start again from the first page")...)},
		})
	}

	for path, key := range map[string]string{
		"/v1/cards?limit=2": "", "/v1/cards?limit=2&q=pikachu": "",
		"/v1/cards?limit=2&sort=price_asc&min_price_cents=5": "", "/v1/sets?limit=2": "",
		"/v1/sets?limit=2&game=pokemon": "", "/v1/products?limit=2": "preview",
		"/v1/products?limit=2&kind=card&game=pokemon": "preview",
	} {
		token := next(path, key)
		w.try(t, scenario{path: path + "&cursor=" + token, key: key, want: []match{at("data.#", 2)}})
		bound := map[string]int{"": 512, "preview": 1024}[key]
		if len(token) == 0 || len(token) > bound {
			t.Fatalf("%s: a cursor of %d characters", path, len(token))
		}

		// Every character, or a sample with the last one, changed in its lowest and in another bit of
		// what it stands for.
		const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
		stride := testsweep.Stride(3)
		from := rand.IntN(stride)
		t.Logf("%s: each %d. character from %d", path, stride, from)
		for i := range token {
			if i%9 == 0 {
				refused(path, key, token[:max(i, 1)])
				refused(path, key, token[:i]+token[i+1:])
				refused(path, key, token[:i]+"\n"[:0]+"."+token[i:])
			}
			if i%stride != from && i != len(token)-1 {
				continue
			}

			v := strings.IndexByte(alphabet, token[i])
			for _, flip := range []int{1, 1 << (1 + i%5)} {
				refused(path, key, token[:i]+string(alphabet[v^flip])+token[i+1:])
			}
		}

		for _, bad := range []string{
			token + "A", token + "=", token + token, "A" + token, strings.ToLower(token),
			" " + token,
		} {
			refused(path, key, bad)
		}
	}

	cards := next("/v1/cards?limit=2&game=pokemon&q=pikachu", "")
	other := "other parameters"
	for _, path := range []string{
		"/v1/cards?limit=2", "/v1/cards?limit=2&game=pokemon", "/v1/cards?game=one-piece&q=pikachu",
		"/v1/cards?game=pokemon&q=Pikachu", "/v1/cards?game=pokemon&q=pikachu&sort=newest",
		"/v1/cards?game=pokemon&q=pikachu&min_price_cents=0", "/v1/cards?game=pokemon&q=pikachu&rarity=x",
		"/v1/cards?game=pokemon&q=pikachu&number=1", "/v1/sets?game=pokemon",
		"/v1/cards?set=pokemon&q=pikachu",
	} {
		refused(path, "", cards, other)
	}
	for _, path := range []string{
		"/v1/cards?q=pikachu&game=pokemon&limit=50", "/v1/cards?game=pokemon&q=pikachu",
		"/v1/cards?game=pokemon&q=pikachu&colour=1", "/v1/cards?game=pokemon&q=pikachu&sort=relevance",
	} {
		w.try(t, scenario{path: path + "&cursor=" + cards, want: []match{has(`"data":[{`)}})
	}

	// Of another key, and expired: signed by the server's own signer.
	stranger, err := cursor.NewSigner(cursor.Key{ID: 1, Secret: [cursor.KeyLen]byte{2}})
	if err != nil {
		t.Fatal(err)
	}

	bound := cursor.Hash("sets", string((&index.SetFilter{}).AppendKey(nil)))
	set := today().view.Index.SetPosition(3)
	page := cursor.Page{Op: cursor.Sets, Snapshot: today().view.Hash, Position: set.AppendBinary(nil)}
	now := time.Now()
	refused("/v1/sets", "", string(stranger.Append(nil, page, bound, now)), "not one that this service issued")
	refused("/v1/sets", "", string(w.signer.Append(nil, page, bound, now.Add(-cursor.Lifetime-time.Millisecond))),
		"expired")
	w.try(t, scenario{path: "/v1/sets?cursor=" + string(w.signer.Append(nil, page, bound,
		now.Add(-cursor.Lifetime+20*time.Second))), want: []match{has(todaysTruth().sets[4].id)}})
	page.Op = cursor.Cards
	refused("/v1/sets", "", string(w.signer.Append(nil, page, bound, now)), other)
	page.Op = cursor.Sets
	page.Position = []byte("nonsense")
	refused("/v1/sets", "", string(w.signer.Append(nil, page, bound, now)))
}

// numberMatches reports whether a requested number is the number printed on a card (decision 23).
// The keys must be equal, or the requested key is the base of the printed parallel. If both have a
// total, the totals must agree.
func numberMatches(wanted, printed string) bool {
	key := cardvocab.NumberKey(wanted)
	if key == "" || key != cardvocab.NumberKey(printed) && key != cardvocab.NumberBase(printed) {
		return false
	}
	a := cardvocab.NumberTotal(wanted)
	b := cardvocab.NumberTotal(printed)

	return a == "" || b == "" || a == b
}
