package text

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// synthetic makes a corpus of n cards with names as in the real games. There are about 1,000
// creatures in 30,000 cards, most with a suffix or an owner now and then, and 150 cards a set.
func synthetic(n int) Corpus {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	onset := []string{
		"b", "br", "ch", "d", "dr", "f", "g", "gl", "gr", "k", "l", "m", "n", "p", "r", "s", "sh", "st",
		"t", "v", "z",
	}
	vowel := []string{"a", "e", "i", "o", "u", "ai", "ee", "ou"}
	coda := []string{"", "l", "n", "r", "s", "x", "zard", "chu", "don", "tle", "gon"}
	word := func(syllables int) string {
		w := ""
		for range syllables {
			w += onset[rng.IntN(len(onset))] + vowel[rng.IntN(len(vowel))]
		}
		return w + coda[rng.IntN(len(coda))]
	}

	creatures := make([]string, max(40, n/30))
	for i := range creatures {
		creatures[i] = word(2 + rng.IntN(2))
	}

	sets := make([]string, n/150+1)
	for i := range sets {
		sets[i] = word(2) + " " + word(2)
	}

	owners := []string{"Misty's", "Brock's", "Dark", "Galarian", "Team Rocket's", "Radiant", "Alolan"}
	tails := []string{"", "", "", "", " V", " VMAX", " ex", "-GX", "-EX", " VSTAR", " LV.X"}
	names := make([]string, n)
	for i := range names {
		names[i] = creatures[int(float64(len(creatures))*rng.Float64()*rng.Float64())]
		if rng.IntN(6) == 0 {
			names[i] = owners[rng.IntN(len(owners))] + " " + names[i]
		}
		names[i] += tails[rng.IntN(len(tails))]
	}

	names[0] = "Charizard"
	names[1] = "Charizard ex"
	return complete(Corpus{
		Len:     n,
		Name:    func(i int) string { return names[i] },
		Number:  func(i int) string { return fmt.Sprintf("%d/150", i%150+1) },
		SetName: func(i int) string { return sets[i/150] },
		SetCode: func(i int) string { return fmt.Sprintf("S%d", i/150) },
		Game:    func(i int) uint8 { return uint8(i / 150 % 2) },
		Set:     func(i int) int32 { return int32(i / 150) },
		Games:   []string{"Pokémon", "One Piece"},
		Aliases: shippedAliases(),
	})
}

var synthetics sync.Map

func syntheticIndex(tb testing.TB, n int) *Index {
	tb.Helper()
	if ix, ok := synthetics.Load(n); ok {
		return ix.(*Index)
	}

	ix, err := Build(context.Background(), synthetic(n), noStep)
	if err != nil {
		tb.Fatal(err)
	}

	synthetics.Store(n, ix)
	return ix
}

// longQuery is 200 characters that ask bleve for as much as it may be asked: eight long words with
// two errors each.
const longQuery = "gradrasgrachadrasstardra vaigreedrachuvaigreedrachu shaidonmabraitashaidon brouzardstagrabrouzard " +
	"chadrastalgonchadrastal mabraichuvaimabraichuvai stardraigonstardraigon drachumabraidrachumabra gradras"

// broadQuery has the eight prefixes of two letters that most names have.
func broadQuery(ix *Index) string {
	size := map[string]int{}
	for w := range uint32(ix.words.len()) {
		if word := ix.words.word(w); len(word) >= 2 {
			size[string(word[:2])] += ix.names.size(w, w+1)
		}
	}

	starts := slices.Collect(maps.Keys(size))
	slices.SortFunc(starts, func(a, b string) int { return cmp.Or(size[b]-size[a], cmp.Compare(a, b)) })
	return strings.Join(starts[:8], " ")
}

// commonQuery has words of many names, but no name has all of them.
const commonQuery = "ex v gx vmax vstar dark radiant galarian"

func BenchmarkSearch(b *testing.B) {
	for _, cards := range []int{30_000, 300_000} {
		ix := syntheticIndex(b, cards)
		for _, q := range []struct{ name, text string }{
			{"exact", "charizard"},
			{"exact2", "charizard ex"},
			{"number", "charizard 1/150"},
			{"typo1", "charizrd"},
			{"typo2", "charzrd"},
			{"typo2of2", "charzrd ex"},
			{"prefix", "char"},
			{"long", longQuery},
			{"ligatures", strings.Repeat("\uFDFA", 200)}, // eighteen letters each
			{"broad", broadQuery(ix)},
			{"common", commonQuery},
			{"common2", "ex vmax"},
			{"allOfOne", "ex"},
		} {
			for _, cached := range []bool{true, false} {
				name := fmt.Sprintf("%s/%d/cached=%v", q.name, cards, cached)
				b.Run(name, func(b *testing.B) {
					b.ReportAllocs()
					var dst []Hit
					before := cpuTime(b)
					for b.Loop() {
						if !cached {
							ix.expander.clearCache()
						}
						dst = ix.Search(dst[:0], q.text, nil)
					}

					b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
					b.ReportMetric(float64(len(dst)), "hits")
				})
			}
		}
	}
}

// cpuTime is the CPU time of this process, which other programs do not lengthen as they do ns/op.
func cpuTime(b *testing.B) int64 {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

// clearCache empties the memory of expansions.
func (ex *fuzzyExpander) clearCache() {
	for i := range ex.cache {
		if ex.cache[i].Load() != nil {
			ex.cache[i].Store(nil)
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	for _, cards := range []int{30_000, 300_000} {
		b.Run(fmt.Sprint(cards), func(b *testing.B) {
			corpus := synthetic(cards)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Build(context.Background(), corpus, noStep); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
