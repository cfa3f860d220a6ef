package valuation_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ninepocket/valuation"
)

// said holds the statements of a line, from the code that made the line: an oracle independent of the
// reader.
type said struct{ names, sets, numbers []string }

func names(all ...string) said         { return said{names: all} }
func (s said) of(sets ...string) said  { return said{s.names, sets, s.numbers} }
func (s said) no(all ...string) said   { return said{s.names, s.sets, all} }
func (s *shop) cardID(card int) string { return s.View.Catalog.Cards.ID.At(card) }

// has reports whether a card has every statement, by its printed words.
func (s said) has(shop *shop, card int) bool {
	p := shop.asPrinted(card)
	for _, name := range s.names {
		if !shop.isOwn(card, name) {
			return false
		}
	}
	for _, set := range s.sets {
		if p.Set != set && !shop.isOwn(card, withoutSetCode(set)) {
			return false
		}
	}
	return !slices.ContainsFunc(s.numbers, func(number string) bool {
		return number != "" && !sameNumber(number, p.Number) && !shop.isOwn(card, number)
	})
}

// sameNumber compares two numbers, and their totals.
func sameNumber(a, b string) bool {
	_, x, _ := strings.Cut(a, "/")
	_, y, _ := strings.Cut(b, "/")
	return strings.EqualFold(plainNumber(a), plainNumber(b)) && strings.TrimLeft(x, "0") == strings.TrimLeft(y, "0")
}

// contradictions are lines of one card with some fields of another card, and their statements.
var contradictions = []struct {
	name string
	of   func(s *shop, p, q valuation.Item, card, other int) (valuation.Item, said)
}{
	{"number", func(_ *shop, p, q valuation.Item, _, _ int) (valuation.Item, said) {
		is := names(bare(p.Name)).of(p.Set).no(q.Number)
		p.Number = q.Number
		return p, is
	}},
	{"number, no set", func(_ *shop, p, q valuation.Item, _, _ int) (valuation.Item, said) {
		p.Number = q.Number
		p.Set = ""
		return p, names(bare(p.Name)).no(q.Number)
	}},
	{"number in a message", func(_ *shop, p, q valuation.Item, _, _ int) (valuation.Item, said) {
		return valuation.Item{Line: p.Name + " " + p.Set + " " + q.Number}, names(bare(p.Name)).of(p.Set).no(q.Number)
	}},
	{"second number", func(_ *shop, p, q valuation.Item, _, _ int) (valuation.Item, said) {
		p.Name += " " + q.Number
		return p, names(bare(p.Name)).of(p.Set).no(p.Number, q.Number)
	}},
	{"number beside the id", func(s *shop, p, q valuation.Item, card, _ int) (valuation.Item, said) {
		return valuation.Item{ID: s.cardID(card), Number: q.Number}, names(bare(p.Name)).no(q.Number)
	}},
	{"total", func(_ *shop, p, q valuation.Item, _, _ int) (valuation.Item, said) {
		_, total, ok := strings.Cut(q.Number, "/")
		if !ok {
			total = "777"
		}
		p.Number, _, _ = strings.Cut(p.Number, "/")
		p.Number += "/" + total
		return p, names(bare(p.Name)).of(p.Set).no(p.Number)
	}},
	{"total, no set", func(_ *shop, p, q valuation.Item, _, _ int) (valuation.Item, said) {
		_, total, _ := strings.Cut(q.Number, "/")
		number, _, _ := strings.Cut(p.Number, "/")
		line := bare(p.Name) + " " + number + "/" + total
		return valuation.Item{Line: line}, names(bare(p.Name)).no(number + "/" + total)
	}},
	{"set", func(_ *shop, p, q valuation.Item, _, _ int) (valuation.Item, said) {
		p.Set = q.Set
		return p, names(bare(p.Name)).of(q.Set).no(p.Number)
	}},
	{"set, no number", func(_ *shop, p, q valuation.Item, _, _ int) (valuation.Item, said) {
		p.Set = q.Set
		p.Number = ""
		return p, names(bare(p.Name)).of(q.Set)
	}},
	{"set in a message", func(_ *shop, p, q valuation.Item, _, _ int) (valuation.Item, said) {
		line := p.Name + " " + withoutSetCode(q.Set) + " " + p.Number
		return valuation.Item{Line: line}, names(bare(p.Name)).of(q.Set).no(p.Number)
	}},
	{"set before a message", func(_ *shop, p, q valuation.Item, _, _ int) (valuation.Item, said) {
		return valuation.Item{Line: withoutSetCode(q.Set) + " " + bare(p.Name)}, names(bare(p.Name)).of(q.Set)
	}},
	{"second set", func(_ *shop, p, q valuation.Item, _, _ int) (valuation.Item, said) {
		p.Name += " " + withoutSetCode(q.Set)
		return p, names(bare(p.Name)).of(p.Set, q.Set).no(p.Number)
	}},
	{"set in a cell", func(_ *shop, p, q valuation.Item, _, _ int) (valuation.Item, said) {
		line := "1x " + p.Name + " | " + q.Set + " | " + p.Number + " | NM"
		return valuation.Item{Line: line}, names(bare(p.Name)).of(q.Set).no(p.Number)
	}},
	{"set beside the id", func(s *shop, _, q valuation.Item, card, _ int) (valuation.Item, said) {
		return valuation.Item{ID: s.cardID(card), Set: q.Set}, names().of(q.Set)
	}},
	{"set in the line beside the name", func(_ *shop, p, q valuation.Item, _, _ int) (valuation.Item, said) {
		p.Line = p.Name + " | " + q.Set + " | NM"
		return p, names(bare(p.Name)).of(p.Set, q.Set).no(p.Number)
	}},
	{"name", func(_ *shop, p, q valuation.Item, _, _ int) (valuation.Item, said) {
		p.Name = q.Name
		return p, names(q.Name).of(p.Set).no(p.Number)
	}},
	{"plain name", func(_ *shop, p, q valuation.Item, _, _ int) (valuation.Item, said) {
		p.Name = bare(q.Name)
		return p, names(bare(q.Name)).of(p.Set).no(p.Number)
	}},
	{"plain name, plain number", func(_ *shop, p, q valuation.Item, _, _ int) (valuation.Item, said) {
		p.Name = bare(q.Name)
		p.Number, _, _ = strings.Cut(p.Number, "/")
		return p, names(bare(q.Name)).of(p.Set)
	}},
	{"name in a message", func(_ *shop, p, q valuation.Item, _, _ int) (valuation.Item, said) {
		line := bare(q.Name) + " " + withoutSetCode(p.Set) + " " + p.Number
		return valuation.Item{Line: line}, names(bare(q.Name)).of(p.Set).no(p.Number)
	}},
	{"second name", func(_ *shop, p, q valuation.Item, _, _ int) (valuation.Item, said) {
		is := names(bare(p.Name), bare(q.Name)).of(p.Set).no(p.Number)
		p.Name += " and " + bare(q.Name)
		return p, is
	}},
	{"second name in a message", func(_ *shop, p, q valuation.Item, _, _ int) (valuation.Item, said) {
		line := p.Name + " + " + bare(q.Name) + " " + p.Set
		return valuation.Item{Line: line}, names(bare(p.Name), bare(q.Name)).of(p.Set)
	}},
	{"second name in brackets", func(_ *shop, p, q valuation.Item, _, _ int) (valuation.Item, said) {
		is := names(bare(p.Name), bare(q.Name)).of(p.Set).no(p.Number)
		p.Name += " (" + bare(q.Name) + ")"
		return p, is
	}},
	{"name beside the id", func(s *shop, p, q valuation.Item, card, _ int) (valuation.Item, said) {
		return valuation.Item{ID: s.cardID(card), Name: q.Name}, names(bare(p.Name), bare(q.Name))
	}},
	{"line beside the id", func(s *shop, p, q valuation.Item, card, _ int) (valuation.Item, said) {
		line := q.Name + " " + q.Set + " " + q.Number
		return valuation.Item{ID: s.cardID(card), Line: line}, names(bare(p.Name), bare(q.Name)).of(q.Set).no(q.Number)
	}},
	{"line beside the name", func(_ *shop, p, q valuation.Item, _, _ int) (valuation.Item, said) {
		p.Line = q.Name
		return p, names(bare(p.Name), bare(q.Name)).of(p.Set).no(p.Number)
	}},
	{"row beside the name", func(_ *shop, p, q valuation.Item, _, _ int) (valuation.Item, said) {
		p.Line = fmt.Sprintf("1,%q,%q,%q,%s,,,Near Mint,English,,,", q.Name, bare(q.Name), q.Set, q.Number)
		return p, names(bare(p.Name), bare(q.Name)).of(p.Set, q.Set).no(p.Number, q.Number)
	}},
	{"simple name in a row", func(_ *shop, p, q valuation.Item, _, _ int) (valuation.Item, said) {
		line := fmt.Sprintf("1,%q,%q,%q,%s,,,Near Mint,English,,,", p.Name, bare(q.Name), p.Set, p.Number)
		return valuation.Item{Line: line}, names(bare(p.Name), bare(q.Name)).of(p.Set).no(p.Number)
	}},
	{"number in a row", func(s *shop, p, q valuation.Item, card, _ int) (valuation.Item, said) {
		const row = "Binder,1,0,%q,%s,%q,%s,NearMint,,English,0.00,2026-04-06"
		line := fmt.Sprintf(row, p.Name, s.codeOf(card), withoutSetCode(p.Set), q.Number)
		return valuation.Item{Line: line}, names(bare(p.Name)).of(p.Set).no(q.Number)
	}},
	{"set in a row", func(_ *shop, p, q valuation.Item, _, _ int) (valuation.Item, said) {
		const row = "Main,%s,%q,%q,%s,,,Ungraded,Near Mint,0,1,,0,false,2026-05-01,"
		return valuation.Item{Line: fmt.Sprintf(row, p.Game, q.Set, p.Name, p.Number)},
			names(bare(p.Name)).of(q.Set).no(p.Number)
	}},
	{"product in a row", func(s *shop, p, q valuation.Item, card, _ int) (valuation.Item, said) {
		const row = "1,%q,%q,%q,%s,,,Near Mint,English,,%s,"
		return valuation.Item{Line: fmt.Sprintf(row, q.Name, bare(q.Name), q.Set, q.Number, s.productOf(card))},
			names(bare(p.Name), bare(q.Name)).of(q.Set).no(q.Number)
	}},
	{"product", func(s *shop, p, q valuation.Item, card, _ int) (valuation.Item, said) {
		q.Identifier = "tcgplayer:" + s.productOf(card)
		return q, names(bare(p.Name), bare(q.Name)).of(q.Set).no(q.Number)
	}},
}

// glued finds text that no oracle divides: "(Gabriel Fernandez)a".
var glued = regexp.MustCompile(`\)[a-z]`)

// productOf is the number of a card's product in the feed.
func (s *shop) productOf(card int) string {
	ids := &s.View.Catalog.Identifiers
	for at, to := ids.Of.Range(card); at < to; at++ {
		if ids.Namespace.At(at) == "tcgplayer" {
			return ids.Value.At(at)
		}
	}
	return ""
}

// neighbours are the cards of a catalog, grouped by the properties that make them easy to mistake for each other.
type neighbours struct {
	byName []int // in the order of their names: Mew is next to Mewtwo
	place  []int // of each card in byName
	bySet  map[string][]int
}

func (s *shop) neighbours() *neighbours {
	n := &neighbours{bySet: map[string][]int{}}
	for card := range s.View.Catalog.Cards.ID.Len() {
		n.byName = append(n.byName, card)
		set := s.asPrinted(card).Set
		n.bySet[set] = append(n.bySet[set], card)
	}

	name := s.View.Catalog.Cards.Name.At
	slices.SortFunc(n.byName, func(a, b int) int { return strings.Compare(name(a), name(b)) })
	n.place = make([]int, len(n.byName))
	for at, card := range n.byName {
		n.place[card] = at
	}
	return n
}

// of returns a card that is easy to mistake for another card.
func (n *neighbours) of(s *shop, r *rand.Rand, card int) int {
	switch r.IntN(4) {
	case 0:
		return s.random(r)
	case 1:
		there := n.bySet[s.asPrinted(card).Set]
		return there[r.IntN(len(there))]
	}
	at := n.place[card] + r.IntN(81) - 40
	return n.byName[min(max(at, 0), len(n.byName)-1)]
}

// TestContradictions gives lines of a card some facts of another card: a priced card has every statement.
func TestContradictions(t *testing.T) {
	s := realShop(t)
	near := s.neighbours()
	each := 50_000/len(contradictions) + 1

	for seed, kind := range contradictions {
		r := rand.New(rand.NewPCG(uint64(seed), 77))
		priced := 0
		for range each {
			card := s.random(r)
			other := near.of(s, r, card)
			if glued.MatchString(s.asPrinted(card).Name + s.asPrinted(other).Name) {
				continue
			}
			item, is := kind.of(s, s.asPrinted(card), s.asPrinted(other), card, other)
			got := s.Value(item)
			if got.Status != valuation.Priced {
				continue
			}

			// Next to an id, text that belongs to another card is named (issue 37).
			priced++
			if item.ID != "" && got.Card == card && len(got.Ignored) > 0 {
				continue
			}
			if !is.has(s, got.Card) {
				t.Errorf("%s: %+v of %s and %s is priced as %s", kind.name, item, s.describe(card), s.describe(other),
					s.describe(got.Card))
			}
		}
		t.Logf("%s: %d of %d priced", kind.name, priced, each)
	}
}
