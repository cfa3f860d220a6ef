package limiter

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"ninepocket/internal/testsweep"
)

// simSeeds is how many seeds a simulation runs: NINEPOCKET_SIM=1000 does as many, over longer runs.
// make sim does 1,000 and the gate 250.
func simSeeds(t *testing.T) (seeds int, seconds int64) {
	t.Helper()
	text := os.Getenv("NINEPOCKET_SIM")
	if text == "" {
		return 50 / testsweep.Stride(3), 60
	}
	seeds, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return seeds, 180
}

// TestSimulatedFleet runs servers over the real scripts, with faults of all kinds, from seeds.
func TestSimulatedFleet(t *testing.T) {
	t.Parallel()
	seeds, seconds := simSeeds(t)
	var mu sync.Mutex
	var sum simEvents
	t.Cleanup(func() { t.Logf("%d seeds: %+v", seeds, sum) })

	const parts = 4
	for part := range parts {
		t.Run(fmt.Sprint("part ", part), func(t *testing.T) {
			t.Parallel()
			for seed := part; seed < seeds; seed += parts {
				w := newWorld(t, uint64(seed), seed%2 == 1, seed%8 < 6, flaws{})
				w.resets.on = seed%16 >= 12 || seed%16 < 4 // with acks and without
				for _, what := range w.simulate(seconds) {
					t.Errorf("seed %d: %s (a minute %d, leased %v, acks %v)", seed, what, w.perMinute, w.leased, w.acks)
				}
				mu.Lock()
				sum.add(&w.events)
				mu.Unlock()
			}
		})
	}
}

func (sum *simEvents) add(one *simEvents) {
	sum.admitted += one.admitted
	sum.refused += one.refused
	sum.unavailable += one.unavailable
	sum.kills += one.kills
	sum.failovers += one.failovers
	sum.undone += one.undone
	sum.lost += one.lost
	sum.batches += one.batches
	sum.replays += one.replays
	sum.voids += one.voids
	sum.emptied += one.emptied
	sum.restored += one.restored
}

// TestPlantedFaults plants mistakes, each of which the simulation has to find.
func TestPlantedFaults(t *testing.T) {
	t.Parallel()
	replace := func(from, to string) func(string) string {
		return func(source string) string { return strings.ReplaceAll(source, from, to) }
	}

	untold := replace("not redis", "false and redis")
	// Commit, without its first check.
	notOurs := replace("if r[1]~=ARGV[1] then\n  -- It is void", "if false then --")
	for name, plant := range map[string]struct {
		invariant string
		leased    bool
		flaws
		seed int // that finds it; make sim looks for one
	}{
		"a minute of 59 s":                   {"I1", false, flaws{script: replace("60000", "59000")}, 4},
		"a lease counts from its answer":     {"I1", true, flaws{leaseFromAnswer: true}, 28},
		"a lease ends early":                 {"I1", true, flaws{script: replace("[1]+60000)", "[1]+59000)")}, 432},
		"a lease nobody saw is given back":   {"I1", true, flaws{script: replace("used=n end", "used=0 end")}, 98},
		"a journal is forgotten at a kill":   {"I2", false, flaws{losesUsageLog: true}, 0},
		"a grant is used by later calls":     {"I1", false, flaws{usesLateGrant: true}, 12},
		"losses are not looked for":          {"I1", false, flaws{script: replace("oseq<last", "false")}, 3},
		"a batch is not prepared":            {"I4", false, flaws{losesPrepared: true}, 110},
		"a commit asks not whose a claim is": {"I4", false, flaws{script: notOurs}, 177},
		"a unit that is held is not counted": {"I2", false, flaws{script: replace("others-base<", "others<")}, 0},
		"charges of those gone are not told": {"I2", false, flaws{script: untold, resets: true}, 21},
		"replies are not offered again":      {"I4", false, flaws{script: replace("left<=0", "true"), resets: true}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// If losses are not checked, writes without a replica are acknowledged, too.
			blind := name == "losses are not looked for"
			first := plant.seed
			if os.Getenv("NINEPOCKET_SIM") != "" {
				first = 0
			}
			for seed := first; seed < first+2000; seed++ {
				w := newWorld(t, uint64(seed), plant.leased, !blind, plant.flaws)
				w.resets.on = plant.resets
				found := w.simulate(120)
				if blind {
					w.acks = true // and yet it acknowledged what replicas had not
					found = w.checkInvariants()
				}
				ours := func(s string) bool { return strings.HasPrefix(s, plant.invariant) }
				if i := slices.IndexFunc(found, ours); i >= 0 {
					t.Logf("seed %d: %s", seed, found[i])
					return
				}
			}
			t.Error("never found")
		})
	}
}
