//go:build !race

package index_test

import (
	"context"
	"testing"

	"ninepocket/index"
	"ninepocket/internal/fixture"
)

func TestCardsAlloc(t *testing.T) {
	o := newOracle(t, fixture.Random(1, size))
	dst := make([]uint32, 0, 64)
	f := func(what string, q index.Query, maxAllocs float64) {
		t.Helper()
		first := o.x.Cards(dst, q, nil, 2)
		if n := testing.AllocsPerRun(100, func() { o.x.Cards(dst, q, nil, 20) }); n > maxAllocs {
			t.Errorf("%s: %v allocations, at most %v", what, n, maxAllocs)
		}

		if n := testing.AllocsPerRun(100, func() { o.x.Cards(dst, q, &first.Last, 20) }); n > maxAllocs {
			t.Errorf("%s, next page: %v allocations, at most %v", what, n, maxAllocs)
		}
	}

	all := index.Query{Filter: index.NoFilter}
	f("no filter", all, 1)
	for _, order := range []index.Sort{index.PriceDesc, index.PriceAsc, index.Newest} {
		q := all
		q.Sort = order
		f("sorted", q, 1)
	}

	q := all
	q.Game = "pokemon"
	q.Min = 100
	f("game and price", q, 1)
	q = all
	q.Set = o.Sets[0].ID
	f("set", q, 2)
	if n := testing.AllocsPerRun(100, func() { o.x.Card(o.Cards[0].Slug); o.x.Set(o.Sets[0].ID) }); n != 0 {
		t.Errorf("refs: %v allocations", n)
	}
}

func BenchmarkCards(b *testing.B) {
	w := fixture.Random(1, fixture.Size{Sets: 200, Cards: 30_000, Days: 5})
	c := w.Catalog()
	x, err := index.Build(context.Background(), nil, c, nil)
	if err != nil {
		b.Fatal(err)
	}

	all := index.Query{Filter: index.NoFilter}
	run := func(name string, edit func(q *index.Query)) {
		q := all
		edit(&q)
		first := x.Cards(nil, q, nil, 20)
		dst := make([]uint32, 0, 64)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x.Cards(dst, q, nil, 20)
			}
		})

		if !first.More {
			return
		}

		b.Run(name+"/next", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x.Cards(dst, q, &first.Last, 20)
			}
		})
	}

	run("all", func(*index.Query) {})
	run("price_asc", func(q *index.Query) { q.Sort = index.PriceAsc })
	run("newest", func(q *index.Query) { q.Sort = index.Newest })
	run("price_range", func(q *index.Query) { q.Min, q.Max, q.Sort = 1000, 1010, index.PriceAsc }) // air: a query a line
	run("set", func(q *index.Query) { q.Set = w.Sets[0].ID })
	run("set_and_rarity", func(q *index.Query) { q.Set, q.Rarity = w.Sets[0].ID, "Double Rare" }) // air: a query a line
	run("rarity_newest", func(q *index.Query) { q.Rarity, q.Sort = "Common", index.Newest })      // air: a query a line
	run("number", func(q *index.Query) { q.Number = "4/102" })
	run("words", func(q *index.Query) { q.Words, q.HasWords = "charizard", true }) // air: a query a line
	b.Run("card", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			x.Card(c.Cards.Slug.At(i % 30_000))
		}
	})

	b.Run("build", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := index.Build(context.Background(), nil, c, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}
