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

	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"

	"unicode"
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
			card["rarity"] = regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(rarity, "$1 $2")
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
			for _, letter := range strings.Split(cost, "") {
				if names[letter] != "" {
					list = append(list, names[letter])
				}
			}
			attack.(map[string]any)["cost"] = list
		}
	}
}

var parts = regexp.MustCompile(`\d+|[a-z]|[^\x00-\x7f]`)

// naturally orders numbers of cards as people count.
func naturally(a, b string) int {
	if a == "" || b == "" {
		return cmp.Compare(len(b), len(a))
	}
	x := parts.FindAllString(strings.ToLower(a), -1)
	y := parts.FindAllString(strings.ToLower(b), -1)

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

// wordsOf are the words of the values of a field, which are remembered.
func (c plainCard) wordsOf(field string) []string {
	known, ok := c["words "+field].([]string)
	if !ok {
		for _, v := range c.values(field) {
			known = append(known, wordsOf(field, v))
		}
		c["words "+field] = known
	}
	return known
}

// condition is a made query: what it says, and which cards it means.
type condition struct {
	text  string
	means func(plainCard) bool
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
	return condition{mark + field + ":" + written, func(c plainCard) bool {
		return slices.ContainsFunc(c.wordsOf(field), re.MatchString)
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

	return condition{fmt.Sprintf("%s:%s%s TO %s%s", field, left, low, high, right), func(c plainCard) bool {
		return slices.ContainsFunc(c.values(field), func(v string) bool {
			n := numeric(v)
			from := low == "*" && !math.IsNaN(n) || n > numeric(low) || !openLow && n == numeric(low)
			to := high == "*" && !math.IsNaN(n) || n < numeric(high) || !openHigh && n == numeric(high)
			return from && to
		})
	}}
}

func not(c condition) condition {
	return condition{"-" + c.text, func(card plainCard) bool { return !c.means(card) }}
}

func allOf(list ...condition) condition {
	return condition{joined(list, " "), func(card plainCard) bool {
		return !slices.ContainsFunc(list, func(c condition) bool { return !c.means(card) })
	}}
}

func anyOf(list ...condition) condition {
	return condition{"(" + joined(list, " OR ") + ")", func(card plainCard) bool {
		return slices.ContainsFunc(list, func(c condition) bool { return c.means(card) })
	}}
}

func joined(list []condition, by string) string {
	var texts []string
	for _, c := range list {
		texts = append(texts, c.text)
	}
	return strings.Join(texts, by)
}

// orderedBy sorts cards by the fields of orderBy.
func orderedBy(cards []plainCard, by []string) {
	slices.SortStableFunc(cards, func(a, b plainCard) int {
		for _, name := range by {
			field, down := strings.CutPrefix(name, "-")
			x := a.first(field)
			y := b.first(field)
			isNumber := slices.Contains([]string{"hp", "convertedRetreatCost", "set.printedTotal", "set.total", "level",
				"set.releaseDate"}, field)
			absentX := x == "" || isNumber && math.IsNaN(numeric(x))
			absentY := y == "" || isNumber && math.IsNaN(numeric(y))
			if absentX || absentY {
				if absentX != absentY {
					if absentX {
						return 1
					}
					return -1
				}
				continue
			}

			c := cmp.Compare(simple(x), simple(y))
			if isNumber {
				c = cmp.Compare(numeric(x), numeric(y))
			}
			if field == "number" {
				c = naturally(simple(x), simple(y))
			}
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
