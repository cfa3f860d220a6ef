package server

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
)

// everyKth is a store that fails at every k-th call of any kind, without doing it.
type everyKth struct {
	access.Store
	k     int64
	calls atomic.Int64
}

func (s *everyKth) fails() bool { return s.k > 0 && s.calls.Add(1)%s.k == 0 }

func (s *everyKth) Admit(p *keys.Principal, r access.LimitSpec, now access.Instant) access.Decision {
	if s.fails() {
		return access.Decision{Result: access.Unavailable, RetryAfter: 5}
	}
	return s.Store.Admit(p, r, now)
}

func (s *everyKth) Finish(t access.Reservation, success bool) (access.Charge, error) {
	if s.fails() {
		return access.Charge{}, errBroken
	}
	return s.Store.Finish(t, success)
}

func (s *everyKth) Usage(p *keys.Principal, r access.LimitSpec, now access.Instant) (access.Usage, error) {
	if s.fails() {
		return access.Usage{}, errBroken
	}
	return s.Store.Usage(p, r, now)
}

func (s *everyKth) Begin(t access.Reservation, key string, h access.BodyHash, now access.Instant) (access.Claim,
	error,
) {
	if s.fails() {
		return access.Claim{}, errBroken
	}
	return s.Store.Begin(t, key, h, now)
}

func (s *everyKth) Commit(t access.Reservation, c access.Claim, reply []byte) (access.Charge, error) {
	if s.fails() {
		return access.Charge{}, errBroken
	}
	return s.Store.Commit(t, c, reply)
}

// TestEveryKthCallFails retries batches like a partner, over a store that fails at every k-th call,
// until each was answered. Every refusal is a 503. Every key is charged once, and its replay has
// the first answer.
func TestEveryKthCallFails(t *testing.T) {
	const batches = 12
	store := &everyKth{Store: access.NewMemory(access.MemoryOptions{})}
	w := newWorld(t, setup{store: store})
	for k := int64(2); k <= 9; k++ {
		store.calls.Store(0)
		key := w.key(t, keys.NewKey{
			Name: "kth", Tenant: fmt.Sprint("kth-", k), Surface: keys.Preview,
			Plan: "unlimited",
		})
		ask := func(n int) reply {
			return w.ask(t, request{method: "POST", target: "/v1/prices/batch", body: oneItem, header: []string{
				"X-API-Key: " + key, "Content-Type: application/json", fmt.Sprintf("Idempotency-Key: batch-%d", n),
			}})
		}

		first := make([]string, batches)
		for n := range batches {
			store.k = k
			for tries := 0; first[n] == ""; tries++ {
				if tries == 20 {
					store.k = 0 // a batch is three calls: every second or third failing lets none through
				}
				r := ask(n)
				switch {
				case r.status == 200:
					first[n] = dataOf(t, r)
				case r.status != 503 || tries > 20:
					t.Fatalf("k=%d, batch %d: answered %d after %d tries: %s", k, n, r.status, tries, r.body)
				}
			}
		}

		store.k = 0
		for n := range batches {
			r := ask(n)
			if r.status != 200 || r.header.Get("X-Request-Credits-Charged") != "0" || dataOf(t, r) != first[n] {
				t.Errorf("k=%d, batch %d: the replay is %d %s, first was %s", k, n, r.status, r.body, first[n])
			}
		}

		w.try(t, scenario{path: "/v1/usage", key: key, want: []match{at("data.request_credits_used", batches)}})
	}
}

// dataOf is the data of a preview answer.
func dataOf(t *testing.T, r reply) string {
	t.Helper()
	var body struct{ Data any }
	r.decode(t, &body)
	return fmt.Sprint(body.Data)
}

// TestLogThrottle wants one line a minute, with a count of the suppressed ones, whatever the clock
// does.
func TestLogThrottle(t *testing.T) {
	var l logThrottle
	at := time.Unix(1_800_000_000, 0)
	f := func(after time.Duration, wantSuppressed uint64, wantDue bool) {
		t.Helper()
		at = at.Add(after)
		if suppressed, due := l.allow(at); suppressed != wantSuppressed || due != wantDue {
			t.Errorf("%v later: %d held, due %t; want %d, %t", after, suppressed, due, wantSuppressed, wantDue)
		}
	}

	f(0, 0, true)
	f(0, 0, false)
	f(59*time.Second, 0, false)
	f(time.Second, 2, true)
	f(time.Second, 0, false)
	f(-time.Hour, 1, true)
	f(2*time.Hour, 0, true)
}
