package accesstest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/calendar"
)

// Conform checks the guarantees of access.Store one by one.
func Conform(t *testing.T, h Harness) {
	cases := []struct {
		name string
		run  func(*bench)
	}{
		{"pacing at the limit is never refused", pacing},
		{"a full window refuses and says until when", fullWindow},
		{"a refused call takes nothing", refusedTakesNothing},
		{"a lowered limit holds at once", loweredLimit},
		{"quota is charged by success only", quotaBySuccess},
		{"a call in flight holds its unit", reservedUnits},
		{"quota comes back at midnight and not before", midnight},
		{"keys of a tenant share the day, not the minute", sharedDay},
		{"credits belong to the organization", sharedCredits},
		{"credits come back with the period", creditPeriod},
		{"usage has a window of its own", usageWindow},
		{"suggestions have a window of their own", suggestWindow},
		{"further units take of the day alone, all or none", furtherUnits},
		{"replay, conflict, wait", replayConflictWait},
		{"replay is free at exhausted credits", replayWhenExhausted},
		{"replies are stored exactly ten minutes", tenMinutesExactly},
		{"an aborted claim leaves nothing", abortLeavesNothing},
		{"misused reservations charge nothing", misuse},
		{"a suspended tenant has all of it back", suspension},
		{"tenants do not meet", tenantsApart},
		{"replies are bounded", boundedReplies},
		{"one claim among many callers", oneClaim},
		{"no window overflows under concurrency", concurrentWindow},
		{"no quota overflows under concurrency", concurrentQuota},
		{"a restart keeps everything", restart},
		{"a closed store is unavailable", closed},
	}

	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.run(&bench{world: newWorld(t), t: t, h: h, Store: h.Open(t, start), now: start})
		})
	}
}

// bench is a store under test, with keys and a clock.
type bench struct {
	access.Store
	*world
	t   *testing.T
	h   Harness
	now access.Instant
}

func (b *bench) admit(name string, op access.Operation) access.Decision {
	p := b.who(name, b.now)
	return b.Admit(p, access.SpecFor(p, op), b.now)
}

// want admits a call and expects a result.
func (b *bench) want(name string, op access.Operation, result access.AdmitResult) access.Decision {
	b.t.Helper()
	decision := b.admit(name, op)
	if decision.Result != result {
		b.t.Fatalf("%s %s: result %q, want %q: %+v", name, op, decision.Result, result, decision)
	}
	return decision
}

// finish ends a call and expects a charge.
func (b *bench) finish(decision access.Decision, success bool, charged int64) access.Charge {
	b.t.Helper()
	charge, err := b.Finish(decision.Reservation, success)
	if err != nil || charge.Charged != charged {
		b.t.Fatalf("finish: charged %d, want %d (%v)", charge.Charged, charged, err)
	}
	return charge
}

// do makes a whole successful call.
func (b *bench) do(name string, op access.Operation) access.Charge {
	b.t.Helper()
	return b.finish(b.want(name, op, access.Admitted), true, 1)
}

func (b *bench) used(name string, want int64) {
	b.t.Helper()
	p := b.who(name, b.now)
	usage, err := b.Usage(p, access.SpecFor(p, access.UsageGet), b.now)
	if err != nil || usage.Used != want || usage.Used+usage.Remaining() != usage.Limit && usage.Used <= usage.Limit {
		b.t.Fatalf("usage of %s: %+v (%v), want %d used", name, usage, err, want)
	}
}

// begin admits a batch and begins it.
func (b *bench) begin(name, key string, body byte, want access.ClaimResult) (access.Decision, access.Claim) {
	b.t.Helper()
	decision := b.want(name, access.PricesBatch, access.Admitted)
	claim, err := b.Begin(decision.Reservation, key, access.BodyHash{body}, b.now)
	if err != nil || claim.Result != want {
		b.t.Fatalf("begin %s: outcome %d, want %d (%v)", key, claim.Result, want, err)
	}
	if want != access.Fresh {
		b.finish(decision, false, 0)
	}
	return decision, claim
}

func (b *bench) commit(decision access.Decision, claim access.Claim, reply string) access.Charge {
	b.t.Helper()
	charge, err := b.Commit(decision.Reservation, claim, []byte(reply))
	if err != nil || charge.Charged != 1 {
		b.t.Fatalf("commit: %+v %v", charge, err)
	}
	return charge
}

func (b *bench) sleep(d time.Duration) { b.now = after(b.now, d) }

// setWall steps the wall clock by a duration that may be negative; false if the store has its own clock,
// which cannot be set.
func (b *bench) setWall(by int64) bool {
	if b.h.OneClock {
		return false
	}
	b.now.Wall += by
	return true
}

func pacing(b *bench) {
	for range 200 {
		b.finish(b.want("free", access.CardsGet, access.Admitted), false, 0)
		b.sleep(2 * time.Second)
	}
}

func fullWindow(b *bench) {
	for i := range int64(5) {
		decision := b.want("small", access.CardsGet, access.Admitted)
		if decision.Minute.Remaining != 4-i || decision.Minute.Limit != 5 {
			b.t.Fatalf("minute %+v after %d calls", decision.Minute, i+1)
		}
		b.finish(decision, false, 0)
		b.sleep(1500 * time.Millisecond)
	}

	decision := b.want("small", access.CardsGet, access.RateLimited)
	minute := decision.Minute
	if decision.RetryAfter != 53 || minute.Wait != 53 || minute.Remaining != 0 { // 60 - 7.5, rounded up
		b.t.Fatalf("refused with %+v", decision)
	}
	if got := time.Unix(minute.Reset, 0); got.Before(epoch.Add(time.Minute)) || got.After(epoch.Add(61*time.Second)) {
		b.t.Fatalf("reset at %s", got)
	}

	b.sleep(time.Minute - 7500*time.Millisecond - time.Millisecond)
	if decision := b.want("small", access.CardsGet, access.RateLimited); decision.RetryAfter != 1 {
		b.t.Fatalf("a millisecond early: %+v", decision)
	}

	b.sleep(time.Millisecond)
	b.want("small", access.CardsGet, access.Admitted)
	b.want("small", access.CardsGet, access.RateLimited)
}

func refusedTakesNothing(b *bench) {
	for range 5 {
		b.do("small", access.CardsGet)
	}

	for range 100 {
		b.want("small", access.CardsGet, access.RateLimited)
	}

	b.sleep(time.Minute)
	for range 5 {
		b.do("small", access.CardsGet)
	}

	b.used("small", 10)
	b.do("small2", access.CardsGet)
	b.do("small2", access.CardsGet)
	for range 20 { // quota gone: the minute is not touched either
		decision := b.want("small2", access.CardsGet, access.QuotaExceeded)
		if decision.Minute.Remaining != 3 || decision.Quota.Remaining != 0 ||
			decision.RetryAfter != decision.Quota.Wait {
			b.t.Fatalf("refused with %+v", decision)
		}
	}

	rows, err := b.Ledger("small", 0)
	calls := int64(0)
	for _, row := range rows {
		calls += row.Calls
	}
	if err != nil || calls != 12 {
		b.t.Fatalf("ledger has %d calls: %+v (%v)", calls, rows, err)
	}
}

func loweredLimit(b *bench) {
	for range 5 {
		b.do("small", access.CardsGet)
	}

	setLimit := func(perMinute int) {
		plans := keys.DefaultPlans()
		plans.Set("wide", keys.Plan{})
		plans.Set("small", keys.Plan{PerMinute: perMinute, PerDay: 1000})
		if err := b.ring.SetPlans(plans); err != nil {
			b.t.Fatal(err)
		}
	}

	for _, perMinute := range []int{2, 5, 4000, 5} {
		setLimit(perMinute)
		if perMinute <= 5 {
			b.want("small", access.CardsGet, access.RateLimited)
		}
	}

	setLimit(6)
	b.do("small", access.CardsGet)
	b.want("small", access.CardsGet, access.RateLimited)
}

func quotaBySuccess(b *bench) {
	for i := range 12 {
		if i%4 == 0 {
			b.sleep(time.Minute)
		}
		b.finish(b.want("small", access.CardsGet, access.Admitted), false, 0)
	}

	b.used("small", 0)
	b.sleep(time.Minute)
	for i := range int64(12) {
		b.sleep(12 * time.Second)
		if charge := b.do("small", access.CardsGet); charge.Quota.Remaining != 11-i {
			b.t.Fatalf("remaining %d after %d", charge.Quota.Remaining, i+1)
		}
	}

	b.sleep(time.Minute)
	decision := b.want("small", access.CardsGet, access.QuotaExceeded)
	if midnight := epoch.Truncate(24 * time.Hour).Add(24 * time.Hour); decision.Quota.Reset != midnight.Unix() {
		b.t.Fatalf("quota resets at %s", time.Unix(decision.Quota.Reset, 0))
	}
}

func reservedUnits(b *bench) {
	for range 6 {
		b.do("org", access.ProductsList)
	}

	last := b.want("org", access.ProductsList, access.Admitted)
	if decision := b.want("org2", access.ProductsList, access.QuotaExceeded); decision.Quota.Remaining != 0 {
		b.t.Fatalf("refused with %+v", decision.Quota)
	}

	b.begin("org", "k", 1, access.Exhausted)
	b.used("org", 6) // reserved is not used
	b.finish(last, false, 0)
	decision, claim := b.begin("org", "k", 1, access.Fresh)
	b.want("org2", access.ProductsList, access.QuotaExceeded)
	b.commit(decision, claim, "the last one")
	b.used("org", 7)
}

func midnight(b *bench) {
	// Three minutes of calls end a millisecond before midnight.
	begin := epoch.Truncate(24*time.Hour).UnixMilli() + day - 1 - 3*minute
	b.sleep(time.Duration(begin-b.now.Wall) * time.Millisecond)
	for range 3 {
		for range 4 {
			b.do("small", access.CardsGet)
		}
		b.sleep(time.Minute)
	}

	late := b.admit("small", access.CardsGet)
	if late.Result != access.QuotaExceeded || late.RetryAfter != 1 {
		b.t.Fatalf("a millisecond before midnight: %+v", late)
	}

	b.sleep(time.Millisecond)
	b.do("small", access.CardsGet)
	b.used("small", 1)

	if !b.setWall(-day) {
		return
	}

	// The clock is set back: still the later day.
	b.do("small", access.CardsGet)
	b.used("small", 2)
	if decision := b.admit("small", access.CardsGet); decision.Quota.Wait <= 86400 {
		b.t.Fatalf("wait %+v", decision.Quota)
	}

	// By more than a day: that day is ignored, but the used units stay used.
	b.setWall(-2 * day)
	b.do("small", access.CardsGet)
	b.used("small", 3)
	if decision := b.admit("small", access.CardsGet); decision.Quota.Wait > 86400 {
		b.t.Fatalf("wait %+v", decision.Quota)
	}
}

func sharedDay(b *bench) {
	for range 5 {
		b.do("small", access.CardsGet)
	}

	b.want("small", access.CardsGet, access.RateLimited)
	for range 5 {
		b.do("small2", access.CardsGet)
	}
	b.used("small2", 10)
}

func sharedCredits(b *bench) {
	for i := range 7 {
		b.do([]string{"org", "org2"}[i%2], access.ProductsList)
	}

	decision := b.want("org2", access.ProductsGet, access.QuotaExceeded)
	end := time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
	if decision.Quota.Reset != end.Unix() || decision.RetryAfter != end.Unix()-epoch.Unix() {
		b.t.Fatalf("refused with %+v", decision)
	}

	b.used("org", 7)
	for range 53 {
		b.finish(b.want("rival", access.ProductsGet, access.Admitted), false, 0)
	}

	b.used("rival", 0)
}

func creditPeriod(b *bench) {
	from := epoch.AddDate(0, 0, -3)
	to := epoch.Add(time.Hour)
	b.file.Tenants["org"].PeriodStart = &from
	b.file.Tenants["org"].PeriodEnd = &to
	b.reload()
	for range 7 {
		b.do("org", access.ProductsList)
	}

	b.sleep(time.Hour - time.Millisecond)
	b.want("org", access.ProductsList, access.QuotaExceeded)
	b.sleep(time.Millisecond)
	b.do("org", access.ProductsList)
	p := b.who("org", b.now)
	usage, err := b.Usage(p, access.SpecFor(p, access.UsageGet), b.now)
	want := calendar.Period{Start: to.UnixMilli(), End: to.UnixMilli() + to.Sub(from).Milliseconds()}
	if err != nil || usage.Period != want || usage.Used != 1 {
		b.t.Fatalf("usage %+v, want period %+v", usage, want)
	}

	b.sleep(time.Minute)
	b.setWall(-2 * 3_600_000) // the clock is set back: still the later period
	if charge := b.do("org", access.ProductsList); charge.Quota.Remaining != 5 {
		b.t.Fatalf("remaining %d after the clock was set back", charge.Quota.Remaining)
	}

	b.used("org", 2)
}

func usageWindow(b *bench) {
	for range 10 {
		b.finish(b.want("org", access.UsageGet, access.Admitted), true, 0)
	}

	b.want("org2", access.UsageGet, access.RateLimited)
	b.do("org", access.ProductsList)
	for range 100 {
		decision := b.want("small", access.UsageGet, access.Admitted)
		if decision.Minute != (access.LimitState{}) {
			b.t.Fatalf("live usage passes a window: %+v", decision.Minute)
		}
		b.finish(decision, true, 0)
	}

	b.do("small", access.CardsGet)
}

func suggestWindow(b *bench) {
	for i := range int64(50) { // ten times those of the plan
		decision := b.want("small", access.SuggestList, access.Admitted)
		if decision.Minute.Limit != 50 || decision.Minute.Remaining != 49-i {
			b.t.Fatalf("minute %+v after %d calls", decision.Minute, i+1)
		}
		b.finish(decision, false, 0)
	}

	if decision := b.want("small", access.SuggestList, access.RateLimited); decision.RetryAfter != 60 {
		b.t.Fatalf("refused with %+v", decision)
	}
	if minute := b.want("small", access.CardsGet, access.Admitted).Minute; minute.Remaining != 4 {
		b.t.Fatalf("suggestions took of the minute: %+v", minute)
	}

	b.do("wide", access.SuggestList)
	b.sleep(time.Minute)
	b.do("small", access.SuggestList)
	b.used("small", 1)
}

// furtherUnits admits a call that counts as several.
func furtherUnits(b *bench) {
	gate := access.NewGate(nil, b.Store)
	p := b.who("small", b.now)
	limit := int(p.Plan.PerDay)
	first := b.want("small", access.Valuations, access.Admitted)
	units, refused, busy := gate.AdmitFurther(p, access.Valuations, limit-3, b.now)
	if refused != nil || busy {
		b.t.Fatalf("refused with %+v, busy: %t", refused, busy)
	}
	if err := gate.FinishFurther(p, units, true); err != nil {
		b.t.Fatal(err)
	}
	b.finish(first, true, 1)
	b.used("small", int64(limit-2))

	// Two are left: one for the call, and not two for more. Nothing is taken.
	second := b.want("small", access.Valuations, access.Admitted)
	_, refused, _ = gate.AdmitFurther(p, access.Valuations, 2, b.now)
	if refused == nil || refused.Result != access.QuotaExceeded {
		b.t.Fatalf("admitted beyond the day: %+v", refused)
	}
	b.finish(second, false, 0)
	b.used("small", int64(limit-2))
	if minute := b.want("small", access.CardsGet, access.Admitted).Minute; minute.Remaining != minute.Limit-3 {
		b.t.Fatalf("further units took of the minute: %+v", minute)
	}
}

// concurrentWindow lets many callers draw increasing times and call; afterwards no minute may have more
// admissions than the limit.
func concurrentWindow(b *bench) {
	var clock atomic.Int64
	for _, c := range []struct {
		key   string
		limit int
		calls int
		step  int64
	}{{"free", 30, 6_000, 97}, {"wide", 3_000, 20_000, 17}} {
		var mu sync.Mutex
		var admitted []int64
		p := b.who(c.key, b.now)
		spec := access.SpecFor(p, access.CardsGet)

		// Times are drawn in order and arrive out of order.
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				for range c.calls / 8 {
					now := after(start, time.Duration(clock.Add(c.step))*time.Millisecond)
					if decision := b.Admit(p, spec, now); decision.Result == access.Admitted {
						mu.Lock()
						admitted = append(admitted, b.admittedAt(decision))
						mu.Unlock()
					}
				}
			})
		}
		group.Wait()

		slices.Sort(admitted)
		for i := c.limit; i < len(admitted); i++ {
			if took := admitted[i] - admitted[i-c.limit]; took < minute {
				b.t.Fatalf("%s: %d admissions within %d ms", c.key, c.limit+1, took)
			}
		}

		if minAdmitted := c.limit * 5; len(admitted) < minAdmitted {
			b.t.Fatalf("%s: only %d admitted, want at least %d", c.key, len(admitted), minAdmitted)
		}
	}
}

// admittedAt returns when a call was admitted: by the store's own clock if it has one, else by the caller's.
func (b *bench) admittedAt(decision access.Decision) int64 {
	if b.h.OneClock {
		return decision.Reservation.At
	}
	return decision.Reservation.Now.Mono
}

func concurrentQuota(b *bench) {
	plans := keys.DefaultPlans()
	plans.Set("wide", keys.Plan{PerMinute: 1_000_000, PerDay: 60})
	plans.Set("small", keys.Plan{PerMinute: 900, PerDay: 100})
	if err := b.ring.SetPlans(plans); err != nil {
		b.t.Fatal(err)
	}

	b.file.Tenants["org"].Credits = new(int64(20))
	b.reload()
	for name, op := range map[string]access.Operation{
		"small": access.CardsGet, "wide": access.CardsGet, "org": access.ProductsGet,
	} {
		var charged atomic.Int64
		var group sync.WaitGroup
		p := b.who(name, b.now)
		for i := range 8 {
			group.Go(func() {
				for j := range 40 {
					now := after(b.now, time.Duration(j)*5*time.Second)
					spec := access.SpecFor(p, op)
					// Further units of a call pass no window.
					if p.Surface == keys.Live && j%3 == 0 {
						spec.Window = access.NoWindow
					}
					decision := b.Admit(p, spec, now)
					if decision.Result != access.Admitted {
						continue
					}

					charge, err := b.Finish(decision.Reservation, (i+j)%2 == 0)
					if err != nil {
						b.t.Error(err)
					}
					charged.Add(charge.Charged)
				}
			})
		}
		group.Wait()

		b.used(name, charged.Load())
		if limit := access.SpecFor(p, op).Limit; charged.Load() > limit || charged.Load() == 0 {
			b.t.Fatalf("%s: %d charged of %d", name, charged.Load(), limit)
		}
	}
}

func restart(b *bench) {
	if b.h.Reopen == nil {
		b.t.Skip("this store keeps nothing")
	}

	for _, kill := range []bool{false, true, true, false} {
		b.sleep(10 * time.Minute)
		for range 2 {
			b.do("small", access.CardsGet)
		}
		b.do("org", access.ProductsList)
		decision, claim := b.begin("rival", fmt.Sprint("k", b.now.Wall), 1, access.Fresh)
		b.commit(decision, claim, "kept")
		for range 30 {
			b.finish(b.want("free", access.CardsGet, access.Admitted), false, 0)
		}

		before, err := b.Ledger("", 0)
		if err != nil {
			b.t.Fatal(err)
		}
		key := claim.Key
		b.sleep(20 * time.Second)
		if !b.h.OneClock {
			b.now.Mono = 0 // each process has its own monotonic clock
		}
		b.Store = b.h.Reopen(b.t, b.Store, kill, b.now)
		if rows, err := b.Ledger("", 0); err != nil || !slices.Equal(rows, before) {
			b.t.Fatalf("ledger after restart: %+v (%v), want %+v", rows, err, before)
		}
		if decision := b.want("free", access.CardsGet, access.RateLimited); decision.RetryAfter != 40 {
			b.t.Fatalf("after 20 s down: %+v", decision)
		}
		if _, claim := b.begin("rival", key, 1, access.Replay); string(claim.Reply) != "kept" {
			b.t.Fatalf("replay %q", claim.Reply)
		}
	}

	b.used("small", 8)
	b.used("org", 4)
	b.used("rival", 4)
}

func closed(b *bench) {
	decision := b.want("small", access.CardsGet, access.Admitted)
	if err := b.Close(); err != nil {
		b.t.Fatal(err)
	}
	if decision := b.want("small", access.CardsGet, access.Unavailable); decision.RetryAfter < 1 {
		b.t.Fatal("no retry after")
	}

	p := b.who("small", b.now)
	_, finish := b.Finish(decision.Reservation, true)
	_, usage := b.Usage(p, access.SpecFor(p, access.UsageGet), b.now)
	_, ledger := b.Ledger("", 0)
	for _, err := range []error{finish, usage, ledger, b.Err()} {
		if !errors.Is(err, access.ErrUnavailable) {
			b.t.Fatalf("after close: %v", err)
		}
	}

	if err := b.Close(); err != nil {
		b.t.Fatal("closing twice:", err)
	}
}
