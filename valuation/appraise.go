package valuation

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"ninepocket/engine"
	"ninepocket/index"
)

// Appraiser values the lines of one list against a View. It reuses its memory between lines,
// and is not safe for concurrent use.
type Appraiser struct {
	View *engine.View
	// Candidates is the maximum number of candidates of a line; 0 means MaxCandidates.
	Candidates int

	lookup      catalogLookup
	item        Item
	pricer      pricer
	parsed      parsedLine
	matching    []uint32
	matches     []index.Match
	key         []byte
	phrase      []byte
	parts       []string
	unknownSets int // how many lines have an unknown set
	suggested   int // how many lines no card matches

	lastSet setNameCache
}

// Reset prepares the appraiser for another list. With a nil view it releases the View and the texts
// of the previous caller.
func (a *Appraiser) Reset(view *engine.View) {
	a.View = view
	clear(a.lookup.numbers)
	a.lookup = catalogLookup{view, a.lookup.numbers}
	a.pricer = pricer{view, a.pricer.traits[:0]}
	a.unknownSets = 0
	a.suggested = 0
	a.lastSet = setNameCache{}
	a.item = Item{}
	clear(a.parts[:cap(a.parts)])

	clear(a.parsed.words[:cap(a.parsed.words)])
	clear(a.parsed.assertedWords[:cap(a.parsed.assertedWords)])
	a.parsed = parsedLine{words: a.parsed.words[:0], assertedWords: a.parsed.assertedWords[:0]}
}

// Value returns the card and the price of a line.
func (a *Appraiser) Value(item Item) Result {
	r := a.value(item)
	if item.Picked && (r.Status != Priced || len(r.Ignored) > 0) {
		r = a.value(Item{ID: item.ID, Variant: item.Variant, Quantity: r.Quantity})
	}
	return r
}

func (a *Appraiser) value(item Item) Result {
	a.item = item
	if a.lookup.numbers == nil {
		a.lookup.numbers = map[string][]uint32{}
	}
	clear(a.lookup.numbers)
	a.matches = a.matches[:0] // of the previous line, or of another catalog
	readLine(&a.item)

	// The catalog may lack an export's product: then the rest of the row is used.
	if a.item.uncertainID && len(a.View.Index.ByIdentifier(a.item.Identifier)) == 0 {
		a.item.Identifier = ""
	}

	r := newResult(a.item.Quantity)
	if ref := cmp.Or(a.item.ID, a.item.Identifier); ref != "" {
		a.byRef(&r, &a.item, ref)
		return r
	}

	// A text of so many unknown words is not even read.
	if a.unknownWords(a.item.Name) > maxTextUnknown {
		r.reject("no card has this name")
		return r
	}

	// A name that matches no card is not searched: docs/dev/SEARCH.md, Cost.
	if index.IsTooLong(a.item.Name) {
		r.reject("the name is too long")
		return r
	}

	f := a.readAs(&a.item, 0)
	switch {
	case f.isNumberAlone():
		a.byNumber(&r, f)
	case len(f.words) > 0 || !f.plain:
		a.byName(&r, f)
	case f.hasNumber() && (f.hasSet() || f.noSet):
		a.byNumber(&r, f)
	default:
		r.Remark = "give an id, a name, or a set and a number"
		r.Needed = NameField
	}
	return r
}

// byRef handles a line with an id, which alone identifies the card: the rest of the line describes
// the copy. Text that belongs to no card is ignored and named, unless it makes the copy another one.
// If the id is unknown, its words and the rest of the line may still suggest cards.
func (a *Appraiser) byRef(r *Result, item *Item, ref string) {
	ref = a.View.Index.CanonicalIdentifier(ref)
	card, ok := a.View.Index.Card(ref)
	cards := a.View.Index.ByIdentifier(ref)
	if !ok && len(cards) == 1 {
		card = int(cards[0])
		ok = true
	}
	switch {
	case ok && item.Game != "" && a.View.Index.Lookup().Game(item.Game) != int(a.View.Catalog.Cards.Game[card]):
		r.Remark = `the card of this id is not of the game "` + clip(item.Game) + `"`
		r.Candidates = []uint32{uint32(card)}
		return
	case ok:
		a.setResolved(r, a.readRef(item, card), card)
		return
	case len(cards) > 1:
		// The identifier takes precedence over the rest of the line.
		a.setAmbiguous(r, a.readRef(item, -1), cards)
		r.Needed = 0
		r.Remark = "several cards have this identifier; give one's id"
		return
	}

	r.Remark = "no card has this id, slug or identifier"
	f := a.readAs(item, 0)

	// A former slug is made of the card's own words; an id or identifier is not.
	if item.Name == "" && !strings.HasPrefix(ref, "card_") && !strings.Contains(ref, ":") {
		f.item.Name = strings.ReplaceAll(ref, "-", " ")
		f = a.readAs(f.item, 0)
	}

	if len(f.words) > 0 {
		a.suggest(r, f)
	}

	// The id is wrong, and the remark of suggest would hide that.
	r.Needed = cardFields
	r.Remark = "no card has this id, slug or identifier; give a candidate's id, or " + r.Needed.Text() + " in its place"
}

// readRef reads the description of the copy in a line with an id. Words about the card become
// assertions, unless they repeat the card's own fields; card is -1 if several have the id.
func (a *Appraiser) readRef(item *Item, card int) *parsedLine {
	if item.Name != "" {
		item.Name = saysNothing.ReplaceAllString(item.Name, " ")
	}
	item.assertRest()
	if card >= 0 {
		a.dropOwnFields(item, card)
	}

	*item = Item{
		Line: item.Line, Variant: item.Variant, Condition: item.Condition, Quantity: item.Quantity,
		otherCopy:  item.otherCopy,
		assertions: item.assertions, noPriceReason: item.noPriceReason, remark: item.remark, chosen: item.ID != "",
	}
	return a.readAs(item, 0)
}

// isNumberAlone reports whether a line is only a number that names its set and that a card has:
// "OP01-016" of a deck list.
func (f *parsedLine) isNumberAlone() bool {
	return len(f.words) == 1 && isFullNumber(f.words[0].raw) && f.number == f.words[0].raw && !f.noSet && !f.noGame
}

// byNumber handles a line without a name: set and number may still identify the card.
func (a *Appraiser) byNumber(r *Result, f *parsedLine) {
	if f.noSet {
		a.explainNoSet(r, f)
		r.Needed = SetField
		return
	}

	found := a.bySetNumber(f)
	if len(found) > 0 {
		a.resolve(r, f, found)
		return
	}
	r.Remark = "the set has no card with this number"
	if !f.hasSet() {
		r.Remark = "no card of this game has this number"
	}
	r.Needed = NumberField
}

// bySetNumber returns the cards of the line's sets that have its number.
func (a *Appraiser) bySetNumber(f *parsedLine) []uint32 {
	a.matching = a.matching[:0]
	for _, card := range f.numbered {
		if a.lookup.passesFilters(f, card) && (!f.hasSet() || a.lookup.isIn(card, f.sets)) {
			a.matching = append(a.matching, card)
		}
	}
	return a.matching
}

// byName handles a line with a name. It resolves the line to the only card that has every word of
// the line, or to the only card with that printed text. If the name may be a misspelling, number
// and set may also leave one card. All other lines stay ambiguous or unmatched.
func (a *Appraiser) byName(r *Result, f *parsedLine) {
	a.matches = a.matches[:0]
	tooMany := f.tooManyUnknown()
	if !tooMany && a.byWords(r, f) {
		return
	}

	if f.isSealed() {
		r.Remark = "sealed products have no prices here"
		return
	}

	if item, ok := a.reread(f); ok {
		a.byReread(r, item)
		return
	}
	if tooMany {
		a.addNumbered(r, f)
		r.reject("no card has this name")
		return
	}

	// If the set or the game is unknown, no card is certain (decision 2208).
	if f.noSet || f.noGame {
		a.suggest(r, f)
		return
	}

	if card, ok := a.uniqueByName(f); ok {
		a.setResolved(r, f, int(card))
		return
	}

	// Search accepts words in any order; its result counts if a card has the whole name.
	if whole := a.searchExact(f); len(whole) > 0 {
		a.resolve(r, f, whole)
		return
	}

	if card, ok := a.uniqueBySearch(f); ok {
		a.setResolved(r, f, int(card))
		return
	}
	a.suggest(r, f)
}

// uniqueBySearch returns the only card with the line's number in its set, if search finds it by the
// name.
func (a *Appraiser) uniqueBySearch(f *parsedLine) (card uint32, ok bool) {
	card, ok = a.uniqueBySetNumber(f)
	return card, ok && slices.ContainsFunc(a.matches, func(match index.Match) bool {
		return match.Card == card && match.Missing == 0
	})
}

// uniqueBySetNumber returns the only card with the line's number in its set, if the name may be a
// misspelling of its name. Number and set exclude all other cards.
func (a *Appraiser) uniqueBySetNumber(f *parsedLine) (card uint32, ok bool) {
	// A line contradicts itself where a card of its set has exactly this name and another number.
	if !f.hasSet() || !f.hasNumber() || len(f.words) > searchWords || len(a.matchAll(f.withoutNumber())) > 0 {
		return 0, false
	}

	found := a.bySetNumber(f)
	if len(found) != 1 {
		return 0, false
	}

	like, _ := a.lookup.allWordsMatch(f, found[0])
	return found[0], like
}

// maxBaseNames is the maximum number of base names of a line. A line with more is a list by
// itself, and has no price.
const maxBaseNames = 8

// matchAnyBaseName returns the cards that match a line with any of its base names. A set or a
// qualifier may contain another card's name: "flygon ex dragon", a kit called "Pikachu Libre &
// Suicune". several reports that one reading has cards and another has others. Then a.parsed is
// the first reading with cards.
func (a *Appraiser) matchAnyBaseName(f *parsedLine) (fits []uint32, several bool) {
	fits = a.matchingCards(f)
	if f.baseNameCount < 2 || f.onlyBaseName {
		return fits, false
	}

	// A second reading overwrites the slice and the parsed line of the first.
	fits = slices.Clone(fits)
	item := f.item
	count := f.baseNameCount
	first := 0
	for nameIndex := 1; nameIndex < count; nameIndex++ {
		own := len(fits)
		if own == 0 {
			first = nameIndex
		}
		for _, card := range a.matchingCards(a.readAs(item, nameIndex)) {
			if !slices.Contains(fits, card) {
				fits = append(fits, card)
				several = several || own > 0
			}
		}
	}

	if len(fits) == 0 {
		first = 0
	}
	f = a.readAs(item, first)
	a.matchingCards(f)
	if count == maxBaseNames {
		f.noPriceReason = cmp.Or(f.noPriceReason, "the line names too many cards")
	}
	return fits, several
}

// matchingCards returns the cards that match a line. If the words of a variant match no card, the
// variant is used as given.
func (a *Appraiser) matchingCards(f *parsedLine) []uint32 {
	fits := a.matchAll(f)
	if len(fits) > 0 || f.variantStart >= len(f.words) {
		return fits
	}
	f.words = f.words[:f.variantStart]
	f.variant = f.item.Variant
	return a.matchAll(f)
}

// uniqueByName returns the only card with the line's number in its set, if the name may mean it. If
// no number was given, a bare integer in the name may be one.
func (a *Appraiser) uniqueByName(f *parsedLine) (card uint32, ok bool) {
	// If the integer is no number, the line stays unchanged, because search follows.
	read := *f
	at := slices.IndexFunc(f.words, func(w word) bool { return w.role == numberWord })
	if !f.hasNumber() && at >= 0 {
		read.number = f.words[at].raw
		read.numbered = f.words[at].cards
	}
	if !f.hasSet() || !f.plain || !read.hasNumber() {
		return 0, false
	}

	found := a.bySetNumber(&read)
	if len(found) != 1 {
		return 0, false
	}
	like, named := a.lookup.allWordsMatch(&read, found[0])
	if !like || !named {
		return 0, false
	}
	*f = read
	return found[0], true
}

// resolve resolves a line to one of its matching cards, or leaves it ambiguous.
func (a *Appraiser) resolve(r *Result, f *parsedLine, fits []uint32) {
	// A line with a variant means a card that has it, whether it has a price now or not (decision
	// 2205).
	if len(fits) > 1 && f.variant != "" {
		fits = a.withVariant(f, fits)
	}

	if len(fits) == 1 {
		a.setResolved(r, f, int(fits[0]))
		return
	}

	if printed := a.exactPrinting(f, fits); printed >= 0 {
		a.setResolved(r, f, printed)
		a.addOtherPrintings(r, f, fits, uint32(printed))
		return
	}
	a.setAmbiguous(r, f, fits)
}

// withVariant returns the cards that have the variant of the line, all if none has.
func (a *Appraiser) withVariant(f *parsedLine, fits []uint32) []uint32 {
	wanted := newLaneQuery(f)
	if !slices.ContainsFunc(fits, func(card uint32) bool { return a.pricer.hasVariant(&wanted, card) }) {
		return fits
	}
	return slices.DeleteFunc(fits, func(card uint32) bool { return !a.pricer.hasVariant(&wanted, card) })
}

// exactPrinting returns the only matching card that is printed exactly as the line says, set
// included; -1 if none or several are.
func (a *Appraiser) exactPrinting(f *parsedLine, fits []uint32) int {
	found := -1

	// A whole name alone stays ambiguous: the more expensive printing may be meant (decision 2201).
	if !f.hasSet() || f.item.Set == "" && !f.hasNumber() {
		return -1
	}

	// A promo's name may contain the code and number again: "Basic Fire Energy - MEE 002".
	if f.isDeckCode && slices.ContainsFunc(fits, func(card uint32) bool { return !a.lookup.isIn(card, f.sets) }) {
		return -1
	}

	ignoreStopWords := !slices.ContainsFunc(fits, func(card uint32) bool { return a.lookup.hasStopWord(f, card) })
	for _, card := range fits {
		if !a.lookup.isIn(card, f.sets) || !a.lookup.isPrinted(f, card, ignoreStopWords) {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = int(card)
	}
	return found
}

// setResolved prices a line that means a card.
func (a *Appraiser) setResolved(r *Result, f *parsedLine, card int) {
	if len(f.conflictingFinish) > 0 && f.item.Variant == "" && a.lookup.isNamed(f.variant, uint32(card)) {
		f.variant = spaced(f.conflictingFinish)
		f.conflictingFinish = nil
	}

	r.Card = card
	r.Status = Unpriced
	r.Remark = a.noPriceReason(f, uint32(card))
	r.Ignored = f.ignored
	r.Quantity = max(r.Quantity, f.item.Quantity)
	if r.Remark != "" {
		a.pricer.listPrices(r)
		return
	}

	wanted := newLaneQuery(f)

	// "(1st Anniversary Set)" is part of a card's name, not its edition.
	if f.variant != "" && f.item.Variant == "" && !a.pricer.hasVariant(&wanted, uint32(card)) {
		isNamed := func(w string) bool { return a.lookup.isNamed(w, uint32(card)) }
		f.variant = strings.Join(slices.DeleteFunc(strings.Fields(f.variant), isNamed), " ")
		wanted = newLaneQuery(f)
	}
	a.pricer.priceLine(r, &wanted)
	if f.item.translated != "" && r.Lane >= 0 {
		// A name in another language may mean a copy in that language, which has no price.
		r.Assumed = append(r.Assumed, Assumption{"language", f.item.translated, "English"})
	}
	if f.item.remark != "" {
		r.Remark = joinSentences(r.Remark, f.item.remark)
	}
}

// joinSentences appends a sentence to a remark.
func joinSentences(text, more string) string { return strings.TrimPrefix(text+"; "+more, "; ") }

// maxOtherPrintings is how many other printings a remark names.
const maxOtherPrintings = 2

// addOtherPrintings adds the other cards that match a resolved line, and names them in the remark.
func (a *Appraiser) addOtherPrintings(r *Result, f *parsedLine, fits []uint32, card uint32) {
	others := slices.DeleteFunc(fits, func(fit uint32) bool { return fit == card })
	top := a.topCandidates(f, others)
	r.Alternates = top[:min(len(top), MaxCandidates)]
	r.AlternateCount = len(others)

	var names []string
	for _, other := range top[:min(len(top), maxOtherPrintings)] {
		names = append(names, `"`+clip(a.View.Catalog.Cards.Name.At(int(other)))+`"`)
	}
	r.Remark = joinSentences(r.Remark, "also printed as "+strings.Join(names, ", "))
	if more := len(others) - len(names); more > 0 {
		r.Remark += " and " + strconv.Itoa(more) + " more"
	}
}

// setAmbiguous sets the result of a line that several cards match, with the fields that distinguish
// them.
func (a *Appraiser) setAmbiguous(r *Result, f *parsedLine, fits []uint32) {
	r.Status = Ambiguous
	r.MatchCount = len(fits)

	wanted := newLaneQuery(f)
	for _, card := range fits {
		r.extendRange(a.pricer.likelyPrice(&wanted, card))
	}

	r.Candidates = a.topCandidates(f, fits)
	r.Needed = a.neededFields(f, fits)
	r.Remark = "give one's id, or " + r.Needed.Text()
}

// setAmbiguousNear sets the result of a line whose cards only nearly match its rarity.
func (a *Appraiser) setAmbiguousNear(r *Result, f *parsedLine, fits []uint32) {
	r.Candidates = a.topCandidates(f, fits)
	if len(fits) > 1 {
		a.setAmbiguous(r, f, fits)
	}
	r.Needed = cardFields
	r.Remark = "no card of this name has just this rarity; give one's id, or " + r.Needed.Text()
}

// candidateLimit bounds Appraiser.Candidates: nobody chooses among more.
const candidateLimit = 24

// topCandidates returns the first candidates among some cards by rank.
func (a *Appraiser) topCandidates(f *parsedLine, cards []uint32) []uint32 {
	var buf [candidateLimit]candidateRank
	best := buf[:0]
	limit := min(cmp.Or(a.Candidates, MaxCandidates), candidateLimit)

	// A common name matches hundreds of cards, of which three are shown: not all are sorted.
	for _, card := range cards {
		like := a.lookup.rankOf(f, card)
		at, _ := slices.BinarySearchFunc(best, like, a.lookup.compareRanks)
		if at < limit {
			best = slices.Insert(best[:min(len(best), limit-1)], at, like)
		}
	}

	var top []uint32
	for _, like := range best {
		top = append(top, like.card)
	}
	return top
}

// maxEcho is how much of a client's own text a remark repeats, in characters.
const maxEcho = 60

// clip cuts a text to the length that a remark repeats.
func clip(s string) string {
	if len(s) <= maxEcho {
		return s
	}

	// The cut is between two characters.
	if runes := []rune(s); len(runes) > maxEcho {
		return string(runes[:maxEcho]) + "…"
	}
	return s
}
