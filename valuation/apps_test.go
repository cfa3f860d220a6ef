package valuation_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"ninepocket/cardvocab"
	"ninepocket/internal/fixture"
	"ninepocket/valuation"
)

// style is a way in which an app or a person writes a card.
type style struct {
	name string
	of   func(s *shop, r *rand.Rand, card int) valuation.Item
}

// styles are the supported exports, without ids, and lines that people type. Apps without words
// for patterns and stamps get cards without these.
var styles = []style{
	{"TCGplayer", func(s *shop, r *rand.Rand, card int) valuation.Item {
		p := s.asPrinted(card)
		return valuation.Item{Line: fmt.Sprintf("%d,%q,%q,%q,%s,%s,%s,Near Mint,English,,,", 1+r.IntN(4), p.Name,
			bare(p.Name), p.Set, p.Number, s.codeOf(card), s.printing(r, card))}
	}},
	{"Collectr", func(s *shop, r *rand.Rand, card int) valuation.Item {
		p := s.asPrinted(card)
		const row = "Main,%s,%q,%q,%s,,%s,Ungraded,Lightly Played,0,%d,,0,false,2026-05-01,"
		return valuation.Item{Line: fmt.Sprintf(row, p.Game, withoutSetCode(p.Set), p.Name, p.Number,
			s.printing(r, card), 1+r.IntN(4))}
	}},
	{"Dragon Shield", func(s *shop, r *rand.Rand, card int) valuation.Item {
		p := s.asPrinted(card)
		number, _, _ := strings.Cut(p.Number, "/")
		return valuation.Item{Line: fmt.Sprintf("Binder,%d,0,%q,%s,%q,%s,NearMint,%s,English,0.00,2026-04-06",
			1+r.IntN(4), bare(p.Name), s.codeOf(card), withoutSetCode(p.Set), number, s.printing(r, card))}
	}},
	{"Cardmarket", func(s *shop, r *rand.Rand, card int) valuation.Item {
		p := s.asPrinted(card)
		number, _, _ := strings.Cut(p.Number, "/")
		return valuation.Item{Line: fmt.Sprintf("%dx %s (XYZ %s) | %s | NM | English", 1+r.IntN(4), bare(p.Name),
			strings.TrimLeft(number, "0"), withoutSetCode(p.Set))}
	}},
	{"message", func(s *shop, r *rand.Rand, card int) valuation.Item {
		p := s.asPrinted(card)
		line := fmt.Sprintf("%dx %s %s %s NM", 1+r.IntN(4), bare(p.Name), withoutSetCode(p.Set), p.Number)
		return valuation.Item{Line: line}
	}},
}

// printing is a finish of a card in the words of exports.
func (s *shop) printing(r *rand.Rand, card int) string {
	l := &s.View.Catalog.Lanes
	from, to := l.Of.Range(card)
	if from == to {
		return ""
	}
	variant := s.View.Catalog.Variants.At(int(l.Variant[from+r.IntN(to-from)]))
	return strings.ReplaceAll(variant, "_", " ")
}

// TestStyles values cards in the words of apps and people. Of 100 lines, 85 are priced at once.
// All others are settled by the fields that they ask for, and none is another card's.
func TestStyles(t *testing.T) {
	s := realShop(t)
	const each = 200
	for seed, style := range styles {
		r := rand.New(rand.NewPCG(uint64(seed), 5))
		priced := 0
		for n := 0; n < each; {
			card := s.random(r)
			p := s.asPrinted(card)
			plain := bare(p.Name) == p.Name
			if p.Number == "" || !plain && style.name != "TCGplayer" && style.name != "Collectr" ||
				s.View.Catalog.Cards.Display[card] < 0 {
				continue
			}

			n++
			item := style.of(s, r, card)
			got := s.Value(item)
			switch {
			case got.Card >= 0 && got.Card != card:
				t.Errorf("%s: %s of %s is taken for %s", style.name, item.Line, s.describe(card), s.describe(got.Card))
			case got.Status == valuation.Priced:
				priced++
				if got.Quantity < 1 || len(got.Assumed) == 0 {
					t.Errorf("%s: %s is %d copies, assumed %v", style.name, item.Line, got.Quantity, got.Assumed)
				}
			default:
				s.settles(t, item, &got, card)
			}
		}

		t.Logf("%s: %d of %d priced at once", style.name, priced, each)
		if priced*100 < each*85 {
			t.Errorf("%s: only %d of %d lines are priced at once", style.name, priced, each)
		}
	}
}

// settles adds the fields that a line asks for, and checks that the line then means the card.
func (s *shop) settles(t *testing.T, item valuation.Item, first *valuation.Result, card int) {
	t.Helper()
	again := s.follow(item, first.Needed, card)
	if first.Needed == valuation.VariantField || first.Status == valuation.Unpriced {
		c := s.View.Catalog
		again.Variant = c.Variants.At(int(c.Lanes.Variant[c.Cards.Display[card]]))
	}
	if second := s.Value(again); second.Card != card || second.Status != valuation.Priced {
		t.Errorf("%s asks for %s; then it is %s %s, not %s: %s", item.Line+item.Name, first.Needed.Text(),
			valuation.StatusNames[second.Status], s.describe(second.Card), s.describe(card), second.Remark)
	}
}

// given is a line of a file with its intended card.
type given struct {
	line          string
	item          valuation.Item // its columns
	name, set     *regexp.Regexp
	number        string
	variant, text string
}

// givenLines reads the file of real lines.
func givenLines(t *testing.T) (all []given) {
	t.Helper()
	for _, f := range fixture.ValueLines(t) {
		intent := append(strings.Split(f[9], " ~ "), "", "")
		g := given{
			line: f[1], text: f[9], name: regexp.MustCompile(intent[0]), set: regexp.MustCompile(intent[1]),
			number: strings.TrimPrefix(intent[2], "="), variant: f[10],
			item: valuation.Item{
				Name: f[2], Set: f[3], Number: f[4], Game: f[5], Variant: f[6], Condition: f[7],
			},
		}
		all = append(all, g)
	}
	return all
}

// means reports whether a card is the intended card.
func (g *given) means(s *shop, card int) bool {
	p := s.asPrinted(card)
	words := strings.NewReplacer("'", "", ".", " ", "é", "e").Replace(strings.ToLower(p.Name))
	return g.name.MatchString(words) && g.set.MatchString(strings.ToLower(p.Set)) &&
		(g.number == "" || cardvocab.NumberKey(g.number) == cardvocab.NumberKey(p.Number))
}

// TestGivenLines values the lines of the file, as columns and as written.
func TestGivenLines(t *testing.T) {
	s := realShop(t)
	c := s.View.Catalog
	lines := givenLines(t)
	for _, whole := range []bool{false, true} {
		priced := 0
		for _, g := range lines {
			item := g.item
			if whole {
				item = valuation.Item{Line: g.line}
			}

			got := s.Value(item)
			switch {
			case got.Card >= 0 && !g.means(s, got.Card):
				t.Errorf("%s is taken for %s", g.line, s.describe(got.Card))
			case got.Status == valuation.Priced:
				priced++
				variant := strings.ReplaceAll(c.Variants.At(int(c.Lanes.Variant[got.Lane])), "_", " ")
				if !strings.HasPrefix(variant, g.variant) {
					t.Errorf("%s has the price of %s", g.line, variant)
				}
			case got.Card < 0:
				s.settlesGiven(t, &g, item, &got)
			}
		}
		t.Logf("whole lines %t: %d of %d priced at once", whole, priced, len(lines))
		if priced*100 < len(lines)*85 {
			t.Errorf("whole lines %t: only %d of %d are priced at once", whole, priced, len(lines))
		}
	}
}

// settlesGiven adds the fields that a line asks for, from the first intended card of the catalog.
func (s *shop) settlesGiven(t *testing.T, g *given, item valuation.Item, first *valuation.Result) {
	t.Helper()
	for card := range s.View.Catalog.Cards.ID.Len() {
		if !g.means(s, card) || s.View.Catalog.Cards.Display[card] < 0 {
			continue
		}
		if second := s.Value(s.follow(item, first.Needed, card)); second.Card != card {
			t.Errorf("%s asks for %s; then it is %s, not %s", g.line, first.Needed.Text(), s.describe(second.Card),
				s.describe(card))
		}
		return
	}
	t.Errorf("%s: no card is meant by %s", g.line, g.text)
}
