package operate

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ninepocket/feed"
	"ninepocket/internal/feedtest"
	"ninepocket/loader"
	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// TestPartlyOldTreeIsPulledAgain wants a tree that was refused for prices of the day before to be pulled
// again whole, and one that was refused for anything else, or not built from, to stay.
func TestPartlyOldTreeIsPulledAgain(t *testing.T) {
	t.Parallel()
	fake := feedtest.New(4, 3, time.Date(2026, 8, 22, 20, 5, 33, 0, time.UTC))
	server := httptest.NewServer(fake)
	defer server.Close()
	pulling := feed.Options{Into: t.TempDir(), URL: server.URL, Now: time.Now}
	pull := func() *feed.Result {
		t.Helper()
		fake.Set(feedtest.Faults{})
		result, err := feed.Pull(t.Context(), pulling)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	pull()

	warned := ""
	day := &Day{Tree: Tree(pulling.Into), OnWarning: func(text string) { warned += text }}
	refuse := func(name, status string) {
		day.setAside([]snapshot.GuardResult{{Name: "older", Status: snapshot.Passed}, {Name: name, Status: status}})
	}
	refuse("feed_partly_old", snapshot.Refused)
	day.Build.Sources = []loader.Input{{Kind: source.KindTCGCSV, Path: day.Tree}}
	refuse("feed_partly_old", snapshot.Overridden)
	refuse("prices_moved", snapshot.Refused)
	if warned != "" || pull().New {
		t.Errorf("the tree was set aside: %s", warned)
	}

	refuse("feed_partly_old", snapshot.Refused)
	aside := filepath.Join(pulling.Into, "aside", "2026-08-22T200533Z")
	if !strings.Contains(warned, aside) || !strings.Contains(warned, "the next run pulls it again") {
		t.Errorf("warned of %q", warned)
	}
	if _, err := os.Stat(filepath.Join(aside, feedtest.Path(0, "prices"))); err != nil {
		t.Error(err)
	}
	if result := pull(); !result.New || len(fake.Asked()) != 2+2+2*4 {
		t.Errorf("pulled again: %+v after %d requests", result, len(fake.Asked()))
	}

	// There is nothing to set aside: the error has the reason.
	warned = ""
	day.Tree = Tree(t.TempDir())
	day.Build.Sources[0].Path = day.Tree
	if refuse("feed_partly_old", snapshot.Refused); !strings.Contains(warned, "cannot set the tree aside") {
		t.Errorf("warned of %q", warned)
	}
}
