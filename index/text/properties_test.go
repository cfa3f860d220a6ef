package text

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"ninepocket/internal/testsweep"
)

// typings are people's ways of typing a name.
var typings = []struct {
	name string
	how  func(s string) string
}{
	{"as printed", func(s string) string { return s }},
	{"lower case", strings.ToLower},
	{"upper case", strings.ToUpper},
	{"without accents", func(s string) string {
		return strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Mn, r) {
				return -1
			}
			return r
		}, norm.NFD.String(s))
	}},
	{"signs as spaces", func(s string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsPunct(r) && r != '\'' && r != '’' {
				return ' '
			}
			return r
		}, s)
	}},
	{"without apostrophes", strings.NewReplacer("'", "", "’", "").Replace},
}

// TestOwnName asks for every card by its name: a card of that name must be in the first group of
// hits.
func TestOwnName(t *testing.T) {
	catalogs := map[string]*testCatalog{"official": officialCatalog(t)}
	if testsweep.Full() {
		catalogs["TCGCSV"] = tcgcsvCatalog(t)
	}

	for spelling, c := range catalogs {
		floor := 0.999
		stride := testsweep.Stride(60)
		if spelling == "TCGCSV" {
			stride *= 3
			floor = 0.998 // "Pikachu (Surfing)" is also the name Surfing Pikachu
		}

		names := map[string]bool{}
		for i := 0; i < len(c.cards); i += stride {
			names[c.cards[i].name] = true
		}

		plain := plainNames{c, map[string]string{}}
		for _, typing := range typings {
			missed := 0
			for name := range names {
				if !plain.firstGroupHas(typing.how(name), name) {
					missed++
					if missed <= 8 {
						t.Logf("%s, %s: %q is not among the first for %q", spelling, typing.name, name,
							typing.how(name))
					}
				}
			}

			share := 1 - float64(missed)/float64(len(names))
			t.Logf("%s, %s: %.3f %% of %d names", spelling, typing.name, 100*share, len(names))
			if share < floor {
				t.Errorf("%s, %s: %d of %d names are not found first", spelling, typing.name, missed, len(names))
			}
		}
	}
}

// plainNames rewrites the names that it meets, each once: most of a catalog is never among the first.
type plainNames struct {
	*testCatalog
	known map[string]string
}

func (p plainNames) of(name string) string {
	plain, ok := p.known[name]
	if !ok {
		card := testCard{name: name}
		card.simplify()
		plain = card.name
		p.known[name] = plain
	}
	return plain
}

// firstGroupHas reports whether a card of the name is among the hits with the best score.
func (p plainNames) firstGroupHas(q, name string) bool {
	hits := p.index.Search(nil, q, nil)
	if len(hits) == 0 {
		return false
	}

	best := slices.MinFunc(hits, func(a, b Hit) int { return cmp.Compare(a.Score, b.Score) }).Score
	want := p.of(name)
	return slices.ContainsFunc(hits, func(h Hit) bool {
		return h.Score == best && p.of(p.cards[h.Card].name) == want
	})
}

// someQueries are queries of all kinds for property tests.
func someQueries(rng *rand.Rand, c *testCatalog, n int) []string {
	words := []string{
		"4/102", "op01-001", "ex", "vmax", "151", "base", "set", "luffy", "d", "#25", "xyzzy", "star",
		"001", "jungle",
	}

	var queries []string
	for range n {
		name := strings.Fields(c.cards[rng.IntN(len(c.cards))].name)
		q := name[rng.IntN(len(name))]
		for range rng.IntN(3) {
			other := strings.Fields(c.cards[rng.IntN(len(c.cards))].name)
			next := []string{name[rng.IntN(len(name))], other[rng.IntN(len(other))], words[rng.IntN(len(words))]}
			q += " " + next[rng.IntN(len(next))]
		}

		if rng.IntN(2) == 0 {
			q = misspell(rng, q)
		}

		if rng.IntN(4) == 0 {
			q = q[:1+rng.IntN(len(q))]
		}

		queries = append(queries, q)
	}

	return queries
}

func sorted(hits []Hit) []Hit {
	slices.SortFunc(hits, func(a,
		b Hit,
	) int {
		return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.Card, b.Card))
	})
	return hits
}

// TestFilter holds that a filter restricts the result: Search with accept is Search filtered
// afterwards, as long as that leaves anything.
func TestFilter(t *testing.T) {
	c := officialCatalog(t)
	rng := rand.New(rand.NewPCG(5, 5))
	var all, accepted []Hit
	narrowed := 0
	widened := 0
	for _, q := range someQueries(rng, c, 3000/testsweep.Stride(10)) {
		set := c.cards[rng.IntN(len(c.cards))].setNumber
		game := uint8(rng.IntN(2))
		accept := func(card uint32) bool { return c.cards[card].game == game }
		if rng.IntN(2) == 0 {
			accept = func(card uint32) bool { return c.cards[card].setNumber%7 == set%7 }
		}

		all = sorted(c.index.Search(all[:0], q, nil))
		accepted = sorted(c.index.Search(accepted[:0], q, accept))
		seen := map[uint32]bool{}
		for _, h := range accepted {
			if seen[h.Card] || !accept(h.Card) {
				t.Fatalf("%q: card %d is twice among the hits, or not kept", q, h.Card)
			}
			seen[h.Card] = true
		}

		want := slices.DeleteFunc(all, func(h Hit) bool { return !accept(h.Card) })
		switch {
		case len(want) == 0:
			widened++
		case !slices.Equal(accepted, want):
			t.Fatalf("%q: %d hits kept, %d filtered", q, len(accepted), len(want))
		default:
			narrowed++
		}
	}

	t.Logf("%d narrowed, %d without any of the best", narrowed, widened)
}

// TestOrderOfCards checks that neither the order of the cards in the catalog nor earlier
// searches change a result.
func TestOrderOfCards(t *testing.T) {
	c := officialCatalog(t)
	rng := rand.New(rand.NewPCG(9, 9))
	place := rng.Perm(len(c.cards)) // shuffled card i is card place[i]
	shuffled := &testCatalog{cards: make([]testCard, len(c.cards))}
	for i, p := range place {
		shuffled.cards[i] = c.cards[p]
	}

	index, err := Build(context.Background(), shuffled.corpus(), noStep)
	if err != nil {
		t.Fatal(err)
	}

	for _, q := range someQueries(rng, c, 1500/testsweep.Stride(10)) {
		want := sorted(c.index.Search(nil, q, nil))
		got := index.Search(nil, q, nil)
		for i := range got {
			got[i].Card = uint32(place[got[i].Card])
		}
		if !slices.Equal(sorted(got), want) {
			t.Fatalf("%q: %d hits, %d in the other order", q, len(want), len(got))
		}
	}
}

// TestNarrow holds that a search of only the groups with the rarest word, and the prefilter, change
// no round of a search.
func TestNarrow(t *testing.T) {
	c := officialCatalog(t)
	rng := rand.New(rand.NewPCG(11, 11))
	s := newSearch(c.index)
	nonEmpty := 0

	for _, q := range someQueries(rng, c, 1500/testsweep.Stride(10)) {
		if s.query.parse(c.index, q, false); len(s.query.terms) == 0 {
			continue
		}
		for e := passExact; e <= passPhonetic; e++ {
			for _, limit := range []int{0, s.query.total / 2} {
				if !s.expand(e, limit > 0) {
					continue
				}

				all := s.hitsIn(limit, func(uint8) { s.addGroups(^uint8(0)) })
				if narrow := s.hitsIn(limit, s.addGroups); !slices.Equal(narrow, all) {
					t.Fatalf("%q, effort %d, limit %d: %d hits, %d the wide way", q, e, limit, len(narrow), len(all))
				}
				filtered := s.hitsIn(limit, func(rare uint8) { s.prefilter(rare, limit) })
				if !slices.Equal(filtered, all) {
					t.Fatalf("%q, effort %d, limit %d: %d hits thinned, %d else", q, e, limit, len(filtered), len(all))
				}
				if len(filtered) > 0 {
					nonEmpty++
				}
			}
		}
	}
	if nonEmpty < 50 {
		t.Errorf("only %d rounds find anything", nonEmpty)
	}
}

// hitsIn returns the hits of the current round among the name groups that a function finds.
func (s *search) hitsIn(limit int, addGroups func(rare uint8)) []Hit {
	s.only = ^uint64(0)
	s.dst = nil
	s.base = 0
	s.begin()
	s.collectSets()
	rare, _ := s.rarestTerms(limit)
	addGroups(rare)
	s.hitGroups()
	s.gather(limit)
	return sorted(s.dst)
}
