package pokemontcg

import (
	"context"
	"math/bits"

	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/search"
	"github.com/blevesearch/bleve/v2/search/searcher"
	bleveindex "github.com/blevesearch/bleve_index_api"
)

// markedQuery is a query of bleve whose records are known: the numbers of cards are outside the
// index, because prices change with each snapshot.
type markedQuery struct{ marks []uint64 } // a bit for each of bleve's numbers

// Searcher implements query.Query.
func (marks *markedQuery) Searcher(
	context.Context, bleveindex.IndexReader, mapping.IndexMapping, search.SearcherOptions,
) (search.Searcher, error) {
	return &markedSearcher{marks: marks.marks}, nil
}

// markedSearcher steps over the marks. Nothing is scored, and nothing has to be closed: the rest is that of
// a searcher without matches.
type markedSearcher struct {
	searcher.MatchNoneSearcher
	marks []uint64
	next  uint64 // bleve's number that is looked at next
}

// Next implements search.Searcher.
func (s *markedSearcher) Next(ctx *search.SearchContext) (*search.DocumentMatch, error) {
	for word := s.next / 64; word < uint64(len(s.marks)); word++ {
		// Marks before the position are gone by.
		rest := s.marks[word]
		if word == s.next/64 {
			rest = rest >> (s.next % 64) << (s.next % 64)
		}
		if rest == 0 {
			continue
		}

		found := word*64 + uint64(bits.TrailingZeros64(rest))
		s.next = found + 1
		match := ctx.DocumentMatchPool.Get()
		match.IndexInternalID = bleveindex.NewIndexInternalID(match.IndexInternalID, found)
		return match, nil
	}
	s.next = uint64(len(s.marks)) * 64
	return nil, nil
}

// Advance implements search.Searcher.
func (s *markedSearcher) Advance(
	ctx *search.SearchContext, id bleveindex.IndexInternalID,
) (*search.DocumentMatch, error) {
	s.next = max(s.next, id.Value())
	return s.Next(ctx)
}

// Count implements search.Searcher.
func (s *markedSearcher) Count() (n uint64) {
	for _, word := range s.marks {
		n += uint64(bits.OnesCount64(word))
	}
	return n
}
