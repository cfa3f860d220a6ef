package text

// An automaton accepts the words near a pattern, one byte at a time. Its states are plain integers,
// as bleve's dictionaries require. It computes the table of the Damerau distance (optimal string
// alignment) row by row. Only a band of five cells can stay within two errors, and the two rows
// that a step needs fit into the integer. So nothing is built before a search and nothing is stored
// during one. bleve's own automaton takes 51 to 273 µs to build for every word (docs/SEARCH.md,
// Cost).
//
// Every error costs 1, but a change of the first letter costs 2 unless it swaps the first two
// letters.
type automaton struct {
	pattern []byte
	limit   int  // the greatest distance accepted: 1 or 2
	prefix  bool // accept words with a prefix near the pattern
}

// A state packs two rows, the last byte, and the number of bytes taken, from the lowest bit on. The
// rows are the last one and the one before it, each with the five cells around the diagonal (two
// bits each, 3 for "more than 2"). Two states are special.
const (
	rejected = -1
	// reached, plus the distance, is the state of a prefix automaton that has matched its whole
	// pattern.
	reached = 1 << 40

	cellBits  = 2
	rowBits   = 5 * cellBits
	rowMask   = 1<<rowBits - 1
	tooFar    = 3 // in a cell: more than 2
	tooFarRow = rowMask
	byteAt    = 2 * rowBits
	countAt   = byteAt + 8
	maxWord   = 40 // longest pattern, in bytes
)

// Start returns the state before the first byte. Its row 0 has the cells -2, -1 (none), 0, 1, 2.
func (a *automaton) Start() int {
	return tooFar | tooFar<<2 | 0<<4 | 2<<6 | tooFar<<8 | tooFarRow<<rowBits
}

// Accept returns the state after one more byte.
func (a *automaton) Accept(state int, b byte) int {
	if state < 0 || state >= reached {
		return state
	}

	// The row to compute is that of the word's i-th byte.
	i := state>>countAt + 1
	if i > len(a.pattern)+2 && !a.prefix || i > maxWord+2 {
		return rejected
	}

	last := state & rowMask
	before := state >> rowBits & rowMask
	swapped := byte(state >> byteAt)
	row := 0
	best := tooFar
	left := tooFar
	begin := 0
	end := 5
	// The outer cells are two errors away.
	if a.limit == 1 {
		row = tooFar | tooFar<<(4*cellBits)
		begin = 1
		end = 4
	}

	// Cell k of row i is column i-2+k.
	for k := begin; k < end; k++ {
		j := i - 2 + k
		cost := tooFar
		switch {
		case j < 0 || j > len(a.pattern):
		case j == 0:
			cost = i + 1
		default:
			cost = a.cell(i, j, b, cell(last, k), cell(last, k+1), left)
			if i > 1 && j > 1 && a.pattern[j-2] == b && a.pattern[j-1] == swapped {
				cost = min(cost, cell(before, k)+1)
			}
		}

		cost = min(cost, tooFar)
		if cost > a.limit {
			cost = tooFar
		}

		best = min(best, cost)
		left = cost
		row |= cost << (k * cellBits)
	}

	// No cell of this row can lead to a match any more.
	if best > a.limit && !a.maySwap(i, b, last) {
		return rejected
	}

	if a.prefix {
		// The whole pattern matched within the limit, so the word has a near prefix, whatever
		// follows.
		if at := len(a.pattern) - i + 2; at >= 0 && at < 5 && cell(row, at) <= a.limit {
			return reached + cell(row, at)
		}
	}

	return row | last<<rowBits | int(b)<<byteAt | i<<countAt
}

// maySwap reports whether byte i and the next may be two letters of the pattern swapped. Such a
// match starts two rows above the next row: the cells of row i do not show it.
func (a *automaton) maySwap(i int, b byte, last int) bool {
	for k := range 5 {
		if j := i - 1 + k; j > 1 && j <= len(a.pattern) && a.pattern[j-1] == b && cell(last, k) < a.limit {
			return true
		}
	}
	return false
}

// cell computes column j of row i, without swaps, from the cells diagonally before, above and to
// the left of it.
func (a *automaton) cell(i, j int, b byte, diagonal, above, left int) int {
	change := 1
	if a.pattern[j-1] == b {
		change = 0
	} else if i == 1 && j == 1 {
		change = 2
	}
	return min(diagonal+change, above+1, left+1)
}

// cell returns cell k of a row; beyond the band every cell is too far.
func cell(row, k int) int {
	if k > 4 {
		return tooFar
	}
	return row >> (k * cellBits) & tooFar
}

// distance returns the distance of a matching state.
func (a *automaton) distance(state int) int {
	if state >= reached {
		return state - reached
	}

	at := len(a.pattern) - state>>countAt + 2
	if state < 0 || at < 0 || at > 4 {
		return tooFar
	}

	return cell(state&rowMask, at)
}

// IsMatch reports whether the bytes so far are a word near the pattern.
func (a *automaton) IsMatch(state int) bool { return state >= 0 && a.distance(state) <= a.limit }

// CanMatch reports whether more bytes may still make a match.
func (a *automaton) CanMatch(state int) bool { return state >= 0 }

// WillAlwaysMatch reports whether every continuation is a match.
func (a *automaton) WillAlwaysMatch(state int) bool { return state >= reached }

// EditDistance and MatchAndDistance make bleve return the distance together with the word.
func (a *automaton) EditDistance(state int) uint8 { return uint8(a.distance(state)) }

// MatchAndDistance runs the automaton over a whole word.
func (a *automaton) MatchAndDistance(word string) (bool, uint8) {
	state := a.Start()
	for i := range len(word) {
		state = a.Accept(state, word[i])
	}
	return a.IsMatch(state), a.EditDistance(state)
}
