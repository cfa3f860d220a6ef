package valuation_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"ninepocket/engine"
	"ninepocket/internal/fixture"
	"ninepocket/internal/testsweep"
	"ninepocket/snapshot"
	"ninepocket/valuation"
	"ninepocket/wire"
)

var at = time.Date(2026, 3, 14, 20, 0, 0, 0, time.UTC).UnixMilli()

// lanes are prices of one collection instant: variant, condition, cents.
func lanes(all ...fixture.Lane) []fixture.Lane {
	for i := range all {
		all[i].Licensed = true
		all[i].CollectedAt = at
		all[i].SourceAsOf = snapshot.NoTime
		all[i].Seen = snapshot.DayOf(at)
	}
	return all
}

// smallShop has a card for every kind of line.
func smallShop(t testing.TB) *shop { return newShop(t, smallWorld().Catalog()) }

func smallWorld() *fixture.World {
	raw := func(variant string, cents int64) fixture.Lane {
		return fixture.Lane{Variant: variant, Condition: snapshot.Ungraded, Cents: cents}
	}

	return &fixture.World{
		At:    at,
		Games: []fixture.Game{{Slug: "pokemon", Name: "Pokémon"}, {Slug: "one-piece", Name: "One Piece"}},
		Feeds: []fixture.Feed{{Namespace: "shop", Attribution: "The Shop", Partner: "shop"}},
		Sets: []fixture.Set{
			{ID: "set_base", Slug: "base-set", Name: "Base Set", Code: "BS", Game: 0, Total: 102},
			{ID: "set_shadowless", Slug: "shadowless", Name: "Base Set (Shadowless)", Game: 0, Total: 102},
			{ID: "set_151", Slug: "151", Name: "SV: Scarlet & Violet 151", Game: 0, Total: 165},
			{ID: "set_neo", Slug: "neo", Name: "Neo Genesis", Game: 0, Total: 111},
			{ID: "set_op05", Slug: "op05", Name: "Awakening of the New Era", Code: "OP05", Game: 1},
		},
		Cards: []fixture.Card{
			{
				ID: "card_base", Slug: "base", Name: "Charizard", Number: "004/102", Set: "set_base", Game: 0,
				Lanes:       lanes(raw("holofoil", 43000)),
				Identifiers: []fixture.Identifier{{Namespace: "tcgplayer", Value: "42382"}},
			},
			{
				ID: "card_dot", Slug: "dot", Name: "Charizard (Black Dot Error)", Number: "004/102", Set: "set_base",
				Game: 0, Lanes: lanes(raw("holofoil", 90000)),
			},
			{
				ID: "card_shadowless", Slug: "shadowless-4", Name: "Charizard", Number: "004/102",
				Set: "set_shadowless", Game: 0,
				Lanes: lanes(raw("unlimited_holofoil", 200000), raw("1st_edition_holofoil", 900000)),
			},
			{
				ID: "card_sir", Slug: "sir", Name: "Charizard ex", Number: "199/165", Set: "set_151", Game: 0,
				Rarity: "Special Illustration Rare", Lanes: lanes(raw("holofoil", 24950)),
			},
			{
				ID: "card_double", Slug: "double", Name: "Charizard ex", Number: "006/165", Set: "set_151", Game: 0,
				Rarity: "Double Rare", Lanes: lanes(raw("holofoil", 702)),
			},
			{
				ID: "card_rattata", Slug: "rattata", Name: "Rattata", Number: "019/165", Set: "set_151", Game: 0,
				Lanes: lanes(raw("normal", 10), raw("reverse_holofoil", 30)),
			},
			{
				ID: "card_lugia", Slug: "lugia", Name: "Lugia", Number: "9/111", Set: "set_neo", Game: 0,
				Lanes: lanes(
					fixture.Lane{Variant: "1st_edition_holofoil", Condition: snapshot.NearMint, Cents: 80000},
					fixture.Lane{Variant: "1st_edition_holofoil", Condition: snapshot.Damaged, Cents: 9000}),
			},
			{
				ID: "card_luffy", Slug: "luffy", Name: "Monkey.D.Luffy (119)", Number: "OP05-119", Set: "set_op05",
				Game: 1, Lanes: lanes(raw("foil", 974)),
			},
			{
				ID: "card_alt", Slug: "luffy-alt", Name: "Monkey.D.Luffy (119) (Alternate Art)", Number: "OP05-119",
				Set: "set_op05", Game: 1, Lanes: lanes(raw("foil", 25021)),
			},
			{ID: "card_mew", Slug: "mew", Name: "Mew", Number: "151/165", Set: "set_151", Game: 0},
		},
	}
}

// newShop is a shop over a catalog.
func newShop(t testing.TB, c *snapshot.Catalog) *shop {
	t.Helper()
	c.ID = "20260314-small"
	view, err := engine.NewView(c, wire.URLs{URL: "https://cards.example", ProductPrefix: "prd"})
	if err != nil {
		t.Fatal(err)
	}
	s := &shop{}
	s.Reset(view)
	return s
}

// TestLines checks every kind of line and its result.
func TestLines(t *testing.T) {
	s := smallShop(t)
	type item = valuation.Item
	for _, test := range []struct {
		item item
		want string // status, id, and the rest of the result
	}{
		// A name, with the words that distinguish its cards.
		{item{Name: "Charizard", Set: "Base Set", Number: "004/102"}, "priced card_base 43000"},
		{item{Name: "Charizard (Black Dot Error)", Set: "Base", Number: "4"}, "priced card_dot 90000"},
		{item{Name: "Charizard (#4)", Set: "Base"}, "priced card_base 43000"},
		{item{Name: "Charizard - 004/102", Set: "Base"}, "ambiguous ask the whole name and the number of 2"},
		{item{Name: "Charizard", Set: "Base Set"}, "ambiguous ask the whole name and the number of 2"},
		{item{Name: "Charizard", Number: "4/102"}, "ambiguous ask the whole name and the set of 3"},
		{item{Name: "charizard EX", Set: "151"}, "ambiguous ask the number of 2"},
		{item{Name: "Charizard ex SIR", Set: "Scarlet and Violet 151"}, "priced card_sir 24950"},
		{item{Name: "Charizard ex SIR 199/165"}, "priced card_sir 24950"},
		{item{Name: "Charizrd ex", Set: "151", Number: "199"}, "priced card_sir 24950"},
		{item{Name: "Rattata", Set: "151", Number: "199"}, "unmatched ask the number"},
		{item{Name: "Monkey D Luffy", Number: "OP05-119"}, "ambiguous ask the whole name and the set of 2"},
		{item{Name: "Monkey.D.Luffy (119)", Set: "OP05", Number: "OP05-119"}, "priced card_luffy 974"},
		{item{Name: "Monkey.D.Luffy (OP05-119) (V.1)", Set: "Awakening of the New Era"}, "priced card_luffy 974"},
		{
			item{Name: "Monkey.D.Luffy (OP05-119) (V.2)", Set: "Awakening of the New Era"},
			"ambiguous ask the whole name and the number of 2",
		},
		{item{Name: "luffy alternate art op05-119"}, "unmatched ask the whole name, set and number"},
		{item{Name: "monkey d luffy alternate art op05-119"}, "priced card_alt 25021"},
		{item{Set: "151", Number: "19"}, "priced card_rattata 10"},
		{item{Name: "Rattata", Set: "Nowhere at all"}, "unmatched ask the set"},
		{item{}, "unmatched ask the whole name"},

		// Ids and other catalogs' ids.
		{item{ID: "card_sir", Name: "Charizrd ex"}, "priced card_sir 24950"},
		{item{ID: "card_sir", Name: "Rattata"}, "priced card_sir 24950"},
		{item{ID: "card_sir", Line: "2x charizard 199/165 151 NM"}, "priced card_sir 24950 49900 condition"},
		{item{ID: "card_sir", Line: "Charizard ex PSA 10"}, "unpriced card_sir 24950-24950"},
		{item{ID: "card_sir", Name: "Charizard ex x3"}, "unpriced card_sir 24950-24950"},
		{item{ID: "card_sir", Name: "Charizard ex x3", Quantity: 3}, "priced card_sir 24950 74850"},
		{item{ID: "card_sir", Identifier: "tcgplayer:42382"}, "priced card_sir 24950"},
		{item{ID: "card_base", Identifier: "TCGplayer: 42382"}, "priced card_base 43000"},
		{item{ID: "card_sir", Set: "Base Set"}, "priced card_sir 24950"},
		{item{ID: "card_sir", Number: "6/165"}, "priced card_sir 24950"},
		{item{ID: "card_rattata", Line: "rattata reverse holo"}, "priced card_rattata 30"},
		{item{Name: "Rattata", Line: "Rattata | 151 | LP | signed"}, "unpriced card_rattata 10-30"},
		{item{Name: "Rattata", Line: "Rattata #20"}, "unpriced card_rattata 10-30"},
		{item{ID: "tcgplayer:42382"}, "priced card_base 43000"},
		{item{Identifier: "tcgplayer:42382", Quantity: 3}, "priced card_base 43000 129000"},
		{item{ID: "tcgplayer:1"}, "unmatched ask the whole name, set and number"},

		// Finishes as people write them.
		{item{Name: "Rattata", Variant: "rev holo"}, "priced card_rattata 30"},
		{item{Name: "Rattata", Variant: "Non-Holo"}, "priced card_rattata 10"},
		{item{Name: "Rattata", Variant: "Holo"}, "unpriced card_rattata ask the variant 10-30"},
		{item{Name: "Rattata reverse holo"}, "priced card_rattata 30"},
		{item{Name: "Lugia", Variant: "First Edition"}, "priced card_lugia 80000"},
		{item{Name: "Charizard", Variant: "1st Edition Holo"}, "priced card_shadowless 900000"},
		{item{ID: "card_shadowless", Variant: "Holo"}, "priced card_shadowless 200000 variant"},
		{item{ID: "card_shadowless", Variant: "Shadowless Holofoil"}, "priced card_shadowless 200000 variant"},
		{item{Name: "Charizard", Variant: "Shadowless"}, "priced card_shadowless 200000"},
		{item{Name: "Charizard", Set: "Base Set (1st Edition & Shadowless)"}, "priced card_shadowless 200000"},

		// Conditions, where the feed has them and where not.
		{item{Name: "Lugia", Condition: "NM"}, "priced card_lugia 80000"},
		{item{Name: "Lugia", Condition: "DMG"}, "priced card_lugia 9000"},
		{item{Name: "Lugia", Condition: "GD"}, "unpriced card_lugia 9000-80000"},
		{item{Name: "Rattata", Condition: "Moderately Played"}, "priced card_rattata 10 condition"},
		{item{Name: "Rattata", Condition: "Near Mint Reverse Holofoil"}, "priced card_rattata 30 condition"},
		{item{Name: "Rattata", Condition: "perfect"}, "unpriced card_rattata 10-30"},
		{item{Name: "Mew"}, "unpriced card_mew"},

		// Copies that have other prices.
		{item{Name: "psa 10 rattata"}, "unpriced card_rattata 10-30"},
		{item{Line: "Rattata | 151 | NM | Japanese"}, "unpriced card_rattata 10-30"},

		// Whole lines.
		{item{Line: "2x Charizard ex SIR 199/165 NM"}, "priced card_sir 24950 49900 condition"},
		{item{Line: "3 charizard base set 4/102 unlimited played"}, "priced card_base 43000 129000 condition"},
		{item{Line: "1x Lugia (N1 9) | Neo Genesis | NM | English | First Edition"}, "priced card_lugia 80000"},
		{item{Line: "rattata x4"}, "priced card_rattata 10 40"},
		{
			item{Line: "1,Charizard - 004/102,Charizard,Base Set,004/102,BS,Holofoil,Near Mint,English,,42382,"},
			"priced card_base 43000 condition",
		},
		{
			item{Line: "Main,Pokemon,Base Set (1st Edition & Shadowless),Charizard,4,Holo,Shadowless Holofoil," +
				"Ungraded,Near Mint,0,2,,0,false,2026-05-01,"},
			"priced card_shadowless 200000 400000 condition variant",
		},
		{
			item{Line: "Binder,2,0,Rattata,SV3PT5,Scarlet & Violet 151,019,NearMint,Normal,English,0.00,2026-04-06"},
			"priced card_rattata 10 20 condition",
		},
		{
			item{Line: `"1";"2";"Rattata";"Rattata";"MEW";"151";"0.10";"1";"NM";"";"";"";"";"";"3";"1"`},
			"priced card_rattata 10 30 condition",
		},
	} {
		r := s.Value(test.item)
		if got := s.summary(&r); got != test.want {
			t.Errorf("%+v is %s, want %s (%s)", test.item, got, test.want, r.Remark)
		}
	}
}

// summary is the essence of a result in one line.
func (s *shop) summary(r *valuation.Result) string {
	parts := []string{valuation.StatusNames[r.Status]}

	if r.Card >= 0 {
		parts = append(parts, s.View.Catalog.Cards.ID.At(r.Card))
	}
	if r.Cents >= 0 {
		parts = append(parts, wire.Decimal(r.Cents))
	}
	if r.Quantity > 1 && r.Total > 0 {
		parts = append(parts, wire.Decimal(r.Total))
	}
	if r.Needed != 0 {
		parts = append(parts, "ask", r.Needed.Text())
	}
	if r.MatchCount > 0 {
		parts = append(parts, "of", wire.Decimal(int64(r.MatchCount)))
	}
	if r.Status == valuation.Unpriced && r.From >= 0 {
		parts = append(parts, wire.Decimal(r.From)+"-"+wire.Decimal(r.To))
	}
	for _, a := range r.Assumed {
		parts = append(parts, a.Field)
	}
	return strings.Join(parts, " ")
}

// TestConditions reads shops' words for conditions.
func TestConditions(t *testing.T) {
	for written, want := range map[string]snapshot.Condition{
		"NM": snapshot.NearMint, "M/NM": snapshot.NearMint, "NM/M": snapshot.NearMint, "MT": snapshot.NearMint,
		"EX": snapshot.LightlyPlayed, "LP": snapshot.LightlyPlayed, "GD": snapshot.ModeratelyPlayed,
		"MP": snapshot.ModeratelyPlayed, "PL": snapshot.HeavilyPlayed, "HP": snapshot.HeavilyPlayed,
		"DMG": snapshot.Damaged, "NearMint": snapshot.NearMint, "near_mint": snapshot.NearMint,
		"Moderately Played": snapshot.ModeratelyPlayed, "ungraded": snapshot.Ungraded,
	} {
		if got, ok := valuation.ParseCondition(written); !ok || got != want {
			t.Errorf("%q is %v, %t", written, got, ok)
		}
	}
	if _, ok := valuation.ParseCondition("perfect"); ok {
		t.Error("perfect is a condition")
	}
}

// TestTotals adds lines up, assumed ones by themselves.
func TestTotals(t *testing.T) {
	s := smallShop(t)
	var totals valuation.Totals
	for _, item := range []valuation.Item{
		{Name: "Rattata", Quantity: 4},
		{Name: "Rattata", Condition: "LP", Quantity: 2},
		{Name: "Mew"},
		{Name: "Charizard"},
		{Name: "Pikachu"},
	} {
		r := s.Value(item)
		totals.Add(&r)
	}

	want := valuation.Totals{
		Exact: 40, Assumed: 20, Quantity: 6, Lines: 5, Counts: [valuation.Statuses]int{2, 1, 1, 1},
	}
	if totals != want {
		t.Errorf("%+v, want %+v", totals, want)
	}
}

// TestRemarks shows the sentences that a caller reads.
func TestRemarks(t *testing.T) {
	s := smallShop(t)

	for _, test := range []struct {
		item   valuation.Item
		remark string
	}{
		{
			valuation.Item{Name: "Charizard", Set: "Base Set", Number: "4/102"},
			`also printed as "Charizard (Black Dot Error)"`,
		},
		{valuation.Item{Name: "Charizard ex"}, "give one's id, or the number"},
		{
			valuation.Item{Name: "Rattata", Set: "Neo Genesys Origins"},
			`no set is called "Neo Genesys Origins", perhaps "Neo Genesis"; give a candidate's id, or the set`,
		},
		{
			valuation.Item{Name: "Rattata", Variant: "Holo"},
			"no price for Holo; there is normal Ungraded $0.10, reverse_holofoil Ungraded $0.30",
		},
		{
			valuation.Item{Name: "Rattata", Number: "20/165"},
			"no card of this name has the number 20/165; give a candidate's id, or the number",
		},
		{valuation.Item{Name: "Mew"}, "the card has no current price"},
		{
			valuation.Item{Name: strings.Repeat("\uFDFA", 194)},
			"the name is too long; give the whole name, set and number",
		},
	} {
		// Each sentence is whole.
		if r := s.Value(test.item); r.Remark != test.remark {
			t.Errorf("%+v: %s, want %s", test.item, r.Remark, test.remark)
		}
	}
}

// TestAlternates names the other printings that match the words of a line, but not the printings
// that the words exclude.
func TestAlternates(t *testing.T) {
	s := smallShop(t)
	for _, test := range []struct {
		item  valuation.Item
		want  string
		count int
	}{
		{valuation.Item{Name: "Charizard", Set: "Base Set", Number: "4/102"}, "[card_dot]", 1},
		{valuation.Item{Name: "Monkey.D.Luffy (119)", Set: "OP05", Number: "OP05-119"}, "[card_alt]", 1},
		{valuation.Item{Name: "Charizard (Black Dot Error)", Set: "Base Set", Number: "4/102"}, "[]", 0},
		{valuation.Item{ID: "card_base", Name: "Charizard"}, "[]", 0},
		{valuation.Item{Name: "Charizard"}, "[]", 0},
	} {
		r := s.Value(test.item)
		ids := []string{}
		for _, card := range r.Alternates {
			ids = append(ids, s.cardID(int(card)))
		}

		if got := fmt.Sprint(ids); got != test.want || r.AlternateCount != test.count {
			t.Errorf("%+v has the alternates %s of %d, want %s of %d", test.item, got, r.AlternateCount, test.want,
				test.count)
		}
	}
}

// TestCandidatesAreInOrder shows the plain card first, and the price range of all matching cards.
func TestCandidatesAreInOrder(t *testing.T) {
	s := smallShop(t)
	r := s.Value(valuation.Item{Name: "Charizard"})
	var ids []string
	for _, card := range r.Candidates {
		ids = append(ids, s.View.Catalog.Cards.ID.At(int(card)))
	}
	if !slices.Equal(ids[2:], []string{"card_dot"}) || r.From != 43000 || r.To != 200000 || r.MatchCount != 3 {
		t.Errorf("%v of %d from %d to %d", ids, r.MatchCount, r.From, r.To)
	}
}

// TestGarbage values nonsense lines, and checks the properties of every result.
func TestGarbage(t *testing.T) {
	s := smallShop(t)
	r := rand.New(rand.NewPCG(8, 8))
	scraps := []string{
		"Charizard", "ex", " - ", "(", ")", "[", "|", ",", ";", "\"", "#", "4/102", "/", "-", "_", "x2", "2x", "V.1",
		"♀", "\uFDFA", "\xff", "é", "151", "NM", "psa 10", "sir", "reverse holo", "Base Set", "and", "&amp;", " ",
		"OP05-119", "0", "'", "s", "japanese", "not", "2021", "(AGS 10)", "(MEW 199)", "🇯🇵", "promo",
		"1st edition", "lot",
	}
	text := func() string {
		var b strings.Builder
		for range r.IntN(9) {
			b.WriteString(scraps[r.IntN(len(scraps))])
			if r.IntN(2) == 0 {
				b.WriteByte(' ')
			}
		}
		return b.String()
	}
	some := func() string {
		if r.IntN(3) > 0 {
			return ""
		}
		return text()
	}

	for range 20_000 / testsweep.Stride(4) {
		item := valuation.Item{
			Line: some(), Name: text(), Set: some(), Number: some(), Variant: some(), Condition: some(),
			Quantity: int64(r.IntN(3)),
		}
		if r.IntN(4) == 0 {
			item.ID = "card_sir"
		}
		got := s.Value(item)
		priced := got.Status == valuation.Priced
		open := got.Status > valuation.Unpriced
		if priced != (got.Lane >= 0) || priced != (got.Cents >= 0) || open != (got.Card < 0) ||
			len(got.Candidates) > valuation.MaxCandidates || got.Quantity < 1 ||
			got.Needed != 0 && got.Needed.Text() == "" ||
			!priced && len(got.Assumed) > 0 ||
			got.Status == valuation.Ambiguous && (got.MatchCount < 2 || got.Needed == 0) {
			t.Fatalf("%+v is %+v", item, got)
		}
	}
}
