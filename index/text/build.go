package text

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"

	"ninepocket/cardvocab"
)

// maxJoined is the longest run of words written together ("Monkey.D.Luffy") that is also indexed as
// one word.
const maxJoined = 4

// A builder collects names, sets and numbers card by card, with words in order of discovery, and
// turns them into the columns of an Index.
type builder struct {
	corpus Corpus
	step   func()
	index  *Index
	parser nameParser

	word   interner
	single map[uint32]bool // by order of discovery: the word also occurs alone, not only joined
	names  []posting
	sets   []posting
	codes  []posting

	plain      map[string]uint32 // game and display name → name group, where no number or printing matters
	groups     map[string]uint32 // game and words → name group
	family     map[string]uint32 // game and name words → family, the printings of one name
	familyOf   []uint32          // by name group
	familySize []int
	key        []byte

	number  interner
	aliases map[string]uint32

	protectedNames []string
	phrases        map[string]bool  // of the aliases, folded
	meanings       map[string]alias // their meanings, in this order
	partGame       map[string]int   // by part of a translated name
	isCode         map[string]bool
	traits         traitReader
}

// Build makes the index of a corpus. It takes a few milliseconds for ten thousand cards, mostly in
// bleve. It calls step every ten microseconds or so, so that background work can pause.
func Build(ctx context.Context, corpus Corpus, step func()) (*Index, error) {
	b := &builder{
		corpus: corpus, step: step,
		index: &Index{
			lexicon: &lexicon{}, aliasCards: corpus.aliasCards(),
			groupOf: make([]uint32, corpus.Len), setOf: make([]int32, corpus.Len), gameOf: make([]uint8, corpus.Len),
			numberOf: make([]uint32, corpus.Len), baseOf: make([]uint32, corpus.Len),
			tailOf:  make([]uint32, corpus.Len),
			totalOf: make([]uint16, corpus.Len), unpriced: corpus.Unpriced, misnumbered: map[string][]uint32{},
		},
		word: newInterner(), single: map[uint32]bool{}, plain: map[string]uint32{}, groups: map[string]uint32{},
		family: map[string]uint32{}, number: newInterner(), aliases: map[string]uint32{}, isCode: map[string]bool{},
		partGame: map[string]int{},
	}
	b.index.traits = make([]cardvocab.Traits, corpus.Len)
	b.traits = newTraitReader(corpus)
	b.index.phrases = newPhraseDict(corpus.Games)
	b.readPhrases()

	// Name groups are numbered in catalog order, which prices do not change.
	for place, card := range corpus.Order {
		i := int(card)
		if place&15 == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			step()
		}
		b.index.gameOf[i] = corpus.Game(i)
		b.index.groupOf[i] = b.addNameGroup(i)
		b.index.traits[i] = b.traits.of(i)
		b.addNumber(i)
	}

	b.addSets()
	b.addAliases()
	ix := b.finish()
	b.addTranslations()
	if err := ctx.Err(); err != nil {
		return nil, err
	}

	return ix, b.finishExpander()
}

// addNameGroup returns the name group of card i, which it adds when it is new.
func (b *builder) addNameGroup(i int) uint32 {
	display := b.corpus.Name(i)
	game := b.corpus.Game(i)
	printing := b.corpus.Printing(i)

	b.key = append(append(b.key[:0], game), display...)
	isPlain := printing == "" || cardvocab.Fold(printing) == "standard"
	if isPlain {
		if t, ok := b.plain[string(b.key)]; ok {
			b.familySize[b.familyOf[t]]++
			return t
		}
	}

	plainKey := string(b.key)
	parsed := b.parser.read(display, b.corpus.Number(i))
	bare := isPlain && len(parsed.words) == parsed.core && !parsed.numbered && !parsed.misnumbered
	if parsed.misnumbered {
		b.parser.norm.read(display, maxTokens)
		folded := string(b.parser.norm.text)
		b.index.misnumbered[folded] = append(b.index.misnumbered[folded], uint32(i))
	}
	if !isPlain {
		parsed.qualify(b.parser.words(printing))
	}

	t := b.internGroup(parsed, game)
	if bare {
		b.plain[plainKey] = t
	}

	b.familySize[b.familyOf[t]]++
	return t
}

// internGroup returns the number of the name group with the words of a name.
func (b *builder) internGroup(parsed name, game uint8) uint32 {
	key := b.key[:0]
	key = append(key, game)
	for _, w := range parsed.words[:parsed.core] {
		key = append(append(key, w.text...), ' ')
	}

	family, ok := b.family[string(key)]
	if !ok {
		family = uint32(len(b.familySize))
		b.family[string(key)] = family
		b.familySize = append(b.familySize, 0)
		b.addProtectedName(parsed.words[:parsed.core])
	}

	key = append(key, '|')
	for _, w := range parsed.words[parsed.core:] {
		key = append(append(key, w.text...), ' ')
	}

	b.key = key
	if t, ok := b.groups[string(key)]; ok {
		return t
	}

	t := uint32(len(b.familyOf))
	b.groups[string(key)] = t
	b.familyOf = append(b.familyOf, family)
	b.index.groups = append(b.index.groups, newNameGroup(parsed))
	b.names = b.addWords(b.names, t, parsed.words, parsed.core)
	return t
}

// newNameGroup returns the masks of a name's words.
func newNameGroup(parsed name) nameGroup {
	group := nameGroup{termMask: newTermMask(len(parsed.words), parsed.core)}
	for i, w := range parsed.words {
		if i < parsed.core {
			if len(w.text) == 1 || slices.Contains(suffixes, w.text) {
				group.suffixBits |= 1 << i
			}
		} else if _, ok := cardvocab.FindPreference([]byte(w.text)); ok || w.text == "art" {
			group.traitBits |= 1 << i
		}
	}
	return group
}

func newTermMask(words, core int) termMask {
	return termMask{nameBits: uint32(1<<core - 1), qualifierCount: uint8(words - core)}
}

// addWords indexes a document under its words, the stems of its possessives, and the joined forms
// of words written without spaces (docs/dev/SEARCH.md, Normalise).
func (b *builder) addWords(to []posting, doc uint32, words []nameWord, core int) []posting {
	for i, w := range words {
		mask := uint32(1) << i
		if i >= core {
			mask |= qualifierBit
		}

		id := b.word.intern(w.text)
		b.single[id] = true
		to = append(to, posting{id, doc, mask})
		if w.stem > 0 {
			to = append(to, posting{b.word.intern(w.text[:w.stem]), doc, mask})
		}

		for j := i + 1; j < len(words) && j < i+maxJoined && words[j].tied; j++ {
			joined := joinWords(words[i : j+1])
			mask |= 1 << j
			if len(joined) <= maxWord {
				to = append(to, posting{b.word.intern(joined), doc, mask})
			}
		}
	}

	return to
}

// An interner numbers texts in the order of their discovery.
type interner struct {
	ids   map[string]uint32
	texts []string
}

func newInterner() interner { return interner{ids: map[string]uint32{}} }

func (d *interner) intern(text string) uint32 {
	id, ok := d.ids[text]
	if !ok {
		id = uint32(len(d.texts))
		d.ids[text] = id
		d.texts = append(d.texts, text)
	}
	return id
}

// sort makes a vocabulary of the texts; rank maps the order of discovery to its numbers.
func (d *interner) sort(step func()) (v vocabulary, rank []uint32) {
	v = newVocabulary(slices.Clone(d.texts), step)
	rank = make([]uint32, len(d.texts))
	for i, text := range d.texts {
		Every(step, i)
		rank[i] = v.findString(text)
	}
	return v, rank
}

// addSets indexes every set under the words of its name and under its codes.
func (b *builder) addSets() {
	ix := b.index
	sets := 0
	for i := range b.corpus.Len {
		Every(b.step, i)
		ix.setOf[i] = b.corpus.Set(i)
		sets = max(sets, int(ix.setOf[i])+1)
	}

	ix.setCard = ix.listSets(b.step, sets)
	ix.setWords = make([]termMask, sets)
	ix.setYear = make([]uint16, sets)
	for set := range sets {
		cards := ix.setCard.Of(uint32(set))
		if len(cards) == 0 {
			continue
		}

		// Any card describes its set.
		card := int(cards[0])
		parsed := b.parser.readSet(b.corpus.SetName(card), b.corpus.SetCode(card))
		ix.setWords[set] = newTermMask(len(parsed.words), len(parsed.words))
		ix.setWords[set].nameBits &^= optionalSetWords(parsed.words)
		ix.setYear[set] = uint16(max(0, b.corpus.Year(card)))
		b.sets = b.addWords(b.sets, uint32(set), parsed.words, len(parsed.words))
		b.addProtectedName(parsed.words)
		for _, code := range parsed.codes {
			b.addCode(uint32(set), code)
		}
		b.corpus.SetAliases(card, func(alias string) { b.addSetAlias(uint32(set), parsed, alias) })
		b.addSetWords(uint32(set), parsed, b.parser.words(b.corpus.Series(card)))
	}
}

// listSets returns the cards of each set.
func (ix *Index) listSets(step func(), sets int) Grouping {
	return NewGrouping(step, sets, len(ix.setOf), func(card int) uint32 { return uint32(ix.setOf[card]) }, Identity)
}

// listGroups returns the cards of each name group.
func (ix *Index) listGroups(step func()) Grouping {
	group := func(card int) uint32 { return ix.groupOf[card] }
	return NewGrouping(step, len(ix.groups), len(ix.groupOf), group, Identity)
}

// addCode indexes a set under a code, and under its form without padding zeros: sv03, sv3.
func (b *builder) addCode(set uint32, code string) {
	for _, variant := range slices.Compact([]string{code, cardvocab.NumberKey(code)}) {
		if variant != "" && len(code) <= maxWord {
			b.isCode[variant] = true
			b.codes = append(b.codes, posting{b.word.intern(variant), set, 0})
		}
	}
}

// addSetAlias indexes a set under an alias: a single word like a code, several words as words that
// its name does not have.
func (b *builder) addSetAlias(set uint32, parsed setName, alias string) {
	words := b.parser.readSet(alias, "")
	for _, code := range words.codes {
		b.addCode(set, code)
	}

	if len(words.words) == 1 || len(words.words) == 2 && words.words[1].tied {
		b.addCode(set, joinWords(words.words))
		return
	}

	b.addProtectedName(words.words)
	b.addSetWords(set, parsed, words.words)
}

// addSetWords indexes a set under words that its name does not have.
func (b *builder) addSetWords(set uint32, parsed setName, words []nameWord) {
	for _, w := range words {
		if !slices.ContainsFunc(parsed.words, func(have nameWord) bool { return have.text == w.text }) {
			b.sets = append(b.sets, posting{b.word.intern(w.text), set, 0})
		}
	}
}

// optionalSetWords returns the bits of "set" and "base set" at the end of a longer name: people
// omit them.
func optionalSetWords(words []nameWord) (optional uint32) {
	n := len(words)
	if n < 2 || words[n-1].text != "set" {
		return 0
	}

	optional = 1 << (n - 1)
	if n > 2 && words[n-2].text == "base" {
		optional |= 1 << (n - 2)
	}
	return optional
}

func joinWords(words []nameWord) string {
	var joined strings.Builder
	for _, w := range words {
		joined.WriteString(w.text)
	}
	return joined.String()
}

// addProtectedName protects a whole name that has a word which a query could drop or replace as an
// alias.
func (b *builder) addProtectedName(words []nameWord) {
	if len(words) > maxProtectedWords {
		return
	}

	for i := range words {
		var joined []byte
		for k := i; k < min(len(words), i+max(cardvocab.MaxPreferenceWords, maxAliasWords)); k++ {
			joined = append(joined, words[k].text...)
			if b.index.phrases[string(joined)].kind != roleTerm || b.phrases[string(joined)] ||
				cardvocab.FindModifier(joined).IsInNames() {
				b.protectedNames = append(b.protectedNames, joinWords(words))
				return
			}
		}
	}
}

// addNumber indexes card i under its number, its parallel's base number, and its number within
// the set.
func (b *builder) addNumber(i int) {
	ix := b.index
	printed := b.corpus.Number(i)
	key := cardvocab.NumberKey(printed)
	ix.tailOf[i] = none
	if key == "" {
		ix.numberOf[i] = none
		ix.baseOf[i] = none
		return
	}

	base := cardvocab.NumberBase(printed)
	ix.numberOf[i] = b.number.intern(key)
	ix.baseOf[i] = b.number.intern(base)
	if tail := cardvocab.NumberTail(base); tail != "" {
		ix.tailOf[i] = b.number.intern(tailMark + tail)
	}

	if joined := cardvocab.NumberKey(string(appendNumberWord(nil, cardvocab.TrimParallel(printed)))); joined != base {
		b.aliases[joined] = ix.baseOf[i]
	}

	ix.totalOf[i] = trailingInt(cardvocab.NumberTotal(printed))
	if ix.totalOf[i] == 0 {
		ix.totalOf[i] = uint16(min(max(0, b.corpus.Total(i)), 1<<16-1))
	}
}

// tailMark distinguishes the number within a set ("119" of OP05-119) from the same number alone.
const tailMark = "~"

// trailingInt returns the digits at the end of a text: 30 of "tg30".
func trailingInt(text string) uint16 {
	digits := text[len(strings.TrimRight(text, "0123456789")):]
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil {
		return 0
	}
	return uint16(n)
}

// finish sorts the words and lays out the columns.
func (b *builder) finish() *Index {
	ix := b.index
	for _, suffix := range suffixes {
		b.word.intern(suffix)
	}

	b.word.intern("set")
	words, rank := b.word.sort(b.step)
	ix.words = words

	// A word that occurs only as a joined form can still be split.
	ix.uses = make([]use, len(rank))
	for i, w := range rank {
		if !b.single[uint32(i)] {
			ix.uses[w] = onlyJoined
		}
	}

	number := func(word uint32) uint32 { return rank[word] }
	ix.names = newPostings(b.step, ix.words.len(), b.names, number)
	ix.docTerms = ix.names.invert(b.step, len(ix.groups))
	ix.sets = newPostings(b.step, ix.words.len(), b.sets, number)
	ix.codes = newPostings(b.step, ix.words.len(), b.codes, number)
	ix.setWord = ix.words.findString("set")
	ix.findOwnWords()
	ix.protectedNames = newVocabulary(b.protectedNames, b.step)
	ix.weighWords(b.step)
	ix.phonetic = newPhoneticIndex(ix, b.step)
	for t := range ix.groups {
		ix.groups[t].popularity = popularity(b.familySize[b.familyOf[t]])
	}

	ix.groupCards = ix.listGroups(b.step)
	ix.setTotal = make([]uint16, len(ix.setWords))
	for set := range ix.setTotal {
		// Most cards have the total behind their numbers; otherwise the highest number replaces it.
		cards := ix.setCard.Of(uint32(set))
		ix.setTotal[set] = majority(ix.totalOf, cards)
		if ix.setTotal[set] == 0 {
			ix.setTotal[set] = b.highest(cards)
		}
	}

	b.finishNumbers()
	for _, cards := range ix.misnumbered {
		slices.Sort(cards)
	}

	return ix
}

// highest returns the highest plain number of the cards with an unknown total.
func (b *builder) highest(cards []uint32) (highest uint16) {
	for _, card := range cards {
		if id := b.index.numberOf[card]; id != none && b.index.totalOf[card] == 0 {
			if n, err := strconv.ParseUint(b.number.texts[id], 10, 16); err == nil {
				highest = max(highest, uint16(n))
			}
		}
	}

	return highest
}

// majority returns the value that more than half the cards have, 0 if none has.
func majority(of []uint16, cards []uint32) uint16 {
	votes := map[uint16]int{}
	for _, card := range cards {
		votes[of[card]]++
		if 2*votes[of[card]] > len(cards) {
			return of[card]
		}
	}
	return 0
}

func (b *builder) finishNumbers() {
	ix := b.index
	// Other spellings get numbers of their own after those of the cards.
	own := len(b.number.texts)
	for joined := range b.aliases {
		b.number.intern(joined)
	}

	numbers, rank := b.number.sort(b.step)
	ix.numbers = numbers
	ix.aliasOf = make([]uint32, len(rank))
	for i, number := range rank {
		ix.aliasOf[number] = number
		if i >= own {
			ix.aliasOf[number] = rank[b.aliases[b.number.texts[i]]]
		}
	}

	for _, of := range [][]uint32{ix.numberOf, ix.baseOf, ix.tailOf} {
		for i, id := range of {
			if id != none {
				of[i] = rank[id]
			}
		}
	}

	ix.numberCard = ix.listNumbers(b.step)
}

// listNumbers returns the cards of each number: a card is under each of its numbers once.
func (ix *Index) listNumbers(step func()) Grouping {
	// Each card has three entries; the second is none if it would repeat the first.
	key := func(i int) uint32 {
		card := i / 3
		switch {
		case i%3 == 0:
			return ix.numberOf[card]
		case i%3 == 2:
			return ix.tailOf[card]
		case ix.baseOf[card] != ix.numberOf[card]:
			return ix.baseOf[card]
		}
		return none
	}
	return NewGrouping(step, ix.numbers.len(), 3*len(ix.numberOf), key, func(i int) uint32 { return uint32(i / 3) })
}

func (b *builder) finishExpander() error {
	ix := b.index
	near, err := newDictionary(&ix.words, b.step)
	if err != nil {
		return fmt.Errorf("cannot index the words of %d cards: %w", b.corpus.Len, err)
	}

	ex := &ix.expander
	ex.lexicon = ix.lexicon
	ex.near = near
	ex.seed = maphash.MakeSeed()
	for _, suffix := range suffixes {
		if id := ix.words.findString(suffix); len(ix.names.docs(id)) > 0 {
			ex.suffixes = append(ex.suffixes, id)
		}
	}

	return nil
}
