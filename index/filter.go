package index

import (
	"slices"
	"sort"
	"strings"

	"ninepocket/collector"
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
	Variant    string // that a card has a price in; compared by collector.SameVariant
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
	ix.bySet = text.NewColumn(c.Sets.ID.Len(), n, setOf, text.Itself)
	ix.rarities = newTerms(step, n, func(card int, add func(string)) { add(collector.Fold(c.Cards.Rarity.At(card))) })
	ix.numbers = newTerms(step, n, func(card int, add func(string)) {
		add(collector.NumberKey(c.Cards.Number.At(card)))
		add(collector.NumberBase(c.Cards.Number.At(card)))
	})
	sets := c.Sets.ID.Len()
	ix.series = newTerms(step, sets, func(set int, add func(string)) { add(collector.Fold(c.Sets.Series.At(set))) })

	ix.setNames = newSetNames(c, ix.sets, step)
	ix.names = newTerms(step, n, func(card int, add func(string)) {
		add(collector.Fold(PlainName(c.Cards.Name.At(card))))
	})
	ix.cores = newTerms(step, n, func(card int, add func(string)) {
		core := Core(c.Cards.Name.At(card), c.Cards.Number.At(card))
		add(coreKey(core))

		// "Mr.1(Daz.Bonez)" is a name (decision 83), and people leave the bracket out all the same.
		if at := strings.IndexAny(core, "(["); at > 0 {
			add(coreKey(core[:at]))
		}
	})
}

// selection is a filter resolved against the catalog: the cards that are in [from, to), in every
// list, and in the game.
type selection struct {
	from, to uint32
	game     int        // -1 for any
	lists    [][]uint32 // ascending
	// The sets of the cards are in [firstSet, endSet), but for noSets; the cards are as new as since,
	// but for NoTime.
	firstSet, endSet int32
	since            int64
}

// resolve turns a filter into a selection; false when nothing can pass it.
func (ix *Index) resolve(f Filter) (chosen selection, ok bool) {
	chosen = selection{to: uint32(ix.c.Cards.ID.Len()), firstSet: noSets, since: f.UpdatedSince}
	chosen.game, ok = ix.games.find(f.Game)
	if !ok {
		return chosen, false
	}

	if f.Min != snapshot.NoCents || f.Max != snapshot.NoCents {
		// Either bound leaves out cards without a price, so the other one is the widest there is.
		hi := f.Max
		if hi == snapshot.NoCents {
			hi = snapshot.MaxCents
		}
		from, to := ix.orders.priceRange(max(f.Min, 0), hi)
		chosen.from = uint32(from)
		chosen.to = uint32(to)
	}

	if f.Set != "" {
		chosen.lists = append(chosen.lists, ix.cardsIn(f.Set))
	}

	if f.Rarity != "" {
		chosen.lists = append(chosen.lists, ix.rarities.find(collector.Fold(f.Rarity)))
	}

	if f.Number != "" {
		chosen.lists = append(chosen.lists, ix.cardsNumbered(f.Number))
	}

	if f.Identifier != "" {
		chosen.lists = append(chosen.lists, ix.Identified(f.Identifier))
	}

	if f.Variant != "" {
		chosen.lists = append(chosen.lists, ix.cardsPriced(f.Variant))
	}

	if f.ReleasedAfter != snapshot.NoDay || f.ReleasedBefore != snapshot.NoDay {
		chosen.firstSet, chosen.endSet = ix.released(f.ReleasedAfter, f.ReleasedBefore)
		if chosen.firstSet == chosen.endSet {
			return chosen, false
		}
	}

	for i, list := range chosen.lists {
		chosen.lists[i] = cut(list, chosen.from, chosen.to)
		if len(chosen.lists[i]) == 0 {
			return chosen, false
		}
	}

	// The shortest list leads: a card must be in all of them.
	slices.SortFunc(chosen.lists, func(a, b []uint32) int { return len(a) - len(b) })
	return chosen, chosen.from < chosen.to
}

// cardsIn are the cards that a set filter means, ascending.
func (ix *Index) cardsIn(ref string) []uint32 {
	if set, ok := ix.Set(ref); ok {
		return ix.bySet.Of(uint32(set))
	}
	return ix.cardsOfSets(ix.setNames.Named(ref))
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
	all := ix.numbers.find(collector.NumberKey(number))
	_, total, _ := strings.Cut(number, "/")
	if collector.NumberTotal(number) == "" {
		return all
	}

	// A common number is that of hundreds of cards, nearly all of which have another plain total.
	var matching []uint32
	plain := collector.IsInteger(total) && total[0] != '0'
	for _, card := range all {
		_, printed, _ := strings.Cut(ix.c.Cards.Number.At(int(card)), "/")
		if plain && printed != total && collector.IsInteger(printed) && printed[0] != '0' {
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
	if collector.IsInteger(a) && collector.IsInteger(b) {
		return strings.TrimLeft(a, "0") == strings.TrimLeft(b, "0")
	}
	a = collector.NumberKey(a)
	b = collector.NumberKey(b)
	return a == "" || b == "" || a == b
}

// cut is the part of an ascending list that lies in [from, to).
func cut(list []uint32, from, to uint32) []uint32 {
	a := sort.Search(len(list), func(i int) bool { return list[i] >= from })
	b := sort.Search(len(list), func(i int) bool { return list[i] >= to })
	return list[a:b]
}

// has reports whether a card passes, not looking at the first skip lists.
func (ix *Index) has(selection *selection, card uint32, skip int) bool {
	if card < selection.from || card >= selection.to || selection.game >= 0 &&
		int(ix.c.Cards.Game[card]) != selection.game {
		return false
	}

	if set := ix.c.Cards.Set[card]; selection.firstSet != noSets &&
		(set < selection.firstSet || set >= selection.endSet) {
		return false
	}
	if selection.since != snapshot.NoTime && ix.updated[card] < selection.since {
		return false
	}

	for _, list := range selection.lists[skip:] {
		if !holds(list, card) {
			return false
		}
	}

	return true
}

// holds reports whether a row is in an ascending list.
func holds(list []uint32, row uint32) bool {
	_, ok := slices.BinarySearch(list, row)
	return ok
}
