package text

import (
	"bytes"
	"cmp"
	_ "embed"
	"slices"
	"strings"
)

// sounds find the words of names that sound like what was typed: "dragonight", "pick a chew"
// (docs/SEARCH.md, Last resort). Words are reduced to how they sound, and compared by the runs of
// three letters that they share.
type sounds struct {
	words []uint32 // word numbers
	size  []uint8  // by sound: how many runs it has
	runs  []uint32 // distinct, ascending
	start []uint32 // by run: where its sounds begin in of
	of    []uint32 // sounds
}

const (
	// shortestSound is how many letters a word needs to be compared; longestSound bounds them.
	shortestSound, longestSound = 4, 24
	// maxSounds is how many words one run of words is read as.
	maxSounds = 3
	// longestSpoken is how many typed words may stand for one.
	longestSpoken = 4
	// maxSpoken is how many units a query has at most that is heard.
	maxSpoken = 5
)

func newSounds(ix *Index, step func()) sounds {
	type pair struct{ run, sound uint32 }
	var pairs []pair
	var out sounds
	var buf []byte
	var runs []uint32
	for w := range uint32(ix.words.len()) {
		Every(step, int(w))
		word := ix.words.word(w)
		if ix.uses[w]&(onlyJoined|inName) != inName || len(word) < shortestSound || len(word) > longestSound ||
			!isLetters(word) {
			continue
		}

		buf = appendSound(buf[:0], word)
		sound := uint32(len(out.words))
		runs = appendRuns(runs[:0], buf)
		for _, run := range runs {
			pairs = append(pairs, pair{run, sound})
		}
		out.words = append(out.words, w)
		out.size = append(out.size, uint8(len(runs)))
	}

	Sort(step, pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(a.run, b.run), cmp.Compare(a.sound, b.sound))
	})

	for i, pair := range pairs {
		if i == 0 || pair.run != pairs[i-1].run {
			out.runs = append(out.runs, pair.run)
			out.start = append(out.start, uint32(i))
		}
		out.of = append(out.of, pair.sound)
	}

	out.start = append(out.start, uint32(len(pairs)))
	return out
}

func isLetters(w []byte) bool {
	return len(w) > 0 && !slices.ContainsFunc(w, func(b byte) bool { return b < 'a' || b > 'z' })
}

// appendRuns appends every run of three letters of a sound, its ends padded.
func appendRuns(dst []uint32, sound []byte) []uint32 {
	run := uint32(' ')<<8 | ' '
	for i := range len(sound) + 1 {
		b := byte(' ')
		if i < len(sound) {
			b = sound[i]
		}
		run = run<<8&0xffffff | uint32(b)
		dst = append(dst, run)
	}

	return dst
}

//go:embed sounds.txt
var soundText string

// A soundRule says how letters sound that are spelt so.
type soundRule struct{ spelt, sound string }

// soundRules are the lines of sounds.txt.
var soundRules = func() (rules []soundRule) {
	for line := range strings.Lines(soundText) {
		spelt, sound, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok && spelt != "#" {
			rules = append(rules, soundRule{spelt, sound})
		}
	}
	return rules
}()

// appendSound appends how a word of plain letters sounds.
func appendSound(dst, word []byte) []byte {
	begin := len(dst)
	for i := 0; i < len(word); {
		sound := word[i : i+1]
		n := 1
		for _, rule := range soundRules {
			if rule.spelt[0] == word[i] && bytes.HasPrefix(word[i:], []byte(rule.spelt)) {
				sound = []byte(rule.sound)
				n = len(rule.spelt)
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

// A listener is the scratch memory of comparing sounds.
type listener struct {
	spoken, sound []byte
	runs          []uint32
	shared        []uint8 // by sound: the runs that it shares with what was spoken
	heard         []uint32
	best          []alike
}

// alike is a known word and how much it sounds like another, in thousandths.
type alike struct {
	sound uint32
	share int
}

// expandSounds takes up to four neighbouring words of letters for one that sounds like them.
func (rd *reader) expandSounds() {
	l := &rd.listener
	tokens := rd.query.norm.tokens
	for i := range tokens {
		l.spoken = l.spoken[:0]
		for til := i + 1; til <= min(i+longestSpoken, len(tokens)); til++ {
			word := rd.query.norm.word(tokens[til-1])
			if !isLetters(word) || len(l.spoken)+len(word) > longestSound {
				break
			}

			l.spoken = append(l.spoken, word...)
			if bits := rd.spokenBits(i, til); bits != 0 && len(l.spoken) >= shortestSound {
				l.sound = appendSound(l.sound[:0], l.spoken)
				rd.soundsLike(bits)
			}
		}
	}
}

// spokenBits are the units that the tokens from i to til are, 0 when that is none, or a single word
// that names have or that is one of the trade.
func (rd *reader) spokenBits(i, til int) (bits uint8) {
	known := 0
	for k := range rd.query.units {
		u := &rd.query.units[k]
		if u.number || u.first < i || u.til > til {
			continue
		}
		bits |= 1 << k
		if rd.query.known>>k&1 != 0 && rd.query.weight[k] >= weightCommonest {
			known++
		}
	}

	if til == i+1 && (known > 0 || noises[string(rd.query.norm.word(rd.query.norm.tokens[i]))].isTrade()) {
		return 0
	}
	return bits
}

// soundsLike adds the words that share at least half of all runs with the sound.
func (rd *reader) soundsLike(bits uint8) {
	index := &rd.ix.sounds
	l := &rd.listener
	if len(l.shared) < len(index.words) {
		l.shared = make([]uint8, len(index.words))
	}

	l.heard = l.heard[:0]

	// "hahaha" has a run again and again, which counts once: two such words share no more than they have.
	l.runs = appendRuns(l.runs[:0], l.sound)
	slices.Sort(l.runs)
	l.runs = slices.Compact(l.runs)

	for _, run := range l.runs {
		at, ok := slices.BinarySearch(index.runs, run)
		if !ok {
			continue
		}
		for _, other := range index.of[index.start[at]:index.start[at+1]] {
			if l.shared[other] == 0 {
				l.heard = append(l.heard, other)
			}
			l.shared[other]++
		}
	}

	l.best = l.best[:0]
	for _, other := range l.heard {
		shared := int(l.shared[other])
		l.shared[other] = 0
		if all := len(l.runs) + int(index.size[other]) - shared; 2*shared >= all {
			l.best = append(l.best, alike{other, shared * 1000 / all})
		}
	}

	slices.SortFunc(l.best, func(one, b alike) int {
		return cmp.Or(cmp.Compare(b.share, one.share), cmp.Compare(one.sound, b.sound))
	})
	for _, one := range l.best[:min(len(l.best), maxSounds)] {
		// What is far behind the best is none.
		if one.share*4 >= l.best[0].share*3 {
			rd.add(bits, soundName, index.words[one.sound])
		}
	}
}

// maySound says whether a search may go on to sounds: a word of letters is there that tells little
// or is not known, and there are few enough words.
func (q *query) maySound() bool {
	if len(q.units) > maxSpoken {
		return false
	}

	for i := range q.units {
		u := &q.units[i]
		doubtful := q.known>>i&1 == 0 || q.weight[i] == weightEveryday
		if doubtful && isLetters(u.text) {
			return true
		}
	}

	return false
}
