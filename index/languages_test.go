package index_test

import (
	"bufio"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ninepocket/cardvocab"
	"ninepocket/index"
	"ninepocket/internal/testsweep"
)

// readTable reads a tab-separated file with a header: a map a row.
func readTable(t *testing.T, file string) (rows []map[string]string) {
	t.Helper()
	f, err := os.Open(filepath.Join(dataFolder(), "names", file))
	if err != nil {
		t.Skip("skipped: the names are not there (see make data)")
	}
	defer func() { _ = f.Close() }() // it was only read

	var header []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		cells := strings.Split(lines.Text(), "\t")
		if header == nil {
			header = cells
			continue
		}
		row := map[string]string{}
		for i, cell := range cells {
			row[header[i]] = cell
		}
		rows = append(rows, row)
	}
	return rows
}

// wordsOf are the words of a name, between spaces, as the tests of languages compare them.
func wordsOf(name string) string {
	name = strings.NewReplacer("♀", " F", "♂", " M", "(", " ", ")", " ", ":", " ").Replace(name)
	return " " + strings.Join(strings.Fields(plainText(name)), " ") + " "
}

// A languageCount counts queries of one language with correct results.
type languageCount struct {
	right, all int
	wrong      []string
}

func (n *languageCount) add(right bool, what string) {
	n.all++
	if right {
		n.right++
	} else {
		n.wrong = append(n.wrong, what)
	}
}

// misspell makes one typical typing error, never in the first letter.
func misspell(rng *rand.Rand, name string) string {
	letters := []rune(name)
	// Swapping the letters 1 and 2 leaves the first one.
	i := 1 + rng.IntN(len(letters)-1)

	switch rng.IntN(4) {
	case 0:
		return string(slices.Delete(letters, i, i+1))
	case 1:
		return string(slices.Insert(letters, i, letters[i]))
	case 2:
		letters[i] = 'a' + rune(rng.IntN(26))
	default:
		i = max(i, 2)
		letters = slices.Concat(letters[:i-1], []rune{letters[i], letters[i-1]}, letters[i+1:])
	}
	return string(letters)
}

var latinLanguages = []string{"de", "fr", "es", "it", "ja-roma"}

// A speciesSweep asks a catalog for the names of species.
type speciesSweep struct {
	*realIndex
	english []string        // words of the names of all cards, by card
	words   map[string]bool // of all names of cards and sets
	counts  map[string]*languageCount
}

func newSpeciesSweep(x *realIndex) *speciesSweep {
	sweep := &speciesSweep{realIndex: x, words: map[string]bool{}, counts: map[string]*languageCount{}}
	for name := range x.c.Cards.Name.All() {
		sweep.english = append(sweep.english, wordsOf(name))
	}
	for _, names := range []func(func(string) bool){x.c.Cards.Name.All(), x.c.Sets.Name.All()} {
		for name := range names {
			for word := range strings.FieldsSeq(wordsOf(name)) {
				sweep.words[word] = true
			}
		}
	}
	return sweep
}

// ask counts whether the first card for a query is correct.
func (sweep *speciesSweep) ask(how, language, query string, right func(card int) bool) {
	page := sweep.Cards(nil, index.Query{Filter: index.NoFilter, Words: query, HasWords: true}, nil, 1)
	key := how + " " + language
	if sweep.counts[key] == nil {
		sweep.counts[key] = &languageCount{}
	}
	what := query + ": nothing"
	if len(page.Cards) > 0 {
		what = query + ": " + sweep.describe(int(page.Cards[0]))
	}
	sweep.counts[key].add(len(page.Cards) > 0 && right(int(page.Cards[0])), what)
}

// askSpecies asks for one species in one language, in all ways.
func (sweep *speciesSweep) askSpecies(rng *rand.Rand, english, language, name string, cards []int) {
	is := func(card int) bool { return strings.Contains(sweep.english[card], english) }
	sweep.ask("alone", language, name, is)
	for _, suffix := range []string{"ex", "V", "GX", "VMAX"} {
		want := english + strings.ToLower(suffix) + " "
		has := func(card int) bool { return strings.Contains(sweep.english[card], want) }
		if slices.ContainsFunc(cards, has) {
			sweep.ask("suffix", language, name+" "+suffix, has)
			sweep.ask("glued", language, name+suffix, has)
		}
	}

	card := cards[rng.IntN(len(cards))]
	if number := sweep.c.Cards.Number.At(card); number != "" {
		sweep.ask("number", language, name+" "+number, func(found int) bool {
			return is(found) && cardvocab.NumberKey(sweep.c.Cards.Number.At(found)) == cardvocab.NumberKey(number)
		})
	}
	if slices.Contains(latinLanguages, language) && len(cardvocab.Fold(name)) >= 6 {
		sweep.ask("typo", language, misspell(rng, plainText(name)), is)
	}
}

// TestSpeciesInEveryLanguage asks for every species that the catalog has, in every language.
func TestSpeciesInEveryLanguage(t *testing.T) {
	testsweep.OnlyFull(t)
	sweep := newSpeciesSweep(openReal(t, "t"))
	rng := rand.New(rand.NewPCG(36, 36))
	var english []string
	for _, row := range readTable(t, "pokemon-species-names.tsv") {
		want := wordsOf(row["en"])
		var cards []int
		for card, words := range sweep.english {
			if strings.Contains(words, want) && sweep.c.Cards.Game[card] == 0 {
				cards = append(cards, card)
			}
		}
		if len(cards) == 0 {
			continue
		}

		for _, language := range []string{"de", "fr", "es", "it", "ja", "ja-roma", "ko", "zh-hans", "zh-hant"} {
			name := row[language]
			if wordsOf(name) != want && sweep.words[strings.TrimSpace(wordsOf(name))] {
				english = append(english, name)
				continue
			}
			sweep.askSpecies(rng, want, language, name, cards)
		}
	}
	t.Logf("words of English names: %v", english)

	floors := map[string]float64{"alone": 0.99, "suffix": 0.95, "glued": 0.95, "number": 0.95, "typo": 0.95}
	for _, key := range slices.Sorted(maps.Keys(sweep.counts)) {
		n := sweep.counts[key]
		how, _, _ := strings.Cut(key, " ")
		text := fmt.Sprintf("%s: %d of %d = %.4f", key, n.right, n.all, float64(n.right)/float64(n.all))
		t.Log(text)
		for _, wrong := range n.wrong {
			t.Log("\t", wrong)
		}
		if float64(n.right) < floors[how]*float64(n.all) {
			t.Errorf("%s, want %.2f", text, floors[how])
		}
	}
}

// TestOnePieceNames asks for every name of the operator's file whose card the catalog has.
func TestOnePieceNames(t *testing.T) {
	testsweep.OnlyFull(t)
	sweep := newSpeciesSweep(openReal(t, "t"))
	hasNumber := map[string]bool{}
	for number := range sweep.c.Cards.Number.All() {
		hasNumber[cardvocab.NumberBase(number)] = true
	}

	meant := map[string][]string{} // language and name → the English name, for all cards of that name
	for _, row := range readTable(t, "one-piece-names.tsv") {
		if !hasNumber[cardvocab.NumberBase(row["number"])] {
			continue
		}
		for _, language := range []string{"ja", "fr", "zh-hk", "zh-tw"} {
			if name := row[language]; name != "" {
				meant[language+"\t"+name] = append(meant[language+"\t"+name], wordsOf(row["en"]))
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(meant)) {
		language, name, _ := strings.Cut(key, "\t")
		sweep.ask("name", language, name, func(card int) bool {
			return slices.ContainsFunc(meant[key], func(want string) bool {
				return strings.Contains(sweep.english[card], want)
			})
		})
	}

	for _, key := range slices.Sorted(maps.Keys(sweep.counts)) {
		n := sweep.counts[key]
		t.Logf("%s: %d of %d = %.4f", key, n.right, n.all, float64(n.right)/float64(n.all))
		for _, wrong := range n.wrong {
			t.Log("\t", wrong)
		}
		if float64(n.right) < 0.98*float64(n.all) {
			t.Errorf("%s: %d of %d", key, n.right, n.all)
		}
	}
}
