package fleet_test

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"ninepocket/deploy/fleet"
)

// previous is the commit that servers are upgraded from: the last one before the first release.
const previous = "60ec478"

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
	keys := w.keys()

	ctx, stop := context.WithCancel(t.Context())
	var load sync.WaitGroup
	w.asks(ctx, &load, keys, w.products(keys["partner"]))
	pause(ctx, 20*time.Second)
	for _, program := range []string{filepath.Join(w.folder, "ninepocket"), old} {
		if err := w.Use(ctx, program); err != nil {
			t.Fatal(err)
		}
		for _, name := range fleet.Servers {
			began := time.Now()
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

	// A server that drains, or that has no grant within its time, says so and when to come again; nothing is charged.
	refused := map[string]int{}
	for _, one := range w.calls {
		if one.status == http.StatusServiceUnavailable && one.ours {
			refused[regexp.MustCompile(`req_\w+`).ReplaceAllString(one.why, "")]++
			if strings.HasPrefix(one.why, "Retry-After: ,") {
				t.Errorf("a refusal does not say when to come again: %s", one.why)
			}
		}
	}
	for why, n := range refused {
		t.Logf("%d times 503: %s", n, why)
	}
	w.settled()
	w.verify()
}
