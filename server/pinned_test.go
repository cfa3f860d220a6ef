package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestPinnedSnapshot wants requests with X-Snapshot-Id to be answered from that snapshot while it
// is held. Later they get an error (decision 3504).
func TestPinnedSnapshot(t *testing.T) {
	w := newWorld(t, setup{})
	moved := movedCards(t, todaysTruth(), tomorrowsTruth())
	w.Engine.Swap(today().view, time.Now())
	w.Engine.Swap(tomorrow().view, time.Now())
	for id, tr := range map[string]*truth{today().view.ID: todaysTruth(), tomorrow().view.ID: tomorrowsTruth()} {
		pin := "X-Snapshot-Id: " + id
		for _, k := range moved[:20] {
			price := tr.byID[k.id].price()
			one := w.try(t, scenario{path: "/v1/cards/" + k.id, header: []string{pin}})
			batch := w.try(t, scenario{
				path: "/v1/prices/batch", header: []string{pin}, body: `{"ids":["` + k.id + `"]}`,
			})
			for _, r := range []reply{one, batch} {
				want := fmt.Sprintf(`"market_price_cents":%d,`, price)
				if r.header.Get("X-Snapshot-Id") != id || !strings.Contains(string(r.body), want) {
					t.Errorf("%s: want %d: %s", pin, price, r.body)
				}
				if got := r.header.Get("Vary"); !strings.HasSuffix(got, varyBySnapshot) {
					t.Errorf("Vary is %q", got)
				}
			}
		}
	}

	// Pagination stays on its snapshot, and a cursor of another snapshot than the header's is an
	// error.
	page := w.get(t, "/v1/cards?limit=2", "X-Snapshot-Id: "+today().view.ID)
	cursor, _ := dig(t, page.body, "next_cursor")
	next := "/v1/cards?limit=2&cursor=" + fmt.Sprint(cursor)
	w.try(t, scenario{path: next, header: []string{"X-Snapshot-Id: " + today().view.ID}})
	w.try(t, scenario{
		path: next, header: []string{"X-Snapshot-Id: " + tomorrow().view.ID}, status: 400, code: "invalid_request",
	})

	gone := w.try(t, scenario{
		path: "/v1/cards", header: []string{"X-Snapshot-Id: none"}, status: http.StatusPreconditionFailed,
		code: "snapshot_gone",
	})
	if !strings.Contains(string(gone.body), tomorrow().view.ID) ||
		gone.header.Get("X-Snapshot-Id") != tomorrow().view.ID || gone.header.Get("RateLimit") == "" {
		t.Errorf("the current snapshot or the minute is not named: %v %s", gone.header, gone.body)
	}
	w.try(t, scenario{path: "/v1/usage", header: []string{"X-Snapshot-Id: none"}})
	w.try(t, scenario{path: "/v1/products?limit=1", key: "preview", header: []string{"X-Snapshot-Id: none"}})
}

// TestNextPublication wants usage to name the next release, and copies of answers to end with it.
func TestNextPublication(t *testing.T) {
	w := newWorld(t, setup{still: true})
	if r := w.get(t, "/v1/usage"); strings.Contains(string(r.body), "next_publication_at") {
		t.Errorf("nobody said when: %s", r.body)
	}

	now := w.clock().UTC()
	w.PublishesDaily = true
	for left, age := range map[time.Duration]string{
		30 * time.Second: "private, max-age=30", 500 * time.Millisecond: "private, max-age=1",
		time.Hour: "private, max-age=60",
	} {
		w.PublishesAt = now.Add(left).Sub(now.Truncate(24 * time.Hour))
		if next := w.nextPublication(now); next.Sub(now) != left && next.Sub(now) != left+24*time.Hour {
			t.Errorf("in %s: the next publication is %s", left, next)
		}

		if got := w.get(t, "/v1/games").header.Get("Cache-Control"); got != age {
			t.Errorf("%s before it, a copy lives %q, want %q", left, got, age)
		}
	}
	if r := w.get(t, "/v1/usage"); !strings.Contains(string(r.body), `"next_publication_at":"`) {
		t.Errorf("usage does not say it: %s", r.body)
	}
}
