package pokemontcg

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"
)

// plainCard is a card as a reader of the files sees it: decoded, with its set.
type plainCard map[string]any

// readFiles reads all cards of the files, in the order that docs/MOVE-FROM.md names.
func readFiles(t testing.TB, dir string) []plainCard {
	t.Helper()
	var sets []map[string]any
	readJSON(t, filepath.Join(dir, "sets/en.json"), &sets)
	var all []plainCard
	for _, set := range sets {
		var cards []plainCard
		readJSON(t, filepath.Join(dir, "cards/en", set["id"].(string)+".json"), &cards)
		for _, card := range cards {
			second(card)
			card["set"] = set
			all = append(all, card)
		}
	}

	slices.SortFunc(all, func(a, b plainCard) int {
		x := a.first("set.releaseDate")
		y := b.first("set.releaseDate")
		if (x == "") != (y == "") {
			return cmp.Compare(y, x)
		}
		return cmp.Or(cmp.Compare(x, y), naturally(a.first("number"), b.first("number")),
			cmp.Compare(a.first("set.name"), b.first("set.name")), cmp.Compare(a.first("set.id"), b.first("set.id")),
			cmp.Compare(a.first("id"), b.first("id")))
	})
	return all
}

func readJSON(t testing.TB, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

var together = regexp.MustCompile(`([a-z])([A-Z])`)

// second gives a card of the second dialect the form of the first.
func second(card plainCard) {
	if hp, ok := card["hp"].(float64); ok {
		card["hp"] = strconv.Itoa(int(hp))
	}

	for to, from := range map[string]string{"evolvesFrom": "baseEvolution", "evolvesTo": "evolvesInto"} {
		if card[to] == nil && card[from] != nil {
			card[to] = card[from]
		}
	}
	if rarity, ok := card["rarity"].(string); ok {
		if !strings.Contains(rarity, " ") {
			card["rarity"] = together.ReplaceAllString(rarity, "$1 $2")
		}
	}

	// Some words are others, and a card without weaknesses has one without a type.
	first := map[string]string{
		"Dark": "Darkness", "Basic Stage": "Basic", "Tool": "Pokémon Tool", "Special Energy": "Special",
	}
	for _, field := range []string{"types", "subtypes"} {
		list, _ := card[field].([]any)
		for i, word := range list {
			text, _ := word.(string)
			list[i] = cmp.Or(first[text], text)
		}
	}
	for _, field := range []string{"weaknesses", "resistances"} {
		list, _ := card[field].([]any)
		for _, entry := range list {
			of, _ := entry.(map[string]any)["type"].(string)
			entry.(map[string]any)["type"] = cmp.Or(first[of], of)
		}
		if len(list) == 1 && list[0].(map[string]any)["type"] == "" {
			delete(card, field)
		}
	}

	names := map[string]string{
		"G": "Grass", "R": "Fire", "W": "Water", "L": "Lightning", "P": "Psychic", "F": "Fighting", "D": "Darkness",
		"M": "Metal", "N": "Dragon", "Y": "Fairy", "C": "Colorless",
	}
	attacks, _ := card["attacks"].([]any)
	for _, attack := range attacks {
		if cost, ok := attack.(map[string]any)["cost"].(string); ok {
			list := []any{}
			for letter := range strings.SplitSeq(cost, "") {
				if names[letter] != "" {
					list = append(list, names[letter])
				}
			}
			attack.(map[string]any)["cost"] = list
		}
	}
}

var parts = regexp.MustCompile(`\d+|[a-z]|[^\x00-\x7f]`)

// knownParts are the parts of numbers that were compared before.
var knownParts = map[string][]string{}

func partsOf(text string) []string {
	if _, known := knownParts[text]; !known {
		knownParts[text] = parts.FindAllString(strings.ToLower(text), -1)
	}
	return knownParts[text]
}

// naturally orders numbers of cards as people count.
func naturally(a, b string) int {
	if a == "" || b == "" {
		return cmp.Compare(len(b), len(a))
	}
	x := partsOf(a)
	y := partsOf(b)

	// Runs of digits are numbers.
	for i := range min(len(x), len(y)) {
		n, errN := strconv.Atoi(x[i])
		m, errM := strconv.Atoi(y[i])
		c := cmp.Compare(x[i], y[i])
		if errN == nil && errM == nil {
			c = cmp.Compare(n, m)
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(a, b))
}

// values are the texts of a field.
func (c plainCard) values(field string) (list []string) {
	// Lists stand for their elements.
	var walk func(v any, path []string)

	walk = func(v any, path []string) {
		switch v := v.(type) {
		case []any:
			for _, element := range v {
				walk(element, path)
			}
		case map[string]any:
			if len(path) > 0 && v[path[0]] != nil {
				walk(v[path[0]], path[1:])
			}
		case string:
			list = append(list, v)
		case float64:
			list = append(list, strconv.FormatFloat(v, 'f', -1, 64))
		}
	}
	walk(map[string]any(c), strings.Split(field, "."))
	return list
}

func (c plainCard) first(field string) string {
	if list := c.values(field); len(list) > 0 {
		return list[0]
	}
	return ""
}

// simple is a text in lower case without accents.
func simple(s string) string {
	bare, _, _ := transform.String(transform.Chain(norm.NFD, runes.Remove(runes.In(unicode.Mn)), norm.NFC), s)
	return strings.ToLower(strings.ReplaceAll(bare, "’", "'"))
}

var word = regexp.MustCompile(`[\p{L}\p{Nd}*]+(?:'+[\p{L}\p{Nd}*]+)*`)

// ids are the fields that have no words.
var ids = []string{"id", "set.id", "number", "set.ptcgoCode"}

var leadingNoughts = regexp.MustCompile(`^0+(\d)`)

// wordsOf are the words of a value of a field, each in spaces.
func wordsOf(field, text string) string {
	text = simple(text)
	if slices.Contains(ids, field) {
		return " " + leadingNoughts.ReplaceAllString(text, "$1") + " "
	}
	return " " + strings.Join(word.FindAllString(text, -1), " ") + " "
}

// deck is all cards, with the fields that were requested before.
type deck struct {
	cards   []plainCard
	columns map[string]*column
	ranks   map[string][]float64
}

// column is a field of all cards: its distinct values, and each card's values.
type column struct {
	values []string
	words  []string
	number []float64
	of     [][]int // by card
}

func (d *deck) column(field string) *column {
	if known := d.columns[field]; known != nil {
		return known
	}

	made := &column{of: make([][]int, len(d.cards))}
	row := map[string]int{}
	for i, card := range d.cards {
		for _, text := range card.values(field) {
			if _, again := row[text]; !again {
				row[text] = len(made.values)
				made.values = append(made.values, text)
				made.words = append(made.words, wordsOf(field, text))
				made.number = append(made.number, numeric(text))
			}
			made.of[i] = append(made.of[i], row[text])
		}
	}
	d.columns[field] = made
	return made
}

// with marks the cards whose field has a matching value.
func (d *deck) with(field string, fits func(*column, int) bool) []bool {
	column := d.column(field)
	good := make([]bool, len(column.values))
	for i := range good {
		good[i] = fits(column, i)
	}
	marks := make([]bool, len(d.cards))
	for i, list := range column.of {
		marks[i] = slices.ContainsFunc(list, func(value int) bool { return good[value] })
	}
	return marks
}

// condition is a made query: its text, and the cards that it means.
type condition struct {
	text  string
	means func(*deck) []bool
}

// has makes field:value, with ! for the whole field.
func has(whole bool, field, written, value string) condition {
	pattern := strings.TrimSpace(wordsOf(field, value))
	var b strings.Builder
	for i, part := range strings.Split(pattern, "*") {
		if i > 0 {
			b.WriteString(`[^ ]*`)
			if slices.Contains(ids, field) {
				b.WriteString(`.*`)
			}
		}
		b.WriteString(regexp.QuoteMeta(part))
	}

	expression := " " + b.String() + " "
	if pattern == "*" {
		expression = " .+ "
	}
	if whole {
		expression = "^" + expression + "$"
	}
	// A lone star is any word.
	expression = strings.ReplaceAll(expression, " [^ ]* ", " [^ ]+ ")
	re := regexp.MustCompile(expression)
	mark := ""
	if whole {
		mark = "!"
	}
	return condition{mark + field + ":" + written, func(d *deck) []bool {
		return d.with(field, func(of *column, i int) bool { return re.MatchString(of.words[i]) })
	}}
}

var isDate = regexp.MustCompile(`^(\d{4})[/-](\d\d)[/-](\d\d)`)

// numeric is the number or day that a text is.
func numeric(text string) float64 {
	if m := isDate.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1] + m[2] + m[3])
		return float64(n)
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return n
}

// between makes field:[low TO high].
func between(field, low, high string, openLow, openHigh bool) condition {
	left := "["
	right := "]"
	if openLow {
		left = "{"
	}
	if openHigh {
		right = "}"
	}

	return condition{fmt.Sprintf("%s:%s%s TO %s%s", field, left, low, high, right), func(d *deck) []bool {
		lowest := numeric(low)
		highest := numeric(high)
		return d.with(field, func(of *column, i int) bool {
			n := of.number[i]
			from := low == "*" && !math.IsNaN(n) || n > lowest || !openLow && n == lowest
			to := high == "*" && !math.IsNaN(n) || n < highest || !openHigh && n == highest
			return from && to
		})
	}}
}

func not(c condition) condition {
	return condition{"-" + c.text, func(d *deck) []bool {
		marks := c.means(d)
		for i := range marks {
			marks[i] = !marks[i]
		}
		return marks
	}}
}

func allOf(list ...condition) condition {
	return condition{joined(list, " "), func(d *deck) []bool {
		marks := list[0].means(d)
		for _, c := range list[1:] {
			for i, also := range c.means(d) {
				marks[i] = marks[i] && also
			}
		}
		return marks
	}}
}

func anyOf(list ...condition) condition {
	return condition{"(" + joined(list, " OR ") + ")", func(d *deck) []bool {
		marks := list[0].means(d)
		for _, c := range list[1:] {
			for i, also := range c.means(d) {
				marks[i] = marks[i] || also
			}
		}
		return marks
	}}
}

func joined(list []condition, by string) string {
	var texts []string
	for _, c := range list {
		texts = append(texts, c.text)
	}
	return strings.Join(texts, by)
}

// byNumber are the fields that are ordered as numbers or days.
var byNumber = []string{
	"hp", "convertedRetreatCost", "set.printedTotal", "set.total", "level", "set.releaseDate",
}

// rank is the place of each card in the order of a field; NaN is a card that has no value there.
func (d *deck) rank(field string) []float64 {
	if known := d.ranks[field]; known != nil {
		return known
	}

	firsts := make([]string, len(d.cards))
	for i, card := range d.cards {
		firsts[i] = simple(card.first(field))
	}
	sorted := slices.Clone(firsts)
	if field == "number" {
		slices.SortFunc(sorted, naturally)
	} else {
		slices.Sort(sorted)
	}

	// Equal texts have one place.
	place := map[string]float64{"": math.NaN()}
	for i, text := range slices.Compact(sorted) {
		switch {
		case text == "":
		case slices.Contains(byNumber, field):
			place[text] = numeric(text)
		default:
			place[text] = float64(i)
		}
	}
	ranks := make([]float64, len(d.cards))
	for i, text := range firsts {
		ranks[i] = place[text]
	}
	d.ranks[field] = ranks
	return ranks
}

// orderedBy sorts cards by the fields of orderBy.
func (d *deck) orderedBy(cards []int, by []string) {
	slices.SortStableFunc(cards, func(a, b int) int {
		for _, name := range by {
			field, down := strings.CutPrefix(name, "-")
			x := d.rank(field)[a]
			y := d.rank(field)[b]
			switch {
			case math.IsNaN(x) && math.IsNaN(y):
				continue
			case math.IsNaN(x):
				return 1
			case math.IsNaN(y):
				return -1
			}

			c := cmp.Compare(x, y)
			if down {
				c = -c
			}
			if c != 0 {
				return c
			}
		}
		return 0
	})
}
