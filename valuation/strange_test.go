package valuation_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ninepocket/valuation"
)

// TestStrangeWords goes through names with more and more words that no card has.
func TestStrangeWords(t *testing.T) {
	s := smallShop(t)
	for _, test := range []struct {
		name       string
		candidates bool
	}{
		{"Charzard", true},
		{"Ratatta Charzard", true},
		{"Charzard blorf zwekl", true},
		{"Charzard blorf zwekl quomp", false},
		{"Charzard blorf zwekl quomp drivt", false},
		{"Charizard blorf zwekl quomp drivt flonk", false},
		// A word about the copy, or one that search ignores, is no strange word.
		{"ratatta for sale free shipping collection authentic original vintage", true},
	} {
		r := s.Value(valuation.Item{Name: test.name})
		if r.Status != valuation.Unmatched || len(r.Candidates) > 0 != test.candidates || r.Needed == 0 {
			t.Errorf("%s is %s with %d candidates: %s", test.name, s.summary(&r), len(r.Candidates), r.Remark)
		}

		// Set and number still identify a card with one of these few names.
		r = s.Value(valuation.Item{Name: test.name, Set: "151", Number: "19/165"})
		if r.Status == valuation.Priced && !strings.HasPrefix(strings.ToLower(test.name), "ratatta") {
			t.Errorf("%s is priced as %s", test.name, s.describe(r.Card))
		}
	}
}

// TestLinesAreAlone values lines in a list and each by itself: no line's card, price or question depends
// on others.
func TestLinesAreAlone(t *testing.T) {
	s := smallShop(t)
	words := strings.Fields("Charizard ex SIR Rattata rattatta 199/165 4/102 151 Base Set blorf zwekl quomp " +
		"drivt flonk NM Lugia Neo Genesis holo 1st edition MEW 19 2x gold star € 5€ Shadowless lot PSA 10")
	r := rand.New(rand.NewPCG(21, 1))
	var items []valuation.Item
	for range 400 {
		var line []string
		for range 1 + r.IntN(9) {
			line = append(line, words[r.IntN(len(words))])
		}
		item := valuation.Item{Line: strings.Join(line, " ")}
		if r.IntN(3) == 0 {
			item.Set = words[r.IntN(len(words))]
		}
		items = append(items, item)
	}

	say := func(shop *shop, item valuation.Item) string {
		got := shop.Value(item)
		return fmt.Sprint(shop.summary(&got), got.MatchCount, got.From, got.To)
	}
	var first []string
	for _, item := range items {
		first = append(first, say(s, item))
	}

	seen := map[string]bool{}
	for i, item := range slices.Backward(items) {
		alone := &shop{}
		alone.Reset(s.View)
		status, _, _ := strings.Cut(first[i], " ")
		seen[status] = true
		if got := say(alone, item); got != first[i] || say(s, item) != first[i] {
			t.Errorf("%+v is %s in the list, %s alone", item, first[i], got)
		}
	}
	if len(seen) < 3 {
		t.Errorf("only %v", seen)
	}
}

// TestManyMisspelt values a list of misspelt names: after many such names, only set and number identify
// a misspelt name.
func TestManyMisspelt(t *testing.T) {
	s := &shop{}
	s.Reset(smallShop(t).View)
	guessed := 0
	for i := range 60 {
		r := s.Value(valuation.Item{Name: "Charzard"})
		if r.Status != valuation.Unmatched || r.Needed == 0 {
			t.Fatalf("line %d is %s", i, s.summary(&r))
		}
		if len(r.Candidates) > 0 {
			guessed++
		}
	}
	if guessed != 25 {
		t.Errorf("%d lines have candidates", guessed)
	}

	// Correctly typed parts still find candidates, and these settle the line.
	r := s.Value(valuation.Item{Name: "Charizard Rattata"})
	if len(r.Candidates) == 0 {
		t.Errorf("no candidates: %s", s.summary(&r))
	}
	r = s.Value(valuation.Item{Name: "Charzard ex", Set: "151", Number: "199/165"})
	if r.Status != valuation.Priced || s.summary(&r) != "priced card_sir 24950" {
		t.Errorf("a name that set and number respell is %s", s.summary(&r))
	}
}

// TestCandidatesAreOfTheirLine gives an unknown id behind a misspelt name: the candidates of that name are not its.
func TestCandidatesAreOfTheirLine(t *testing.T) {
	s := smallShop(t)
	if before := s.Value(valuation.Item{Line: "Chrizard Bse"}); len(before.Candidates) == 0 {
		t.Fatalf("a misspelt name has no candidates: %s", before.Remark)
	}
	if got := s.Value(valuation.Item{ID: "nothing", Name: "Zzyzx"}); len(got.Candidates) > 0 {
		t.Errorf("an unknown id has the candidates %v", got.Candidates)
	}
}

// TestOtherCopiesInWords withholds the price if a flag or a word in any language makes the copy another one,
// with an id and without.
func TestOtherCopiesInWords(t *testing.T) {
	s := smallShop(t)
	for _, other := range []string{
		"🇯🇵", "🇩🇪", "japonais", "日本語版", "简体中文", "francés", "signiert", "signé", "Fälschung", "replika",
	} {
		for _, item := range []valuation.Item{
			{Line: "Rattata 19/165 " + other}, {ID: "card_rattata", Line: "Rattata 19/165 " + other},
		} {
			if got := s.Value(item); got.Status == valuation.Priced {
				t.Errorf("%+v is priced", item)
			}
		}
	}

	for _, line := range []string{"Rattata 19/165 🇺🇸", "Rattata 19/165 🇬🇧"} {
		if got := s.Value(valuation.Item{Line: line}); got.Status != valuation.Priced {
			t.Errorf("%q is %s: %s", line, valuation.StatusNames[got.Status], got.Remark)
		}
	}
}

// TestQuantityOfAPrintedTotal reads the copies of a priced line as the tool prints it.
func TestQuantityOfAPrintedTotal(t *testing.T) {
	s := smallShop(t)
	line := "2. priced | $0.30 = 3 × $0.10 | Rattata | 151 #19/165 | pokemon | normal, Ungraded | card_rattata"
	if got := s.Value(valuation.Item{Line: line}); got.Status != valuation.Priced || got.Quantity != 3 {
		t.Errorf("%q is %s, %d copies: %s", line, valuation.StatusNames[got.Status], got.Quantity, got.Remark)
	}
}
