package server

import (
	"bytes"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"ninepocket/access"
	"ninepocket/access/keys"
)

// TestRepliesAtTheirBound sends one batch more than replies are stored: the refusal names the full
// store and the time of the next try, and has the true balance. The log has one line.
func TestRepliesAtTheirBound(t *testing.T) {
	var log bytes.Buffer
	w := newWorld(t, setup{
		store:   access.NewMemory(access.MemoryOptions{MaxIdempotencyRecords: 3}),
		options: func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) },
	})
	key := w.key(t, keys.NewKey{
		Name: "full", Tenant: "full", Surface: keys.Preview, Plan: "unlimited", Credits: new(int64(100)),
	})
	ask := func(n int) reply {
		return w.ask(t, request{method: "POST", target: "/v1/prices/batch", body: oneItem, header: []string{
			"X-API-Key: " + key, "Content-Type: application/json", fmt.Sprintf("Idempotency-Key: batch-%d", n),
		}})
	}

	for n := range 3 {
		if r := ask(n); r.status != 200 {
			t.Fatalf("batch %d: %d %s", n, r.status, r.body)
		}
	}
	for n := 3; n < 20; n++ {
		r := ask(n)
		wait, _ := strconv.Atoi(r.header.Get("Retry-After"))
		explained := strings.Contains(string(r.body), "3 replies of the last 10 minutes")
		if r.status != 503 || wait < 590 || wait > 600 || !explained {
			t.Fatalf("batch %d: %d, Retry-After %d: %s", n, r.status, wait, r.body)
		}
		left := r.header.Get("X-Request-Credits-Remaining")
		if left != "97" || r.header.Get("X-Request-Credits-Charged") != "0" {
			t.Fatalf("batch %d: %q credits left", n, left)
		}
	}

	if r := ask(1); r.status != 200 || r.header.Get("X-Request-Credits-Charged") != "0" {
		t.Errorf("a repeat is answered %d", r.status)
	}
	if n := strings.Count(log.String(), "cannot meter a request"); n != 1 {
		t.Errorf("%d lines in the log:\n%s", n, &log)
	}
}
