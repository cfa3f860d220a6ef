// Package slug gives sets and cards their names in addresses.
package slug

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	// maxStem bounds the slug's part that is made from names, in bytes, so that a slug with its
	// tail stays well below the 200 characters that a path may have (decision 4).
	maxStem = 150
	// shortTail is how many characters of the id's tail distinguish two equal stems.
	shortTail = 6
)

// reservedSlug is the only API name next to the slugs of cards: /v1/cards/batch is an operation,
// and a card of that slug could not be requested.
const reservedSlug = "batch"

// symbolWords are signs of card names with a spoken form. The table is the slug's own and frozen: a
// change would rename published slugs.
var symbolWords = strings.NewReplacer(
	"♀", " female ", "♂", " male ", "δ", " delta ", "★", " star ", "☆", " star ", "◇", " prism star ",
	"&", " and ", "'", "", "’", "", "‘", "",
)

// wholeLetters are letters that Unicode does not decompose, frozen likewise.
var wholeLetters = strings.NewReplacer("ß", "ss", "æ", "ae", "Æ", "ae", "œ", "oe", "Œ", "oe", "ø", "o", "Ø", "o", "ł",
	"l", "Ł", "l")

// Of writes text in the characters a-z, 0-9 and single hyphens.
func Of(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	// Most names have no character that is written as others.
	if strings.ContainsFunc(s, func(r rune) bool { return r == '&' || r == '\'' || r >= utf8.RuneSelf }) {
		s = norm.NFKD.String(wholeLetters.Replace(symbolWords.Replace(s)))
	}

	hyphen := false
	for _, r := range s {
		c := byte(min(r, 0x7f))
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}

		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			if hyphen && b.Len() > 0 {
				b.WriteByte('-')
			}
			hyphen = false
			b.WriteByte(c)
		case !unicode.Is(unicode.M, r):
			hyphen = true
		}
	}

	out := b.String()
	if len(out) > maxStem {
		out = strings.TrimRight(out[:maxStem], "-")
	}

	return out
}

// Request is one item or set that needs a slug.
type Request struct {
	ID    string
	Tail  string   // of the id
	Prior string   // the slug in the base, "" for none
	Stems []string // the possible slugs without a tail, best first; not empty
}

// candidate is the possible slug of a want at a level: its stems, then the last stem with a part
// of the id's tail, then the whole tail. No level depends on any other item.
func (w *Request) candidate(level int) string {
	if level < len(w.Stems) {
		return w.Stems[level]
	}

	last := w.Stems[len(w.Stems)-1]
	tail := w.Tail
	if level == len(w.Stems) {
		tail = tail[:min(shortTail, len(tail))]
	}

	return strings.TrimLeft(last+"-"+tail, "-")
}

func (w *Request) levels() int { return len(w.Stems) + 2 }

// retainsPrior reports whether the base's slug still matches the item's name: it is one of the
// candidates, or the last candidate with a counter.
func (w *Request) retainsPrior() bool {
	if w.Prior == "" {
		return false
	}

	for level := range w.levels() {
		if w.candidate(level) == w.Prior {
			return true
		}
	}

	n, ok := strings.CutPrefix(w.Prior, w.candidate(w.levels()-1)+"-")
	_, err := strconv.Atoi(n)
	return ok && err == nil
}

// Assign gives every want a slug (decision 24). Items that keep their base slug are served first.
// The others take the first candidate that no other item wants at that level, that is not taken,
// and that never led to another item. The result does not depend on the order of wants. A slug has
// no underscore, so it never equals an id.
func Assign(wants []Request, former map[string]string) []string {
	slugs := make([]string, len(wants))
	taken := make(map[string]bool, len(wants)+1)
	taken[reservedSlug] = true
	var open []int
	lost := map[string]string{} // slugs of the base that do not stay with their items
	for i := range wants {
		// Published slugs come first, so that nobody loses one to a newcomer.
		if wants[i].retainsPrior() && !taken[wants[i].Prior] {
			slugs[i] = wants[i].Prior
			taken[slugs[i]] = true
		} else {
			open = append(open, i)
			lost[wants[i].Prior] = wants[i].ID
		}
	}

	free := func(slug, id string) bool {
		owner, was := lost[slug]
		if !was {
			owner, was = former[slug]
		}
		return slug != "" && !taken[slug] && (!was || owner == id)
	}
	give := func(i int, slug string) {
		slugs[i] = slug
		taken[slug] = true
	}

	// Level by level, so that a better slug of one item never depends on a worse one of another.
	for level := 0; len(open) > 0; level++ {
		rivals := slugDemand(level, wants, open)
		if len(rivals) == 0 {
			break
		}

		open = slices.DeleteFunc(open, func(i int) bool {
			if level >= wants[i].levels() {
				return false
			}

			// If several want one slug, none of them gets it: the order of items must not matter.
			slug := wants[i].candidate(level)
			ours := rivals[slug] == 1 && free(slug, wants[i].ID)
			if ours {
				give(i, slug)
			}

			return ours
		})
	}

	// Only names made up to look like another item's slug get here.
	slices.SortFunc(open, func(a, b int) int { return strings.Compare(wants[a].ID, wants[b].ID) })
	for _, i := range open {
		stem := wants[i].candidate(wants[i].levels()-1) + "-"
		n := 2
		for !free(stem+strconv.Itoa(n), wants[i].ID) {
			n++
		}
		give(i, stem+strconv.Itoa(n))
	}

	return slugs
}

// slugDemand counts the wants of each slug at a level, none above the last level.
func slugDemand(level int, wants []Request, open []int) map[string]int {
	rivals := make(map[string]int, len(open))
	for _, i := range open {
		if level < wants[i].levels() {
			rivals[wants[i].candidate(level)]++
		}
	}
	return rivals
}
