package index_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ninepocket/index"
	"ninepocket/internal/fixture"
	"ninepocket/internal/testsweep"
)

// TestSetsCalled asks for sets as people write them.
func TestSetsCalled(t *testing.T) {
	o := newOracle(t, &fixture.World{
		At:    time.Date(2026, 3, 14, 20, 0, 0, 0, time.UTC).UnixMilli(),
		Games: fixture.Random(1, size).Games,
		Sets: []fixture.Set{
			{ID: "set_151", Slug: "sv-scarlet-violet-151", Name: "SV: Scarlet & Violet 151"},
			{ID: "set_ssp", Slug: "sv08-surging-sparks", Name: "SV08: Surging Sparks", Code: "SSP"},
			{ID: "set_base", Slug: "base-set", Name: "Base Set"},
			{ID: "set_base2", Slug: "base-set-2", Name: "Base Set 2"},
			{ID: "set_shadowless", Slug: "base-set-shadowless", Name: "Base Set (Shadowless)"},
			{ID: "set_evs", Slug: "swsh07-evolving-skies", Name: "SWSH07: Evolving Skies"},
			{ID: "set_svi", Slug: "sv01-base", Name: "SV01: Scarlet & Violet Base Set", Release: 19_447},
			{ID: "set_lor", Slug: "lor", Name: "SWSH11: Lost Origin"},
			{ID: "set_lortg", Slug: "lor-tg", Name: "SWSH11: Lost Origin Trainer Gallery"},
			{ID: "set_sm", Slug: "sm-base-set", Name: "SM Base Set"},
			{ID: "set_teu", Slug: "sm-team-up", Name: "SM - Team Up"},
			{ID: "set_smp", Slug: "sm-promos", Name: "SM Promos"},
			{ID: "set_op01", Slug: "romance-dawn", Name: "Romance Dawn", Code: "OP01", Game: 1},
		},
	})
	f := func(ref string, want ...string) {
		t.Helper()
		var got []string
		for _, set := range o.x.SetNames().Resolve(ref) {
			got = append(got, o.c.Sets.ID.At(int(set)))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%q means %q, want %q", ref, got, want)
		}
	}

	f("151", "set_151")
	f("Scarlet and Violet 151", "set_151")
	f("SV08", "set_ssp")
	f("sv8", "set_ssp")
	f("surging sparks", "set_ssp")
	f("Base", "set_base")
	f("base set", "set_base")
	f("base set 2", "set_base2")
	f("Shadowless", "set_shadowless")
	f("evolving skys", "set_evs")
	f("evolvign skeis", "set_evs")
	f("evelving skees", "set_evs")
	f(strings.Repeat("\uFDFA", 200))
	f("evolving skies" + strings.Repeat("\uFDFA", 60))
	f("Scarlet & Violet", "set_svi")
	f("Lost Origin", "set_lor")
	f("lost origin trainer gallery", "set_lortg")
	f("Romance Dawn OP01", "set_op01")
	f("op-01", "set_op01")
	f("OP1", "set_op01")

	// A code is not the rest of a name, and has no typing errors.
	f("sm base", "set_sm")
	f("team up set", "set_teu")
	f("sm promos", "set_smp")
	f("sv promos")
	f("lost origin tg")
	f("sv base set")

	// A set that is named twice, and one behind its series.
	f("Surging Sparks (SSP)", "set_ssp")
	f("Romance Dawn [OP-01]", "set_op01")
	f("OP-01 Romance Dawn", "set_op01")
	f("Sword & Shield: Evolving Skies", "set_evs")
	f("SWSH Evolving Skies", "set_evs")
	f("Scarlet and Violet - Surging Sparks", "set_ssp")
	f("Sun & Moon: Team Up", "set_teu")
	f("Scarlet & Violet: Team Up")
	f("Base Set (SSP)")

	// Words that distinguish no set, and names of no set.
	f("lost")
	f("swsh11 trainer", "set_lortg")
	f("obsidian flames")
	f("")
	f("and")

	near := func(ref, want string) {
		t.Helper()
		sets := o.x.SetNames().Nearest(ref)
		if len(sets) == 0 || len(sets) > 3 || o.c.Sets.ID.At(int(sets[0])) != want {
			t.Errorf("%q is nearest to %v, want %s first", ref, sets, want)
		}
	}
	near("surging spark boosters", "set_ssp")
	near("evolving sky", "set_evs")
	near("trainer swsh", "set_lortg")
	if sets := o.x.SetNames().Nearest("zzzz"); len(sets) > 0 {
		t.Errorf("%v are near zzzz", sets)
	}

	list := func(query string, want ...string) {
		t.Helper()
		// Page by page, like a client.
		f := index.SetFilter{Query: query}
		var got []string
		for from := 0; from >= 0; {
			sets, next := o.x.Sets(nil, f, from, 1)
			for _, set := range sets {
				got = append(got, o.c.Sets.ID.At(int(set)))
			}
			from = next
			if next >= 0 {
				from = o.x.SetAfter(f, o.x.SetPosition(int(sets[0])))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("a list asked for %q has %q, want %q", query, got, want)
		}
	}
	list("lost origin", "set_lor", "set_lortg")
	list("base", "set_base", "set_svi", "set_shadowless", "set_base2", "set_sm") // the newest is not first
	list("evolving skys", "set_evs")
	list("nothing of it")
}

// TestRealSetsCalled looks up the sets of the real TCGCSV feed by everyday names.
func TestRealSetsCalled(t *testing.T) {
	testsweep.OnlyFull(t)
	x := openReal(t, "t")

	for ref, want := range map[string]string{
		"151": "SV: Scarlet & Violet 151", "Scarlet and Violet 151": "SV: Scarlet & Violet 151",
		"SV03": "SV03: Obsidian Flames", "SV08": "SV08: Surging Sparks", "evolving skys": "SWSH07: Evolving Skies",
		"Obsidian Flame": "SV03: Obsidian Flames", "Shadowless": "Base Set (Shadowless)", "Base": "Base Set",
		"Romance Dawn OP01": "Romance Dawn", "Scarlet & Violet": "SV01: Scarlet & Violet Base Set",
		"EVS": "SWSH07: Evolving Skies", "Evolutions": "XY - Evolutions", "team up": "SM - Team Up",
		"Black & White": "Black and White", "OP-05": "Awakening of the New Era",
	} {
		sets := x.SetNames().Resolve(ref)
		if len(sets) != 1 || x.c.Sets.Name.At(int(sets[0])) != want {
			t.Errorf("%q means %v, want %s", ref, sets, want)
			for _, set := range sets {
				t.Log(x.c.Sets.Name.At(int(set)))
			}
		}
	}
}
