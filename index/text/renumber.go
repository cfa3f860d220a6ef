package text

import (
	"cmp"
	"slices"

	"ninepocket/cardvocab"
)

// Renumber makes the index of a corpus that has the cards of ix in another order. Card i of the corpus is
// card from[i] of ix, and to is the inverse of from. Only finishes may differ. Build would make an equal
// index in ten times the time.
func (ix *Index) Renumber(corpus Corpus, from, to []uint32, step func()) *Index {
	next := &Index{
		lexicon: ix.lexicon, aliasCards: corpus.aliasCards(), unpriced: corpus.Unpriced,
		groupOf: Gather(step, ix.groupOf, from), setOf: Gather(step, ix.setOf, from),
		numberOf: Gather(step, ix.numberOf, from), baseOf: Gather(step, ix.baseOf, from),
		tailOf: Gather(step, ix.tailOf, from), totalOf: Gather(step, ix.totalOf, from),
		gameOf: Gather(step, ix.gameOf, from), traits: make([]cardvocab.Traits, len(from)),
		misnumbered: make(map[string][]uint32, len(ix.misnumbered)),
	}

	traits := newTraitReader(corpus)
	for card := range next.traits {
		Every(step, card)
		next.traits[card] = traits.of(card)
	}

	for name, cards := range ix.misnumbered {
		moved := Gather(step, to, cards)
		slices.Sort(moved)
		next.misnumbered[name] = moved
	}

	next.setCard = next.listSets(step, len(ix.setWords))
	next.groupCards = next.listGroups(step)
	next.numberCard = next.listNumbers(step)
	return next
}

// Gather returns the values at places. It calls step now and then.
func Gather[T any](step func(), values []T, places []uint32) []T {
	all := make([]T, len(places))
	for i, place := range places {
		Every(step, i)
		all[i] = values[place]
	}
	return all
}

// Renumber returns the lists with row r as row to[r]. Each list ascends again.
func (col *Grouping) Renumber(to []uint32, step func()) Grouping {
	next := Grouping{col.start, Gather(step, to, col.rows)}
	for key := range len(next.start) - 1 {
		Every(step, key)
		if rows := next.Of(uint32(key)); len(rows) > 1 {
			Sort(step, rows, cmp.Compare)
		}
	}
	return next
}
