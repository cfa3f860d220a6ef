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

// sweepInterval is how often unused limiters are evicted.
const sweepInterval = time.Minute

// limiterKey identifies a limiter. A tenant has one for the day quota and one for credits.
type limiterKey struct {
	tenant string
	kind   access.QuotaKind
}

// limiterEntry is a limiter with its lock.
type limiterEntry struct {
	mu sync.Mutex
	*limiter
	dirty   bool // it is in the store's dirtyList
	evicted bool // it is not in the table any more, which may have another one

	// The latest period, and what its name was made of: mostly the same for the next call.
	lastPeriod quotaPeriod
	quota      access.QuotaState
	reset      int64
}

// tableShards is the number of parts of the table, so that cores seldom wait for each other.
const tableShards = 64

// limiterTable has the limiters by their keys.
type limiterTable [tableShards]struct {
	mu  sync.RWMutex
	all map[limiterKey]*limiterEntry
}

var tableSeed = maphash.MakeSeed()

func (key *limiterKey) shard() int { return int(maphash.String(tableSeed, key.tenant) % tableShards) }

// find returns a limiter, or nil.
func (table *limiterTable) find(key limiterKey) *limiterEntry {
	shard := &table[key.shard()]
	shard.mu.RLock()
	defer shard.mu.RUnlock()
	return shard.all[key]
}

// put adds a limiter unless the key has one, and returns the one in the table.
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

// each visits all limiters. Those that are added or removed meanwhile may be visited, or not.
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

// sorted returns all limiters, in order of their keys.
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

// entry returns a tenant's limiter, which it makes the first time.
func (store *Store) entry(p *keys.Principal, kind access.QuotaKind) *limiterEntry {
	key := limiterKey{tenant: p.Tenant, kind: kind}
	if found := store.limiters.find(key); found != nil {
		return found
	}

	rk := store.redisKeys(p.Tenant)
	// An evicted limiter may have used the same sequence numbers.
	rk.sessionID = store.options.sessionID + "x" + strconv.FormatUint(store.entrySeq.Add(1), 36)
	if kind == access.PeriodCredits {
		rk.serverID += creditsSuffix
	}
	made := &limiterEntry{limiter: newLimiter(rk, store.options.Lease.Milliseconds(), store.now())}
	return store.limiters.put(key, made)
}

// lockEntry returns a tenant's limiter, locked.
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

// sweep evicts limiters that were not used for a while: of the tenants of a year few call today. Their
// charges are in the usage log, and claimed in Redis.
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

// leasedUnits counts leased calls that are not used.
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
