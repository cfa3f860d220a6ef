package valuation

import (
	"bytes"
	"slices"
	"strings"

	"ninepocket/collector"
	"ninepocket/index"
)

// fitting are the cards that have all that a line says; their names may say more. It is the
// appraiser's own slice.
func (a *Appraiser) fitting(f *facts) []uint32 {
	a.fits = a.fits[:0]
	if f.core == "" || f.noSet || f.noGame {
		return a.fits
	}

	// Cards that only come near what is wished for count where none has it.
	f.near = false
	for {
		for _, card := range a.View.Index.Facts().Cored(f.core) {
			if a.passes(f, card) && a.explains(f, card) {
				a.fits = append(a.fits, card)
			}
		}
		// Set and number tell the card, and then it must have what the words say.
		if len(a.fits) > 0 || f.near || !f.wishes || f.hasSet && f.hasNumber {
			return a.fits
		}
		f.near = true
	}
}

// passes reports whether a card is of the line's game, set and number.
func (a *Appraiser) passes(f *facts, card uint32) bool {
	if f.game >= 0 && int(a.View.Catalog.Cards.Game[card]) != f.game {
		return false
	}

	// A promo may name the set that it goes with, and be of another (decision 2206).
	if f.hasSet && !a.isIn(card, f.sets) && !a.isAbout(f.setRun, card) {
		return false
	}

	if f.hasNumber {
		if _, ok := slices.BinarySearch(f.numbered, card); !ok {
			return false
		}
	}
	return true
}

// isAbout reports whether words that were read as a set qualify a card's name: a promo names the set
// that it belongs to.
func (a *Appraiser) isAbout(run []word, card uint32) bool {
	for i := range run {
		if !run[i].known || !a.View.Index.Facts().Names(card, run[i].id) {
			return false
		}
	}
	return len(run) > 0
}

// explains reports whether each word beside the core is something of the card: of its name, its set,
// its printing, its rarity, its number or its traits.
func (a *Appraiser) explains(f *facts, card uint32) bool {
	for i := 0; i < len(f.words); i++ {
		w := &f.words[i]
		switch w.kind {
		case asNumber:
			if !a.isNumbered(w, card) {
				return false
			}
		case told:
			if !a.says(w, card) {
				return false
			}

		// What a phrase wishes for may be in the name, or be a trait.
		case wished:
			run := f.words[i : i+int(w.run)]
			if !a.saysAll(run, card) && !a.grants(f, w, card) {
				return false
			}
			i += int(w.run) - 1
		case inCore, ofSet, idle, ofCopy, ofState:
		}
	}
	return true
}

// says reports whether a word is of a card's name, its printing, its set or its rarity.
func (a *Appraiser) says(w *word, card uint32) bool {
	facts := a.View.Index.Facts()
	if w.known && (facts.Names(card, w.id) || facts.IsOfSet(card, w.id)) {
		return true
	}

	// A rarity is no word of the name or set, and yet lists put it beside the name.
	return isWordOf(a.View.Catalog.Cards.Rarity.At(int(card)), w.raw)
}

func (a *Appraiser) saysAll(run []word, card uint32) bool {
	for i := range run {
		if !a.says(&run[i], card) {
			return false
		}
	}
	return true
}

// isWordOf reports whether a text has a word as it is written, case aside.
func isWordOf(text, w string) bool {
	for at := 0; at+len(w) <= len(text); at++ {
		end := at + len(w)
		if (at == 0 || divides(text[at-1])) && (end == len(text) || divides(text[end])) &&
			strings.EqualFold(text[at:end], w) {
			return w != ""
		}
	}
	return false
}

// isNumbered reports whether a number is the card's, or a word of its name or set. A parallel and
// the number within a set are written as the number, too.
func (a *Appraiser) isNumbered(w *word, card uint32) bool {
	if _, ok := slices.BinarySearch(w.cards, card); ok {
		return true
	}

	if isWordOf(a.View.Catalog.Cards.Name.At(int(card)), w.raw) || a.says(w, card) {
		return true
	}

	// A total goes with the whole number: the tail alone would fit other cards.
	if strings.Contains(w.raw, "/") {
		return false
	}

	number := collector.TrimParallel(a.View.Catalog.Cards.Number.At(int(card)))
	tail := number[strings.LastIndexByte(number, '-')+1:]
	return tail != "" && strings.TrimLeft(tail, "0") == strings.TrimLeft(w.raw, "0")
}

// grants reports whether a card has what a wish asks for. Finishes are asked of its prices.
func (a *Appraiser) grants(f *facts, w *word, card uint32) bool {
	want := w.wish.Have
	if f.near {
		want |= w.wish.Near
	}
	have := a.View.Index.Facts().Wished(card)

	// Shadowless cards are cards of their own, and nothing comes near.
	if w.wish.Have&collector.Shadowless != 0 {
		return have&collector.Shadowless != 0
	}

	// A finish rules out no card here: withVariant asks the prices (decision 2205).
	return want&have != 0 || w.wish.Have&^collector.Finishes == 0
}

// appendWords appends the folded words of a text, a space behind each.
func appendWords(dst []byte, text string) []byte {
	for begin := 0; begin < len(text); {
		end := begin
		for end < len(text) && !divides(text[end]) {
			end++
		}

		if w := collector.Fold(text[begin:end]); w != "" && w != "and" {
			dst = append(append(dst, w...), ' ')
		}
		begin = end + 1
	}
	return dst
}

// has reports whether words between spaces have one.
func has(words []byte, w string) bool {
	for from := 0; ; {
		at := bytes.Index(words[from:], []byte(w))
		if at < 0 {
			return false
		}

		// The words begin and end with a space, so that each has both neighbours.
		at += from
		if words[at-1] == ' ' && words[at+len(w)] == ' ' {
			return true
		}
		from = at + 1
	}
}

// isPrinted reports whether a line has exactly the name and number that are printed of a card, signs
// and case aside. Of Cardmarket's versions the first is the plain one, and only its number may stand
// in its name.
func (a *Appraiser) isPrinted(f *facts, card uint32) bool {
	number := a.View.Catalog.Cards.Number.At(int(card))
	if f.hasNumber && collector.NumberKey(f.number) != collector.NumberKey(number) || !f.hasNumber && number != "" {
		return false
	}

	// Signs tell ♀ from ♂.
	name := a.View.Catalog.Cards.Name.At(int(card))
	if !f.plain || strings.ContainsAny(name, signs) {
		return strings.EqualFold(strings.TrimSpace(f.item.Name), name)
	}

	switch f.version {
	case 0:
		printed := collector.Fold(name)
		return printed == collector.Fold(f.item.Name) || printed == f.nameKey(a)
	case 1:
		return a.spare(card) == 0 && f.isCore()
	}
	return false
}

// nameKey is what of a line is its name, folded: what was read as its set is not, nor what an app
// puts into brackets. Of a whole line, what was read as other fields is none of it either.
func (f *facts) nameKey(a *Appraiser) string {
	whole := f.item.Line != "" && !f.item.row
	a.key = a.key[:0]

	for i := range f.words {
		w := &f.words[i]
		finish := w.kind == wished && w.wish.Have&^collector.Finishes == 0
		field := w.kind == ofState || finish || w.kind == asNumber && w.raw == f.number ||
			w.kind == idle && isCopies(w.raw)

		if w.kind == ofSet || w.suffix || whole && field {
			continue
		}
		a.key = append(a.key, w.text...)
	}
	return string(a.key)
}

// isCore reports whether a line's name says nothing beside the core of a name and its number.
func (f *facts) isCore() bool {
	for i := range f.words {
		switch w := &f.words[i]; w.kind {
		case told, ofCopy:
			return false
		case wished:
			if w.wish.Have&^collector.Finishes != 0 {
				return false
			}
		case inCore, asNumber, ofSet, idle, ofState:
		}
	}
	return true
}

// likeness is how likely it is that a card is meant by a line that it fits.
type likeness struct {
	card  uint32
	plain bool // nothing qualifies its name
	home  bool // it is of the set that its number names
	spare int  // how much its name says beside its core, where the line has a number
}

func (a *Appraiser) likenessOf(f *facts, card uint32) likeness {
	spare := a.spare(card)
	like := likeness{card: card, plain: spare == 0, home: a.View.Index.Facts().IsHome(card)}

	// Among cards of one number the plainest is likeliest; of others search knows better.
	if f.hasNumber {
		like.spare = spare
	}
	return like
}

// isLikelier orders cards: plain ones first, then those of the set that their number names, with the
// plainest name, then as search does.
func (a *Appraiser) isLikelier(x, y likeness) bool {
	switch {
	case x.plain != y.plain:
		return x.plain
	case x.home != y.home:
		return x.home
	case x.spare != y.spare:
		return x.spare < y.spare
	}
	return a.View.Index.Facts().CompareLikely(x.card, y.card) < 0
}

// spare is how many bytes a card's name has beside its core and number.
func (a *Appraiser) spare(card uint32) int {
	c := a.View.Catalog
	name := c.Cards.Name.At(int(card))
	rest := name[len(index.PlainName(name)):]

	// "(119)" says no more than the number does.
	if at := strings.IndexByte(rest, ')'); at > 0 && at <= 12 && isNumberLike(strings.Trim(rest[:at], " (#")) {
		rest = rest[at+1:]
	}
	return len(rest)
}
