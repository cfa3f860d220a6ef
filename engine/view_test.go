package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"ninepocket/engine"
	"ninepocket/index"
	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// TestFragments compares a View's pre-rendered JSON with the output of wire, for more records
// than one chunk holds.
func TestFragments(t *testing.T) {
	for _, size := range []fixture.Size{{}, fixture.Small, {Sets: 3, Cards: 1500, Sealed: 9, Days: 1}} {
		v := view(t, fixture.Random(1, size))
		c := v.Catalog
		var joined []byte
		var cards []uint32
		f := func(what string, got, want []byte) {
			t.Helper()
			if string(got) != string(want) || !jsontext.Value(got).IsValid() {
				t.Fatalf("%s is\n%s\nwant\n%s", what, got, want)
			}
			if cap(got) != len(got) {
				t.Fatalf("%s can be grown over its neighbour", what)
			}
		}

		for i := range c.Cards.ID.Len() {
			detail := wire.AppendPrices(wire.AppendCardHead(nil, c, i, &site), c, i)
			detail = wire.AppendCardTail(detail, c, i, &site)
			got := v.AppendDetail([]byte("x"), i)
			if string(got) != "x"+string(detail) || !jsontext.Value(got[1:]).IsValid() {
				t.Fatalf("detail is\n%s\nwant\n%s", got, detail)
			}

			cents, at := c.DisplayPrice(i)
			price := wire.AppendMarketPrice(nil, cents, at)
			entry := string(v.AppendPriceEntry(nil, i))
			if want := string(wire.AppendPriceEntry(nil, v.AppendDetail(nil, i), price)); entry != want {
				t.Fatalf("entry is %s, want %s", entry, want)
			}
			if i > 0 {
				joined = append(joined, ',')
			}
			joined = wire.AppendCardSummary(joined, wire.AppendCardHead(nil, c, i, &site), price)
			cards = append(cards, uint32(i))
		}

		if got := v.AppendSummaries([]byte("x"), cards); string(got) != "x"+string(joined) {
			t.Errorf("the summaries of %d cards differ", len(cards))
		}

		for i := range c.Sets.ID.Len() {
			f("set", v.SetDetail(i), wire.AppendSetDetail(nil, c, i, v.Index.TopOfSet(nil, i, 10), &site))
			if got := v.AppendSets(nil,
				[]uint32{
					uint32(i),
					uint32(i),
				}); string(got) != string(wire.AppendSetSummary(append(wire.AppendSetSummary(nil, c, i),
				','), c, i)) {
				t.Errorf("set %d twice is %s", i, got)
			}
		}

		for row, item := range v.Index.Products().Items() {
			tail := index.ProductTail(c, int(item))
			got, ok := v.AppendProduct(nil, "np_"+tail)
			if !ok {
				t.Fatalf("product %q is not found", tail)
			}
			if want := wire.AppendProduct(nil, c, int(item), tail, &site); string(got) != string(want) {
				t.Fatalf("product is\n%s\nwant\n%s", got, want)
			}
			if string(v.AppendProducts(nil, []uint32{uint32(row)})) != string(got) {
				t.Errorf("product %q is not that of row %d", tail, row)
			}
		}

		if string(v.Games()) != string(wire.AppendGames(nil, c)) {
			t.Errorf("games are %s", v.Games())
		}

		moved := v.AppendMovers(nil, c.Movers.Up)
		if !jsontext.Value(fmt.Sprintf("[%s]", moved)).IsValid() ||
			strings.Count(string(moved), `"price_change_cents"`) != len(c.Movers.Up) {
			t.Errorf("movers are %s", moved)
		}

		if v.Size() < c.Size() {
			t.Errorf("a view of a catalog of %d bytes says it holds %d", c.Size(), v.Size())
		}
	}
}

func TestProductRefs(t *testing.T) {
	w := fixture.Random(1, fixture.Small)
	v := view(t, w)
	for _, s := range w.Sealed {
		for _, bad := range []string{
			s.Tail, "np" + s.Tail, "np-" + s.Tail, "nq_" + s.Tail, "np_" + s.Tail + "x",
			"np_", "np", "", "NP_" + s.Tail,
		} {
			if got, ok := v.AppendProduct(nil, bad); ok {
				t.Errorf("product %q is %s", bad, got)
			}
		}
	}

	// Equal products have an equal hash whatever the prices are; other products have another hash.
	dearer := w.Clone()
	for i := range dearer.Cards {
		for k := range dearer.Cards[i].Lanes {
			if l := &dearer.Cards[i].Lanes[k]; l.Cents >= 0 {
				l.Cents++
			}
		}
	}

	if view(t, dearer).ProductsHash != v.ProductsHash {
		t.Error("a change of prices changes the products")
	}

	renamed := w.Clone()
	renamed.Sealed[0].Name += "!"
	if view(t, renamed).ProductsHash == v.ProductsHash {
		t.Error("a change of name does not change the products")
	}
}

// TestPriceReasons judges selections in the order of decision 27.
func TestPriceReasons(t *testing.T) {
	w := fixture.Random(1, fixture.Size{Sets: 1})
	lane := func(variant string, licensed bool, cents int64) fixture.Lane {
		l := fixture.Lane{
			Variant: variant, Licensed: licensed, Cents: cents, SourceAsOf: snapshot.NoTime,
			CollectedAt: snapshot.NoTime, Seen: w.Date(),
		}
		if cents >= 0 {
			l.CollectedAt = w.At
		}

		return l
	}

	w.Cards = []fixture.Card{
		{
			ID: "card_abc", Slug: "a", Name: "A", Number: "1", Printing: "standard", Set: w.Sets[0].ID,
			Game: w.Sets[0].Game, Product: true, Lanes: []fixture.Lane{
				lane("normal", true, 0), lane("foil", true, snapshot.NoCents), lane("cosmos", false, snapshot.NoCents),
			},
		},
		{ID: "card_def", Slug: "b", Name: "B", Lanes: []fixture.Lane{lane("normal", true, 5)}},
	}

	sealedLane := lane("", true, 7)
	sealedLane.Condition = snapshot.FactorySealed
	w.Sealed = []fixture.Sealed{{
		Tail: "box", Name: "Box", PackageType: "booster_box", UnitKind: "booster_pack",
		Edition: "standard", Units: 36, Lanes: []fixture.Lane{sealedLane},
	}, {
		Tail: "empty", Name: "Box", PackageType: "booster_box", UnitKind: "booster_pack",
		Edition: "standard", Units: 36,
	}}
	v := view(t, w)
	f := func(s wire.Selection, want string) {
		t.Helper()
		results := []wire.PriceResult{v.PriceResult(&s)}
		got := string(wire.AppendPriceResults(nil, []wire.Selection{s}, results, v.Catalog.SnapshotAt))
		if !strings.Contains(got, want) || !jsontext.Value(got).IsValid() {
			t.Errorf("%+v: %s, want %s", s, got, want)
		}
	}

	card := func(id, variant, condition string) wire.Selection {
		return wire.Selection{Kind: "card", ProductID: id, Variant: variant, Condition: condition}
	}
	f(card("np_abc", "normal", "near_mint"), `"price":{"amount_cents":0,`)
	f(card("np_abc", "Normal", "near_mint"), `"unsupported_selection"`)
	f(card("np_abc", "normal", "ungraded"), `"unsupported_selection"`)
	f(card("np_abc", "foil", "near_mint"), `"no_observation"`)
	f(card("np_abc", "cosmos", "near_mint"), `"not_licensed"`)
	f(card("np_def", "normal", "near_mint"), `"not_found"`) // not a verified product
	f(card("np_nothing", "normal", "near_mint"), `"not_found"`)
	f(card("card_abc", "normal", "near_mint"), `"not_found"`)
	f(card("np_box", "", "factory_sealed"), `"unsupported_selection"`)
	f(wire.Selection{Kind: "sealed", ProductID: "np_box"}, `"price":{"amount_cents":7,`)
	f(wire.Selection{Kind: "sealed", ProductID: "np_abc"}, `"unsupported_selection"`)
	f(wire.Selection{Kind: "sealed", ProductID: "np_empty"}, `"no_observation"`)
}

func TestNewViewRefuses(t *testing.T) {
	c := fixture.Random(1, fixture.Small).Catalog()
	c.Cards.Order[0] = c.Cards.Order[1]
	if _, err := engine.NewView(c, site); err == nil {
		t.Error("a catalog without an order has a view")
	}

	w := fixture.Random(1, fixture.Small)
	last := w.PriceDesc()[len(w.Cards)-1]
	for i := range w.Cards {
		if w.Cards[i].ID != last.ID {
			continue
		}
		w.Cards[i].Slug = w.PriceDesc()[0].Slug
	}

	v, err := engine.NewView(w.Catalog(), site)
	if err == nil {
		_, err = v.Smoke()
	}
	if err == nil {
		t.Error("a catalog with two cards of one slug has a view that passes")
	}
}
