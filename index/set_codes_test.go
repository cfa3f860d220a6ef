package index_test

import (
	"slices"
	"strings"
	"testing"

	"ninepocket/index"
	"ninepocket/internal/testsweep"
)

// TestNameAndCode searches for cards by their names and their set's code in the game's own apps:
// the first hit is of that set.
func TestNameAndCode(t *testing.T) {
	x := openReal(t, "t")
	codes := []string{
		"EVS", "OBF", "MEW", "SCR", "PAL", "PRE", "PAR", "TWM", "SSP", "JTG", "DRI", "BRS", "LOR", "SIT", "CRZ", "ROS",
		"GRI", "TEU", "NXD",
	}

	all := tally{}
	for _, code := range codes {
		sets := x.SetNames().ByAppCode(strings.ToLower(code))
		if len(sets) == 0 {
			t.Fatalf("no set has the code %s", code)
		}

		n := tally{}
		cards := x.Cards(nil, index.Query{Filter: inSet(x, sets[0]), Sort: index.ByNumber}, nil, 1000).Cards
		for i := 0; i < len(cards); i += testsweep.Stride(5) {
			query := index.PlainName(x.c.Cards.Name.At(int(cards[i]))) + " " + code
			found := x.Cards(nil, index.Query{Filter: index.NoFilter, Words: query, HasWords: true}, nil, 1).Cards
			n.all++
			if len(found) > 0 && slices.Contains(sets, uint32(x.c.Cards.Set[found[0]])) {
				n.first++
			} else if len(found) > 0 {
				t.Logf("%q: %s", query, x.describe(int(found[0])))
			} else {
				t.Logf("%q: nothing", query)
			}
		}

		t.Logf("%s: %d of %d", code, n.first, n.all)
		all.first += n.first
		all.all += n.all
	}

	t.Logf("all: %d of %d", all.first, all.all)
	if all.hit1() < 0.98 {
		t.Errorf("%d of %d found in the set", all.first, all.all)
	}
}

// inSet is the filter of a set.
func inSet(x *realIndex, set uint32) index.Filter {
	f := index.NoFilter
	f.Set = x.c.Sets.ID.At(int(set))
	return f
}
