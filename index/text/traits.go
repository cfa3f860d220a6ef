package text

import (
	"strings"

	"ninepocket/collector"
)

// A traitReader finds the traits of cards: what their rarities, printings, names' qualifiers, sets
// and finishes say. It remembers texts, of which a catalog has few.
type traitReader struct {
	corpus Corpus
	norm   normaliser
	known  map[string]collector.Traits
	// rarities are apart: "L" says more as a rarity than elsewhere.
	rarities map[string]collector.Traits
	// current is what the finishes of the card at hand say; finish adds one to it.
	current collector.Traits
	finish  func(string)
}

func newTraitReader(corpus Corpus) traitReader {
	return traitReader{corpus: corpus, known: map[string]collector.Traits{}, rarities: map[string]collector.Traits{}}
}

// of returns the traits of card i.
func (tr *traitReader) of(i int) collector.Traits {
	name := tr.corpus.Name(i)
	all := tr.recall(tr.rarities, tr.corpus.Rarity(i), collector.RarityTraits) | tr.say(tr.corpus.Printing(i))

	// What stands in brackets behind a name qualifies it.
	if at := strings.IndexAny(name, "(["); at >= 0 {
		all |= tr.say(name[at:])
	}
	if isTagTeam(name) {
		all |= collector.TagTeam
	}
	all |= tr.say(tr.corpus.SetName(i)) & (collector.Shadowless | collector.Promo | collector.AltArt | collector.Shiny)

	// Without finishes, rarity says whether a card shines: "Rare Holo", "Rare".
	tr.current = 0
	if tr.finish == nil {
		tr.finish = func(finish string) {
			tr.current |= tr.say(finish)
			if tr.say(finish)&(collector.Holo|collector.Reverse) == 0 && finish != "" {
				tr.current |= collector.NonHolo
			}
		}
	}
	tr.corpus.Finishes(i, tr.finish)

	switch {
	case tr.current != 0:
		all = all&^(collector.Holo|collector.NonHolo) | tr.current
	case all&(collector.Common|collector.Uncommon|collector.AnyRare) != 0 && all&collector.Holo == 0:
		all |= collector.NonHolo
	}

	return all
}

// isTagTeam says whether a name is of several, as only Tag Team cards have it: "Mewtwo & Mew GX".
func isTagTeam(name string) bool {
	_, behind, several := strings.Cut(name, " & ")
	return several && strings.Contains(behind, "GX")
}

// say returns the traits that a text says.
func (tr *traitReader) say(text string) collector.Traits {
	return tr.recall(tr.known, text, collector.TraitsOf)
}

// recall returns the traits of a text by its words, if they are not known yet.
func (tr *traitReader) recall(
	known map[string]collector.Traits, text string, of func([]string) collector.Traits,
) collector.Traits {
	traits, ok := known[text]
	if !ok {
		traits = of(tr.norm.words(text))
		known[strings.Clone(text)] = traits
	}
	return traits
}

// lastFirstEdition is the year until which first editions were marked: where no price tells, an old
// set comes near one.
const lastFirstEdition = 2001

// unmet says how far a card is from the preferences of a query: 0 for one that it has, 1 for one
// that it comes near, 2 for one that it has not.
func (s *search) unmet(card uint32) (sum uint64) {
	for _, wish := range s.query.wishes {
		switch {
		case s.ix.traits[card]&wish.Have != 0:
		case s.ix.comesNear(card, wish):
			sum++
		default:
			sum += 2
		}
	}

	return sum
}

// Traits are what card says beside its name: its rarity, its finishes, its edition.
func (ix *Index) Traits(card uint32) collector.Traits { return ix.traits[card] }

// OnlyNear reports whether a card has not what words wish for, but comes near it.
func (ix *Index) OnlyNear(card uint32, words string) bool {
	wish, ok := collector.FindWish([]byte(strings.ReplaceAll(words, " ", "")))
	return ok && ix.traits[card]&wish.Have == 0 && ix.comesNear(card, wish)
}

// comesNear says whether a card has what is wished for, or comes near it.
func (ix *Index) comesNear(card uint32, wish collector.Wish) bool {
	if ix.traits[card]&(wish.Have|wish.Near) != 0 {
		return true
	}

	set := ix.setOf[card]
	return wish.Have&collector.First != 0 && set >= 0 && ix.setYear[set] > 0 && ix.setYear[set] <= lastFirstEdition
}
