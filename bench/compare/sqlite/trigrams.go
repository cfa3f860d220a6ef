package main

import (
	"cmp"
	"slices"
	"strings"
)

// The number of hits of a fuzzy search that are compared with the query, and the similarity that a
// hit needs.
const (
	candidates = 100
	alike      = 0.3
)

// trigrams returns the sequences of three letters of a text, with words padded as pg_trgm does.
func trigrams(text string) map[string]bool {
	grams := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		letters := []rune("  " + word + " ")
		for i := range len(letters) - 2 {
			grams[string(letters[i:i+3])] = true
		}
	}
	return grams
}

// rankBySimilarity orders hits by the part of trigrams that their name, number and set have in
// common with the query.
func rankBySimilarity(hits []hit, wanted map[string]bool, limit int) []hit {
	type scored struct {
		hit
		score float64
	}

	var all []scored
	for _, h := range hits {
		own := trigrams(h.folded)
		common := 0
		for gram := range own {
			if wanted[gram] {
				common++
			}
		}
		if score := 2 * float64(common) / float64(len(own)+len(wanted)); score >= alike {
			all = append(all, scored{h, score})
		}
	}

	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	var out []hit
	for i := range all[:min(len(all), limit)] {
		out = append(out, all[i].hit)
	}
	return out
}
