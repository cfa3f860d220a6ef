package text

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/keyword"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/mapping"
)

// A dictionary calls found with every word that a accepts, and its distance.
//
// It is bleve's part: the term dictionary of a scorch segment in memory, searched with our own
// automaton. A user's text never reaches bleve's query parsers.
//
// The dictionary outlives the bleve index that made it. That index is closed, and with it its
// goroutine ends, before newDictionary returns. The segment is plain memory, and a search of it is
// safe for concurrent use. So there is nothing to close, and the garbage collector frees an Index
// like any other value.
type dictionary func(a *automaton, found func(word string, distance uint8)) error

const wordField = "w"

var errSegments = errors.New("bleve made more or less than one segment")

// newDictionary indexes every word of v in one batch, so that there is one segment to search.
func newDictionary(v *vocabulary, step func()) (_ dictionary, err error) {
	if v.len() == 0 {
		return func(*automaton, func(string, uint8)) error { return nil }, nil
	}

	index, err := bleve.NewUsing("", wordMapping(), scorch.Name, scorch.Name, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot open a bleve index in memory: %w", err)
	}
	defer func() {
		if cerr := index.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("cannot close the bleve index: %w", cerr)
		}
	}()

	// One batch makes one segment, which is all that later searches read.
	batch := index.NewBatch()
	for from := 0; from < v.len(); from += wordsPerDocument {
		step()
		var doc wordDocument
		for id := from; id < min(from+wordsPerDocument, v.len()); id++ {
			doc.W = append(doc.W, string(v.word(uint32(id))))
		}
		if err := batch.Index(strconv.Itoa(from), doc); err != nil {
			return nil, fmt.Errorf("cannot index %d words from %q on: %w", len(doc.W), doc.W[0], err)
		}
	}

	if err := index.Batch(batch); err != nil {
		return nil, fmt.Errorf("cannot index %d words: %w", v.len(), err)
	}

	return openDictionary(index)
}

// wordsPerDocument is the number of words of a bleve document. bleve's work for a document costs as much as
// ten words. bleve estimates the memory of a segment from the size of earlier documents.
const wordsPerDocument = 64

type wordDocument struct {
	W []string `json:"w"`
}

func wordMapping() *mapping.IndexMappingImpl {
	word := bleve.NewTextFieldMapping()
	word.Analyzer = keyword.Name
	word.Store = false
	word.IncludeTermVectors = false
	word.IncludeInAll = false
	word.DocValues = false
	word.SkipFreqNorm = true
	how := bleve.NewIndexMapping()
	how.DefaultMapping = bleve.NewDocumentStaticMapping()
	how.DefaultMapping.AddFieldMappingsAt(wordField, word)
	return how
}

// openDictionary returns the term dictionary of the index's current snapshot.
func openDictionary(index bleve.Index) (dictionary, error) {
	advanced, err := index.Advanced()
	if err != nil {
		return nil, fmt.Errorf("cannot reach bleve's index: %w", err)
	}
	reader, err := advanced.Reader()
	if err != nil {
		return nil, fmt.Errorf("cannot read bleve's index: %w", err)
	}
	defer func() { _ = reader.Close() }() // it was only read

	snapshot, ok := reader.(*scorch.IndexSnapshot)
	if !ok || len(snapshot.Segments()) != 1 {
		return nil, errSegments
	}
	terms, err := snapshot.Segments()[0].Segment().Dictionary(wordField)
	if err != nil {
		return nil, fmt.Errorf("cannot open bleve's term dictionary: %w", err)
	}

	return func(a *automaton, found func(word string, distance uint8)) error {
		it := terms.AutomatonIterator(a, nil, nil)
		for {
			entry, err := it.Next()
			if err != nil || entry == nil {
				return err
			}
			found(entry.Term, entry.EditDistance)
		}
	}, nil
}

// An automaton accepts the words near a pattern, one byte at a time. Its states are plain integers,
// as bleve's dictionaries require. It computes the table of the Damerau distance (optimal string
// alignment) row by row. Only a band of five cells can stay within two errors, and the two rows
// that a step needs fit into the integer. So nothing is built before a search and nothing is stored
// during one. bleve's own automaton takes 51 to 273 µs to build for every word (docs/dev/SEARCH.md,
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
// rows are the last row and the previous row, each with the five cells around the diagonal (two
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
// the left.
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
