package valuation_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ninepocket/snapshot"
	"ninepocket/valuation"
)

// place is where a line has one false statement about a card.
type place struct {
	name string
	at   func(s *shop, card int, extra string) valuation.Item
}

// places are all fields that a caller can write words into.
var places = []place{
	{"behind a message", func(s *shop, card int, extra string) valuation.Item {
		p := s.asPrinted(card)
		return valuation.Item{Line: p.Name + " " + withoutSetCode(p.Set) + " " + p.Number + " " + extra}
	}},
	{"before a message", func(s *shop, card int, extra string) valuation.Item {
		p := s.asPrinted(card)
		return valuation.Item{Line: extra + " " + p.Name + " " + withoutSetCode(p.Set) + " " + p.Number}
	}},
	{"within a message", func(s *shop, card int, extra string) valuation.Item {
		p := s.asPrinted(card)
		return valuation.Item{Line: bare(p.Name) + " " + extra + " " + p.Number + " " + withoutSetCode(p.Set)}
	}},
	{"in brackets", func(s *shop, card int, extra string) valuation.Item {
		p := s.asPrinted(card)
		return valuation.Item{Line: "2x " + p.Name + " (" + extra + ") " + p.Set + " NM"}
	}},
	{"in a cell", func(s *shop, card int, extra string) valuation.Item {
		p := s.asPrinted(card)
		return valuation.Item{Line: fmt.Sprintf("1x %s | %s | %s | NM | %s", p.Name, withoutSetCode(p.Set), p.Number,
			extra)}
	}},
	{"in the name", func(s *shop, card int, extra string) valuation.Item {
		p := s.asPrinted(card)
		p.Name += " " + extra
		return p
	}},
	{"in the name, nothing else", func(s *shop, card int, extra string) valuation.Item {
		return valuation.Item{Name: s.asPrinted(card).Name + " " + extra}
	}},
	{"in the set", func(s *shop, card int, extra string) valuation.Item {
		p := s.asPrinted(card)
		p.Set += " " + extra
		return p
	}},
	{"in the number", func(s *shop, card int, extra string) valuation.Item {
		p := s.asPrinted(card)
		p.Number += " " + extra
		return p
	}},
	{"in the variant", func(s *shop, card int, extra string) valuation.Item {
		p := s.asPrinted(card)
		p.Variant = extra
		return p
	}},
	{"in the condition", func(s *shop, card int, extra string) valuation.Item {
		p := s.asPrinted(card)
		p.Condition = extra
		return p
	}},
	{"in a line beside the name", func(s *shop, card int, extra string) valuation.Item {
		p := s.asPrinted(card)
		p.Line = p.Name + " " + extra
		return p
	}},
	{"in a cell beside the name", func(s *shop, card int, extra string) valuation.Item {
		p := s.asPrinted(card)
		p.Line = p.Name + " | " + extra
		return p
	}},
	{"in a line beside the id", func(s *shop, card int, extra string) valuation.Item {
		return valuation.Item{ID: s.View.Catalog.Cards.ID.At(card), Line: s.asPrinted(card).Name + " " + extra}
	}},
	{"in a name beside the id", func(s *shop, card int, extra string) valuation.Item {
		return valuation.Item{ID: s.View.Catalog.Cards.ID.At(card), Name: extra}
	}},
	{"in a set beside the id", func(s *shop, card int, extra string) valuation.Item {
		return valuation.Item{ID: s.View.Catalog.Cards.ID.At(card), Set: extra}
	}},
	{"in a cell beside the id", func(s *shop, card int, extra string) valuation.Item {
		return valuation.Item{ID: s.View.Catalog.Cards.ID.At(card), Line: s.asPrinted(card).Name + " | NM | " + extra}
	}},
	{"in TCGplayer's name", func(s *shop, card int, extra string) valuation.Item {
		p := s.asPrinted(card)
		return valuation.Item{Line: fmt.Sprintf("1,%q,%q,%q,%s,%s,,Near Mint,English,,,", p.Name+" "+extra,
			bare(p.Name), p.Set, p.Number, s.codeOf(card))}
	}},
	{"in TCGplayer's simple name", func(s *shop, card int, extra string) valuation.Item {
		p := s.asPrinted(card)
		return valuation.Item{Line: fmt.Sprintf("1,%q,%q,%q,%s,%s,,Near Mint,English,,,", p.Name,
			bare(p.Name)+" "+extra, p.Set, p.Number, s.codeOf(card))}
	}},
	{"in Collectr's notes", func(s *shop, card int, extra string) valuation.Item {
		p := s.asPrinted(card)
		return valuation.Item{Line: fmt.Sprintf("Main,%s,%q,%q,%s,,,Ungraded,Near Mint,0,1,,0,false,2026-05-01,%q",
			p.Game, p.Set, p.Name, p.Number, extra)}
	}},
	{"in Collectr's grade", func(s *shop, card int, extra string) valuation.Item {
		p := s.asPrinted(card)
		return valuation.Item{Line: fmt.Sprintf("Main,%s,%q,%q,%s,,,%s,Near Mint,0,1,,0,false,2026-05-01,",
			p.Game, p.Set, p.Name, p.Number, extra)}
	}},
	{"in Collectr's variance", func(s *shop, card int, extra string) valuation.Item {
		p := s.asPrinted(card)
		return valuation.Item{Line: fmt.Sprintf("Main,%s,%q,%q,%s,,%s,Ungraded,Near Mint,0,1,,0,false,2026-05-01,",
			p.Game, p.Set, p.Name, p.Number, extra)}
	}},
	{"in Dragon Shield's name", func(s *shop, card int, extra string) valuation.Item {
		p := s.asPrinted(card)
		return valuation.Item{Line: fmt.Sprintf("Binder,1,0,%q,%s,%q,%s,NearMint,,English,0.00,2026-04-06",
			p.Name+" "+extra, s.codeOf(card), withoutSetCode(p.Set), p.Number)}
	}},
	{"in Dragon Shield's language", func(s *shop, card int, extra string) valuation.Item {
		p := s.asPrinted(card)
		return valuation.Item{Line: fmt.Sprintf("Binder,1,0,%q,%s,%q,%s,NearMint,,%s,0.00,2026-04-06", p.Name,
			s.codeOf(card), withoutSetCode(p.Set), p.Number, extra)}
	}},
	{"in Cardmarket's comments", func(s *shop, card int, extra string) valuation.Item {
		p := s.asPrinted(card)
		return valuation.Item{Line: fmt.Sprintf(`"1";"2";%q;%q;%q;%q;"0.10";"1";"NM";"";"";"";"";%q;"1";"1"`, p.Name,
			p.Name, s.codeOf(card), p.Set, extra)}
	}},
	{"in Cardmarket's name", func(s *shop, card int, extra string) valuation.Item {
		p := s.asPrinted(card)
		return valuation.Item{Line: fmt.Sprintf(`"1";"2";%q;%q;%q;%q;"0.10";"1";"NM";"";"";"";"";"";"1";"1"`,
			p.Name+" "+extra, p.Name, s.codeOf(card), p.Set)}
	}},
}

// foreign are words that make a line another copy, another product, or unknown: no price of the
// catalog is for them.
var foreign = []struct {
	name string
	all  []string
}{
	{"a grade", []string{"PSA 10", "psa 9", "BGS 9.5", "CGC 10", "SGC 8", "psa10", "cgc9", "PSA gem mint", "graded 9"}},
	{"a grade of a young company", []string{"ACE 10", "TAG 9", "AGS 10", "PCA 9.5", "GetGraded 8", "CGA 9"}},
	{"a language", []string{"Japanese", "German", "Korean", "French", "Spanish", "Italian", "Chinese", "jpn"}},
	{"a language in its own words", []string{"Japanisch", "deutsch", "francais", "espanol", "nihongo", "italiano"}},
	{"a signature", []string{"signed", "autographed", "auto", "signed by the artist", "w/ autograph"}},
	{"an alteration", []string{"altered", "altered art", "inked edges", "repainted", "trimmed", "re-cut"}},
	{"no true card", []string{"proxy", "custom", "replica", "fake", "counterfeit", "orica", "fan made"}},
	{"several cards", []string{"lot", "lot of 3", "bundle", "playset", "set of 4", "bulk", "box of 10", "pair"}},
	{"a sealed product", []string{"booster box", "booster pack", "sealed case", "ETB", "blister", "tin"}},
	{"another printing", []string{"staff", "stamped", "jumbo", "prerelease", "misprint", "error", "winner"}},
	{"a pattern", []string{"cosmos", "cracked ice", "confetti", "master ball", "poke ball pattern", "sheen"}},
	{"damage", []string{"creased", "water damage", "torn", "bent corner", "heavily scratched", "ink mark"}},
	{"words of nobody", []string{"qwertz", "zorblax", "thing from grandma", "xxl", "miscut back"}},
	{"other letters", []string{"🇯🇵", "日本語", "リザードン", "ＰＳＡ １０", "★★★★", "Ⓟ", "немецкая", "✍"}},
	{"what it is not", []string{"not NM", "not near mint", "no holo", "without holo"}},
	{"copies", []string{"x3 x4", "0x", "x99999"}},
}

// ownWords are all printed words of a card, and the words of its finishes.
func (s *shop) ownWords(card int) []string {
	p := s.asPrinted(card)
	c := s.View.Catalog
	text := p.Name + " " + p.Set + " " + p.Number + " " + c.Cards.Rarity.At(card) + " " + s.codeOf(card)
	if printing := c.Cards.Printing.At(card); printing != "" {
		text += " " + printing
	}

	l := &c.Lanes
	for lane, to := l.Of.Range(card); lane < to; lane++ {
		text += " " + strings.ReplaceAll(c.Variants.At(int(l.Variant[lane])), "_", " ")
	}

	// A year belongs to the set; a possessive is its name, too; and ultra rares are full arts.
	if set := c.Cards.Set[card]; set >= 0 && c.Sets.Release[set] != snapshot.NoDay {
		text += c.Sets.Release[set].Time().Format(" 2006")
	}
	text += " " + strings.ReplaceAll(p.Name, "'s", "")
	if strings.Contains(c.Cards.Rarity.At(card), "Ultra") {
		text += " full art"
	}
	return wordsOf(text)
}

// wordsOf are the words of a text in lower case, without accents and padding zeros.
func wordsOf(text string) []string {
	text = strings.NewReplacer("é", "e", "'", "", "’", "").Replace(strings.ToLower(text))
	words := strings.FieldsFunc(text, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	for i := range words {
		words[i] = strings.TrimLeft(words[i], "0")
	}
	return words
}

// isOwn reports whether a card has every word of a text, perhaps divided or joined otherwise.
func (s *shop) isOwn(card int, text string) bool {
	own := s.ownWords(card)
	words := wordsOf(text)
	return isRun(own, strings.Join(words, "")) || !slices.ContainsFunc(words, func(w string) bool {
		return !isRun(own, w)
	})
}

// isRun reports whether some words that follow one another make a text.
func isRun(words []string, text string) bool {
	for from := range words {
		for to := from + 1; to <= len(words); to++ {
			if strings.Join(words[from:to], "") == text {
				return true
			}
		}
	}
	return text == ""
}

// TestForeignWords writes words that belong to no card of the catalog into every place of a line: none is priced.
func TestForeignWords(t *testing.T) {
	s := realShop(t)
	each := 50_000/(len(places)*len(foreign)) + 1
	lines := 0
	for k, place := range places {
		for seed, kind := range foreign {
			r := rand.New(rand.NewPCG(uint64(seed), uint64(k)))
			for range each {
				card := s.random(r)
				extra := kind.all[r.IntN(len(kind.all))]
				item := place.at(s, card, extra)
				got := s.Value(item)
				lines++

				// A word foreign to one card may belong to another, and next to an id a word without meaning is named.
				named := item.ID != "" && len(got.Ignored) > 0 && kind.name == "words of nobody"
				if got.Status == valuation.Priced && !s.isOwn(got.Card, extra) && !named {
					t.Errorf("%s %s: %+v of %s is priced as %s", kind.name, place.name, item, s.describe(card),
						s.describe(got.Card))
				}
			}
		}
	}
	t.Logf("%d lines of %d kinds", lines, len(places)*len(foreign))
}

// traitPhrases are words for a copy or its rarity, and the card and variant for which they are
// true.
var traitPhrases = []struct {
	all []string
	is  func(variant, rarity string) bool
}{
	{[]string{"reverse holo", "rev holo", "reverse foil"}, func(v, _ string) bool {
		return strings.Contains(v, "reverse")
	}},
	{[]string{"1st edition", "first edition", "1st ed"}, func(v, _ string) bool {
		return strings.Contains(v, "1st")
	}},
	{[]string{"unlimited"}, func(v, _ string) bool { return !strings.Contains(v, "1st") }},
	{[]string{"non holo", "non-holo"}, func(v, _ string) bool {
		return !strings.Contains(v, "holo") && !strings.Contains(v, "foil")
	}},
	{[]string{"holo", "holofoil"}, func(v, _ string) bool {
		return !strings.Contains(v, "reverse") && (strings.Contains(v, "holo") || strings.Contains(v, "foil"))
	}},
	{[]string{"uncommon"}, func(_, r string) bool { return r == "Uncommon" || r == "UC" }},
	{[]string{"secret rare"}, func(_, r string) bool { return strings.Contains(r, "Secret") || r == "SEC" }},
	{[]string{"illustration rare"}, func(_, r string) bool { return strings.Contains(r, "Illustration") }},
	{[]string{"special illustration rare", "SIR"}, func(_, r string) bool {
		return strings.Contains(r, "Special Illustration")
	}},
	{[]string{"double rare"}, func(_, r string) bool { return strings.Contains(r, "Double") }},
	{[]string{"hyper rare"}, func(_, r string) bool { return strings.Contains(r, "Hyper") }},
	{[]string{"amazing rare"}, func(_, r string) bool { return strings.Contains(r, "Amazing") }},
	{[]string{"radiant rare"}, func(_, r string) bool { return strings.Contains(r, "Radiant") }},
	// An app's foil means the only variant that shines: TestFoilIsTheOneThatShines has the rest.
	{[]string{"foil"}, func(v, _ string) bool { return strings.Contains(v, "holo") || strings.Contains(v, "foil") }},
}

// TestTraitPhrases writes finishes, editions and rarities into every place of a line: a priced
// card has them.
func TestTraitPhrases(t *testing.T) {
	s := realShop(t)
	c := s.View.Catalog
	each := 25_000/(len(places)*len(traitPhrases)) + 1
	for k, place := range places {
		for seed, kind := range traitPhrases {
			r := rand.New(rand.NewPCG(uint64(seed), uint64(k)+100))
			for range each {
				card := s.random(r)
				said := kind.all[r.IntN(len(kind.all))]
				item := place.at(s, card, said)
				got := s.Value(item)
				first, _, _ := strings.Cut(said, " ")
				named := item.ID != "" && len(got.Ignored) > 0
				if got.Status != valuation.Priced || s.isOwn(got.Card, first) || s.isOwn(got.Card, "gold") || named {
					continue
				}

				variant := c.Variants.At(int(c.Lanes.Variant[got.Lane]))
				if rarity := c.Cards.Rarity.At(got.Card); !kind.is(variant, rarity) {
					t.Errorf("%s %s: %+v of %s is priced as %s, %s, %s", said, place.name, item, s.describe(card),
						s.describe(got.Card), variant, rarity)
				}
			}
		}
	}
}
