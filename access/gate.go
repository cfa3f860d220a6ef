package access

import (
	"fmt"
	"sync"
	"time"

	"ninepocket/access/keys"
	"ninepocket/calendar"
)

// Gate combines a key ring and a store: it is all that a server needs of this package.
type Gate struct {
	ring        *keys.Ring
	store       Store
	suggestions paidSuggestions
	further     turns
}

// NewGate returns a gate. It owns neither the ring nor the store.
func NewGate(ring *keys.Ring, store Store) *Gate { return &Gate{ring: ring, store: store} }

// Authenticate returns the principal of a key. Its errors are ErrNoKey, ErrInvalid, ErrRevoked and
// ErrExpired (all 401). ErrSandbox (403) and ErrUnavailable, when the plan is not configured (503),
// come with the principal. It keeps no part of raw and does not allocate.
func (g *Gate) Authenticate(raw []byte, now Instant) (*keys.Principal, error) {
	return g.ring.FindCached(raw, now.Wall, nil)
}

// AuthenticateCached is Authenticate for a connection that sends the same key repeatedly. It caches
// the last key in last, including raw; nil caches nothing. A revocation, an expiry or a change takes
// effect for a cached key at the same instant as for any other.
func (g *Gate) AuthenticateCached(raw []byte, now Instant, last *keys.KeyCache) (*keys.Principal, error) {
	return g.ring.FindCached(raw, now.Wall, last)
}

// Admit decides whether a call may proceed. Every authenticated call of a counted operation is
// admitted exactly once, before its parameters are validated.
func (g *Gate) Admit(p *keys.Principal, op Operation, now Instant) Decision {
	if op == SuggestList {
		return g.admitSuggestion(p, now)
	}
	return g.store.Admit(p, SpecFor(p, op), now)
}

// Finish ends an admitted call before its response is written; on an error the response is 503.
// Success means: the call is charged (2xx other than a replay; every MCP call of a known tool). 304
// and errors are not.
func (g *Gate) Finish(res Reservation, success bool) (Charge, error) {
	charge, err := g.store.Finish(res, success)
	if res.Spec.Operation == SuggestList {
		g.finishSuggestion(&res, success && err == nil)
	}
	return charge, err
}

// Begin looks up an idempotency key. It waits while the same body is being answered, so its result
// is never InProgress; after timeout it returns ErrUnavailable. After an error or any result but
// Fresh the caller calls Finish(res, false).
func (g *Gate) Begin(timeout time.Duration, res Reservation, key string, body BodyHash, now Instant) (Claim, error) {
	// Nearly no call waits, so a timer is made only for one that does.
	var ended <-chan time.Time
	for {
		claim, err := g.store.Begin(res, key, body, now)
		if err != nil || claim.Result != InProgress {
			return claim, err
		}

		if ended == nil {
			ended = time.After(timeout)
		}
		// If the owner aborts, this caller's next Begin returns a fresh claim.
		select {
		case <-claim.Done:
		case <-ended:
			return Claim{}, fmt.Errorf("%w: the same request has been in work for %s", ErrUnavailable, timeout)
		}
	}
}

// Commit charges a fresh claim and stores its reply; see [Store].
func (g *Gate) Commit(res Reservation, claim Claim, reply []byte) (Charge, error) {
	return g.store.Commit(res, claim, reply)
}

// Abort ends a fresh claim and finishes its reservation; see [Store].
func (g *Gate) Abort(res Reservation, claim Claim) (Charge, error) { return g.store.Abort(res, claim) }

// Usage returns a principal's use of its quota.
func (g *Gate) Usage(p *keys.Principal, now Instant) (Usage, error) {
	return g.store.Usage(p, SpecFor(p, UsageGet), now)
}

// paidSuggestions are the suggestions that tenants have paid for on this server and not received yet.
// They end with the UTC day, and with the process.
type paidSuggestions struct {
	mu   sync.Mutex
	day  calendar.Day
	left map[string]int // by tenant
}

// add adds n to what a tenant has left on a day, unless that would be less than nothing. An earlier day is
// of a clock that was set back, or of a call that ended after midnight, and counts as the latest.
func (paid *paidSuggestions) add(tenant string, day calendar.Day, n int) bool {
	paid.mu.Lock()
	defer paid.mu.Unlock()
	if day > paid.day || paid.left == nil {
		paid.day = day
		paid.left = map[string]int{}
	}

	left := paid.left[tenant] + n
	if left < 0 {
		return false
	}
	paid.left[tenant] = left
	return true
}

// admitSuggestion admits suggestions. They cost nothing while the tenant has paid ones left.
func (g *Gate) admitSuggestion(p *keys.Principal, now Instant) Decision {
	spec := SpecFor(p, SuggestList)
	day := calendar.DayOf(now.Wall)
	isPaid := g.suggestions.add(p.Tenant, day, -1)
	if isPaid {
		spec.Cost = 0
	}

	decision := g.store.Admit(p, spec, now)
	if isPaid && decision.Result != Admitted {
		g.suggestions.add(p.Tenant, day, 1)
	}
	return decision
}

// finishSuggestion adds the other suggestions that a charge has paid, or gives back a suggestion
// that was not answered.
func (g *Gate) finishSuggestion(res *Reservation, success bool) {
	day := calendar.DayOf(res.Now.Wall)
	switch {
	case success && res.Spec.Cost > 0:
		g.suggestions.add(res.Principal.Tenant, day, suggestionsPerRequest-1)
	case !success && res.Spec.Cost == 0:
		g.suggestions.add(res.Principal.Tenant, day, 1)
	}
}

// furtherWait is how long a call of several units waits for the previous such call of the same key.
const furtherWait = 2 * time.Second

// AdmitFurther admits n further units of an admitted call's quota, all or none: a valuation of 1,000 items
// counts as ten calls (decision 3507). They pass no window. FinishFurther must follow, unless it returns a
// refusal. A key has one such call at a time; another waits, and after two seconds busy is true.
func (g *Gate) AdmitFurther(
	p *keys.Principal, op Operation, n int, now Instant,
) (units []Reservation, refused *Decision, busy bool) {
	if !g.further.begin(p.KeyID) {
		return nil, nil, true
	}

	spec := SpecFor(p, op)
	spec.Window = NoWindow
	for range n {
		decision := g.store.Admit(p, spec, now)
		if decision.Result != Admitted {
			_ = g.FinishFurther(p, units, false)
			return nil, &decision, false
		}
		units = append(units, decision.Reservation)
	}
	return units, nil, false
}

// FinishFurther ends the units of AdmitFurther, as Finish does.
func (g *Gate) FinishFurther(p *keys.Principal, units []Reservation, success bool) (failure error) {
	defer g.further.end(p.KeyID)
	for i := range units {
		if _, err := g.store.Finish(units[i], success); err != nil {
			failure = err
		}
	}
	return failure
}

// turns lets one call of a key at a time pass.
type turns struct {
	mu   sync.Mutex
	busy map[string]chan struct{} // by key; closed at the end of its call
}

// begin waits for the key's turn; false after furtherWait.
func (t *turns) begin(key string) bool {
	late := time.NewTimer(furtherWait)
	defer late.Stop()
	for {
		t.mu.Lock()
		ended, taken := t.busy[key]
		if !taken {
			if t.busy == nil {
				t.busy = map[string]chan struct{}{}
			}
			t.busy[key] = make(chan struct{})
			t.mu.Unlock()
			return true
		}
		t.mu.Unlock()

		select {
		case <-ended:
		case <-late.C:
			return false
		}
	}
}

func (t *turns) end(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.busy[key])
	delete(t.busy, key)
}
