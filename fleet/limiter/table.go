package limiter

import (
	"cmp"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
)

// sweepInterval is how often shares that are not used are looked for.
const sweepInterval = time.Minute

// limiterKey names a share. A tenant's day and its credits have nothing in common.
type limiterKey struct {
	tenant string
	kind   access.QuotaKind
}

// entry is a share with what several goroutines need.
type limiterEntry struct {
	mu sync.Mutex
	*limiter
	dirty   bool // it is in the store's list
	evicted bool // nobody uses it any more: there may be another one

	// The latest span, and what it was named from: mostly that of the next call.
	lastPeriod quotaPeriod
	quota      access.QuotaState
	reset      int64
}

// tableShards is how many parts the shares are in, so that cores seldom meet.
const tableShards = 64

// limiters are shares by their names.
type limiterTable [tableShards]struct {
	mu  sync.RWMutex
	all map[limiterKey]*limiterEntry
}

var tableSeed = maphash.MakeSeed()

func (key *limiterKey) shard() int { return int(maphash.String(tableSeed, key.tenant) % tableShards) }

// find returns a share, or nil.
func (table *limiterTable) find(key limiterKey) *limiterEntry {
	shard := &table[key.shard()]
	shard.mu.RLock()
	defer shard.mu.RUnlock()
	return shard.all[key]
}

// put enters a share, unless there is one, and returns the one there is.
func (table *limiterTable) put(key limiterKey, made *limiterEntry) *limiterEntry {
	shard := &table[key.shard()]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if found := shard.all[key]; found != nil {
		return found
	}
	if shard.all == nil {
		shard.all = map[limiterKey]*limiterEntry{}
	}
	shard.all[key] = made
	return made
}

func (table *limiterTable) drop(key limiterKey) {
	shard := &table[key.shard()]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	delete(shard.all, key)
}

// each visits all shares. What comes or goes meanwhile may be visited, or not.
func (table *limiterTable) each(visit func(limiterKey, *limiterEntry)) {
	for i := range table {
		shard := &table[i]
		shard.mu.RLock()
		all := maps.Clone(shard.all)
		shard.mu.RUnlock()
		for key, entry := range all {
			visit(key, entry)
		}
	}
}

// sorted returns all shares, in order of their names.
func (table *limiterTable) sorted() []*limiterEntry {
	all := map[limiterKey]*limiterEntry{}
	table.each(func(key limiterKey, entry *limiterEntry) { all[key] = entry })
	names := slices.SortedFunc(maps.Keys(all), func(a, b limiterKey) int {
		return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.kind, b.kind))
	})

	var out []*limiterEntry
	for _, key := range names {
		out = append(out, all[key])
	}
	return out
}

// entry returns a tenant's share.
func (store *Store) entry(p *keys.Principal, kind access.QuotaKind) *limiterEntry {
	key := limiterKey{tenant: p.Tenant, kind: kind}
	if found := store.limiters.find(key); found != nil {
		return found
	}

	rk := store.redisKeys(p.Tenant)
	// One before it may have used the numbers.
	rk.sessionID = store.options.sessionID + "x" + strconv.FormatUint(store.entrySeq.Add(1), 36)
	if kind == access.PeriodCredits {
		rk.incarnation += creditsSuffix
	}
	made := &limiterEntry{limiter: newLimiter(rk, store.options.Lease.Milliseconds(), store.now())}
	return store.limiters.put(key, made)
}

// lockEntry returns a tenant's share, and its caller unlocks it.
func (store *Store) lockEntry(p *keys.Principal, kind access.QuotaKind) *limiterEntry {
	for {
		entry := store.entry(p, kind)
		entry.mu.Lock()
		if !entry.evicted {
			return entry
		}
		entry.mu.Unlock()
	}
}

// sweep lets shares go that nobody has used for a while: of a year of tenants few call today. What
// they have charged is in the journal, and Redis has it as claimed.
func (store *Store) sweep(now access.Instant) {
	store.limiters.each(func(key limiterKey, entry *limiterEntry) {
		entry.mu.Lock()
		defer entry.mu.Unlock()
		if !entry.dirty && entry.idle(now) {
			entry.evicted = true
			store.limiters.drop(key)
		}
	})
}

// leasedUnits counts the units that are taken ahead and not used.
func (store *Store) leasedUnits() (units int64) {
	now := store.now()
	store.limiters.each(func(_ limiterKey, entry *limiterEntry) {
		entry.mu.Lock()
		defer entry.mu.Unlock()
		for _, w := range entry.windows {
			if w.seq != 0 && !w.leaseOver(now) {
				units += w.left
			}
		}
	})
	return units
}
