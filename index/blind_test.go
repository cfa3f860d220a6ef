package index_test

import (
	"cmp"
	"encoding/csv"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ninepocket/cardvocab"
	"ninepocket/index"
	"ninepocket/internal/testsweep"
	"ninepocket/snapshot"
)

// blindFolder has rows by somebody who had read neither the ranker nor any source; its README
// explains them. The files are never edited.
var blindFolder = filepath.Join("testdata", "blind", "2026-11-26")

// blindFloors are the least fractions of correct rows, by file.
var blindFloors = map[string]float64{
	"eras": 0.92, "languages": 0.92, "orders": 0.92, "rarities": 0.92, "scanner": 0.92, "sealed": 0.92,
}

// A blindRow is a query with the requirements on its result.
type blindRow struct {
	query, game string
	name        *regexp.Regexp
	notes       map[string]string
}

func readBlind(t *testing.T, file string) (rows []blindRow) {
	t.Helper()
	f, err := os.Open(filepath.Join(blindFolder, file))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // it was only read

	table := csv.NewReader(f)
	table.Comma = '\t'
	table.LazyQuotes = true
	records, err := table.ReadAll()
	if err != nil {
		t.Fatal(err)
	}

	for _, cells := range records[1:] {
		row := blindRow{query: cells[0], game: cells[1], name: regexp.MustCompile(cells[2]), notes: map[string]string{}}
		for note := range strings.SplitSeq(cells[3], ";") {
			key, value, _ := strings.Cut(note, "=")
			row.notes[key] = value
		}
		rows = append(rows, row)
	}
	return rows
}

// filter is the filter sent with the words.
func (r *blindRow) filter() index.Filter {
	f := index.NoFilter
	f.Game = r.game
	for part := range strings.SplitSeq(r.notes["filters"], "&") {
		switch key, value, _ := strings.Cut(part, "="); key {
		case "number":
			f.Number = value
		case "set":
			f.Set = value
		case "game":
			f.Game = value
		}
	}
	return f
}

// cents is a bound of the row, or the default.
func (r *blindRow) cents(key string, otherwise int64) int64 {
	n, err := strconv.ParseInt(r.notes[key], 10, 64)
	if err != nil {
		return otherwise
	}
	return n
}

// fits reports whether a card has everything that a row requires of its hits.
func (x *realIndex) fits(r *blindRow, card int) bool {
	matches := func(key, text string) bool {
		want := r.notes[key]
		return want == "" || regexp.MustCompile("(?i)"+want).MatchString(text)
	}
	set := ""
	if s := x.c.Cards.Set[card]; s != snapshot.NoSet {
		set = x.c.Sets.Name.At(int(s))
	}
	number := r.notes["number"]
	sameNumber := number == "" ||
		cardvocab.NumberKey(number) == cardvocab.NumberKey(x.c.Cards.Number.At(card))

	cents := x.c.DisplayCents(card)
	return r.name.MatchString(x.c.Cards.Name.At(card)) && sameNumber && matches("set", set) &&
		matches("rarity", x.c.Cards.Rarity.At(card)) && cents >= r.cents("min", cents) && cents <= r.cents("max", cents)
}

// inOrder reports whether cards have the order of prices that a row requires.
func (x *realIndex) inOrder(r *blindRow, cards []uint32) bool {
	byPrice := func(a, b uint32) int { return cmp.Compare(x.c.DisplayCents(int(a)), x.c.DisplayCents(int(b))) }
	switch r.notes["sort"] {
	case "price_asc":
		return slices.IsSortedFunc(cards, byPrice)
	case "price_desc":
		return slices.IsSortedFunc(cards, func(a, b uint32) int { return byPrice(b, a) })
	}
	return true
}

// isRight runs a row and judges the result; what describes the first hit.
func (x *realIndex) isRight(r *blindRow, all bool) (right bool, what string, notes []index.Note) {
	query := index.Query{Filter: r.filter(), Words: r.query, HasWords: true}
	page, notes := x.CardsInterpreted(nil, query, 10)
	if len(page.Cards) == 0 {
		return r.name.String() == "^$", "nothing", notes
	}

	what = x.describe(int(page.Cards[0]))
	right = x.fits(r, int(page.Cards[0]))
	if all {
		right = x.inOrder(r, page.Cards) &&
			!slices.ContainsFunc(page.Cards, func(card uint32) bool { return !x.fits(r, int(card)) })
	}
	return right, what, notes
}

// TestBlindRows runs the rows of 26 November 2026 on the catalog of TCGCSV.
func TestBlindRows(t *testing.T) {
	testsweep.OnlyFull(t)
	x := openReal(t, "t")
	for _, name := range []string{"languages", "rarities", "eras", "orders", "sealed", "scanner"} {
		counts := map[string]tally{}
		for _, row := range readBlind(t, name+".tsv") {
			right, what, notes := x.isRight(&row, name == "orders")
			if !right {
				t.Logf("%s %q: %s %v", row.notes["cat"], row.query, what, notes)
			}
			if blindFloors[name] > 0 && !right && what != "nothing" && len(notes) == 0 {
				t.Errorf("%q has %s, without a word about it", row.query, what)
			}
			for _, group := range []string{"", row.notes["cat"]} {
				n := counts[group]
				n.all++
				if right {
					n.first++
				}
				counts[group] = n
			}
		}

		for _, group := range slices.Sorted(keysOf(counts)) {
			n := counts[group]
			t.Logf("%s %s: %d of %d = %.3f", name, group, n.first, n.all, n.hit1())
		}
		if n := counts[""]; n.hit1() < blindFloors[name] {
			t.Errorf("%s: %d of %d, want %.2f", name, n.first, n.all, blindFloors[name])
		}
	}
}
