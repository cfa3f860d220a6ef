package valuation_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ninepocket/cardvocab"
	"ninepocket/engine"
	"ninepocket/internal/fixture"
	"ninepocket/internal/testsweep"
	"ninepocket/loader"
	"ninepocket/valuation"
	"ninepocket/wire"
)

// realView is the View of a real catalog of both games, which is not part of the repository.
var realView = sync.OnceValues(func() (*engine.View, error) {
	dir := os.Getenv("DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "data")
	}

	tree := loader.Input{Kind: "tcgcsv", Path: filepath.Join(dir, "tcgcsv", "tcgplayer-current.tar.zst")}
	if _, err := os.Stat(tree.Path); err != nil {
		return nil, err
	}
	built, err := loader.Build(context.Background(), loader.Options{
		Sources: []loader.Input{tree}, CollectedAt: time.Date(2026, 8, 22, 20, 0, 0, 0, time.UTC),
	})
	if err != nil {
		return nil, err
	}

	built.Catalog.ID = "20260822-real"
	return engine.NewView(built.Catalog, wire.URLs{URL: "https://cards.example", ProductPrefix: "prd"})
})

// shop values lines of cards that it knows.
type shop struct {
	valuation.Appraiser
}

// realShop is a shop over the real catalog, or skips the test. Loading takes twenty seconds with the
// race detector, so make whole runs these tests.
func realShop(tb testing.TB) *shop {
	tb.Helper()
	if _, test := tb.(*testing.T); test {
		testsweep.OnlyFull(tb)
	}

	view, err := realView()
	if os.IsNotExist(err) {
		tb.Skip("skipped: the real catalogs are not beside the clone")
	}
	if err != nil {
		tb.Fatal(err)
	}
	s := &shop{}
	s.Reset(view)
	return s
}

// asPrinted is the line that the service prints for a card.
func (s *shop) asPrinted(card int) valuation.Item {
	c := s.View.Catalog
	item := valuation.Item{
		Name: c.Cards.Name.At(card), Number: c.Cards.Number.At(card), Game: c.Games.Slug.At(int(c.Cards.Game[card])),
	}
	if set := c.Cards.Set[card]; set >= 0 {
		item.Set = c.Sets.Name.At(int(set))
	}
	return item
}

// follow gives a line the fields that a question asks for, as printed on a card.
func (s *shop) follow(item valuation.Item, ask valuation.FieldSet, card int) valuation.Item {
	printed := s.asPrinted(card)
	if ask&valuation.NameField != 0 {
		item.Name = printed.Name
	}
	if ask&valuation.SetField != 0 {
		item.Set = printed.Set
	}
	if ask&valuation.NumberField != 0 {
		item.Number = printed.Number
	}
	return item
}

// isPrinted reports whether a line is exactly the printed text of a card, signs and case aside. Then
// the line means that card, even if it was made from another (decision 2202).
func (s *shop) isPrinted(item valuation.Item, card int) bool {
	printed := s.asPrinted(card)
	return cardvocab.Fold(printed.Name) == cardvocab.Fold(item.Name) && printed.Number == item.Number &&
		cardvocab.Fold(printed.Set) == cardvocab.Fold(item.Set) || s.isPrintedIn(item.Line, card)
}

// isPrintedIn reports whether a line is the name, set and number that are printed of a card, with copies,
// a language and a condition.
func (s *shop) isPrintedIn(line string, card int) bool {
	printed := s.asPrinted(card)
	words := wordsOf(line)
	for _, w := range wordsOf(bare(printed.Name) + " " + withoutSetCode(printed.Set) + " " + printed.Number) {
		if !slices.Contains(words, w) {
			return false
		}
	}
	_, said, _ := strings.Cut(line, " ") // behind the copies
	said = strings.TrimSuffix(said, " english lp")
	return bare(printed.Name) == printed.Name && said != line && s.isOwn(card, said)
}

// random is a card of the catalog.
func (s *shop) random(r *rand.Rand) int { return r.IntN(s.View.Catalog.Cards.ID.Len()) }

// describe describes a card for a message.
func (s *shop) describe(card int) string {
	if card < 0 {
		return "no card"
	}
	printed := s.asPrinted(card)
	return fmt.Sprintf("%q of %q #%s", printed.Name, printed.Set, printed.Number)
}

// TestPrintedIsPriced gives each card by the text that the service prints.
func TestPrintedIsPriced(t *testing.T) {
	s := realShop(t)
	for card := 0; card < s.View.Catalog.Cards.ID.Len(); card++ {
		item := s.asPrinted(card)
		if r := s.Value(item); r.Card != card {
			t.Errorf("%s is %s %s: %s", s.describe(card), valuation.StatusNames[r.Status], s.describe(r.Card), r.Remark)
		}
		item.Game = ""
		if r := s.Value(item); r.Card != card {
			t.Errorf("%s without its game is %s: %s", s.describe(card), s.describe(r.Card), r.Remark)
		}
	}
}

// TestHintsSettle makes ambiguous lines and gives each the fields that its hint asks for. Every
// line must then mean the card that it was made from.
func TestHintsSettle(t *testing.T) {
	s := realShop(t)
	r := rand.New(rand.NewPCG(3, 1))
	want := 12_000
	for n := 0; n < want; {
		card := s.random(r)
		item := s.asPrinted(card)
		kind := kinds[r.IntN(len(kinds))]
		if kind.other {
			continue
		}
		kind.make(s, r, &item, card)
		if r.IntN(2) == 0 {
			item.Number = ""
		}
		if r.IntN(2) == 0 {
			item.Game = ""
		}

		first := s.Value(item)
		if first.Status != valuation.Ambiguous {
			continue
		}
		n++
		if first.Needed == 0 || first.MatchCount < 2 || len(first.Candidates) < 2 {
			t.Errorf("%+v asks for %q of %d cards", item, first.Needed.Text(), first.MatchCount)
		}
		if second := s.Value(s.follow(item, first.Needed, card)); second.Card != card {
			t.Errorf("%+v with %s of %s is %s %s: %s", item, first.Needed.Text(), s.describe(card),
				valuation.StatusNames[second.Status], s.describe(second.Card), second.Remark)
		}
	}
}

// TestNeverWrong makes lines of all kinds. No line may be priced as another card than its source,
// unless it is exactly the printed text of that other card.
func TestNeverWrong(t *testing.T) {
	s := realShop(t)
	each := 52_000 / len(kinds)
	for seed, kind := range kinds {
		r := rand.New(rand.NewPCG(uint64(seed), 9))
		var counts [valuation.Statuses]int

		for range each {
			card := s.random(r)
			item := s.asPrinted(card)
			kind.make(s, r, &item, card)
			got := s.Value(item)
			counts[got.Status]++
			if got.Card >= 0 && got.Card != card && !s.isPrinted(item, got.Card) {
				t.Errorf("%s: %+v of %s is taken for %s", kind.name, item, s.describe(card), s.describe(got.Card))
			}
		}
		t.Logf("%s: %d priced, %d unpriced, %d ambiguous, %d unmatched", kind.name, counts[0], counts[1], counts[2],
			counts[3])
	}
}

// TestHintsSettleAnyCatalog does the same over catalogs with prices by condition, parallels, and cards
// without a set. If two cards have equal name, set and number, only an id distinguishes them.
func TestHintsSettleAnyCatalog(t *testing.T) {
	for seed := range uint64(4) {
		w := fixture.Random(seed, fixture.Size{Sets: 6, Cards: 400})
		s := newShop(t, w.Catalog())
		twins := map[string]int{}
		for card := range s.View.Catalog.Cards.ID.Len() {
			twins[s.describe(card)]++
		}

		r := rand.New(rand.NewPCG(seed, 2))
		asked := 0
		for range 1500 {
			card := s.random(r)
			item := s.asPrinted(card)
			if twins[s.describe(card)] > 1 || item.Set == "" {
				continue
			}
			if r.IntN(2) == 0 {
				item.Set = ""
			}
			if r.IntN(2) == 0 {
				item.Number = ""
			}

			first := s.Value(item)
			if first.Status != valuation.Ambiguous {
				continue
			}
			asked++
			if second := s.Value(s.follow(item, first.Needed, card)); second.Card != card {
				t.Errorf("%+v with %s of %s is %s %s: %s", item, first.Needed.Text(), s.describe(card),
					valuation.StatusNames[second.Status], s.describe(second.Card), second.Remark)
			}
		}
		if asked < 50 {
			t.Errorf("only %d lines are ambiguous", asked)
		}
	}
}
