package meter

import (
	"cmp"
	"context"
	"encoding/hex"
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
	// askAgain is when a caller that waits for another server's reply looks again.
	askAgain = 40 * time.Millisecond
	// commitFor is how long a commit whose answer was lost is sent again before the call is 503, in
	// production.
	commitFor = time.Second
)

// The outcomes of begin.
const (
	beginFresh = iota
	beginReplay
	beginConflict
	beginFull
	beginWait
)

// claims are the idempotency keys that calls of this server have in hand.
type claims struct {
	mu     sync.Mutex
	number uint64
	flying map[string]*flight // by record
	open   map[string]int     // flights by tenant
	lost   map[string]unsure  // batches whose commit nobody answered, by claim
}

// flight is a key whose call is being answered here.
type flight struct {
	id     uint64
	claim  string
	record string
	body   access.BodyHash
	done   chan struct{}
	own    bool            // Redis said that it is ours, and its unit is reserved
	period calendar.Period // that the unit is reserved in
}

// unsure is a batch that is prepared and not decided.
type unsure struct {
	batch  *access.Prepared
	ticket *access.Ticket // nil: of a process before this one
}

// nameRecord names an idempotency record inside a tenant.
func nameRecord(op access.Operation, key string) string {
	name := access.NameReply(op, key)
	return hex.EncodeToString(name[:])
}

// take returns the flight of a record: a new one, or the one that is under way.
func (cs *claims) take(life, tenant, record string, body access.BodyHash) (f *flight, fresh bool, open int) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if f := cs.flying[record]; f != nil {
		return f, false, 0
	}

	cs.number++
	f = &flight{
		id: cs.number, claim: life + "." + strconv.FormatUint(cs.number, 36), record: record, body: body,
		done: make(chan struct{}),
	}
	cs.flying[record] = f
	open = cs.open[tenant]
	cs.open[tenant]++
	return f, true, open
}

// owned returns the flight that a claim names, or nil.
func (store *Store) owned(t *access.Ticket, claim *access.Claim) *flight {
	n := store.names(t.Principal.Tenant)
	record := n.record(nameRecord(t.Rule.Operation, claim.Key))
	store.claims.mu.Lock()
	defer store.claims.mu.Unlock()
	f := store.claims.flying[record]
	if f == nil || f.id != claim.ID || claim.ID == 0 || !f.own {
		return nil
	}
	return f
}

// land ends a flight and wakes those that wait for it.
func (cs *claims) land(tenant string, f *flight) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.flying[f.record] != f {
		return
	}
	delete(cs.flying, f.record)
	cs.open[tenant]--
	if cs.open[tenant] == 0 {
		delete(cs.open, tenant)
	}
	close(f.done)
}

// Begin implements [access.Store]. A reply that another server is making is asked for again.
func (store *Store) Begin(
	t access.Ticket, key string, body access.BodyHash, now access.Instant,
) (access.Claim, error) {
	if err := store.Err(); err != nil {
		return access.Claim{}, err
	}
	if !t.Rule.Deferred {
		return access.Claim{}, fmt.Errorf("cannot begin %q: %w: the operation takes no idempotency key",
			string(t.Rule.Operation), access.ErrTicket)
	}

	n := store.names(t.Principal.Tenant)
	record := n.record(nameRecord(t.Rule.Operation, key))
	f, fresh, open := store.claims.take(store.options.life, t.Principal.Tenant, record, body)
	switch {
	case !fresh && f.body != body:
		return access.Claim{Outcome: access.Conflict}, nil
	case !fresh:
		return access.Claim{Outcome: access.Wait, Done: f.done}, nil
	}

	claim, err := store.begin(&t, &n, f, open, now)
	if err != nil || claim.Outcome != access.Fresh {
		store.claims.land(t.Principal.Tenant, f)
		return claim, err
	}
	claim.Key = string([]byte(key)) // it may alias the request's memory
	claim.Body = body
	claim.ID = f.id
	return claim, nil
}

// begin asks Redis who has a key, and reserves the unit of a fresh one.
func (store *Store) begin(t *access.Ticket, n *names, f *flight, open int, now access.Instant) (access.Claim, error) {
	out, err := store.do(&command{
		script: scriptBegin, keys: []string{f.record, n.times()},
		args: []string{
			f.claim, string(f.body[:]), number(claimMillis), number(access.ReplyMillis),
			number(int64(store.options.RepliesMax)), number(int64(open)),
		},
	}, store.options.Timeout)
	if err != nil {
		// The claim may be ours all the same, and nobody will use it.
		store.link.send(aborting(f.record, f.claim), func(reply, error) {})
		return access.Claim{}, err
	}

	switch out.code(beginWait) {
	case beginFresh:
	case beginReplay:
		plain, err := access.UnpackReply([]byte(out.text))
		if err != nil {
			return access.Claim{}, err
		}
		return access.Claim{Outcome: access.Replay, Reply: plain}, nil
	case beginConflict:
		return access.Claim{Outcome: access.Conflict}, nil
	case beginFull:
		wait := min(max(1, out.at(1)), access.ReplyMillis)
		return access.Claim{}, &access.FullError{Kept: store.options.RepliesMax, RetryAfter: (wait + 999) / 1000}
	case beginWait:
		done := make(chan struct{})
		wait := time.Duration(min(max(1, out.at(1)), askAgain.Milliseconds())) * time.Millisecond
		store.options.pacer.later(wait, func() { close(done) })
		return access.Claim{Outcome: access.Wait, Done: done}, nil
	default:
		return access.Claim{}, fmt.Errorf("%w: it answered %v to a begin", errScript, out.ints)
	}

	// The unit is taken as that of any call, but for the window, which the call has passed.
	c, standing, err := store.decide(t.Principal, &t.Rule, now, toBatch)
	switch {
	case err == nil && c.fate == admitted:
		f.own = true
		f.period = standing.Period
		return access.Claim{Outcome: access.Fresh}, nil
	case err == nil && c.fate != quotaFull:
		err = errAway
	}
	_, _ = store.do(aborting(f.record, f.claim), store.options.Timeout)
	if err != nil {
		return access.Claim{}, err
	}
	policy := exhausted(&c)
	return access.Claim{Outcome: access.Exhausted, Allowance: policy, RetryAfter: policy.Wait}, nil
}

// Commit implements [access.Store]. The batch is on disk here before Redis is asked to keep its
// reply; that decides, and is written here before it is answered. What nobody answered in time is
// found out later, by this process or the next one.
func (store *Store) Commit(t access.Ticket, claim access.Claim, plain []byte) (access.Receipt, error) {
	f := store.owned(&t, &claim)
	if f == nil {
		return access.Receipt{}, fmt.Errorf("cannot commit %q: %w: the claim is not open",
			string(t.Rule.Operation), access.ErrTicket)
	}
	packed, err := access.PackReply(plain)
	if err != nil {
		_, aborted := store.Abort(t, claim)
		return access.Receipt{}, cmp.Or(aborted, err)
	}

	t.Period = f.period
	batch, err := store.journal.Prepare(t, f.claim, f.record)
	if err != nil {
		_, _ = store.Abort(t, claim)
		return access.Receipt{}, err
	}
	defer store.claims.land(t.Principal.Tenant, f)
	kept := string(packed)
	n := store.names(t.Principal.Tenant)
	out, err := store.do(&command{
		script: scriptCommit, keys: []string{f.record, n.times()},
		args: []string{f.claim, number(t.At), kept, number(access.ReplyMillis)},
	}, store.options.commit)
	if err == nil && out.code(1) < 0 {
		err = fmt.Errorf("%w: it answered %v to a commit", errScript, out.ints)
	}
	if err != nil {
		store.meters.unknown.Add(1)
		store.doubt(unsure{batch: batch, ticket: &t})
		return access.Receipt{}, err
	}
	if out.at(0) == 1 {
		store.offers.keep(f, n.times(), t.At, kept)
	}
	return store.decided(unsure{batch: batch, ticket: &t}, out.at(0) == 1)
}

// decided settles a batch here as Redis decided.
func (store *Store) decided(u unsure, kept bool) (access.Receipt, error) {
	if err := store.journal.Settle(u.batch, kept); err != nil {
		store.doubt(u)
		return access.Receipt{}, err
	}

	var err error
	charged := int64(1)
	if !kept {
		charged = 0
		err = fmt.Errorf("%w: the claim was lost before its reply was kept", access.ErrUnavailable)
	}
	return store.ended(u.ticket, 1, charged, err)
}

// decidedLate settles a batch of a process before this one.
func (store *Store) decidedLate(u unsure, kept bool) {
	// A share that opens now has the batch among what is undecided, or among what is charged.
	store.adopting.Lock()
	err := store.journal.Settle(u.batch, kept)
	if err == nil {
		store.claims.forget(u)
	}
	store.adopting.Unlock()
	if err != nil {
		return
	}

	st := store.seats.find(seatName{tenant: u.batch.Tenant, allowance: access.PeriodCredits})
	if st == nil {
		return
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, acc := range st.accounts {
		if u.batch.Period == (calendar.Period{Start: acc.from, End: acc.till}) && acc.adopted > 0 {
			acc.adopted--
			if kept {
				acc.charged++
			}
			store.stir(st)
			return
		}
	}
}

func (cs *claims) forget(u unsure) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	delete(cs.lost, u.batch.Claim)
}

// doubt keeps a batch to be decided later.
func (store *Store) doubt(u unsure) {
	store.claims.mu.Lock()
	defer store.claims.mu.Unlock()
	store.claims.lost[u.batch.Claim] = u
}

// unsettled returns how many units of a span are of batches that a process before left undecided.
func (store *Store) unsettled(tenant string, of span) (n int64) {
	store.claims.mu.Lock()
	defer store.claims.mu.Unlock()
	for _, u := range store.claims.lost {
		period := calendar.Period{Start: of.from, End: of.till}
		if u.ticket == nil && u.batch.Tenant == tenant && u.batch.Period == period {
			n++
		}
	}
	return n
}

// resolveAll finds out what became of batches that are not decided. Whose reply Redis does not have is
// void: no commit comes after that, for its claim is gone.
func (store *Store) resolveAll(ctx context.Context) {
	store.claims.mu.Lock()
	var all []unsure
	for _, claim := range slices.Sorted(maps.Keys(store.claims.lost)) {
		all = append(all, store.claims.lost[claim])
	}
	store.claims.mu.Unlock()

	for _, u := range all {
		if ctx.Err() != nil {
			return
		}
		out, err := store.do(aborting(u.batch.Record, u.batch.Claim), store.options.Timeout)
		if err != nil || out.code(1) < 0 {
			return
		}

		if u.ticket == nil {
			store.decidedLate(u, out.at(0) == 1)
			continue
		}
		store.claims.forget(u)
		_, _ = store.decided(u, out.at(0) == 1)
	}
}

// Abort implements [access.Store]. Waiters are woken also when Redis is away: the claim ends by
// itself.
func (store *Store) Abort(t access.Ticket, claim access.Claim) (access.Receipt, error) {
	f := store.owned(&t, &claim)
	if f == nil {
		return store.ended(&t, 0, 0, nil)
	}

	t.Period = f.period
	_, _ = store.do(aborting(f.record, f.claim), store.options.Timeout)
	store.claims.land(t.Principal.Tenant, f)
	err := store.Err()
	if err == nil {
		err = store.journal.Record(t, 0)
	}
	return store.ended(&t, t.Rule.Cost, 0, err)
}

func (store *Store) names(tenant string) names {
	return names{prefix: store.options.Prefix, tenant: tenant, incarnation: store.options.Incarnation}
}

// do sends a command until it is answered, for a while.
func (store *Store) do(command *command, patience time.Duration) (reply, error) {
	until := store.now().Mono + patience.Milliseconds()
	left := func() time.Duration { return time.Duration(max(0, until-store.now().Mono)) * time.Millisecond }
	for {
		got := answer{err: errAway}
		done := make(chan struct{})
		wake := store.link.wake() // of what comes up after the next line

		if store.link.up() {
			store.link.send(command, func(out reply, err error) {
				got = answer{out, err}
				close(done)
			})
			if store.options.pacer.wait(left(), done, nil) < 0 {
				return reply{}, errLate
			}
			if got.err == nil {
				return got.reply, nil
			}
		}

		// A short one ends here; a long one waits until there is Redis again.
		if patience <= store.options.Timeout {
			return reply{}, got.err
		}
		if store.options.pacer.wait(left(), wake, nil) < 0 {
			return reply{}, got.err
		}
	}
}

// aborting is the command that gives a claim up.
func aborting(record, claim string) *command {
	return &command{script: scriptAbort, keys: []string{record}, args: []string{claim, number(claimMillis)}}
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
