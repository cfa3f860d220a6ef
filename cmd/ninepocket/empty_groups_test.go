package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"ninepocket/internal/feedtest"
	"ninepocket/internal/testsweep"
	"ninepocket/snapshot"
)

// files are the paths of the files of a kind of the first groups of the feed.
func files(groups int, kind string) (paths []string) {
	for g := range groups {
		paths = append(paths, feedtest.Path(g, kind))
	}
	return paths
}

// TestEmptyGroups wants a tree whose groups are all empty to be refused, whether it is the first one or
// not, and one with a few empty groups to be published as any other.
func TestEmptyGroups(t *testing.T) {
	t.Parallel()
	// The real feed has 298 groups of the two games, with 118 cards each.
	groups := 298 / testsweep.Stride(5)
	perGroup := 118 / testsweep.Stride(10)
	h := newFeedStore(t, groups, perGroup)
	file := h.configures("")
	refused := func(base, day string) {
		t.Helper()
		what := fmt.Sprintf("guard groups_missing: the feed has no prices of %d of %d sets", groups, groups)
		out, stderr := h.days(exitRefused, file)
		says(t, out+stderr, "was built and refused by ", what, "all of Pokémon",
			"tcgcsv pokemon for "+day, "--override groups_missing")
		_, stderr = h.does(exitRefused, "snapshot", "build", "--base", base, "--source",
			"tcgcsv:"+filepath.Join(h.into, "current"), "--publish")
		says(t, stderr, what, "tcgcsv pokemon for "+day)
	}

	// The first tree ever has none to be compared with.
	h.evening(0, feedtest.Faults{Empty: files(groups, "prices")})
	refused("none", dayName(0))
	if _, err := snapshot.OpenStore(h.store).Current(); err == nil {
		t.Fatal("a catalog without a price is served")
	}

	delete(h.pulled, dayName(0))
	h.evening(1, feedtest.Faults{Empty: files(groups/25, "prices")})
	h.days(exitOK, file)
	served := h.current()
	h.evening(2, feedtest.Faults{Empty: files(groups, "prices")})
	refused("current", dayName(2))
	if h.current() != served {
		t.Error("a day without a price is served")
	}

	// A tree without a product is no catalog, and what is served is not carried on in its place.
	h.evening(3, feedtest.Faults{Empty: files(groups, "products")})
	_, stderr := h.days(exitFailure, file)
	says(t, stderr, fmt.Sprintf("none of its %d groups has a usable products file", groups))
	if h.current() != served {
		t.Error("a day without a product is served")
	}

	// The next day has all that is to be had: of the empty day there is nothing to fill in.
	h.evening(4, feedtest.Faults{Empty: files(groups/25, "prices")})
	out, stderr := h.days(exitOK, file)
	says(t, out+stderr, "published ", "the kept day "+dayName(2)+" is left out: it has no price",
		"filled from archived days: "+dayName(3))
	if strings.Contains(stderr, "filled from archived days: "+dayName(2)) {
		t.Errorf("an empty day was filled: %s", stderr)
	}
	if n := h.catalog().Cards.ID.Len(); n != groups*perGroup {
		t.Errorf("the catalog has %d cards, want %d", n, groups*perGroup)
	}
}
