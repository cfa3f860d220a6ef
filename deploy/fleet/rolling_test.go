package fleet_test

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ninepocket/deploy/fleet"
)

// previous is the commit that servers are upgraded from: the last one before the first release.
const previous = "60ec478"

// refusable is the most 503s of a replacement. HAProxy asks a server until two checks have failed, a second apart
// (haproxy.cfg). The busiest tenant, whose calls go to one server, sends some 80 calls a second.
const refusable = 160

// passing are the reasons of a 503 at a replacement. A server that starts has no catalog or keys yet. Without a grant
// from Redis within 0.1 s, at its start or its end, it does not meter.
var passing = regexp.MustCompile(`metering is not available|the catalog is not loaded|keys cannot be checked`)

// previousProgram builds the previous program from the repository's history, or skips where that ends before it.
func previousProgram(t *testing.T) string {
	t.Helper()
	if made := os.Getenv("NINEPOCKET_OLD"); made != "" {
		return made
	}
	if exec.Command("git", "cat-file", "-e", previous+"^{commit}").Run() != nil {
		t.Skipf("skipped: a rolling upgrade, because this clone does not have %s", previous)
	}

	folder := t.TempDir()
	build := exec.CommandContext(t.Context(), "bash", "-e", "-c", `git -C ../.. archive "$0" | tar -x -C "$1"; cd "$1"
		CGO_ENABLED=0 go build -trimpath -buildvcs=false -o previous ./cmd/ninepocket`, previous, folder)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(folder, "previous")
}

// TestRollingUpgrade replaces three servers of the previous version by this one, one after the
// other and under load through the proxy, and goes back in the same way. No request fails, no charge
// is lost or doubled, and cursors stay valid.
func TestRollingUpgrade(t *testing.T) {
	if os.Getenv("NINEPOCKET_RELEASE") != "whole" {
		t.Skip("skipped: a rolling upgrade, which make release-check does")
	}
	old := previousProgram(t)
	if err := fleet.Missing(); err != nil {
		t.Skip("skipped: a rolling upgrade, because a part of a fleet is not installed")
	}
	w := begin(t, old)
	defer w.Stop()
	w.behind = true
	// Machines that build are upgraded last: after that there is no way back (CHANGELOG).
	w.Builder = old
	keys := w.keys()

	ctx, stop := context.WithCancel(t.Context())
	var load sync.WaitGroup
	w.asks(ctx, &load, keys, w.products(keys["partner"]))
	pause(ctx, 20*time.Second)
	var replaced []time.Time
	for _, program := range []string{filepath.Join(w.folder, "ninepocket"), old} {
		if err := w.Use(ctx, program); err != nil {
			t.Fatal(err)
		}
		for _, name := range fleet.Servers {
			began := time.Now()
			replaced = append(replaced, began)
			if err := w.Replace(ctx, name); err != nil {
				t.Fatal(err)
			}
			w.healed("the replacement of "+name+" by "+filepath.Base(program), began)
			pause(ctx, 5*time.Second)
		}
	}
	pause(ctx, 10*time.Second)
	stop()
	load.Wait()

	// What was cut off by the end of the test is no failure.
	ended := time.Now()
	for _, one := range w.calls {
		if one.unknown() && ended.Sub(one.got) > 2*time.Second {
			t.Errorf("a request of %s failed at %s: %d, of a server: %v", one.tenant, one.got.Format(time.TimeOnly),
				one.status, one.ours)
		}
	}

	w.refusals(replaced)
	w.settled()
	w.verify()
}

// refusals holds what servers answered besides 200 and planned refusals. A 503 comes after a replacement only, with a
// known reason and the time to come again; nothing is charged for it.
func (w *torture) refusals(replaced []time.Time) {
	w.Helper()
	// The walker asks less than its plan allows. Others ask for all of it or more, and servers lease parts of "huge".
	const never = "walker"
	counts := make([]map[string]int, len(replaced)+1) // by reason; first those before any replacement
	for i := range counts {
		counts[i] = map[string]int{}
	}

	for _, one := range w.calls {
		if !one.ours || one.status == http.StatusOK ||
			one.status == http.StatusTooManyRequests && one.tenant != never {
			continue
		}
		reason := passing.FindString(one.why)
		if one.status != http.StatusServiceUnavailable || reason == "" || strings.HasPrefix(one.why, "Retry-After: ,") {
			w.Errorf("a request of %s was refused at %s: %d, %s", one.tenant, one.got.Format(time.TimeOnly), one.status,
				one.why)
			continue
		}
		at, _ := slices.BinarySearchFunc(replaced, one.got, time.Time.Compare)
		counts[at][reason]++
	}

	for i, reasons := range counts {
		n := 0
		for reason, count := range reasons {
			w.Logf("after %d replacements %d times 503: %s", i, count, reason)
			n += count
		}
		if n > refusable || i == 0 && n > 0 {
			w.Errorf("after %d replacements %d requests got 503: %v", i, n, reasons)
		}
	}
}
