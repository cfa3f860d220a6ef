package index

import (
	"slices"
	"sort"
	"strings"

	"ninepocket/cardvocab"
	"ninepocket/index/text"
	"ninepocket/snapshot"
)

// Filter restricts a search of cards. Empty strings and NoCents bounds exclude nothing; a value
// that no card has excludes every card (decision 6).
type Filter struct {
	Game   string // slug
	Set    string // id, slug, code, name or alias
	Number string // as printed, see decision 23
	Rarity string // compared on letters and digits, ignoring case
	Min    int64  // bounds of the display price; either one, even 0, excludes cards without a price
	Max    int64

	Identifier string // NAMESPACE:VALUE
	Variant    string // in which the card must have a price; compared by cardvocab.SameVariant
	// Bounds of the release date of the card's set, both inclusive; either one excludes cards
	// without a date. NoDay is no bound.
	ReleasedAfter  snapshot.Day
	ReleasedBefore snapshot.Day
	// UpdatedSince, in ms, excludes cards whose entry and prices all have not changed since; NoTime is no
	// bound.
	UpdatedSince int64
}

// PriceProblem explains the fault of a client's price bounds, "" for none.
func (f *Filter) PriceProblem() string {
	if f.Max == snapshot.NoCents || f.Min <= f.Max {
		return ""
	}
	return "min_price_cents must not be more than max_price_cents"
}

// NoFilter is the filter that excludes nothing.
var NoFilter = Filter{
	Min: snapshot.NoCents, Max: snapshot.NoCents,
	ReleasedAfter: snapshot.NoDay, ReleasedBefore: snapshot.NoDay, UpdatedSince: snapshot.NoTime,
}

// buildFilters makes the posting lists of sets, numbers, rarities, series and names.
func (ix *Index) buildFilters(moved *moves, step func()) {
	c := ix.c
	n := c.Cards.ID.Len()
	// Lists by set number need no hash table.
	setOf := func(card int) uint32 { return uint32(c.Cards.Set[card]) }
	ix.bySet = text.NewGrouping(step, c.Sets.ID.Len(), n, setOf, text.Identity)
	sets := c.Sets.ID.Len()
	ix.series = newTerms(step, sets, func(set int, add func(string)) { add(cardvocab.Fold(c.Sets.Series.At(set))) })
	ix.setNames = newSetNames(c, ix.sets, step)
	if moved != nil {
		ix.rarities = moved.earlier.rarities.renumber(moved.to, step)
		ix.numbers = moved.earlier.numbers.renumber(moved.to, step)
		ix.names = moved.earlier.names.renumber(moved.to, step)
		ix.baseNames = moved.earlier.baseNames.renumber(moved.to, step)
		return
	}

	order := ix.orders.newest
	ix.rarities = newCardTerms(step, order, func(card int, add func(string)) {
		add(cardvocab.Fold(c.Cards.Rarity.At(card)))
	})
	ix.numbers = newCardTerms(step, order, func(card int, add func(string)) {
		add(cardvocab.NumberKey(c.Cards.Number.At(card)))
		add(cardvocab.NumberBase(c.Cards.Number.At(card)))
	})
	ix.names = newCardTerms(step, order, func(card int, add func(string)) {
		add(cardvocab.Fold(PlainName(c.Cards.Name.At(card))))
	})
	ix.baseNames = newCardTerms(step, order, func(card int, add func(string)) {
		base := BaseName(c.Cards.Name.At(card), c.Cards.Number.At(card))
		add(baseNameKey(base))

		// "Mr.1(Daz.Bonez)" is a name (decision 83), and people still leave the bracket out.
		if at := strings.IndexAny(base, "(["); at > 0 {
			add(baseNameKey(base[:at]))
		}
	})
}

// compiledFilter is a filter resolved against the catalog. It accepts the cards that are in [from,
// to), in every list, and in the game.
type compiledFilter struct {
	from, to uint32
	game     int        // -1 for any
	lists    [][]uint32 // ascending
	// The card's set is in [firstSet, endSet), unless firstSet is noSets. The card is not older
	// than since, unless since is NoTime.
	firstSet, endSet int32
	since            int64
	era              eraSets // the card's set must be of this game
}

// compile resolves a filter against the catalog; ok is false when no card can match it.
func (ix *Index) compile(f Filter) (filter compiledFilter, ok bool) {
	filter = compiledFilter{to: uint32(ix.c.Cards.ID.Len()), firstSet: noSets, since: f.UpdatedSince}
	filter.game, ok = ix.games.find(f.Game)
	if !ok {
		return filter, false
	}

	if f.Min != snapshot.NoCents || f.Max != snapshot.NoCents {
		// Either bound excludes cards without a price, so a missing one becomes the least or the
		// greatest price.
		hi := f.Max
		if hi == snapshot.NoCents {
			hi = snapshot.MaxCents
		}
		from, to := ix.orders.priceRange(max(f.Min, 0), hi)
		filter.from = uint32(from)
		filter.to = uint32(to)
	}

	for _, by := range [...]struct {
		value string
		cards func(ix *Index, value string) []uint32
	}{
		{f.Set, (*Index).cardsIn},
		{f.Number, (*Index).cardsNumbered},
		{f.Identifier, (*Index).ByIdentifier},
		{f.Variant, (*Index).cardsPriced},
		{f.Rarity, func(ix *Index, rarity string) []uint32 { return ix.rarities.find(cardvocab.Fold(rarity)) }},
	} {
		if by.value != "" {
			filter.lists = append(filter.lists, by.cards(ix, by.value))
		}
	}

	if f.ReleasedAfter != snapshot.NoDay || f.ReleasedBefore != snapshot.NoDay {
		filter.firstSet, filter.endSet = ix.released(f.ReleasedAfter, f.ReleasedBefore)
		if filter.firstSet == filter.endSet {
			return filter, false
		}
	}

	for i, list := range filter.lists {
		filter.lists[i] = sublist(list, filter.from, filter.to)
		if len(filter.lists[i]) == 0 {
			return filter, false
		}
	}

	// The shortest list comes first, because a card must be in all of them.
	slices.SortFunc(filter.lists, func(a, b []uint32) int { return len(a) - len(b) })
	return filter, filter.from < filter.to
}

// cardsIn returns the cards that a set filter selects, ascending.
func (ix *Index) cardsIn(ref string) []uint32 {
	if set, ok := ix.Set(ref); ok {
		return ix.bySet.Of(uint32(set))
	}
	return ix.cardsOfSets(ix.setNames.Resolve(ref))
}

// cardsOfSets returns the cards of several sets, ascending.
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

// CardsOfSet returns the cards of a set, ascending.
func (ix *Index) CardsOfSet(set int) []uint32 { return ix.bySet.Of(uint32(set)) }

// cardsNumbered returns the cards with a collector number, ascending (decision 23). The posting
// lists are keyed by the part before the slash; totals must agree where both numbers have one.
func (ix *Index) cardsNumbered(number string) []uint32 {
	all := ix.numbers.find(cardvocab.NumberKey(number))
	_, total, _ := strings.Cut(number, "/")
	if cardvocab.NumberTotal(number) == "" {
		return all
	}

	// Hundreds of cards share a common number, and nearly all of them have another plain total.
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

// sameTotal compares the totals behind the slash of two numbers; a missing total agrees with any
// other. Plain digits, as in nearly all totals, are compared without folding.
func sameTotal(a, b string) bool {
	if cardvocab.IsInteger(a) && cardvocab.IsInteger(b) {
		return strings.TrimLeft(a, "0") == strings.TrimLeft(b, "0")
	}
	a = cardvocab.NumberKey(a)
	b = cardvocab.NumberKey(b)
	return a == "" || b == "" || a == b
}

// sublist returns the part of an ascending list that lies in [from, to).
func sublist(list []uint32, from, to uint32) []uint32 {
	a := sort.Search(len(list), func(i int) bool { return list[i] >= from })
	b := sort.Search(len(list), func(i int) bool { return list[i] >= to })
	return list[a:b]
}

// has reports whether a card matches a filter, without a check of the first skip lists: 1 for a card that
// was taken from the first list, 0 for any other.
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
	if set := ix.c.Cards.Set[card]; filter.era != nil && (set == snapshot.NoSet || !filter.era[set]) {
		return false
	}

	for _, list := range filter.lists[skip:] {
		if !Contains(list, card) {
			return false
		}
	}

	return true
}

// Contains reports whether a row is in an ascending list.
func Contains(list []uint32, row uint32) bool {
	_, ok := slices.BinarySearch(list, row)
	return ok
}
