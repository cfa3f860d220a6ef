package feed_test

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ninepocket/feed"
	"ninepocket/internal/disk/disktest"
	"ninepocket/internal/feedtest"
)

// TestPowerCuts cuts the power after a pull and within the next pull. The current feed directory is
// whole, the reported day is archived, and the next pull works.
func TestPowerCuts(t *testing.T) {
	s := newStand(t, 6)
	disk := disktest.New(nil)
	disk.Unsynced = true
	disk.Watch(s.o.Into)
	dice := rand.New(rand.NewPCG(1, 2))
	states := 0
	days := map[string][]byte{}

	// The feed directory is compared with the feed by names and contents.
	check := func(when string, stamps ...string) {
		t.Helper()
		for _, files := range disk.PowerCuts(dice, "/LOCK") {
			states++
			left := *s
			left.o.Into = t.TempDir()
			if err := disktest.WriteFiles(left.o.Into, files); err != nil {
				t.Fatal(err)
			}
			if stamp := left.stamp(); len(stamps) > 0 && stamp != stamps[0] && stamp != stamps[len(stamps)-1] {
				t.Fatalf("%s, current is of %q, want one of %q", when, stamp, stamps)
			}
			if len(stamps) == 1 {
				left.whole()
			}
			for g := range s.feed.Groups {
				for _, file := range []string{"products", "prices"} {
					name := filepath.Join(left.o.Into, "current", feedtest.Path(g, file))
					if info, err := os.Stat(name); err != nil || info.Size() == 0 {
						t.Fatalf("%s, a tree is current that lacks %s (%v)", when, feedtest.Path(g, file), err)
					}
				}
			}
			for name, want := range days {
				got, err := os.ReadFile(filepath.Join(left.o.Into, "days", name))
				if err != nil || string(got) != string(want) {
					t.Fatalf("%s, day %s has %d bytes of %d (%v)", when, name, len(got), len(want), err)
				}
			}
		}
	}
	pulls := func() string {
		result, err := feed.PullOn(t.Context(), s.o, disk)
		if err != nil {
			t.Fatal(err)
		}
		day, err := os.ReadFile(result.DayFile)
		if err != nil {
			t.Fatal(err)
		}
		days[filepath.Base(result.DayFile)] = day
		return s.stamp()
	}

	first := pulls()
	check("after the first pull", first)

	s.feed.Rebuild(evening.AddDate(0, 0, 1))
	answer := httptest.NewRecorder()
	s.feed.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "GET", "/last-updated.txt", http.NoBody))
	next := strings.TrimSpace(answer.Body.String())
	calls := 0
	disk.Set(func(call disktest.Call) disktest.Effect {
		calls++
		if call.Writes() && (calls%7 == 0 || call.Op == "rename" || call.Op == "symlink") {
			check("within the second pull, before "+call.String(), first, next)
		}
		return disktest.Effect{}
	})
	second := pulls()
	disk.Set(nil)
	check("after the second pull", second)
	t.Logf("%d states in %d calls", states, calls)
}
