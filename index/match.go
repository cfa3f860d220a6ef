package index

import (
	"ninepocket/collector"
	"ninepocket/index/text"
)

// Match is a card that words may mean, and how well it answers them.
type Match struct {
	Card uint32
	text.Fit
	Same bool // the words are the card's name to the last letter, signs and case aside
}

// Matches appends the best n cards that match the words of q and its filter, in order of relevance.
func (x *Index) Matches(dst []Match, q Query, n int) []Match {
	sel, ok := x.resolve(q.Filter)
	if !ok {
		return dst
	}
	s, _ := scratches.Get().(*scratch)
	defer func() {
		if cap(s.hits) <= keepScratch {
			scratches.Put(s)
		}
	}()
	s.best = s.best[:0]
	q.Sort = Relevance
	x.findWords(s, q, &sel, ranked{}, n)
	folded := collector.Fold(q.Words)
	for _, r := range s.best {
		m := Match{Card: r.card, Fit: text.FitOf(r.major)}
		if m.Same = folded != "" && collector.Fold(x.c.Cards.Name.At(int(r.card))) == folded; m.Same {
			m.Fit = text.Fit{Whole: true} // also of names with more words than a query is read for
		}
		dst = append(dst, m)
	}
	return dst
}

// SetsNamed are the sets that a set filter means: the one with the id or slug, else all with the code, name or alias
// (decision 23).
func (x *Index) SetsNamed(ref string) []uint32 { return x.setsNamed(ref) }
