package mcp

import (
	"strings"

	"ninepocket/index"
)

// maxNearest is how many cards are named at most when the one that was asked for is not there.
const maxNearest = 3

// wanted is a description of a card in words.
type wanted struct{ name string }

// finder finds cards in the View of a request.
type finder struct{ *request }

// search finds the cards whose names are nearest to a name. The result is valid until the next
// search.
func (fd finder) search(w wanted) []index.Match {
	fd.matches = fd.matches[:0]
	if strings.TrimSpace(w.name) != "" {
		q := index.Query{Filter: index.NoFilter, Words: w.name, HasWords: true}
		fd.matches = fd.View.Index.Matches(fd.matches, q, maxNearest)
	}
	return fd.matches
}

// wordsOf makes words of a slug. An id has no words.
func wordsOf(ref string) string {
	if strings.HasPrefix(ref, "card_") {
		return ""
	}
	return strings.ReplaceAll(ref, "-", " ")
}
