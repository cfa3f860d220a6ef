package valuation

import (
	"slices"
	"strconv"
	"strings"

	"ninepocket/cardvocab"
	"ninepocket/engine"
	"ninepocket/index"
	"ninepocket/snapshot"
)

// catalogLookup compares cards with the contents of a line: words, numbers, sets, rarities.
type catalogLookup struct {
	view *engine.View
	// numbers caches the cards of the numbers of a line, which is read more than once.
	numbers map[string][]uint32
}

// qualifiesName reports whether words that were read as a set are qualifiers of a card's name: a
// promo names the set that it belongs to.
func (cs catalogLookup) qualifiesName(run []word, card uint32) bool {
	return len(run) > 0 && !slices.ContainsFunc(run, func(w word) bool { return !cs.hasNameWord(&w, card) })
}

// hasWord reports whether a word is of a card's name, printing, set or rarity.
func (cs catalogLookup) hasWord(w *word, card uint32) bool {
	lookup := cs.view.Index.Lookup()
	if w.known && (lookup.NameHasTerm(card, w.id) || lookup.SetHasTerm(card, w.id)) {
		return true
	}

	// A rarity is no word of the name or set, but lists put it next to the name.
	return isWordOf(cs.view.Catalog.Cards.Rarity.At(int(card)), w.raw)
}

func (cs catalogLookup) hasWords(run []word, card uint32) bool {
	return !slices.ContainsFunc(run, func(w word) bool { return !cs.hasWord(&w, card) })
}

// isNumbered reports whether a number is the card's, or a word of its name or set. A number also
// matches a parallel, or the number within the set.
func (cs catalogLookup) isNumbered(w *word, card uint32) bool {
	name := cs.view.Catalog.Cards.Name.At(int(card))
	if index.Contains(w.cards, card) || isWordOf(name, w.raw) || cs.hasWord(w, card) {
		return true
	}

	// A total belongs to the whole number: the tail alone would match other cards.
	if strings.Contains(w.raw, "/") {
		return false
	}

	number := cardvocab.TrimParallel(cs.view.Catalog.Cards.Number.At(int(card)))
	tail := number[strings.LastIndexByte(number, '-')+1:]
	return tail != "" && strings.TrimLeft(tail, "0") == strings.TrimLeft(w.raw, "0")
}

// hasTrait reports whether a card has a preferred trait, or a near one if near is true. Finishes
// are compared with its prices later.
func (cs catalogLookup) hasTrait(w *word, card uint32, near bool) bool {
	want := w.preference.Exact
	if near {
		want |= w.preference.Near
	}
	have := cs.view.Index.Lookup().Traits(card)

	// Shadowless cards are separate cards, and nothing is near them.
	if w.preference.Exact&cardvocab.Shadowless != 0 {
		return have&cardvocab.Shadowless != 0
	}

	// A finish excludes no card here: withVariant compares it with the prices (decision 2205).
	return want&have != 0 || w.preference.Exact&^cardvocab.Finishes == 0
}

// qualifierLen returns how many bytes a card's name has besides its base name and number.
func (cs catalogLookup) qualifierLen(card uint32) int {
	c := cs.view.Catalog
	name := c.Cards.Name.At(int(card))
	rest := name[len(index.PlainName(name)):]

	// "(119)" only repeats the number.
	if at := strings.IndexByte(rest, ')'); at > 0 && at <= 12 && isNumberLike(strings.Trim(rest[:at], " (#")) {
		rest = rest[at+1:]
	}
	return len(rest)
}

// anyIn reports whether a card with a base name is in any of the sets.
func (cs catalogLookup) anyIn(sets []uint32, baseName string) bool {
	return slices.ContainsFunc(cs.view.Index.Lookup().ByBaseName(baseName), func(card uint32) bool {
		return cs.isIn(card, sets)
	})
}

func (cs catalogLookup) isIn(card uint32, sets []uint32) bool {
	set := cs.view.Catalog.Cards.Set[card]
	return set != snapshot.NoSet && slices.Contains(sets, uint32(set))
}

// isNamed reports whether all words are of a card's own name.
func (cs catalogLookup) isNamed(words string, card uint32) bool {
	return !slices.ContainsFunc(strings.Fields(words), func(w string) bool {
		id, known := cs.view.Index.Lookup().TermID(cardvocab.Fold(w))
		return !known || !cs.view.Index.Lookup().NameHasTerm(card, id)
	})
}

// isWordOf reports whether a text contains a word as it is written, case aside.
func isWordOf(text, w string) bool {
	for at := 0; at+len(w) <= len(text); at++ {
		end := at + len(w)
		if (at == 0 || divides(text[at-1])) && (end == len(text) || divides(text[end])) &&
			strings.EqualFold(text[at:end], w) {
			return w != ""
		}
	}
	return false
}

// numbered returns the cards with a number, ascending. A total must be the card's, or the total
// of its set if the card has none printed.
func (cs catalogLookup) numbered(number string) []uint32 {
	found, known := cs.numbers[number]
	if !known {
		found = cs.findNumbered(number)
		cs.numbers[number] = found
	}
	return found
}

func (cs catalogLookup) findNumbered(number string) []uint32 {
	all := cs.view.Index.Lookup().ByNumber(number)
	total := cardvocab.NumberTotal(number)
	isOther := func(card uint32) bool {
		return !strings.Contains(cs.view.Catalog.Cards.Number.At(int(card)), "/") && !cs.isTotalOfSet(total, card)
	}
	if total == "" || !slices.ContainsFunc(all, isOther) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), isOther)
}

// isTotalOfSet reports whether a total is that of a card's set.
func (cs catalogLookup) isTotalOfSet(total string, card uint32) bool {
	sets := &cs.view.Catalog.Sets
	set := cs.view.Catalog.Cards.Set[card]
	return set != snapshot.NoSet && sets.Total[set] > 0 && total == strconv.Itoa(int(sets.Total[set]))
}

// isOfYear reports whether a card's set was released in a year. If the name of the card or its set
// contains a year, that one counts instead.
func (cs catalogLookup) isOfYear(year string, card uint32) bool {
	c := cs.view.Catalog
	set := c.Cards.Set[card]
	if set == snapshot.NoSet {
		return false
	}

	for _, text := range []string{c.Cards.Name.At(int(card)), c.Sets.Name.At(int(set))} {
		if slices.ContainsFunc(foldedWords(nil, text), cardvocab.IsYear[string]) {
			return false
		}
	}
	released := c.Sets.Release[set]
	return released != snapshot.NoDay && released.Time().Format("2006") == year
}
