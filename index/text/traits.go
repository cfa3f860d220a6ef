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
	// current is what the finishes of the card at hand say; finish adds one to it.
	current collector.Traits
	finish  func(string)
}

func newTraitReader(c Corpus) traitReader {
	return traitReader{corpus: c, known: map[string]collector.Traits{}}
}

// of returns the traits of card i.
func (r *traitReader) of(i int) collector.Traits {
	var all collector.Traits
	if r.corpus.Rarity != nil {
		all |= r.say(r.corpus.Rarity(i))
	}
	if r.corpus.Printing != nil {
		all |= r.say(r.corpus.Printing(i))
	}
	all |= r.aside(r.corpus.Name(i))
	all |= r.say(r.corpus.SetName(i)) & (collector.Shadowless | collector.Promo | collector.AltArt | collector.Shiny)

	// Without finishes, rarity says whether a card shines: "Rare Holo", "Rare".
	r.current = 0
	if r.corpus.Finishes != nil {
		if r.finish == nil {
			r.finish = func(finish string) {
				r.current |= r.say(finish)
				if r.say(finish)&(collector.Holo|collector.Reverse) == 0 && finish != "" {
					r.current |= collector.NonHolo
				}
			}
		}
		r.corpus.Finishes(i, r.finish)
	}

	switch {
	case r.current != 0:
		all = all&^(collector.Holo|collector.NonHolo) | r.current
	case all&(collector.Common|collector.Uncommon|collector.AnyRare) != 0 && all&collector.Holo == 0:
		all |= collector.NonHolo
	}

	return all
}

// aside returns the traits that the qualifiers of a name say: what stands in brackets.
func (r *traitReader) aside(name string) collector.Traits {
	at := strings.IndexAny(name, "([")
	if at < 0 {
		return 0
	}
	return r.say(name[at:])
}

// say returns the traits that a text says.
func (r *traitReader) say(text string) collector.Traits {
	if text == "" {
		return 0
	}
	if known, ok := r.known[text]; ok {
		return known
	}

	r.norm.read(text, 0)
	words := make([]string, len(r.norm.tokens))
	for i, t := range r.norm.tokens {
		words[i] = string(r.norm.word(t))
	}

	traits := collector.TraitsOf(words)
	r.known[strings.Clone(text)] = traits
	return traits
}

// lastFirstEdition is the year until which first editions were marked: where no price tells, an old
// set comes near one.
const lastFirstEdition = 2001

// unmet says how far a card is from the preferences of a query: 0 for one that it has, 1 for one
// that it comes near, 2 for one that it has not.
func (s *search) unmet(card uint32) (sum uint64) {
	have := s.ix.traits[card]
	old := false
	if set := s.ix.setOf[card]; set >= 0 {
		old = s.ix.setYear[set] > 0 && s.ix.setYear[set] <= lastFirstEdition
	}

	for _, w := range s.query.wishes {
		switch {
		case have&w.Have != 0:
		case have&w.Near != 0, w.Have&collector.First != 0 && old:
			sum++
		default:
			sum += 2
		}
	}

	return sum
}
