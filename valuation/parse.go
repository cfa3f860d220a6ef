package valuation

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unsafe"

	"ninepocket/cardvocab"
	"ninepocket/index"
)

// parsedLine are what a line says, read against a catalog.
type parsedLine struct {
	item          *Item
	words         []word
	assertedWords []word // what claims say
	plain         bool   // the words are all that the name says
	baseName      string // the key of the name's core, "" where no card has one
	onlyBaseName  bool   // the name is that core and nothing else

	variantStart    int  // where the words of the variant begin
	baseNameIndex   int  // which of the line's cores is taken, the longest first
	baseNameCount   int  // how many there are
	hasPreference   bool // a word asks for a rarity
	acceptNear      bool // what comes near a wish counts
	ignoreStopWords bool // no card that fits has a word that tells nothing

	game   int // -1 for any
	noGame bool

	sets       []uint32 // that the set may be, ascending
	noSet      bool     // a set was given and there is none
	setRun     []word   // the words of the name that the set was read from
	isDeckCode bool     // they are a deck list's code

	number   string   // as given, "" for none
	numbered []uint32 // the cards that have it

	variant, condition string
	version            int    // of Cardmarket's, 0 for none
	nameVersion        int    // the version that the name says, not what stands beside it
	otherCopy          string // what says that the copy is another one, "" for nothing
	noPriceReason      string // why the line cannot be priced, whichever card it means
	conflictingFinish  []word // a finish that contradicts the variant
}

func (f *parsedLine) hasNumber() bool { return f.number != "" }
func (f *parsedLine) hasSet() bool    { return len(f.sets) > 0 }

// withoutNumber is the line as it would be without its number.
func (f *parsedLine) withoutNumber() *parsedLine {
	rest := *f
	rest.number = ""
	return &rest
}

// withoutSet is the line as it would be without its set, whether there is one or not.
func (f *parsedLine) withoutSet() *parsedLine {
	rest := *f
	rest.sets = nil
	rest.noSet = false
	return &rest
}

// takeSet takes some words for the sets that they name.
func (f *parsedLine) takeSet(sets []uint32, run []word) {
	f.sets = sets
	f.setRun = run
	for k := range run {
		run[k].role = setWord
	}
}

// readAs reads an item by one of the cores that its name may have, the longest first. Its strings stay
// the item's own.
func (a *Appraiser) readAs(item *Item, nameIndex int) *parsedLine {
	f := &a.parsed
	*f = parsedLine{
		baseNameIndex: nameIndex, item: item, words: f.words[:0], assertedWords: f.assertedWords[:0], game: -1,
		variant: item.Variant, condition: item.Condition, otherCopy: item.otherCopy, noPriceReason: item.noPriceReason,
	}
	if item.Game != "" {
		f.game = a.View.Index.Lookup().Game(item.Game)
		f.noGame = f.game < 0
	}

	f.words, f.plain = readWords(f.words, strings.TrimSpace(item.Name))
	f.readCells(item.unreadCells)
	f.readNumber(a, item.Number)
	f.readSet(a, item.Set)
	f.splitCondition()
	f.variantStart = len(f.words)

	// Each reading takes words out of the next one's way: a core goes before sets and wishes.
	if f.plain {
		f.readCode(a)
		f.readDeckCode(a)
		f.findBaseName(a)
		f.readSetWords(a)
	}

	f.readQualifiers(a, f.words)
	if f.plain {
		f.readNumbers(a)
		f.readVariant(a)
	}

	// Many cards are asked for each word, which is looked up once.
	a.lookup.lookUp(f.words)
	f.nameVersion = f.version
	f.readAssertions(a)
	return f
}

// splitCondition takes a finish off a condition: "Near Mint Foil".
func (f *parsedLine) splitCondition() {
	if f.condition == "" || isCondition(f.condition) {
		return
	}

	// The condition keeps as many words as it can.
	for at := strings.LastIndexByte(f.condition, ' '); at > 0; at = strings.LastIndexByte(f.condition[:at], ' ') {
		finish := f.condition[at+1:]
		if _, ok := cardvocab.Finish(finish); !ok || !isCondition(f.condition[:at]) {
			continue
		}

		if f.variant != "" && !areOneFinish(f.variant, finish) {
			f.noPriceReason = `the condition's "` + clip(finish) + `" contradicts the variant "` + clip(f.variant) + `"`
		}
		f.variant = cmp.Or(f.variant, finish)
		f.condition = f.condition[:at]
		return
	}
}

// areOneFinish reports whether a variant has all that a finish says: "1st Edition Holofoil" is a holo.
func areOneFinish(variant, finish string) bool {
	have, _ := cardvocab.Finish(variant)
	said, _ := cardvocab.Finish(finish)
	return have&said == said
}

// readVariant reads what a variant says beside a finish as words of the card: "Cosmos Holo", "Master
// Ball Pattern".
func (f *parsedLine) readVariant(a *Appraiser) {
	f.variantStart = len(f.words)
	if _, ok := cardvocab.Finish(f.variant); ok || f.variant == "" || f.baseName == "" ||
		a.lookup.isVariant(f.variant) {
		return
	}

	fields := strings.Fields(f.variant)
	from := len(fields)
	for i := range fields {
		if _, ok := cardvocab.Finish(strings.Join(fields[i:], " ")); ok {
			from = i
			break
		}
	}

	// A pattern must fit the card as the words of a name must.
	for _, field := range fields[:from] {
		f.words = appendChunk(f.words, field, -1)
	}
	f.variant = strings.Join(fields[from:], " ")
}

// isVariant reports whether some card is priced in a variant of this name.
func (cs catalogLookup) isVariant(name string) bool {
	for variant := range cs.view.Catalog.Variants.All() {
		if cardvocab.SameVariant(variant, name) {
			return true
		}
	}
	return false
}

// readNumber reads the number that was given, or else one that stands in the name. One behind the code of a
// set is that of a card of the set: "svp 085".
func (f *parsedLine) readNumber(a *Appraiser, number string) {
	number = strings.TrimSpace(number)
	if number == "" || f.hasNumber() {
		return
	}

	f.number = number
	f.numbered = a.lookup.numbered(number)
	if len(f.numbered) > 0 {
		return
	}

	if code, rest, ok := strings.Cut(number, " "); ok {
		if sets := a.View.Index.SetNames().Exact(cardvocab.Fold(code)); len(sets) > 0 {
			f.number = strings.TrimSpace(rest)
			f.numbered = a.lookup.numbered(f.number)

			// A set that was given goes before one that came with the number.
			if f.item.Set == "" {
				f.sets = sets
			}
		}
	}
}

func (f *parsedLine) readSet(a *Appraiser, set string) {
	if strings.TrimSpace(set) == "" {
		return
	}

	f.sets = a.lastSet.of(a.View.Index.SetNames(), set)

	// Apps name sets in their own way; a code is mostly the printed one.
	if len(f.sets) == 0 && f.item.code != "" {
		f.sets = a.View.Index.SetNames().Exact(cardvocab.Fold(f.item.code))
	}

	f.noSet = !f.hasSet()
	if f.noSet {
		return
	}
	fields := strings.Fields(set)
	f.sets = a.lookup.addNumberedSets(f.sets, cardvocab.Fold(set), fields[len(fields)-1], f.item.setTail)

	// The name of a set is told without its edition, which is one of the copy. In brackets it is of the
	// set: "Base Set (1st Edition & Shadowless)".
	if plain, _, _ := strings.Cut(set, "("); strings.Contains(cardvocab.Fold(plain), "1stedition") {
		f.item.assert(ofWords, "1st edition")
	}
}

// namedSets are the sets that a name means: lists name the same set line after line.
type namedSets struct {
	name string
	sets []uint32
}

// of returns the sets that a name means.
func (last *namedSets) of(names *index.SetNames, name string) []uint32 {
	if name == last.name {
		return last.sets
	}

	// What outlives a line is copied: a caller's text may lie in memory that is used again.
	last.name = strings.Clone(name)
	last.sets = names.Resolve(name)
	if len(last.sets) == 0 {
		last.sets = names.WithAllWords(name)
	}
	return last.sets
}

// readCode reads brackets with a set's code and a number: "(MEW 199)". A code that no set has is
// left out, for the number tells the card.
func (f *parsedLine) readCode(a *Appraiser) {
	for i := range f.words {
		if !isCodeAt(f.words, i) {
			continue
		}
		code := &f.words[i]
		number := &f.words[i+1]

		// A code that no set has may be an app's own, where the set is told otherwise.
		sets := a.View.Index.SetNames().Exact(code.text)
		if len(sets) == 0 {
			sets = a.View.Index.SetNames().ByAppCode(code.text)
		}
		if len(sets) == 0 && f.item.Set == "" {
			continue
		}

		code.role = stopWord
		code.suffix = true
		number.suffix = true
		f.readNumber(a, number.raw)

		// A set that was given tells the card, and a code of another one contradicts it.
		if f.item.Set != "" || f.hasSet() {
			f.item.assert(ofCode, code.raw)
			continue
		}

		code.role = setWord
		f.sets = sets
	}
}

// maxDeckCodeWords is how many words a code of a deck list has: "PR-SV".
const maxDeckCodeWords = 2

// readDeckCode reads what deck lists write behind a name, the code of a set and a number: "OBF 125". Such
// codes are words as well, so that they must be capitals among small letters, and the set must have the
// number.
func (f *parsedLine) readDeckCode(a *Appraiser) {
	if f.item.Set != "" || f.hasSet() || !strings.ContainsFunc(f.item.Name, unicode.IsLower) {
		return
	}

	for i := 1; i < len(f.words); i++ {
		number := &f.words[i]
		if number.role != numberWord || number.group != 0 {
			continue
		}
		if f.readGluedCode(a, i) {
			return
		}
		for n := 1; n <= min(maxDeckCodeWords, i-1); n++ {
			run := f.words[i-n : i]
			sets := a.lookup.havingNumber(f.deckSets(a, run), number.raw)
			if len(sets) == 0 {
				continue
			}

			number.suffix = true
			f.takeSet(sets, run)
			f.isDeckCode = true
			f.readNumber(a, number.raw)
			return
		}
	}
}

// readGluedCode reads a code and a number that were written as one: "OBF125". A number that some card
// has is none.
func (f *parsedLine) readGluedCode(a *Appraiser, at int) bool {
	w := &f.words[at]
	code := strings.TrimRight(w.raw, "0123456789")
	number := w.raw[len(code):]
	if code == "" || number == "" || code != strings.ToUpper(code) || len(a.lookup.numbered(w.raw)) > 0 {
		return false
	}
	sets := a.lookup.havingNumber(a.View.Index.SetNames().ByAppCode(cardvocab.Fold(code)), number)
	if len(sets) == 0 {
		return false
	}

	w.suffix = true
	f.takeSet(sets, f.words[at:at+1])
	f.isDeckCode = true
	f.readNumber(a, number)
	return true
}

// deckSets are the sets that some words are a deck list's code of.
func (f *parsedLine) deckSets(a *Appraiser, run []word) []uint32 {
	for k := range run {
		if w := &run[k]; w.role != required || w.group != 0 || w.raw != strings.ToUpper(w.raw) {
			return nil
		}
	}
	return a.View.Index.SetNames().ByAppCode(a.joinedText(run))
}

// havingNumber are some sets where a card of theirs has a number, else the parts of them that have one:
// CRZ GG70 is in "Crown Zenith: Galarian Gallery".
func (cs catalogLookup) havingNumber(sets []uint32, number string) []uint32 {
	var parts []uint32
	if len(sets) == 0 {
		return nil
	}

	for _, card := range cs.numbered(number) {
		if cs.isIn(card, sets) {
			return sets
		}
		isPart := slices.ContainsFunc(sets, func(whole uint32) bool { return cs.isPartOf(card, whole) })
		if set := uint32(cs.view.Catalog.Cards.Set[card]); isPart && !slices.Contains(parts, set) {
			parts = append(parts, set)
		}
	}
	slices.Sort(parts)
	return parts
}

// isCodeAt reports whether word i is a set's code with a number in brackets of their own.
func isCodeAt(words []word, i int) bool {
	if i+1 >= len(words) {
		return false
	}
	code := &words[i]
	number := &words[i+1]
	alone := (i == 0 || words[i-1].group != code.group) && (i+2 == len(words) || words[i+2].group != code.group)

	// A grade in a cell of its own, or in brackets, is no code.
	return alone && code.group != 0 && code.group != cellGroup && number.group == code.group &&
		number.role == numberWord && isCode(code.raw) && !isGrader(code.text) &&
		(!number.isBare() || len(number.raw) <= maxBareDigits)
}

// maxBareDigits is how many digits a number without a total has at most: four are a year.
const maxBareDigits = 3

// isCode reports whether a text is spelt as the code of a set: two to five capitals and digits.
func isCode(s string) bool {
	letters := 0
	for i := range len(s) {
		switch {
		case 'A' <= s[i] && s[i] <= 'Z':
			letters++
		case !cardvocab.IsDigit(s[i]):
			return false
		}
	}
	return letters > 0 && len(s) >= 2 && len(s) <= 5
}

// findBaseName finds the longest run of words that is the core of some card's name, the leftmost of
// equally long ones, or a later one for another reading. It does not cross brackets, and words outside
// them go first.
func (f *parsedLine) findBaseName(a *Appraiser) {
	// Brackets qualify a name, and have it only where nothing else does.
	for _, inside := range []bool{false, true} {
		begin := 0
		length := 0
		for n := len(f.words); n > 0; n-- {
			for i := 0; i+n <= len(f.words); i++ {
				if f.words[i].group > 0 != inside || !f.isBaseNameAt(a, i, n) {
					continue
				}
				if f.baseNameCount == f.baseNameIndex {
					begin = i
					length = n
					f.baseName = string(a.key)
				}
				f.baseNameCount++

				// A later reading does not count them again.
				if f.baseNameCount > f.baseNameIndex && (f.baseNameIndex > 0 || f.baseNameCount == maxBaseNames) {
					n = 0
					break
				}
			}
		}

		if f.baseNameCount > 0 {
			f.onlyBaseName = length == len(f.words)
			for k := range f.words[begin : begin+length] {
				f.words[begin+k].role = baseNameWord
			}
			return
		}
	}

	// Several cards are "magikarps".
	for i := range f.words {
		w := &f.words[i]
		single, ok := strings.CutSuffix(w.text, "s")
		if ok && len(single) >= minPluralLen && single[len(single)-1] != 's' {
			many := w.text
			w.text = single
			if f.isBaseNameAt(a, i, 1) {
				f.baseName = string(a.key)
				f.baseNameCount = 1
				w.role = baseNameWord
				return
			}
			w.text = many
		}
	}
}

// minPluralLen is how many letters a name has at least that is read in the plural.
const minPluralLen = 4

// isBaseNameAt reports whether some words are the core of a name, and leaves its key at hand.
func (f *parsedLine) isBaseNameAt(a *Appraiser, i, length int) bool {
	a.key = a.key[:0]
	limit := a.View.Index.Lookup().MaxBaseNameLen()
	run := f.words[i : i+length]
	for k := range run {
		if run[k].group != run[0].group || run[k].role == stopWord || run[k].role == setWord ||
			len(a.key)+len(run[k].text) > limit {
			return false
		}
		a.key = append(a.key, run[k].text...)
	}
	return (length > 1 || run[0].role != numberWord) && len(a.View.Index.Lookup().ByBaseName(a.keyText())) > 0
}

// joinedText is the folded text of some words, which holds until the next one.
func (a *Appraiser) joinedText(run []word) string {
	a.key = a.key[:0]
	for k := range run {
		a.key = append(a.key, run[k].text...)
	}
	return a.keyText()
}

// keyText is the key at hand as a text, which holds until the next one.
func (a *Appraiser) keyText() string { return unsafe.String(unsafe.SliceData(a.key), len(a.key)) }

// readNumbers looks the numbers among the words up. One that can be nothing else is the line's
// number, where none was given.
func (f *parsedLine) readNumbers(a *Appraiser) {
	for i := range f.words {
		w := &f.words[i]
		if w.role != numberWord {
			continue
		}

		w.cards = a.lookup.numbered(w.raw)
		sure := !w.isBare() || w.suffix && f.standsAlone(i)
		if !f.hasNumber() && sure && len(w.cards) > 0 && !a.lookup.isNameOfOthers(f, w.cards) {
			f.number = w.raw
			f.numbered = w.cards
		}
	}
}

// standsAlone reports whether no other word is in the brackets of a word: "(#4)", not "(#12 Charizard
// Stamped)".
func (f *parsedLine) standsAlone(i int) bool {
	group := f.words[i].group
	return group == 0 || (i == 0 || f.words[i-1].group != group) &&
		(i+1 == len(f.words) || f.words[i+1].group != group)
}

// isNameOfOthers reports whether a card without a number has the line's very name, number included:
// some names have another card's number in them.
func (cs catalogLookup) isNameOfOthers(f *parsedLine, numbered []uint32) bool {
	name := cardvocab.Fold(f.item.Name)
	for _, card := range cs.view.Index.Lookup().ByBaseName(f.baseName) {
		other := cs.view.Catalog.Cards.Name.At(int(card))
		if !contains(numbered, card) && len(other) >= len(name) && cardvocab.Fold(other) == name {
			return true
		}
	}
	return false
}
