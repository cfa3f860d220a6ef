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

// find is the number of a game by its slug, in which only letters and digits count, without their
// marks (decision 2005); -1 for "", which is any game; false for an unknown one.
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
