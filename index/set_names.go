package index

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"ninepocket/cardvocab"
	"ninepocket/snapshot"
)

// SetNames finds the sets of one catalog by the names that people give them (docs/dev/SEARCH.md, Sets by
// name). It is immutable and safe for concurrent use.
type SetNames struct {
	sets        *refs
	byKey       *terms // sets by folded name, code or alias
	commonNames *terms // sets by folded common name or code
	words       *terms // sets by each word of their names, codes and aliases
	keys        []setKey
	aliases     map[string]string   // folded alias → the folded common name that it stands for
	firstWords  []string            // the first word of each set's name, which begins with its series' code
	maxLen      int                 // the longest of these keys, in bytes
	codes       map[string][]uint32 // sets by the folded codes of a game's own apps: set_codes.go
}

// setKey is one common name of a set.
type setKey struct {
	folded  string
	set     uint32
	letters uint64   // its letterMask
	bigrams []uint16 // bigramsOf
}

// maxRef bounds how much of a reference is folded, in folded bytes. No set's name is as long, and
// one character may become eighteen letters.
const maxRef = 400

// IsTooLong reports whether a reference folds to more than maxRef bytes, more than any card or set
// name (docs/dev/SEARCH.md, Cost).
func IsTooLong(ref string) bool {
	// No character folds to more than eighteen letters.
	if len(ref) <= maxRef/18 {
		return false
	}

	var plain [maxRef + 64]byte
	n := 0
	for at, char := range ref {
		if char < utf8.RuneSelf {
			n++
		} else {
			_, size := utf8.DecodeRuneInString(ref[at:])
			n += len(cardvocab.AppendPlain(plain[:0], ref[at:at+size], char))
		}
		if n > maxRef {
			return true
		}
	}
	return false
}

// letterMask is the set of a name's characters as bits: names that differ in many of them are far
// apart.
func letterMask(s string) (letters uint64) {
	for i := range len(s) {
		letters |= 1 << (s[i] & 63)
	}
	return letters
}

// maxNearestSets bounds how many sets are suggested for an unknown name.
const maxNearestSets = 3

// SetNames returns the names of the sets.
func (ix *Index) SetNames() *SetNames { return ix.setNames }

func newSetNames(c *snapshot.Catalog, sets *refs, step func()) *SetNames {
	n := c.Sets.ID.Len()
	sn := &SetNames{sets: sets, aliases: map[string]string{}}
	each := func(set int, add func(string)) {
		add(c.Sets.Name.At(set))
		add(c.Sets.Code.At(set))
		for from, to := c.Sets.Aliases.Range(set); from < to; from++ {
			add(c.Sets.Alias.At(from))
		}
	}

	sn.byKey = newTerms(step, n, func(set int, add func(string)) {
		each(set, func(name string) { add(cardvocab.Fold(name)) })
	})
	sn.commonNames = newTerms(step, n, func(set int, add func(string)) {
		each(set, func(name string) { addCommonNames(name, add) })
	})
	for name := range c.Sets.Name.All() {
		// A name of signs alone has no first word.
		sn.firstWords = append(sn.firstWords, append(setWords(name), "")[0])
	}
	sn.words = newTerms(step, n, func(set int, add func(string)) {
		each(set, func(name string) {
			for _, w := range setWords(name) {
				add(w)
			}
		})
		add(cardvocab.NumberKey(c.Sets.Code.At(set)))
	})

	for i := range c.Aliases.Phrase.Len() {
		folded := cardvocab.Fold(c.Aliases.Phrase.At(i))
		name := strings.Join(setWords(c.Aliases.Replacement.At(i)), "")
		if _, known := sn.aliases[folded]; !known && name != folded {
			sn.aliases[folded] = name
		}
	}

	for k := range sn.commonNames.keys.Len() {
		folded := sn.commonNames.keys.At(k)
		for _, set := range sn.commonNames.Of(uint32(k)) {
			sn.keys = append(sn.keys, setKey{folded, set, letterMask(folded), bigramsOf(folded)})
		}
	}
	sn.readCodes()
	sn.maxLen = max(sn.byKey.maxLen, sn.commonNames.maxLen)
	for name := range sn.aliases {
		sn.maxLen = max(sn.maxLen, len(name))
	}
	return sn
}

// Resolve returns the sets that a filter selects, ascending. It looks for the id or slug first,
// else for all with the code, name or alias (decision 23), else for those with that common name
// (decision 1808).
func (sn *SetNames) Resolve(ref string) []uint32 {
	sets, _ := sn.ResolveFuzzy(ref)
	return sets
}

// ResolveFuzzy is Resolve, and reports whether it found the set only by correcting its name.
func (sn *SetNames) ResolveFuzzy(ref string) (sets []uint32, corrected bool) {
	if set, ok := sn.sets.find(ref); ok {
		return []uint32{uint32(set)}, false
	}
	if IsTooLong(ref) {
		return nil, false
	}
	if folded := cardvocab.Fold(ref); folded != "" {
		if sets := firstFound(sn.byKey.find(folded), sn.codes[folded]); len(sets) > 0 {
			return sets, false
		}
	}
	return sn.resolveCommon(ref)
}

// Exact returns the sets whose name, code or common name has exactly this key.
func (sn *SetNames) Exact(key string) []uint32 {
	if len(key) > sn.maxLen {
		return nil
	}
	return firstFound(sn.byKey.find(key), sn.commonNames.find(key), sn.commonNames.find(sn.aliases[key]))
}

// firstFound returns the first list that is not empty.
func firstFound(lists ...[]uint32) []uint32 {
	for _, list := range lists {
		if len(list) > 0 {
			return list
		}
	}
	return nil
}

// setStopWords are words of a set's name that do not distinguish it from others.
var setStopWords = []string{
	"pokemon", "tcg", "the", "series", "set", "card", "cards", "edition", "1st", "black", "star",
}

// WithAllWords returns the sets that have every significant word of a name, ascending: "Pokémon
// Prize Pack Series" is Prize Pack Series Cards. There are none if no word is significant.
func (sn *SetNames) WithAllWords(ref string) []uint32 {
	if IsTooLong(ref) {
		return nil
	}

	words := slices.DeleteFunc(setWords(ref), func(w string) bool { return slices.Contains(setStopWords, w) })
	if len(words) == 0 {
		return nil
	}
	if sets := sn.withWords(words); len(sets) > 0 {
		return sets
	}

	// "promos" finds the set that has "promo".
	for i, w := range words {
		words[i] = strings.TrimSuffix(w, "s")
	}
	return sn.withWords(words)
}

// addCommonNames calls add with the common names of a set: its words without "and", the code
// before a colon and the name after it, the name without "Base Set" at its end. Codes lose
// padding zeros.
func addCommonNames(name string, add func(string)) {
	words := setWords(name)
	add(strings.Join(words, ""))
	add(strings.Join(trimSetSuffix(words), ""))
	if len(words) == 1 {
		add(cardvocab.NumberKey(words[0]))
	}

	head, tail, ok := strings.Cut(name, ": ")
	if !ok {
		head, tail, ok = strings.Cut(name, " - ")
	}
	if ok && len(head) <= 7 {
		add(cardvocab.Fold(head))
		add(cardvocab.NumberKey(head))
		words = setWords(tail)
		add(strings.Join(words, ""))
		add(strings.Join(trimSetSuffix(words), ""))
	}
}

// setWords returns the folded words of a name, without "and".
func setWords(name string) []string {
	var words []string
	for field := range strings.FieldsFuncSeq(cardvocab.Unescape(name), func(r rune) bool {
		return r < utf8.RuneSelf && r != '\'' && !cardvocab.IsWordByte(cardvocab.Lower(byte(r))) || r == '–' || r == '—'
	}) {
		if w := cardvocab.Fold(field); w != "" && w != "and" {
			words = append(words, w)
		}
	}
	return words
}

// trimSetSuffix removes "set" or "base set" from the end of a name, because people omit it.
func trimSetSuffix(words []string) []string {
	for _, suffix := range []string{"set", "base"} {
		if n := len(words); n > 1 && words[n-1] == suffix {
			words = words[:n-1]
		}
	}
	return words
}

// resolveCommon returns the sets with a common name, ascending; none if the name is ambiguous.
// corrected reports that the name was corrected.
func (sn *SetNames) resolveCommon(ref string) (sets []uint32, corrected bool) {
	words := setWords(ref)
	if len(words) == 0 {
		return nil, false
	}

	if sets := sn.byCommonName(words); len(sets) > 0 {
		return sets, false
	}

	// Only one set has all its words: "romance dawn op01".
	if sets := sn.withWords(words); len(sets) == 1 {
		return sets, false
	}

	// The shipped list or the operator's list may have the name.
	folded := strings.Join(words, "")
	if name, ok := sn.aliases[folded]; ok {
		return sn.commonNames.find(name), false
	}

	if sets := sn.bySplitName(words); len(sets) > 0 {
		return sets, false
	}
	return sn.byFuzzyName(words), true
}

// series are the common names of the series of sets, and the code at the start of their sets'
// names.
var series = []struct{ words, code string }{
	{"scarlet violet", "sv"},
	{"sword shield", "swsh"},
	{"sun moon", "sm"},
	{"sv", "sv"},
	{"s v", "sv"},
	{"swsh", "swsh"},
	{"sm", "sm"},
}

// maxSetWords is the maximum number of words of a set's name with its series or code.
// maxCodeWords is that of such a code: "OP 01".
const (
	maxSetWords  = 16
	maxCodeWords = 2
)

// bySplitName returns the sets that both halves of the words name, ascending: a code and a name, or
// a series and a name. Examples: "Evolving Skies (EVS)", "OP-01 Romance Dawn", "Sword & Shield:
// Evolving Skies".
func (sn *SetNames) bySplitName(words []string) []uint32 {
	if len(words) > maxSetWords {
		return nil
	}

	for _, s := range series {
		name, ok := strings.CutPrefix(strings.Join(words, " "), s.words+" ")
		if !ok {
			continue
		}

		sets := sn.byNameOrWords(strings.Fields(name))
		if len(sets) == 0 {
			sets = sn.bySplitName(strings.Fields(name))
		}
		sets = slices.DeleteFunc(slices.Clone(sets), func(set uint32) bool {
			number, ok := strings.CutPrefix(sn.firstWords[set], s.code)
			return !ok || number != "" && !cardvocab.IsInteger(number)
		})
		if len(sets) > 0 {
			return sets
		}
	}

	for cut := 1; cut < len(words); cut++ {
		if min(cut, len(words)-cut) > maxCodeWords {
			continue
		}
		head := sn.byNameOrWords(words[:cut])
		sets := slices.DeleteFunc(slices.Clone(sn.byNameOrWords(words[cut:])), func(set uint32) bool {
			return !slices.Contains(head, set)
		})
		if len(sets) > 0 {
			return sets
		}
	}
	return nil
}

// byNameOrWords returns the sets that have the words as a name, a code or an alias, or the only set
// that has them all, ascending.
func (sn *SetNames) byNameOrWords(words []string) []uint32 {
	if sets := sn.byCommonName(words); len(sets) > 0 {
		return sets
	}
	if sets := sn.withWords(words); len(sets) == 1 {
		return sets
	}
	key := strings.Join(words, "")
	return firstFound(sn.Exact(key), sn.codes[key])
}

// byCommonName returns the sets that have exactly these words as a code or a common name,
// ascending.
func (sn *SetNames) byCommonName(words []string) []uint32 {
	if len(words) == 0 {
		return nil
	}

	folded := strings.Join(words, "")
	found := firstFound(sn.commonNames.find(folded), sn.commonNames.find(cardvocab.NumberKey(folded)))
	if len(found) > 0 {
		return found
	}

	// The rest of "sm base" is the code of a series, which is no name of its sets.
	left := strings.Join(trimSetSuffix(words), "")
	if len(left) <= maxSeriesLen && !cardvocab.IsInteger(left) {
		return nil
	}
	if sets := sn.commonNames.find(left); len(sets) == 1 {
		return sets
	}
	return nil
}

// withWords returns the sets that have all words, ascending.
func (sn *SetNames) withWords(words []string) []uint32 {
	var sets []uint32
	for i, w := range words {
		of := firstFound(sn.words.find(w), sn.words.find(cardvocab.NumberKey(w)))
		if i == 0 {
			sets = slices.Clone(of)
			continue
		}
		sets = slices.DeleteFunc(sets, func(set uint32) bool { return !slices.Contains(of, set) })
	}

	return sets
}

// maxCodeLen is the maximum length of a word that may be a code, where one letter makes another
// set. maxSeriesLen is that of a series, such as swsh.
const (
	maxCodeLen   = 3
	maxSeriesLen = 4
)

// byFuzzyName returns the set with a similar name: one error up to eight letters, two in longer
// names, and no other set as near. A word that may be a code must be exact.
func (sn *SetNames) byFuzzyName(words []string) []uint32 {
	folded := strings.Join(words, "")
	limit := 1
	switch {
	case len(folded) < 5:
		return nil
	case len(folded) > 8:
		limit = 2
	}

	var best []uint32
	letters := letterMask(folded)
	for i := range sn.keys {
		k := &sn.keys[i]
		if len(k.folded) < 5 || max(len(k.folded)-len(folded), len(folded)-len(k.folded)) > limit {
			continue
		}
		// A changed letter is one character less and one more, so two errors change four bits.
		if bits.OnesCount64(letters^k.letters) > 2*limit {
			continue
		}
		switch d := cardvocab.Distance(k.folded, folded, limit+1); {
		case d < limit:
			limit = d
			best = []uint32{k.set}
		case d == limit && !slices.Contains(best, k.set):
			best = append(best, k.set)
		}
	}

	isOther := func(w string) bool {
		return len(w) <= maxCodeLen && !slices.Contains(sn.withWords([]string{w}), best[0])
	}
	if len(best) != 1 || slices.ContainsFunc(words, isOther) {
		return nil
	}
	return best
}

// Nearest appends up to three sets whose names are most similar to an unknown name. Those that have
// all of its words come first, then those with the most similar letters.
func (sn *SetNames) Nearest(ref string) []uint32 {
	if IsTooLong(ref) {
		return nil
	}
	words := setWords(ref)
	folded := strings.Join(words, "")
	if folded == "" {
		return nil
	}

	wanted := bigramsOf(folded)
	best := make(map[uint32]int)
	for i := range sn.keys {
		k := &sn.keys[i]
		// If one is much longer than the other, they cannot have enough bigrams in common.
		shorter := min(len(wanted), len(k.bigrams))
		if 200*shorter < minSimilarity*(len(wanted)+len(k.bigrams)) {
			continue
		}
		if share := similarity(wanted, k.bigrams); share >= minSimilarity {
			best[k.set] = max(best[k.set], share)
		}
	}

	for _, set := range sn.withWords(words) {
		best[set] += 2 * fullSimilarity
	}

	sets := slices.SortedFunc(maps.Keys(best), func(a, b uint32) int {
		return cmp.Or(cmp.Compare(best[b], best[a]), cmp.Compare(a, b))
	})
	return sets[:min(len(sets), maxNearestSets)]
}

// minSimilarity is the least fraction of common bigrams, in hundredths, of similar names.
// fullSimilarity is that of a name and itself.
const (
	minSimilarity  = 35
	fullSimilarity = 100
)

// bigramsOf returns the pairs of neighbouring letters of a name, ascending.
func bigramsOf(s string) []uint16 {
	bigrams := make([]uint16, 0, len(s)+1)
	last := byte(' ')
	for i := range len(s) + 1 {
		next := byte(' ')
		if i < len(s) {
			next = s[i]
		}
		bigrams = append(bigrams, uint16(last)<<8|uint16(next))
		last = next
	}

	slices.Sort(bigrams)
	return bigrams
}

// similarity returns the fraction of bigrams that two names have in common, in hundredths.
func similarity(a, b []uint16) int {
	shared := 0
	i := 0
	for j := 0; i < len(a) && j < len(b); {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			shared++
			i++
			j++
		}
	}

	return 200 * shared / max(len(a)+len(b), 1)
}

// Beginning returns the sets that have the typed letters as the prefix of a name, code or alias.
// Only letters and digits are compared; there must be three.
func (sn *SetNames) Beginning(typed string) (sets []uint32) {
	folded := cardvocab.Fold(typed)
	for k := range sn.byKey.keys.Len() {
		if len(folded) >= 3 && strings.HasPrefix(sn.byKey.keys.At(k), folded) {
			sets = append(sets, sn.byKey.Of(uint32(k))...)
		}
	}
	return sets
}

// Search returns the sets that match the words of a query for sets, ascending. They are all that
// have every word, else those with that common name. corrected is as in ResolveFuzzy.
func (sn *SetNames) Search(query string) (sets []uint32, corrected bool) {
	if IsTooLong(query) {
		return nil, false
	}
	if sets := sn.withWords(setWords(query)); len(sets) > 0 {
		return sets, false
	}
	return sn.ResolveFuzzy(query)
}

// SetName returns the name of the set of a card, "" without one.
func (ix *Index) SetName(card uint32) string { return ix.c.OfSet(&ix.c.Sets.Name, int(card)) }
