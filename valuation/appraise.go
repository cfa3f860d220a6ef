package valuation

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"ninepocket/engine"
	"ninepocket/index"
)

// Appraiser values the lines of one list against a View. It keeps scratch memory between lines, and
// is not safe for concurrent use.
type Appraiser struct {
	View *engine.View
	// Candidates is how many candidates a line gets at most; 0 means MaxCandidates.
	Candidates int

	lookup      catalogLookup
	item        Item
	pricer      pricer
	parsed      parsedLine
	matching    []uint32
	others      []uint32
	cardKeys    cardKeys
	matches     []index.Match
	key         []byte
	phrase      []byte
	parts       []string
	unknownSets int // lines whose set is none
	suggested   int // lines that no card fits

	lastSet namedSets
}

// Reset makes the appraiser one for another list, or with nil for none: then it holds no View and no
// text of a caller.
func (a *Appraiser) Reset(view *engine.View) {
	a.View = view
	clear(a.lookup.numbers)
	a.lookup = catalogLookup{view, a.lookup.numbers}
	a.pricer = pricer{view, a.pricer.finishes[:0]}
	a.unknownSets = 0
	a.suggested = 0
	a.lastSet = namedSets{}
	a.item = Item{}
	clear(a.parts[:cap(a.parts)])

	clear(a.parsed.words[:cap(a.parsed.words)])
	clear(a.parsed.assertedWords[:cap(a.parsed.assertedWords)])
	a.parsed = parsedLine{words: a.parsed.words[:0], assertedWords: a.parsed.assertedWords[:0]}
}

// Value finds out what a line means and costs.
func (a *Appraiser) Value(item Item) Result {
	r := a.value(item)
	if item.Picked && r.Status != Priced {
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
	readLine(&a.item)

	// An export's product may be none of the catalog's: then the rest of the row is read.
	if a.item.uncertainID && len(a.View.Index.ByIdentifier(a.item.Identifier)) == 0 {
		a.item.Identifier = ""
	}

	r := newResult(a.item.Quantity)
	if ref := cmp.Or(a.item.ID, a.item.Identifier); ref != "" {
		a.byRef(&r, &a.item, ref)
		return r
	}

	// Text of so many strange words is not even read.
	if a.unknownWords(a.item.Name) > maxTextUnknown {
		r.reject("no card has this name")
		return r
	}

	// A name that no card can have is not looked for: docs/SEARCH.md, Cost.
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

// byRef takes a line with an id, which alone tells the card: what else the line says must be of it. The
// words of one that is nothing, and the rest of the line, may still say which card is meant.
func (a *Appraiser) byRef(r *Result, item *Item, ref string) {
	ref = a.View.Index.CanonicalIdentifier(ref)
	card, ok := a.View.Index.Card(ref)
	cards := a.View.Index.ByIdentifier(ref)
	if !ok && len(cards) == 1 {
		card = int(cards[0])
		ok = true
	}
	if ok && item.Game != "" && a.View.Index.Lookup().Game(item.Game) != int(a.View.Catalog.Cards.Game[card]) {
		r.Remark = `the card of this id is not of the game "` + clip(item.Game) + `"`
		r.Candidates = []uint32{uint32(card)}
		return
	}
	if ok {
		a.setResolved(r, a.readRef(item), card)
		return
	}
	if len(cards) > 1 {
		// Whatever else the line says, the identifier goes first.
		a.setAmbiguous(r, a.readRef(item), cards)
		r.Needed = 0
		r.Remark = "several cards have this identifier; give one's id"
		return
	}

	r.Remark = "no card has this id, slug or identifier"
	f := a.readAs(item, 0)

	// A slug that is gone is made of the card's own words; an id or identifier is not.
	if item.Name == "" && !strings.HasPrefix(ref, "card_") && !strings.Contains(ref, ":") {
		f.item.Name = strings.ReplaceAll(ref, "-", " ")
		f = a.readAs(f.item, 0)
	}

	if len(f.words) > 0 {
		a.suggest(r, f)
	}

	// The id is what is wrong, and what guess says of the rest would hide that.
	r.Needed = cardFields
	r.Remark = "no card has this id, slug or identifier; give a candidate's id, or " + r.Needed.Text() + " in its place"
}

// readRef reads what a line with an id says of the copy. What it says of the card is held against it.
func (a *Appraiser) readRef(item *Item) *parsedLine {
	item.assertRest()
	f := &a.parsed
	*f = parsedLine{
		item: item, words: f.words[:0], assertedWords: f.assertedWords[:0], plain: true, game: -1,
		variant:   item.Variant,
		condition: item.Condition, otherCopy: item.otherCopy, noPriceReason: item.noPriceReason,
	}
	f.splitCondition()
	f.readAssertions(a)
	return f
}

// isNumberAlone reports whether a line is a number that names its set as well, and cards have it: "OP01-016"
// of a deck list.
func (f *parsedLine) isNumberAlone() bool {
	return len(f.words) == 1 && isFullNumber(f.words[0].raw) && f.number == f.words[0].raw && !f.noSet && !f.noGame
}

// byNumber takes a line without a name: set and number may still say which card it is.
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

// bySetNumber are the cards of the line's sets that have its number.
func (a *Appraiser) bySetNumber(f *parsedLine) []uint32 {
	a.matching = a.matching[:0]
	for _, card := range f.numbered {
		if a.lookup.passesFilters(f, card) && (!f.hasSet() || a.lookup.isIn(card, f.sets)) {
			a.matching = append(a.matching, card)
		}
	}
	return a.matching
}

// byName takes a line with a name. It is certain of the only card that has all that the line says,
// of the only one that is printed so, and of the only card with the number in the set when the name
// may be a misspelling of its name. All else is left to the caller.
func (a *Appraiser) byName(r *Result, f *parsedLine) {
	a.matches = a.matches[:0]
	if f.tooManyUnknown() {
		r.reject("no card has this name")
		return
	}

	fits, several := a.matchAnyBaseName(f)
	switch {
	case len(fits) == 0:
	case f.acceptNear:
		a.setAmbiguousNear(r, f, fits)
		return
	case several:
		a.setAmbiguous(r, f, fits)
		return
	default:
		a.resolve(r, f, fits)
		return
	}

	// With a set or game that is none, no card is certain (decision 2208).
	if f.noSet || f.noGame {
		a.suggest(r, f)
		return
	}

	if card, ok := a.uniqueByName(f); ok {
		a.setResolved(r, f, int(card))
		return
	}

	// Search reads words in any order; it is believed where a card has the whole name.
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

// uniqueBySearch is the only card with the line's number in its set, when search takes the name for
// it.
func (a *Appraiser) uniqueBySearch(f *parsedLine) (card uint32, ok bool) {
	card, ok = a.uniqueBySetNumber(f)
	return card, ok && slices.ContainsFunc(a.matches, func(match index.Match) bool {
		return match.Card == card && match.Missing == 0
	})
}

// uniqueBySetNumber is the only card with the line's number in its set, when the name may be a
// misspelling of its name: number and set leave this card alone, so that it means no other.
func (a *Appraiser) uniqueBySetNumber(f *parsedLine) (card uint32, ok bool) {
	if !f.hasSet() || !f.hasNumber() || len(f.words) > searchWords || a.hasOtherNumber(f) {
		return 0, false
	}

	found := a.bySetNumber(f)
	if len(found) != 1 {
		return 0, false
	}

	like, _ := a.lookup.allWordsMatch(f, found[0])
	return found[0], like
}

// maxBaseNames is how many cores of a line are tried. A line of more is a list of its own, and has
// no price.
const maxBaseNames = 8

// matchAnyBaseName are the cards that fit a line by any of the cores that it has, for a set or a
// qualifier may have words of another card's name: "flygon ex dragon", a kit called "Pikachu Libre
// & Suicune". several says that one reading has cards which another has not. The facts at hand are
// those of the first reading that has cards.
func (a *Appraiser) matchAnyBaseName(f *parsedLine) (fits []uint32, several bool) {
	fits = a.matchingCards(f)
	if f.baseNameCount < 2 || f.onlyBaseName {
		return fits, false
	}

	// A second reading overwrites the slice and the facts of the first.
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

// matchingCards are the cards that fit a line. The words of a variant may describe no card: then it
// is read as it was given.
func (a *Appraiser) matchingCards(f *parsedLine) []uint32 {
	fits := a.matchAll(f)
	if len(fits) > 0 || f.variantStart >= len(f.words) {
		return fits
	}
	f.words = f.words[:f.variantStart]
	f.variant = f.item.Variant
	return a.matchAll(f)
}

// uniqueByName is the only card with the line's number in its set, when the name may mean it. Where
// no number was given, a bare integer beside the name may be one.
func (a *Appraiser) uniqueByName(f *parsedLine) (card uint32, ok bool) {
	// An integer that is no number leaves the line as it was, for search is next.
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

// resolve settles a line on one of the cards that fit it, or leaves it to the caller.
func (a *Appraiser) resolve(r *Result, f *parsedLine, fits []uint32) {
	// A line that names a variant means a card that has it, priced now or not (decision 2205).
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

// withVariant keeps the cards that have the variant of the line, all where none has.
func (a *Appraiser) withVariant(f *parsedLine, fits []uint32) []uint32 {
	wanted := newLaneQuery(f)
	if !slices.ContainsFunc(fits, func(card uint32) bool { return a.pricer.hasVariant(&wanted, card) }) {
		return fits
	}
	return slices.DeleteFunc(fits, func(card uint32) bool { return !a.pricer.hasVariant(&wanted, card) })
}

// exactPrinting is the one card of those that fit that is printed exactly as the line says, set
// included; -1 where none or several are.
func (a *Appraiser) exactPrinting(f *parsedLine, fits []uint32) int {
	found := -1

	// A whole name alone stays a question: the dearer printing may be meant (decision 2201).
	if !f.hasSet() || f.item.Set == "" && !f.hasNumber() {
		return -1
	}

	// A promo's name may have the very code and number: "Basic Fire Energy - MEE 002".
	if f.isDeckCode && slices.ContainsFunc(fits, func(card uint32) bool { return !a.lookup.isIn(card, f.sets) }) {
		return -1
	}

	f.ignoreStopWords = !slices.ContainsFunc(fits, func(card uint32) bool { return a.lookup.hasStopWord(f, card) })
	for _, card := range fits {
		if !a.lookup.isIn(card, f.sets) || !a.lookup.isPrinted(f, card) {
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
	r.Card = card
	r.Status = Unpriced
	r.Remark = a.noPriceReason(f, uint32(card))
	if r.Remark != "" {
		a.pricer.listPrices(r)
		return
	}

	wanted := newLaneQuery(f)
	a.pricer.price(r, &wanted)
	if f.item.remark != "" {
		r.Remark = joinSentences(r.Remark, f.item.remark)
	}
}

// joinedText is a note with one more sentence.
func joinSentences(text, more string) string { return strings.TrimPrefix(text+"; "+more, "; ") }

// maxOtherPrintings is how many other printings a note names.
const maxOtherPrintings = 2

// addOtherPrintings says what else is printed with the name of a settled line.
func (a *Appraiser) addOtherPrintings(r *Result, f *parsedLine, fits []uint32, card uint32) {
	var names []string
	for _, other := range a.topCandidates(f, fits) {
		if other != card && len(names) < maxOtherPrintings {
			names = append(names, `"`+clip(a.View.Catalog.Cards.Name.At(int(other)))+`"`)
		}
	}

	r.Remark = joinSentences(r.Remark, "also printed as "+strings.Join(names, ", "))
	if more := len(fits) - 1 - len(names); more > 0 {
		r.Remark += " and " + strconv.Itoa(more) + " more"
	}
}

// setAmbiguous leaves a line that several cards fit to the caller, with what tells them apart.
func (a *Appraiser) setAmbiguous(r *Result, f *parsedLine, fits []uint32) {
	r.Status = Ambiguous
	r.MatchCount = len(fits)

	wanted := newLaneQuery(f)
	for _, card := range fits {
		r.widen(a.pricer.likelyPrice(&wanted, card))
	}

	r.Candidates = slices.Clone(a.topCandidates(f, fits))
	r.Needed = a.neededFields(f, fits)
	r.Remark = "give one's id, or " + r.Needed.Text()
}

// setAmbiguousNear leaves a line to the caller whose cards only come near the rarity that it says.
func (a *Appraiser) setAmbiguousNear(r *Result, f *parsedLine, fits []uint32) {
	r.Candidates = slices.Clone(a.topCandidates(f, fits))
	if len(fits) > 1 {
		a.setAmbiguous(r, f, fits)
	}
	r.Needed = cardFields
	r.Remark = "no card of this name has just this rarity; give one's id, or " + r.Needed.Text()
}

// candidateLimit bounds Appraiser.Candidates: more are no question that a person answers.
const candidateLimit = 24

// topCandidates are the first candidates of some cards in order of likeness. They hold until it is
// called again.
func (a *Appraiser) topCandidates(f *parsedLine, cards []uint32) []uint32 {
	var best [candidateLimit]candidateRank
	limit := min(cmp.Or(a.Candidates, MaxCandidates), candidateLimit)
	n := 0

	// A common name fits hundreds of cards, of which three are shown: not all are sorted.
	for _, card := range cards {
		like := a.lookup.rankOf(f, card)
		at := n
		for at > 0 && a.lookup.ranksBefore(like, best[at-1]) {
			at--
		}
		if at == limit {
			continue
		}

		n = min(n+1, limit)
		copy(best[at+1:n], best[at:])
		best[at] = like
	}

	a.others = a.others[:0]
	for i := range n {
		a.others = append(a.others, best[i].card)
	}
	return a.others
}

// maxEcho is how much of a caller's own text is said back, in characters.
const maxEcho = 60

// clip is a text as it can be said back.
func clip(s string) string {
	if len(s) <= maxEcho {
		return s
	}

	// Half of a character is no text: the cut is between two.
	if runes := []rune(s); len(runes) > maxEcho {
		return string(runes[:maxEcho]) + "…"
	}
	return s
}
