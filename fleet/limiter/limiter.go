package limiter

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"ninepocket/access"
	"ninepocket/calendar"
)

// quotaPeriod is the day or credit period of a tenant that calls are charged to.
type quotaPeriod struct {
	name       string // in Redis; with the operator's reset if there was one
	from, till int64  // Unix milliseconds
}

// admitRequest is what an admission asks for. Admissions with equal requests share a script call.
type admitRequest struct {
	subject   string // owner of the window: a key or a tenant
	perMinute int64
	limit     int64 // of the quota
	cost      int64 // request credits or requests of the day: 0 or 1
	window    bool  // counts in the minute window
	leased    bool  // units of the window are leased ahead
	peek      bool  // takes nothing, reads the state of both limits
	period    quotaPeriod
}

// outcome is the result of an admission.
type outcome uint8

const (
	outcomeUndecided outcome = iota
	outcomeAdmitted
	outcomeWindowFull
	outcomeQuotaFull
	outcomeCooldown    // writes were lost: the window is unknown for a minute
	outcomeWrongPeriod // by the clock of Redis it is another day or period
)

// admitDecision is an admission's request with its result. The limiter decides it, and then sets the
// outcome and the fields after it.
type admitDecision struct {
	admitRequest
	quota access.QuotaState // of this server, when the request was made

	outcome
	at    int64 // time of the admission by the clock of Redis, Unix milliseconds
	count int64 // calls in the window, including this one if admitted
	wait  int64 // milliseconds until the window's next unit frees
	used  int64 // of the quota: charged by this server or claimed by others
}

// pendingAdmit is an admission that waits for Redis.
type pendingAdmit struct {
	admitDecision
	abandoned bool          // its caller has stopped waiting
	done      chan struct{} // wakes the caller; the limiter does not use it
}

// periodBalance is what one server has charged and reserved in a period.
type periodBalance struct {
	quotaPeriod
	charged         int64 // recorded in the usage log
	reserved        int64 // by calls in flight
	recovered       int64 // by batches that an earlier process left unresolved
	claimed         int64 // by this server, as stored in Redis
	claimedByOthers int64 // by other servers, as of the last answer
	ackedSeq        int64 // sequence number known to be stored, 0 = none
	synced          bool  // Redis has answered for this period

	restoredFor    string          // id of the data set that has the other servers' charges
	restoring      *missingCharges // the restoration under way
	retryRestoreAt int64           // monotonic: when to try a restoration again
}

// lease is units of a window that this server may use until an end.
type lease struct {
	seq        int64
	left, used int64
	unclaimed  int64 // units that no server had when it was granted
	begin, end access.Instant
	balance    *periodBalance
}

// window is what a limiter knows of a subject's window.
type window struct {
	lease
	fullUntil int64 // monotonic: no unit frees before
	perMinute int64 // the limit that was reached, or of the last lease call

	keys       []string // cached Redis keys of its script calls
	keysPeriod string   // period that they are of
}

// limiter is the state machine of one tenant's limits on one server. It has no clock, no goroutine
// and no network. The caller locks it and sends nextCall's bytes unchanged until an answer comes. Then
// it passes the answer to apply.
//
// These rules keep the limits exact, even if messages are lost, late or repeated:
//
//   - A grant of the take script is used only by admissions that waited when it was sent.
//   - One script call of a limiter is in flight. Later admissions go together into the next call.
//   - A lease ends when its time has passed on either clock, counted from the first sending, or when
//     its day or period ends.
//   - Units that are granted and not used go back with the next call, which has the charged and
//     reserved units.
//   - ackedSeq only takes a number that an answer reports as stored: a refusal stores nothing.
type limiter struct {
	redisKeys   redisKeys
	leaseMillis int64

	seq           int64
	balances      map[string]*periodBalance
	current       *periodBalance
	windows       map[string]*window
	cooldownUntil int64 // monotonic: until then, all windows are closed
	waiting       []*pendingAdmit
	inFlight      *scriptCall
	lastRequest   admitRequest // of the last script call
	lastUsed      access.Instant
}

// scriptCall is a command that is sent until it is answered.
type scriptCall struct {
	command
	seq         int64
	request     admitRequest
	balance     *periodBalance
	claimTarget int64
	units       int64 // asked for: of the window or of the quota
	pending     []*pendingAdmit
	sent        access.Instant // for the first time
	unanswered  bool           // no answer will come: send it again
}

// newLimiter returns the limiter of a tenant. The first sequence number should exceed all numbers of
// earlier processes. If it does not, the answer of Redis says so.
func newLimiter(rk redisKeys, leaseMillis int64, now access.Instant) *limiter {
	return &limiter{
		redisKeys: rk, leaseMillis: leaseMillis, seq: now.Wall, lastUsed: now,
		balances: map[string]*periodBalance{}, windows: map[string]*window{},
	}
}

// balance returns the balance of a period and makes that period the current one.
func (lim *limiter) balance(of quotaPeriod) *periodBalance {
	if lim.balances[of.name] == nil {
		lim.addBalance(&periodBalance{quotaPeriod: of})
	}
	lim.current = lim.balances[of.name]
	return lim.current
}

// addBalance adds the balance of a new period. Periods before the last two are dropped: their calls
// have ended.
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

// claimTarget is how many units of a period Redis has to claim for this server.
func (lim *limiter) claimTarget(bal *periodBalance) int64 {
	sum := bal.charged + bal.reserved + bal.recovered
	for _, w := range lim.windows {
		if w.balance == bal {
			sum += w.left
		}
	}
	return sum
}

// tryLocal decides an admission that needs no script call, and reports whether it did.
func (lim *limiter) tryLocal(d *admitDecision, now access.Instant) bool {
	lim.lastUsed = now
	w := lim.window(d.subject)
	switch {
	case d.peek:
		return false
	case d.window && now.Mono < lim.cooldownUntil:
		lim.resolve(d, outcomeCooldown, now.Wall, d.perMinute, lim.cooldownUntil-now.Mono)
		return true
	case d.leased && lim.useLease(w, d, now):
		return true
	case d.window && now.Mono < w.fullUntil && w.perMinute == d.perMinute:
		lim.resolve(d, outcomeWindowFull, now.Wall, d.perMinute, w.fullUntil-now.Mono)
		return true
	}
	return false
}

// resolve sets the result of an admission, and reserves the units of an admitted one.
func (lim *limiter) resolve(d *admitDecision, result outcome, at, count, wait int64) {
	bal := lim.balance(d.period)
	d.outcome = result
	d.at = at
	d.count = count
	d.wait = wait
	d.used = bal.claimedByOthers + bal.charged
	if result == outcomeAdmitted && !d.peek {
		bal.reserved += d.cost
	}
}

// useLease admits a call by the open lease, if that has a unit left.
func (lim *limiter) useLease(w *window, d *admitDecision, now access.Instant) bool {
	if w.left < 1 || now.Mono >= w.end.Mono || now.Wall >= w.end.Wall || w.balance.name != d.period.name {
		return false
	}
	w.left--
	w.used++
	count := d.perMinute - w.unclaimed - w.left
	lim.resolve(d, outcomeAdmitted, max(now.Wall, w.begin.Wall), count, calendar.MinuteMillis)
	return true
}

// leaseOver reports whether a lease's time is over and its use is not yet in Redis.
func (w *window) leaseOver(now access.Instant) bool {
	return w.seq != 0 && (now.Mono >= w.end.Mono || now.Wall >= w.end.Wall)
}

// nextCall returns the script call to send now, or nil. With flush it also returns a call that was
// not answered, or a sync that no admission waits for.
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

	// Take all admissions with the same request as the first.
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

// syncCall asks for no units and writes the charged and reserved units, if Redis has others.
func (lim *limiter) syncCall(now access.Instant, flush bool) *scriptCall {
	if !flush || lim.current == nil || lim.lastRequest.subject == "" {
		return nil
	}

	want := lim.lastRequest
	want.leased = false
	want.period = lim.current.quotaPeriod
	// In order, so that a simulation is repeatable.
	for _, subject := range slices.Sorted(maps.Keys(lim.windows)) {
		if w := lim.windows[subject]; w.leaseOver(now) && w.balance == lim.current {
			want.subject = subject
			want.leased = true
			want.perMinute = w.perMinute
			return lim.buildCall(want, nil, now)
		}
	}
	if lim.current.synced && lim.claimTarget(lim.current) == lim.current.claimed {
		return nil
	}
	return lim.buildCall(want, nil, now)
}

// needsSync reports whether syncCall has something to write, now or at the end of a lease.
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

// idle reports whether a limiter may be evicted: nothing is in flight or reserved, Redis is up to
// date, and no window or cooldown still depends on its last use.
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

// resync returns the call to send to a Redis that may have lost writes: the one in flight, or a full
// sync. It is nil for a limiter that has taken nothing within two minutes.
func (lim *limiter) resync(now access.Instant) *scriptCall {
	if lim.inFlight != nil || lim.current == nil || lim.lastRequest.subject == "" ||
		now.Mono-lim.lastUsed.Mono > 2*calendar.MinuteMillis {
		return lim.inFlight
	}
	want := lim.lastRequest
	want.period = lim.current.quotaPeriod
	return lim.buildCall(want, nil, now)
}

// buildCall makes the script call of a request for the admissions that share it.
func (lim *limiter) buildCall(want admitRequest, pending []*pendingAdmit, now access.Instant) *scriptCall {
	lim.seq++
	lim.lastRequest = want
	bal := lim.balance(want.period)
	w := lim.window(want.subject)
	call := &scriptCall{seq: lim.seq, request: want, balance: bal, pending: pending, sent: now}

	n := int64(len(pending))
	if want.peek {
		n = 0
	}
	ended := w.lease
	if want.leased || n > 0 && ended.left > 0 {
		w.lease = lease{} // its unused units go back
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
			n += max(16, 2*ended.used) // twice as many as were used since the last lease
		}
		w.perMinute = want.perMinute
		which = scriptLease
		own = []int64{ended.seq, ended.used}
	}
	call.units = n
	call.command = lim.redisKeys.command(which, w.keys, []int64{
		call.seq, bal.ackedSeq, want.perMinute, n, want.limit, call.claimTarget, want.period.from, want.period.till,
		lim.leaseMillis,
	}, own)
	lim.inFlight = call
	return call
}

// The statuses that take and lease return.
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

// admitResult is the decoded answer of take or lease.
type admitResult struct {
	status, at, granted, count, wait, others, stored int64

	discarded int64 // granted, and not to be used
}

// resultFields is how many numbers an answer of take or lease has.
const resultFields = 7

// maxExactInt is greater than all times and counts: a script has no exact numbers above it.
const maxExactInt = int64(1) << 53

// readResult decodes the answer of a script call. An answer that our scripts never give is an error:
// a grant in it is not used.
func (call *scriptCall) readResult(out scriptResult) (admitResult, error) {
	result := admitResult{
		status: out.intAt(0), at: out.intAt(1), granted: out.intAt(2), count: out.intAt(3), wait: out.intAt(4),
		others: out.intAt(5), stored: out.intAt(6),
	}
	inexact := func(n int64) bool { return n < -maxExactInt || n > maxExactInt }
	switch {
	case len(out.ints) != resultFields || out.text != "":
	case result.status < 0 || result.status >= int64(len(outcomes)):
	case result.granted < 0 || result.granted > call.units || result.count < 0 || result.stored < 0:
	case slices.ContainsFunc(out.ints, inexact):
	default:
		return result, nil
	}
	return admitResult{}, fmt.Errorf("%w: it answered %v to a question for %d units", errScript, out.ints, call.units)
}

// startCooldown closes the windows for a while, because other servers' earlier grants are unknown.
// The units granted now are not used. Redis has claimed them, and the next call gives them back.
func (lim *limiter) startCooldown(result *admitResult, now access.Instant, wait int64) {
	lim.cooldownUntil = max(lim.cooldownUntil, now.Mono+wait)
	result.discarded = result.granted
	result.granted = 0
}

// apply takes the result of the call in flight. It returns the admissions that are decided; the
// others go into the next call.
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
		// Other servers may give units back before.
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
		d := &c.admitDecision
		switch {
		case c.abandoned:
			continue
		case call.request.peek && (result.status == statusGranted || result.status == statusRepeated):
			lim.resolve(d, outcomeAdmitted, result.at, result.count, result.wait)
		case call.request.leased && lim.useLease(w, d, now):
		case !call.request.leased && granted > 0:
			granted--
			lim.resolve(d, outcomeAdmitted, result.at, result.count-granted, result.wait)
		case outcomes[result.status] == outcomeUndecided:
			again = append(again, c)
			continue
		default:
			lim.resolve(d, outcomes[result.status], result.at, result.count, result.wait)
		}
		decided = append(decided, c)
	}
	lim.waiting = append(again, lim.waiting...)
	return append(decided, lim.denyWaiting(now)...)
}

// denyWaiting decides the admissions that wait for units during a cooldown.
func (lim *limiter) denyWaiting(now access.Instant) (decided []*pendingAdmit) {
	if now.Mono >= lim.cooldownUntil {
		return nil
	}
	lim.waiting = slices.DeleteFunc(lim.waiting, func(c *pendingAdmit) bool {
		if c.abandoned || c.peek || !c.window && c.cost == 0 {
			return false
		}
		lim.resolve(&c.admitDecision, outcomeCooldown, now.Wall, c.perMinute, lim.cooldownUntil-now.Mono)
		decided = append(decided, c)
		return true
	})
	return decided
}

// failInFlight drops the call in flight, whose script fails: the tenant's data in Redis are damaged.
func (lim *limiter) failInFlight() (decided []*pendingAdmit) {
	call := lim.inFlight
	lim.inFlight = nil
	for _, c := range call.pending {
		if !c.abandoned {
			lim.resolve(&c.admitDecision, outcomeCooldown, call.sent.Wall, 0, 0)
			decided = append(decided, c)
		}
	}
	return decided
}

// updateBalance updates a balance by an answer.
func (lim *limiter) updateBalance(call *scriptCall, result *admitResult) {
	bal := call.balance
	bal.synced = true
	bal.claimedByOthers = result.others
	bal.ackedSeq = result.stored

	switch {
	case result.status == statusStale:
		lim.seq = max(lim.seq, result.stored)
		bal.claimed = -1 // an earlier process wrote it
		result.granted = 0
	case result.stored != call.seq:
		bal.claimed = call.claimTarget // it was claimed already
	case call.request.leased:
		bal.claimed = call.claimTarget + result.granted + result.discarded
	default:
		bal.claimed = call.claimTarget + (result.granted+result.discarded)*call.request.cost
	}
}

// markFull records that no unit of a window frees for a while.
func (lim *limiter) markFull(call *scriptCall, wait int64) {
	w := lim.window(call.request.subject)
	w.fullUntil = call.sent.Mono + wait
	w.perMinute = call.request.perMinute
}

// openLease opens a lease. Its time runs from when the call was first sent: Redis counts from a later
// moment. It ends a thousandth earlier, because our clock may run slow by so much.
func (lim *limiter) openLease(call *scriptCall, result *admitResult) {
	length := min(lim.leaseMillis, call.request.period.till-result.at)
	length -= length/1000 + 1
	w := lim.window(call.request.subject)
	w.lease = lease{
		seq: call.seq, left: result.granted, unclaimed: max(0, call.request.perMinute-result.count),
		begin: call.sent, balance: call.balance,
		end: access.Instant{Mono: call.sent.Mono + length, Wall: call.sent.Wall + length},
	}
}

// finish ends an admitted call: its reserved units are charged now, or go back with the next script
// call.
func (lim *limiter) finish(bal *periodBalance, cost int64, charged bool) {
	bal.reserved -= cost
	if charged {
		bal.charged += cost
	}
}
