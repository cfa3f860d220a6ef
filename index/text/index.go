package text

import (
	"math"
	"slices"
	"sync"

	"ninepocket/cardvocab"
)

// A Corpus gives the text index access to the catalog. Cards are numbered densely from 0 to Len-1.
// Names, numbers and sets are in their display form, "" or -1 where there is none.
type Corpus struct {
	Len     int
	Order   []uint32 // the cards in catalog order
	Name    func(i int) string
	Number  func(i int) string // as printed, with or without its "/total"
	SetName func(i int) string
	SetCode func(i int) string // the set's short code ("OBF", "OP05")
	// Printing is the art or edition if the name does not have it ("Alternate Art").
	Printing func(i int) string
	// Total is the total printed behind the card's number (102 of "58/102"), for catalogs whose
	// numbers omit it. If it is unknown (0), the highest number of the set replaces it.
	Total func(i int) int
	Game  func(i int) uint8
	Set   func(i int) int32 // dense set number, -1 none
	// Rarity is as printed. Finishes calls each with the variants of the card's prices ("holofoil",
	// "1st_edition"). SetAliases calls each with the aliases and other codes of the card's set.
	Rarity     func(i int) string
	Finishes   func(i int, each func(finish string))
	SetAliases func(i int, each func(alias string))
	Series     func(i int) string // of the card's set
	Year       func(i int) int    // the year of the set's release, 0 if unknown
	Unpriced   bool               // no card has a price
	Games      []string           // by number: a game's name
	Aliases    []Alias
}

// aliasCards returns the card that each alias stands for, or none.
func (c *Corpus) aliasCards() []uint32 {
	cards := make([]uint32, len(c.Aliases))
	for i := range c.Aliases {
		cards[i] = uint32(c.Aliases[i].Card) // -1 is none
	}
	return cards
}

// An Index finds the cards that a free-text query means. It is immutable and safe for concurrent
// use. It has neither goroutines nor open files, and need not be closed.
//
// Cards with equal words in their names belong to one name group; postings lead from words to
// groups, and groups have their cards.
type Index struct {
	*lexicon

	groupCards Grouping // by name group: its cards
	groupOf    []uint32
	setCard    Grouping
	setOf      []int32

	numberCard  Grouping // by number: its cards
	numberOf    []uint32
	baseOf      []uint32 // the base number of the card's number
	tailOf      []uint32 // the number within its set, of a number that names the set too
	totalOf     []uint16
	gameOf      []uint8
	traits      []cardvocab.Traits  // by card
	misnumbered map[string][]uint32 // by a whole name, folded, that has another number than the card: its cards
	aliasCards  []uint32            // by alias of the corpus: the card that it stands for, or none
	unpriced    bool                // no card has a price
	scratch     sync.Pool
}

// A lexicon is the part of an Index that names no card: words, name groups, sets and numbers. Catalogs
// that differ only in prices have one lexicon, since its groups are numbered in catalog order.
type lexicon struct {
	words vocabulary
	uses  []use    // by word
	names postings // by word: the name groups that have it
	sets  postings // by word: the sets that have it
	codes postings // by word: the sets with this code

	docTerms postings // by name group: its words; the inverse of names
	groups   []nameGroup

	setWords []termMask // by set
	setOwn   []uint32   // by set: the bits of words that no other set's name has
	setYear  []uint16   // by set
	setTotal []uint16   // by set: the total behind the numbers of most of its cards, else their highest number

	numbers        vocabulary
	aliasOf        []uint32 // by number: the number that it is another form of, mostly itself
	phrases        phraseDict
	protectedNames vocabulary // whole names and sets, folded, that contain a stop word or a preference
	aliases        aliasTable
	weights        []uint8 // by word: the weight if it is missing
	phonetic       phoneticIndex

	expander fuzzyExpander
	setWord  uint32 // the word "set"
}

// A use is a bit set of how the catalog uses a word.
type use uint8

const (
	onlyJoined use = 1 << iota // only the joined form of several words
	ofPhrase                   // a word of phraseDict
	inName                     // part of a name itself
	minorTerm                  // qualifies names, and is part of few
)

func (ix *Index) isUsed(word uint32, as use) bool { return ix.uses[word]&as != 0 }

// isSuffix reports whether a word of names is a suffix or a single letter.
func (ix *Index) isSuffix(word uint32) bool {
	return ix.isUsed(word, inName) && ix.weights[word] == weightSuffix
}

// A nameGroup has the common properties of all cards of one name.
type nameGroup struct {
	termMask
	// traitBits are the bits of qualifiers that state a rarity, finish or edition.
	traitBits uint32
	// suffixBits are the bits of suffixes and single letters.
	suffixBits uint32
	// popularity is 0.6·log2(printings+1) of the order in docs/dev/SEARCH.md, in fitStep. Printings
	// count all cards of the game with these name words, however qualified.
	popularity uint16
}

// A termMask maps the words of a name or set to the bits in its postings.
type termMask struct {
	nameBits       uint32 // the bits of the name itself
	qualifierCount uint8  // how many further bits are qualifiers
}

// fitStep is how many steps of the score one additional name word takes.
const fitStep = 32

func popularity(printings int) uint16 {
	return uint16(math.Round(0.6 * math.Log2(float64(printings)+1) * fitStep))
}

// A Grouping is a list of rows for each key, in one block of memory. It never changes.
type Grouping struct {
	start []uint32 // len = keys + 1
	rows  []uint32
}

// Of returns the rows of a key, in their given order. Do not change them.
func (col *Grouping) Of(key uint32) []uint32 { return col.rows[col.start[key]:col.start[key+1]] }

// NewGrouping groups n entries by key: entry i puts rowOf(i) under keyOf(i), or nowhere if that is
// ^uint32(0). It calls step now and then.
func NewGrouping(step func(), keys, n int, keyOf, rowOf func(i int) uint32) Grouping {
	start := make([]uint32, keys+1)
	for i := range n {
		Every(step, i)
		if k := keyOf(i); k != none {
			start[k+1]++
		}
	}

	for k := range keys {
		start[k+1] += start[k]
	}

	// Where the next row of each key goes.
	next := slices.Clone(start[:keys])
	col := Grouping{start: start, rows: make([]uint32, start[keys])}
	for i := range n {
		Every(step, i)
		if k := keyOf(i); k != none {
			col.rows[next[k]] = rowOf(i)
			next[k]++
		}
	}

	return col
}

// Identity is the row of an entry where entry i is row i.
func Identity(i int) uint32 { return uint32(i) }

// qualifierBit is the bit in a posting's mask that marks a qualifier, a word outside the name
// itself.
const qualifierBit = 1 << 31

// postings are, for each word, the documents (name groups or sets) that have it, ascending,
// with the positions of the word.
type postings struct {
	start []uint32
	doc   []uint32
	mask  []uint32
}

func (ps *postings) of(word uint32) (lo, hi uint32) { return ps.start[word], ps.start[word+1] }

// docs returns the documents of one word.
func (ps *postings) docs(word uint32) []uint32 { return ps.doc[ps.start[word]:ps.start[word+1]] }

// size returns how many documents the words from lo up to hi have; a document with several of them
// counts for each.
func (ps *postings) size(lo, hi uint32) int { return int(ps.start[hi] - ps.start[lo]) }

// adjacent calls found with the documents in which word b follows word a, and the mask of both.
func (ps *postings) adjacent(a, b uint32, found func(doc, mask uint32)) {
	i, iEnd := ps.of(a)
	j, jEnd := ps.of(b)

	// Both lists ascend by document, so one merge finds all common documents.
	for i < iEnd && j < jEnd {
		switch {
		case ps.doc[i] < ps.doc[j]:
			i++
		case ps.doc[i] > ps.doc[j]:
			j++
		default:
			// Both words are in it, perhaps several times: some pair of the bits must be
			// neighbours.
			doc := ps.doc[i]
			for ; i < iEnd && ps.doc[i] == doc; i++ {
				for k := j; k < jEnd && ps.doc[k] == doc; k++ {
					if (ps.mask[i]&^qualifierBit)<<1&ps.mask[k]&^qualifierBit != 0 {
						found(doc, ps.mask[i]|ps.mask[k])
					}
				}
			}
		}
	}
}

// invert returns the forward index: for each document its words, in ascending order, and their
// masks.
func (ps *postings) invert(step func(), docs int) postings {
	entries := make([]posting, len(ps.doc))
	for w := range uint32(len(ps.start) - 1) {
		for i := ps.start[w]; i < ps.start[w+1]; i++ {
			entries[i] = posting{ps.doc[i], w, ps.mask[i]}
		}
	}
	return newPostings(step, docs, entries, func(doc uint32) uint32 { return doc })
}

// A posting is one entry while the postings are collected, its word still in the order of
// discovery.
type posting struct{ word, doc, mask uint32 }

// newPostings groups the collected entries by word. rank maps the order of discovery to word
// numbers. A document that has a word twice ("Muk & Alolan Muk") is listed twice.
func newPostings(step func(), words int, entries []posting, rank func(word uint32) uint32) postings {
	// Documents come in ascending order, and stay so.
	word := func(i int) uint32 { return rank(entries[i].word) }
	docs := NewGrouping(step, words, len(entries), word, func(i int) uint32 { return entries[i].doc })
	masks := NewGrouping(step, words, len(entries), word, func(i int) uint32 { return entries[i].mask })
	return postings{docs.start, docs.rows, masks.rows}
}
