package index_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ninepocket/cardvocab"
	"ninepocket/index"
	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
)

// setIDs are the sets that pass a filter, in order.
func (o *oracle) setIDs(f index.SetFilter) []string {
	sets := slices.Clone(o.Sets)
	slices.SortFunc(sets, func(a, b fixture.Set) int { return fixture.CompareSets(&a, &b) })
	var all []string
	for _, s := range sets {
		series := cardvocab.Fold(f.Series)
		if (f.Game == "" || o.Games[s.Game].Slug == f.Game) && within(f.Released, s.Release) &&
			(f.Series == "" || series != "" && cardvocab.Fold(s.Series) == series) {
			all = append(all, s.ID)
		}
	}

	return all
}

// within reports whether a release date is in a range. A set without a date is in none.
func within(d index.Dates, release snapshot.Day) bool {
	if !d.Given {
		return true
	}
	return release != snapshot.NoDay && release >= d.From && (d.To == snapshot.NoDay || release <= d.To)
}

func TestSetsWalk(t *testing.T) {
	for seed := range uint64(4) {
		o := newOracle(t, fixture.Random(seed, fixture.Size{Sets: 40, Days: 1}))
		rapid.Check(t, func(t *rapid.T) {
			f := index.SetFilter{
				Game: rapid.SampledFrom([]string{"", "", "pokemon", "one-piece", "digimon"}).Draw(t, "game"),
				Series: rapid.SampledFrom([]string{
					"", "", "XY", "x y", "scarlet and violet", "scarlet&violet", "-",
					"none",
				}).Draw(t, "series"),
			}

			// Days of release are the days of sets, the days before and after them, and open ends.
			day := rapid.Custom(func(t *rapid.T) snapshot.Day {
				of := rapid.IntRange(0, len(o.Sets)-1).Draw(t, "set")
				if release := o.Sets[of].Release; release != snapshot.NoDay {
					return release + snapshot.Day(rapid.IntRange(-1, 1).Draw(t, "beside"))
				}
				return snapshot.NoDay
			})
			if rapid.Bool().Draw(t, "released") {
				f.Released = index.Dates{Given: true, From: day.Draw(t, "from"), To: day.Draw(t, "to")}
			}

			limit := rapid.IntRange(1, 45).Draw(t, "limit")
			var got []string
			for from := 0; from >= 0; {
				var sets []uint32
				sets, from = o.x.Sets(nil, f, from, limit)
				if len(sets) > limit || from >= 0 && len(sets) != limit || len(got) > 0 && len(sets) == 0 {
					t.Fatalf("a page of %d has %d sets, next %d", limit, len(sets), from)
				}

				for _, set := range sets {
					got = append(got, o.c.Sets.ID.At(int(set)))
				}

				if from >= 0 {
					p := o.x.SetPosition(int(sets[len(sets)-1]))
					again, err := index.ParseSetPosition(p.AppendBinary(nil))
					if err != nil || again != p {
						t.Fatalf("%+v is read as %+v, %v", p, again, err)
					}
					from = o.x.SetAfter(f, again)
				}
			}

			if diff := cmp.Diff(o.setIDs(f), got); diff != "" {
				t.Fatalf("seed %d, %+v (-want +got):\n%s", seed, f, diff)
			}
		})
	}
}

func TestSetsGoOnInAnotherCatalog(t *testing.T) {
	before := newOracle(t, fixture.Random(5, fixture.Size{Sets: 30, Days: 1}))
	for tenths := range 10 { // tenths of the sets that stay
		later := before.Clone()
		n := 0
		later.Sets = slices.DeleteFunc(later.Sets, func(fixture.Set) bool { n++; return n*7%10 >= tenths })
		later.Sets = append(later.Sets, fixture.Random(77, fixture.Size{Sets: 10, Days: 1}).Sets...)
		after := newOracle(t, later)
		sorted := slices.Clone(later.Sets)
		slices.SortFunc(sorted, func(a, b fixture.Set) int { return fixture.CompareSets(&a, &b) })

		for set := range before.Sets {
			last := before.sets[before.c.Sets.ID.At(set)]
			want := slices.IndexFunc(sorted, func(s fixture.Set) bool { return fixture.CompareSets(&s, last) > 0 })
			if want < 0 {
				want = len(sorted)
			}

			// No set has this name: places start after those that do.
			got := after.x.SetAfter(index.SetFilter{}, before.x.SetPosition(set)) - len(sorted)
			if got != want {
				t.Fatalf("with %d tenths of the sets, after %+v comes set %d, want %d", tenths, last, got, want)
			}
		}
	}
}

func TestRefs(t *testing.T) {
	w := fixture.Random(4, size)
	// A former slug that is another card's slug now, one that led to two cards, and one of a set
	// that looks like a card's.
	w.Former = append(w.Former,
		fixture.Former{Slug: w.Cards[1].Slug, ID: w.Cards[0].ID}, fixture.Former{Slug: "two", ID: w.Cards[2].ID},
		fixture.Former{Slug: "two", ID: w.Cards[3].ID}, fixture.Former{Slug: "of-both", ID: w.Sets[0].ID},
		fixture.Former{Slug: "of-both", ID: w.Cards[4].ID},
	)

	// A slug of a card as a set's is no clash: they are found apart.
	w.Sets[1].Slug = w.Cards[5].Slug
	o := newOracle(t, w)
	card := func(ref, want string) {
		t.Helper()
		got := ""
		if n, ok := o.x.Card(ref); ok {
			got = o.idOf(uint32(n))
		}

		if got != want {
			t.Errorf("card %q is %q, want %q", ref, got, want)
		}
	}

	set := func(ref, want string) {
		t.Helper()
		got := ""
		if n, ok := o.x.Set(ref); ok {
			got = o.c.Sets.ID.At(n)
		}

		if got != want {
			t.Errorf("set %q is %q, want %q", ref, got, want)
		}
	}

	for _, c := range w.Cards {
		card(c.ID, c.ID)
		card(c.Slug, c.ID)
		card(strings.ToUpper(c.ID), "")
	}

	for _, s := range w.Sets {
		set(s.ID, s.ID)
		set(s.Slug, s.ID)
		card(s.ID, "")
	}

	for i := range w.Cards {
		if former := (fixture.Former{
			Slug: "old-card-" + string(rune('0'+i%10)),
			ID:   w.Cards[i].ID,
		}); slices.Contains(w.Former, former) {
			card(former.Slug, former.ID)
			set(former.Slug, "")
		}
	}

	card("two", min(w.Cards[2].ID, w.Cards[3].ID))
	card("of-both", w.Cards[4].ID)
	set("of-both", w.Sets[0].ID)
	for _, nothing := range []string{"", "gone", "nothing", w.Cards[0].ID + "x", w.Cards[0].ID[:10]} {
		card(nothing, "")
		set(nothing, "")
	}
}

func TestMoversAndTop(t *testing.T) {
	for seed := range uint64(4) {
		o := newOracle(t, fixture.Random(seed, fixture.Size{Sets: 4, Cards: 150, Days: 50}))
		rapid.Check(t, func(t *rapid.T) {
			q := drawQuery(t, o)
			down := rapid.Bool().Draw(t, "down")
			days := rapid.SampledFrom([]int{7, 30}).Draw(t, "days")
			limit := rapid.IntRange(1, 50).Draw(t, "limit")
			var want []string
			for _, m := range o.Moves(days, down) {
				if o.passes(o.rows[m.ID], q.Filter) && len(want) < limit {
					want = append(want, m.ID)
				}
			}

			var got []string
			list := o.x.Movers
			if days == 30 {
				list = o.x.MoversOfMonth
			}
			before := []uint32{7}
			for _, card := range list(before, down, q.Filter, limit)[1:] {
				got = append(got, o.idOf(card))
			}

			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d, movers of %d days, down %t, %+v, %d (-want +got):\n%s",
					seed, days, down, q.Filter, limit, diff)
			}
		})

		for _, days := range []int{7, 30} {
			if len(o.Moves(days, false)) == 0 || len(o.Moves(days, true)) == 0 {
				t.Fatalf("seed %d moves nothing in %d days", seed, days)
			}
		}

		for set := range o.c.Sets.ID.Len() {
			var want []string
			for _, p := range o.places(index.Query{Filter: index.NoFilter, Sort: index.PriceDesc}) {
				if p.card.Set == o.c.Sets.ID.At(set) && p.price != snapshot.NoCents && len(want) < 10 {
					want = append(want, p.card.ID)
				}
			}

			var got []string
			for _, card := range o.x.TopOfSet(nil, set, 10) {
				got = append(got, o.idOf(card))
			}

			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("seed %d, top cards of set %d (-want +got):\n%s", seed, set, diff)
			}
		}
	}
}

func TestProducts(t *testing.T) {
	type product struct {
		tail, kind, game string
		partners         []string
	}
	for seed := range uint64(3) {
		o := newOracle(t, fixture.Random(seed, fixture.Size{Sets: 4, Cards: 60, Sealed: 20, Days: 2}))
		var all []product
		add := func(tail, kind string, game int, ids []fixture.Identifier) {
			p := product{tail, kind, o.Games[game].Slug, nil}
			for _, id := range ids {
				if id.Namespace == "tcgplayer" || id.Namespace == "partner" {
					p.partners = append(p.partners, id.Value)
				}
			}
			all = append(all, p)
		}

		for _, c := range o.Cards {
			if tail := strings.TrimPrefix(c.ID, "card_"); c.Product {
				add(tail, "card", c.Game, c.Identifiers)
			} else if _, ok := o.x.Products().Find(tail); ok {
				t.Errorf("card %s is not verified and is found as a product", c.ID)
			}
		}

		for _, s := range o.Sealed {
			add(s.Tail, "sealed", s.Game, s.Identifiers)
		}

		slices.SortFunc(all, func(a, b product) int { return strings.Compare(a.tail, b.tail) })
		for row, p := range all {
			item, ok := o.x.Products().Find(p.tail)
			if found, known := o.x.Products().Row(p.tail); !ok || !known || found != row ||
				index.ProductTail(o.c, item) != p.tail {
				t.Errorf("product %q is item %d (%t), row %d", p.tail, item, ok, found)
			}
		}

		for _, nothing := range []string{"", "a", "zzzz", all[0].tail + "x"} {
			if item, ok := o.x.Products().Find(nothing); ok {
				t.Errorf("product %q is item %d", nothing, item)
			}
		}

		rapid.Check(t, func(t *rapid.T) {
			f := index.ProductFilter{
				Game: rapid.SampledFrom([]string{"", "", "pokemon", "one-piece", "digimon"}).Draw(t, "game"),
				Kind: rapid.SampledFrom([]string{"", "", "card", "sealed"}).Draw(t, "kind"),
			}
			if rapid.Bool().Draw(t, "by partner") {
				f.Partner = rapid.SampledFrom(append([]string{"nobody"},
					all[rapid.IntRange(0, len(all)-1).Draw(t, "product")].partners...)).Draw(t, "partner")
			}

			var want, got []string
			for _, p := range all {
				if (f.Game == "" || p.game == f.Game) && (f.Kind == "" || p.kind == f.Kind) &&
					(f.Partner == "" || slices.Contains(p.partners, f.Partner)) {
					want = append(want, p.tail)
				}
			}

			limit := rapid.IntRange(1, 50).Draw(t, "limit")
			after := ""
			for more := true; more; {
				var rows []uint32
				rows, more = o.x.Products().Page(nil, f, after, limit)
				if len(rows) > limit || more && len(rows) < limit || after != "" && len(rows) == 0 {
					t.Fatalf("a page of %d has %d products, more %t", limit, len(rows), more)
				}
				for _, row := range rows {
					after = all[row].tail
					got = append(got, after)
				}
			}

			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d, %+v (-want +got):\n%s", seed, f, diff)
			}
		})
	}
}

func TestEmptyCatalog(t *testing.T) {
	o := newOracle(t, fixture.Random(1, fixture.Size{}))
	for _, words := range []bool{false, true} {
		if page := o.x.Cards(nil, index.Query{Filter: index.NoFilter, Words: "pikachu", HasWords: words}, nil,
			5); len(page.Cards) != 0 || page.More {
			t.Errorf("an empty catalog answers %+v", page)
		}
	}

	if sets, next := o.x.Sets(nil, index.SetFilter{}, 0, 5); len(sets) != 0 || next != -1 {
		t.Errorf("an empty catalog has sets %v, %d", sets, next)
	}
}

func TestBuildRefusesWrongOrders(t *testing.T) {
	f := func(what string, damage func(c *snapshot.Catalog)) {
		t.Helper()
		c := fixture.Random(2, size).Catalog()
		damage(c)
		if _, err := index.Build(context.Background(), nil, c, nil); err == nil {
			t.Errorf("a catalog with %s is indexed", what)
		}
	}

	f("two cards of one rank", func(c *snapshot.Catalog) { c.Cards.Order[0] = c.Cards.Order[1] })
	f("the dearest card last", func(c *snapshot.Catalog) {
		n := len(c.Cards.Display) - 1
		c.Cards.Display[0], c.Cards.Display[n] = c.Cards.Display[n], c.Cards.Display[0] // air: a swap
	})
	f("a price below the next", func(c *snapshot.Catalog) { c.Lanes.Cents[c.Cards.Display[3]] = 0 })
}

func TestParseSort(t *testing.T) {
	for want, s := range []string{"relevance", "price_desc", "price_asc", "newest"} {
		if got := index.ParseSort(s); int(got) != want {
			t.Errorf("%q is sort %d", s, got)
		}
	}

	for _, s := range []string{"", "Newest", "price", "newest "} {
		if got := index.ParseSort(s); got != index.Relevance {
			t.Errorf("%q is sort %d", s, got)
		}
	}
}

// TestBuildEnds: Build stops when the context ends.
func TestBuildEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	world := fixture.Random(1, fixture.Small)
	if _, err := index.Build(ctx, nil, world.Catalog(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}

	late, end := context.WithCancel(t.Context())
	steps := 0
	_, err := index.Build(late, nil, fixture.Random(1, fixture.Small).Catalog(), func() {
		steps++
		if steps == 20 {
			end()
		}
	})

	if !errors.Is(err, context.Canceled) {
		t.Errorf("after %d steps: %v, want %v", steps, err, context.Canceled)
	}
}
