package index

// Movers appends the cards with the largest price changes in 7 days, up or down, that match the
// filter, at most limit (decision 21).
func (ix *Index) Movers(dst []uint32, down bool, f Filter, limit int) []uint32 {
	sel, ok := ix.compile(f)
	if !ok {
		return dst
	}

	list := ix.c.Movers.Up
	if down {
		list = ix.c.Movers.Down
	}

	for _, card := range list {
		if limit == 0 {
			break
		}
		if ix.has(&sel, card, 0) {
			dst = append(dst, card)
			limit--
		}
	}

	return dst
}

// MoversOfMonth appends the cards with the largest price changes in 30 days, up or down, that match
// the filter, at most limit. They are in the order of Movers. A catalog has no list of these cards.
// Cards are numbered by price, so a minimum price leaves few of them to visit.
func (ix *Index) MoversOfMonth(dst []uint32, down bool, f Filter, limit int) []uint32 {
	sel, ok := ix.compile(f)
	if !ok || limit <= 0 {
		return dst
	}

	// The best so far, in order: the last one is dropped first.
	best := dst[len(dst):]
	base := ix.c.Lanes.Price30DaysAgo
	order := func(a, b uint32) int { return ix.c.ComparePriceChange(base, int(a), int(b)) }
	ix.eachMatch(&sel, func(card uint32) {
		lane := ix.c.Cards.Display[card]
		if lane < 0 || base[lane] <= 0 || ix.c.Lanes.Cents[lane] < 0 {
			return
		}
		change := ix.c.Lanes.Cents[lane] - base[lane]
		if change == 0 || (change < 0) != down {
			return
		}

		if len(best) < limit || order(card, best[limit-1]) < 0 {
			best = insertTop(best, card, limit, order)
		}
	})
	return append(dst, best...)
}

// eachMatch calls f with every card that matches a filter.
func (ix *Index) eachMatch(sel *compiledFilter, f func(card uint32)) {
	if len(sel.lists) > 0 {
		for _, card := range sel.lists[0] {
			if ix.has(sel, card, 1) {
				f(card)
			}
		}
		return
	}

	for card := sel.from; card < sel.to; card++ {
		if ix.has(sel, card, 0) {
			f(card)
		}
	}
}
