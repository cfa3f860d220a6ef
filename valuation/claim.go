package valuation

import (
	"cmp"
	"slices"
	"strings"

	"ninepocket/collector"
	"ninepocket/index"
	"ninepocket/snapshot"
)

// A claim is what a line says of its card beside what the card was found by: the words of a line with
// an id, a row's notes. The card must have it, or the line has no price.
type claim struct {
	kind claimKind
	text string
}

// claimKind says what a claim is of.
type claimKind uint8

const (
	ofWords claimKind = iota // what a name may say: words of the card, of the copy, or noise
	ofSetName
	ofCode // of a set, which says nothing where the catalog does not know it
	ofNumber
	ofRarity
	ofIdentifier // of another catalog, which says nothing where ours does not know it
)

// claim adds a claim, unless it says nothing.
func (item *Item) claim(kind claimKind, text string) {
	claim := claim{kind, strings.TrimSpace(text)}

	// A line is read several times.
	if claim.text != "" && !slices.Contains(item.claims, claim) {
		item.claims = append(item.claims, claim)
	}
}

// claimRest makes claims of what an item says beside its id.
func (item *Item) claimRest() {
	item.claim(ofWords, item.Name)
	item.claim(ofWords, item.aside)
	item.claim(ofSetName, item.Set)
	item.claim(ofNumber, item.Number)
	if item.ID != "" {
		item.claim(ofIdentifier, item.Identifier)
	}
}

// readClaims reads the words of claims: they tell no card, and yet what copy it is.
func (f *facts) readClaims(a *Appraiser) {
	f.beside = f.beside[:0]
	for _, claim := range f.item.claims {
		if claim.kind != ofWords {
			continue
		}

		at := len(f.beside)
		words, plain := readWords(f.beside, withoutPrices(claim.text))
		f.beside = words
		if !plain && !strings.ContainsAny(claim.text, signs) {
			f.doubt = `"` + clip(claim.text) + `" is too long to be compared with a card`
			return
		}

		words = words[at:]
		for i := range words {
			if isCodeAt(words, i) {
				words[i].kind = idle
			}
		}
		f.readAsides(a, words)
		a.cards.lookUp(words)
	}
}

// lookUp finds the catalog's words and numbers among some words.
func (cs cards) lookUp(words []word) {
	for i := range words {
		w := &words[i]
		w.id, w.known = cs.view.Index.Facts().Word(w.text)
		if w.kind == asNumber && w.cards == nil {
			w.cards = cs.numbered(w.raw)
		}
	}
}

// denial says which claim of a line its card does not have, "" for none.
func (a *Appraiser) denial(f *facts, card uint32) string {
	for _, claim := range f.item.claims {
		if !a.grantsClaim(claim, card) {
			return notOfCard(claim.text)
		}
	}

	if len(f.beside) == 0 {
		return ""
	}
	f.near = false
	for i := range f.beside {
		if w := &f.beside[i]; a.cards.isIn(card, deckCodeOf(a.View.Index.SetNames(), w)) {
			w.kind = idle
		}
	}
	sp := a.cards.spellingOf(f.beside, card, true)
	if at := a.cards.leftover(f, f.beside, card, &sp); at >= 0 {
		return notOfCard(f.beside[at].raw)
	}
	return cmp.Or(a.cards.wrongYear(f.beside, card), a.cards.wrongSet(f.beside, card))
}

// deckCodeOf are the sets that a word in capitals is a deck list's code of.
func deckCodeOf(names *index.SetNames, w *word) []uint32 {
	if w.kind != told || w.raw != strings.ToUpper(w.raw) {
		return nil
	}
	return names.Coded(w.text)
}

// notOfCard says that a card does not have what a line says of it.
func notOfCard(text string) string {
	return `"` + clip(text) + `" is nothing of this card; leave it out if the copy is an ordinary one`
}

// grantsClaim reports whether a card has a set, number or rarity.
func (a *Appraiser) grantsClaim(claim claim, card uint32) bool {
	switch claim.kind {
	case ofSetName:
		if sets := a.lastSet.of(a.View.Index.SetNames(), claim.text); len(sets) > 0 {
			return a.cards.isIn(card, sets)
		}
		return a.cards.isSpelt(claim.text, card)

	case ofCode:
		sets := a.View.Index.SetNames().Spelt(collector.Fold(claim.text))
		return len(sets) == 0 || a.cards.isIn(card, sets) || slices.ContainsFunc(sets, func(set uint32) bool {
			return a.cards.isPartOf(card, set)
		})

	case ofNumber:
		words, _ := readWords(nil, claim.text)
		a.cards.lookUp(words)
		return !slices.ContainsFunc(words, func(w word) bool {
			return w.kind != asNumber && !a.cards.says(&w, card) || w.kind == asNumber && !a.cards.isNumbered(&w, card)
		})

	case ofRarity:
		return a.cards.isOfRarity(claim.text, card)

	case ofIdentifier:
		called := a.View.Index.Identified(a.View.Index.Respell(claim.text))
		return len(called) == 0 || slices.Contains(called, card)
	case ofWords:
	}
	return true
}

// isPartOf reports whether a card's set is part of another one, whose code its cards have: "Hidden Fates:
// Shiny Vault".
func (cs cards) isPartOf(card, whole uint32) bool {
	set := cs.view.Catalog.Cards.Set[card]
	if set == snapshot.NoSet {
		return false
	}
	names := &cs.view.Catalog.Sets.Name
	part, ok := strings.CutPrefix(names.At(int(set)), names.At(int(whole)))

	// "Base Set 2" is no part of "Base Set".
	part = strings.TrimLeft(part, ": ")
	return ok && part != "" && !collector.IsDigit(part[0])
}

// isSpelt reports whether all words of a text that names no set may be of a card and its set.
func (cs cards) isSpelt(text string, card uint32) bool {
	words, plain := readWords(nil, text)
	if !plain {
		return false
	}
	cs.lookUp(words)

	var none facts
	sp := cs.spellingOf(words, card, true)
	return cs.leftover(&none, words, card, &sp) < 0
}

// isOfRarity reports whether a rarity may be a card's: catalogs spell one in several ways, of which
// those that say nothing here rule nothing out.
func (cs cards) isOfRarity(written string, card uint32) bool {
	var words []string
	for _, w := range strings.FieldsFunc(written, func(r rune) bool { return r == ' ' || r == '-' || r == '/' }) {
		words = append(words, collector.Fold(w))
	}

	have := cs.view.Index.Facts().Wished(card)
	said := collector.RarityTraits(words) &^ collector.Finishes
	if wish, ok := collector.FindWish([]byte(strings.Join(words, ""))); ok {
		said |= (wish.Have | wish.Near) &^ collector.Finishes
	}
	return said == 0 || said&have != 0
}

// flagged reports whether a cell says yes.
func flagged(cell string) bool {
	return !slices.Contains([]string{"", "0", "false", "no", "n"}, collector.Fold(cell))
}

// otherCopies is what a folder's name says of copies that have other prices, "" for nothing.
func otherCopies(folder string) string {
	for w := range strings.FieldsSeq(folder) {
		if folded := collector.Fold(w); index.IsGrading(folded) && !isCondition(folded) {
			return folder
		}
	}
	return ""
}
