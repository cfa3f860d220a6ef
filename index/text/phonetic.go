package text

import (
	"bytes"
	"cmp"
	_ "embed"
	"slices"
	"strings"
)

// phoneticIndex finds the words of names that sound like a typed word: "dragonight", "pick a chew"
// (docs/dev/SEARCH.md, Last resort). Words are reduced to how they sound, and compared by their common
// trigrams.
type phoneticIndex struct {
	words    []uint32 // word numbers
	size     []uint8  // by sound: how many trigrams it has
	trigrams []uint32 // distinct, ascending
	start    []uint32 // by trigram: where its sounds begin in entries
	entries  []uint32 // sounds
}

const (
	// minPhoneticLen is the least number of letters of a word that is compared; maxPhoneticLen is
	// the largest.
	minPhoneticLen, maxPhoneticLen = 4, 24
	// maxPhoneticMatches bounds the words that one run of typed words is taken for.
	maxPhoneticMatches = 3
	// maxPhoneticTokens is how many typed words may stand for one.
	maxPhoneticTokens = 4
	// maxPhoneticTerms bounds the terms of a query with a phonetic pass.
	maxPhoneticTerms = 5
)

func newPhoneticIndex(ix *Index, step func()) phoneticIndex {
	type pair struct{ trigram, sound uint32 }
	var pairs []pair
	var out phoneticIndex
	var buf []byte
	var trigrams []uint32
	for w := range uint32(ix.words.len()) {
		Every(step, int(w))
		word := ix.words.word(w)
		if ix.uses[w]&(onlyJoined|inName) != inName || len(word) < minPhoneticLen || len(word) > maxPhoneticLen ||
			!isLetters(word) {
			continue
		}

		buf = appendPhonetic(buf[:0], word)
		sound := uint32(len(out.words))
		trigrams = appendTrigrams(trigrams[:0], buf)
		for _, trigram := range trigrams {
			pairs = append(pairs, pair{trigram, sound})
		}
		out.words = append(out.words, w)
		out.size = append(out.size, uint8(len(trigrams)))
	}

	Sort(step, pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(a.trigram, b.trigram), cmp.Compare(a.sound, b.sound))
	})

	for i, pair := range pairs {
		if i == 0 || pair.trigram != pairs[i-1].trigram {
			out.trigrams = append(out.trigrams, pair.trigram)
			out.start = append(out.start, uint32(i))
		}
		out.entries = append(out.entries, pair.sound)
	}

	out.start = append(out.start, uint32(len(pairs)))
	return out
}

func isLetters(w []byte) bool {
	return len(w) > 0 && !slices.ContainsFunc(w, func(b byte) bool { return b < 'a' || b > 'z' })
}

// appendTrigrams appends every run of three letters of a sound, with padded ends.
func appendTrigrams(dst []uint32, sound []byte) []uint32 {
	trigram := uint32(' ')<<8 | ' '
	for i := range len(sound) + 1 {
		b := byte(' ')
		if i < len(sound) {
			b = sound[i]
		}
		trigram = trigram<<8&0xffffff | uint32(b)
		dst = append(dst, trigram)
	}

	return dst
}

//go:embed sounds.txt
var phoneticText string

// A phoneticRule is the sound of some letters.
type phoneticRule struct{ letters, sound string }

// phoneticRules are the lines of sounds.txt.
var phoneticRules = func() (rules []phoneticRule) {
	for line := range strings.Lines(phoneticText) {
		letters, sound, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok && letters != "#" {
			rules = append(rules, phoneticRule{letters, sound})
		}
	}
	return rules
}()

// appendPhonetic appends how a word of plain letters sounds.
func appendPhonetic(dst, word []byte) []byte {
	begin := len(dst)
	for i := 0; i < len(word); {
		sound := word[i : i+1]
		n := 1
		for _, rule := range phoneticRules {
			if rule.letters[0] == word[i] && bytes.HasPrefix(word[i:], []byte(rule.letters)) {
				sound = []byte(rule.sound)
				n = len(rule.letters)
				break
			}
		}

		// A letter twice sounds as one.
		for _, b := range sound {
			if len(dst) == begin || dst[len(dst)-1] != b {
				dst = append(dst, b)
			}
		}
		i += n
	}

	if n := len(dst); n > begin+3 && dst[n-1] == 'e' {
		dst = dst[:n-1]
	}

	return dst
}

// A phoneticScratch is the working memory of a phonetic comparison.
type phoneticScratch struct {
	joined, sound []byte
	trigrams      []uint32
	shared        []uint8 // by sound: the number of common trigrams with the typed sound
	matches       []uint32
	best          []phoneticMatch
}

// phoneticMatch is a known sound with its similarity to another, in thousandths.
type phoneticMatch struct {
	sound uint32
	share int
}

// expandPhonetic replaces one to four neighbouring words of letters by a word that sounds like them.
func (rd *termExpander) expandPhonetic() {
	scratch := &rd.phoneticScratch
	tokens := rd.query.norm.tokens
	for i := range tokens {
		scratch.joined = scratch.joined[:0]
		for til := i + 1; til <= min(i+maxPhoneticTokens, len(tokens)); til++ {
			word := rd.query.norm.word(tokens[til-1])
			if !isLetters(word) || len(scratch.joined)+len(word) > maxPhoneticLen {
				break
			}

			scratch.joined = append(scratch.joined, word...)
			if bits := rd.termsWithin(i, til); bits != 0 && len(scratch.joined) >= minPhoneticLen {
				scratch.sound = appendPhonetic(scratch.sound[:0], scratch.joined)
				rd.addPhonetic(bits)
			}
		}
	}
}

// termsWithin returns the terms between the tokens i and til. It returns 0 for none, and for a
// single token that names have or that is a trade term.
func (rd *termExpander) termsWithin(i, til int) (bits uint8) {
	known := 0
	for k := range rd.query.terms {
		u := &rd.query.terms[k]
		if u.number || u.first < i || u.til > til {
			continue
		}
		bits |= 1 << k
		if rd.query.known>>k&1 != 0 && rd.query.weight[k] >= weightCommonest {
			known++
		}
	}

	if til == i+1 && (known > 0 || stopWords[string(rd.query.norm.word(rd.query.norm.tokens[i]))].isTradeTerm()) {
		return 0
	}
	return bits
}

// addPhonetic adds the words whose sound has at least half of all trigrams in common.
func (rd *termExpander) addPhonetic(bits uint8) {
	index := &rd.ix.phonetic
	scratch := &rd.phoneticScratch
	if len(scratch.shared) < len(index.words) {
		scratch.shared = make([]uint8, len(index.words))
	}

	scratch.matches = scratch.matches[:0]

	// "hahaha" repeats a trigram, which counts once: two such words share no more than they have.
	scratch.trigrams = appendTrigrams(scratch.trigrams[:0], scratch.sound)
	slices.Sort(scratch.trigrams)
	scratch.trigrams = slices.Compact(scratch.trigrams)

	for _, trigram := range scratch.trigrams {
		at, ok := slices.BinarySearch(index.trigrams, trigram)
		if !ok {
			continue
		}
		for _, other := range index.entries[index.start[at]:index.start[at+1]] {
			if scratch.shared[other] == 0 {
				scratch.matches = append(scratch.matches, other)
			}
			scratch.shared[other]++
		}
	}

	scratch.best = scratch.best[:0]
	for _, other := range scratch.matches {
		shared := int(scratch.shared[other])
		scratch.shared[other] = 0
		if all := len(scratch.trigrams) + int(index.size[other]) - shared; 2*shared >= all {
			scratch.best = append(scratch.best, phoneticMatch{other, shared * 1000 / all})
		}
	}

	slices.SortFunc(scratch.best, func(one, b phoneticMatch) int {
		return cmp.Or(cmp.Compare(b.share, one.share), cmp.Compare(one.sound, b.sound))
	})
	for _, one := range scratch.best[:min(len(scratch.best), maxPhoneticMatches)] {
		// A match far behind the best is dropped.
		if one.share*4 >= scratch.best[0].share*3 {
			rd.add(bits, phoneticName, index.words[one.sound])
		}
	}
}

// allowPhonetic reports whether a search may run the phonetic pass: some word of letters is a stop
// word or unknown, and there are few enough words.
func (q *query) allowPhonetic() bool {
	if len(q.terms) > maxPhoneticTerms {
		return false
	}

	for i := range q.terms {
		u := &q.terms[i]
		doubtful := q.known>>i&1 == 0 || q.weight[i] == weightStopWord
		if doubtful && isLetters(u.text) {
			return true
		}
	}

	return false
}
