package limiter

import (
	"context"
	"maps"
	"strings"

	"ninepocket/access"
)

// resets are the faults of the databases in a world: Redis is emptied, the ledger is restored from
// an older copy, and the clock of Redis is stepped.
type resets struct {
	on        bool
	born      int64 // when the data set was made, in Unix milliseconds; 0 = Redis is empty
	emptiedAt int64

	ledger, saved ledger
	gone          ledger           // charges of processes that ended
	short         map[string]int64 // units that no server could report to an emptied Redis, by tenant
}

// ledger has the rows of PostgreSQL: units by server id and tenant.
type ledger map[string]map[string]int64

func (l ledger) clone() ledger {
	out := ledger{}
	for serverID, all := range l {
		out[serverID] = maps.Clone(all)
	}
	return out
}

// raise stores the larger of the present and the reported count.
func (l ledger) raise(serverID, tenant string, units int64) {
	if l[serverID] == nil {
		l[serverID] = map[string]int64{}
	}
	l[serverID][tenant] = max(l[serverID][tenant], units)
}

// totals are the charges in the usage log of a server, by tenant.
func (s *simServer) totals() map[string]int64 {
	rows, err := s.usageLog.Ledger("", 0)
	if err != nil {
		s.w.t.Fatal(err)
	}
	out := map[string]int64{}
	for _, row := range rows {
		out[row.Tenant] += row.Charged
	}
	return out
}

// export reports the totals of a server to the ledger, now and every five seconds.
func (s *simServer) export() {
	if s.up {
		for tenant, units := range s.totals() {
			s.w.ledger.raise(s.serverID(), tenant, units)
		}
	}
	s.sleep(5_000_000, s.export)
}

// ends notes what a process that ends has charged, or may have.
func (s *simServer) ends() {
	all := s.totals()
	all["org"] += int64(len(s.usageLog.Unsettled()))
	for tenant, units := range all {
		s.w.gone.raise(s.serverID(), tenant, units)
	}
	if s.store != nil && (s.w.born == 0 || !strings.HasSuffix(s.store.client.syncedDataset, number(s.w.born))) {
		s.w.forgets(s)
	}
}

// forgets notes that replies which only a process knows are gone with it: their batches are charged again.
func (w *world) forgets(s *simServer) {
	for _, key := range w.keys {
		if key.by == s && key.byRestarts == s.restarts {
			key.unbilled = true
		}
	}
}

// reset does one of the faults of this file.
func (w *world) reset() {
	switch w.IntN(4) {
	case 0:
		if w.emptiedAt == 0 || w.now-w.emptiedAt > 100_000_000 {
			w.empty()
		}
	case 1:
		w.saved = w.ledger.clone()
	case 2:
		if w.saved != nil {
			w.ledger = w.saved.clone()
			w.events.restored++
		}
	default:
		w.skew = w.Int64N(400_001) - 200_000
	}
}

// empty makes Redis forget everything, its replica included.
func (w *world) empty() {
	w.events.emptied++
	w.emptiedAt = w.now
	w.born = 0
	w.redis.hashes = map[string]map[string]string{}
	w.redis.lists = map[string][]string{}
	w.writes = nil
	for _, key := range w.keys {
		// The server with its reply is gone, or the reply's fate is unknown.
		if key.void || key.by != nil && (!key.by.up || key.by.restarts != key.byRestarts) {
			key.unbilled = true
		}
	}
}

// dataset is the data set of Redis, which the first who asks makes.
func (w *world) dataset() string {
	if w.born == 0 {
		w.born = (w.now + w.skew) / 1000
	}
	return number(w.born)
}

// recorded returns the charges that servers reported.
func (w *world) recorded(
	_ context.Context, tenant string, _ access.QuotaKind, _, _ int64,
) (map[string]int64, error) {
	out := map[string]int64{}
	for _, s := range w.servers {
		if s.up && !w.resets.on {
			out[s.serverID()] += s.totals()[tenant]
		}
	}
	if !w.resets.on {
		return out, nil
	}

	for serverID, all := range w.ledger {
		out[serverID] = all[tenant]
	}
	w.lacks(tenant, out)
	return out, nil
}

// lacks notes charges of unknown servers that Redis has not received: calls continue without them.
func (w *world) lacks(tenant string, known map[string]int64) {
	short := int64(0)
	for serverID, all := range w.truth() {
		if !w.claims(serverID, tenant) {
			short += max(0, all[tenant]-known[serverID])
		}
	}
	w.short[tenant] = max(w.short[tenant], short)
}

// truth is what all servers charged, or may have.
func (w *world) truth() ledger {
	all := w.gone.clone()
	for _, s := range w.servers {
		if s.up {
			for tenant, units := range s.totals() {
				all.raise(s.serverID(), tenant, units+int64(len(s.inFlight)))
			}
		}
	}
	return all
}

// claims says whether Redis knows what a server has of a tenant's allowance.
func (w *world) claims(serverID, tenant string) bool {
	for key, fields := range w.redis.hashes {
		if !strings.HasPrefix(key, "np:{"+tenant+"}:q:") {
			continue
		}
		for _, suffix := range []string{"", creditsSuffix} {
			if _, there := fields["s:"+serverID+suffix]; there {
				return true
			}
		}
	}
	return false
}

// tenantOf is the tenant of a command.
func tenantOf(c *command) string {
	_, rest, _ := strings.Cut(c.keys[0], "{")
	tenant, _, _ := strings.Cut(rest, "}")
	return tenant
}
