package text

import (
	"math"
	"math/bits"
	"slices"
	"strings"

	"ninepocket/collector"
)

// What a missing word costs (docs/SEARCH.md, Missing words). A hit may lack half of the weight of a
// query.
const (
	weightEveryday  = 2
	weightSuffix    = 3
	weightBeside    = 3 // a word that only qualifies names
	weightSet       = 4
	weightInteger   = 3
	weightNumber    = 8
	weightUnknown   = 7
	weightRarest    = 11 // a word of one name
	weightCommonest = 5
)

// weigh notes what each unit costs where it is missing.
func (q *query) weigh(ix *Index) {
	q.total = 0
	q.lightest = weightRarest
	q.telling = 0
	q.heavy = 0
	q.everyday = 0
	q.known = 0
	every := costs(0)
	codes := q.codes(ix)
	for i := range q.units {
		weight, known := ix.weightOf(&q.units[i])
		if known {
			q.known |= 1 << i
		}

		if codes>>i&1 != 0 {
			weight = weightEveryday
		}

		every |= 1 << (4 * i)
		if q.optional>>i&1 != 0 {
			weight = 0
		}
		if weight > weightSuffix {
			q.telling |= 1 << (4 * i)
		}
		if weight >= weightCommonest && !q.units[i].number {
			q.heavy |= 1 << (4 * i)
		}
		if weight == weightEveryday {
			q.everyday |= 15 << (4 * i)
		}

		if weight > 0 {
			q.lightest = min(q.lightest, int(weight))
		}
		q.weight[i] = weight
		q.total += int(weight)
	}

	// Words that tell nothing may be found alone when there are no others.
	if q.telling == 0 {
		q.telling = every
	}
}

// codes are the units that a set's code was read as: together they weigh what a code does, and less
// than a name beside them.
func (q *query) codes(ix *Index) (codes uint8) {
	for _, words := range q.stands {
		var found uint8
		n := 0
		for word := range strings.FieldsSeq(words) {
			if i := q.index([]byte(word)); i >= 0 {
				found |= 1 << i
				n++
			}
		}
		if n > 1 && ix.ofOneSet(q, found) {
			codes |= found
		}
	}
	return codes
}

// ofOneSet says whether some units are all words of the name of one set.
func (ix *Index) ofOneSet(q *query, units uint8) bool {
	hasAll := func(set uint32) bool {
		for rest := units; rest != 0; rest &= rest - 1 {
			id := q.units[bits.TrailingZeros8(rest)].id
			if id == none || !slices.Contains(ix.sets.holders(id), set) {
				return false
			}
		}
		return true
	}

	first := q.units[bits.TrailingZeros8(units)].id
	return first != none && slices.ContainsFunc(ix.sets.holders(first), hasAll)
}

// weightOf returns what a unit costs where it is missing, and whether it is a word of the catalog.
func (ix *Index) weightOf(u *unit) (weight uint8, known bool) {
	switch {
	case u.number:
		return weightNumber, false
	case collector.IsInteger(u.text):
		return weightInteger, false
	}

	if u.id != none && ix.weights[u.id] != 0 {
		return ix.weights[u.id], true
	}
	if u.noise != telling {
		return weightEveryday, false
	}

	return weightUnknown, false
}

// lost returns the weight of the words that were not found; more than the whole when none that
// tells anything was.
func (q *query) lost(cs costs) int {
	away := cs.away()
	if away == 0 {
		return 0
	}
	if away&q.telling == q.telling {
		return q.total + 1
	}

	sum := 0
	for i := range q.units {
		if away>>(4*i)&1 != 0 {
			sum += int(q.weight[i])
		}
	}

	return sum
}

// lackTable is what the units weigh that are missing where some are found; more than the whole where
// none that tells is found.
func (q *query) lackTable() (lacks [1 << maxUnits]int) {
	telling := int(q.telling.units())
	for found := range lacks {
		if found&telling == 0 {
			lacks[found] = q.total + 1
			continue
		}

		for i := range q.units {
			if found>>i&1 == 0 {
				lacks[found] += int(q.weight[i])
			}
		}
	}
	return lacks
}

// notes are the units that are known and mostly qualify names; none where there are no others.
func (q *query) notes(ix *Index) (notes uint8) {
	for i := range q.units {
		u := &q.units[i]
		if u.id != none && !u.number && !collector.IsInteger(u.text) && ix.isUsed(u.id, asNote) {
			notes |= 1 << i
		}
	}

	if bits.OnesCount8(notes) == len(q.units) {
		return 0
	}
	return notes
}

// lighten gives units the least weight that is one, and returns how much of it a hit may lack: less
// than a word of a name weighs.
func (q *query) lighten(units uint8) (limit int) {
	for ; units != 0; units &= units - 1 {
		i := bits.TrailingZeros8(units)
		q.total -= int(q.weight[i]) - 1
		q.weight[i] = 1
		limit++
	}
	return min(limit, weightCommonest-1)
}

// rankOf says how late a unit is chosen: numbers, words of names, words of sets, the rest.
func (q *query) rankOf(ix *Index, u *unit) int {
	weight, known := ix.weightOf(u)
	switch {
	case u.number:
		return 0
	case known && weight >= weightCommonest:
		return 1
	case known && (weight == weightSet || weight == weightSuffix):
		return 2
	case collector.IsInteger(u.text):
		return 3
	case weight == weightUnknown:
		return 4
	}

	return 5
}

// findOwnWords notes which words of a set's name no other set has, but for everyday ones: "151",
// "prismatic".
func (ix *Index) findOwnWords() {
	ix.setOwn = make([]uint32, len(ix.setWords))
	for w := range uint32(ix.words.len()) {
		lo, hi := ix.sets.of(w)
		if hi != lo+1 || ix.isUsed(w, onlyJoined) || noises[string(ix.words.word(w))] != telling {
			continue
		}
		set := ix.sets.holder[lo]
		ix.setOwn[set] |= ix.sets.mask[lo] & ix.setWords[set].core
	}
}

// weighWords computes what every known word costs: the rarer a word is among the names that it is
// part of, the more.
func (ix *Index) weighWords(step func()) {
	ix.weights = make([]uint8, ix.words.len())
	for w := range uint32(ix.words.len()) {
		Every(step, int(w))
		core := 0
		aside := 0
		lo, hi := ix.names.of(w)
		for i := lo; i < hi; i++ {
			if ix.names.mask[i]&beside != 0 {
				aside++
			} else {
				core++
			}
		}

		word := ix.words.word(w)
		if _, known := ix.phrases[string(word)]; known {
			ix.uses[w] |= ofPhrase
		}
		if core > 0 {
			ix.uses[w] |= inName
		}
		if aside > 3*core {
			ix.uses[w] |= asNote
		}

		switch {
		case slices.Contains(suffixes, string(word)):
			ix.weights[w] = weightSuffix
		case noises[string(word)] != telling:
			ix.weights[w] = weightEveryday
		case core > 0 && len(word) == 1:
			// A letter tells less than any word beside it.
			ix.weights[w] = weightSuffix
		case core > 0 && 3*core >= aside && ix.namesSet(w):
			ix.weights[w] = weightCommonest
		case core > 0 && 3*core >= aside:
			ix.weights[w] = uint8(max(weightCommonest, weightRarest-math.Round(0.55*math.Log2(float64(core)))))
		case len(ix.sets.holders(w)) > 0, len(ix.codes.holders(w)) > 0:
			ix.weights[w] = weightSet
		case aside > 0:
			ix.weights[w] = weightBeside
		}
	}
}

// namesSet says whether a word is the whole name of a set: "jungle".
func (ix *Index) namesSet(w uint32) bool {
	lo, hi := ix.sets.of(w)
	for i := lo; i < hi; i++ {
		if core := ix.setWords[ix.sets.holder[i]].core; core != 0 && ix.sets.mask[i]&core == core {
			return true
		}
	}
	return false
}
