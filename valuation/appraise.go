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

	cards   cards
	item    Item
	pricer  pricer
	facts   facts
	fits    []uint32
	others  []uint32
	facets  facets
	matches []index.Match
	key     []byte
	phrase  []byte
	parts   []string
	noSets  int // lines whose set is none
	guesses int // lines that no card fits

	lastSet namedSets
}

// Reset makes the appraiser one for another list, or with nil for none: then it holds no View and no
// text of a caller.
func (a *Appraiser) Reset(view *engine.View) {
	a.View = view
	clear(a.cards.numbers)
	a.cards = cards{view, a.cards.numbers}
	a.pricer = pricer{view, a.pricer.finishes[:0]}
	a.noSets = 0
	a.guesses = 0
	a.lastSet = namedSets{}
	a.item = Item{}
	clear(a.parts[:cap(a.parts)])

	clear(a.facts.words[:cap(a.facts.words)])
	clear(a.facts.beside[:cap(a.facts.beside)])
	a.facts = facts{words: a.facts.words[:0], beside: a.facts.beside[:0]}
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
	if a.cards.numbers == nil {
		a.cards.numbers = map[string][]uint32{}
	}
	clear(a.cards.numbers)
	readLine(&a.item)

	// An export's product may be none of the catalog's: then the rest of the row is read.
	if a.item.unsure && len(a.View.Index.Identified(a.item.Identifier)) == 0 {
		a.item.Identifier = ""
	}

	r := newResult(a.item.Quantity)
	if ref := cmp.Or(a.item.ID, a.item.Identifier); ref != "" {
		a.byRef(&r, &a.item, ref)
		return r
	}

	// Text of so many strange words is not even read.
	if a.strange(a.item.Name) > mostUnread {
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
		r.Note = "give an id, a name, or a set and a number"
		r.Ask = AskName
	}
	return r
}

// byRef takes a line with an id, which alone tells the card: what else the line says must be of it. The
// words of one that is nothing, and the rest of the line, may still say which card is meant.
func (a *Appraiser) byRef(r *Result, item *Item, ref string) {
	ref = a.View.Index.Respell(ref)
	card, ok := a.View.Index.Card(ref)
	cards := a.View.Index.Identified(ref)
	if !ok && len(cards) == 1 {
		card = int(cards[0])
		ok = true
	}
	if ok && item.Game != "" && a.View.Index.Facts().Game(item.Game) != int(a.View.Catalog.Cards.Game[card]) {
		r.Note = `the card of this id is not of the game "` + clip(item.Game) + `"`
		r.Candidates = []uint32{uint32(card)}
		return
	}
	if ok {
		a.settle(r, a.readRef(item), card)
		return
	}
	if len(cards) > 1 {
		// Whatever else the line says, the identifier goes first.
		a.leave(r, a.readRef(item), cards)
		r.Ask = 0
		r.Note = "several cards have this identifier; give one's id"
		return
	}

	r.Note = "no card has this id, slug or identifier"
	f := a.readAs(item, 0)

	// A slug that is gone is made of the card's own words; an id or identifier is not.
	if item.Name == "" && !strings.HasPrefix(ref, "card_") && !strings.Contains(ref, ":") {
		f.item.Name = strings.ReplaceAll(ref, "-", " ")
		f = a.readAs(f.item, 0)
	}

	if len(f.words) > 0 {
		a.guess(r, f)
	}

	// The id is what is wrong, and what guess says of the rest would hide that.
	r.Ask = askAll
	r.Note = "no card has this id, slug or identifier; give a candidate's id, or " + r.Ask.Text() + " in its place"
}

// readRef reads what a line with an id says of the copy. What it says of the card is held against it.
func (a *Appraiser) readRef(item *Item) *facts {
	item.claimRest()
	f := &a.facts
	*f = facts{
		item: item, words: f.words[:0], beside: f.beside[:0], plain: true, game: -1, variant: item.Variant,
		condition: item.Condition, another: item.another, doubt: item.doubt,
	}
	f.splitState()
	f.readClaims(a)
	return f
}

// isNumberAlone reports whether a line is a number that names its set as well, and cards have it: "OP01-016"
// of a deck list.
func (f *facts) isNumberAlone() bool {
	return len(f.words) == 1 && isFullNumber(f.words[0].raw) && f.number == f.words[0].raw && !f.noSet && !f.noGame
}

// byNumber takes a line without a name: set and number may still say which card it is.
func (a *Appraiser) byNumber(r *Result, f *facts) {
	if f.noSet {
		a.tellNoSet(r, f)
		r.Ask = AskSet
		return
	}

	there := a.there(f)
	if len(there) > 0 {
		a.decide(r, f, there)
		return
	}
	r.Note = "the set has no card with this number"
	if !f.hasSet() {
		r.Note = "no card of this game has this number"
	}
	r.Ask = AskNumber
}

// there are the cards of the line's sets that have its number.
func (a *Appraiser) there(f *facts) []uint32 {
	a.fits = a.fits[:0]
	for _, card := range f.numbered {
		if a.cards.passes(f, card) && (!f.hasSet() || a.cards.isIn(card, f.sets)) {
			a.fits = append(a.fits, card)
		}
	}
	return a.fits
}

// byName takes a line with a name. It is certain of the only card that has all that the line says,
// of the only one that is printed so, and of the only card with the number in the set when the name
// may be a misspelling of its name. All else is left to the caller.
func (a *Appraiser) byName(r *Result, f *facts) {
	a.matches = a.matches[:0]
	if f.isHopeless() {
		r.reject("no card has this name")
		return
	}

	fits, several := a.fitAny(f)
	switch {
	case len(fits) == 0:
	case f.near:
		a.leaveNear(r, f, fits)
		return
	case several:
		a.leave(r, f, fits)
		return
	default:
		a.decide(r, f, fits)
		return
	}

	// With a set or game that is none, no card is certain (decision 2208).
	if f.noSet || f.noGame {
		a.guess(r, f)
		return
	}

	if card, ok := a.alone(f); ok {
		a.settle(r, f, int(card))
		return
	}

	// Search reads words in any order; it is believed where a card has the whole name.
	if whole := a.searched(f); len(whole) > 0 {
		a.decide(r, f, whole)
		return
	}

	if card, ok := a.respelt(f); ok {
		a.settle(r, f, int(card))
		return
	}
	a.guess(r, f)
}

// respelt is the only card with the line's number in its set, when search takes the name for it.
func (a *Appraiser) respelt(f *facts) (card uint32, ok bool) {
	card, ok = a.onlyThere(f)
	return card, ok && slices.ContainsFunc(a.matches, func(match index.Match) bool {
		return match.Card == card && match.Missing == 0
	})
}

// onlyThere is the only card with the line's number in its set, when the name may be a misspelling of
// its name: number and set leave this card alone, so that it means no other.
func (a *Appraiser) onlyThere(f *facts) (card uint32, ok bool) {
	if !f.hasSet() || !f.hasNumber() || len(f.words) > searchWords || a.isElsewhere(f) {
		return 0, false
	}

	there := a.there(f)
	if len(there) != 1 {
		return 0, false
	}

	like, _ := a.cards.isLike(f, there[0])
	return there[0], like
}

// mostReadings is how many cores of a line are tried. A line of more is a list of its own, and has no
// price.
const mostReadings = 8

// fitAny are the cards that fit a line by any of the cores that it has, for a set or a qualifier may have
// words of another card's name: "flygon ex dragon", a kit called "Pikachu Libre & Suicune". several says
// that one reading has cards which another has not. The facts at hand are those of the first reading
// that has cards.
func (a *Appraiser) fitAny(f *facts) (fits []uint32, several bool) {
	fits = a.fitted(f)
	if f.cores < 2 || f.known {
		return fits, false
	}

	// A second reading overwrites the slice and the facts of the first.
	fits = slices.Clone(fits)
	item := f.item
	cores := f.cores
	first := 0
	for reading := 1; reading < cores; reading++ {
		own := len(fits)
		if own == 0 {
			first = reading
		}
		for _, card := range a.fitted(a.readAs(item, reading)) {
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
	a.fitted(f)
	if cores == mostReadings {
		f.doubt = cmp.Or(f.doubt, "the line names too many cards")
	}
	return fits, several
}

// fitted are the cards that fit a line. The words of a variant may describe no card: then it is read as
// it was given.
func (a *Appraiser) fitted(f *facts) []uint32 {
	fits := a.fitting(f)
	if len(fits) > 0 || f.extra >= len(f.words) {
		return fits
	}
	f.words = f.words[:f.extra]
	f.variant = f.item.Variant
	return a.fitting(f)
}

// alone is the only card with the line's number in its set, when the name may mean it. Where no number
// was given, a bare integer beside the name may be one.
func (a *Appraiser) alone(f *facts) (card uint32, ok bool) {
	// An integer that is no number leaves the line as it was, for search is next.
	read := *f
	at := slices.IndexFunc(f.words, func(w word) bool { return w.kind == asNumber })
	if !f.hasNumber() && at >= 0 {
		read.number = f.words[at].raw
		read.numbered = f.words[at].cards
	}
	if !f.hasSet() || !f.plain || !read.hasNumber() {
		return 0, false
	}

	there := a.there(&read)
	if len(there) != 1 {
		return 0, false
	}
	like, named := a.cards.isLike(&read, there[0])
	if !like || !named {
		return 0, false
	}
	*f = read
	return there[0], true
}

// decide settles a line on one of the cards that fit it, or leaves it to the caller.
func (a *Appraiser) decide(r *Result, f *facts, fits []uint32) {
	// A line that names a variant means a card that has it, priced now or not (decision 2205).
	if len(fits) > 1 && f.variant != "" {
		fits = a.withVariant(f, fits)
	}

	if len(fits) == 1 {
		a.settle(r, f, int(fits[0]))
		return
	}

	if printed := a.printed(f, fits); printed >= 0 {
		a.settle(r, f, printed)
		a.tellOthers(r, f, fits, uint32(printed))
		return
	}
	a.leave(r, f, fits)
}

// withVariant keeps the cards that have the variant of the line, all where none has.
func (a *Appraiser) withVariant(f *facts, fits []uint32) []uint32 {
	wanted := wantedOf(f)
	if !slices.ContainsFunc(fits, func(card uint32) bool { return a.pricer.hasVariant(&wanted, card) }) {
		return fits
	}
	return slices.DeleteFunc(fits, func(card uint32) bool { return !a.pricer.hasVariant(&wanted, card) })
}

// printed is the one card of those that fit that is printed exactly as the line says, set included;
// -1 where none or several are.
func (a *Appraiser) printed(f *facts, fits []uint32) int {
	found := -1

	// A whole name alone stays a question: the dearer printing may be meant (decision 2201).
	if !f.hasSet() || f.item.Set == "" && !f.hasNumber() {
		return -1
	}

	// A promo's name may have the very code and number: "Basic Fire Energy - MEE 002".
	if f.deck && slices.ContainsFunc(fits, func(card uint32) bool { return !a.cards.isIn(card, f.sets) }) {
		return -1
	}

	f.quiet = !slices.ContainsFunc(fits, func(card uint32) bool { return a.cards.saysQuietly(f, card) })
	for _, card := range fits {
		if !a.cards.isIn(card, f.sets) || !a.cards.isPrinted(f, card) {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = int(card)
	}
	return found
}

// settle prices a line that means a card.
func (a *Appraiser) settle(r *Result, f *facts, card int) {
	r.Card = card
	r.Status = Unpriced
	r.Note = a.doubtOf(f, uint32(card))
	if r.Note != "" {
		a.pricer.tellLanes(r)
		return
	}

	wanted := wantedOf(f)
	a.pricer.price(r, &wanted)
	if f.item.note != "" {
		r.Note = joined(r.Note, f.item.note)
	}
}

// joined is a note with one more sentence.
func joined(note, more string) string { return strings.TrimPrefix(note+"; "+more, "; ") }

// mostOthers is how many other printings a note names.
const mostOthers = 2

// tellOthers says what else is printed with the name of a settled line.
func (a *Appraiser) tellOthers(r *Result, f *facts, fits []uint32, card uint32) {
	var names []string
	for _, other := range a.likeliest(f, fits) {
		if other != card && len(names) < mostOthers {
			names = append(names, `"`+clip(a.View.Catalog.Cards.Name.At(int(other)))+`"`)
		}
	}

	r.Note = joined(r.Note, "also printed as "+strings.Join(names, ", "))
	if more := len(fits) - 1 - len(names); more > 0 {
		r.Note += " and " + strconv.Itoa(more) + " more"
	}
}

// leave leaves a line that several cards fit to the caller, with what tells them apart.
func (a *Appraiser) leave(r *Result, f *facts, fits []uint32) {
	r.Status = Ambiguous
	r.Fitting = len(fits)

	wanted := wantedOf(f)
	for _, card := range fits {
		r.widen(a.pricer.likely(&wanted, card))
	}

	r.Candidates = slices.Clone(a.likeliest(f, fits))
	r.Ask = a.ask(f, fits)
	r.Note = "give one's id, or " + r.Ask.Text()
}

// leaveNear leaves a line to the caller whose cards only come near the rarity that it says.
func (a *Appraiser) leaveNear(r *Result, f *facts, fits []uint32) {
	r.Candidates = slices.Clone(a.likeliest(f, fits))
	if len(fits) > 1 {
		a.leave(r, f, fits)
	}
	r.Ask = askAll
	r.Note = "no card of this name has just this rarity; give one's id, or " + r.Ask.Text()
}

// mostCandidates bounds Appraiser.Candidates: more are no question that a person answers.
const mostCandidates = 24

// likeliest are the first candidates of some cards in order of likeness. They hold until it is called
// again.
func (a *Appraiser) likeliest(f *facts, cards []uint32) []uint32 {
	var best [mostCandidates]likeness
	most := min(cmp.Or(a.Candidates, MaxCandidates), mostCandidates)
	n := 0

	// A common name fits hundreds of cards, of which three are shown: not all are sorted.
	for _, card := range cards {
		like := a.cards.likenessOf(f, card)
		at := n
		for at > 0 && a.cards.isLikelier(like, best[at-1]) {
			at--
		}
		if at == most {
			continue
		}

		n = min(n+1, most)
		copy(best[at+1:n], best[at:])
		best[at] = like
	}

	a.others = a.others[:0]
	for i := range n {
		a.others = append(a.others, best[i].card)
	}
	return a.others
}

// longestEcho is how much of a caller's own text is said back, in characters.
const longestEcho = 60

// clip is a text as it can be said back.
func clip(s string) string {
	if len(s) <= longestEcho {
		return s
	}

	// Half of a character is no text: the cut is between two.
	if runes := []rune(s); len(runes) > longestEcho {
		return string(runes[:longestEcho]) + "…"
	}
	return s
}
