package text

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"html"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"ninepocket/cardvocab"
	"ninepocket/internal/testsweep"
)

// A testCard is a card of a real catalog, as far as the index and the order of decision 22 look at
// it.
type testCard struct {
	id, name, number, set, code, released, rarity, series, setID string
	total                                                        int
	game                                                         uint8
	setNumber                                                    int32
}

const (
	pokemon uint8 = iota
	onePiece
)

// A testCatalog is a list of cards with its index.
type testCatalog struct {
	cards []testCard
	index *Index
}

func (c *testCatalog) add(t *testing.T, cards []testCard) {
	t.Helper()
	c.cards = cards
	sets := map[string]int32{}
	for i := range cards {
		key := strconv.Itoa(int(cards[i].game)) + cards[i].set + "|" + cards[i].code
		if _, ok := sets[key]; !ok {
			sets[key] = int32(len(sets))
		}
		cards[i].setNumber = sets[key]
	}

	var err error
	c.index, err = Build(context.Background(), c.corpus(), noStep)
	if err != nil {
		t.Fatal(err)
	}
}

func (c *testCatalog) corpus() Corpus { // air: one value
	return complete(Corpus{
		Len:     len(c.cards),
		Name:    func(i int) string { return c.cards[i].name },
		Number:  func(i int) string { return c.cards[i].number },
		SetName: func(i int) string { return c.cards[i].set },
		SetCode: func(i int) string { return c.cards[i].code },
		Total:   func(i int) int { return c.cards[i].total },
		Game:    func(i int) uint8 { return c.cards[i].game },
		Set:     func(i int) int32 { return c.cards[i].setNumber },
		Rarity:  func(i int) string { return c.cards[i].rarity },
		Series:  func(i int) string { return c.cards[i].series },
		SetAliases: func(i int, each func(string)) {
			if id := c.cards[i].setID; id != "" {
				each(id)
			}
		},
		Year: func(i int) int {
			year, err := strconv.Atoi(c.cards[i].released[:min(4, len(c.cards[i].released))])
			if err != nil {
				return 0
			}
			return year
		},
		Games:    []string{"Pokémon", "One Piece"},
		Aliases:  shippedAliases(),
		Unpriced: true,
	})
}

// noStep is the step of a build that never pauses.
func noStep() {}

// identity returns the order of n cards that are numbered in catalog order.
func identity(n int) []uint32 {
	order := make([]uint32, n)
	for i := range order {
		order[i] = uint32(i)
	}
	return order
}

// complete sets the parts of a corpus that a test leaves open.
func complete(corpus Corpus) Corpus {
	nothing := func(int) string { return "" }
	for _, text := range []*func(int) string{&corpus.SetCode, &corpus.Printing, &corpus.Rarity, &corpus.Series} {
		if *text == nil {
			*text = nothing
		}
	}

	for _, number := range []*func(int) int{&corpus.Total, &corpus.Year} {
		if *number == nil {
			*number = func(int) int { return 0 }
		}
	}
	for _, each := range []*func(int, func(string)){&corpus.Finishes, &corpus.SetAliases} {
		if *each == nil {
			*each = func(int, func(string)) {}
		}
	}
	corpus.Order = identity(corpus.Len)
	return corpus
}

// shippedAliases are the other names that come with the program.
var shippedAliases = sync.OnceValue(func() (all []Alias) {
	f, err := os.Open(filepath.Join("..", "..", "loader", "search_aliases.csv"))
	if err != nil {
		panic(err)
	}
	defer f.Close()

	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		panic(err)
	}
	for _, r := range rows[1:] {
		game := slices.Index([]string{"pokemon", "one-piece"}, r[1])
		all = append(all, Alias{Phrase: r[0], Replacement: r[2], Card: -1, Game: game})
	}
	return append(all, shippedNames()...)
})

// shippedNames are the names of species in other languages that come with the program.
func shippedNames() (all []Alias) {
	table, err := os.ReadFile(filepath.Join("..", "..", "loader", "species_names.tsv"))
	if err != nil {
		panic(err)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(string(table)), "\n") {
		names := strings.Split(line, "\t")
		for _, name := range names[2:] {
			all = append(all, Alias{Phrase: name, Replacement: names[1], Card: -1, Translated: true})
		}
	}
	return all
}

// search returns the cards that q means in the order of relevance, no price being known (decision
// 22).
func (c *testCatalog) search(q, game string) []*testCard {
	var accept func(uint32) bool
	switch game {
	case "pokemon":
		accept = func(card uint32) bool { return c.cards[card].game == pokemon }
	case "one-piece":
		accept = func(card uint32) bool { return c.cards[card].game == onePiece }
	}

	hits := c.index.Search(nil, q, accept)
	slices.SortFunc(hits, func(a, b Hit) int {
		x := &c.cards[a.Card]
		y := &c.cards[b.Card]
		return cmp.Or(
			cmp.Compare(a.Score, b.Score),
			-cmp.Compare(x.released, y.released),
			cmp.Compare(x.set, y.set),
			cardvocab.CompareNumbers(x.number, y.number),
			cmp.Compare(x.id, y.id),
		)
	})

	found := make([]*testCard, len(hits))
	for i, h := range hits {
		found[i] = &c.cards[h.Card]
	}

	return found
}

// dataFolder returns the folder of the real catalogs, next to the module, or skips the test.
func dataFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}

	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Skip("skipped: the module's root was not found")
		}
		dir = filepath.Dir(dir)
	}

	data := filepath.Join(dir, "..", "shared", "data")
	if _, err := os.Stat(data); err != nil {
		t.Skip("skipped: the real catalogs are not there (../shared/data)")
	}

	return data
}

// readTar calls visit with every file of a .tar.zst.
func readTar(t *testing.T, file string, visit func(name string, body []byte)) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	z, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(1<<27), zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()

	r := tar.NewReader(z)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}

		if err != nil {
			t.Fatal(err)
		}

		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}

		visit(h.Name, body)
	}
}

func decode[T any](t *testing.T, name string, body []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("cannot read %s: %v", name, err)
	}
	return v
}

var catalogs struct {
	sync.Mutex
	official, tcgcsv *testCatalog
}

// officialCatalog is pokemon-tcg-data and punk-records together.
func officialCatalog(t *testing.T) *testCatalog {
	t.Helper()
	data := dataFolder(t)
	catalogs.Lock()
	defer catalogs.Unlock()

	if catalogs.official == nil {
		cards := append(readPokemon(t, data), readOnePiece(t, data)...)
		catalogs.official = &testCatalog{}
		catalogs.official.add(t, cards)
	}

	return catalogs.official
}

// tcgcsvCatalog is the catalog of these games in the writing of TCGCSV.
func tcgcsvCatalog(t *testing.T) *testCatalog {
	t.Helper()
	data := dataFolder(t)
	catalogs.Lock()
	defer catalogs.Unlock()

	if catalogs.tcgcsv == nil {
		cards := readTCGCSV(t, data)
		catalogs.tcgcsv = &testCatalog{}
		catalogs.tcgcsv.add(t, cards)
	}

	return catalogs.tcgcsv
}

// mentioned reduces a list of cards, printed with a field a line, to the fields that a card needs. The
// rest, attacks and pictures, is nine tenths of the text, and slow to decode. A text in another format
// is left unchanged.
func mentioned(body []byte) []byte {
	if !bytes.HasPrefix(body, []byte("[\n  {\n    \"")) {
		return body
	}

	out := []byte("[")
	for line := range bytes.Lines(body) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		switch {
		case bytes.Equal(line, []byte("  {")):
			out = append(out, '{')
		case bytes.HasPrefix(line, []byte("  }")):
			out = append(bytes.TrimSuffix(out, []byte(",")), "},"...)
		case slices.ContainsFunc(cardFields, func(field []byte) bool { return bytes.HasPrefix(line, field) }):
			out = append(append(out, bytes.TrimSuffix(line, []byte(","))...), ',')
		}
	}
	return append(bytes.TrimSuffix(out, []byte(",")), ']')
}

// cardFields are the starts of the lines that are read; fields inside a field are indented further.
var cardFields = [][]byte{
	[]byte(`    "id":`), []byte(`    "name":`), []byte(`    "number":`), []byte(`    "rarity":`),
}

func readPokemon(t *testing.T, data string) (cards []testCard) {
	t.Helper()
	type set struct {
		ID, Name, PtcgoCode, ReleaseDate, Series string
		PrintedTotal                             int
	}

	type card struct{ ID, Name, Number, Rarity string }
	sets := map[string]set{}
	files := map[string][]card{}
	readTar(t, filepath.Join(data, "pokemon-tcg-data", "pokemon-tcg-data-en.tar.zst"), func(name string, body []byte) {
		base := strings.TrimSuffix(filepath.Base(name), ".json")
		switch {
		case strings.HasSuffix(name, "sets/en.json"):
			for _, s := range decode[[]set](t, name, body) {
				sets[s.ID] = s
			}
		case strings.HasSuffix(name, ".json"):
			files[base] = decode[[]card](t, name, mentioned(body))
			if testsweep.Full() && !slices.Equal(files[base], decode[[]card](t, name, body)) {
				t.Fatalf("%s has other cards in full", name)
			}
		}
	})

	for base, list := range files {
		s := sets[base]
		for _, c := range list {
			cards = append(cards, testCard{
				id: c.ID, name: c.Name, number: c.Number, set: s.Name, code: s.PtcgoCode, released: s.ReleaseDate,
				total: s.PrintedTotal, game: pokemon, rarity: c.Rarity, series: s.Series, setID: s.ID,
			})
		}
	}

	slices.SortFunc(cards, func(a, b testCard) int { return cmp.Compare(a.id, b.id) })
	return cards
}

func readOnePiece(t *testing.T, data string) (cards []testCard) {
	t.Helper()
	type pack struct {
		ID    string
		Parts struct{ Label, Title string } `json:"title_parts"`
	}

	type card struct {
		ID, Name, Rarity string
		Pack             string `json:"pack_id"`
	}
	var packs map[string]pack
	var all []card
	readTar(t, filepath.Join(data, "punk-records", "punk-records-english.tar.zst"), func(name string, body []byte) {
		switch {
		case strings.HasSuffix(name, "packs.json"):
			packs = decode[map[string]pack](t, name, body)
		case strings.Contains(name, "/data/") && strings.HasSuffix(name, ".json"):
			all = append(all, decode[[]card](t, name, body)...)
		}
	})

	for _, c := range all {
		p := packs[c.Pack]
		cards = append(cards, testCard{
			id: c.ID, name: html.UnescapeString(c.Name), number: c.ID, set: html.UnescapeString(p.Parts.Title),
			code: p.Parts.Label, game: onePiece, rarity: c.Rarity,
		})
	}

	return cards
}

// ownNumber is the end of a TCGCSV name that belongs to the number (decision 25).
var ownNumber = regexp.MustCompile(` - ([A-Za-z]{0,5}\d+[A-Za-z]?(/[A-Za-z0-9-]+)?|[A-Z]{1,4}\d*-\d+)$`)

func readTCGCSV(t *testing.T, data string) (cards []testCard) {
	t.Helper()
	type group struct {
		ID   int `json:"groupId"`
		Name string
		Abbr string `json:"abbreviation"`
		Date string `json:"publishedOn"`
	}

	type product struct {
		ID       int `json:"productId"`
		Name     string
		Group    int `json:"groupId"`
		Category int `json:"categoryId"`
		Data     []struct{ Name, Value string }
	}

	groups := map[int]group{}
	var all []product
	readTar(t, filepath.Join(data, "tcgcsv", "tcgplayer-current.tar.zst"), func(name string, body []byte) {
		switch filepath.Base(name) {
		case "groups":
			for _, g := range decode[struct{ Results []group }](t, name, body).Results {
				groups[g.ID] = g
			}
		case "products":
			body = []byte(strings.ReplaceAll(string(body), `"extendedData"`, `"data"`))
			all = append(all, decode[struct{ Results []product }](t, name, body).Results...)
		}
	})

	for _, p := range all {
		c := testCard{id: strconv.Itoa(p.ID), name: strings.TrimSpace(html.UnescapeString(p.Name)), game: pokemon}
		if p.Category == 68 {
			c.game = onePiece
		}

		hasRarity := false
		for _, d := range p.Data {
			switch d.Name {
			case "Number":
				c.number = strings.TrimSpace(d.Value)
			case "Rarity":
				hasRarity = true
			}
		}

		if c.number == "" && !hasRarity || strings.HasPrefix(c.name, "Code Card - ") {
			continue
		}

		c.name = ownNumber.ReplaceAllString(c.name, "")
		g := groups[p.Group]
		c.set = g.Name
		c.code = g.Abbr
		if len(g.Date) >= 10 && !strings.HasPrefix(g.Date, "2026-08-22T20") {
			c.released = g.Date[:10]
		}

		cards = append(cards, c)
	}

	return cards
}
