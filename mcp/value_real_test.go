package mcp_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"ninepocket/internal/fixture"
	"ninepocket/internal/testsweep"
)

// mistakes are errors that people make in a line; each makes a correct line worse.
var mistakes = []struct {
	name string
	make func(r *rand.Rand, line args)
}{
	{"a typo in the name", func(r *rand.Rand, l args) { l["name"] = misspell(r, l["name"].(string)) }},
	{"a typo, and no number", func(r *rand.Rand, l args) {
		l["name"] = misspell(r, l["name"].(string))
		delete(l, "number")
	}},
	{"a typo, and no set", func(r *rand.Rand, l args) {
		l["name"] = misspell(r, l["name"].(string))
		delete(l, "set")
	}},
	{"no set", func(_ *rand.Rand, l args) { delete(l, "set") }},
	{"no number", func(_ *rand.Rand, l args) { delete(l, "number") }},
	{"a typo in the set", func(r *rand.Rand, l args) { l["set"] = misspell(r, l["set"].(string)) }},
	{"the name without its qualifiers", func(_ *rand.Rand, l args) { l["name"] = bare(l["name"].(string)) }},
	{"only the name and the game", func(_ *rand.Rand, l args) { delete(l, "set"); delete(l, "number") }},
}

// Replacers that make errors, and that simplify names.
var (
	misspell = fixture.Misspell
	bare     = fixture.Bare
)

// valuation is the structured content of catalog_value_cards.
type valuation struct {
	TotalCents     int64 `json:"total_cents"`
	AssumedCents   int64 `json:"assumed_cents"`
	TotalIsPartial bool  `json:"total_is_partial"`
	Counts         map[string]int
	Lines          []valuedLine
}

type valuedLine struct {
	Line, Quantity     int
	Status, Message    string
	Card               *struct{ ID string }
	Variant, Condition string
	Unit               *int64 `json:"unit_price_cents"`
	Total              *int64 `json:"line_total_cents"`
	Fitting            int
	Ask                *string
	Assumed            []struct{ Field, Given, Used string }
	Range              *struct {
		From int64 `json:"from_cents"`
		To   int64 `json:"to_cents"`
	}
	Candidates []struct{ ID, Name string }
}

func (l *valuedLine) offers(id string) bool {
	return slices.ContainsFunc(l.Candidates, func(c struct{ ID, Name string }) bool { return c.ID == id })
}

func (d *desk) value(tb testing.TB, lines ...args) valuation {
	tb.Helper()
	var v valuation
	r := d.ok(tb, "catalog_value_cards", args{"cards": lines})
	r.decode(tb, &v)
	return v
}

// isPrinted reports whether a line is the exact text of a card, which it then means.
func (d *desk) isPrinted(line args, id string) bool {
	c := d.view.Catalog
	card, ok := d.view.Index.Card(id)
	return ok && c.Cards.Set[card] >= 0 && line["name"] == c.Cards.Name.At(card) &&
		line["number"] == c.Cards.Number.At(card) && line["set"] == c.Sets.Name.At(int(c.Cards.Set[card]))
}

// TestValueRealCards makes lines of real cards with the errors that people make, 200 of each. No
// line may be priced as another card. If a line is unresolved, the correct card must be among the
// candidates. Lines that match more cards than there are candidates are not checked, because no
// order of equal cards can be correct. The log counts all of them: every unresolved line, and
// every ambiguous line.
func TestValueRealCards(t *testing.T) {
	testsweep.OnlyFull(t)
	d := realDesk(t)
	c := d.view.Catalog
	const each = 200
	for seed, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(seed), 1))
			counts := map[string]int{}
			var open, offered int       // lines whose matching cards can all be candidates
			var allOpen, allOffered int // all unresolved lines
			var vague, vagueOffered int // all ambiguous ones
			for n := 0; n < each; {
				card := r.IntN(c.Cards.ID.Len())
				if c.Cards.Set[card] < 0 || c.Cards.Number.At(card) == "" {
					continue
				}

				n++
				line := args{
					"name": c.Cards.Name.At(card), "number": c.Cards.Number.At(card),
					"set":  c.Sets.Name.At(int(c.Cards.Set[card])),
					"game": c.Games.Slug.At(int(c.Cards.Game[card])),
				}
				m.make(r, line)
				got := d.value(t, line).Lines[0]
				id := c.Cards.ID.At(card)
				switch {
				case got.Card != nil && got.Card.ID != id && !d.isPrinted(line, got.Card.ID):
					t.Errorf("%v is %s (%s), but was taken for %s", line, id, c.Cards.Name.At(card), got.Card.ID)
				case got.Card == nil && got.Fitting <= 3:
					open++
					if got.offers(id) {
						offered++
					}
				}

				if got.Card == nil {
					allOpen++
					if got.offers(id) {
						allOffered++
					}
				}

				if got.Status == "ambiguous" {
					vague++
					if got.offers(id) {
						vagueOffered++
					}
				}

				counts[got.Status]++
			}

			t.Logf("%v; offering the card: %d of %d that at most three cards fit, "+
				"%d of %d left open, %d of %d ambiguous", counts, offered, open, allOffered, allOpen,
				vagueOffered, vague)
			if offered*100 < open*95 {
				t.Errorf("only %d of %d lines left open offer the card", offered, open)
			}
		})
	}
}
