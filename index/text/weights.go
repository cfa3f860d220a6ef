package text

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"ninepocket/cardvocab"
)

// The weights of missing words (docs/dev/SEARCH.md, Missing words). A hit may lack half of the weight
// of a query.
const (
	weightStopWord  = 2
	weightSuffix    = 3
	weightQualifier = 3 // a word that only qualifies names
	weightSet       = 4
	weightInteger   = 3
	weightNumber    = 8
	weightUnknown   = 7
	weightRarest    = 11 // a word of one name
	weightCommonest = 5
)

// weigh computes the weight of each term if it is missing.
func (q *query) weigh(ix *Index) {
	q.termWeights = termWeights{minWeight: weightRarest}
	every := matchClasses(0)
	for i := range q.terms {
		weight, known := ix.weightOf(&q.terms[i])
		if known {
			q.known |= 1 << i
		}

		every |= 1 << (4 * i)
		if q.optional>>i&1 != 0 {
			weight = 0
		}
		if weight > weightSuffix {
			q.keyTerms |= 1 << (4 * i)
		}
		if weight >= weightCommonest && !q.terms[i].number {
			q.heavy |= 1 << (4 * i)
		}
		if weight == weightStopWord {
			q.stopTerms |= 15 << (4 * i)
		}

		if weight > 0 {
			q.minWeight = min(q.minWeight, int(weight))
		}
		q.weight[i] = weight
		q.total += int(weight)
	}

	// If there are no key terms, any term may be found alone.
	q.keyTerms = cmp.Or(q.keyTerms, every)
}

// weightOf returns the weight of a missing term, and whether it is a word of the catalog.
func (ix *Index) weightOf(u *queryTerm) (weight uint8, known bool) {
	switch {
	case u.number:
		return weightNumber, false
	case cardvocab.IsInteger(u.text):
		return weightInteger, false
	}

	if u.id != none && ix.weights[u.id] != 0 {
		return ix.weights[u.id], true
	}
	if u.stopClass != significant {
		return weightStopWord, false
	}

	return weightUnknown, false
}

// missingWeight returns the weight of the words that were not found; more than the whole query's if
// no key term was found.
func (q *query) missingWeight(cs matchClasses) int {
	unmatched := cs.unmatched()
	if unmatched == 0 {
		return 0
	}
	if unmatched&q.keyTerms == q.keyTerms {
		return q.total + 1
	}

	sum := 0
	for i := range q.terms {
		if unmatched>>(4*i)&1 != 0 {
			sum += int(q.weight[i])
		}
	}

	return sum
}

// missingTable returns missingWeight for every combination of found terms.
func (q *query) missingTable() (weights [1 << maxQueryTerms]int) {
	keyTerms := int(q.keyTerms.terms())
	for found := range weights {
		if found&keyTerms == 0 {
			weights[found] = q.total + 1
			continue
		}

		for i := range q.terms {
			if found>>i&1 == 0 {
				weights[found] += int(q.weight[i])
			}
		}
	}
	return weights
}

// minorTerms returns the known terms that mostly qualify names; none if there are no others.
func (q *query) minorTerms(ix *Index) (minor uint8) {
	for i := range q.terms {
		u := &q.terms[i]
		if u.id != none && !u.number && !cardvocab.IsInteger(u.text) && ix.isUsed(u.id, minorTerm) {
			minor |= 1 << i
		}
	}

	if bits.OnesCount8(minor) == len(q.terms) {
		return 0
	}
	return minor
}

// reduceWeight gives terms the weight 1. It returns how much of that a hit may lack: less than a
// word of a name weighs.
func (q *query) reduceWeight(terms uint8) (limit int) {
	for ; terms != 0; terms &= terms - 1 {
		i := bits.TrailingZeros8(terms)
		q.total -= int(q.weight[i]) - 1
		q.weight[i] = 1
		limit++
	}
	return min(limit, weightCommonest-1)
}

// rankOf returns the priority of a term, the best first: numbers, words of names, words of sets,
// the rest.
func (q *query) rankOf(ix *Index, u *queryTerm) int {
	weight, known := ix.weightOf(u)
	switch {
	case u.number:
		return 0
	case known && weight >= weightCommonest:
		return 1
	case known && (weight == weightSet || weight == weightSuffix):
		return 2
	case cardvocab.IsInteger(u.text):
		return 3
	case weight == weightUnknown:
		return 4
	}

	return 5
}

// findOwnWords finds the words of a set's name that no other set has, without common words: "151",
// "prismatic".
func (ix *Index) findOwnWords() {
	ix.setOwn = make([]uint32, len(ix.setWords))
	for w := range uint32(ix.words.len()) {
		lo, hi := ix.sets.of(w)
		if hi != lo+1 || ix.isUsed(w, onlyJoined) || stopWords[string(ix.words.word(w))] != significant {
			continue
		}
		set := ix.sets.doc[lo]
		ix.setOwn[set] |= ix.sets.mask[lo] & ix.setWords[set].nameBits
	}
}

// weighWords computes the weight of every known word: the fewer names contain a word, the more it
// weighs.
func (ix *Index) weighWords(step func()) {
	ix.weights = make([]uint8, ix.words.len())
	for w := range uint32(ix.words.len()) {
		Every(step, int(w))
		core := 0
		qualifying := 0
		lo, hi := ix.names.of(w)
		for i := lo; i < hi; i++ {
			if ix.names.mask[i]&qualifierBit != 0 {
				qualifying++
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
		if qualifying > 3*core {
			ix.uses[w] |= minorTerm
		}

		switch {
		case slices.Contains(suffixes, string(word)):
			ix.weights[w] = weightSuffix
		case stopWords[string(word)] != significant:
			ix.weights[w] = weightStopWord
		case core > 0 && len(word) == 1:
			// A letter says less than any other word.
			ix.weights[w] = weightSuffix
		case core > 0 && 3*core >= qualifying && ix.namesSet(w):
			ix.weights[w] = weightCommonest
		case core > 0 && 3*core >= qualifying:
			ix.weights[w] = uint8(max(weightCommonest, weightRarest-math.Round(0.55*math.Log2(float64(core)))))
		case len(ix.sets.docs(w)) > 0, len(ix.codes.docs(w)) > 0:
			ix.weights[w] = weightSet
		case qualifying > 0:
			ix.weights[w] = weightQualifier
		}
	}
}

// namesSet reports whether a word is the whole name of a set: "jungle".
func (ix *Index) namesSet(w uint32) bool {
	lo, hi := ix.sets.of(w)
	for i := lo; i < hi; i++ {
		if core := ix.setWords[ix.sets.doc[i]].nameBits; core != 0 && ix.sets.mask[i]&core == core {
			return true
		}
	}
	return false
}
