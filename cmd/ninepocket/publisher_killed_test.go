package main

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ninepocket/internal/synth"
	"ninepocket/snapshot"
	"ninepocket/snapshot/guard"
)

// publisherRounds is how often the publisher is killed: a few times in every test run,
// NINEPOCKET_TORTURE times in make torture.
func publisherRounds(t *testing.T) int {
	t.Helper()
	given := os.Getenv("NINEPOCKET_TORTURE")
	if given == "" {
		return 6
	}

	n, err := strconv.Atoi(given)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// ninepocketProcess is the program as a process of its own: this test binary under another name
// (see TestMain).
func ninepocketProcess(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Args[0] = "ninepocket"
	return cmd
}

// TestKilledPublisher kills processes that build and publish, at random moments: what is current is
// always whole, and the next publisher that lives succeeds.
func TestKilledPublisher(t *testing.T) {
	t.Parallel()
	const days = 4
	folder := t.TempDir()
	store := filepath.Join(folder, "store")
	source := func(day int) string { return filepath.Join(folder, "day"+strconv.Itoa(day)) }
	for day := range days {
		if err := synth.Write(source(day), synth.Options{Cards: 400, HistoryDays: 60, Day: day}); err != nil {
			t.Fatal(err)
		}
	}

	publish := func(day int) *exec.Cmd {
		// Days come in any order here, which the guards rightly refuse.
		return plainProcess(t, "snapshot", "build", "--source", "native:"+source(day), "--store", store,
			"--publish", "--keep", "2",
			"--override", strings.Join(guard.Names(), ","), "--reason", "torture")
	}

	start := time.Now()
	if out, err := publish(0).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	whole := time.Since(start)
	dice := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	d := snapshot.OpenStore(store)
	rounds := publisherRounds(t)
	killed := 0
	moved := 0
	last, err := d.Current()
	if err != nil {
		t.Fatal(err)
	}

	for round := range rounds {
		cmd := publish(round % days)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(dice.Int64N(int64(whole) * 5 / 4)))
		_ = cmd.Process.Kill()
		if err := cmd.Wait(); err != nil {
			killed++
		}
		cur, err := d.Current()
		if err == nil {
			err = d.Verify(cur.ID)
		}
		if err != nil || cur.Epoch < last.Epoch {
			t.Fatalf("round %d: current is %+v after %+v: %v", round, cur, last, err)
		}
		if cur.Epoch > last.Epoch {
			moved++
		}
		last = cur
	}

	for day := range days {
		if out, err := publish(day).CombinedOutput(); err != nil {
			t.Fatalf("a publisher that lives: %v: %s", err, out)
		}
	}

	if left, err := os.ReadDir(filepath.Join(store, "tmp")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	t.Logf("%d of %d publishers were killed, %d published", killed, rounds, moved)
	if rounds >= 100 && (killed < rounds/4 || moved == 0) {
		t.Errorf("of %d publishers %d were killed and %d published: the moments are not spread", rounds, killed, moved)
	}
}
