package valuation

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unsafe"

	"ninepocket/collector"
	"ninepocket/index"
)

// facts are what a line says, read against a catalog.
type facts struct {
	item   *Item
	words  []word
	beside []word // what claims say
	plain  bool   // the words are all that the name says
	core   string // the key of the name's core, "" where no card has one
	known  bool   // the name is that core and nothing else

	extra   int  // where the words of the variant begin
	reading int  // which of the line's cores is taken, the longest first
	cores   int  // how many there are
	wishes  bool // a word asks for a rarity
	near    bool // what comes near a wish counts
	quiet   bool // no card that fits has a word that tells nothing

	game   int // -1 for any
	noGame bool

	sets   []uint32 // that the set may be, ascending
	noSet  bool     // a set was given and there is none
	setRun []word   // the words of the name that the set was read from
	deck   bool     // they are a deck list's code

	number   string   // as given, "" for none
	numbered []uint32 // the cards that have it

	variant, condition string
	version            int    // of Cardmarket's, 0 for none
	named              int    // the version that the name says, not what stands beside it
	another            string // what says that the copy is another one, "" for nothing
	doubt              string // why the line cannot be priced, whichever card it means
	clash              []word // a finish that contradicts the variant
}

func (f *facts) hasNumber() bool { return f.number != "" }
func (f *facts) hasSet() bool    { return len(f.sets) > 0 }

// withoutNumber is the line as it would be without its number.
func (f *facts) withoutNumber() *facts {
	rest := *f
	rest.number = ""
	return &rest
}

// withoutSet is the line as it would be without its set, whether there is one or not.
func (f *facts) withoutSet() *facts {
	rest := *f
	rest.sets = nil
	rest.noSet = false
	return &rest
}

// takeSet takes some words for the sets that they name.
func (f *facts) takeSet(sets []uint32, run []word) {
	f.sets = sets
	f.setRun = run
	for k := range run {
		run[k].kind = ofSet
	}
}

// readAs reads an item by one of the cores that its name may have, the longest first. Its strings stay
// the item's own.
func (a *Appraiser) readAs(item *Item, reading int) *facts {
	f := &a.facts
	*f = facts{
		reading: reading, item: item, words: f.words[:0], beside: f.beside[:0], game: -1,
		variant: item.Variant, condition: item.Condition, another: item.another, doubt: item.doubt,
	}
	if item.Game != "" {
		f.game = a.View.Index.Facts().Game(item.Game)
		f.noGame = f.game < 0
	}

	f.words, f.plain = readWords(f.words, strings.TrimSpace(item.Name))
	f.readCells(item.aside)
	f.readNumber(a, item.Number)
	f.readSet(a, item.Set)
	f.splitState()
	f.extra = len(f.words)

	// Each reading takes words out of the next one's way: a core goes before sets and wishes.
	if f.plain {
		f.readCode(a)
		f.readDeckCode(a)
		f.findCore(a)
		f.readSetWords(a)
	}

	f.readAsides(a, f.words)
	if f.plain {
		f.readNumbers(a)
		f.readVariant(a)
	}

	// Many cards are asked for each word, which is looked up once.
	a.cards.lookUp(f.words)
	f.named = f.version
	f.readClaims(a)
	return f
}

// splitState takes a finish off a condition: "Near Mint Foil".
func (f *facts) splitState() {
	if f.condition == "" || isCondition(f.condition) {
		return
	}

	// The condition keeps as many words as it can.
	for at := strings.LastIndexByte(f.condition, ' '); at > 0; at = strings.LastIndexByte(f.condition[:at], ' ') {
		finish := f.condition[at+1:]
		if _, ok := collector.Finish(finish); !ok || !isCondition(f.condition[:at]) {
			continue
		}

		if f.variant != "" && !areOneFinish(f.variant, finish) {
			f.doubt = `the condition's "` + clip(finish) + `" contradicts the variant "` + clip(f.variant) + `"`
		}
		f.variant = cmp.Or(f.variant, finish)
		f.condition = f.condition[:at]
		return
	}
}

// areOneFinish reports whether a variant has all that a finish says: "1st Edition Holofoil" is a holo.
func areOneFinish(variant, finish string) bool {
	have, _ := collector.Finish(variant)
	said, _ := collector.Finish(finish)
	return have&said == said
}

// readVariant reads what a variant says beside a finish as words of the card: "Cosmos Holo", "Master
// Ball Pattern".
func (f *facts) readVariant(a *Appraiser) {
	f.extra = len(f.words)
	if _, ok := collector.Finish(f.variant); ok || f.variant == "" || f.core == "" || a.cards.isVariant(f.variant) {
		return
	}

	fields := strings.Fields(f.variant)
	from := len(fields)
	for i := range fields {
		if _, ok := collector.Finish(strings.Join(fields[i:], " ")); ok {
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
func (cs cards) isVariant(name string) bool {
	for variant := range cs.view.Catalog.Variants.All() {
		if collector.SameVariant(variant, name) {
			return true
		}
	}
	return false
}

// readNumber reads the number that was given, or else one that stands in the name. One behind the code of a
// set is that of a card of the set: "svp 085".
func (f *facts) readNumber(a *Appraiser, number string) {
	number = strings.TrimSpace(number)
	if number == "" || f.hasNumber() {
		return
	}

	f.number = number
	f.numbered = a.cards.numbered(number)
	if len(f.numbered) > 0 {
		return
	}

	if code, rest, ok := strings.Cut(number, " "); ok {
		if sets := a.View.Index.SetNames().Spelt(collector.Fold(code)); len(sets) > 0 {
			f.number = strings.TrimSpace(rest)
			f.numbered = a.cards.numbered(f.number)

			// A set that was given goes before one that came with the number.
			if f.item.Set == "" {
				f.sets = sets
			}
		}
	}
}

func (f *facts) readSet(a *Appraiser, set string) {
	if strings.TrimSpace(set) == "" {
		return
	}

	f.sets = a.lastSet.of(a.View.Index.SetNames(), set)

	// Apps name sets in their own way; a code is mostly the printed one.
	if len(f.sets) == 0 && f.item.code != "" {
		f.sets = a.View.Index.SetNames().Spelt(collector.Fold(f.item.code))
	}

	f.noSet = !f.hasSet()
	if f.noSet {
		return
	}
	fields := strings.Fields(set)
	f.sets = a.cards.orNumbered(f.sets, collector.Fold(set), fields[len(fields)-1], f.item.setEnds)

	// The name of a set is told without its edition, which is one of the copy. In brackets it is of the
	// set: "Base Set (1st Edition & Shadowless)".
	if plain, _, _ := strings.Cut(set, "("); strings.Contains(collector.Fold(plain), "1stedition") {
		f.item.claim(ofWords, "1st edition")
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
	last.sets = names.Named(name)
	if len(last.sets) == 0 {
		last.sets = names.Like(name)
	}
	return last.sets
}

// readCode reads brackets with a set's code and a number: "(MEW 199)". A code that no set has is
// left out, for the number tells the card.
func (f *facts) readCode(a *Appraiser) {
	for i := range f.words {
		if !isCodeAt(f.words, i) {
			continue
		}
		code := &f.words[i]
		number := &f.words[i+1]

		// A code that no set has may be an app's own, where the set is told otherwise.
		sets := a.View.Index.SetNames().Spelt(code.text)
		if len(sets) == 0 {
			sets = a.View.Index.SetNames().Coded(code.text)
		}
		if len(sets) == 0 && f.item.Set == "" {
			continue
		}

		code.kind = idle
		code.suffix = true
		number.suffix = true
		f.readNumber(a, number.raw)

		// A set that was given tells the card, and a code of another one contradicts it.
		if f.item.Set != "" || f.hasSet() {
			f.item.claim(ofCode, code.raw)
			continue
		}

		code.kind = ofSet
		f.sets = sets
	}
}

// longestDeckCode is how many words a code of a deck list has: "PR-SV".
const longestDeckCode = 2

// readDeckCode reads what deck lists write behind a name, the code of a set and a number: "OBF 125". Such
// codes are words as well, so that they must be capitals among small letters, and the set must have the
// number.
func (f *facts) readDeckCode(a *Appraiser) {
	if f.item.Set != "" || f.hasSet() || !strings.ContainsFunc(f.item.Name, unicode.IsLower) {
		return
	}

	for i := 1; i < len(f.words); i++ {
		number := &f.words[i]
		if number.kind != asNumber || number.group != 0 {
			continue
		}
		if f.readGluedCode(a, i) {
			return
		}
		for n := 1; n <= min(longestDeckCode, i-1); n++ {
			run := f.words[i-n : i]
			sets := a.cards.havingNumber(f.deckSets(a, run), number.raw)
			if len(sets) == 0 {
				continue
			}

			number.suffix = true
			f.takeSet(sets, run)
			f.deck = true
			f.readNumber(a, number.raw)
			return
		}
	}
}

// readGluedCode reads a code and a number that were written as one: "OBF125". A number that some card
// has is none.
func (f *facts) readGluedCode(a *Appraiser, at int) bool {
	w := &f.words[at]
	code := strings.TrimRight(w.raw, "0123456789")
	number := w.raw[len(code):]
	if code == "" || number == "" || code != strings.ToUpper(code) || len(a.cards.numbered(w.raw)) > 0 {
		return false
	}
	sets := a.cards.havingNumber(a.View.Index.SetNames().Coded(collector.Fold(code)), number)
	if len(sets) == 0 {
		return false
	}

	w.suffix = true
	f.takeSet(sets, f.words[at:at+1])
	f.deck = true
	f.readNumber(a, number)
	return true
}

// deckSets are the sets that some words are a deck list's code of.
func (f *facts) deckSets(a *Appraiser, run []word) []uint32 {
	for k := range run {
		if w := &run[k]; w.kind != told || w.group != 0 || w.raw != strings.ToUpper(w.raw) {
			return nil
		}
	}
	return a.View.Index.SetNames().Coded(a.joined(run))
}

// havingNumber are some sets where a card of theirs has a number, else the parts of them that have one:
// CRZ GG70 is in "Crown Zenith: Galarian Gallery".
func (cs cards) havingNumber(sets []uint32, number string) []uint32 {
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
		number.kind == asNumber && isCode(code.raw) && !isGrader(code.text) &&
		(!number.isBare() || len(number.raw) <= longestBare)
}

// longestBare is how many digits a number without a total has at most: four are a year.
const longestBare = 3

// isCode reports whether a text is spelt as the code of a set: two to five capitals and digits.
func isCode(s string) bool {
	letters := 0
	for i := range len(s) {
		switch {
		case 'A' <= s[i] && s[i] <= 'Z':
			letters++
		case !collector.IsDigit(s[i]):
			return false
		}
	}
	return letters > 0 && len(s) >= 2 && len(s) <= 5
}

// findCore finds the longest run of words that is the core of some card's name, the leftmost of
// equally long ones, or a later one for another reading. It does not cross brackets, and words outside
// them go first.
func (f *facts) findCore(a *Appraiser) {
	// Brackets qualify a name, and have it only where nothing else does.
	for _, inside := range []bool{false, true} {
		begin := 0
		length := 0
		for n := len(f.words); n > 0; n-- {
			for i := 0; i+n <= len(f.words); i++ {
				if f.words[i].group > 0 != inside || !f.isCoreAt(a, i, n) {
					continue
				}
				if f.cores == f.reading {
					begin = i
					length = n
					f.core = string(a.key)
				}
				f.cores++

				// A later reading does not count them again.
				if f.cores > f.reading && (f.reading > 0 || f.cores == mostReadings) {
					n = 0
					break
				}
			}
		}

		if f.cores > 0 {
			f.known = length == len(f.words)
			for k := range f.words[begin : begin+length] {
				f.words[begin+k].kind = inCore
			}
			return
		}
	}

	// Several cards are "magikarps".
	for i := range f.words {
		w := &f.words[i]
		single, ok := strings.CutSuffix(w.text, "s")
		if ok && len(single) >= shortestPlural && single[len(single)-1] != 's' {
			many := w.text
			w.text = single
			if f.isCoreAt(a, i, 1) {
				f.core = string(a.key)
				f.cores = 1
				w.kind = inCore
				return
			}
			w.text = many
		}
	}
}

// shortestPlural is how many letters a name has at least that is read in the plural.
const shortestPlural = 4

// isCoreAt reports whether some words are the core of a name, and leaves its key at hand.
func (f *facts) isCoreAt(a *Appraiser, i, length int) bool {
	a.key = a.key[:0]
	longest := a.View.Index.Facts().LongestCore()
	run := f.words[i : i+length]
	for k := range run {
		if run[k].group != run[0].group || run[k].kind == idle || run[k].kind == ofSet ||
			len(a.key)+len(run[k].text) > longest {
			return false
		}
		a.key = append(a.key, run[k].text...)
	}
	return (length > 1 || run[0].kind != asNumber) && len(a.View.Index.Facts().Cored(a.keyText())) > 0
}

// joined is the folded text of some words, which holds until the next one.
func (a *Appraiser) joined(run []word) string {
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
func (f *facts) readNumbers(a *Appraiser) {
	for i := range f.words {
		w := &f.words[i]
		if w.kind != asNumber {
			continue
		}

		w.cards = a.cards.numbered(w.raw)
		sure := !w.isBare() || w.suffix && f.standsAlone(i)
		if !f.hasNumber() && sure && len(w.cards) > 0 && !a.cards.isNameOfOthers(f, w.cards) {
			f.number = w.raw
			f.numbered = w.cards
		}
	}
}

// standsAlone reports whether no other word is in the brackets of a word: "(#4)", not "(#12 Charizard
// Stamped)".
func (f *facts) standsAlone(i int) bool {
	group := f.words[i].group
	return group == 0 || (i == 0 || f.words[i-1].group != group) &&
		(i+1 == len(f.words) || f.words[i+1].group != group)
}

// isNameOfOthers reports whether a card without a number has the line's very name, number included:
// some names have another card's number in them.
func (cs cards) isNameOfOthers(f *facts, numbered []uint32) bool {
	name := collector.Fold(f.item.Name)
	for _, card := range cs.view.Index.Facts().Cored(f.core) {
		other := cs.view.Catalog.Cards.Name.At(int(card))
		if !holds(numbered, card) && len(other) >= len(name) && collector.Fold(other) == name {
			return true
		}
	}
	return false
}
