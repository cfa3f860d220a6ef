package index

import (
	"slices"

	"ninepocket/cardvocab"
	"ninepocket/snapshot"
)

// games finds the games of a catalog by their slugs.
type games struct {
	slugs  *snapshot.Strings
	folded []string
}

func newGames(c *snapshot.Catalog) games {
	g := games{slugs: &c.Games.Slug}
	for slug := range g.slugs.All() {
		g.folded = append(g.folded, cardvocab.Fold(slug))
	}
	return g
}

// find returns the number of a game by its slug, -1 for "", which is any game; ok is false for an
// unknown game. Only letters and digits count, without diacritics (decision 2005).
func (g *games) find(slug string) (game int, ok bool) {
	for k := range g.slugs.Len() {
		if g.slugs.At(k) == slug {
			return k, true
		}
	}

	if slug == "" {
		return -1, true
	}
	game = slices.Index(g.folded, cardvocab.Fold(slug))
	return game, game >= 0
}
