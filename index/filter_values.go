package index

import (
	"iter"
	"slices"
	"sort"
	"strings"

	"ninepocket/cardvocab"
	"ninepocket/index/text"
	"ninepocket/snapshot"
)

// buildValueFilters makes the tables of the filters by variant and by time.
func (ix *Index) buildValueFilters(_ *moves, step func()) {
	c := ix.c
	n := c.Cards.ID.Len()
	// Equivalent names share a list. A catalog has few variants, and every lane has one of
	// them.
	ix.sameVariant = firstOfSame(&c.Variants)
	ix.variants = newTerms(step, n, func(card int, add func(string)) {
		for lane, to := c.Lanes.Of.Range(card); lane < to; lane++ {
			if c.Lanes.Cents[lane] >= 0 {
				add(c.Variants.At(ix.sameVariant[c.Lanes.Variant[lane]]))
			}
		}
	})

	ix.updated = make([]int64, n)
	for card := range n {
		text.Every(step, card)
		at := c.Cards.UpdatedAt[card]
		for lane, to := c.Lanes.Of.Range(card); lane < to; lane++ {
			at = max(at, c.ChangedAt(lane))
		}
		ix.updated[card] = at
	}
}

// firstOfSame returns for each variant the first equivalent variant.
func firstOfSame(variants *snapshot.Strings) []int {
	first := make([]int, variants.Len())
	for k := range first {
		name := variants.At(k)
		for first[k] < k && !cardvocab.SameVariant(variants.At(first[k]), name) {
			first[k]++
		}
	}
	return first
}

// cardsPriced returns the cards that have a price in a variant, ascending. Histories and statistics
// compare variants in the same way (decision 2019).
func (ix *Index) cardsPriced(variant string) []uint32 {
	for k, first := range ix.sameVariant {
		if name := ix.c.Variants.At(k); name != "" && cardvocab.SameVariant(name, variant) {
			return ix.variants.find(ix.c.Variants.At(first))
		}
	}
	return nil
}

// noSets is the firstSet of a compiled filter that does not restrict sets.
const noSets = int32(-1)

// released returns the sets of a range of dates, both inclusive, as a range of set numbers. Sets
// are numbered from the newest on, and those without a date come last.
func (ix *Index) released(after, before snapshot.Day) (from, to int32) {
	release := ix.c.Sets.Release
	if before == snapshot.NoDay {
		before = 1<<31 - 1
	}
	after = max(after, snapshot.NoDay+1)

	first := sort.Search(len(release), func(set int) bool { return release[set] <= before })
	end := sort.Search(len(release), func(set int) bool { return release[set] < after })
	return int32(first), int32(max(first, end))
}

// isRestricted reports whether a compiled filter excludes any card.
func (ix *Index) isRestricted(filter *compiledFilter) bool {
	return filter.game >= 0 || len(filter.lists) > 0 || filter.from > 0 ||
		int(filter.to) < ix.c.Cards.ID.Len() ||
		filter.firstSet != noSets || filter.since != snapshot.NoTime || filter.era != nil
}

// Kind is a kind of filter value.
type Kind uint8

// The kinds whose values the catalog lists.
const (
	GameKind Kind = iota
	SetKind
	RarityKind
	VariantKind
	SeriesKind
	NamespaceKind
)

// HasValue reports whether any record has a filter's value. If none has, nearest is the most
// similar value, "" when none is similar (decision 2006).
func (ix *Index) HasValue(kind Kind, value string) (nearest string, known bool) {
	c := ix.c
	folded := cardvocab.Fold(value)
	var all iter.Seq[string]

	switch kind {
	case GameKind:
		_, known = ix.games.find(value)
		all = c.Games.Slug.All()
	case SetKind:
		known = len(ix.setNames.Resolve(value)) > 0
		all = func(yield func(string) bool) {
			nearest := ix.setNames.Nearest(value)
			for len(nearest) > 0 && yield(c.Sets.Name.At(int(nearest[0]))) {
				nearest = nearest[1:]
			}
		}
	case RarityKind:
		known = len(ix.rarities.find(folded)) > 0
		all = ix.rarities.displayTexts(&c.Cards.Rarity)
	case VariantKind:
		known = len(ix.cardsPriced(value)) > 0
		all = c.Variants.All()
	case SeriesKind:
		known = len(ix.series.find(folded)) > 0
		all = ix.series.displayTexts(&c.Sets.Series)
	case NamespaceKind:
		known = slices.Contains(ix.namespaces, value)
		all = slices.Values(ix.namespaces)
	}

	if known {
		return "", true
	}
	if kind == RarityKind {
		if meant, is := sameRarity(folded, all); is {
			return meant, false
		}
	}

	nearest = cardvocab.Nearest(value, all)
	if kind == GameKind && nearest == "" {
		nearest = expandShortName(folded, all)
	}
	return nearest, false
}

// sameRarity returns the first rarity equivalent to a value in other words. Examples: "Holo
// Rare" for "rare holo", "Special Illustration Rare" for "SIR". meant is "" if there is none;
// is reports whether the value names a rarity at all.
func sameRarity(folded string, all iter.Seq[string]) (meant string, is bool) {
	want, is := cardvocab.FindPreference([]byte(folded))
	if !is {
		return "", false
	}

	for rarity := range all {
		if w, ok := cardvocab.FindPreference([]byte(cardvocab.Fold(rarity))); ok && w == want {
			return rarity, true
		}
	}
	return "", true
}

// expandShortName returns the only value that a short name abbreviates, "" for none or several. The
// letters of "op" and "pkmn" begin like the value's and follow each other in it. The suffix "tcg"
// does not count.
func expandShortName(folded string, all iter.Seq[string]) string {
	short := strings.TrimSuffix(folded, "tcg")
	if len(short) < minShortName {
		return ""
	}

	var meant []string
	for value := range all {
		if isAbbreviation(short, cardvocab.Fold(value)) {
			meant = append(meant, value)
		}
	}
	if len(meant) != 1 {
		return ""
	}
	return meant[0]
}

// minShortName is the least number of letters of a short name: one letter begins many names.
const minShortName = 2

func isAbbreviation(short, long string) bool {
	if long == "" || short[0] != long[0] {
		return false
	}
	for i := range len(short) {
		at := strings.IndexByte(long, short[i])
		if at < 0 {
			return false
		}
		long = long[at+1:]
	}
	return true
}

// displayTexts yields every term in the writing of its first row.
func (t *terms) displayTexts(texts *snapshot.Strings) iter.Seq[string] {
	return func(yield func(string) bool) {
		for k := 0; k < t.keys.Len() && yield(texts.At(int(t.Of(uint32(k))[0]))); {
			k++
		}
	}
}
