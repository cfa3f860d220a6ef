package text

import (
	"bytes"
	"slices"

	"ninepocket/collector"
)

// Bounds of a query (docs/SEARCH.md, Cost): what comes behind them is not read.
const (
	maxUnits  = 8
	maxTokens = 24
)

// A unit is one word of a query as far as counting goes: a word, or a collector number written as
// one ("4/102", "OP05-119_p1"). Units are distinct.
type unit struct {
	text       []byte
	start, end int // of text among the normalised query; joined neighbours are contiguous
	stem       int
	first, til int    // its tokens, the total behind a slash left out
	total      uint16 // behind the slash
	number     bool   // written as a number: never misspelled
}

// A numberReading takes some units of a query for a collector number.
type numberReading struct {
	bits  uint8
	class class
	exact uint32 // the number asked for, or none
	tail  uint32 // the same as a number within a set, or none
	total uint16
}

// A query is a text taken apart: its units, and the numbers among them (docs/SEARCH.md, Numbers).
type query struct {
	norm    normaliser
	units   []unit
	numbers []numberReading
	again   uint8 // the units that were typed more than once
	key     []byte
}

func (q *query) parse(ix *Index, text string) {
	q.norm.read(text, maxTokens)
	q.units = q.units[:0]
	q.numbers = q.numbers[:0]
	q.again = 0

	tokens := q.norm.tokens
	for i := 0; i < len(tokens) && len(q.units) < maxUnits; {
		// A number that is written as one is one unit, its total included.
		u := q.unitAt(ix, i)
		i = u.til
		if u.total > 0 {
			i++
		}

		// A word that is typed twice is looked for once, and may cover two words of a name.
		if have := q.index(u.text); have >= 0 {
			q.again |= 1 << have
		} else {
			q.units = append(q.units, u)
		}
	}

	q.findNumbers(ix)
}

// index returns the place of the unit with this text, or -1.
func (q *query) index(text []byte) int {
	for i := range q.units {
		if bytes.Equal(q.units[i].text, text) {
			return i
		}
	}
	return -1
}

// unitAt reads the unit that begins at token i.
func (q *query) unitAt(ix *Index, i int) unit {
	tokens := q.norm.tokens
	u := unit{first: i, til: q.numberEnd(ix, i), start: tokens[i].start, stem: tokens[i].stem}
	u.number = u.til > i+1 || tokens[i].hash
	if u.til < len(tokens) && tokens[u.til].before == '/' {
		// What stands behind a slash is the total, if the number before it is one.
		total := trailingInt(string(q.norm.word(tokens[u.til])))
		if total > 0 && (isNumberWord(q.norm.word(tokens[u.til-1])) || tokens[i].end-tokens[i].start == 1) {
			u.total = total
			u.number = true
		}
	}

	u.end = tokens[u.til-1].end
	u.text = q.norm.text[u.start:u.end]
	if len(u.text) == 1 && len(q.units) > 0 && string(q.units[len(q.units)-1].text) == "nidoran" {
		u.text = genderOf(u.text)
	}

	u.text = u.text[:min(len(u.text), maxWord)]
	u.stem = min(u.stem, len(u.text))
	return u
}

// numberEnd returns the end of the tokens that are one number: those tied by dashes and low lines,
// when the first has a digit ("OP05-119_p1") or the whole is a known number ("P-001").
func (q *query) numberEnd(ix *Index, i int) int {
	tokens := q.norm.tokens
	til := i + 1
	for til < len(tokens) && (tokens[til].before == '-' || tokens[til].before == '_') &&
		isNumberWord(q.norm.word(tokens[til])) {
		til++
	}

	if til == i+1 || len(q.norm.word(tokens[i])) > 5 {
		return i + 1
	}
	if isNumberWord(q.norm.word(tokens[i])) || ix.numbers.find(q.numberKey(i, til)) != none {
		return til
	}

	return i + 1
}

// numberKey returns the key of the tokens from i to til read as one number. It is valid until the
// next call.
func (q *query) numberKey(i, til int) []byte {
	q.key = q.key[:0]
	for k := i; k < til; k++ {
		word := q.norm.word(q.norm.tokens[k])
		for at, c := range word {
			q.key = append(q.key, c)
			// The key grows as NumberKey would make it of the whole.
			mark := len(q.key) - 1
			q.key = collector.ExtendKey(q.key, 0, mark, at == 0 && k > i)
		}
	}

	return q.key
}

// isNumberWord says whether the word has a digit.
func isNumberWord(w []byte) bool {
	return slices.ContainsFunc(w, collector.IsDigit)
}

// findNumbers lists the numbers that the units may mean: each that has a digit, and up to three
// neighbours that are a known number together ("op05 119", "tg 23").
func (q *query) findNumbers(ix *Index) {
	for i := range q.units {
		q.readNumber(ix, i)
		for til := i + 2; til <= min(i+3, len(q.units)); til++ {
			q.joinNumber(ix, i, til)
		}
	}
}

func (q *query) readNumber(ix *Index, i int) {
	u := &q.units[i]
	r := numberReading{bits: 1 << i, exact: none, tail: none, total: u.total}
	switch {
	case collector.IsInteger(u.text):
		if !u.number {
			r.class = bareNumber
		}
	case !isNumberWord(u.text) && u.total == 0:
		// A number of letters alone (Unown's) only counts at the end, behind the name.
		if i == 0 || i != len(q.units)-1 || len(u.text) > 5 {
			return
		}
		r.class = bareNumber
	}

	r.exact = ix.findNumber(q.numberKey(u.first, u.til))
	if r.exact == none && u.til-u.first > 2 {
		// A parallel that only other catalogs tell apart.
		r.exact = ix.findNumber(q.numberKey(u.first, u.til-1))
	}

	if collector.IsInteger(u.text) && u.total == 0 {
		q.key = slices.Insert(q.key, 0, tailMark[0])
		r.tail = ix.findNumber(q.key)
	}

	if r.exact != none || r.tail != none {
		q.numbers = append(q.numbers, r)
	}
}

// joinNumber takes the units from i to til for one number, when there is such a number and it is
// not all digits.
func (q *query) joinNumber(ix *Index, i, til int) {
	// A set's code and a number may stand apart: "op05 119".
	integers := true
	for k := i; k < til; k++ {
		u := &q.units[k]
		if k > i && (!isNumberWord(u.text) || u.first != q.units[k-1].til || q.units[k-1].total > 0) {
			return
		}
		integers = integers && collector.IsInteger(u.text)
	}

	if integers {
		return
	}

	key := q.numberKey(q.units[i].first, q.units[til-1].til)
	if exact := ix.findNumber(key); exact != none {
		bits := uint8(1<<til - 1<<i)
		q.numbers = append(q.numbers, numberReading{bits: bits, exact: exact, tail: none, total: q.units[til-1].total})
	}
}

// findNumber returns the number with this key, or which this key is another spelling of, or none.
func (ix *Index) findNumber(key []byte) uint32 {
	id := ix.numbers.find(key)
	if id == none {
		return none
	}
	return ix.aliasOf[id]
}

// printingWords describe a printing, a finish or nothing at all. A catalog that has them in its
// names finds them there; where no card has them, they are the first to be dropped.
var printingWords = map[string]bool{
	"holo": true, "holofoil": true, "foil": true, "reverse": true, "nonholo": true, "unlimited": true,
	"1st": true, "first": true, "edition": true, "shadowless": true, "full": true, "art": true, "alt": true,
	"alternate": true, "alternative": true, "secret": true, "rare": true, "rainbow": true, "hyper": true,
	"illustration": true, "special": true, "promo": true, "parallel": true, "manga": true, "card": true, "tcg": true,
}

// dropPrinting drops the printing words, and says whether there were any beside others.
func (q *query) dropPrinting(ix *Index) bool {
	left := 0
	for i := range q.units {
		if !printingWords[string(q.units[i].text)] {
			left++
		}
	}

	if left == 0 || left == len(q.units) {
		return false
	}

	// The bits of the words that stay move down with them.
	again := uint8(0)
	kept := q.units[:0]
	for i, u := range q.units {
		if printingWords[string(u.text)] {
			continue
		}
		again |= q.again >> i & 1 << len(kept)
		kept = append(kept, u)
	}

	q.units = kept
	q.again = again
	q.numbers = q.numbers[:0]
	q.findNumbers(ix)
	return true
}
