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

// parsedLine is a line as read against a catalog.
type parsedLine struct {
	item          *Item
	words         []word
	assertedWords []word // the words of the assertions
	plain         bool   // the words contain the whole name
	baseName      string // the key of the base name in it, "" for none
	onlyBaseName  bool   // the name is that base name and nothing else

	variantStart  int  // index of the first word of the variant
	baseNameIndex int  // which of the line's base names is taken, the longest first
	baseNameCount int  // how many base names the line has
	hasPreference bool // a word states a preferred rarity
	acceptNear    bool // near matches of a preference count

	game   int // -1 for any
	noGame bool

	sets       []uint32 // that the line may mean, ascending
	noSet      bool     // a set was given and is unknown
	setRun     []word   // the words of the name that name the set
	isDeckCode bool     // setRun is a set code of a deck list

	number   string   // as given, "" for none
	numbered []uint32 // the cards that have it

	variant, condition string
	version            int    // the version that Cardmarket numbers, 0 for none
	nameVersion        int    // version as the name has it, not an assertion
	otherCopy          string // what makes the copy another one, "" for nothing
	noPriceReason      string // why the line cannot be priced, whichever card it means
	conflictingFinish  []word // the words of a finish that contradicts the variant
	ignored            []string
}

func (f *parsedLine) hasNumber() bool { return f.number != "" }
func (f *parsedLine) hasSet() bool    { return len(f.sets) > 0 }

// withoutNumber returns the line as if it had no number.
func (f *parsedLine) withoutNumber() *parsedLine {
	rest := *f
	rest.number = ""
	return &rest
}

// withoutSet returns the line as if it had no set, whether it is known or not.
func (f *parsedLine) withoutSet() *parsedLine {
	rest := *f
	rest.sets = nil
	rest.noSet = false
	return &rest
}

// takeSet records the sets that some words name.
func (f *parsedLine) takeSet(sets []uint32, run []word) {
	f.sets = sets
	f.setRun = run
	for k := range run {
		run[k].role = setWord
	}
}

// readAs reads an item with its nameIndex-th base name, the longest first. Its strings alias the
// item.
func (a *Appraiser) readAs(item *Item, nameIndex int) *parsedLine {
	f := &a.parsed
	*f = parsedLine{
		baseNameIndex: nameIndex, item: item, words: f.words[:0], assertedWords: f.assertedWords[:0], game: -1,
		variant: item.Variant, condition: item.Condition, noPriceReason: item.noPriceReason,
		otherCopy: cmp.Or(item.otherCopy, foreignFlag(item.Name), foreignFlag(item.Line)),
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

	// Each step takes words away from the next: the base name comes before sets and preferences.
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

	// Each word is compared with many cards, so it is looked up once.
	a.lookup.lookUp(f.words)
	f.nameVersion = f.version
	f.readAssertions(a)
	return f
}

// splitCondition separates a finish from a condition: "Near Mint Foil".
func (f *parsedLine) splitCondition() {
	if f.condition == "" || isCondition(f.condition) {
		return
	}

	// The condition gets as many words as possible.
	for at := strings.LastIndexByte(f.condition, ' '); at > 0; at = strings.LastIndexByte(f.condition[:at], ' ') {
		finish := f.condition[at+1:]
		if _, ok := cardvocab.Finish(finish); !ok || !isCondition(f.condition[:at]) {
			continue
		}

		if f.variant != "" && !variantHasFinish(f.variant, finish) {
			f.noPriceReason = `the condition's "` + clip(finish) + `" contradicts the variant "` + clip(f.variant) + `"`
		}
		f.variant = cmp.Or(f.variant, finish)
		f.condition = f.condition[:at]
		return
	}
}

// variantHasFinish reports whether a variant has everything that a finish states: "1st Edition
// Holofoil" is a holo.
func variantHasFinish(variant, finish string) bool {
	have, _ := cardvocab.Finish(variant)
	said, _ := cardvocab.Finish(finish)
	return have&said == said
}

// readVariant reads the words of a variant before its finish as words of the card: "Cosmos Holo",
// "Master Ball Pattern".
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

	// A pattern must match the card as the words of a name must.
	for _, field := range fields[:from] {
		f.words = appendChunk(f.words, field, -1)
	}
	f.variant = strings.Join(fields[from:], " ")
}

// isVariant reports whether the catalog has a variant of this name.
func (cs catalogLookup) isVariant(name string) bool {
	for variant := range cs.view.Catalog.Variants.All() {
		if cardvocab.SameVariant(variant, name) {
			return true
		}
	}
	return false
}

// readNumber reads the number that was given, or one in the name. If the number begins with a set's
// code, the card must be of that set: "svp 085".
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

			// A set that was given takes precedence over one in the number.
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

	f.sets = a.lastSet.resolve(a.View.Index.SetNames(), set)

	// Apps have their own names for sets; their codes are mostly the printed ones.
	if len(f.sets) == 0 && f.item.code != "" {
		f.sets = a.View.Index.SetNames().Exact(cardvocab.Fold(f.item.code))
	}

	f.noSet = !f.hasSet()
	if f.noSet {
		return
	}
	fields := strings.Fields(set)
	f.sets = a.lookup.addNumberedSets(f.sets, cardvocab.Fold(set), fields[len(fields)-1], f.item.setTail)

	// An edition after a set's name describes the copy. In brackets it belongs to the set:
	// "Base Set (1st Edition & Shadowless)".
	if plain, _, _ := strings.Cut(set, "("); strings.Contains(cardvocab.Fold(plain), "1stedition") {
		f.item.assert(ofWords, "1st edition")
	}
}

// setNameCache caches the sets of the last name: lists repeat a set line after line.
type setNameCache struct {
	name string
	sets []uint32
}

// resolve returns the sets that a name means.
func (last *setNameCache) resolve(names *index.SetNames, name string) []uint32 {
	if name == last.name {
		return last.sets
	}

	// The name outlives the line, so it is copied: the caller may reuse the memory of its text.
	last.name = strings.Clone(name)
	last.sets = names.Resolve(name)
	if len(last.sets) == 0 {
		last.sets = names.WithAllWords(name)
	}
	return last.sets
}

// readCode reads brackets with a set's code and a number: "(MEW 199)". An unknown code is skipped
// if the set was given, because the number identifies the card.
func (f *parsedLine) readCode(a *Appraiser) {
	for i := range f.words {
		if !isCodeAt(f.words, i) {
			continue
		}
		code := &f.words[i]
		number := &f.words[i+1]

		// An unknown code may be an app's own if the set was given.
		sets := codedSets(a.View.Index.SetNames(), code.text)
		if len(sets) == 0 && f.item.Set == "" {
			continue
		}

		code.role = stopWord
		code.suffix = true
		number.suffix = true
		f.readNumber(a, number.raw)

		// A set that was given identifies the card, and another set's code contradicts it.
		if f.item.Set != "" || f.hasSet() {
			f.item.assert(ofCode, code.raw)
			continue
		}

		code.role = setWord
		f.sets = sets
	}
}

// maxDeckCodeWords is the maximum number of words of a set code in a deck list: "PR-SV".
const maxDeckCodeWords = 2

// readDeckCode reads the set code and the number that deck lists write behind a name: "OBF 125".
// Such codes may also be words, so they must be capitals in a name with lower-case letters, and the
// set must have the number.
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

// readGluedCode reads a code and a number that were written as one: "OBF125". If a card has the
// whole as its number, it is no code.
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

// deckSets returns the sets for which some words are a deck list's code.
func (f *parsedLine) deckSets(a *Appraiser, run []word) []uint32 {
	for k := range run {
		if w := &run[k]; w.role != required || w.group != 0 || w.raw != strings.ToUpper(w.raw) {
			return nil
		}
	}
	return a.View.Index.SetNames().ByAppCode(a.joinedText(run))
}

// havingNumber returns the given sets if one of their cards has a number. Otherwise it returns the
// parts of these sets with that number: CRZ GG70 is in "Crown Zenith: Galarian Gallery".
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

	// A grade in a separate cell, or in brackets, is no code.
	return alone && code.group != 0 && code.group != cellGroup && number.group == code.group &&
		number.role == numberWord && isCode(code.raw) && !isGrader(code.text) &&
		(!number.isBare() || len(number.raw) <= maxBareDigits)
}

// maxBareDigits is the maximum length of a number without a total: four digits are a year.
const maxBareDigits = 3

// isCode reports whether a text is written like the code of a set: two to five capitals and digits.
func isCode(s string) bool {
	isOther := func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') }
	return len(s) >= 2 && len(s) <= 5 && !strings.ContainsFunc(s, isOther) && !cardvocab.IsInteger(s)
}

// findBaseName finds the longest run of words that is the base name of some card. Of equally long
// runs it takes the leftmost, or the run after baseNameIndex others. It does not cross brackets,
// and words outside them come first.
func (f *parsedLine) findBaseName(a *Appraiser) {
	// Brackets qualify a name, and contain it only if the other words do not.
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

				// A later reading does not count the base names again.
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

	// A plural means several cards: "magikarps".
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

// minPluralLen is the least length of a name that is recognised in the plural.
const minPluralLen = 4

// isBaseNameAt reports whether some words are a base name, and leaves its key in a.key.
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

// joinedText returns the joined folded text of some words, which is valid until the next call.
func (a *Appraiser) joinedText(run []word) string {
	a.key = a.key[:0]
	for k := range run {
		a.key = append(a.key, run[k].text...)
	}
	return a.keyText()
}

// keyText returns a.key as a string, which is valid until a.key changes.
func (a *Appraiser) keyText() string { return unsafe.String(unsafe.SliceData(a.key), len(a.key)) }

// readNumbers looks up the numbers among the words. A word that can only be a number is the line's
// number, if none was given.
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

// standsAlone reports whether a word is the only one in its brackets: "(#4)", not "(#12 Charizard
// Stamped)".
func (f *parsedLine) standsAlone(i int) bool {
	group := f.words[i].group
	return group == 0 || (i == 0 || f.words[i-1].group != group) &&
		(i+1 == len(f.words) || f.words[i+1].group != group)
}

// isNameOfOthers reports whether a card without the number has exactly the line's name, number
// included: some names contain another card's number.
func (cs catalogLookup) isNameOfOthers(f *parsedLine, numbered []uint32) bool {
	name := cardvocab.Fold(f.item.Name)
	return slices.ContainsFunc(cs.view.Index.Lookup().ByBaseName(f.baseName), func(card uint32) bool {
		other := cs.view.Catalog.Cards.Name.At(int(card))
		return !index.Contains(numbered, card) && len(other) >= len(name) && cardvocab.Fold(other) == name
	})
}
