package index

import (
	"ninepocket/cardvocab"
	"ninepocket/index/text"
)

// Match is a card that words may mean, and how well it matches them.
type Match struct {
	Card uint32
	text.MatchQuality
	ExactName bool // the words are the card's name to the last letter, signs and case aside
}

// Matches appends the best n cards that match the words of q and its filter, in order of relevance.
func (ix *Index) Matches(dst []Match, q Query, n int) []Match {
	return ix.match(dst, q, n, ix.words.Search)
}

// MatchesAsTyped is Matches without spelling correction, which costs most of a search
// (docs/dev/SEARCH.md, Cost).
func (ix *Index) MatchesAsTyped(dst []Match, q Query, n int) []Match {
	return ix.match(dst, q, n, ix.words.SearchAsTyped)
}

// searcher is a method of text.Index that searches for words.
type searcher func(dst []text.Hit, q string, accept func(card uint32) bool) []text.Hit

func (ix *Index) match(dst []Match, q Query, n int, search searcher) []Match {
	filter, ok := ix.compile(q.Filter)
	if !ok {
		return dst
	}

	s := getScratch()
	defer s.release()

	q.Sort = Relevance
	s.search(ix, q.Words, &filter, search)
	s.rank(ix, q, ranked{}, n)
	// A name that is typed in full is meant, whatever else matches.
	left := ix.words.DropsCopyWords(q.Words)
	folded := ""
	if !IsTooLong(q.Words) {
		folded = cardvocab.Fold(q.Words)
	}
	for _, r := range s.best {
		one := Match{Card: r.card, MatchQuality: text.QualityOf(r.major)}
		// Dropped words may identify a copy, and preferences decide nothing.
		one.WholeName = one.WholeName && one.UnmetPreference == 0 && !left
		one.ExactName = folded != "" && cardvocab.Fold(ix.c.Cards.Name.At(int(r.card))) == folded
		if one.ExactName {
			// This holds also for names with more words than a query may have.
			one.MatchQuality = text.MatchQuality{WholeName: true}
		}
		dst = append(dst, one)
	}

	return dst
}
