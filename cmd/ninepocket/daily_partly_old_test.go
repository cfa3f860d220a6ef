package main

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"ninepocket/internal/feedtest"
)

// TestDailyOfAPartlyOldFeed wants a feed that is half of the day before to be refused, and to be pulled
// again whole until it is ready, although it says the same time all along (d9).
func TestDailyOfAPartlyOldFeed(t *testing.T) {
	t.Parallel()
	h := newFeedStore(t, 20, 12)
	yesterday := feedtest.New(20, 12, firstEvening)
	var half atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if half.Load() && strings.HasPrefix(r.URL.Path, "/tcgplayer/3/") {
			yesterday.ServeHTTP(w, r)
			return
		}
		h.feed.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	h.url = server.URL
	file := h.configures("")
	h.days(exitOK, file)

	h.evening(1, feedtest.Faults{})
	served := h.current()
	half.Store(true)
	for range 2 {
		out, stderr := h.days(exitRefused, file)
		says(t, out+stderr, "pulled 20 groups", "refused by feed_partly_old", "--override feed_partly_old",
			"the tree is set aside in "+filepath.Join(h.into, "aside"), "the next run pulls it again")
	}
	if h.current() != served {
		t.Error("half of yesterday is served")
	}

	half.Store(false)
	out, _ := h.days(exitOK, file)
	says(t, out, "pulled 20 groups", "published ")
	h.hasAllPrices()
	out, _ = h.days(exitOK, file)
	says(t, out, "nothing is new: the feed is still of", "is already served")
}
