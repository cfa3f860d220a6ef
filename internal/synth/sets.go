package synth

import (
	"fmt"
	"strconv"
	"time"
)

// game is one of the two games, by its live slug.
type game string

const (
	pokemon  game = "pokemon"
	onePiece game = "one-piece"
)

// style is how the cards of a set are numbered, and which variants they have.
type style uint8

const (
	plainTotal  style = iota // 4/102
	paddedTotal              // 004/102, and secret cards beyond the total
	trainerPart              // padded, with a part TG01/TG30
	galarPart                // padded, with a part GG01/GG70
	blackStar                // SWSH203
	firstPrint               // 4/102 in unlimited and 1st edition
	booster                  // OP05-119 and parallels
	starter                  // ST01-001
	extra                    // EB01-006
	promotion                // P-001
)

// The parts of a set that are numbered separately.
const (
	trainerPartSize = 30
	galarPartSize   = 70
)

// set is one set of the catalog; everything in it depends on the seed and index alone.
type set struct {
	index    int // among all sets
	nth      int // among the sets of its game
	first    int // ordinal of its first card
	size     int // cards it has when complete
	base     int // cards before its parallels (One Piece)
	total    int // printed total
	game     game
	style    style
	code     string // before the number, if the style has one
	ref      string
	name     string
	series   string
	aliases  []string
	released int // day of release relative to day zero; always if it has none
}

// Of setsPerCycle sets, onePiecePerCycle are of One Piece: about 60 of 260 sets.
const (
	setsPerCycle     = 13
	onePiecePerCycle = 3
)

// sets yields the sets in order until yield returns false. There are infinitely many.
func (c *catalog) sets(yield func(*set) bool) {
	first := 0
	var nth [2]int
	for i := 0; ; i++ {
		g := pokemon
		n := 0
		// One Piece sets are spread among the others, as in reality.
		if at := i % setsPerCycle; at%4 == 1 && at < 4*onePiecePerCycle {
			g = onePiece
			n = 1
		}

		s := c.newSet(i, nth[n], g)
		nth[n]++
		s.first = first
		first += s.size
		if !yield(s) {
			return
		}
	}
}

func (c *catalog) newSet(index, nth int, g game) *set {
	d := roll(c.Seed, forSet, uint64(index))
	s := &set{index: index, nth: nth, game: g, ref: fmt.Sprintf("s%04d", index)}
	if g == pokemon {
		c.pokemonSet(s, d)
	} else {
		c.onePieceSet(s, d)
	}
	if d.chance(50) {
		s.released = always
	}

	// Planted sets are made like the others, and then overwritten with their cases.
	plantSet(s)
	if unknown := d.chance(300); !unknown && s.aliases == nil {
		s.aliases = s.codes()
	}

	// The begin of the name stays, as with renamed sets of real feeds.
	if day, ok := c.edits.renamedSets[index]; ok {
		s.name += ": " + setRevisions[day%len(setRevisions)]
	}
	return s
}

func (c *catalog) pokemonSet(s *set, d *dice) {
	s.style = []style{
		trainerPart, plainTotal, blackStar, paddedTotal, galarPart, firstPrint, paddedTotal,
		firstPrint,
	}[s.nth%8]

	switch s.style {
	case trainerPart:
		s.size = d.between(90, 140)
		s.total = (s.size - trainerPartSize) * 9 / 10
	case galarPart:
		s.size = d.between(120, 160)
		s.total = (s.size - galarPartSize) * 9 / 10
	case blackStar:
		s.size = d.between(30, 60)
	case paddedTotal:
		s.size = d.between(50, 105)
		s.total = s.size * 85 / 100
	default:
		s.size = d.between(40, 80)
		s.total = s.size
	}

	s.code = blackStarCodes[s.nth/8%len(blackStarCodes)]
	s.name = pairName(s.nth, 1621, int(seedOf(c.Seed, forSetNames)%997), pokemonSetFirst, pokemonSetLast, "%s %s")
	s.released = -d.between(1, 27*365)
	if s.style == firstPrint {
		s.released = -d.between(20*365, 27*365)
	}
	if !d.chance(120) {
		s.series = pokemonSeries[s.nth/9%len(pokemonSeries)]
	}
}

func (c *catalog) onePieceSet(s *set, d *dice) {
	cycle := s.nth / 4
	switch s.nth % 4 {
	case 0:
		s.style = booster
		s.code = fmt.Sprintf("OP%02d", skipping(2*cycle-1, plantedBooster))
		s.size = d.between(90, 140)
	case 1:
		s.style = booster
		s.code = fmt.Sprintf("OP%02d", skipping(2*cycle, plantedBooster))
		s.size = d.between(90, 140)
	case 2:
		s.style = starter
		s.code = fmt.Sprintf("ST%02d", cycle+1)
		s.size = d.between(15, 26)
	default:
		s.style = extra
		s.code = fmt.Sprintf("EB%02d", cycle+1)
		s.size = d.between(50, 90)
	}

	s.base = s.size * 4 / 5
	s.name = pairName(s.nth, 607, int(seedOf(c.Seed, forSetNames)%499), onePieceSetFirst, onePieceSetLast,
		"%s of the %s")

	s.released = -d.between(1, 4*365)
	if !d.chance(250) {
		s.series = onePieceSeries[s.style-booster]
	}
}

// codes returns the aliases of a set: its code as the sources of its game write it.
func (s *set) codes() []string {
	if s.game == onePiece {
		return []string{s.code, s.code[:2] + "-" + s.code[2:]}
	}
	code := fmt.Sprintf("PK%02d", s.nth)
	return []string{code, code + ": " + s.name}
}

// skipping numbers from 1 upwards without the planted one.
func skipping(n, planted int) int {
	if n >= planted {
		return n + 1
	}
	return n
}

// pairName returns the n-th of the pairs of first and last, in an order scrambled by stride and
// offset. After the last pair, they come again with a number.
func pairName(n, stride, offset int, first, last []string, format string) string {
	pairs := len(first) * len(last)
	at := (n%pairs*stride + offset) % pairs
	name := fmt.Sprintf(format, first[at%len(first)], last[at/len(first)])
	if n >= pairs {
		name += " " + strconv.Itoa(n/pairs+1)
	}
	return name
}

// releaseDate returns the printed date of release, "" if the set has none.
func (s *set) releaseDate(zero time.Time) string {
	if s.released == always {
		return ""
	}
	return zero.AddDate(0, 0, s.released).Format(time.DateOnly)
}
