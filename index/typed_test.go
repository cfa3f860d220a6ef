package index_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ninepocket/cardvocab"
	"ninepocket/index"
	"ninepocket/internal/testsweep"
	"ninepocket/loader"
	"ninepocket/snapshot"
)

// A realIndex is a catalog of the real data with its index.
type realIndex struct {
	*index.Index
	c *snapshot.Catalog
}

// realIndexes builds the catalogs that the queries are about, once: t is the TCGCSV feed, n
// pokemon-tcg-data and punk-records, j all three joined.
var realIndexes = map[string]func() (*realIndex, error){
	"t": sync.OnceValues(func() (*realIndex, error) { return buildReal("tcgcsv") }),
	"n": sync.OnceValues(func() (*realIndex, error) { return buildReal("pokemon-tcg-data", "punk-records") }),
	"j": sync.OnceValues(func() (*realIndex, error) { return buildReal("tcgcsv", "pokemon-tcg-data", "punk-records") }),
}

var realFiles = map[string]string{
	"tcgcsv":           "tcgcsv/tcgplayer-current.tar.zst",
	"pokemon-tcg-data": "pokemon-tcg-data/pokemon-tcg-data-en.tar.zst",
	"punk-records":     "punk-records/punk-records-english.tar.zst",
}

// dataFolder is the folder of the real catalogs, next to the clone.
func dataFolder() string {
	return cmp.Or(os.Getenv("DATA"), filepath.Join("..", "..", "shared", "data"))
}

func buildReal(kinds ...string) (*realIndex, error) {
	o := loader.Options{
		CollectedAt: time.Date(2026, 8, 22, 20, 0, 0, 0, time.UTC),
		Names:       filepath.Join(dataFolder(), "names", "one-piece-names.tsv"),
	}
	for _, kind := range kinds {
		o.Sources = append(o.Sources, loader.Input{Kind: kind, Path: filepath.Join(dataFolder(), realFiles[kind])})
	}

	built, err := loader.Build(context.Background(), o)
	if err != nil {
		return nil, err
	}
	x, err := index.Build(context.Background(), nil, built.Catalog, nil)
	return &realIndex{x, built.Catalog}, err
}

// openReal returns a catalog of the real data, or skips the test.
func openReal(t *testing.T, name string) *realIndex {
	t.Helper()
	if _, err := os.Stat(dataFolder()); err != nil {
		t.Skip("skipped: the real catalogs are not there (see make data)")
	}

	x, err := realIndexes[name]()
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// A typed query is a text that someone types, with its intended cards.
type typed struct {
	category, catalogs, needs, query string
	intents                          []intent // none: an empty result is correct
}

// An intent describes an intended card. Empty parts match any card.
type intent struct {
	name, set, number, rarity *regexp.Regexp
}

// plainNumber is a number as intents compare it: without the part after a slash, spaces and the
// leading zeros of each run of digits.
func plainNumber(number string) string {
	number, _, _ = strings.Cut(number, "/")
	number = strings.ReplaceAll(number, " ", "")
	return leadingZeros.ReplaceAllString(number, "$1$2")
}

var (
	leadingZeros = regexp.MustCompile(`(^|[^0-9])0+([0-9])`)
	signs        = strings.NewReplacer("-", " ", ".", " ", ",", " ", `"`, " ", "'", "", "’", "")
	spaces       = regexp.MustCompile(` +`)
)

// plainText is a text as intents compare it.
func plainText(s string) string {
	var out strings.Builder
	for _, r := range s {
		out.Write(cardvocab.AppendPlain(nil, string(r), r))
	}
	return strings.TrimSpace(spaces.ReplaceAllString(signs.Replace(out.String()), " "))
}

func readIntent(text string) (in intent, err error) {
	parts := strings.Split(text, "~")
	for i := range parts {
		part := strings.TrimSpace(parts[i])
		if exact, ok := strings.CutPrefix(part, "="); ok && i == 2 {
			if base, parallels := strings.CutSuffix(exact, "*"); parallels {
				part = "^" + regexp.QuoteMeta(plainNumber(base)) + "(_[pr][0-9]+)?$"
			} else {
				part = "^" + regexp.QuoteMeta(plainNumber(exact)) + "$"
			}
		}
		if part == "" {
			continue
		}

		re, err := regexp.Compile(part)
		if err != nil {
			return in, err
		}
		*[]**regexp.Regexp{&in.name, &in.set, &in.number, &in.rarity}[i] = re
	}

	return in, nil
}

// readTyped reads a file of queries: category, catalogs, needs, query, intent.
func readTyped(t *testing.T, file string) (rows []typed) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	for i, line := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
		if strings.HasPrefix(line, "#") || line == "" {
			continue
		}
		cells := strings.Split(line, "\t")
		if len(cells) != 5 {
			t.Fatalf("%s:%d has %d cells", file, i+1, len(cells))
		}

		row := typed{category: cells[0], catalogs: cells[1], needs: cells[2], query: cells[3]}
		for text := range strings.SplitSeq(cells[4], " || ") {
			if text == "none" {
				continue
			}
			in, err := readIntent(text)
			if err != nil {
				t.Fatalf("%s:%d: %v", file, i+1, err)
			}
			row.intents = append(row.intents, in)
		}
		rows = append(rows, row)
	}

	return rows
}

// meant says whether a card is one that the query means.
func (x *realIndex) meant(q *typed, card int) bool {
	c := x.c
	set := ""
	if s := c.Cards.Set[card]; s != snapshot.NoSet {
		set = c.Sets.Name.At(int(s))
	}

	texts := []string{
		plainText(c.Cards.Name.At(card)), plainText(set), plainNumber(c.Cards.Number.At(card)),
		plainText(c.Cards.Rarity.At(card)),
	}
	return slices.ContainsFunc(q.intents, func(in intent) bool {
		for i, want := range []*regexp.Regexp{in.name, in.set, in.number, in.rarity} {
			if want != nil && !want.MatchString(texts[i]) && (i != 1 || !x.aliasMatches(card, want)) {
				return false
			}
		}
		return true
	})
}

// aliasMatches says whether the set of a card is called so elsewhere: in a joined catalog, sets have
// the name of the first source.
func (x *realIndex) aliasMatches(card int, want *regexp.Regexp) bool {
	set := x.c.Cards.Set[card]
	if set == snapshot.NoSet {
		return false
	}
	for from, to := x.c.Sets.Aliases.Range(int(set)); from < to; from++ {
		if want.MatchString(plainText(x.c.Sets.Alias.At(from))) {
			return true
		}
	}
	return false
}

// rank is the place of the first card that is meant among the first ten, from 1 on; 0 for none.
func (x *realIndex) rank(q *typed) (rank int, first string) {
	page := x.Cards(nil, index.Query{Filter: index.NoFilter, Words: q.query, HasWords: true}, nil, 10)
	first = "nothing"
	if len(page.Cards) > 0 {
		first = x.describe(int(page.Cards[0]))
	}
	if len(q.intents) == 0 && len(page.Cards) == 0 {
		return 1, first
	}

	for i, card := range page.Cards {
		if x.meant(q, int(card)) {
			return i + 1, first
		}
	}
	return 0, first
}

func (x *realIndex) describe(card int) string {
	c := x.c
	set := "-"
	if s := c.Cards.Set[card]; s != snapshot.NoSet {
		set = c.Sets.Name.At(int(s))
	}
	return fmt.Sprintf("%s | %s | %s | %s | %d", c.Cards.Name.At(card), set, c.Cards.Number.At(card),
		c.Cards.Rarity.At(card), c.DisplayCents(card))
}

// tally counts the rows of a group that were found first, and among the first ten.
type tally struct{ first, ten, all int }

func (n tally) hit1() float64  { return float64(n.first) / float64(max(n.all, 1)) }
func (n tally) hit10() float64 { return float64(n.ten) / float64(max(n.all, 1)) }

// measure asks a catalog all rows that are about it and counts by category and by need.
func (x *realIndex) measure(t *testing.T, catalog string, rows []typed) map[string]tally {
	t.Helper()
	counts := map[string]tally{}
	for i := range rows {
		q := &rows[i]
		if q.catalogs != "b" && catalog != "j" && q.catalogs != catalog || q.catalogs == "n" && catalog == "j" {
			continue
		}

		rank, first := x.rank(q)
		if rank != 1 {
			t.Logf("%s %s/%s %q: %d, first %s", catalog, q.category, q.needs, q.query, rank, first)
		}
		for _, group := range []string{q.category, "needs " + q.needs, "all"} {
			n := counts[group]
			n.all++
			if rank == 1 {
				n.first++
			}
			if rank > 0 {
				n.ten++
			}
			counts[group] = n
		}
	}

	return counts
}

// sum adds up groups.
func sum(counts map[string]tally, groups ...string) (all tally) {
	for _, g := range groups {
		n := counts[g]
		all.first += n.first
		all.ten += n.ten
		all.all += n.all
	}
	return all
}

// TestTypedQueries runs typed queries on the real catalogs; index/text has a sample.
// NINEPOCKET_QUERIES names another file with these columns, whose figures are printed and not
// checked.
func TestTypedQueries(t *testing.T) {
	file := os.Getenv("NINEPOCKET_QUERIES")
	judged := file == ""
	file = cmp.Or(file, filepath.Join(dataFolder(), "search-queries-typed.tsv"))
	if _, err := os.Stat(file); err != nil {
		t.Skip("skipped: the queries are not there (see make data)")
	}

	// Building the catalogs takes most of the time.
	if judged && os.Getenv("NINEPOCKET_TORTURE") == "" {
		testsweep.OnlyFull(t)
	}

	rows := readTyped(t, file)
	for _, catalog := range []string{"t", "n", "j"} {
		counts := openReal(t, catalog).measure(t, catalog, rows)
		for _, group := range slices.Sorted(keysOf(counts)) {
			n := counts[group]
			t.Logf("%s %-20s hit@1 %3d of %3d = %.3f, hit@10 %.3f", catalog, group, n.first, n.all, n.hit1(), n.hit10())
		}

		if judged {
			checkFloors(t, catalog, counts)
		}
	}
}

// TestBlindQueries runs queries by a person who had read neither the ranker nor its design.
func TestBlindQueries(t *testing.T) {
	testsweep.OnlyFull(t)
	rows := readTyped(t, filepath.Join("testdata", "blind-queries.tsv"))
	for _, catalog := range []string{"t", "n", "j"} {
		counts := openReal(t, catalog).measure(t, catalog, rows)
		for _, needs := range []string{"needs catalog", "needs synonym"} {
			n := counts[needs]
			t.Logf("%s: %s: hit@1 %.3f, hit@10 %.3f", catalog, needs, n.hit1(), n.hit10())
			if n.all == 0 || n.hit1() < 0.9 || n.hit10() < 0.96 {
				t.Errorf("%s: %s: first %d, among ten %d of %d", catalog, needs, n.first, n.ten, n.all)
			}
		}
	}
}

// TestBlindQueriesAgain checks the second blind file against the rows in docs/dev/SEARCH.md.
func TestBlindQueriesAgain(t *testing.T) {
	testsweep.OnlyFull(t)
	rows := readTyped(t, filepath.Join("testdata", "blind-queries-2.tsv"))
	for catalog, want := range map[string]tally{
		"t": {first: 58, all: 60},
		"n": {first: 52, all: 54},
		"j": {first: 58, all: 60},
	} {
		got := openReal(t, catalog).measure(t, catalog, rows)["all"]
		t.Logf("%s: %d of %d first", catalog, got.first, got.all)
		if got.all != want.all || got.first < want.first {
			t.Errorf("%s: %d of %d first, want %d of %d", catalog, got.first, got.all, want.first, want.all)
		}
	}
}

func keysOf(counts map[string]tally) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range counts {
			if !yield(k) {
				return
			}
		}
	}
}

// checkFloors holds the figures that docs/dev/SEARCH.md promises.
func checkFloors(t *testing.T, catalog string, counts map[string]tally) {
	t.Helper()
	f := func(what string, n tally, hit1, hit10 float64) {
		t.Helper()
		t.Logf("%s: %s: hit@1 %.3f, hit@10 %.3f", catalog, what, n.hit1(), n.hit10())
		if n.hit1() < hit1 || n.hit10() < hit10 {
			t.Errorf("%s: %s: hit@1 %.3f, hit@10 %.3f; want %.2f, %.2f", catalog, what, n.hit1(), n.hit10(),
				hit1, hit10)
		}
	}

	f("the catalog's text", sum(counts, "needs catalog"), 0.9, 0.96)
	f("card vocabulary", sum(counts, "needs synonym"), 0.9, 0.96)
	f("noise and long titles", sum(counts, "noise-word+", "listing-long+"), 0.85, 0.85)
	f("other names", sum(counts, "needs alias", "needs foreign"), 0.7, 0.7)
	if catalog != "t" {
		f("set codes", sum(counts, "set-codes"), 0.8, 0.8)
	}
}
