package loader

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"ninepocket/snapshot"
)

const (
	// maxStem bounds the slug's part that is made of names, in bytes, so that a slug with its tail
	// stays well below the 200 characters that a path may have (decision 4).
	maxStem = 150
	// shortTail is how many characters of the id's tail tell two equal stems apart.
	shortTail = 6
)

// reservedSlug is the one name that the API has beside the slugs of cards: /v1/cards/batch is an
// operation, and a card of that slug could not be asked for.
const reservedSlug = "batch"

// symbolWords are signs of card names with a spoken form. The table is the slug's own and frozen: a
// change would rename published slugs.
var symbolWords = strings.NewReplacer(
	"♀", " female ", "♂", " male ", "δ", " delta ", "★", " star ", "☆", " star ", "◇", " prism star ",
	"&", " and ", "'", "", "’", "", "‘", "",
)

// wholeLetters are letters that Unicode does not take apart, frozen likewise.
var wholeLetters = strings.NewReplacer("ß", "ss", "æ", "ae", "Æ", "ae", "œ", "oe", "Œ", "oe", "ø", "o", "Ø", "o", "ł",
	"l", "Ł", "l")

// slugify spells text in the characters a-z, 0-9 and single hyphens.
func slugify(s string) string {
	var b strings.Builder
	hyphen := false
	for _, r := range norm.NFKD.String(wholeLetters.Replace(symbolWords.Replace(s))) {
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

// slugWant is one item or set that needs a slug.
type slugWant struct {
	id    string
	tail  string
	prior string   // the slug in the base, "" for none
	stems []string // what the slug may be without a tail, best first; not empty
}

// candidate is the slug a want may have at a level: its stems, then the last stem with a part of
// the id's tail, then with the whole of it. No level depends on any other item.
func (w *slugWant) candidate(level int) string {
	if level < len(w.stems) {
		return w.stems[level]
	}

	last := w.stems[len(w.stems)-1]
	tail := w.tail
	if level == len(w.stems) {
		tail = tail[:min(shortTail, len(tail))]
	}

	return strings.TrimLeft(last+"-"+tail, "-")
}

func (w *slugWant) levels() int { return len(w.stems) + 2 }

// keeps reports whether the base's slug still says what the item is called: it is one of the
// candidates, or the last one with a counter.
func (w *slugWant) keeps() bool {
	if w.prior == "" {
		return false
	}

	for level := range w.levels() {
		if w.candidate(level) == w.prior {
			return true
		}
	}

	n, ok := strings.CutPrefix(w.prior, w.candidate(w.levels()-1)+"-")
	_, err := strconv.Atoi(n)
	return ok && err == nil
}

// assignSlugs gives every want a slug (decision 24). Who keeps its base slug is served first; the
// others take the first candidate that nobody else wants at that level, that is not taken, and that
// never led to another item. The result does not depend on the order of wants. A slug holds no
// underscore, so it never equals an id.
func assignSlugs(wants []slugWant, former map[string]string) []string {
	slugs := make([]string, len(wants))
	taken := make(map[string]bool, len(wants)+1)
	taken[reservedSlug] = true
	var open []int
	for i := range wants {
		// Published slugs come first, so that nobody loses one to a newcomer.
		if wants[i].keeps() && !taken[wants[i].prior] {
			slugs[i] = wants[i].prior
			taken[slugs[i]] = true
		} else {
			open = append(open, i)
		}
	}

	free := func(slug, id string) bool {
		owner, was := former[slug]
		return slug != "" && !taken[slug] && (!was || owner == id)
	}
	give := func(i int, slug string) {
		slugs[i] = slug
		taken[slug] = true
	}

	// Level by level, so that a better slug of one item never depends on a worse one of another.
	for level := 0; len(open) > 0; level++ {
		rivals := rivalsAt(level, wants, open)
		if len(rivals) == 0 {
			break
		}

		open = slices.DeleteFunc(open, func(i int) bool {
			if level >= wants[i].levels() {
				return false
			}

			// Of several who want one slug, nobody gets it: the order of items must not matter.
			slug := wants[i].candidate(level)
			ours := rivals[slug] == 1 && free(slug, wants[i].id)
			if ours {
				give(i, slug)
			}

			return ours
		})
	}

	// Only names made up to look like another item's slug get here.
	slices.SortFunc(open, func(a, b int) int { return strings.Compare(wants[a].id, wants[b].id) })
	for _, i := range open {
		stem := wants[i].candidate(wants[i].levels()-1) + "-"
		n := 2
		for !free(stem+strconv.Itoa(n), wants[i].id) {
			n++
		}
		give(i, stem+strconv.Itoa(n))
	}

	return slugs
}

// rivalsAt counts who wants each slug at a level, nobody above the last one.
func rivalsAt(level int, wants []slugWant, open []int) map[string]int {
	rivals := make(map[string]int, len(open))
	for _, i := range open {
		if level < wants[i].levels() {
			rivals[wants[i].candidate(level)]++
		}
	}
	return rivals
}

// giveSlugs gives every set and card its slug. What an item of the base was called until now and is
// not any more is a former slug from here on: nobody else gets it, but the item itself may get it
// back.
func (m *merged) giveSlugs(registry *registry) {
	sets, cards := priorSlugs(registry.base)
	wants := make([]slugWant, len(m.sets))
	for i, s := range m.sets {
		stem := slugify(s.name)
		wants[i] = slugWant{id: setPrefix + s.tail, tail: s.tail, prior: sets[setPrefix+s.tail]}
		wants[i].stems = nonEmpty("set", stem, slugify(stem+" "+snapshot.Games[s.game].Slug))
	}

	for i, slug := range assignSlugs(wants, withPrior(registry.formerSets, sets)) {
		m.sets[i].slug = slug
	}

	wants = make([]slugWant, len(m.cards))
	for i := range m.cards {
		c := &m.cards[i]
		// Names repeat from set to set, so that the set's name comes first.
		stem := c.name
		if c.set >= 0 {
			stem = m.sets[c.set].name + " " + stem
		}
		wants[i] = slugWant{id: cardPrefix + c.tail, tail: c.tail, prior: cards[cardPrefix+c.tail]}
		wants[i].stems = nonEmpty("card", slugify(stem+" "+c.number))
	}

	for i, slug := range assignSlugs(wants, withPrior(registry.former, cards)) {
		m.cards[i].slug = slug
	}
}

// nonEmpty returns the stems. When the name has no letter that a slug can hold, so that the first
// stem is empty, it returns kind instead.
func nonEmpty(kind string, stems ...string) []string {
	if stems[0] == "" {
		return []string{kind}
	}
	return stems
}

// priorSlugs are the current slugs of the base by id.
func priorSlugs(base *snapshot.Catalog) (sets, cards map[string]string) {
	sets = map[string]string{}
	cards = map[string]string{}
	if base == nil {
		return sets, cards
	}

	for i := range base.Sets.ID.Len() {
		sets[base.Sets.ID.At(i)] = base.Sets.Slug.At(i)
	}

	for i := range base.Cards.ID.Len() {
		cards[base.Cards.ID.At(i)] = base.Cards.Slug.At(i)
	}

	return sets, cards
}

// withPrior adds the base's current slugs to its former ones: from the point of view of this build
// both are slugs that lead to somebody.
func withPrior(former, prior map[string]string) map[string]string {
	all := make(map[string]string, len(former)+len(prior))
	maps.Copy(all, former)
	for id, slug := range prior {
		all[slug] = id
	}
	return all
}
