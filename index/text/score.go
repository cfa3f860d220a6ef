package text

import "math/bits"

// A class says how well a word of the query was found, best first. Four bits a word.
type class = uint8

const (
	exactName    class = iota // a word of the name, its joined form or stem; or a number written as one
	exactBeside               // a word of what qualifies the name, of the set's name, or its code
	bareNumber                // an integer that is the card's number
	prefixName                // the beginning of a word of the name
	prefixBeside              //
	typoName                  // a word of the name with one error
	typoBeside                //
	startName                 // the beginning of a word of the name with one error
	startBeside               //
	typosName                 // a word of the name with two errors
	typosBeside               //
	soundName                 // a word of the name that sounds like it
	soundBeside               //
	missing      class = 15   // not at all
)

// asideOf turns a class of a name word into that of a word beside the name, which counts slightly
// less.
func asideOf(c class) class { return c + 1 }

// What a class counts for in the levels of the score.
var (
	classTypos = [16]uint64{
		typoName: 1, typoBeside: 1, startName: 1, startBeside: 1, typosName: 2, typosBeside: 2,
		soundName: 3, soundBeside: 3,
	}
	classBorrowed = [16]uint64{
		exactBeside: 1, bareNumber: 1, prefixBeside: 1, typoBeside: 1, startBeside: 1,
		typosBeside: 1, soundBeside: 1,
	}
	classInexact = [16]uint64{prefixName: 1, prefixBeside: 1, startName: 1, startBeside: 1}
)

// costs are the classes of all words of a query, four bits each, the first word lowest. Words
// beyond the query's last count as found.
type costs uint32

// allMissing returns the costs of n words none of which was found.
func allMissing(n int) costs { return costs(1<<(4*n) - 1) }

func (cs costs) at(word int) class { return class(cs>>(4*word)) & 15 }

// away are the words that are missing, the lowest bit of each.
func (cs costs) away() costs { return cs & (cs >> 1) & (cs >> 2) & (cs >> 3) & 0x11111111 }

// units are the words whose lowest bit is set.
func (cs costs) units() (units uint8) {
	for word := range maxUnits {
		units |= uint8(cs>>(4*word)&1) << word
	}
	return units
}

// improve lowers the classes of the words in set to at most to.
func (cs costs) improve(set uint8, to class) costs {
	for ; set != 0; set &= set - 1 {
		shift := 4 * bits.TrailingZeros8(set)
		if class(cs>>shift)&15 > to {
			cs = cs&^(15<<shift) | costs(to)<<shift
		}
	}
	return cs
}

// best takes the better class of each word.
func (cs costs) best(other costs) costs {
	for shift := 0; other>>shift != 0 && shift < 32; shift += 4 {
		if better := other >> shift & 15; better < cs>>shift&15 {
			cs = cs&^(15<<shift) | better<<shift
		}
	}
	return cs
}

// A finding is what a search found out about one title or set.
type finding struct {
	stamp uint32 // of the search; of an older one, all else is void
	costs costs
	cover uint32 // the words of the name that the query covers
	// further are the words beyond the units that it has, and twice the units that it has twice.
	further  uint16
	twice    uint8
	named    bool  // the query is the whole name of the set and nothing else
	byNumber bool  // of a title: its cards come by their numbers
	last     int8  // the last of the words covered
	swaps    uint8 // how often the query's order left the name's
	lost     uint8 // the weight of the words that it does not have, once all are noted
}

// hit notes that the words in set were found as class c in the words of the name in mask. One word
// of the query covers one word of the name, unless it was typed repeatedly: then set is in again.
func (f *finding) hit(set uint8, c class, mask uint32, again uint8) {
	if mask&beside != 0 {
		c = asideOf(c)
	}

	// Only a better class counts; the same one again says nothing new, unless it was typed again.
	better := f.costs.improve(set, c)
	mask &^= beside
	if better == f.costs {
		if set&again != 0 {
			f.hitAgain(set&again, c, mask)
		}
		return
	}

	f.costs = better
	f.cover |= mask
	if mask == 0 {
		return
	}

	// Words that are covered from left to right are in the order of the name.
	ahead := mask &^ (1<<(f.last+1) - 1)
	if ahead == 0 {
		f.swaps++
		ahead = mask
	}

	f.last = int8(bits.TrailingZeros32(ahead))
}

// hitAgain notes that words that were typed repeatedly were found in other words of the name, too.
func (f *finding) hitAgain(set uint8, c class, mask uint32) {
	have := f.costs.at(bits.TrailingZeros8(set))
	if c != have && c > exactBeside {
		return
	}

	if mask&^f.cover != 0 && c <= exactBeside {
		f.twice |= set
	}
	f.cover |= mask
}

// How well a number hit fits.
const (
	numberAndTotal uint64 = iota // the total agrees too, and is that of the set
	numberAlone
	numberLoose // a parallel of the number asked for, or of a set that seems too small for the total
	noNumber
	numberOff // the number alone is right, the total is not; no level of a score
)

// Places of the levels of the order in docs/SEARCH.md in a score, from the highest down.
const (
	missingAt = 50 // the weight of the words that are missing
	dropAt    = 42 // which: those on the right are dropped first
	typosAt   = 37
	furtherAt = 33 // words beyond the eight, and repeated ones, that the card does not have
	partAt    = 32 // not the exact full name
	unmetAt   = 28 // preferences that the card does not have
	borrowAt  = 23 // words found beside the name or as a bare number ("slightly less than name words")
	numberAt  = 21
	setAt     = 20 // not the whole set name
	inexactAt = 16
	fitAt     = 4 // fame less extra name words
	swapsAt   = 0

	fitZero = 1 << 11
)

// furtherMissing is how many of the words beyond the units, and of the words typed repeatedly, a card
// does not have, whose title and set were found so.
func (q *query) furtherMissing(f, set *finding) uint64 {
	if q.again == 0 && q.counted == 0 {
		return 0
	}

	var have uint16
	var once, twice uint8
	for _, one := range [...]*finding{f, set} {
		if one == nil {
			continue
		}
		have |= one.further
		exact := one.costs.exact(q.again)
		twice |= one.twice | once&exact
		once |= exact
	}

	have &= 1<<q.counted - 1
	return uint64(q.counted - bits.OnesCount16(have) + bits.OnesCount8(q.again&^twice))
}

// exact are those of some units that were found as they were typed.
func (cs costs) exact(units uint8) (exact uint8) {
	for rest := units; rest != 0; rest &= rest - 1 {
		if word := bits.TrailingZeros8(rest); cs.at(word) <= exactBeside {
			exact |= 1 << word
		}
	}
	return exact
}

// extraBits are the bits of the words that qualify a name.
func (t *title) extraBits() uint32 {
	n := bits.OnesCount32(t.core)
	return 1<<(n+int(t.extra)) - 1<<n
}

// score packs the levels for a card of title t found as f (nil: not found). unmet is what it lacks of
// the preferences.
func (q *query) score(ev *evidence, unmet uint64, t *title, f *finding) uint64 {
	further := q.furtherMissing(f, ev.set)
	var drop, typos, borrowed, inexact, worst uint64
	aside := false // a word stands beside the name as it was typed
	for word := range q.units {
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
		borrowed += classBorrowed[c]
		inexact += classInexact[c]
		aside = aside || c == exactBeside
		worst = max(worst, uint64(c))
	}

	score := uint64(min(ev.lost, 255))<<missingAt | drop<<dropAt | typos<<typosAt |
		min(further, 15)<<furtherAt | min(unmet, 15)<<unmetAt |
		borrowed<<borrowAt | ev.number<<numberAt | inexact<<inexactAt
	full := ev.lost == 0 && worst <= uint64(bareNumber) && f != nil && f.cover&t.core == t.core
	if ev.wholeSet && ev.set.named {
		full = true
	}
	if full && aside {
		// Of what stands beside the name, all must be asked for: the set's whole name, or every
		// qualifying word.
		full = ev.wholeSet || ev.set == nil && (f.cover|t.soft)&^t.core == t.extraBits()
	}

	if !full {
		score |= 1 << partAt
	}

	if !ev.wholeSet || !aside {
		score |= 1 << setAt
	}

	// What the name has beyond the query counts against it; what only qualifies it, a quarter of
	// that. Where no name was asked for, none is better than another, unless nothing else can tell.
	worse := 0
	switch {
	case f != nil:
		worse = fitUnits*bits.OnesCount32(t.core&^f.cover) - int(t.fame)
		worse += fitUnits / 4 * (int(t.extra) - bits.OnesCount32(f.cover&^t.core))
		score |= uint64(min(f.swaps, 15)) << swapsAt
	case q.unpriced:
		worse = -int(t.fame)
	}
	return score | uint64(fitZero+worse)<<fitAt
}
