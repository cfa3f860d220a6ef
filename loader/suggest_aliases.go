package loader

import (
	"fmt"
	"slices"
	"strings"
)

// leastShared is how many cards two sets share before they are proposed to be one.
const leastShared = 3

// apartSet is a set of a later source that no earlier one has, with its cards as contents has them.
type apartSet struct {
	*set
	cards map[string]bool
}

// aliasesOf proposes the earlier source's set that shares the most cards with each set that stayed
// apart. A merge wants most of either set to agree; to propose, more than a fifth of the smaller one is
// enough. A set is proposed once: the other halves of what one source has as one are none.
func (b *builder) aliasesOf(apart []apartSet) (rows [][]string, unknown int) {
	have := contents(b.merged.cards, func(int32) bool { return true })
	best := make([]rival, len(apart))
	back := map[int32]rival{}
	for i, a := range apart {
		namespace, _ := splitRef(a.refs[0])
		for set, cards := range have {
			other := &b.merged.sets[set]
			shared := sharedCards(a.cards, cards)
			if other.game == a.game && !knownTo(other, namespace) && shared > 0 {
				best[i] = best[i].against(set, shared)
			}
		}
		// Two later sets may be like one earlier set, which is proposed to the likelier one alone.
		back[best[i].set] = back[best[i].set].against(int32(i), best[i].n)
	}

	for i, a := range apart {
		to := best[i]
		size := len(have[to.set])
		if to.tied || to.n < leastShared || to.n*5 <= min(len(a.cards), size) || back[to.set].tied ||
			back[to.set].set != int32(i) {
			unknown++
			continue
		}

		namespace, ref := splitRef(a.refs[0])
		other := &b.merged.sets[to.set]
		toNamespace, toRef := splitRef(other.refs[0])
		rows = append(rows, []string{
			aliasSet, namespace, ref, toNamespace, toRef, a.name, other.name,
			fmt.Sprintf("%d of its %d cards have a number and a name of the other, which has %d: look twice", to.n,
				len(a.cards), size),
		})
	}
	return rows, unknown
}

func sharedCards(a, b map[string]bool) (n int) {
	for key := range a {
		if b[key] {
			n++
		}
	}
	return n
}

// knownTo reports whether a set has a reference of a namespace.
func knownTo(s *set, namespace string) bool {
	prefix := fullRef(namespace, "")
	return slices.ContainsFunc(s.refs, func(ref string) bool { return strings.HasPrefix(ref, prefix) })
}
