package valuation

import (
	"cmp"
	"slices"
	"strings"

	"ninepocket/collector"
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
			if a.cards.passes(f, card) && a.cards.leftover(f, f.words, card, nil) < 0 {
				a.fits = append(a.fits, card)
			}
		}
		// Set and number tell the card, and then it must have what the words say.
		if len(a.fits) > 0 || f.near || !f.wishes || f.hasSet() && f.hasNumber() {
			return a.fits
		}
		f.near = true
	}
}

// passes reports whether a card is of the line's game, set and number.
func (cs cards) passes(f *facts, card uint32) bool {
	if f.game >= 0 && int(cs.view.Catalog.Cards.Game[card]) != f.game {
		return false
	}

	// A promo may name the set that it goes with, and be of another (decision 2206).
	if f.hasSet() && !cs.isIn(card, f.sets) && !cs.isAbout(f.setRun, card) {
		return false
	}

	return !f.hasNumber() || holds(f.numbered, card)
}

// leftover is the place of the first word that is nothing of a card: not of its name, its set, its
// printing, its rarity, its number or its traits; -1 where there is none. With a spelling, words of the
// name may be misspelt; without one, the name was found as it is written.
func (cs cards) leftover(f *facts, words []word, card uint32, sp *spelling) int {
	for i := 0; i < len(words); i++ {
		w := &words[i]
		ok := true
		run := 1

		switch w.kind {
		case asNumber:
			// A year does not tell one card from another: see wrongYear.
			ok = cs.isNumbered(w, card) || collector.IsYear(w.raw)
		case told:
			ok = cs.isOf(w, card, sp, i)
		case inCore:
			ok = sp == nil || cs.isOf(w, card, sp, i)

		// What a phrase wishes for may be in the name, or be a trait.
		case wished:
			run = max(int(w.run), 1)
			ok = cs.saysAll(words[i:i+run], card) || cs.grants(f, w, card)
		case ofSet, idle, ofCopy, ofState:
		}

		if !ok {
			return i
		}
		i += run - 1
	}
	return -1
}

// isOf reports whether word i of a line is a word of a card.
func (cs cards) isOf(w *word, card uint32, sp *spelling, i int) bool {
	return sp != nil && sp.has(i) || cs.says(w, card)
}

// isPrinted reports whether a line has exactly the name and number that are printed of a card, signs
// and case aside. Of Cardmarket's versions the first is the plain one, and only its number may stand
// in its name.
func (cs cards) isPrinted(f *facts, card uint32) bool {
	number := cs.view.Catalog.Cards.Number.At(int(card))
	if f.hasNumber() && collector.NumberKey(f.number) != collector.NumberKey(number) || !f.hasNumber() && number != "" {
		return false
	}

	// Signs tell ♀ from ♂.
	name := cs.view.Catalog.Cards.Name.At(int(card))
	if !f.plain || strings.ContainsAny(name, signs) {
		return strings.EqualFold(strings.TrimSpace(f.item.Name), name)
	}

	switch f.named {
	case 0:
		printed := collector.Fold(name)
		return printed == collector.Fold(f.item.Name) || printed == f.nameKey()
	case 1:
		return cs.spare(card) == 0 && f.isCore()
	}
	return false
}

// nameKey is what of a line is its name, folded: what was read as its set is not, nor what an app
// puts into brackets. Of a whole line, what was read as other fields is none of it either.
func (f *facts) nameKey() string {
	whole := f.item.Line != "" && !f.item.row
	var key []byte

	for i := range f.words {
		w := &f.words[i]
		finish := w.kind == wished && w.wish.Have&^collector.Finishes == 0
		field := w.kind == ofState || finish || w.kind == asNumber && w.raw == f.number ||
			w.kind == idle && (f.quiet || isCopies(w.raw))

		if w.kind == ofSet || w.suffix || whole && field {
			continue
		}
		key = append(key, w.text...)
	}
	return string(key)
}

// saysQuietly reports whether a card has a word of the line that tells nothing of others.
func (cs cards) saysQuietly(f *facts, card uint32) bool {
	return slices.ContainsFunc(f.words, func(w word) bool { return w.kind == idle && cs.says(&w, card) })
}

// isCore reports whether a line's name says nothing beside the core of a name and its number.
func (f *facts) isCore() bool {
	return !slices.ContainsFunc(f.words, func(w word) bool {
		return w.kind == told || w.kind == ofCopy || w.kind == wished && w.wish.Have&^collector.Finishes != 0
	})
}

// likeness is how likely it is that a card is meant by a line that it fits.
type likeness struct {
	card uint32
	// rank is, the most telling first and the least value likeliest: 1 where something qualifies the
	// card's name, 1 where it is not of the set that its number names, and how much its name says beside
	// its core, where the line has a number.
	rank [3]int
}

func (cs cards) likenessOf(f *facts, card uint32) likeness {
	spare := cs.spare(card)
	like := likeness{card: card, rank: [3]int{min(spare, 1)}}
	if !cs.view.Index.Facts().IsHome(card) {
		like.rank[1] = 1
	}

	// Among cards of one number the plainest is likeliest; of others search knows better.
	if f.hasNumber() {
		like.rank[2] = spare
	}
	return like
}

// isLikelier orders cards: plain ones first, then those of the set that their number names, with the
// plainest name, then as search does.
func (cs cards) isLikelier(x, y likeness) bool {
	return cmp.Or(slices.Compare(x.rank[:], y.rank[:]), cs.view.Index.Facts().CompareLikely(x.card, y.card)) < 0
}
