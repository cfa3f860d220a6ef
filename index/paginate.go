package index

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"sync"

	"ninepocket/index/text"
)

// Sort is an order of cards (docs/API.md, GET /v1/cards).
type Sort uint8

// The orders. Relevance without words is PriceDesc (decision 22).
const (
	Relevance Sort = iota
	PriceDesc
	PriceAsc
	Newest
	ByName   // by folded name, ties by id
	ByNumber // the order of Newest: sets, the newest first, and in each the numbers in natural order
)

// SortNames are the values of a sort parameter in the order of the Sort values: ParseSort uses the index.
// The first is the default.
var SortNames = []string{"relevance", "price_desc", "price_asc", "newest", "name", "number"}

// ParseSort reads a sort parameter; any other text is the default.
func ParseSort(s string) Sort { return Sort(max(slices.Index(SortNames, s), 0)) }

// Query selects cards and their order.
type Query struct {
	Filter
	Words    string // free text; only meaningful with HasWords
	HasWords bool
	Sort     Sort
	Ordered  bool // the caller gave Sort, and words may ask for another order: they do not count
}

// ranked is a card with its rank in an order: the smaller (major, minor) comes first.
type ranked struct {
	major uint64
	minor uint32
	card  uint32
}

func (a ranked) compare(b ranked) int {
	if major := cmp.Compare(a.major, b.major); major != 0 {
		return major
	}
	return cmp.Compare(a.minor, b.minor)
}

// interpret explains how the words of a query found card, which is one of the hits: the first on the
// page. An id needs no explanation.
func (ix *Index) interpret(hits []text.Hit, words string, card uint32) []text.Note {
	if ix.cardByID(words) >= 0 {
		return nil
	}

	at := slices.IndexFunc(hits, func(hit text.Hit) bool { return hit.Card == card })
	notes := ix.words.Interpret(nil, words, hits[at])
	for i := range notes {
		// A near match is explained by its rarity: "gold" may be a Secret Rare.
		if note := &notes[i]; note.Kind == text.Preferred && ix.words.NearlyMatches(card, note.From) {
			note.To = ix.c.Cards.Rarity.At(int(card))
		}
	}
	return notes
}

// cardByID returns the card whose id the words are, -1 for none.
func (ix *Index) cardByID(words string) int {
	words = strings.TrimSpace(words)
	if strings.HasPrefix(words, cardPrefix) {
		if card, ok := ix.cards.findID(words); ok {
			return card
		}
	}
	return -1
}

// HasTerms reports whether words contain a search term; a search without one finds no card.
func (ix *Index) HasTerms(words string) bool { return ix.words.HasTerms(words) }

// Page is one page of cards in order.
type Page struct {
	Cards []uint32
	More  bool     // whether a next page has a card
	Last  Position // of the last card, to continue from; only meaningful with More
}

// scratch is the working memory of one query.
type scratch struct {
	hits []text.Hit
	best []ranked
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func getScratch() *scratch {
	s, _ := scratches.Get().(*scratch)
	s.best = s.best[:0]
	return s
}

func (s *scratch) release() {
	if cap(s.hits) <= maxPooledHits {
		scratches.Put(s)
	}
}

// maxPooledHits is the largest scratch that returns to the pool, in hits; the garbage collector
// takes larger ones.
const maxPooledHits = 1 << 16

// Cards appends to dst at most limit cards: those behind the position after, or the first ones if after
// is nil.
func (ix *Index) Cards(dst []uint32, q Query, after *Position, limit int) Page {
	s := getScratch()
	defer s.release()
	m := newMeaning(ix, q, false)
	return ix.page(s, dst, &m, after, limit)
}

// CardsInterpreted is Cards for the first page of a query by words, with notes that explain its
// first card.
func (ix *Index) CardsInterpreted(dst []uint32, q Query, limit int) (page Page, notes []Note) {
	s := getScratch()
	defer s.release()
	m := newMeaning(ix, q, false)
	page = ix.page(s, dst, &m, nil, limit)
	if m.HasWords && len(page.Cards) > len(dst) {
		return page, append(m.explanation, ix.interpret(s.hits, m.Words, page.Cards[len(dst)])...)
	}
	return page, m.explanation
}

func (ix *Index) page(s *scratch, dst []uint32, m *meaning, after *Position, limit int) Page {
	page := Page{Cards: dst}
	filter, ok := ix.compile(m.Filter)
	if !ok || m.sealed {
		return page
	}

	filter.era = m.era
	bound := ranked{}
	if after != nil {
		bound = ix.seek(m.Query, after)
	}

	// One card more than the page shows whether another page follows.
	switch {
	case m.HasWords:
		s.searchMeant(ix, m, &filter)
		if m.given.Sort != m.Sort || m.given.Filter != m.Filter {
			s.dropBeyondBounds(ix, m, &filter)
			s.dropDistant()
		}
		s.rank(ix, m.Query, bound, limit+1)
	case len(filter.lists) > 0:
		s.topFromList(ix, m.Query, &filter, bound, limit+1)
	default:
		s.topFromOrder(ix, m.Query, &filter, bound, limit+1)
	}

	q := m.Query
	page.More = len(s.best) > limit
	if page.More {
		s.best = s.best[:limit]
		page.Last = ix.position(s.best[limit-1], q)
	}

	for _, r := range s.best {
		page.Cards = append(page.Cards, r.card)
	}

	return page
}

// search finds the hits that match the words and the filter. by is Search or SearchAsTyped of the text
// index.
func (s *scratch) search(ix *Index, words string, filter *compiledFilter, by searcher) {
	var accept func(uint32) bool
	if ix.isRestricted(filter) {
		accept = func(card uint32) bool { return ix.has(filter, card, 0) }
	}

	// The meaning of words does not depend on the filter: the search ranks the whole catalog, and
	// accept applies the filter.
	s.hits = s.hits[:0]
	if card := ix.cardByID(words); card < 0 {
		s.hits = by(s.hits, words, accept)
	} else if accept == nil || accept(uint32(card)) {
		s.hits = append(s.hits, text.Hit{Card: uint32(card)})
	}
}

// rank collects the best n of the hits, from bound on.
func (s *scratch) rank(ix *Index, q Query, bound ranked, n int) {
	for _, hit := range s.hits {
		r := ranked{major: hit.Score, minor: ix.orders.priorRank[hit.Card], card: hit.Card}
		if q.Sort != Relevance {
			r = ranked{major: uint64(ix.orders.rank(q.Sort, hit.Card)), card: hit.Card}
		}
		s.offerTop(r, bound, n)
	}
}

// topFromList collects the best n cards of the shortest list that match the whole filter, from
// bound on. Lists ascend by card number, which is the rank by price, so both price orders stop at n
// cards.
func (s *scratch) topFromList(ix *Index, q Query, filter *compiledFilter, bound ranked, n int) {
	list := filter.lists[0]
	switch q.Sort {
	case Relevance, PriceDesc:
		for _, card := range sublist(list, uint32(bound.major), filter.to) {
			if !s.addFromList(ix, filter, card, uint64(card), n) {
				return
			}
		}

	case PriceAsc:
		s.topCheapest(ix, list, filter, bound.major, n)
	case Newest, ByName, ByNumber:
		for _, card := range list {
			if ix.has(filter, card, 1) {
				s.offerTop(ranked{major: uint64(ix.orders.rank(q.Sort, card)), card: card}, bound, n)
			}
		}
	}
}

// topCheapest collects the first n matching cards of a list by ascending price, from rank from on. The
// list has descending prices, so it is read from its end, one price after the other. Cards of one price
// are in catalog order both ways, and cards without a price come last.
func (s *scratch) topCheapest(ix *Index, list []uint32, filter *compiledFilter, from uint64, n int) {
	priced := sublist(list, 0, uint32(ix.orders.priced))
	end := 0
	// Otherwise the page is among the cards without a price.
	if from < uint64(ix.orders.priced) {
		minPrice := ix.orders.price(ix.orders.byPriceAsc[from])
		end = sort.Search(len(priced), func(i int) bool { return ix.orders.price(priced[i]) < minPrice })
	}

	for end > 0 {
		begin := end - 1
		for begin > 0 && ix.orders.price(priced[begin-1]) == ix.orders.price(priced[end-1]) {
			begin--
		}

		for _, card := range priced[begin:end] {
			if rank := uint64(ix.orders.priceAscRank[card]); rank >= from && !s.addFromList(ix, filter, card, rank, n) {
				return
			}
		}

		end = begin
	}

	for _, card := range list[len(priced):] {
		if rank := uint64(ix.orders.priceAscRank[card]); rank >= from && !s.addFromList(ix, filter, card, rank, n) {
			return
		}
	}
}

// addFromList adds a card of the first list if it matches the whole filter. It returns false once
// there are n cards.
func (s *scratch) addFromList(ix *Index, filter *compiledFilter, card uint32, rank uint64, n int) bool {
	if ix.has(filter, card, 1) {
		s.best = append(s.best, ranked{major: rank, card: card})
	}
	return len(s.best) < n
}

// topFromOrder reads the order itself from bound on and stops after n cards: without posting lists
// most cards match.
func (s *scratch) topFromOrder(ix *Index, q Query, filter *compiledFilter, bound ranked, n int) {
	from := uint64(0)
	to := uint64(ix.c.Cards.ID.Len())
	switch q.Sort {
	case Relevance, PriceDesc:
		// A price range is a range of this order.
		from = uint64(filter.from)
		to = uint64(filter.to)
	case PriceAsc:
		// A price range is a range of this order too, but it begins where the range of card numbers
		// ends.
		if int(filter.to) <= ix.orders.priced && filter.from < filter.to {
			from = uint64(ix.orders.firstOfPrice(filter.to - 1))
		}

	case Newest, ByName, ByNumber:
	}

	for rank := max(from, bound.major); rank < to && len(s.best) < n; rank++ {
		card := ix.orders.cardAt(q.Sort, uint32(rank))
		if ix.has(filter, card, 0) {
			s.best = append(s.best, ranked{major: rank, card: card})
		}
	}
}

// offerTop keeps r if it is among the n smallest that are not before bound, in order.
func (s *scratch) offerTop(r, bound ranked, n int) {
	// Nearly all cards of a common word come after those of the page.
	if r.compare(bound) >= 0 && (len(s.best) < n || r.compare(s.best[n-1]) < 0) {
		s.best = insertTop(s.best, r, n, ranked.compare)
	}
}

// insertTop inserts one into the n best, which are in order; the last is dropped if there are more
// than n.
func insertTop[T any](best []T, one T, n int, compare func(x, y T) int) []T {
	at, _ := slices.BinarySearchFunc(best, one, compare)
	return slices.Insert(best[:min(len(best), n-1)], at, one)
}

// TopOfSet appends to dst the n most expensive cards of a set, only those with a price (decision 22).
func (ix *Index) TopOfSet(dst []uint32, set, n int) []uint32 {
	list := sublist(ix.bySet.Of(uint32(set)), 0, uint32(ix.orders.priced))
	return append(dst, list[:min(n, len(list))]...)
}
