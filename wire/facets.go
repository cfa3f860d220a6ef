package wire

import "ninepocket/snapshot"

// Facet is a value of a filter, with the number of cards of one game that have it.
type Facet struct {
	Game  int
	Value string
	Cards int
}

// Facets are the values of all filters. Conditions has the number of cards by condition.
type Facets struct {
	Series, Rarities, Variants []Facet
	Conditions                 []int
}

// AppendFacets appends the whole body of list facets.
func AppendFacets(dst []byte, c *snapshot.Catalog, facets Facets) []byte {
	cards := countGames(c, c.Cards.Game)
	dst = AppendText(dst, `{"snapshot_id":`, c.ID)
	dst = append(dst, `,"games":[`...)
	for game := range cards {
		dst = AppendText(AppendComma(dst), `{"value":`, c.Games.Slug.At(game))
		dst = AppendText(dst, `,"name":`, c.Games.Name.At(game))
		dst = append(AppendInt(dst, `,"cards":`, cards[game]), '}')
	}

	dst = appendFacets(append(dst, `],"series":[`...), c, facets.Series)
	dst = appendFacets(append(dst, `],"rarities":[`...), c, facets.Rarities)
	dst = appendFacets(append(dst, `],"variants":[`...), c, facets.Variants)

	dst = append(dst, `],"conditions":[`...)
	for k, cards := range facets.Conditions {
		condition := snapshot.Condition(k)
		dst = AppendText(AppendComma(dst), `{"value":`, condition.Code())
		dst = AppendText(dst, `,"name":`, condition.Text())
		dst = append(AppendInt(dst, `,"cards":`, int64(cards)), '}')
	}
	return append(dst, ']', '}')
}

func appendFacets(dst []byte, c *snapshot.Catalog, facets []Facet) []byte {
	for i := range facets {
		facet := &facets[i]
		dst = AppendText(AppendComma(dst), `{"value":`, facet.Value)
		dst = AppendText(dst, `,"game":`, c.Games.Slug.At(facet.Game))
		dst = append(AppendInt(dst, `,"cards":`, int64(facet.Cards)), '}')
	}
	return dst
}
