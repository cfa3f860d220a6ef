package accesstest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/calendar"
)

const (
	minute     = int64(60_000)
	tenMinutes = int64(600_000)
	day        = int64(86_400_000)
)

// Model runs random operations against a store and a plain reference, and compares every answer.
// The reference has every admission and every charge in lists and maps. Each of rapid's checks runs
// steps operations.
func Model(t *testing.T, h Harness, steps int) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newModel(t, rt, h)
		for range steps {
			m.step()
		}

		m.finishAll()
		m.compareLedger()
		if err := m.store.Close(); err != nil {
			m.fatalf("close: %v", err)
		}
	})
}

// model is the reference, and the store under test.
type model struct {
	*world
	rt    *rapid.T
	tb    testing.TB
	h     Harness
	store access.Store
	now   access.Instant
	skew  int64 // reference time = now.Mono + skew

	lastAt, lastWall int64 // of the latest admission of any tenant

	admissions map[string][]int64     // by window
	periods    map[string]quotaPeriod // by tenant
	replies    map[string]*modelReply
	ledger     map[access.LedgerRow]access.Counts
	pending    []pendingCall
	perMinute  int
}

// quotaPeriod is the latest day or month of a tenant in the reference: its start and its used units,
// those of the previous one, and the units that calls in flight have reserved.
type quotaPeriod struct {
	at, used             int64
	before, beforeUsed   int64
	reservedAt, reserved int64
	last                 int64 // reference time of the latest admission
}

// current returns the start and the used units of the period that counts at a wall time; now is the start
// of the period around it. A period more than a day ahead is ignored, but its used units stay.
func (s *quotaPeriod) current(now, wall, clock int64) (at, used int64) {
	switch {
	case now > s.at || now == s.at && wall >= now && clock-s.last > wall-now+day: // idle a day longer than the period
		return now, 0
	case s.at <= wall+day:
		return s.at, s.used
	case clock-s.last > wall-now: // its units were used before that period began
		return now, 0
	case s.before == now:
		return now, s.used + s.beforeUsed
	}
	return now, s.used
}

// advance begins the period of a call that was admitted at a wall time, if it is new.
func (s *quotaPeriod) advance(at, wall, clock int64) {
	defer func() { s.last = max(s.last, clock) }()
	_, used := s.current(at, wall, clock)
	if at == s.at {
		s.used = used
	}
	if at <= s.at && s.at <= wall+day {
		return
	}
	s.before = s.at
	s.beforeUsed = s.used
	if at < s.at {
		s.before = 0
	}
	s.at = at
	s.used = used
}

func (s *quotaPeriod) reserve(at, n int64) {
	if s.reservedAt != at {
		s.reservedAt = at
		s.reserved = 0
	}
	s.reserved += n
}

// modelReply is an idempotency record of the reference.
type modelReply struct {
	body   access.BodyHash
	answer string // "" = in flight
	at     int64
}

// pendingCall is an admitted call that is not finished.
type pendingCall struct {
	res        access.Reservation
	claim      *access.Claim
	at         int64 // start of the period that it counts in
	reservedAt int64 // start of the period with its reserved unit, 0 = none
	replyKey   string
}

func newModel(tb testing.TB, rt *rapid.T, h Harness) *model {
	m := &model{
		world: newWorld(tb), rt: rt, tb: tb, h: h, now: start,
		admissions: map[string][]int64{}, periods: map[string]quotaPeriod{}, replies: map[string]*modelReply{},
		ledger: map[access.LedgerRow]access.Counts{}, perMinute: 5,
	}

	m.store = h.Open(tb, m.now)
	return m
}

func (m *model) fatalf(format string, args ...any) {
	m.rt.Helper()
	m.rt.Fatalf("at %+v: %s", m.now, fmt.Sprintf(format, args...))
}

// pick returns a number below n; small numbers are likelier while rapid shrinks.
func (m *model) pick(n int, what string) int { return rapid.IntRange(0, n-1).Draw(m.rt, what) }

// step runs one operation: mostly calls, seldom a restart.
func (m *model) step() {
	n := m.pick(1000, "step")

	switch {
	case n < 560:
		m.call()
	case n < 650:
		m.finishSome()
	case n < 900:
		m.tick()
	case n < 940:
		m.usage()
	case n < 960:
		m.revoke()
	case n < 980:
		m.changePlan()
	case n < 995:
		m.compareLedger()
	default:
		m.restart()
	}
}

// tick advances the monotonic clock, and sometimes steps the wall clock anywhere within two days. A
// single clock only advances, sometimes to the end of a day or month.
func (m *model) tick() {
	wall := m.now.Wall
	d := int64(m.pick(4000, "ms"))
	switch n := m.pick(40, "leap"); {
	case n < 3:
		d = 59_000 + int64(m.pick(2000, "minute"))
	case n == 3:
		d = int64(m.pick(int(day), "day"))
	case n == 4:
		d = tenMinutes - 1000 + int64(m.pick(2000, "ten minutes"))
	case n == 5:
		m.now.Wall += int64(m.pick(int(4*day), "step")) - 2*day
	case n == 6:
		m.now.Wall = (m.now.Wall/day+1)*day - 1
	case n == 7:
		month := m.now.Time()
		m.now.Wall = time.Date(month.Year(), month.Month()+1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() - 1
	}

	if leapt := m.now.Wall - wall; m.h.OneClock {
		m.now.Wall = wall
		d += max(leapt, 0)
		m.finishOlder(m.now.Mono + d - day)
	}

	m.now.Mono += d
	m.now.Wall += d
}

func (m *model) at() int64 { return m.now.Mono + m.skew }

var callers = []string{"small", "small", "small2", "org", "org", "org2", "rival", "free"}

// call authenticates and admits a call and, mostly, finishes it at once.
func (m *model) call() {
	name := callers[m.pick(len(callers), "caller")]
	p := m.who(name, m.now)
	ops := []access.Operation{access.CardsGet, access.CardsSearch, access.UsageGet}
	if p.Surface == keys.Preview {
		ops = []access.Operation{access.ProductsList, access.PricesBatch, access.PricesBatch, access.UsageGet}
	}

	op := ops[m.pick(len(ops), "operation")]
	spec := access.SpecFor(p, op)
	decision := m.store.Admit(p, spec, m.now)
	at := m.periodStart(p)
	m.checkAdmission(p, &spec, decision)
	if decision.Result != access.Admitted {
		return
	}

	f := pendingCall{res: decision.Reservation, at: at}
	if spec.Cost > 0 && !spec.ReserveAtBegin {
		m.reserve(&f)
	}
	if spec.ReserveAtBegin && !m.begin(&f) {
		return
	}

	m.pending = append(m.pending, f)
	if len(m.pending) > 4 || m.pick(5, "stay") > 0 {
		m.finishAt(len(m.pending) - 1)
	}
}

// checkAdmission compares an admission with the reference, and records it there.
func (m *model) checkAdmission(p *keys.Principal, spec *access.LimitSpec, decision access.Decision) {
	window, limit := m.windowOf(p, spec)
	live := m.live(window)
	remaining, total := m.quota(p)
	want := access.Admitted
	switch {
	case window != "" && len(live) >= limit:
		want = access.RateLimited
	case spec.Cost > 0 && !spec.ReserveAtBegin && remaining-m.reservedAt(p) < 1:
		want = access.QuotaExceeded
	}

	if decision.Result != want {
		m.fatalf("%s %s: result %v, want %v (live %d of %d, remaining %d)",
			p.Tenant, spec.Operation, decision.Result, want, len(live), limit, remaining)
	}
	if want == access.Admitted {
		m.record(window)
		live = m.live(window)
	}
	if want == access.QuotaExceeded {
		remaining = 0
	}
	if decision.Quota.Remaining != max(0, remaining) || decision.Quota.Limit != total {
		m.fatalf("%s %s: quota %+v, want %d of %d", p.Tenant, spec.Operation, decision.Quota, remaining, total)
	}

	m.checkMinute(window, limit, live, decision)
	m.checkRetry(decision)
}

func (m *model) checkMinute(window string, limit int, live []int64, decision access.Decision) {
	want := access.LimitState{}
	if window != "" {
		wait := int64(0)
		switch {
		case len(live) > limit: // the limit was lowered
			wait = minute - (m.at() - live[0])
			if decision.Result == access.RateLimited {
				wait = minute - (m.at() - live[len(live)-limit])
			}
		case len(live) > 0:
			wait = minute - (m.at() - live[0])
		}

		want = access.LimitState{
			Limit: int64(limit), Remaining: max(0, int64(limit-len(live))),
			Wait: (wait + 999) / 1000, Reset: (m.now.Wall + wait + 999) / 1000,
		}
	}

	if decision.Minute != want {
		m.fatalf("minute %+v, want %+v (live %v)", decision.Minute, want, live)
	}
}

// checkRetry checks that a refusal and its headers agree.
func (m *model) checkRetry(decision access.Decision) {
	switch decision.Result {
	case access.Admitted:
		if decision.RetryAfter != 0 {
			m.fatalf("admitted with retry after %d", decision.RetryAfter)
		}
	case access.RateLimited:
		if decision.RetryAfter < 1 || decision.RetryAfter != decision.Minute.Wait || decision.Minute.Remaining != 0 {
			m.fatalf("refused with %+v", decision)
		}
	case access.QuotaExceeded:
		if decision.RetryAfter < 1 || decision.RetryAfter != decision.Quota.Wait {
			m.fatalf("refused with %+v", decision)
		}
	}
}

// record records an admission.
func (m *model) record(window string) {
	if window != "" {
		m.admissions[window] = append(m.admissions[window], m.at())
	}

	if m.at() > m.lastAt || m.now.Wall > m.lastWall {
		m.lastAt = m.at()
		m.lastWall = m.now.Wall
	}
}

// begin looks up an idempotency key. It reports whether the call proceeds.
func (m *model) begin(f *pendingCall) bool {
	p := f.res.Principal
	key := fmt.Sprintf("key-%d", m.pick(3, "key"))
	body := access.BodyHash{byte(m.pick(2, "body"))}
	claim, err := m.store.Begin(f.res, key, body, m.now)
	if err != nil {
		m.fatalf("begin: %v", err)
	}

	f.replyKey = p.Tenant + " " + key
	reply := m.replies[f.replyKey]
	if reply != nil && reply.answer != "" && m.at()-reply.at >= tenMinutes {
		delete(m.replies, f.replyKey)
		reply = nil
	}

	remaining, _ := m.quota(p)
	want := access.Fresh
	switch {
	case reply != nil && reply.body != body:
		want = access.Conflict
	case reply != nil && reply.answer == "":
		want = access.InProgress
	case reply != nil:
		want = access.Replay
	case remaining-m.reservedAt(p) < 1:
		want = access.Exhausted
	}

	if claim.Result != want {
		m.fatalf("begin: result %v, want %v", claim.Result, want)
	}
	if want == access.Replay && string(claim.Reply) != reply.answer {
		m.fatalf("replay %q, want %q", claim.Reply, reply.answer)
	}
	if want != access.Fresh {
		f.replyKey = ""
		m.finish(*f, false)
		return false
	}

	f.claim = &claim
	m.reserve(f)
	m.replies[f.replyKey] = &modelReply{body: body}
	return true
}

// finishOlder ends the calls that came before an instant. No request takes a day. With two clocks, one
// that does looks like a call under a wrong clock, and a period that began meanwhile is ignored. With
// one clock no period is ever ignored.
func (m *model) finishOlder(mono int64) {
	for i, one := range slices.Backward(m.pending) {
		if one.res.Now.Mono <= mono {
			m.finishAt(i)
		}
	}
}

// finishSome ends one of the calls in flight.
func (m *model) finishSome() {
	if len(m.pending) > 0 {
		m.finishAt(m.pick(len(m.pending), "landing"))
	}
}

func (m *model) finishAt(i int) {
	f := m.pending[i]
	m.pending = slices.Delete(m.pending, i, i+1)
	m.finish(f, m.pick(4, "fail") > 0)
}

func (m *model) finishAll() {
	for len(m.pending) > 0 {
		m.finishAt(0)
	}
}

// finish ends a call in the store and in the reference, and compares the charges.
func (m *model) finish(f pendingCall, success bool) {
	res := f.res
	var charge access.Charge
	var err error
	switch {
	case f.claim == nil:
		charge, err = m.store.Finish(res, success)
	case success:
		answer := fmt.Sprintf("answer %d", m.at())
		charge, err = m.store.Commit(res, *f.claim, []byte(answer))
		m.replies[f.replyKey].answer = answer
		m.replies[f.replyKey].at = res.Now.Mono + m.skew
	default:
		charge, err = m.store.Abort(res, *f.claim)
		delete(m.replies, f.replyKey)
	}

	if err != nil {
		m.fatalf("finish %s: %v", res.Spec.Operation, err)
	}

	charged := int64(0)
	if f.reservedAt != 0 && success {
		charged = 1
	}
	m.change(res.Principal.Tenant, func(s *quotaPeriod) {
		if f.reservedAt != 0 && s.reservedAt == f.reservedAt && s.reserved > 0 {
			s.reserved--
		}
		s.advance(f.at, res.Now.Wall, res.Now.Mono+m.skew)
		if f.at == s.at {
			s.used += charged
		}
	})

	row := access.LedgerRow{
		Tenant: res.Principal.Tenant, Key: res.Principal.KeyID, Day: res.Day,
		Operation: res.Spec.Operation,
	}
	counts := m.ledger[row]
	m.ledger[row] = access.Counts{Calls: counts.Calls + 1, Charged: counts.Charged + charged}
	if charge.Charged != charged {
		m.fatalf("charged %d, want %d", charge.Charged, charged)
	}
}

// windowOf returns the name and the limit of the window that a call passes; "" = none.
func (m *model) windowOf(p *keys.Principal, spec *access.LimitSpec) (string, int) {
	switch {
	case p.Surface == keys.Live && spec.Operation == access.UsageGet:
		return "", 0
	case spec.Operation == access.SuggestList:
		return "suggest " + p.KeyID, spec.PerMinute
	case p.Surface == keys.Live:
		return "key " + p.KeyID, p.Plan.PerMinute
	case spec.Operation == access.UsageGet:
		return "usage " + p.Tenant, 10
	}
	return "tenant " + p.Tenant, p.Plan.PerMinute
}

// live returns the admissions of a window in the last 60 seconds.
func (m *model) live(window string) []int64 {
	all := m.admissions[window]
	i, _ := slices.BinarySearch(all, m.at()-minute+1)
	return all[i:]
}

// change changes the period of a tenant.
func (m *model) change(tenant string, how func(*quotaPeriod)) {
	s := m.periods[tenant]
	how(&s)
	m.periods[tenant] = s
}

// periodOf returns the start and the used units of the period that a call is charged to now.
func (m *model) periodOf(p *keys.Principal) (at, used int64) {
	now := calendar.DayOf(m.now.Wall).Start()
	if p.Surface == keys.Preview {
		now = p.PeriodAt(m.now.Wall).Start
	}
	s := m.periods[p.Tenant]
	return s.current(now, m.now.Wall, m.at())
}

func (m *model) periodStart(p *keys.Principal) int64 {
	at, _ := m.periodOf(p)
	return at
}

// reserve reserves the unit of a call that is made now.
func (m *model) reserve(f *pendingCall) {
	f.reservedAt = m.periodStart(f.res.Principal)
	m.change(f.res.Principal.Tenant, func(s *quotaPeriod) { s.reserve(f.reservedAt, 1) })
}

// reservedAt returns the units that calls in flight have reserved in the present period.
func (m *model) reservedAt(p *keys.Principal) int64 {
	s := m.periods[p.Tenant]
	if s.reservedAt != m.periodStart(p) {
		return 0
	}
	return s.reserved
}

// quota returns the remaining units, without subtracting reserved ones, and the limit.
func (m *model) quota(p *keys.Principal) (remaining, limit int64) {
	limit = p.Plan.PerDay
	if p.Surface == keys.Preview {
		limit = p.Credits
	}
	_, used := m.periodOf(p)
	return limit - used, limit
}

func (m *model) usage() {
	p := m.who(callers[m.pick(len(callers), "caller")], m.now)
	got, err := m.store.Usage(p, access.SpecFor(p, access.UsageGet), m.now)
	if err != nil {
		m.fatalf("usage: %v", err)
	}

	remaining, limit := m.quota(p)
	want := access.Usage{Limit: limit, Used: limit - remaining}
	if p.Surface == keys.Live {
		want.Period = calendar.Period{Start: m.periodStart(p), End: m.periodStart(p) + day}
		m.checkUsageMinute(p, got.Minute)
		want.Minute = got.Minute
	} else {
		want.Period = p.PeriodAt(m.periodStart(p))
	}

	if got != want {
		m.fatalf("usage %+v, want %+v", got, want)
	}
}

// checkUsageMinute compares the minute limit in the usage with what a call would be shown.
func (m *model) checkUsageMinute(p *keys.Principal, got access.LimitState) {
	spec := access.SpecFor(p, access.CardsGet)
	window, limit := m.windowOf(p, &spec)
	live := m.live(window)
	result := access.Admitted
	if len(live) >= limit {
		result = access.RateLimited
	}
	m.checkMinute(window, limit, live, access.Decision{Result: result, Minute: got})
}

// revoke replaces a key; the old one must be refused at once.
func (m *model) revoke() {
	name := []string{"small", "small2", "org2"}[m.pick(3, "revoked")]
	old := m.raw[name]
	if _, err := m.file.Revoke(m.ids[name], m.now.Time()); err != nil {
		m.fatalf("revoke: %v", err)
	}

	next := keys.NewKey{Tenant: "small", Surface: keys.Live}
	if name == "org2" {
		next = keys.NewKey{Tenant: "org", Surface: keys.Preview}
	}

	m.add(name, next)
	m.reload()
	if _, err := m.ring.FindCached([]byte(old), m.now.Wall, nil); !errors.Is(err, keys.ErrRevoked) {
		m.fatalf("revoked key: %v", err)
	}
}

// changePlan raises or lowers the minute limit of a plan.
func (m *model) changePlan() {
	m.perMinute = 3 + m.pick(6, "limit")
	plans := keys.Plans{}
	maps.Copy(plans, m.plans)
	plans.Set("small", keys.Plan{PerMinute: m.perMinute})
	m.plans = plans
	if err := m.ring.SetPlans(plans); err != nil {
		m.fatalf("plans: %v", err)
	}
}

func (m *model) compareLedger() {
	rows, err := m.store.Ledger("", 0)
	if err != nil {
		m.fatalf("ledger: %v", err)
	}

	got := map[access.LedgerRow]access.Counts{}
	for _, row := range rows {
		counts := row.Counts
		row.Counts = access.Counts{}
		got[row] = counts
	}
	if !maps.Equal(got, m.ledger) { // a diff takes a hundred times as long
		m.fatalf("ledger differs (-want +got):\n%s", cmp.Diff(m.ledger, got))
	}
}

// restart ends the store and opens it again, after a while, on a new monotonic clock.
func (m *model) restart() {
	if m.h.Reopen == nil {
		return
	}

	m.finishAll()
	at := m.at()
	down := int64(m.pick(90_000, "down"))
	m.now.Wall += down
	m.now.Mono += down
	if !m.h.OneClock {
		m.now.Mono = int64(m.pick(1000, "origin"))
	}
	m.store = m.h.Reopen(m.tb, m.store, m.pick(2, "kill") == 1, m.now)
	m.compareLedger()
	if m.lastWall == 0 {
		m.skew = at - m.now.Mono
		return
	}

	m.skew = m.lastAt + max(0, m.now.Wall-m.lastWall) - m.now.Mono
}
