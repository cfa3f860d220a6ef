package wire

import "ninepocket/snapshot"

// AppendGames appends the whole body of list games.
func AppendGames(dst []byte, c *snapshot.Catalog) []byte {
	sets := countGames(c, c.Sets.Game)
	cards := countGames(c, c.Cards.Game)

	dst = append(dst, `{"data":[`...)
	for g := range cards {
		dst = AppendText(AppendComma(dst), `{"slug":`, c.Games.Slug.At(g))
		dst = AppendText(dst, `,"name":`, c.Games.Name.At(g))
		dst = AppendInt(dst, `,"set_count":`, sets[g])
		dst = append(AppendInt(dst, `,"card_count":`, cards[g]), '}')
	}

	return append(dst, ']', '}')
}

// countGames counts how often each game occurs in a column. There are few games, so that counting
// costs less than a stored column of counts.
func countGames(c *snapshot.Catalog, column []uint8) []int64 {
	counts := make([]int64, c.Games.Slug.Len())
	for _, game := range column {
		counts[game]++
	}
	return counts
}

// appendSet appends a Set summary without the closing brace.
func appendSet(dst []byte, c *snapshot.Catalog, set int) []byte {
	sets := &c.Sets
	dst = AppendText(dst, `{"id":`, sets.ID.At(set))
	dst = AppendText(dst, `,"name":`, sets.Name.At(set))
	dst = AppendNullable(dst, `,"series":`, sets.Series.At(set))

	dst = append(dst, `,"release_date":`...)
	if day := sets.Release[set]; day == snapshot.NoDay {
		dst = append(dst, "null"...)
	} else {
		dst = append(AppendDay(append(dst, '"'), day), '"')
	}

	dst = AppendInt(dst, `,"card_count":`, int64(sets.Cards[set]))
	return AppendGame(dst, c, sets.Game[set])
}

// AppendSetSummary appends a Set summary.
func AppendSetSummary(dst []byte, c *snapshot.Catalog, set int) []byte {
	return append(appendSet(dst, c, set), '}')
}

// AppendSetDetail appends a Set detail with its highest-value cards, most expensive first.
func AppendSetDetail(dst []byte, c *snapshot.Catalog, set int, top []uint32, urls *URLs) []byte {
	dst = appendSet(dst, c, set)
	dst = urls.AppendSetURL(dst, c, set)

	dst = append(dst, `,"top_cards":[`...)
	for _, card := range top {
		// Their game and set are those of the body.
		dst = AppendName(AppendComma(dst), c, int(card))
		dst = urls.AppendCardURL(dst, c, int(card))
		dst = AppendCents(dst, `,"currency":"USD","market_price_cents":`, c.DisplayCents(int(card)))
		dst = append(dst, '}')
	}

	return append(dst, ']', '}')
}
