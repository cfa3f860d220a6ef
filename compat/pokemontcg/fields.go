package pokemontcg

import (
	"maps"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"ninepocket/internal/jsonwalk"
)

// kind is the type of a field's values, in addition to text.
type kind uint8

const (
	words   kind = iota
	oneWord      // an id, which has no words
	number       // also a number
	label        // a number where it is one; one word
	date         // such as 2022/09/09
)

// isOne reports whether values are one word each.
func (k kind) isOne() bool { return k == oneWord || k == label }

// cardFields are the fields of cards that a query and an order can name, without prices.
var cardFields = map[string]kind{
	"id": oneWord, "name": words, "supertype": words, "subtypes": words, "level": number, "hp": number,
	"types": words, "evolvesFrom": words, "evolvesTo": words, "rules": words, "ancientTrait.name": words,
	"ancientTrait.text": words, "abilities.name": words, "abilities.text": words, "abilities.type": words,
	"attacks.name": words, "attacks.text": words, "attacks.damage": words, "attacks.cost": words,
	"attacks.convertedEnergyCost": number, "weaknesses.type": words, "weaknesses.value": words,
	"resistances.type": words, "resistances.value": words, "retreatCost": words, "convertedRetreatCost": number,
	"number": label, "artist": words, "rarity": words, "flavorText": words, "nationalPokedexNumbers": number,
	"legalities.unlimited": words, "legalities.standard": words, "legalities.expanded": words,
	"regulationMark": words,
}

// setFields are those of sets; of cards they are named behind set.
var setFields = map[string]kind{
	"id": oneWord, "name": words, "series": words, "printedTotal": number, "total": number, "ptcgoCode": oneWord,
	"releaseDate": date, "updatedAt": date, "legalities.unlimited": words, "legalities.standard": words,
	"legalities.expanded": words,
}

// withSetFields adds the fields of a card's set.
func withSetFields() map[string]kind {
	all := maps.Clone(cardFields)
	for name, kind := range setFields {
		all["set."+name] = kind
	}
	return all
}

// eachValue yields the texts and numbers below a value by the path of their members, over lists too.
func eachValue(path string, value jsonwalk.Value, yield func(path, text string)) {
	switch value.Kind() {
	case '{':
		for name, member := range value.Members() {
			below := name.Text()
			if path != "" {
				below = path + "." + below
			}
			eachValue(below, member, yield)
		}

	// Elements of a list have the path of the list.
	case '[':
		for element := range value.Elements() {
			eachValue(path, element, yield)
		}
	case '"':
		yield(path, value.Text())
	case '0':
		yield(path, string(value))
	}
}

// at yields the texts below one path of a value.
func at(value jsonwalk.Value, path string, yield func(text string)) {
	name, rest, nested := strings.Cut(path, ".")
	switch {
	case value.Kind() == '[':
		for element := range value.Elements() {
			at(element, path, yield)
		}
	case nested:
		at(value.Member(name), rest, yield)
	default:
		eachValue("", value.Member(name), func(_, text string) { yield(text) })
	}
}

// numberOf is the number or the day that a value of a field is, false for none.
func (k kind) numberOf(text string) (float64, bool) {
	// A time of day does not matter.
	if k == date {
		day, err := time.Parse("2006/01/02", strings.ReplaceAll(text[:min(len(text), 10)], "-", "/"))
		return float64(day.Unix()), err == nil
	}
	if k != number && k != label || strings.Trim(text, "0123456789.-") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil
}

// plain is a text in lower case, without accents.
func plain(text string) string {
	if isASCII(text) {
		return strings.ToLower(text)
	}
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Mn, r):
			return -1
		case r == '’':
			return '\''
		}
		return unicode.ToLower(r)
	}, norm.NFD.String(text))
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
}

// split returns the words of a text of a field: runs of letters, digits and stars, with apostrophes between
// them. One word keeps its signs, and loses leading noughts.
func (k kind) split(text string) (list []string) {
	text = plain(text)
	if k.isOne() {
		for len(text) > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9' {
			text = text[1:]
		}
		if text == "" {
			return nil
		}
		return []string{text}
	}

	// Stars stand for letters.
	for _, run := range strings.FieldsFunc(text, func(r rune) bool { return !isLetter(r) && r != '\'' }) {
		// Apostrophes at the ends are quotes.
		if trimmed := strings.Trim(run, "'"); trimmed != "" {
			list = append(list, trimmed)
		}
	}
	return list
}

func isLetter(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '*' }

// fits reports whether a pattern with stars matches a word.
func fits(pattern, word string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == word
	}

	// Each part is found as early as it can be, so that most is left for those behind.
	rest, ok := strings.CutPrefix(word, parts[0])
	if !ok {
		return false
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, parts[last])
}
