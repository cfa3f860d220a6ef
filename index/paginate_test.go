package index_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ninepocket/index"
	"ninepocket/internal/fixture"
	"ninepocket/internal/testsweep"
	"ninepocket/snapshot"
)

var size = fixture.Size{Sets: 8, Cards: 90, Sealed: 5, Days: 40}

// narrow draws one of the filters by identifier, variant and time, mostly one that a card passes.
func narrow(t *rapid.T, o *oracle, c *fixture.Card, f *index.Filter) {
	day := rapid.Map(rapid.IntRange(-400, 400), func(n int) snapshot.Day {
		if s := o.sets[c.Set]; s != nil && s.Release != snapshot.NoDay {
			return s.Release + snapshot.Day(n/100)
		}
		return snapshot.Day(n)
	})

	switch rapid.IntRange(0, 4).Draw(t, "which") {
	case 0:
		refs := []string{"ninepocket:" + c.ID, "ninepocket:card_none", "partner:", ":", c.ID}
		for _, id := range c.Identifiers {
			refs = append(refs, id.Namespace+":"+id.Value, id.Value)
		}
		f.Identifier = rapid.SampledFrom(refs).Draw(t, "identifier")
	case 1:
		variants := []string{"gold", "_", "Holo Foil", "REVERSE-holofoil", "rev holo", "holo", "1st ed"}
		for _, l := range c.Lanes {
			variants = append(variants, l.Variant)
		}
		f.Variant = rapid.SampledFrom(variants).Draw(t, "variant")
	case 2:
		f.ReleasedAfter = day.Draw(t, "after")
	case 3:
		f.ReleasedAfter = rapid.SampledFrom([]snapshot.Day{snapshot.NoDay, day.Draw(t, "from")}).Draw(t, "after")
		f.ReleasedBefore = day.Draw(t, "before")
	case 4:
		f.UpdatedSince = updated(c, o.At) + rapid.Int64Range(-1, 1).Draw(t, "since")
	}
}

// drawQuery draws a query whose filters mostly leave something.
func drawQuery(t *rapid.T, o *oracle) index.Query {
	q := index.Query{Filter: index.NoFilter}
	q.Sort = rapid.SampledFrom([]index.Sort{
		index.Relevance, index.PriceDesc, index.PriceAsc, index.Newest, index.ByName, index.ByNumber,
	}).Draw(t, "sort")
	some := func(name string) bool { return rapid.IntRange(0, 3).Draw(t, name) == 0 }
	c := &o.Cards[rapid.IntRange(0, len(o.Cards)-1).Draw(t, "card")]
	if some("by game") {
		q.Game = rapid.SampledFrom([]string{"pokemon", "one-piece", "one_piece", "digimon"}).Draw(t, "game")
	}

	if some("by set") {
		refs := []string{
			"nowhere", "-", "base", "OLD-SET-0", "old-set-0", "old-set-1", "op05", "paradox  rift",
			"Expansion Pack",
		}
		if s := o.sets[c.Set]; s != nil {
			refs = append(refs, s.ID, s.Slug, s.Code, s.Name, s.ID, s.Slug, s.Name)
		}
		q.Set = rapid.SampledFrom(refs).Draw(t, "set")
	}

	if some("by number") {
		base, _, _ := strings.Cut(c.Number, "_") // of a parallel
		q.Number = rapid.SampledFrom([]string{
			c.Number, c.Number, base, base, "4", "004", "4/102", "4/99", "OP05-004",
			"tg 7", "/102", "?",
		}).Draw(t, "number")
	}

	if some("by rarity") {
		q.Rarity = rapid.SampledFrom([]string{c.Rarity, "double rare", "DOUBLE-RARE", "common", "-", "none"}).Draw(t,
			"rarity")
	}

	bound := rapid.OneOf(rapid.Just(snapshot.NoCents),
		rapid.SampledFrom([]int64{0, 100, 200, 300, snapshot.MaxCents}), rapid.Int64Range(0, 5000))
	if some("by price") {
		q.Min = bound.Draw(t, "min")
		q.Max = bound.Draw(t, "max")
	}

	if some("narrower") {
		narrow(t, o, c, &q.Filter)
	}

	if some("with words") {
		q.HasWords = true
		q.Words = rapid.SampledFrom([]string{
			c.Name, "pikachu", "charizrd", "mew ex", "luffy base set",
			"nidoran female", "zzzz", "!!", c.Name + " " + c.Number,
		}).Draw(t, "words")
	}

	return q
}

func TestWalkIsFilteredAndSorted(t *testing.T) {
	for seed := range uint64(6) {
		o := newOracle(t, fixture.Random(seed, size))
		rapid.Check(t, func(t *rapid.T) {
			q := drawQuery(t, o)
			limit := rapid.IntRange(1, 50).Draw(t, "limit")
			got := o.walk(t, q, nil, func() int { return limit })
			if diff := cmp.Diff(ids(o.places(q)), got); diff != "" {
				t.Fatalf("seed %d, %+v in pages of %d (-want +got):\n%s", seed, q, limit, diff)
			}
		})
	}
}

// changed is the world on another day: cards are gone, new, at other prices, in other sets, and
// a set is gone.
func changed(t *rapid.T, w *fixture.World) *fixture.World {
	later := w.Clone()
	if rapid.Bool().Draw(t, "a set goes") {
		gone := rapid.IntRange(0, len(later.Sets)-1).Draw(t, "set")
		id := later.Sets[gone].ID
		later.Sets = slices.Delete(later.Sets, gone, gone+1)
		later.Cards = slices.DeleteFunc(later.Cards, func(c fixture.Card) bool { return c.Set == id })
	}

	share := rapid.IntRange(1, 10).Draw(t, "share of cards that stay")
	n := 0
	later.Cards = slices.DeleteFunc(later.Cards, func(fixture.Card) bool { n++; return n*7%10 >= share })
	news := fixture.Random(99, fixture.Size{Cards: 30, Days: 10})
	later.Cards = append(later.Cards, news.Cards...)

	step := rapid.IntRange(2, 9).Draw(t, "every so many cards change")
	for i := range later.Cards {
		c := &later.Cards[i]
		if i%step != 0 {
			continue
		}

		for k := range c.Lanes {
			if l := &c.Lanes[k]; l.Cents != snapshot.NoCents {
				l.Cents = (l.Cents*7 + int64(i)*100) % 4000
			}
		}

		if i%(2*step) == 0 {
			c.Set = ""
		}
	}

	return later
}

// TestWalkGoesOnInAnotherCatalog starts a pagination in one catalog and ends it in another. The
// rest has each remaining card once: the cards whose sort key is after the last shown card's.
func TestWalkGoesOnInAnotherCatalog(t *testing.T) {
	before := newOracle(t, fixture.Random(3, size))
	for range 4 / testsweep.Stride(4) {
		rapid.Check(t, func(rt *rapid.T) {
			q := drawQuery(rt, before)
			limit := rapid.IntRange(1, 30).Draw(rt, "limit")
			first := before.x.Cards(nil, q, nil, limit)
			if !first.More {
				return
			}

			after := newOracle(t, changed(rt, before.World))
			last := before.row(first.Cards[limit-1])
			behind := place{score: first.Last.Score, price: last.Price(), card: last, set: before.sets[last.Set]}
			if now := after.rows[last.ID]; now != nil {
				// If the card still exists, ties are broken by its current place.
				behind.card = now
				behind.set = after.sets[now.Set]
			}

			if q.Sort == index.ByName {
				behind.card = last
			}
			order := compare(q.Sort, q.HasWords)
			want := slices.DeleteFunc(after.places(q), func(p place) bool { return order(p, behind) <= 0 })
			got := after.walk(rt, q, &first.Last, func() int { return limit })
			if diff := cmp.Diff(ids(want), got); diff != "" {
				rt.Fatalf("%+v after %s of %q (-want +got):\n%s", q, last.ID, last.Set, diff)
			}
		})
	}
}

func TestPositionsRefused(t *testing.T) {
	o := newOracle(t, fixture.Random(1, size))
	page := o.x.Cards(nil, index.Query{Filter: index.NoFilter}, nil, 1)
	b := page.Last.AppendBinary(nil)
	for n := range b {
		if p, err := index.ParsePosition(b[:n]); err == nil {
			t.Errorf("%d of %d bytes are read as %+v", n, len(b), p)
		}
	}

	if p, err := index.ParsePosition(append(b, 0)); err == nil {
		t.Errorf("bytes after the end are read as %+v", p)
	}
}

// TestPositionIsShort: a cursor of the largest position stays within the 512 characters of
// docs/API.md.
func TestPositionIsShort(t *testing.T) {
	w := fixture.Random(1, fixture.Size{Sets: 1, Cards: 2, Days: 1})
	long := fmt.Sprintf("%064d", 7)
	w.Sets[0].ID = "set_" + long
	w.Sets[0].Name = fmt.Sprintf("%0200d", 7)
	for i := range w.Cards {
		w.Cards[i].ID = "card_" + long[1:] + fmt.Sprint(i)
		w.Cards[i].Set = w.Sets[0].ID
		w.Cards[i].Number = "é" + fmt.Sprintf("%098d", i)
	}

	o := newOracle(t, w)
	p := o.x.Cards(nil, index.Query{Filter: index.NoFilter}, nil, 1).Last
	p.Score = 1<<64 - 1
	p.Cents = snapshot.MaxCents
	p.Release = snapshot.NoDay
	const head, mac = 27, 16 // of engine/cursor
	if n := (head + len(p.AppendBinary(nil)) + mac) * 4 / 3; n > 500 {
		t.Errorf("a cursor has %d characters", n)
	}
}

// TestPositionClone holds that a copy of a position refers to no column of the catalog.
func TestPositionClone(t *testing.T) {
	o := newOracle(t, fixture.Random(3, fixture.Small))
	page := o.x.Cards(nil, index.Query{Filter: index.NoFilter}, nil, 1)
	p, own := page.Last, page.Last.Clone() // air: a pair
	if own != p || p.ID == "" || p.SetID == "" || p.Number == "" {
		t.Fatalf("a copy of %+v is %+v", p, own)
	}

	for _, texts := range [][2]string{
		{p.ID, own.ID}, {p.SetID, own.SetID}, {p.Name, own.Name}, {p.Number, own.Number},
	} {
		if unsafe.StringData(texts[0]) == unsafe.StringData(texts[1]) {
			t.Errorf("the copy has %q of the catalog", texts[1])
		}
	}
}

func FuzzPosition(f *testing.F) {
	p := index.Position{
		Score: 1 << 40, Cents: -1, ID: "card_abc", SetID: "set_abc", Name: "Base",
		Release: snapshot.NoDay, Number: "4/102",
	}
	f.Add(p.AppendBinary(nil))
	s := index.SetPosition{ID: "set_abc", Release: 5, Name: "Base"}
	f.Add(s.AppendBinary(nil))
	w := fixture.Random(2, fixture.Size{Sets: 3, Cards: 20, Days: 2})
	x, err := index.Build(context.Background(), nil, w.Catalog(), nil)
	if err != nil {
		f.Fatal(err)
	}

	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := index.ParsePosition(b); err == nil {
			for order := index.Relevance; order <= index.ByNumber; order++ {
				x.Cards(nil, index.Query{Filter: index.NoFilter, Sort: order}, &p, 3)
			}
			if again, err := index.ParsePosition(p.AppendBinary(nil)); err != nil || again != p {
				t.Fatalf("%+v is read as %+v, %v", p, again, err)
			}
		}

		if p, err := index.ParseSetPosition(b); err == nil {
			// A list goes through the three sets twice.
			if n := x.SetAfter(index.SetFilter{Query: "base"}, p); n < 0 || n > 6 {
				t.Fatalf("after %+v stands set %d", p, n)
			}
		}
	})
}
