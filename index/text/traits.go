package text

import (
	"slices"
	"strings"

	"ninepocket/cardvocab"
)

// A traitReader finds the traits of cards in their rarities, printings, names' qualifiers, sets and
// finishes. It caches texts, because a catalog has few.
type traitReader struct {
	corpus Corpus
	norm   normaliser
	known  map[string]cardvocab.Traits
	// rarities are cached separately: "L" says more as a rarity than elsewhere.
	rarities map[string]cardvocab.Traits
}

func newTraitReader(corpus Corpus) traitReader {
	return traitReader{corpus: corpus, known: map[string]cardvocab.Traits{}, rarities: map[string]cardvocab.Traits{}}
}

// of returns the traits of card i.
func (tr *traitReader) of(i int) cardvocab.Traits {
	name := tr.corpus.Name(i)
	all := tr.cached(tr.rarities, tr.corpus.Rarity(i), cardvocab.RarityTraits) | tr.traitsOf(tr.corpus.Printing(i))

	// Brackets behind a name qualify it.
	if at := strings.IndexAny(name, "(["); at >= 0 {
		all |= tr.traitsOf(name[at:])
	}
	// Only Tag Team cards have several names: "Mewtwo & Mew GX".
	if _, behind, several := strings.Cut(name, " & "); several && strings.Contains(behind, "GX") {
		all |= cardvocab.TagTeam
	}
	ofSets := cardvocab.Shadowless | cardvocab.Promo | cardvocab.AltArt | cardvocab.Shiny
	all |= tr.traitsOf(tr.corpus.SetName(i)) & ofSets

	// Without finishes, the rarity says whether a card is holo: "Rare Holo", "Rare".
	var finishes cardvocab.Traits
	tr.corpus.Finishes(i, func(finish string) {
		finishes |= tr.traitsOf(finish)
		if tr.traitsOf(finish)&(cardvocab.Holo|cardvocab.Reverse) == 0 && finish != "" {
			finishes |= cardvocab.NonHolo
		}
	})

	switch {
	case finishes != 0:
		all = all&^(cardvocab.Holo|cardvocab.NonHolo) | finishes
	case all&(cardvocab.Common|cardvocab.Uncommon|cardvocab.AnyRare) != 0 && all&cardvocab.Holo == 0:
		all |= cardvocab.NonHolo
	}

	return all
}

// traitsOf returns the traits that a text states.
func (tr *traitReader) traitsOf(text string) cardvocab.Traits {
	return tr.cached(tr.known, text, cardvocab.TraitsOf)
}

// cached returns the traits of a text, which of derives from its words if they are not cached.
func (tr *traitReader) cached(
	known map[string]cardvocab.Traits, text string, of func([]string) cardvocab.Traits,
) cardvocab.Traits {
	traits, ok := known[text]
	if !ok {
		traits = of(tr.norm.words(text))
		known[strings.Clone(text)] = traits
	}
	return traits
}

// lastFirstEdition is the last year in which first editions were marked. If no price decides, an
// old set is a near match for a first edition.
const lastFirstEdition = 2001

// usualTraits are the traits of most cards. A card without one of them may still be the exact match of its whole name.
const usualTraits = cardvocab.Finishes | cardvocab.AnyRare | cardvocab.Uncommon | cardvocab.Common

// unmet returns how far a card is from the preferences of a query. Each adds 0 for a card that has it, 1
// for a near match and 2 for none. The level reports that the card is no complete match, because it lacks a
// rarity: the name's other cards with the rarity come first (docs/dev/SEARCH.md, Preferences).
func (s *search) unmet(card uint32) (sum, level uint64) {
	for _, preference := range s.query.preferences {
		if s.ix.traits[card]&preference.Exact != 0 || s.ix.inSetOfCode(card, preference.wordID) {
			continue
		}

		sum += 2
		if s.ix.comesNear(card, preference.Preference) {
			sum--
		}
		if preference.Exact&usualTraits == 0 {
			level = 1 << partAt
		}
	}

	return min(sum, 15), level
}

// inSetOfCode reports whether a word is the code of the card's set.
func (ix *Index) inSetOfCode(card, word uint32) bool {
	return word != none && ix.setOf[card] >= 0 && slices.Contains(ix.codes.docs(word), uint32(ix.setOf[card]))
}

// Traits returns a card's rarity, finishes and edition as a bit set.
func (ix *Index) Traits(card uint32) cardvocab.Traits { return ix.traits[card] }

// NearlyMatches reports whether a card does not have the preferred trait of some words, but is a
// near match.
func (ix *Index) NearlyMatches(card uint32, words string) bool {
	preference, ok := cardvocab.FindPreference([]byte(strings.ReplaceAll(words, " ", "")))
	return ok && ix.traits[card]&preference.Exact == 0 && ix.comesNear(card, preference)
}

// comesNear reports whether a card has a preferred trait or is a near match.
func (ix *Index) comesNear(card uint32, preference cardvocab.Preference) bool {
	if ix.traits[card]&(preference.Exact|preference.Near) != 0 {
		return true
	}

	set := ix.setOf[card]
	return preference.Exact&cardvocab.First != 0 && set >= 0 && ix.setYear[set] > 0 &&
		ix.setYear[set] <= lastFirstEdition
}
