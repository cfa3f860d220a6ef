package mcp

import (
	"strings"

	"ninepocket/index"
)

// maxNearest is how many cards are named in place of one that is not there.
const maxNearest = 3

// wanted is a card as words describe it.
type wanted struct{ name string }

// finder finds cards in the View of a request.
type finder struct{ *request }

// search finds the nearest cards for a name; the next search uses their memory again.
func (fd finder) search(w wanted) []index.Match {
	fd.matches = fd.matches[:0]
	if strings.TrimSpace(w.name) != "" {
		q := index.Query{Filter: index.NoFilter, Words: w.name, HasWords: true}
		fd.matches = fd.View.Index.Matches(fd.matches, q, maxNearest)
	}
	return fd.matches
}

// wordsOf makes words of what was meant as a slug; an id has none.
func wordsOf(ref string) string {
	if strings.HasPrefix(ref, "card_") {
		return ""
	}
	return strings.ReplaceAll(ref, "-", " ")
}
