package text

import "math/bits"

// A matchClass is how well a word of the query was matched, best first. It takes four bits per
// word.
type matchClass = uint8

const (
	exactName            matchClass = iota // a word of the name, its joined form or stem; or a number written as one
	exactQualifier                         // a qualifier of the name, a word of the set's name, or its code
	bareNumber                             // an integer that is the card's number
	prefixName                             // a prefix of a word of the name
	prefixQualifier                        //
	typoName                               // a word of the name with one error
	typoQualifier                          //
	fuzzyPrefixName                        // a prefix of a word of the name with one error
	fuzzyPrefixQualifier                   //
	twoTyposName                           // a word of the name with two errors
	twoTyposQualifier                      //
	phoneticName                           // a word of the name that sounds like it
	phoneticQualifier                      //
	missing              matchClass = 15   // not at all
)

// qualifierClass returns the class of a match outside the name, which counts slightly less than the
// same match in the name.
func qualifierClass(c matchClass) matchClass { return c + 1 }

// How much a class counts in the levels of the score.
var (
	classTypos = [16]uint64{
		typoName: 1, typoQualifier: 1, fuzzyPrefixName: 1, fuzzyPrefixQualifier: 1, twoTyposName: 2,
		twoTyposQualifier: 2,
		phoneticName:      3, phoneticQualifier: 3,
	}
	classOutsideName = [16]uint64{
		exactQualifier: 1, bareNumber: 1, prefixQualifier: 1, typoQualifier: 1, fuzzyPrefixQualifier: 1,
		twoTyposQualifier: 1, phoneticQualifier: 1,
	}
	classInexact = [16]uint64{prefixName: 1, prefixQualifier: 1, fuzzyPrefixName: 1, fuzzyPrefixQualifier: 1}
)

// matchClasses are the classes of all words of a query, four bits each, the first word lowest.
// Words beyond the query's last count as matched.
type matchClasses uint32

// allMissing returns the classes of n words, all missing.
func allMissing(n int) matchClasses { return matchClasses(1<<(4*n) - 1) }

func (cs matchClasses) at(word int) matchClass { return matchClass(cs>>(4*word)) & 15 }

// unmatched returns the missing words, the lowest bit of each.
func (cs matchClasses) unmatched() matchClasses {
	return cs & (cs >> 1) & (cs >> 2) & (cs >> 3) & 0x11111111
}

// terms returns the words whose lowest bit is set.
func (cs matchClasses) terms() (terms uint8) {
	for word := range maxQueryTerms {
		terms |= uint8(cs>>(4*word)&1) << word
	}
	return terms
}

// improve lowers the classes of the words in set to at most to.
func (cs matchClasses) improve(set uint8, to matchClass) matchClasses {
	for ; set != 0; set &= set - 1 {
		shift := 4 * bits.TrailingZeros8(set)
		if matchClass(cs>>shift)&15 > to {
			cs = cs&^(15<<shift) | matchClasses(to)<<shift
		}
	}
	return cs
}

// best returns the better class of each word.
func (cs matchClasses) best(other matchClasses) matchClasses {
	for shift := 0; other>>shift != 0 && shift < 32; shift += 4 {
		if better := other >> shift & 15; better < cs>>shift&15 {
			cs = cs&^(15<<shift) | better<<shift
		}
	}
	return cs
}

// A candidate is the result of a search for one name group or set.
type candidate struct {
	stamp   uint32 // of the round; with an older stamp, all else is void
	classes matchClasses
	covered uint32 // the words of the name that the query covers
	// tieTerms are the tie terms that it has, and repeated the terms that it has twice.
	tieTerms      uint16
	repeated      uint8
	named         bool  // the query is the whole name of the set and nothing else
	byNumber      bool  // of a name group: its cards are found by their numbers
	last          int8  // the last of the words covered
	swaps         uint8 // how often the query's order differs from the name's
	missingWeight uint8 // the weight of its missing words, once all are recorded
}

// hit records that the words in set were matched as class c by the words of the name in mask. One
// word of the query covers one word of the name, unless it was typed repeatedly: then set is also
// in repeated.
func (f *candidate) hit(set uint8, c matchClass, mask uint32, repeated uint8) {
	if mask&qualifierBit != 0 {
		c = qualifierClass(c)
	}

	// Only a better class counts; the same class again is nothing new, unless the word was typed
	// again.
	better := f.classes.improve(set, c)
	mask &^= qualifierBit
	if better == f.classes {
		if set&repeated != 0 {
			f.hitRepeated(set&repeated, c, mask)
		}
		return
	}

	f.classes = better
	f.covered |= mask
	if mask == 0 {
		return
	}

	// Words that are covered from left to right have the order of the name.
	ahead := mask &^ (1<<(f.last+1) - 1)
	if ahead == 0 {
		f.swaps++
		ahead = mask
	}

	f.last = int8(bits.TrailingZeros32(ahead))
}

// hitRepeated records that words that were typed repeatedly matched further words of the name.
func (f *candidate) hitRepeated(set uint8, c matchClass, mask uint32) {
	have := f.classes.at(bits.TrailingZeros8(set))
	if c != have && c > exactQualifier {
		return
	}

	if mask&^f.covered != 0 && c <= exactQualifier {
		f.repeated |= set
	}
	f.covered |= mask
}

// How well a number matches.
const (
	numberAndTotal uint64 = iota // the total agrees too, and is that of the set
	numberAlone
	numberLoose // a parallel of the query's number, or in a set that seems too small for the total
	noNumber
	numberOff // the number alone is correct, the total is not; no level of a score
)

// Places of the levels of the order in docs/dev/SEARCH.md in a score, from the highest down.
const (
	missingAt     = 50 // the weight of the words that are missing
	dropAt        = 42 // the missing words; words on the right count least
	typosAt       = 37
	tieTermsAt    = 33 // tie terms and repeated words that the card does not have
	partAt        = 32 // not the exact full name
	unmetAt       = 28 // preferences that the card does not have
	outsideNameAt = 23 // words matched outside the name or as a bare number ("slightly less than name words")
	numberAt      = 21
	setAt         = 20 // not the whole set name
	inexactAt     = 16
	fitAt         = 4 // popularity less additional name words
	swapsAt       = 0

	fitZero = 1 << 11
)

// Closeness returns the levels of a score for how well a card matches the words, the exact name aside. Hits
// with equal closeness may have another order (docs/dev/SEARCH.md, Orders, prices, eras, sealed words).
func Closeness(score uint64) uint64 { return score >> inexactAt &^ (1 << (partAt - inexactAt)) }

// missingTieTerms counts the tie terms, and the repeated words, that a card does not have, whose
// name group and set are f and set.
func (q *query) missingTieTerms(f, set *candidate) uint64 {
	if q.repeated == 0 && q.overflow == 0 {
		return 0
	}

	var have uint16
	var once, repeated uint8
	for _, one := range [...]*candidate{f, set} {
		if one == nil {
			continue
		}
		have |= one.tieTerms
		exact := one.classes.exact(q.repeated)
		repeated |= one.repeated | once&exact
		once |= exact
	}

	have &= 1<<q.overflow - 1
	return uint64(q.overflow - bits.OnesCount16(have) + bits.OnesCount8(q.repeated&^repeated))
}

// exact returns those of some terms that were matched as typed.
func (cs matchClasses) exact(terms uint8) (exact uint8) {
	for rest := terms; rest != 0; rest &= rest - 1 {
		if word := bits.TrailingZeros8(rest); cs.at(word) <= exactQualifier {
			exact |= 1 << word
		}
	}
	return exact
}

// qualifierMask returns the bits of the words that qualify a name.
func (t *nameGroup) qualifierMask() uint32 {
	n := bits.OnesCount32(t.nameBits)
	return 1<<(n+int(t.qualifierCount)) - 1<<n
}

// score packs the levels for a card of name group t, which was found as f (nil: not found). unmet
// is how far the card is from the preferences.
func (q *query) score(ev *evidence, unmet uint64, t *nameGroup, f *candidate) uint64 {
	tieTerms := q.missingTieTerms(f, ev.set)
	var drop, typos, borrowed, inexact, worst uint64
	hasQualifier := false // a word matched outside the name as typed
	for word := range q.terms {
		c := ev.all.at(word)
		if q.optional>>word&1 != 0 {
			if c == missing {
				unmet += 2
			}
			continue
		}

		if c == missing {
			// A word further left is worth more.
			drop |= 1 << (7 - word)
			continue
		}

		typos += classTypos[c]
		borrowed += classOutsideName[c]
		inexact += classInexact[c]
		hasQualifier = hasQualifier || c == exactQualifier
		worst = max(worst, uint64(c))
	}

	score := uint64(min(ev.missingWeight, 255))<<missingAt | drop<<dropAt | typos<<typosAt |
		min(tieTerms, 15)<<tieTermsAt | min(unmet, 15)<<unmetAt |
		borrowed<<outsideNameAt | ev.number<<numberAt | inexact<<inexactAt
	full := ev.missingWeight == 0 && worst <= uint64(bareNumber) && f != nil && f.covered&t.nameBits == t.nameBits
	if ev.wholeSet && ev.set.named {
		full = true
	}
	if full && hasQualifier {
		// The query must have all of the words outside the name: the set's whole name, or every
		// qualifier.
		full = ev.wholeSet || ev.set == nil && (f.covered|t.traitBits)&^t.nameBits == t.qualifierMask()
	}

	if !full {
		score |= 1 << partAt
	}

	if !ev.wholeSet || !hasQualifier {
		score |= 1 << setAt
	}

	// Additional words of the name count against it; additional qualifiers a quarter of that. If
	// the query has no name, all names are equal, unless there are no prices to decide.
	worse := 0
	switch {
	case f != nil:
		worse = fitStep*bits.OnesCount32(t.nameBits&^f.covered) - int(t.popularity)
		worse += fitStep / 4 * (int(t.qualifierCount) - bits.OnesCount32(f.covered&^t.nameBits))
		score |= uint64(min(f.swaps, 15)) << swapsAt
	case q.unpriced:
		worse = -int(t.popularity)
	}
	return score | uint64(fitZero+worse)<<fitAt
}

// A MatchQuality is how well a hit matches the query.
type MatchQuality struct {
	Missing         int // the weight of the query's words that the card does not have
	UnmetPreference int // how far the card is from the preferred rarity, finish and edition
	Typos           int // typing errors in the other words
	// OutsideName counts matches outside the card's name: words of its set, bare integers as its
	// number
	OutsideName int
	// WholeName says that the query has every word of the card's name, as typed; qualifiers may be missing
	WholeName bool
}

// QualityOf decodes the quality from a hit's score.
func QualityOf(score uint64) MatchQuality {
	level := func(at, next int) int { return int(score >> at & (1<<(next-at) - 1)) }
	return MatchQuality{
		Missing:         int(score >> missingAt),
		UnmetPreference: level(unmetAt, partAt),
		Typos:           level(typosAt, dropAt),
		OutsideName:     level(outsideNameAt, unmetAt),
		WholeName:       level(partAt, tieTermsAt) == 0,
	}
}
