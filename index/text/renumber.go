package text

import (
	"cmp"
	"slices"
)

// Renumber makes the index of a corpus that has the cards of ix in another order. Card i of the corpus is
// card from[i] of ix, and to is the inverse of from. Only finishes may differ. Build would make an equal
// index in ten times the time.
func (ix *Index) Renumber(corpus Corpus, from, to []uint32, step func()) *Index {
	next := &Index{
		lexicon: ix.lexicon, aliasCards: corpus.aliasCards(), unpriced: corpus.Unpriced,
		groupOf: Gather(ix.groupOf, from), setOf: Gather(ix.setOf, from), gameOf: Gather(ix.gameOf, from),
		numberOf: Gather(ix.numberOf, from), baseOf: Gather(ix.baseOf, from), tailOf: Gather(ix.tailOf, from),
		totalOf: Gather(ix.totalOf, from), traits: Gather(ix.traits, from),
		misnumbered: make(map[string][]uint32, len(ix.misnumbered)),
	}

	step()
	traits := newTraitReader(corpus)
	for card := range next.traits {
		Every(step, card)
		next.traits[card] = traits.of(card)
	}

	for name, cards := range ix.misnumbered {
		moved := Gather(to, cards)
		slices.Sort(moved)
		next.misnumbered[name] = moved
	}

	next.setCard = next.listSets(len(ix.setWords))
	step()
	next.groupCards = next.listGroups()
	step()
	next.numberCard = newNumberGrouping(ix.numbers.len(), next.numberOf, next.baseOf, next.tailOf)
	return next
}

// Gather returns the values at places.
func Gather[T any](values []T, places []uint32) []T {
	all := make([]T, len(places))
	for i, place := range places {
		all[i] = values[place]
	}
	return all
}

// Renumber returns the lists with row r as row to[r]. Each list ascends again.
func (col *Grouping) Renumber(to []uint32, step func()) Grouping {
	next := Grouping{col.start, Gather(to, col.rows)}
	next.ascend(step)
	return next
}

// ascend sorts each list.
func (col *Grouping) ascend(step func()) {
	for key := range len(col.start) - 1 {
		Every(step, key)
		if rows := col.Of(uint32(key)); len(rows) > 1 {
			Sort(step, rows, cmp.Compare)
		}
	}
}
