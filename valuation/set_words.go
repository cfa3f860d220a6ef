package valuation

import (
	"slices"
	"strings"

	"ninepocket/cardvocab"
	"ninepocket/index"
	"ninepocket/snapshot"
)

// readSetWords takes the longest run of words that is a set's name; if the line has a base name, a
// set with such a card.
func (f *parsedLine) readSetWords(a *Appraiser) {
	if f.item.Set != "" || f.hasSet() {
		return
	}

	// The longest name comes first: "base set 2" is another set than "base set".
	for length := len(f.words) - 1; length > 0; length-- {
		for i := 0; i+length <= len(f.words); i++ {
			run := f.words[i : i+length]
			if !isSetRun(run) && (length > 1 || !a.lookup.isSetNumber(f, &run[0])) {
				continue
			}

			sets := a.View.Index.SetNames().Exact(a.joinedText(run))
			if len(sets) == 0 && length == 1 && run[0].role == numberWord {
				sets = a.View.Index.SetNames().Resolve(run[0].raw)
			}

			// Without a base name, a single word is no set.
			if len(sets) == 0 || f.baseName != "" && !a.lookup.anyIn(sets, f.baseName) ||
				f.baseName == "" && length == 1 {
				continue
			}

			sets = a.lookup.addNumberedSets(sets, a.keyText(), run[len(run)-1].raw, f.item.amount)
			f.takeSet(a.addAlternativeReading(f, sets, i, length), run)
			return
		}
	}
}

// addAlternativeReading adds the sets of the other reading of a number that ends or follows a set's
// name. The line's only number may be the card's or the set's. "Blastoise Base Set 2" may be number
// 2 of Base Set, and "Blastoise Base 2" may be one of Base Set 2.
func (a *Appraiser) addAlternativeReading(f *parsedLine, sets []uint32, from, length int) []uint32 {
	at := from + length - 1
	ends := f.words[at].role == numberWord
	if !ends {
		at++
	}
	if f.baseName == "" || f.hasNumber() || !f.isOnlyNumber(at) {
		return sets
	}

	var shorter []uint32
	run := f.words[from : from+length]
	if ends {
		run = run[:length-1]
		shorter = a.View.Index.SetNames().Exact(a.joinedText(run))
	}

	numbered := a.lookup.numbered(f.words[at].raw)
	for _, card := range a.View.Index.Lookup().ByBaseName(f.baseName) {
		set := a.View.Catalog.Cards.Set[card]
		if !index.Contains(numbered, card) || set == snapshot.NoSet || slices.Contains(sets, uint32(set)) {
			continue
		}

		name := a.View.Catalog.Sets.Name.At(int(set))
		if slices.Contains(shorter, uint32(set)) || !ends && endsSetName(name, run, f.words[at].text) {
			sets = append(slices.Clone(sets), uint32(set))
		}
	}
	slices.Sort(sets)
	return sets
}

// isOnlyNumber reports whether a word is the only number of the line, years aside, and may be a
// set's.
func (f *parsedLine) isOnlyNumber(at int) bool {
	isNumber := func(w word) bool { return w.role == numberWord && !cardvocab.IsYear(w.raw) }
	return at < len(f.words) && f.words[at].role == numberWord && f.words[at].isBare() && !f.words[at].suffix &&
		!slices.ContainsFunc(f.words[:at], isNumber) && !slices.ContainsFunc(f.words[at+1:], isNumber)
}

// endsSetName reports whether a set's name has all of some words and ends with a number.
func endsSetName(name string, run []word, number string) bool {
	words := foldedWords(nil, name)
	return len(words) > 1 && words[len(words)-1] == number && !slices.ContainsFunc(run, func(w word) bool {
		return !slices.Contains(words, w.text)
	})
}

// isSetRun reports whether words may be the name of a set: required words, none in brackets at
// first, and not only a number. "#2" is the card's.
func isSetRun(run []word) bool {
	isOther := func(w word) bool { return w.role != required && (w.role != numberWord || !w.isBare() || w.suffix) }
	return run[0].group == 0 && (len(run) > 1 || run[0].role != numberWord) && !slices.ContainsFunc(run, isOther)
}

// isSetNumber reports whether a number may be a set, because another word is the card's number:
// "mew ex 151 205/165", "pikachu ex SV08 238".
func (cs catalogLookup) isSetNumber(f *parsedLine, w *word) bool {
	if w.role != numberWord || w.group != 0 || cardvocab.IsYear(w.raw) {
		return false
	}
	if !w.isBare() {
		return cs.isSetCode(f, w)
	}
	return f.item.Number != "" || slices.ContainsFunc(f.words, func(other word) bool {
		return other.role == numberWord && strings.Contains(other.raw, "/")
	})
}

// isSetCode reports whether a number is written like the code of a set, belongs to no card with the
// line's name, and is not the only number.
func (cs catalogLookup) isSetCode(f *parsedLine, w *word) bool {
	if len(cs.view.Index.SetNames().Exact(w.text)) == 0 {
		return false
	}
	cards := cs.numbered(w.raw)
	if slices.ContainsFunc(cs.view.Index.Lookup().ByBaseName(f.baseName), func(card uint32) bool {
		return index.Contains(cards, card)
	}) {
		return false
	}
	return f.item.Number != "" || slices.ContainsFunc(f.words, func(other word) bool {
		return other.role == numberWord && other.raw != w.raw
	})
}
