package limiter

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"ninepocket/access"
	"ninepocket/calendar"
)

const (
	// replyPollInterval is how often a caller polls for another server's reply.
	replyPollInterval = 40 * time.Millisecond
	// commitTimeout is how long a commit whose answer was lost is sent again before the call is 503, in
	// production.
	commitTimeout = time.Second
)

// The results of begin.
const (
	beginFresh = iota
	beginReplay
	beginConflict
	beginFull
	beginWait
)

// claims are the idempotency keys of this server's calls in flight.
type claims struct {
	mu         sync.Mutex
	lastID     uint64
	pending    map[string]*pendingKey      // by record
	openCount  map[string]int              // of pending keys, by tenant
	unresolved map[string]unresolvedCommit // by claim
}

// pendingKey is a key whose call is being answered here.
type pendingKey struct {
	id     uint64
	claim  string
	record string
	body   access.BodyHash
	done   chan struct{}
	owned  bool            // Redis has granted the claim, and the unit is reserved
	period calendar.Period // that the unit is reserved in
}

// unresolvedCommit is a prepared batch whose commit Redis did not answer.
type unresolvedCommit struct {
	batch       *access.PreparedBatch
	reservation *access.Reservation // nil: of an earlier process
}

// acquire returns the pending key of a record: a new one, or the one in flight. openCount is how many
// others the tenant has.
func (cs *claims) acquire(sessionID, tenant, record string, body access.BodyHash) (f *pendingKey, fresh bool,
	openCount int,
) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if f := cs.pending[record]; f != nil {
		return f, false, 0
	}

	cs.lastID++
	f = &pendingKey{
		id: cs.lastID, claim: sessionID + "." + strconv.FormatUint(cs.lastID, 36), record: record, body: body,
		done: make(chan struct{}),
	}
	cs.pending[record] = f
	openCount = cs.openCount[tenant]
	cs.openCount[tenant]++
	return f, true, openCount
}

// findOwned returns the pending key of a claim, or nil.
func (store *Store) findOwned(res *access.Reservation, claim *access.Claim) *pendingKey {
	rk := store.redisKeys(res.Principal.Tenant)
	record := rk.record(res.Spec.Operation, claim.Key)
	store.claims.mu.Lock()
	defer store.claims.mu.Unlock()
	f := store.claims.pending[record]
	if f == nil || f.id != claim.ID || claim.ID == 0 || !f.owned {
		return nil
	}
	return f
}

// finish ends a pending key and wakes the callers that wait for it.
func (cs *claims) finish(tenant string, f *pendingKey) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.pending[f.record] != f {
		return
	}
	delete(cs.pending, f.record)
	cs.openCount[tenant]--
	if cs.openCount[tenant] == 0 {
		delete(cs.openCount, tenant)
	}
	close(f.done)
}

// Begin implements [access.Store]. While another server makes the reply, the caller polls for it.
func (store *Store) Begin(
	res access.Reservation, key string, body access.BodyHash, now access.Instant,
) (access.Claim, error) {
	if err := store.Err(); err != nil {
		return access.Claim{}, err
	}
	if !res.Spec.ReserveAtBegin {
		return access.Claim{}, fmt.Errorf("cannot begin %q: %w: the operation takes no idempotency key",
			string(res.Spec.Operation), access.ErrReservation)
	}

	rk := store.redisKeys(res.Principal.Tenant)
	record := rk.record(res.Spec.Operation, key)
	f, fresh, openCount := store.claims.acquire(store.options.sessionID, res.Principal.Tenant, record, body)
	switch {
	case !fresh && f.body != body:
		return access.Claim{Result: access.Conflict}, nil
	case !fresh:
		return access.Claim{Result: access.InProgress, Done: f.done}, nil
	}

	claim, err := store.begin(&res, &rk, f, openCount, now)
	if err != nil || claim.Result != access.Fresh {
		store.claims.finish(res.Principal.Tenant, f)
		return claim, err
	}
	claim.Key = string([]byte(key)) // it may alias the request's memory
	claim.ID = f.id
	return claim, nil
}

// begin claims a key in Redis, and reserves the unit of a fresh one.
func (store *Store) begin(res *access.Reservation, rk *redisKeys, f *pendingKey, openCount int,
	now access.Instant,
) (access.Claim, error) {
	out, err := store.do(&command{
		script: scriptBegin, keys: []string{f.record, rk.times()},
		args: []string{
			f.claim, string(f.body[:]), number(claimMillis), number(access.ReplyMillis),
			number(int64(store.options.MaxIdempotencyRecords)), number(int64(openCount)),
		},
	}, store.options.Timeout)
	if err != nil {
		// Redis may have granted the claim, which is not used.
		store.client.send(abortCommand(f.record, f.claim), func(scriptResult, error) {})
		return access.Claim{}, err
	}

	switch out.code(beginWait) {
	case beginFresh:
	case beginReplay:
		plain, err := access.UnpackReply([]byte(out.text))
		if err != nil {
			return access.Claim{}, err
		}
		return access.Claim{Result: access.Replay, Reply: plain}, nil
	case beginConflict:
		return access.Claim{Result: access.Conflict}, nil
	case beginFull:
		wait := min(max(1, out.intAt(1)), access.ReplyMillis)
		return access.Claim{},
			&access.IdempotencyFullError{Records: store.options.MaxIdempotencyRecords, RetryAfter: (wait + 999) / 1000}
	case beginWait:
		done := make(chan struct{})
		wait := time.Duration(min(max(1, out.intAt(1)), replyPollInterval.Milliseconds())) * time.Millisecond
		store.options.pacer.later(wait, func() { close(done) })
		return access.Claim{Result: access.InProgress, Done: done}, nil
	default:
		return access.Claim{}, fmt.Errorf("%w: it answered %v to a begin", errScript, out.ints)
	}

	// The unit is reserved without the window: the call has passed the window already.
	d, err := store.decide(res.Principal, &res.Spec, now, modeReserve)
	switch {
	case err == nil && d.outcome == outcomeAdmitted:
		f.owned = true
		f.period = d.quota.Period
		return access.Claim{Result: access.Fresh}, nil
	case err == nil && d.outcome != outcomeQuotaFull:
		err = errUnavailable
	}
	_, _ = store.do(abortCommand(f.record, f.claim), store.options.Timeout)
	if err != nil {
		return access.Claim{}, err
	}
	limit := d.exhaustedQuota()
	return access.Claim{Result: access.Exhausted, Quota: limit, RetryAfter: limit.Wait}, nil
}

// Commit implements [access.Store]. The batch is on disk here before Redis stores its reply. Storing
// the reply in Redis decides the charge. The decision is on disk here before the call is answered. A
// commit that Redis does not answer in time is resolved later, by this process or the next process.
func (store *Store) Commit(res access.Reservation, claim access.Claim, plain []byte) (access.Charge, error) {
	f := store.findOwned(&res, &claim)
	if f == nil {
		return access.Charge{}, fmt.Errorf("cannot commit %q: %w: the claim is not open",
			string(res.Spec.Operation), access.ErrReservation)
	}
	packed, err := access.PackReply(plain)
	if err != nil {
		_, aborted := store.Abort(res, claim)
		return access.Charge{}, cmp.Or(aborted, err)
	}

	res.Period = f.period
	batch, err := store.usageLog.Prepare(res, f.claim, f.record)
	if err != nil {
		_, _ = store.Abort(res, claim)
		return access.Charge{}, err
	}
	defer store.claims.finish(res.Principal.Tenant, f)
	stored := string(packed)
	rk := store.redisKeys(res.Principal.Tenant)
	out, err := store.do(&command{
		script: scriptCommit, keys: []string{f.record, rk.times()},
		args: []string{f.claim, number(res.At), stored, number(access.ReplyMillis)},
	}, store.options.commit)
	if err == nil && out.code(1) < 0 {
		err = fmt.Errorf("%w: it answered %v to a commit", errScript, out.ints)
	}
	if err != nil {
		store.metrics.timeouts.Add(1)
		store.addUnresolved(unresolvedCommit{batch: batch, reservation: &res})
		return access.Charge{}, err
	}
	if out.intAt(0) == 1 {
		store.resends.add(f, rk.times(), res.At, stored)
	}
	return store.settleBatch(unresolvedCommit{batch: batch, reservation: &res}, out.intAt(0) == 1)
}

// settleBatch settles a batch of this process as Redis decided.
func (store *Store) settleBatch(u unresolvedCommit, stored bool) (access.Charge, error) {
	if err := store.usageLog.Settle(u.batch, stored); err != nil {
		store.addUnresolved(u)
		return access.Charge{}, err
	}

	var err error
	charged := int64(1)
	if !stored {
		charged = 0
		err = fmt.Errorf("%w: the claim was lost before its reply was stored", access.ErrUnavailable)
	}
	return store.releaseUnits(u.reservation, 1, charged, err)
}

// settleRecovered settles a batch of an earlier process.
func (store *Store) settleRecovered(u unresolvedCommit, stored bool) {
	// A new limiter must count the batch once: as unresolved or as charged.
	store.recovering.Lock()
	err := store.usageLog.Settle(u.batch, stored)
	if err == nil {
		store.claims.removeUnresolved(u)
	}
	store.recovering.Unlock()
	if err != nil {
		return
	}

	entry := store.limiters.find(limiterKey{tenant: u.batch.Tenant, kind: access.PeriodCredits})
	if entry == nil {
		return
	}
	entry.mu.Lock()
	defer entry.mu.Unlock()
	for _, bal := range entry.balances {
		if u.batch.Period == (calendar.Period{Start: bal.from, End: bal.till}) && bal.recovered > 0 {
			bal.recovered--
			if stored {
				bal.charged++
			}
			store.markDirty(entry)
			return
		}
	}
}

func (cs *claims) removeUnresolved(u unresolvedCommit) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	delete(cs.unresolved, u.batch.Claim)
}

// addUnresolved adds a batch to be resolved later.
func (store *Store) addUnresolved(u unresolvedCommit) {
	store.claims.mu.Lock()
	defer store.claims.mu.Unlock()
	store.claims.unresolved[u.batch.Claim] = u
}

// unresolvedUnits returns how many units of a period are of batches that an earlier process left
// unresolved.
func (store *Store) unresolvedUnits(tenant string, of quotaPeriod) (n int64) {
	store.claims.mu.Lock()
	defer store.claims.mu.Unlock()
	for _, u := range store.claims.unresolved {
		period := calendar.Period{Start: of.from, End: of.till}
		if u.reservation == nil && u.batch.Tenant == tenant && u.batch.Period == period {
			n++
		}
	}
	return n
}

// resolveAll resolves batches. One whose reply is not in Redis is cancelled: no later commit can store
// it, because its claim is gone.
func (store *Store) resolveAll(ctx context.Context) {
	store.claims.mu.Lock()
	var all []unresolvedCommit
	for _, claim := range slices.Sorted(maps.Keys(store.claims.unresolved)) {
		all = append(all, store.claims.unresolved[claim])
	}
	store.claims.mu.Unlock()

	for _, u := range all {
		if ctx.Err() != nil {
			return
		}
		out, err := store.do(abortCommand(u.batch.RecordKey, u.batch.Claim), store.options.Timeout)
		if err != nil || out.code(1) < 0 {
			return
		}

		if u.reservation == nil {
			store.settleRecovered(u, out.intAt(0) == 1)
			continue
		}
		store.claims.removeUnresolved(u)
		_, _ = store.settleBatch(u, out.intAt(0) == 1)
	}
}

// Abort implements [access.Store]. It wakes waiting callers even if Redis is unavailable: the claim there
// expires.
func (store *Store) Abort(res access.Reservation, claim access.Claim) (access.Charge, error) {
	f := store.findOwned(&res, &claim)
	if f == nil {
		return store.releaseUnits(&res, 0, 0, nil)
	}

	res.Period = f.period
	_, _ = store.do(abortCommand(f.record, f.claim), store.options.Timeout)
	store.claims.finish(res.Principal.Tenant, f)
	err := store.Err()
	if err == nil {
		err = store.usageLog.Record(res, 0)
	}
	return store.releaseUnits(&res, res.Spec.Cost, 0, err)
}

func (store *Store) redisKeys(tenant string) redisKeys {
	return redisKeys{prefix: store.options.Prefix, tenant: tenant, serverID: store.options.ServerID}
}

// do sends a command until it is answered or the timeout is over.
func (store *Store) do(command *command, timeout time.Duration) (scriptResult, error) {
	until := store.now().Mono + timeout.Milliseconds()
	left := func() time.Duration { return time.Duration(max(0, until-store.now().Mono)) * time.Millisecond }
	for {
		got := answer{err: errUnavailable}
		done := make(chan struct{})
		wake := store.client.whenUp() // before up, so that no later connection is missed

		if store.client.up() {
			store.client.send(command, func(out scriptResult, err error) {
				got = answer{out, err}
				close(done)
			})
			if store.options.pacer.wait(left(), done, nil) < 0 {
				return scriptResult{}, errTimeout
			}
			if got.err == nil {
				return got.scriptResult, nil
			}
		}

		// A short timeout returns the error now; a long timeout waits for Redis.
		if timeout <= store.options.Timeout {
			return scriptResult{}, got.err
		}
		if store.options.pacer.wait(left(), wake, nil) < 0 {
			return scriptResult{}, got.err
		}
	}
}

// abortCommand is the command that gives up a claim.
func abortCommand(record, claim string) *command {
	return &command{script: scriptAbort, keys: []string{record}, args: []string{claim, number(claimMillis)}}
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
