package limiter

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/calendar"
)

// syncInterval is how often reserved units of failed calls are returned, and the use of ended leases
// is written.
const syncInterval = 100 * time.Millisecond

// Options configure a store. URL, UsageLog, ServerID and Now are required.
type Options struct {
	// URL is redis://USER:PASSWORD@HOST:PORT/DB, rediss:// or redis+sentinel://HOST,HOST/NAME.
	URL string
	// UsageLog records what calls have cost. The store closes it.
	UsageLog *access.LocalStore
	// ServerID is that of the usage log's state directory.
	ServerID string
	// Now returns the present, of the clock that Instants come from.
	Now func() access.Instant

	Acks                  Acks
	Replicas              int           // replicas that must confirm a grant, with AcksReplica; 0 = 1
	Timeout               time.Duration // of an admission; 0 = 100 ms
	Lease                 time.Duration // of leases for large plans; 0 = no leases
	Prefix                string        // of all Redis keys; "" = np
	MaxIdempotencyRecords int           // idempotency records of a tenant; 0 = [access.DefaultMaxIdempotencyRecords]
	// ChargesByServer returns the recorded charges of every server to a tenant's quota, by
	// server id. It is called for a quota period that began before the data set of Redis, which
	// may have lost charges. Nil = unknown.
	ChargesByServer func(ctx context.Context, tenant string, kind access.QuotaKind, from, till int64) (
		map[string]int64, error)
	// Report receives the error when Redis becomes unavailable, nil when it is back, and a
	// LostError for lost writes. Nil disables it.
	Report func(error)

	exchange time.Duration // tests: how long a batch may take
	commit   time.Duration // tests: how long a commit may take

	simOptions
}

// simOptions let a simulation run a store in one goroutine, with its own time and its own Redis. They
// are zero for servers.
type simOptions struct {
	pacer     pacer
	dialer    dialer
	sessionID string // unique for each process
	maxExact  int64  // highest limit whose calls are granted one by one
}

func (o *Options) setDefaults() {
	o.Replicas = cmp.Or(o.Replicas, 1)
	o.Timeout = cmp.Or(o.Timeout, 100*time.Millisecond)
	o.Prefix = cmp.Or(o.Prefix, "np")
	o.MaxIdempotencyRecords = cmp.Or(o.MaxIdempotencyRecords, access.DefaultMaxIdempotencyRecords)
	o.exchange = cmp.Or(o.exchange, exchangeTimeout)
	o.commit = cmp.Or(o.commit, commitTimeout)
	o.sessionID = cmp.Or(o.sessionID, rand.Text())
	o.maxExact = cmp.Or(o.maxExact, maxExact)
	if o.pacer == nil {
		o.pacer = &goroutines{}
	}
	if o.Report == nil {
		o.Report = func(error) {}
	}
}

// Store is an [access.Store] whose limits are in Redis.
type Store struct {
	options  Options
	usageLog *access.LocalStore
	client   *redisClient
	metrics  *metrics
	claims   claims
	resends  replyResends

	limiters   limiterTable
	entrySeq   atomic.Uint64
	recovering sync.Mutex  // lock order: an entry's lock first, then this
	resyncing  atomic.Bool // a resync is under way

	reportedBroken atomic.Int64 // monotonic: last report of an unusable answer; 0 = never

	closed atomic.Bool
	stop   context.CancelFunc

	mu        sync.Mutex
	dirtyList []*limiterEntry // limiters that need a sync
}

var _ access.Store = (*Store)(nil)

// Open returns the store of one server. If Redis must not be used, Open returns a [FindingsError]. If
// Redis cannot be reached, Open succeeds and calls are refused.
func Open(ctx context.Context, options Options) (*Store, error) {
	options.setDefaults()
	store := &Store{options: options, usageLog: options.UsageLog, metrics: newMetrics()}
	store.claims = claims{
		pending: map[string]*pendingKey{}, openCount: map[string]int{},
		unresolved: map[string]unresolvedCommit{},
	}
	if options.dialer == nil {
		redis, err := newRedisDialer(&store.options, store.metrics)
		if err != nil {
			return nil, err
		}
		store.options.dialer = redis
	}
	store.client = newRedisClient(&store.options, store.metrics, store.resync)

	err := store.client.connect(ctx)
	if wrong, ok := errors.AsType[*FindingsError](err); ok {
		store.client.close()
		return nil, wrong
	}

	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	store.stop = stop
	store.options.pacer.start(func() { store.client.reconnectLoop(running) })
	for number := range batchers {
		store.options.pacer.start(func() { store.client.sendLoop(running, number) })
	}
	store.options.pacer.start(func() { store.syncLoop(running) })
	// This process resolves the batches that the previous one has prepared.
	for _, batch := range store.usageLog.Unsettled() {
		store.addUnresolved(unresolvedCommit{batch: batch})
	}
	return store, nil
}

// now returns the present.
func (store *Store) now() access.Instant { return store.options.Now() }

// markDirty puts a limiter that needs a sync on the dirtyList. The caller holds the entry's lock.
func (store *Store) markDirty(entry *limiterEntry) {
	if entry.dirty || !entry.needsSync() {
		return
	}
	entry.dirty = true
	store.mu.Lock()
	store.dirtyList = append(store.dirtyList, entry)
	store.mu.Unlock()
}

// syncLoop resolves batches and syncs limiters with Redis, until ctx ends.
func (store *Store) syncLoop(ctx context.Context) {
	swept := store.now()
	for store.options.pacer.wait(syncInterval, ctx.Done(), nil) < 0 {
		if now := store.now(); now.Mono-swept.Mono >= sweepInterval.Milliseconds() {
			store.sweep(now)
			swept = now
		}
		if !store.client.up() {
			continue
		}

		store.resolveAll(ctx)
		store.mu.Lock()
		list := store.dirtyList
		store.dirtyList = nil
		store.mu.Unlock()

		for _, entry := range list {
			entry.mu.Lock()
			entry.dirty = false
			store.sendNext(entry, true, nil)
		}
	}
}

// resync writes this server's state to a Redis that may have lost it, and returns when all of it is
// answered. Nothing is granted until cooldownUntil, a monotonic time. A new data set also gets the
// replies that this server had stored in the previous one.
func (store *Store) resync(exchange func([]*queuedCommand) error, newDataset bool, cooldownUntil int64) error {
	var all []*queuedCommand
	for _, entry := range store.limiters.sorted() {
		entry.mu.Lock()
		call := entry.resync(store.now())
		entry.mu.Unlock()
		if call != nil {
			all = append(all, &queuedCommand{command: &call.command, done: func(out scriptResult, err error) {
				store.onResult(entry, call, out, err, cooldownUntil)
			}})
		}
	}

	// Losses found now are reported once, and not for each tenant.
	before := store.metrics.tenantsWithLoss.Load()
	store.resyncing.Store(true)
	defer store.resyncing.Store(false)
	var err error
	sendAll := func(all []*queuedCommand, together int) {
		for part := range slices.Chunk(all, together) {
			if err == nil {
				err = exchange(part)
			}
		}
	}
	sendAll(all, maxBatch)
	// Last, so that replies which the previous Redis stored until now are included.
	if newDataset && err == nil {
		sendAll(store.resends.commands(store.now().Wall), resendBatch)
	}
	if lost := store.metrics.tenantsWithLoss.Load() - before; lost > 0 {
		store.options.Report(&LostError{Tenants: int(lost)})
	}
	return err
}

// reportBroken reports a script's failure on a tenant's data, once a minute: calls of the tenant go on.
func (store *Store) reportBroken(err error) {
	now := store.now().Mono
	last := store.reportedBroken.Load()
	if (last == 0 || now-last >= calendar.MinuteMillis) && store.reportedBroken.CompareAndSwap(last, max(1, now)) {
		store.options.Report(err)
	}
}

// reportLost reports that acknowledged writes are lost.
func (store *Store) reportLost(result *admitResult) {
	if result.status != statusLost {
		return
	}
	store.metrics.tenantsWithLoss.Add(1)
	if !store.resyncing.Load() {
		store.options.Report(&LostError{Tenants: 1})
	}
}

// Finish implements [access.Store].
func (store *Store) Finish(res access.Reservation, success bool) (access.Charge, error) {
	if success && res.Spec.ReserveAtBegin && store.Err() == nil {
		return access.Charge{}, fmt.Errorf("cannot finish %q as a success: %w: it needs Commit",
			string(res.Spec.Operation), access.ErrReservation)
	}

	charged := int64(0)
	if success {
		charged = res.Spec.Cost
	}
	err := store.Err()
	if err == nil {
		err = store.usageLog.Record(res, charged)
	}
	cost := res.Spec.Cost
	if res.Spec.ReserveAtBegin {
		cost = 0
	}
	return store.releaseUnits(&res, cost, charged, err)
}

// releaseUnits releases the reserved units of a call that is recorded, or that failed with err.
func (store *Store) releaseUnits(res *access.Reservation, cost, charged int64, err error) (access.Charge, error) {
	entry := store.lockEntry(res.Principal, res.Spec.Quota)
	defer entry.mu.Unlock()

	of := entry.quotaPeriodOf(res.Principal, res.Spec.Quota, &access.QuotaState{Day: res.Day, Period: res.Period})
	bal := entry.balances[of.name]
	if bal == nil {
		bal = &periodBalance{quotaPeriod: of} // its day ended long ago
	}
	entry.finish(bal, cost, charged > 0 && err == nil)
	store.markDirty(entry)
	if err != nil {
		return access.Charge{}, err
	}
	left := res.Spec.Limit - bal.claimedByOthers - bal.charged
	return access.Charge{
		Charged: charged, Quota: access.NewLimitState(res.Spec.Limit, left, of.till-res.At, res.At),
	}, nil
}

// Usage implements [access.Store]. It reads Redis, which has the calls of all servers.
func (store *Store) Usage(p *keys.Principal, spec access.LimitSpec, now access.Instant) (access.Usage, error) {
	if store.closed.Load() {
		return access.Usage{}, access.ErrClosed
	}
	asked := spec
	if p.Surface == keys.Live {
		asked.Window = access.KeyWindow
		asked.PerMinute = p.Plan.PerMinute
	}
	d, err := store.decide(p, &asked, now, modePeek)
	if err != nil {
		return access.Usage{}, err
	}

	usage := access.Usage{Period: d.quota.Period, Limit: spec.Limit, Used: d.used}
	if spec.Quota == access.DayQuota {
		usage.Period = calendar.Period{Start: d.period.from, End: d.period.till}
		usage.Minute = d.minute()
	}
	return usage, nil
}

// Ledger implements [access.Store] for calls of this server.
func (store *Store) Ledger(tenant string, since calendar.Day) ([]access.LedgerRow, error) {
	if store.closed.Load() {
		return nil, access.ErrClosed
	}
	return store.usageLog.Ledger(tenant, since)
}

// Stats implements [access.Store] with the figures of the usage log.
func (store *Store) Stats() access.StoreStats { return store.usageLog.Stats() }

// Err implements [access.Store]. It does not include the state of Redis: if that is unavailable, every
// server stays ready, or all of them would leave a load balancer at once. See [Store.Unavailable].
func (store *Store) Err() error {
	if store.closed.Load() {
		return access.ErrClosed
	}
	return store.usageLog.Err()
}

// Unavailable returns why Redis grants nothing, or nil.
func (store *Store) Unavailable() error { return store.client.unavailable() }

// Close implements [access.Store].
func (store *Store) Close() error {
	if store.closed.Swap(true) {
		return nil
	}
	store.end()
	return store.usageLog.Close()
}

// end stops the background loops.
func (store *Store) end() {
	store.stop()
	store.options.pacer.end()
	store.client.close()
}
