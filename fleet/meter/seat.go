package meter

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

// sweepEvery is how often shares that are not used are looked for.
const sweepEvery = time.Minute

// seatName names a share. A tenant's day and its credits have nothing in common.
type seatName struct {
	tenant    string
	allowance access.Allowance
}

// seat is a share with what several goroutines need.
type seat struct {
	mu sync.Mutex
	*share
	restive bool // it is in the store's list
	left    bool // nobody uses it any more: there may be another one

	// The latest span, and what it was named from: mostly that of the next call.
	named    span
	standing access.Standing
	reset    int64
}

// seatShards is how many parts the shares are in, so that cores seldom meet.
const seatShards = 64

// seats are shares by their names.
type seats [seatShards]struct {
	mu  sync.RWMutex
	all map[seatName]*seat
}

var seatSeed = maphash.MakeSeed()

func (name *seatName) shard() int { return int(maphash.String(seatSeed, name.tenant) % seatShards) }

// find returns a share, or nil.
func (ss *seats) find(name seatName) *seat {
	shard := &ss[name.shard()]
	shard.mu.RLock()
	defer shard.mu.RUnlock()
	return shard.all[name]
}

// put enters a share, unless there is one, and returns the one there is.
func (ss *seats) put(name seatName, made *seat) *seat {
	shard := &ss[name.shard()]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if found := shard.all[name]; found != nil {
		return found
	}
	if shard.all == nil {
		shard.all = map[seatName]*seat{}
	}
	shard.all[name] = made
	return made
}

func (ss *seats) drop(name seatName) {
	shard := &ss[name.shard()]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	delete(shard.all, name)
}

// each visits all shares. What comes or goes meanwhile may be visited, or not.
func (ss *seats) each(visit func(seatName, *seat)) {
	for i := range ss {
		shard := &ss[i]
		shard.mu.RLock()
		all := maps.Clone(shard.all)
		shard.mu.RUnlock()
		for name, st := range all {
			visit(name, st)
		}
	}
}

// sorted returns all shares, in order of their names.
func (ss *seats) sorted() []*seat {
	all := map[seatName]*seat{}
	ss.each(func(name seatName, st *seat) { all[name] = st })
	names := slices.SortedFunc(maps.Keys(all), func(a, b seatName) int {
		return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.allowance, b.allowance))
	})

	var out []*seat
	for _, name := range names {
		out = append(out, all[name])
	}
	return out
}

// seat returns a tenant's share.
func (store *Store) seat(p *keys.Principal, allowance access.Allowance) *seat {
	name := seatName{tenant: p.Tenant, allowance: allowance}
	if found := store.seats.find(name); found != nil {
		return found
	}

	n := store.names(p.Tenant)
	// One before it may have used the numbers.
	n.life = store.options.life + "x" + strconv.FormatUint(store.seated.Add(1), 36)
	if allowance == access.PeriodCredits {
		n.incarnation += creditsMark
	}
	made := &seat{share: newShare(n, store.options.Lease.Milliseconds(), store.now())}
	return store.seats.put(name, made)
}

// locked returns a tenant's share, and its caller unlocks it.
func (store *Store) locked(p *keys.Principal, allowance access.Allowance) *seat {
	for {
		st := store.seat(p, allowance)
		st.mu.Lock()
		if !st.left {
			return st
		}
		st.mu.Unlock()
	}
}

// sweep lets shares go that nobody has used for a while: of a year of tenants few call today. What they
// have charged is in the journal, and Redis has it as claimed.
func (store *Store) sweep(now access.Instant) {
	store.seats.each(func(name seatName, st *seat) {
		st.mu.Lock()
		defer st.mu.Unlock()
		if !st.restive && st.idle(now) {
			st.left = true
			store.seats.drop(name)
		}
	})
}

// leasedUnits counts the units that are taken ahead and not used.
func (store *Store) leasedUnits() (units int64) {
	now := store.now()
	store.seats.each(func(_ seatName, st *seat) {
		st.mu.Lock()
		defer st.mu.Unlock()
		for _, w := range st.windows {
			if w.seq != 0 && !w.leaseOver(now) {
				units += w.left
			}
		}
	})
	return units
}
