package valuation_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"ninepocket/valuation"
)

// slips are errors that people, apps and models make about a card. Each line means that card or none.
var slips = []struct {
	name string
	of   func(s *shop, r *rand.Rand, p valuation.Item, card int) valuation.Item
}{
	{"a misspelt name", func(_ *shop, r *rand.Rand, p valuation.Item, _ int) valuation.Item {
		p.Name = misspell(r, bare(p.Name))
		return p
	}},
	{"a misspelt name in a message", func(_ *shop, r *rand.Rand, p valuation.Item, _ int) valuation.Item {
		return valuation.Item{Line: misspell(r, bare(p.Name)) + " " + withoutSetCode(p.Set) + " " + p.Number}
	}},
	{"a misspelt name beside the name", func(_ *shop, r *rand.Rand, p valuation.Item, _ int) valuation.Item {
		p.Line = "2x " + misspell(r, bare(p.Name)) + " NM"
		return p
	}},
	{"a misspelt name beside the id", func(s *shop, r *rand.Rand, p valuation.Item, card int) valuation.Item {
		return valuation.Item{ID: s.cardID(card), Line: misspell(r, bare(p.Name)) + " | " + p.Set + " | NM"}
	}},
	{"two slips", func(_ *shop, r *rand.Rand, p valuation.Item, _ int) valuation.Item {
		p.Name = misspell(r, misspell(r, bare(p.Name)))
		p.Set = withoutSetCode(p.Set)
		return p
	}},
	{"a misspelt set", func(_ *shop, r *rand.Rand, p valuation.Item, _ int) valuation.Item {
		p.Set = misspell(r, withoutSetCode(p.Set))
		return p
	}},
	{"words run together", func(_ *shop, _ *rand.Rand, p valuation.Item, _ int) valuation.Item {
		p.Name = strings.ReplaceAll(bare(p.Name), " ", "")
		return p
	}},
	{"a word divided", func(_ *shop, r *rand.Rand, p valuation.Item, _ int) valuation.Item {
		name := bare(p.Name)
		at := r.IntN(len(name))
		p.Name = name[:at] + " " + name[at:]
		return p
	}},
	{"a word left out", func(_ *shop, r *rand.Rand, p valuation.Item, _ int) valuation.Item {
		words := strings.Fields(p.Name)
		at := r.IntN(len(words))
		if len(words) > 1 {
			p.Name = strings.Join(append(words[:at:at], words[at+1:]...), " ")
		}
		return p
	}},
	{"the true year", func(s *shop, _ *rand.Rand, p valuation.Item, card int) valuation.Item {
		return valuation.Item{Line: s.year(card) + " " + p.Name + " " + p.Set + " " + p.Number}
	}},
	{"words of a shop", func(_ *shop, _ *rand.Rand, p valuation.Item, _ int) valuation.Item {
		line := "for sale: " + p.Name + " " + p.Set + " " + p.Number
		return valuation.Item{Line: line + " pokemon card free shipping $5"}
	}},
	{"the row of another app", func(s *shop, _ *rand.Rand, p valuation.Item, card int) valuation.Item {
		const row = "1,%q,%q,%q,%s,%s,,Near Mint,English,%s,%s,"
		return valuation.Item{Line: fmt.Sprintf(row, p.Name, bare(p.Name), p.Set, p.Number, s.codeOf(card),
			s.View.Catalog.Cards.Rarity.At(card), s.productOf(card))}
	}},
}

// never are lines of a real card with a word that none of its prices is for.
var never = []struct {
	name string
	of   func(s *shop, r *rand.Rand, p valuation.Item, card int) valuation.Item
}{
	{"two conditions", func(_ *shop, _ *rand.Rand, p valuation.Item, _ int) valuation.Item {
		return valuation.Item{Line: p.Name + " " + p.Set + " " + p.Number + " NM LP"}
	}},
	{"two conditions in cells", func(_ *shop, _ *rand.Rand, p valuation.Item, _ int) valuation.Item {
		return valuation.Item{Line: p.Name + " | " + p.Set + " | NM | DMG"}
	}},
	{"a condition beside another", func(_ *shop, _ *rand.Rand, p valuation.Item, _ int) valuation.Item {
		p.Line = p.Name + " | LP"
		p.Condition = "NM"
		return p
	}},
	{"a condition in the notes", func(_ *shop, _ *rand.Rand, p valuation.Item, _ int) valuation.Item {
		const row = "Main,%s,%q,%q,%s,,,Ungraded,Near Mint,0,1,,0,false,2026-05-01,%s"
		return valuation.Item{Line: fmt.Sprintf(row, p.Game, p.Set, p.Name, p.Number, "actually LP")}
	}},
	{"two quantities", func(_ *shop, _ *rand.Rand, p valuation.Item, _ int) valuation.Item {
		return valuation.Item{Line: "2x " + p.Name + " " + p.Set + " " + p.Number + " x3"}
	}},
	{"no copies", func(_ *shop, _ *rand.Rand, p valuation.Item, _ int) valuation.Item {
		return valuation.Item{Line: "0x " + p.Name + " " + p.Set + " " + p.Number}
	}},
	{"signed in a row", func(s *shop, _ *rand.Rand, p valuation.Item, card int) valuation.Item {
		return valuation.Item{Line: fmt.Sprintf(`"1";"2";%q;%q;%q;%q;"0.10";"1";"NM";"";"X";"";"";"";"1";"1"`,
			p.Name, p.Name, s.codeOf(card), p.Set)}
	}},
	{"altered in a row", func(s *shop, _ *rand.Rand, p valuation.Item, card int) valuation.Item {
		return valuation.Item{Line: fmt.Sprintf(`"1";"2";%q;%q;%q;%q;"0.10";"1";"NM";"";"";"";"1";"";"1";"1"`,
			p.Name, p.Name, s.codeOf(card), p.Set)}
	}},
	{"a playset in a row", func(s *shop, _ *rand.Rand, p valuation.Item, card int) valuation.Item {
		return valuation.Item{Line: fmt.Sprintf(`"1";"2";%q;%q;%q;%q;"0.10";"1";"NM";"";"";"true";"";"";"1";"1"`,
			p.Name, p.Name, s.codeOf(card), p.Set)}
	}},
	{"a language of a row", func(s *shop, r *rand.Rand, p valuation.Item, card int) valuation.Item {
		return valuation.Item{Line: fmt.Sprintf(`"1";"2";%q;%q;%q;%q;"0.10";"%d";"NM";"";"";"";"";"";"1";"1"`, p.Name,
			p.Name, s.codeOf(card), p.Set, 2+r.IntN(9))}
	}},
	{"a folder of slabs", func(s *shop, _ *rand.Rand, p valuation.Item, card int) valuation.Item {
		return valuation.Item{Line: fmt.Sprintf("PSA slabs,1,0,%q,%s,%q,%s,NearMint,,English,0.00,2026-04-06", p.Name,
			s.codeOf(card), withoutSetCode(p.Set), p.Number)}
	}},
	{"another year", func(s *shop, r *rand.Rand, p valuation.Item, card int) valuation.Item {
		year := strconv.Itoa(1996 + r.IntN(31))
		if s.isOwn(card, year) {
			year = "1997"
		}
		return valuation.Item{Line: year + " " + p.Name + " " + p.Set + " " + p.Number}
	}},
	{"a version too many", func(_ *shop, _ *rand.Rand, p valuation.Item, _ int) valuation.Item {
		version := " (V.99)"
		if p.Game == "one-piece" {
			version = " (V.0)" // a set may have a hundred cards of one name
		}
		p.Name += version
		return p
	}},
	{"a code of another set", func(s *shop, _ *rand.Rand, p valuation.Item, card int) valuation.Item {
		code := "SV03"
		if p.Game == "one-piece" {
			code = "OP03"
		}
		if s.isOwn(card, code) {
			code = "SWSH07"
		}
		number, _, _ := strings.Cut(p.Number, "/")
		return valuation.Item{Line: "1x " + p.Name + " (" + code + " " + number + ") | " + p.Set + " | NM"}
	}},
}

// year is when a card's set came out.
func (s *shop) year(card int) string {
	return s.View.Catalog.Sets.Release[s.View.Catalog.Cards.Set[card]].Time().Format("2006")
}

// TestSlips makes the mistakes that people make: the card is found, or no price is given.
func TestSlips(t *testing.T) {
	s := realShop(t)
	each := 24_000/len(slips) + 1
	for seed, kind := range slips {
		r := rand.New(rand.NewPCG(uint64(seed), 44))
		priced := 0
		for range each {
			card := s.random(r)
			p := s.asPrinted(card)
			item := kind.of(s, r, p, card)
			got := s.Value(item)
			if got.Status != valuation.Priced {
				continue
			}

			// A name that has too few letters is not misspelt, and may be another's plain name.
			priced++
			if got.Card != card && !strings.HasPrefix(item.Name+item.Line, bare(p.Name)) &&
				!s.isPrinted(item, got.Card) {
				t.Errorf("%s: %+v of %s is priced as %s", kind.name, item, s.describe(card), s.describe(got.Card))
			}
		}
		t.Logf("%s: %d of %d priced", kind.name, priced, each)
	}
}

// TestNever gives real cards words that none of their prices is for.
func TestNever(t *testing.T) {
	s := realShop(t)
	each := 14_000/len(never) + 1
	for seed, kind := range never {
		r := rand.New(rand.NewPCG(uint64(seed), 45))
		for range each {
			card := s.random(r)
			item := kind.of(s, r, s.asPrinted(card), card)
			if got := s.Value(item); got.Status == valuation.Priced {
				t.Errorf("%s: %+v of %s is priced as %s", kind.name, item, s.describe(card), s.describe(got.Card))
			}
		}
	}
}
