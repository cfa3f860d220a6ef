package pokemontcg

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"ninepocket/internal/testsweep"
	"ninepocket/loader"
	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// madeFiles writes some sets of made cards, with words that make queries interesting.
func madeFiles(t testing.TB, dir string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(44, 44))
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	writeJSON := func(path string, v any) {
		b, err := json.Marshal(v)
		if err == nil {
			err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, b, 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	var sets []map[string]any
	for s, id := range []string{"base1", "base2", "sv4a", "mcd19", "swsh35"} {
		sets = append(sets, map[string]any{
			"id": id, "name": pick("Base", "Base Set 2", "Jungle", "Paldea’s Fates"), "series": "Scarlet & Violet",
			"printedTotal": 40 + s, "total": 60, "releaseDate": fmt.Sprintf("20%02d/0%d/15", s*4, s+1),
		})
		var cards []map[string]any
		for n := range 60 {
			number := fmt.Sprint(n + 1)
			if n%9 == 0 {
				number = fmt.Sprintf("TG%02d", n)
			}
			card := map[string]any{
				"id": id + "-" + number,
				"name": pick("Dark ", "", "Team Rocket's ", "Mr. ") +
					pick("Pikachu", "Mime", "Flabébé", "Farfetch’d", "Charizard") +
					pick("", " ex", " LV.X", "-GX", " δ"),
				"supertype": pick("Pokémon", "Trainer"), "number": number,
				"artist": pick("Mitsuhiro Arita", "Ken Sugimori"),
				"types":  []string{pick("Fire", "Water"), pick("Fire", "Grass")},
				"rarity": pick("Common", "Rare Holo", "Rare Holo VMAX"),
				"images": map[string]string{"small": "https://pictures.example/" + number, "large": "l"},
				"attacks": []map[string]any{
					{
						"name": pick("Fire Spin", "Spin Fire"), "cost": []string{"Fire"},
						"convertedEnergyCost": rng.IntN(4), "damage": pick("30", "100+", ""),
					},
					{"name": pick("Tackle", "Big Tackle"), "text": `Flip a coin. If ",\"images\":" heads, stop.`},
				},
				"nationalPokedexNumbers": []int{rng.IntN(151) + 1, rng.IntN(151) + 1},
			}
			if n%3 > 0 {
				card["hp"] = fmt.Sprint(30 + 10*rng.IntN(30))
				card["convertedRetreatCost"] = rng.IntN(5)
			}
			if n%5 == 0 {
				delete(card, "rarity")
				card["subtypes"] = []string{"V-UNION"}
			}
			cards = append(cards, card)
		}
		writeJSON(filepath.Join(dir, "cards/en", id+".json"), cards)
	}
	writeJSON(filepath.Join(dir, "sets/en.json"), sets)
}

// realFiles unpacks the real files, or skips.
var realFiles = sync.OnceValues(func() (string, error) {
	data := os.Getenv("DATA")
	if data == "" {
		data = filepath.Join("..", "..", "..", "shared", "data")
	}
	f, err := os.Open(filepath.Join(data, "pokemon-tcg-data/pokemon-tcg-data-en.tar.zst"))
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	unzipped, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(1<<28))
	if err != nil {
		return "", err
	}
	defer unzipped.Close()
	dir, err := os.MkdirTemp("", "ptcg")
	for in := tar.NewReader(unzipped); err == nil; {
		head, end := in.Next()
		if end == io.EOF {
			return dir, nil
		}
		if end != nil || head.Typeflag != tar.TypeReg {
			err = end
			continue
		}
		path := filepath.Join(dir, filepath.Clean("/"+head.Name))
		b, readErr := io.ReadAll(in)
		err = errors.Join(readErr, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, b, 0o644))
	}
	return dir, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := realFiles(); err == nil {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// recordsOf indexes the files of a folder, without a catalog.
func recordsOf(t testing.TB, dir string) *records {
	t.Helper()
	section, err := Section(context.Background(), &snapshot.Catalog{},
		[]loader.Input{{Kind: source.KindPokemonTCG, Path: dir}}, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRecords(context.Background(), "key", &section, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// pageQueries are those of public programs, from docs/MOVE-FROM.md.
var pageQueries = []condition{
	has(false, "name", "charizard", "charizard"), has(false, "name", "char*", "char*"),
	has(false, "name", `"*pika*"`, "*pika*"), has(false, "name", `"charizard*"`, "charizard*"),
	has(false, "name", `"mr. mime"`, "mr. mime"), has(false, "id", "base1-4", "base1-4"),
	allOf(has(false, "set.id", "base1", "base1"), has(false, "number", "4", "4")),
	allOf(has(false, "number", "4", "4"), has(false, "set.name", `"base"`, "base")),
	allOf(has(false, "set.id", "sv4a", "sv4a"), has(false, "number", "001", "1")),
	has(false, "nationalPokedexNumbers", "25", "25"),
	allOf(between("nationalPokedexNumbers", "104", "105", false, false), not(has(false, "set.id", "mcd*", "mcd*")),
		not(has(false, "subtypes", "V-UNION", "v union"))),
	anyOf(has(false, "name", `"pikachu*"`, "pikachu*"), has(false, "name", `"eevee*"`, "eevee*")),
	has(false, "artist", `"Mitsuhiro Arita"`, "mitsuhiro arita"),
	has(false, "set.series", `"Scarlet & Violet"`, "scarlet violet"),
	allOf(has(false, "types", "fire", "fire"), has(false, "supertype", "pokémon", "pokemon"),
		between("hp", "200", "*", false, false)),
	has(false, "rarity", `"Rare Holo VMAX"`, "rare holo vmax"),
	has(true, "name", "charizard", "charizard"), has(true, "name", `"dark *"`, "dark *"),
	has(false, "name", "lv.x", "lv x"), has(false, "name", "*", "*"),
	between("set.releaseDate", "2004/01/01", "*", false, false), between("number", "1", "10", true, true),
}

// maker makes queries from the cards' texts.
type maker struct {
	rng   *rand.Rand
	cards []plainCard
}

func (m *maker) condition(depth int) condition {
	switch n := m.rng.IntN(12); {
	case depth > 0 && n < 3:
		return allOf(m.condition(depth-1), m.condition(depth-1))
	case depth > 0 && n < 5:
		return anyOf(m.condition(depth-1), m.condition(depth-1), m.condition(depth-1))
	case depth > 0 && n < 7:
		inner := m.condition(0)
		return not(inner)
	case n < 9:
		return m.rangeOver()
	}
	return m.word()
}

func (m *maker) card() plainCard { return m.cards[m.rng.IntN(len(m.cards))] }

func (m *maker) rangeOver() condition {
	fields := []string{
		"hp", "nationalPokedexNumbers", "convertedRetreatCost", "number", "set.printedTotal", "set.releaseDate",
	}
	field := fields[m.rng.IntN(len(fields))]
	bound := func() string {
		list := m.card().values(field)
		if len(list) == 0 || m.rng.IntN(4) == 0 {
			return "*"
		}
		if math.IsNaN(numeric(list[0])) {
			return "*"
		}
		return list[0]
	}
	return between(field, bound(), bound(), m.rng.IntN(2) == 0, m.rng.IntN(2) == 0)
}

func (m *maker) word() condition {
	fields := []string{
		"name", "name", "name", "set.name", "set.id", "id", "number", "types", "subtypes", "supertype", "rarity",
		"artist", "attacks.name", "attacks.damage", "set.series", "nationalPokedexNumbers", "hp", "evolvesFrom",
		"legalities.standard", "abilities.name", "weaknesses.type", "attacks.text", "flavorText", "rules",
	}
	for {
		field := fields[m.rng.IntN(len(fields))]
		list := m.card().values(field)
		if len(list) == 0 {
			continue
		}
		value := strings.ReplaceAll(list[m.rng.IntN(len(list))], "*", "")
		value = strings.NewReplacer(`"`, " ", `\`, " ").Replace(value)
		words := strings.Fields(wordsOf(field, value))
		if len(words) == 0 || len(words) > 30 {
			continue
		}
		if slices.Contains(ids, field) {
			words = []string{strings.TrimSpace(wordsOf(field, value))}
			if strings.ContainsAny(words[0], " ()") {
				continue
			}
		}

		whole := m.rng.IntN(4) == 0
		if !whole && len(words) > 1 {
			from := m.rng.IntN(len(words))
			words = words[from:min(len(words), from+1+m.rng.IntN(3))]
		}
		if m.rng.IntN(3) == 0 {
			i := m.rng.IntN(len(words))
			words[i] = m.starred(words[i])
		}
		text := strings.Join(words, " ")
		written := `"` + text + `"`
		if len(words) == 1 && m.rng.IntN(2) == 0 {
			written = words[0]
		}
		if m.rng.IntN(2) == 0 {
			written = strings.ToUpper(written)
		}
		return has(whole, field, written, text)
	}
}

// starred puts stars into a word.
func (m *maker) starred(word string) string {
	letters := []rune(word)
	at := m.rng.IntN(len(letters) + 1)
	switch m.rng.IntN(3) {
	case 0:
		return string(letters[:at]) + "*"
	case 1:
		return "*" + string(letters[at:])
	}
	return string(letters[:at]) + "*" + string(letters[at:])
}

var orders = []string{
	"", "", "name", "-hp", "hp,name", "-set.releaseDate,number", "rarity,-name", "number", "set.name,number",
	"-convertedRetreatCost",
}

// agree compares many made queries, and those of public programs, with a reader of the files.
func agree(t *testing.T, dir string, made int) {
	r := recordsOf(t, dir)
	all := readFiles(t, dir)
	cards := &deck{cards: all, columns: map[string]*column{}, ranks: map[string][]float64{}}
	if len(all) != r.cards.n {
		t.Fatalf("%d cards are indexed, the files have %d", r.cards.n, len(all))
	}

	m := maker{rng: rand.New(rand.NewPCG(1, 44)), cards: all}
	list := slices.Clone(pageQueries)
	for range made {
		list = append(list, m.condition(2))
	}
	refused := 0
	found := 0
	for i, c := range list {
		root, err := parse(c.text, r.cards.fields, nil)
		var docs []uint32
		if err == nil {
			docs, err = r.cards.find(t.Context(), root, nil)
		}
		if _, wide := errors.AsType[*refusal](err); wide {
			refused++
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}

		var want []int
		for card, meant := range c.means(cards) {
			if meant {
				want = append(want, card)
			}
		}
		sorted := orders[i%len(orders)]
		if sorted != "" {
			var by []order
			for name := range strings.SplitSeq(sorted, ",") {
				field, down := strings.CutPrefix(name, "-")
				by = append(by, order{field, down})
			}
			r.cards.sort(docs, by, nil)
			cards.orderedBy(want, strings.Split(sorted, ","))
		}
		found += len(docs)
		compareIDs(t, r, cards, c.text+" by "+sorted, docs, want)
		if t.Failed() && i > 3 {
			return
		}
	}
	t.Logf("%d queries found %d cards; %d were refused as too wide", len(list), found, refused)
	if refused*20 > len(list) {
		t.Errorf("%d of %d queries were refused", refused, len(list))
	}
}

func compareIDs(t *testing.T, r *records, cards *deck, what string, docs []uint32, want []int) {
	t.Helper()
	if len(docs) != len(want) {
		t.Errorf("%s: %d cards, want %d", what, len(docs), len(want))
	}
	for i := range min(len(docs), len(want)) {
		meant := cards.cards[want[i]].first("id")
		if id := r.from.Cards.Ref.At(int(docs[i])); id != meant {
			t.Errorf("%s: card %d is %s, want %s", what, i, id, meant)
			return
		}
	}
}

// TestQueriesAgree: the index and a reader of made files agree on 200 made queries and on those of public programs.
func TestQueriesAgree(t *testing.T) {
	dir := t.TempDir()
	madeFiles(t, dir)
	agree(t, dir, 5000/testsweep.Stride(25))
}

// TestRealQueriesAgree is the same with 50 queries over each eighth set of the real files, or with 5,000 over all
// of them in full.
func TestRealQueriesAgree(t *testing.T) {
	dir, err := realFiles()
	if err != nil {
		t.Skipf("there are no real files: %v", err)
	}
	if !testsweep.Full() {
		dir = someSets(t, dir)
	}
	agree(t, dir, 5000/testsweep.Stride(100))
	refusesWide(t, recordsOf(t, dir))
}

// refusesWide asks for more than a query may read, of cards with many words.
func refusesWide(t *testing.T, r *records) {
	t.Helper()
	for _, c := range [][2]string{
		{`name:"` + strings.Repeat("*a* ", 32) + `"`, "*a* in name"},
		{`!attacks.text:"*e* *e*"`, "*e* in attacks.text"}, // words that stand for many, next to each other
		{`attacks.text:"` + strings.Repeat("*a* ", 32) + `"`, "*a* in attacks.text"},
		{strings.TrimSuffix(strings.Repeat("name:*e* OR ", 64), " OR "), "*e* in name"},
		{strings.TrimSuffix(strings.Repeat(`attacks.text:"* * *" OR `, 40), " OR "), "* in attacks.text"},
		{
			strings.TrimSuffix(strings.Repeat(`attacks.text:"`+strings.Repeat("a ", 32)+`" OR `, 24), " OR "),
			"a in attacks.text",
		},
	} {
		// The query is well-formed: only its work is too much.
		root, err := parse(c[0], r.cards.fields, nil)
		if err != nil {
			t.Fatal(err)
		}

		_, err = r.cards.find(t.Context(), root, nil)
		if want := "q is too wide: " + c[1]; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", c[0], err, want)
		}
	}
}

// someSets makes a folder with each eighth set of another.
func someSets(t *testing.T, from string) string {
	t.Helper()
	var sets, some []map[string]any
	readJSON(t, filepath.Join(from, "sets/en.json"), &sets)
	dir := t.TempDir()
	for i := 0; i < len(sets); i += 8 {
		some = append(some, sets[i])
	}

	list, err := json.Marshal(some)
	err = errors.Join(err, os.MkdirAll(filepath.Join(dir, "sets"), 0o755),
		os.MkdirAll(filepath.Join(dir, "cards/en"), 0o755),
		os.WriteFile(filepath.Join(dir, "sets/en.json"), list, 0o644))
	for _, set := range some {
		name := fmt.Sprintf("cards/en/%s.json", set["id"])
		b, readErr := os.ReadFile(filepath.Join(from, name))
		err = errors.Join(err, readErr, os.WriteFile(filepath.Join(dir, name), b, 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestRefusedQueries: each error gives the fault and its place.
func TestRefusedQueries(t *testing.T) {
	for q, want := range map[string]string{
		"charizard":                   "character 1: a word needs its field",
		"name:a foo:b":                `character 8: there is no field "foo"`,
		"nam:a":                       "did you mean name?",
		"attacks:a":                   `"attacks" has members: name one of them, such as attacks.convertedEnergyCost`,
		"name:":                       "character 6: name has no word",
		`name:"a`:                     "character 6: this quote is not closed",
		"(name:a":                     "character 1: this ( is not closed",
		"name:a)":                     "character 7: this ) closes nothing",
		"name:a OR":                   "character 10: a condition is missing",
		"OR name:a":                   "character 1: a condition is missing",
		"hp:[1 TO":                    "character 4: this range is not closed",
		"hp:[1 2]":                    "a range is written",
		"hp:[x TO 2]":                 `character 4: "x" is not a number`,
		"set.releaseDate:[x TO *]":    "is not a date",
		"name:[a TO b]":               "has no numbers or dates",
		"name:*a*b*c*":                "a word has 2 stars at most",
		"name:(a OR b)":               "name the field inside",
		"é:a":                         "character 1",
		strings.Repeat("name:a ", 65): "64 conditions at most",
		strings.Repeat("(", 17) + "name:a" + strings.Repeat(")", 17): "16 deep at most",
		"name:" + strings.Repeat("a", 2000):                          "2000 are read",
		"name:" + strings.Repeat("a-", 33):                           "32 words at most",
	} {
		_, err := parse(q, withSetFields(), nil)

		// The message has the place and the reason.
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", q[:min(len(q), 40)], err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range pageQueries {
		f.Add(c.text)
	}
	fields := withSetFields()
	f.Fuzz(func(t *testing.T, q string) {
		if _, err := parse(q, fields, nil); err != nil {
			if _, wrong := errors.AsType[*queryError](err); !wrong {
				t.Errorf("%q: %v", q, err)
			}
		}
	})
}
