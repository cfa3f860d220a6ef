package index

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"ninepocket/cardvocab"
	"ninepocket/index/text"
	"ninepocket/snapshot"
)

// A meaning is a query whose modifiers have been read (docs/dev/SEARCH.md, Orders, prices, eras, sealed words).
type meaning struct {
	Query
	given       Query
	mayModify   bool // a word may be a modifier's
	sealed      bool // a product is asked for, no card
	era         eraSets
	explanation []Note // of the modifiers
}

// eraSets says of each set whether it is of an era; nil means any.
type eraSets []bool

// MayHaveModifier reports whether words may ask for an order, a price, an era or a product.
func MayHaveModifier(words string) bool { return cardvocab.MayHaveModifier(words) }

// newMeaning reads the modifiers of a query. A caller's parameter wins over words. maybe takes words for
// an era that may also be those of a set.
func newMeaning(ix *Index, q Query, maybe bool) (m meaning) {
	m = meaning{Query: q, given: q}
	if !q.HasWords || ix.cardByID(q.Words) >= 0 || !cardvocab.MayHaveModifier(q.Words) {
		return m
	}

	m.mayModify = true
	if modifiers, ok := ix.words.ReadModifiers(q.Words, maybe); ok {
		m.apply(ix, &modifiers)
	}
	return m
}

// WithoutModifiers returns the query that its modifiers leave. Order and bounds are set, and the words
// are those of a card and of an era.
func (q *Query) WithoutModifiers(ix *Index) Query {
	m := newMeaning(ix, *q, false)
	if !m.HasWords {
		m.Words = ""
	}
	for _, note := range m.explanation {
		if note.Kind == InEra {
			m.Words = strings.TrimSpace(note.From + " " + m.Words)
			m.HasWords = true
		}
	}
	return m.Query
}

// apply changes the query as its modifiers ask for.
func (m *meaning) apply(ix *Index, modifiers *text.Modifiers) {
	m.Words = modifiers.Rest
	m.sealed = modifiers.Sealed
	if m.Min == snapshot.NoCents && m.Max == snapshot.NoCents {
		m.Min = modifiers.Min
		m.Max = modifiers.Max
	}
	if !m.Ordered && m.Sort == Relevance {
		m.Sort = ParseSort(modifiers.Order)

		// Cards without a price are not cheap.
		if m.Sort == PriceAsc && m.Min == snapshot.NoCents && m.Max == snapshot.NoCents {
			m.Min = 0
		}
	}

	if modifiers.Alone {
		m.HasWords = false
		if m.Game == "" && modifiers.Game >= 0 {
			m.Game = ix.c.Games.Slug.At(modifiers.Game)
		}
	}
	if modifiers.Era != nil {
		m.era = ix.eras[modifiers.Era]
	}

	m.explain(modifiers)
	if m.era != nil && !slices.Contains(m.era, true) {
		m.giveUpEra()
	}
}

// explain makes the notes about the modifiers. Those that do not count were left out.
func (m *meaning) explain(modifiers *text.Modifiers) {
	var done [text.NoCard + 1]bool
	for _, remark := range modifiers.Remarks {
		kind := remark.Kind
		switch {
		case m.sealed && kind != NoCard:
			continue
		case kind == Sorted && m.Sort == m.given.Sort, kind == Bounded && m.Max == m.given.Max && m.Min == m.given.Min:
			remark.Kind = Dropped
		case kind == Bounded:
			remark.From = boundText(modifiers.Min)
			remark.To = boundText(modifiers.Max)
		case kind == Sorted:
			remark.To = modifiers.Order
		case kind == InEra:
			remark.To = modifiers.Era.Name
		}

		if remark.Kind == Dropped || !done[kind] {
			m.explanation = append(m.explanation, remark)
		}
		done[kind] = true
	}
}

// boundText is a bound in cents, "" for none.
func boundText(cents int64) string {
	if cents < 0 {
		return ""
	}
	return strconv.FormatInt(cents, 10)
}

// newEras finds the sets of each era.
func newEras(c *snapshot.Catalog, step func()) map[*cardvocab.Era]eraSets {
	eras := map[*cardvocab.Era]eraSets{}
	for i := range cardvocab.Eras {
		step()
		era := &cardvocab.Eras[i]
		of := make(eraSets, c.Sets.ID.Len())
		for set := range of {
			day := ""
			if c.Sets.Release[set] != snapshot.NoDay {
				day = c.Sets.Release[set].String()
			}
			of[set] = c.Games.Slug.At(int(c.Sets.Game[set])) == era.Game && era.Has(c.Sets.Name.At(set), day)
		}
		eras[era] = of
	}
	return eras
}

// searchMeant searches the words of a query. Words for an era may also be words of a set. They mean the
// era if no card has all words, or if the first card is not of the era. If no card of the name is of the
// era, the era is dropped.
func (s *scratch) searchMeant(ix *Index, m *meaning, filter *compiledFilter) {
	s.search(ix, m.Words, filter, ix.words.Search)
	if !m.mayModify {
		return
	}

	lacks := s.lacks()
	other := *m
	if m.era == nil {
		other = newMeaning(ix, m.given, true)
		if other.era == nil {
			return
		}
		lacks += s.strays(ix, other.era)
	} else {
		other.giveUpEra()
	}
	if lacks == 0 {
		return
	}

	filter.era = other.era
	s.search(ix, other.Words, filter, ix.words.Search)
	if s.lacks() < lacks {
		*m = other
		return
	}
	filter.era = m.era
	s.search(ix, m.Words, filter, ix.words.Search)
}

// dropBeyondBounds drops the hits within the bounds if cards beyond the bounds match the words better:
// those cards are meant, and none is within the bounds.
func (s *scratch) dropBeyondBounds(ix *Index, m *meaning, filter *compiledFilter) {
	if m.Min == m.given.Min && m.Max == m.given.Max || len(s.hits) == 0 || s.lacks() == 0 {
		return
	}

	lacks := s.lacks()
	wide := *filter
	wide.from = 0
	wide.to = uint32(ix.c.Cards.ID.Len())
	s.search(ix, m.Words, &wide, ix.words.Search)
	isMeant := s.lacks() >= lacks
	s.hits = s.hits[:0]
	if isMeant {
		s.search(ix, m.Words, filter, ix.words.Search)
	}
}

// strays returns 1 if the first hit is not of an era and does not have the requested name; else 0.
func (s *scratch) strays(ix *Index, era eraSets) int {
	if len(s.hits) == 0 {
		return 0
	}
	rank := ix.orders.priorRank
	byRank := func(a, b text.Hit) int {
		return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(rank[a.Card], rank[b.Card]))
	}
	first := slices.MinFunc(s.hits, byRank)
	set := ix.c.Cards.Set[first.Card]
	if text.QualityOf(first.Score).WholeName || set != snapshot.NoSet && era[set] {
		return 0
	}
	return 1
}

// giveUpEra notes that the era is missing.
func (m *meaning) giveUpEra() {
	m.era = nil
	m.explanation = slices.Clone(m.explanation)
	for i := range m.explanation {
		if m.explanation[i].Kind == InEra {
			m.explanation[i] = Note{Kind: Missing, From: m.explanation[i].From}
		}
	}
}

// lacks returns how far the hits are from the words, first by missing words and then by typos; more
// than any without a hit.
func (s *scratch) lacks() int {
	if len(s.hits) == 0 {
		return math.MaxInt
	}
	quality := text.QualityOf(s.hits[0].Score)
	return quality.Missing<<8 + quality.Typos
}

// dropDistant drops hits that match the words less than others.
func (s *scratch) dropDistant() {
	closest := ^uint64(0)
	for _, hit := range s.hits {
		closest = min(closest, text.Closeness(hit.Score))
	}
	s.hits = slices.DeleteFunc(s.hits, func(hit text.Hit) bool { return text.Closeness(hit.Score) > closest })
}
