package index

import (
	"slices"
	"sort"
	"strings"

	"ninepocket/cardvocab"
	"ninepocket/index/text"
	"ninepocket/snapshot"
)

// Filter narrows cards down. Empty strings and NoCents bounds leave out nothing; a value that
// nothing has leaves nothing (decision 6).
type Filter struct {
	Game   string // slug
	Set    string // id, slug, code, name or alias
	Number string // as printed, see decision 23
	Rarity string // compared on letters and digits, ignoring case
	Min    int64  // bounds of the display price; either one, even 0, leaves out cards without a price
	Max    int64

	Identifier string // NAMESPACE:VALUE
	Variant    string // that a card has a price in; compared by cardvocab.SameVariant
	// The release date of the card's set, both inclusive; either leaves out cards without one. NoDay
	// is no bound.
	ReleasedAfter  snapshot.Day
	ReleasedBefore snapshot.Day
	// UpdatedSince leaves out cards of which neither the entry nor a price is as new, ms; NoTime is
	// no bound.
	UpdatedSince int64
}

// PriceProblem says what is wrong with the bounds of the price as a client gave them, "" for nothing.
func (f *Filter) PriceProblem() string {
	if f.Max == snapshot.NoCents || f.Min <= f.Max {
		return ""
	}
	return "min_price_cents must not be more than max_price_cents"
}

// NoFilter is the filter that leaves out nothing.
var NoFilter = Filter{
	Min: snapshot.NoCents, Max: snapshot.NoCents,
	ReleasedAfter: snapshot.NoDay, ReleasedBefore: snapshot.NoDay, UpdatedSince: snapshot.NoTime,
}

// buildFilters makes the posting lists of every filter.
func (ix *Index) buildFilters(step func()) {
	c := ix.c
	n := c.Cards.ID.Len()
	step()
	// Lists by row need no table: games and sets are numbered already.
	setOf := func(card int) uint32 { return uint32(c.Cards.Set[card]) }
	ix.bySet = text.NewGrouping(c.Sets.ID.Len(), n, setOf, text.Identity)
	ix.rarities = newTerms(step, n, func(card int, add func(string)) { add(cardvocab.Fold(c.Cards.Rarity.At(card))) })
	ix.numbers = newTerms(step, n, func(card int, add func(string)) {
		add(cardvocab.NumberKey(c.Cards.Number.At(card)))
		add(cardvocab.NumberBase(c.Cards.Number.At(card)))
	})
	sets := c.Sets.ID.Len()
	ix.series = newTerms(step, sets, func(set int, add func(string)) { add(cardvocab.Fold(c.Sets.Series.At(set))) })

	ix.setNames = newSetNames(c, ix.sets, step)
	ix.names = newTerms(step, n, func(card int, add func(string)) {
		add(cardvocab.Fold(PlainName(c.Cards.Name.At(card))))
	})
	ix.baseNames = newTerms(step, n, func(card int, add func(string)) {
		base := BaseName(c.Cards.Name.At(card), c.Cards.Number.At(card))
		add(baseNameKey(base))

		// "Mr.1(Daz.Bonez)" is a name (decision 83), and people leave the bracket out all the same.
		if at := strings.IndexAny(base, "(["); at > 0 {
			add(baseNameKey(base[:at]))
		}
	})
}

// compiledFilter is a filter resolved against the catalog: the cards that are in [from, to), in
// every list, and in the game.
type compiledFilter struct {
	from, to uint32
	game     int        // -1 for any
	lists    [][]uint32 // ascending
	// The sets of the cards are in [firstSet, endSet), but for noSets; the cards are as new as since,
	// but for NoTime.
	firstSet, endSet int32
	since            int64
}

// compile turns a filter into a selection; false when nothing can pass it.
func (ix *Index) compile(f Filter) (filter compiledFilter, ok bool) {
	filter = compiledFilter{to: uint32(ix.c.Cards.ID.Len()), firstSet: noSets, since: f.UpdatedSince}
	filter.game, ok = ix.games.find(f.Game)
	if !ok {
		return filter, false
	}

	if f.Min != snapshot.NoCents || f.Max != snapshot.NoCents {
		// Either bound leaves out cards without a price, so the other one is the widest there is.
		hi := f.Max
		if hi == snapshot.NoCents {
			hi = snapshot.MaxCents
		}
		from, to := ix.orders.priceRange(max(f.Min, 0), hi)
		filter.from = uint32(from)
		filter.to = uint32(to)
	}

	if f.Set != "" {
		filter.lists = append(filter.lists, ix.cardsIn(f.Set))
	}

	if f.Rarity != "" {
		filter.lists = append(filter.lists, ix.rarities.find(cardvocab.Fold(f.Rarity)))
	}

	if f.Number != "" {
		filter.lists = append(filter.lists, ix.cardsNumbered(f.Number))
	}

	if f.Identifier != "" {
		filter.lists = append(filter.lists, ix.ByIdentifier(f.Identifier))
	}

	if f.Variant != "" {
		filter.lists = append(filter.lists, ix.cardsPriced(f.Variant))
	}

	if f.ReleasedAfter != snapshot.NoDay || f.ReleasedBefore != snapshot.NoDay {
		filter.firstSet, filter.endSet = ix.released(f.ReleasedAfter, f.ReleasedBefore)
		if filter.firstSet == filter.endSet {
			return filter, false
		}
	}

	for i, list := range filter.lists {
		filter.lists[i] = cut(list, filter.from, filter.to)
		if len(filter.lists[i]) == 0 {
			return filter, false
		}
	}

	// The shortest list leads: a card must be in all of them.
	slices.SortFunc(filter.lists, func(a, b []uint32) int { return len(a) - len(b) })
	return filter, filter.from < filter.to
}

// cardsIn are the cards that a set filter means, ascending.
func (ix *Index) cardsIn(ref string) []uint32 {
	if set, ok := ix.Set(ref); ok {
		return ix.bySet.Of(uint32(set))
	}
	return ix.cardsOfSets(ix.setNames.Resolve(ref))
}

// cardsOfSets joins the cards of sets, ascending.
func (ix *Index) cardsOfSets(sets []uint32) []uint32 {
	if len(sets) == 1 {
		return ix.bySet.Of(sets[0])
	}

	var all []uint32
	for _, set := range sets {
		all = append(all, ix.bySet.Of(set)...)
	}

	slices.Sort(all)
	return all
}

// cardsNumbered are the cards whose number is the one asked for, ascending (decision 23). The
// posting list has them by what stands before the slash; totals must agree where both have one.
func (ix *Index) cardsNumbered(number string) []uint32 {
	all := ix.numbers.find(cardvocab.NumberKey(number))
	_, total, _ := strings.Cut(number, "/")
	if cardvocab.NumberTotal(number) == "" {
		return all
	}

	// A common number is that of hundreds of cards, nearly all of which have another plain total.
	var matching []uint32
	plain := cardvocab.IsInteger(total) && total[0] != '0'
	for _, card := range all {
		_, printed, _ := strings.Cut(ix.c.Cards.Number.At(int(card)), "/")
		if plain && printed != total && cardvocab.IsInteger(printed) && printed[0] != '0' {
			continue
		}
		if sameTotal(total, printed) {
			matching = append(matching, card)
		}
	}

	return matching
}

// sameTotal compares what stands behind the slash of two numbers; a number without it agrees with
// any. Plain digits, which nearly all totals are, are compared as they are.
func sameTotal(a, b string) bool {
	if cardvocab.IsInteger(a) && cardvocab.IsInteger(b) {
		return strings.TrimLeft(a, "0") == strings.TrimLeft(b, "0")
	}
	a = cardvocab.NumberKey(a)
	b = cardvocab.NumberKey(b)
	return a == "" || b == "" || a == b
}

// cut is the part of an ascending list that lies in [from, to).
func cut(list []uint32, from, to uint32) []uint32 {
	a := sort.Search(len(list), func(i int) bool { return list[i] >= from })
	b := sort.Search(len(list), func(i int) bool { return list[i] >= to })
	return list[a:b]
}

// has reports whether a card passes, not looking at the first skip lists.
func (ix *Index) has(filter *compiledFilter, card uint32, skip int) bool {
	if card < filter.from || card >= filter.to || filter.game >= 0 && int(ix.c.Cards.Game[card]) != filter.game {
		return false
	}

	if set := ix.c.Cards.Set[card]; filter.firstSet != noSets && (set < filter.firstSet || set >= filter.endSet) {
		return false
	}
	if filter.since != snapshot.NoTime && ix.updated[card] < filter.since {
		return false
	}

	for _, list := range filter.lists[skip:] {
		if !contains(list, card) {
			return false
		}
	}

	return true
}

// contains reports whether a row is in an ascending list.
func contains(list []uint32, row uint32) bool {
	_, ok := slices.BinarySearch(list, row)
	return ok
}
