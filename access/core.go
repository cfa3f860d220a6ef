package access

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ninepocket/internal/wal"
)

// core is the truth in memory that both stores answer from. With a log, every
// finished call is written to it before the call returns.
//
// The store's own time, "at" throughout, is milliseconds that only run forward,
// also over a restart: the monotonic clock of the process plus an offset that
// continues where the log ended.
type core struct {
	offset     int64 // store time = Instant.Mono + offset
	replyBytes int
	codec      replyCodec
	log        *wal.Log // nil: nothing is kept
	durable    bool     // accounts note what a checkpoint has to write
	meter      *meter
	claims     atomic.Uint64
	closed     atomic.Bool

	mu       sync.RWMutex // guards the map; never held with an account
	accounts map[string]*account
}

// slot is where a store keeps a principal's state.
type slot struct {
	core    *core
	account *account
	key     *keyState
}

func newCore(offset int64, replyBytes int) *core {
	if replyBytes <= 0 {
		replyBytes = DefaultReplyBytes
	}
	return &core{offset: offset, replyBytes: replyBytes, codec: newReplyCodec(), meter: newMeter(), accounts: map[string]*account{}}
}

func (c *core) time(now Instant) int64 { return now.Mono + c.offset }

// slot returns the state of a principal, through the shortcut it carries when
// that leads here.
func (c *core) slot(p *Principal) *slot {
	if s := p.slot.Load(); s != nil && s.core == c {
		return s
	}
	a := c.account(p.Tenant)
	a.mu.Lock()
	key := a.key(p.KeyID)
	a.mu.Unlock()
	s := &slot{core: c, account: a, key: key}
	p.slot.Store(s)
	return s
}

func (c *core) account(tenant string) *account {
	c.mu.RLock()
	a := c.accounts[tenant]
	c.mu.RUnlock()
	if a != nil {
		return a
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if a = c.accounts[tenant]; a == nil {
		a = newAccount(tenant)
		if c.durable {
			a.replies.touched = map[replyName]bool{}
		}
		c.accounts[tenant] = a
	}
	return a
}

// all returns the accounts of a tenant, or of all with "", in order of name.
func (c *core) all(tenant string) []*account {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var out []*account
	for name, a := range c.accounts {
		if tenant == "" || tenant == name {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b *account) int { return compareRows(LedgerRow{Tenant: a.tenant}, LedgerRow{Tenant: b.tenant}) })
	return out
}

// Err implements [Store].
func (c *core) Err() error {
	if c.closed.Load() {
		return errClosed
	}
	if c.log != nil {
		return unavailable(c.log.Err())
	}
	return nil
}

// Admit implements [Store].
func (c *core) Admit(p *Principal, rule Rule, now Instant) (d Decision) {
	if c.Err() != nil {
		return Decision{Verdict: Unavailable, RetryAfter: unavailableRetry}
	}
	slot, at := c.slot(p), c.time(now)
	a := slot.account
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.windowFor(slot.key, &rule, at)
	fits, remaining, wait := true, int64(0), int64(0)
	if w != nil {
		fits, remaining, wait = w.peek(at)
	}
	s := a.stand(p, &rule, now.Wall)
	reserve := rule.Cost > 0 && !rule.Deferred
	full := reserve && s.full(rule.Cost)
	if fits && !full {
		if w != nil {
			remaining, wait = w.take(at)
		}
		a.roll(&s)
		if reserve {
			a.hold(&rule)
		}
		a.seen(at, now.Wall)
		d.Ticket = Ticket{Principal: p, Rule: rule, Now: now, Day: s.day, Period: s.period, At: at}
	}
	if w != nil {
		if fits {
			// Buckets free a unit up to 0.1 s after the minute; a caller that was admitted is told the minute.
			wait = min(wait, minuteMillis)
		}
		d.Minute = Policy{Limit: int64(rule.PerMinute), Remaining: remaining, Wait: secondsUp(wait), Reset: secondsUp(now.Wall + wait)}
	}
	d.Allowance = s.policy(now.Wall, fits && full)
	switch {
	case !fits:
		d.Verdict, d.RetryAfter = RateLimited, d.Minute.Wait
	case full:
		d.Verdict, d.RetryAfter = QuotaExceeded, d.Allowance.Wait
	}
	return d
}

// Finish implements [Store].
func (c *core) Finish(t Ticket, success bool) (Receipt, error) {
	if sampled() {
		defer c.meter.time(timeFinish, time.Now())
	}
	if err := c.Err(); err != nil {
		return Receipt{}, err
	}
	if success && t.Rule.Deferred {
		return Receipt{}, cannot("finish %q as a success: %w: it needs Commit", string(t.Rule.Operation), ErrTicket)
	}
	charged := int64(0)
	if success {
		charged = t.Rule.Cost
	}
	a := c.slot(t.Principal).account
	a.mu.Lock()
	if t.Rule.Cost > 0 && !t.Rule.Deferred {
		a.release(&t.Rule, t.Day, t.Period)
	}
	e := ticketEntry(&t, charged)
	receipt, seq := c.enter(a, &t, &e)
	a.mu.Unlock()
	if err := c.await(seq, t.Rule.Durable && charged > 0); err != nil {
		return Receipt{}, err
	}
	return receipt, nil
}

// ticketEntry is the log entry of a finished ticket.
func ticketEntry(t *Ticket, charged int64) entry {
	return entry{
		tenant: t.Principal.Tenant, key: t.Principal.KeyID, op: t.Rule.Operation,
		window: t.Rule.Window, allowance: t.Rule.Allowance, charged: charged,
		at: t.At, wall: t.Now.Wall, day: t.Day, period: t.Period,
	}
}

// enter applies a finished call to its account, which the caller holds, and
// hands it to the log in the same order, so that a checkpoint of the account
// knows which log records it holds.
func (c *core) enter(a *account, t *Ticket, e *entry) (Receipt, uint64) {
	a.apply(e)
	if c.log != nil {
		a.seq = c.log.Append(e.append)
	}
	s := a.stand(t.Principal, &t.Rule, t.Now.Wall)
	return Receipt{Charged: e.charged, Allowance: s.policy(t.Now.Wall, false)}, a.seq
}

// await returns when a log record is written, or durable.
func (c *core) await(seq uint64, durable bool) error {
	switch {
	case c.log == nil:
		return nil
	case durable:
		return unavailable(c.log.AwaitSynced(seq))
	}
	return unavailable(c.log.AwaitWritten(seq))
}

// Usage implements [Store].
func (c *core) Usage(p *Principal, rule Rule, now Instant) (Usage, error) {
	if err := c.Err(); err != nil {
		return Usage{}, err
	}
	a := c.slot(p).account
	a.mu.Lock()
	s := a.stand(p, &rule, now.Wall)
	a.mu.Unlock()
	usage := Usage{
		Tenant: p.Tenant, Period: s.period, Limit: s.limit, Used: s.used,
		Remaining: max(0, s.limit-s.used), PerMinute: p.Plan.PerMinute,
	}
	if rule.Allowance == DayQuota {
		usage.Period = Period{Start: s.day.Start(), End: (s.day + 1).Start()}
	}
	return usage, nil
}

// rowsOf returns the ledger rows that accounts hold in memory, unordered.
func (c *core) rowsOf(tenant string, since Day) []LedgerRow {
	var rows []LedgerRow
	for _, a := range c.all(tenant) {
		a.mu.Lock()
		for name, counts := range a.rows {
			if name.day >= since {
				rows = append(rows, LedgerRow{Tenant: a.tenant, Key: name.key, Day: name.day, Operation: name.op, Counts: *counts})
			}
		}
		a.mu.Unlock()
	}
	return rows
}
