package limiter

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"ninepocket/access"
	"ninepocket/calendar"
)

// quotaPeriod is an allowance of a tenant: the day or the credit period that calls are charged to.
type quotaPeriod struct {
	name       string // in Redis; with the operator's reset when there was one
	from, till int64  // Unix milliseconds
}

// admitRequest is what a call asks for. Calls with equal orders go to Redis together.
type admitRequest struct {
	subject   string // whose window it passes
	perMinute int64
	limit     int64 // of the allowance
	cost      int64 // units of the allowance: 0 or 1
	window    bool  // takes a unit of the window
	leased    bool  // units of the window are taken ahead
	peek      bool  // takes nothing, and wants the figures
	period    quotaPeriod
}

// outcome is what became of a call.
type outcome uint8

const (
	outcomeUndecided outcome = iota
	outcomeAdmitted
	outcomeWindowFull
	outcomeQuotaFull
	outcomeCooldown    // writes were lost: the window is not known for a minute
	outcomeWrongPeriod // the day or period is another by the clock of Redis
)

// pendingAdmit is one that waits for its right. Its share decides it; then the fields below are
// set.
type pendingAdmit struct {
	admitRequest
	now       access.Instant
	abandoned bool          // its caller waits no more
	done      chan struct{} // for the caller; the share does not know it

	outcome
	at      int64 // instant of the admission, by the clock of Redis in Unix milliseconds
	count   int64 // calls in the window, this one included when it was admitted
	wait    int64 // milliseconds until the next unit of the window frees
	used    int64 // of the allowance: charges of this server, and what others claim
	balance *periodBalance
}

// balance is what one server has charged to and holds of a span.
type periodBalance struct {
	quotaPeriod
	charged         int64 // recorded in the journal
	reserved        int64 // by calls in flight
	recovered       int64 // by batches that a process before this one left undecided
	claimed         int64 // by this server, as Redis has it
	claimedByOthers int64 // claimed by other servers, as of the last answer
	ackedSeq        int64 // number that is known to be stored, 0 = none
	synced          bool  // there was an answer

	restoredFor    string          // the mark of the data that has what others charged
	restoring      *missingCharges // what is under way for that
	retryRestoreAt int64           // monotonic: when it may be tried again
}

// lease is units of a window that this server may use until an end.
type lease struct {
	seq        int64
	left, used int64
	unclaimed  int64 // units that nobody had when it was granted
	begin, end access.Instant
	balance    *periodBalance
}

// window is what a share knows of a subject's window.
type window struct {
	lease
	fullUntil int64 // monotonic: until then, no unit frees
	perMinute int64 // the limit it is full by

	keys       []string // of what is asked of it
	keysPeriod string   // span that they are of
}

// limiter is the part of a tenant's rights that one server has: a state machine that knows no
// clock, no goroutine and no network. Its caller locks, sends what ask returns until there is an
// answer, the same bytes each time, and gives the answer to answer.
//
// What keeps the limits exact, whatever is lost, late or repeated:
//
//   - A grant of take is used only by calls that waited when it was sent.
//   - One ask of a share is under way. Calls that come meanwhile go together into the next.
//   - A lease is used until its time has passed since it was first sent, by the monotonic and by the
//     wall clock, and not beyond the day or period that it was granted in.
//   - What was granted and not used goes back with the next ask, which says what is charged and held.
//   - last goes on only to a number that an answer says is stored: a refusal stores nothing.
type limiter struct {
	redisKeys   redisKeys
	leaseMillis int64 // milliseconds

	seq           int64
	balances      map[string]*periodBalance
	current       *periodBalance
	windows       map[string]*window
	cooldownUntil int64 // monotonic: until then, all windows are closed
	waiting       []*pendingAdmit
	inFlight      *scriptCall
	lastRequest   admitRequest // of the last ask
	lastUsed      access.Instant
}

// nextCall is a command that is sent until it is answered.
type scriptCall struct {
	command
	seq         int64
	request     admitRequest
	balance     *periodBalance
	claimTarget int64
	units       int64 // units of the window or the allowance
	pending     []*pendingAdmit
	sent        access.Instant // for the first time
	unanswered  bool           // nobody answers it: it is to be sent again
}

// newLimiter returns the share of a tenant. The first number is above all that a process before may
// have used; where it is not, an answer says so.
func newLimiter(rk redisKeys, leaseFor int64, now access.Instant) *limiter {
	return &limiter{
		redisKeys: rk, leaseMillis: leaseFor, seq: now.Wall, lastUsed: now,
		balances: map[string]*periodBalance{}, windows: map[string]*window{},
	}
}

// balance returns what there is of a span, which is the current one then.
func (lim *limiter) balance(of quotaPeriod) *periodBalance {
	if lim.balances[of.name] == nil {
		lim.addBalance(&periodBalance{quotaPeriod: of})
	}
	lim.current = lim.balances[of.name]
	return lim.current
}

// addBalance begins a span with what the journal has of it. Those before the last two are
// forgotten: their calls have ended.
func (lim *limiter) addBalance(newest *periodBalance) {
	for len(lim.balances) > 2 {
		ends := func(a, b *periodBalance) int { return cmp.Compare(a.till, b.till) }
		delete(lim.balances, slices.MinFunc(slices.Collect(maps.Values(lim.balances)), ends).name)
	}
	lim.balances[newest.name] = newest
}

func (lim *limiter) window(subject string) *window {
	w := lim.windows[subject]
	if w == nil {
		w = &window{}
		lim.windows[subject] = w
	}
	return w
}

// claimTarget is what this server has of a span: what it tells Redis, and what that claims for it
// then.
func (lim *limiter) claimTarget(bal *periodBalance) int64 {
	sum := bal.charged + bal.reserved + bal.recovered
	for _, w := range lim.windows {
		if w.balance == bal {
			sum += w.left
		}
	}
	return sum
}

// tryLocal decides a call at once where that needs no question.
func (lim *limiter) tryLocal(c *pendingAdmit, now access.Instant) bool {
	lim.lastUsed = now
	w := lim.window(c.subject)
	switch {
	case c.peek:
		return false
	case c.window && now.Mono < lim.cooldownUntil:
		lim.resolve(c, outcomeCooldown, now.Wall, c.perMinute, lim.cooldownUntil-now.Mono)
		return true
	case c.leased && lim.useLease(w, c, now):
		return true
	case c.window && now.Mono < w.fullUntil && w.perMinute == c.perMinute:
		lim.resolve(c, outcomeWindowFull, now.Wall, c.perMinute, w.fullUntil-now.Mono)
		return true
	}
	return false
}

// resolve settles a call.
func (lim *limiter) resolve(c *pendingAdmit, result outcome, at, count, wait int64) {
	bal := lim.balance(c.period)
	c.outcome = result
	c.at = at
	c.count = count
	c.wait = wait
	c.balance = bal
	c.used = bal.claimedByOthers + bal.charged
	if result == outcomeAdmitted && !c.peek {
		bal.reserved += c.cost
	}
}

// useLease admits a call by the open lease, if that has a unit.
func (lim *limiter) useLease(w *window, c *pendingAdmit, now access.Instant) bool {
	if w.left < 1 || now.Mono >= w.end.Mono || now.Wall >= w.end.Wall || w.balance.name != c.period.name {
		return false
	}
	w.left--
	w.used++
	count := c.perMinute - w.unclaimed - w.left
	lim.resolve(c, outcomeAdmitted, max(now.Wall, w.begin.Wall), count, calendar.MinuteMillis)
	return true
}

// leaseOver reports whether a lease is to be settled: its time is over, and its use is not told.
func (w *window) leaseOver(now access.Instant) bool {
	return w.seq != 0 && (now.Mono >= w.end.Mono || now.Wall >= w.end.Wall)
}

// nextCall returns what is to be sent now, or nil. settle says that what nobody waits for is due,
// too, and what was sent in vain.
func (lim *limiter) nextCall(now access.Instant, flush bool) *scriptCall {
	if lim.inFlight != nil {
		if !flush || !lim.inFlight.unanswered {
			return nil
		}
		lim.inFlight.unanswered = false
		return lim.inFlight
	}

	lim.waiting = slices.DeleteFunc(lim.waiting, func(c *pendingAdmit) bool { return c.abandoned })
	if len(lim.waiting) == 0 {
		return lim.syncCall(now, flush)
	}

	// Of one order each: the first one's, and all that want the same.
	want := lim.waiting[0].admitRequest
	var calls []*pendingAdmit
	lim.waiting = slices.DeleteFunc(lim.waiting, func(c *pendingAdmit) bool {
		same := c.admitRequest == want
		if same {
			calls = append(calls, c)
		}
		return same
	})
	return lim.buildCall(want, calls, now)
}

// syncCall asks for nothing and tells what is charged and held, when Redis has it otherwise.
func (lim *limiter) syncCall(now access.Instant, flush bool) *scriptCall {
	if !flush || lim.current == nil || lim.lastRequest.subject == "" {
		return nil
	}

	// In order, so that a simulation does the same each time.
	for _, subject := range slices.Sorted(maps.Keys(lim.windows)) {
		w := lim.windows[subject]
		if w.leaseOver(now) && w.balance == lim.current {
			want := lim.lastRequest
			want.subject = subject
			want.leased = true
			want.perMinute = w.perMinute
			want.period = w.balance.quotaPeriod
			return lim.buildCall(want, nil, now)
		}
	}
	if lim.current.synced && lim.claimTarget(lim.current) == lim.current.claimed {
		return nil
	}

	want := lim.lastRequest
	want.leased = false
	want.period = lim.current.quotaPeriod
	return lim.buildCall(want, nil, now)
}

// needsSync reports whether settlement has something to say, now or when a lease is over.
func (lim *limiter) needsSync() bool {
	if lim.inFlight != nil && lim.inFlight.unanswered {
		return true
	}
	if lim.current == nil || lim.lastRequest.subject == "" {
		return false
	}
	for _, w := range lim.windows {
		if w.seq != 0 {
			return true
		}
	}
	return !lim.current.synced || lim.claimTarget(lim.current) != lim.current.claimed
}

// idle reports whether a share may be forgotten: nothing is under way or held, Redis has what it
// has, and it is longer unused than windows and losses are looked at.
func (lim *limiter) idle(now access.Instant) bool {
	if lim.inFlight != nil || len(lim.waiting) > 0 || now.Mono < lim.cooldownUntil ||
		now.Mono-lim.lastUsed.Mono <= 3*calendar.MinuteMillis {
		return false
	}
	for _, bal := range lim.balances {
		if bal.reserved != 0 || bal.recovered != 0 {
			return false
		}
	}
	return !lim.needsSync()
}

// resync is what to send to a Redis that may have lost something: what is under way, or what there
// is. It is nil for a share that has taken nothing within a minute.
func (lim *limiter) resync(now access.Instant) *scriptCall {
	if lim.inFlight != nil || lim.current == nil || lim.lastRequest.subject == "" ||
		now.Mono-lim.lastUsed.Mono > 2*calendar.MinuteMillis {
		return lim.inFlight
	}
	want := lim.lastRequest
	want.period = lim.current.quotaPeriod
	return lim.buildCall(want, nil, now)
}

// buildCall makes the ask of an order for calls.
func (lim *limiter) buildCall(want admitRequest, calls []*pendingAdmit, now access.Instant) *scriptCall {
	lim.seq++
	lim.lastRequest = want
	bal := lim.balance(want.period)
	w := lim.window(want.subject)
	call := &scriptCall{seq: lim.seq, request: want, balance: bal, pending: calls, sent: now}

	n := int64(len(calls))
	if want.peek {
		n = 0
	}
	settled := w.lease
	if want.leased || n > 0 && settled.left > 0 {
		w.lease = lease{} // what is left of it goes back
	}
	call.claimTarget = lim.claimTarget(bal)

	if w.keysPeriod != want.period.name {
		w.keys = lim.redisKeys.admitKeys(&want)
		w.keysPeriod = want.period.name
	}

	which := scriptTake
	own := []int64{0, want.cost}
	if want.window {
		own[0] = 1
	}
	if want.leased {
		if n > 0 {
			n += max(16, 2*settled.used) // as many again as came since the last one
		}
		w.perMinute = want.perMinute
		which = scriptLease
		own = []int64{settled.seq, settled.used}
	}
	call.units = n
	call.command = lim.redisKeys.command(which, w.keys, []int64{
		call.seq, bal.ackedSeq, want.perMinute, n, want.limit, call.claimTarget, want.period.from, want.period.till,
		lim.leaseMillis,
	}, own)
	lim.inFlight = call
	return call
}

// The statuses of take and lease.
const (
	statusGranted = iota
	statusWindowFull
	statusQuotaFull
	statusRepeated
	statusStale
	statusLost
	statusCooldown
	statusWrongPeriod
)

var outcomes = [...]outcome{
	statusGranted: outcomeUndecided, statusWindowFull: outcomeWindowFull, statusQuotaFull: outcomeQuotaFull,
	statusRepeated: outcomeUndecided,
	statusStale:    outcomeUndecided, statusLost: outcomeCooldown, statusCooldown: outcomeCooldown,
	statusWrongPeriod: outcomeWrongPeriod,
}

// admitResult is the answer of take and lease.
type admitResult struct {
	status, at, granted, count, wait, others, stored int64

	discarded int64 // granted, and not to be used
}

// resultFields is how many numbers an answer of take and lease has.
const resultFields = 7

// maxExactInt is beyond all times and counts: a script has no exact numbers above it.
const maxExactInt = int64(1) << 53

// readResult reads the answer of an ask. What no script of ours says is an error: whoever says it
// is not believed that it granted something.
func (call *scriptCall) readResult(out scriptResult) (admitResult, error) {
	result := admitResult{
		status: out.intAt(0), at: out.intAt(1), granted: out.intAt(2), count: out.intAt(3), wait: out.intAt(4),
		others: out.intAt(5),
		stored: out.intAt(6),
	}
	far := func(n int64) bool { return n < -maxExactInt || n > maxExactInt }
	switch {
	case len(out.ints) != resultFields || out.text != "":
	case result.status < 0 || result.status >= int64(len(outcomes)):
	case result.granted < 0 || result.granted > call.units || result.count < 0 || result.stored < 0:
	case slices.ContainsFunc(out.ints, far):
	default:
		return result, nil
	}
	return admitResult{}, fmt.Errorf("%w: it answered %v to a question for %d units", errScript, out.ints, call.units)
}

// startCooldown shuts a share for a while, because nobody knows what others were granted before:
// what was granted now is not used. The units are claimed in Redis all the same, and go back with
// the next ask.
func (lim *limiter) startCooldown(result *admitResult, now access.Instant, wait int64) {
	lim.cooldownUntil = max(lim.cooldownUntil, now.Mono+wait)
	result.discarded = result.granted
	result.granted = 0
}

// apply takes the answer of what is under way. It returns the calls that are decided; others go
// into the next ask.
func (lim *limiter) apply(result admitResult, now access.Instant) (decided []*pendingAdmit) {
	call := lim.inFlight
	lim.inFlight = nil
	if result.status != statusWrongPeriod {
		lim.updateBalance(call, &result)
	}

	switch {
	case result.status == statusLost || result.status == statusCooldown:
		lim.cooldownUntil = max(lim.cooldownUntil, call.sent.Mono+result.wait)
	case result.status == statusWindowFull && call.request.leased:
		// Others may give units back before.
		lim.markFull(call, min(result.wait, leaseFullMillis))
	case result.status == statusWindowFull:
		lim.markFull(call, result.wait)
	}

	granted := result.granted
	if call.request.leased && granted > 0 {
		lim.openLease(call, &result)
	}
	w := lim.window(call.request.subject)
	var again []*pendingAdmit
	for _, c := range call.pending {
		switch {
		case c.abandoned:
			continue
		case call.request.peek && (result.status == statusGranted || result.status == statusRepeated):
			lim.resolve(c, outcomeAdmitted, result.at, result.count, result.wait)
		case call.request.leased && lim.useLease(w, c, now):
		case !call.request.leased && granted > 0:
			granted--
			lim.resolve(c, outcomeAdmitted, result.at, result.count-granted, result.wait)
		case outcomes[result.status] == outcomeUndecided:
			again = append(again, c)
			continue
		default:
			lim.resolve(c, outcomes[result.status], result.at, result.count, result.wait)
		}
		decided = append(decided, c)
	}
	lim.waiting = append(again, lim.waiting...)
	return append(decided, lim.denyWaiting(now)...)
}

// denyWaiting decides the calls that wait for units of a share that is shut.
func (lim *limiter) denyWaiting(now access.Instant) (decided []*pendingAdmit) {
	if now.Mono >= lim.cooldownUntil {
		return nil
	}
	lim.waiting = slices.DeleteFunc(lim.waiting, func(c *pendingAdmit) bool {
		if c.abandoned || c.peek || !c.window && c.cost == 0 {
			return false
		}
		lim.resolve(c, outcomeCooldown, now.Wall, c.perMinute, lim.cooldownUntil-now.Mono)
		decided = append(decided, c)
		return true
	})
	return decided
}

// failInFlight gives up what is under way, because Redis cannot do it: what it has of the tenant is
// damaged.
func (lim *limiter) failInFlight() (decided []*pendingAdmit) {
	call := lim.inFlight
	lim.inFlight = nil
	for _, c := range call.pending {
		if !c.abandoned {
			lim.resolve(c, outcomeCooldown, call.sent.Wall, 0, 0)
			decided = append(decided, c)
		}
	}
	return decided
}

// updateBalance takes over what an answer says of the account.
func (lim *limiter) updateBalance(call *scriptCall, result *admitResult) {
	bal := call.balance
	bal.synced = true
	bal.claimedByOthers = result.others
	bal.ackedSeq = result.stored

	switch {
	case result.status == statusStale:
		lim.seq = max(lim.seq, result.stored)
		bal.claimed = -1 // a process before this one said it
		result.granted = 0
	case result.stored != call.seq:
		bal.claimed = call.claimTarget // which it was already
	case call.request.leased:
		bal.claimed = call.claimTarget + result.granted + result.discarded
	default:
		bal.claimed = call.claimTarget + (result.granted+result.discarded)*call.request.cost
	}
}

// markFull remembers that a window is full for a while: until then nothing can free.
func (lim *limiter) markFull(call *scriptCall, wait int64) {
	w := lim.window(call.request.subject)
	w.fullUntil = call.sent.Mono + wait
	w.perMinute = call.request.perMinute
}

// dedicate opens a lease. It ends when its time has passed since it was first asked for: Redis
// counted from later on. A clock of ours may be slow by a thousandth.
func (lim *limiter) openLease(call *scriptCall, result *admitResult) {
	length := min(lim.leaseMillis, call.request.period.till-result.at)
	length -= length/1000 + 1
	w := lim.window(call.request.subject)
	w.lease = lease{
		seq: call.seq, left: result.granted, unclaimed: max(0, call.request.perMinute-result.count), begin: call.sent,
		balance: call.balance,
		end:     access.Instant{Mono: call.sent.Mono + length, Wall: call.sent.Wall + length},
	}
}

// finish ends an admitted call: a unit that it held is charged now, or given back with the next
// ask.
func (lim *limiter) finish(bal *periodBalance, cost int64, charged bool) {
	bal.reserved -= cost
	if charged {
		bal.charged += cost
	}
}
