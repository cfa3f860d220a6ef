package valuation_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ninepocket/cardvocab"
	"ninepocket/snapshot"
	"ninepocket/valuation"
)

// printedWays are the ways in which tools, pages, exports and apps print a card. A way makes no line of a
// card that it has no code or number for.
var printedWays = []struct {
	name string
	of   func(p printedCard) valuation.Item
}{
	{"search result", func(p printedCard) valuation.Item { return lineOf(p.Name, "|", p.Set, p.sharp()) }},
	{"result with its id", func(p printedCard) valuation.Item {
		return lineOf("3.", p.Name, "|", p.Set, p.sharp(), "| "+p.Game+" | $7.02 | "+p.id)
	}},
	{"result with its game and price", func(p printedCard) valuation.Item {
		return lineOf("12.", p.Name, "|", p.Set, p.sharp(), "| "+p.Game+" | $7.02 of 2026-08-02")
	}},
	{"name, set, number", func(p printedCard) valuation.Item { return lineOf(p.Name, p.Set, p.Number) }},
	{"name, set, #number", func(p printedCard) valuation.Item { return lineOf(p.Name, p.Set, p.sharp()) }},
	{"cells", func(p printedCard) valuation.Item { return lineOf(p.Name, "|", p.Set, "|", p.Number) }},
	{"[code] and number", func(p printedCard) valuation.Item {
		return p.coded(p.Name, "["+p.code+"]", p.Number)
	}},
	{"(code number)", func(p printedCard) valuation.Item {
		return p.coded(p.Name, "("+p.code, p.plain()+")")
	}},
	{"bare code", func(p printedCard) valuation.Item { return p.coded(p.Name, p.code, p.plain()) }},
	{"[prefix] and number", func(p printedCard) valuation.Item {
		return p.prefixed(p.Name, "["+p.prefix+"]", p.Number)
	}},
	{"fields", func(p printedCard) valuation.Item {
		return valuation.Item{Name: p.Name, Set: p.Set, Number: p.Number, Game: p.Game}
	}},
	{"fields, set with its number", func(p printedCard) valuation.Item {
		return valuation.Item{Name: p.Name, Set: strings.TrimSpace(p.Set + " " + p.sharp())}
	}},
	{"id and prefixed number", func(p printedCard) valuation.Item {
		return p.prefixedField(valuation.Item{ID: p.id, Number: p.prefix + " " + p.Number})
	}},
	{"id and coded number", func(p printedCard) valuation.Item {
		if p.code == "" {
			return valuation.Item{}
		}
		return valuation.Item{ID: p.id, Number: p.code + " " + p.Number}
	}},
	{"id and line", func(p printedCard) valuation.Item {
		item := lineOf(p.Name, "|", p.Set, p.sharp())
		item.ID = p.id
		return item
	}},
}

// A printedCard is the printed text of a card.
type printedCard struct {
	valuation.Item
	id, prefix, code string
}

func lineOf(words ...string) valuation.Item {
	return valuation.Item{Line: strings.Join(strings.Fields(strings.Join(words, " ")), " ")}
}

// sharp is the number with its sign, "" without one.
func (p *printedCard) sharp() string {
	if p.Number == "" {
		return ""
	}
	return "#" + p.Number
}

// plain is the number without its total.
func (p *printedCard) plain() string {
	number, _, _ := strings.Cut(p.Number, "/")
	return number
}

// coded is a line with a code, the empty item for a card without code or number.
func (p *printedCard) coded(words ...string) valuation.Item {
	if p.code == "" || p.Number == "" {
		return valuation.Item{}
	}
	return lineOf(words...)
}

func (p *printedCard) prefixed(words ...string) valuation.Item {
	if p.prefix == "" || p.Number == "" {
		return valuation.Item{}
	}
	return lineOf(words...)
}

func (p *printedCard) prefixedField(item valuation.Item) valuation.Item {
	if p.prefix == "" || p.Number == "" {
		return valuation.Item{}
	}
	return item
}

// appCodes are the codes that apps print of sets, by the set.
func (s *shop) appCodes(t *testing.T) map[uint32]string {
	t.Helper()
	table, err := os.ReadFile("../index/set_codes.txt")
	if err != nil {
		t.Fatal(err)
	}

	codes := map[uint32]string{}
	for line := range strings.Lines(string(table)) {
		code, _, _ := strings.Cut(line, " ")
		for _, set := range s.View.Index.SetNames().ByAppCode(cardvocab.Fold(code)) {
			codes[set] = code
		}
	}
	return codes
}

// printed returns the printed text of a card.
func (s *shop) printed(card int, codes map[uint32]string) printedCard {
	p := printedCard{Item: s.asPrinted(card), id: s.cardID(card)}
	p.prefix, _, _ = strings.Cut(p.Set, ": ")
	if p.prefix == p.Set || len(p.prefix) > 6 || strings.ToUpper(p.prefix) != p.prefix {
		p.prefix = ""
	}
	if set := s.View.Catalog.Cards.Set[card]; set >= 0 {
		p.code = codes[uint32(set)]
		if p.code == "" {
			p.code = s.View.Catalog.Sets.Code.At(int(set))
		}
	}
	return p
}

// twins are the cards with another card of equal name, set and number.
func (s *shop) twins() map[int]bool {
	first := map[string]int{}
	twins := map[int]bool{}
	for card := range s.View.Catalog.Cards.ID.Len() {
		p := s.asPrinted(card)
		key := cardvocab.Fold(p.Name) + "|" + p.Set + "|" + p.Number
		if other, ok := first[key]; ok {
			twins[card] = true
			twins[other] = true
			continue
		}
		first[key] = card
	}
	return twins
}

// doubles are cards whose lines also match another card: the name has the other's number, or set and number
// are missing.
var doubles = []string{
	"Leafeon - 11/116 (Regional Championship Promo)", "Zoroark and Legendary Pokemon (World of Illusions Promo)",
	"Basic Lightning Energy - Pikachu 4", "Basic Fire Energy - Armarouge 2",
}

// TestRoundTripOfASmallCatalog gives the cards of a small catalog in every way in which they are printed.
func TestRoundTripOfASmallCatalog(t *testing.T) {
	s := smallShop(t)
	for card := range s.View.Catalog.Cards.ID.Len() {
		for _, way := range printedWays {
			item := way.of(s.printed(card, nil))
			if item.ID+item.Line+item.Name == "" || s.asPrinted(card).Number == "" {
				continue
			}
			if r := s.Value(item); r.Card != card {
				t.Errorf("%s: %+v is %s: %s", way.name, item, s.describe(r.Card), r.Remark)
			}
		}
	}
}

// TestLinesAsTheyAreSaid gives lines of chat, dictation and scanners, of sealed products, and words next to
// an id.
func TestLinesAsTheyAreSaid(t *testing.T) {
	s := smallShop(t)
	type item = valuation.Item
	for _, test := range []struct {
		item          item
		want, ignored string
	}{
		{item{Line: "hey what is my charizard ex 199/165 worth pls"}, "priced card_sir 24950", ""},
		{item{Line: "Charizard ex I99/l65"}, "priced card_sir 24950", ""},
		{item{Line: "Char1zard ex 199/165"}, "priced card_sir 24950", ""},
		{item{Line: "charizard ex one ninety nine of one sixty five"}, "priced card_sir 24950", ""},
		{item{Line: "NM - 2 - Charizard ex - 199/165"}, "priced card_sir 24950 49900 condition", ""},
		{item{Line: "Charizard ex 199/165, 2x"}, "priced card_sir 24950 49900", ""},
		{item{Line: "Charizard ex 199/165 signed, what is it worth"}, "unpriced card_sir 24950-24950", ""},
		{item{Line: "Scarlet & Violet 151 booster box"}, "unmatched", ""},
		{item{ID: "card_sir", Line: "the fiery zard one"}, "priced card_sir 24950", "fiery zard one"},
		{item{ID: "card_sir", Line: "fiery zard staff"}, "unpriced card_sir 24950-24950", "fiery zard"},
	} {
		r := s.Value(test.item)
		got := s.summary(&r)

		if got != test.want || strings.Join(r.Ignored, " ") != test.ignored {
			t.Errorf("%+v is %s, ignored %q (%s); want %s, %q", test.item.Line, got, r.Ignored, r.Remark, test.want,
				test.ignored)
		}
		sealed := len(r.Candidates) == 0 && r.Remark == "sealed products have no prices here"
		if r.Status == valuation.Unmatched && !sealed {
			t.Errorf("%s has candidates %v: %s", test.item.Line, r.Candidates, r.Remark)
		}
	}
}

// TestRoundTrip gives each card in every way in which it is printed.
func TestRoundTrip(t *testing.T) {
	s := realShop(t)
	codes := s.appCodes(t)
	twins := s.twins()

	for _, way := range printedWays {
		lines := 0
		wrong := 0
		for card := range s.View.Catalog.Cards.ID.Len() {
			item := way.of(s.printed(card, codes))
			if item.ID+item.Line+item.Name == "" {
				continue
			}

			lines++
			r := s.Value(item)
			priced := r.Status == valuation.Priced || s.View.Catalog.Cards.Display[card] < 0
			double := twins[card] || slices.Contains(doubles, s.asPrinted(card).Name)
			if r.Card == card && priced || double && item.ID == "" {
				continue
			}
			wrong++
			if wrong <= 20 {
				t.Errorf("%s: %+v is %s %s, not %s: %s", way.name, item, valuation.StatusNames[r.Status],
					s.describe(r.Card), s.describe(card), r.Remark)
			}
		}
		t.Logf("%s: %d of %d lines are not the card", way.name, wrong, lines)
	}
	t.Logf("%d cards share name, set and number with another one", len(twins))
}

// A fact is a true word of a card; other says that it is of a copy that has no price here.
type fact struct {
	name  string
	of    func(s *shop, card int) string
	other bool
}

var aYear = regexp.MustCompile(`\b(?:19|20)[0-9]{2}\b`)

var facts = []fact{
	{"rarity", func(s *shop, card int) string { return s.View.Catalog.Cards.Rarity.At(card) }, false},
	{"year", func(s *shop, card int) string {
		set := s.View.Catalog.Cards.Set[card]
		if set < 0 || s.View.Catalog.Sets.Release[set] == snapshot.NoDay || aYear.MatchString(s.describe(card)) {
			return "" // a year in the name counts in place of the set's year
		}
		return s.View.Catalog.Sets.Release[set].Time().Format("2006")
	}, false},
	{"finish", func(s *shop, card int) string {
		display := s.View.Catalog.Cards.Display[card]
		if display < 0 {
			return ""
		}
		return strings.ReplaceAll(s.View.Catalog.Variants.At(int(s.View.Catalog.Lanes.Variant[display])), "_", " ")
	}, false},
	{"condition", func(*shop, int) string { return "NM" }, false},
	{"quantity", func(*shop, int) string { return "x3" }, false},
	{"grade", func(*shop, int) string { return "PSA 9" }, true},
}

// TestTrueFactsMakeNoLineWorse adds a true word to lines of each card. A priced line stays priced, and a
// question does not become wider.
func TestTrueFactsMakeNoLineWorse(t *testing.T) {
	s := realShop(t)
	for _, fact := range facts {
		worse := 0
		lines := 0
		for card := range s.View.Catalog.Cards.ID.Len() {
			word := fact.of(s, card)
			p := s.asPrinted(card)
			if word == "" || slices.Contains(doubles, p.Name) {
				continue
			}

			for _, line := range []valuation.Item{lineOf(p.Name, p.Set, p.Number), lineOf(bare(p.Name), p.Number)} {
				plain := s.Value(line)
				if plain.Card >= 0 && plain.Card != card {
					continue
				}
				lines++
				line.Line += " " + word
				r := s.Value(line)
				if !isWorse(&plain, &r, fact.other) {
					continue
				}
				worse++
				if worse <= 20 {
					t.Errorf("%s: %s is %s %s, without it %s %s: %s", fact.name, line.Line,
						valuation.StatusNames[r.Status], s.describe(r.Card), valuation.StatusNames[plain.Status],
						s.describe(plain.Card), r.Remark)
				}
			}
		}
		t.Logf("%s: %d of %d lines are worse", fact.name, worse, lines)
	}
}

// isWorse reports whether a line has a worse result with one more true word.
func isWorse(plain, more *valuation.Result, other bool) bool {
	switch {
	case plain.Card >= 0 && other:
		return more.Card != plain.Card
	case plain.Card >= 0:
		return more.Card != plain.Card || more.Status > plain.Status
	}
	return more.Card < 0 && more.Status > plain.Status
}
