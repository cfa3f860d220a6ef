package loader

import (
	"cmp"
	"regexp"
	"strings"

	"ninepocket/collector"
	"ninepocket/loader/slug"
	"ninepocket/snapshot"
)

// addSets joins or adds the sets of a source and returns where each went, -1 for nowhere.
func (g *merger) addSets(records *merged, owned []bool, report *SourceReport) []int32 {
	sets := records.sets
	p := newPairing(g.m.sets, sets)
	for i := range sets {
		ref := sets[i].refs[0]
		if to, ok := g.setByRef[ref]; ok {
			p.join(i, to)
		}
		for _, same := range g.b.mapping.aliases[aliasSet][ref] {
			if to, ok := g.setByRef[same]; ok && g.m.sets[to].game == sets[i].game {
				p.join(i, to)
			}
		}
	}

	// A weak key pairs only what no stronger one did.
	for _, key := range []func(*set) string{setName, setCode, setShortName, setCoreName} {
		p.byKey(key)
	}

	g.joinByContent(p, records)
	g.tellApart(p, records, owned)
	for i := range sets {
		s := &sets[i]
		switch to := p.to[i]; {
		case to >= 0:
			report.SetsJoined++
			g.m.sets[to].enrich(s)
			g.setByRef[s.refs[0]] = to
		case !owned[s.game] || g.b.o.KeepUnmatched:
			p.to[i] = int32(len(g.m.sets))
			g.setByRef[s.refs[0]] = p.to[i]
			g.m.sets = append(g.m.sets, *s)
		default:
			report.SetsApart++
		}
	}

	return p.to
}

// tellApart tells whoever asks which sets join none of a game that an earlier source has.
func (g *merger) tellApart(p *pairing[set], records *merged, owned []bool) {
	if g.b.apart == nil {
		return
	}
	cards := contents(records.cards, func(set int32) bool { return p.to[set] < 0 })
	for i := range records.sets {
		if s := &records.sets[i]; p.to[i] < 0 && owned[s.game] {
			g.b.apart(apartSet{s, cards[int32(i)]})
		}
	}
}

// Keys by which sets of one game are the same, strongest first.
func setName(s *set) string { return nameKey(s.game, s.name) }

func setCode(s *set) string {
	if s.code == "" {
		return ""
	}
	return snapshot.Games[s.game].Slug + " code " + collector.Fold(s.code)
}

// codeBefore is what a shop puts before a set's name, as in "SWSH04: Vivid Voltage" and "XY -
// Evolutions".
var codeBefore = regexp.MustCompile(`^[A-Z][A-Za-z0-9&.]{0,7}(: | - )`)

func setShortName(s *set) string { return nameKey(s.game, codeBefore.ReplaceAllString(s.name, "")) }

// setCoreName drops the words "Base Set" too: "Scarlet & Violet" is "SV01: Scarlet & Violet Base
// Set".
func setCoreName(s *set) string {
	name := setShortName(s)
	for _, words := range []string{"baseset", "set"} {
		if core := strings.TrimSuffix(name, words); !strings.HasSuffix(core, " ") {
			return core
		}
	}
	return name
}

// joinByContent pairs the sets that are still without a partner by what is in them: two sets are
// the same when at least three cards agree in number and name, these are most of either set, and no
// other set of either side agrees with as many. It finds sets that shops and databases simply name
// differently ("EX Dragon" and "Dragon", "WoTC Promo" and "Wizards Black Star Promos").
func (g *merger) joinByContent(p *pairing[set], records *merged) {
	old := contents(g.m.cards, func(set int32) bool { return !p.taken[set] })
	fresh := contents(records.cards, func(set int32) bool { return p.to[set] < 0 })
	shared := map[[2]int32]int{}
	// Only sets that share a card are compared, by way of the card.
	where := map[string][]int32{}
	for set, keys := range old {
		for key := range keys {
			where[key] = append(where[key], set)
		}
	}

	for set, keys := range fresh {
		for key := range keys {
			for _, to := range where[key] {
				shared[[2]int32{set, to}]++
			}
		}
	}

	bestOfNew := map[int32]rival{}
	bestOfOld := map[int32]rival{}
	for pair, n := range shared {
		bestOfNew[pair[0]] = bestOfNew[pair[0]].against(pair[1], n)
		bestOfOld[pair[1]] = bestOfOld[pair[1]].against(pair[0], n)
	}

	for set, best := range bestOfNew {
		// The best match must be mutual, or a reprint set would take the original's place.
		back := bestOfOld[best.set]
		if best.tied || back.tied || back.set != set || best.n < 3 {
			continue
		}
		if best.n*2 > len(fresh[set]) && best.n*2 > len(old[best.set]) {
			p.join(int(set), best.set)
		}
	}
}

// rival is the set that shares the most cards with another one.
type rival struct {
	set  int32
	n    int
	tied bool
}

func (r rival) against(set int32, n int) rival {
	switch {
	case n > r.n:
		return rival{set: set, n: n}
	case n == r.n:
		r.tied = true
	}
	return r
}

// contents are the cards of the sets that are wanted, by game, number and name.
func contents(cards []card, wanted func(int32) bool) map[int32]map[string]bool {
	sets := map[int32]map[string]bool{}
	for i := range cards {
		c := &cards[i]
		number := collector.NumberBase(c.number)
		name := plainName(c.name)
		if c.set < 0 || !wanted(c.set) || number == "" || name == "" {
			continue
		}

		if sets[c.set] == nil {
			sets[c.set] = map[string]bool{}
		}

		sets[c.set][snapshot.Games[c.game].Slug+" "+number+" "+name] = true
	}

	return sets
}

func nameKey(game uint8, name string) string {
	folded := foldName(name)
	if folded == "" {
		return ""
	}
	return snapshot.Games[game].Slug + " " + folded
}

// foldName is a name as two sources agree on it: letters and digits alone, signs as words, "&" as
// "and".
func foldName(name string) string { return strings.ReplaceAll(slug.Of(name), "-", "") }

// enrich takes from another source's record of the same set what this one lacks.
func (s *set) enrich(from *set) {
	s.refs = append(s.refs, from.refs[0])
	s.series = cmp.Or(s.series, from.series)
	s.code = cmp.Or(s.code, from.code)
	s.total = cmp.Or(s.total, from.total)
	if s.release == snapshot.NoDay {
		s.release = from.release
	}

	for _, alias := range append([]string{from.name, from.code}, from.aliases...) {
		s.aliases = addAlias(s.aliases, alias)
	}
}
