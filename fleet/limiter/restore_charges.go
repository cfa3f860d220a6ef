package limiter

import (
	"context"

	"ninepocket/access"
)

// fillInterval is how long a failed restoration is not tried again, in milliseconds.
const fillInterval = int64(5000)

// missingCharges are charges of other servers that Redis may lack, because it was emptied.
type missingCharges struct {
	balance *periodBalance
	dataset string        // id of the data set
	done    chan struct{} // closed at the end of the restoration
}

// findMissing returns the charges that Redis may lack of a period: one that began before its data set
// did. ours means that the caller has to fill them. It is nil if nothing is missing, or if it is
// unknown. The caller holds the entry's lock.
func (store *Store) findMissing(bal *periodBalance, now access.Instant) (missing *missingCharges, ours bool) {
	state := store.client.state.Load()
	if store.options.ChargesByServer == nil || bal.restoredFor == state.dataset || !state.available(store.now()) ||
		now.Mono < bal.retryRestoreAt {
		return nil, false
	}
	if bal.from >= state.datasetSince {
		bal.restoredFor = state.dataset
		return nil, false
	}
	if bal.restoring != nil {
		return bal.restoring, false
	}
	bal.restoring = &missingCharges{balance: bal, dataset: state.dataset, done: make(chan struct{})}
	return bal.restoring, true
}

// fillMissing adds other servers' charges to Redis, or waits for the call that does. If they are not
// available, calls proceed without them: both Redis was emptied and the database is down then.
func (store *Store) fillMissing(entry *limiterEntry, missing *missingCharges, ours bool, tenant string,
	kind access.QuotaKind,
) error {
	if !ours {
		if store.options.pacer.wait(2*store.options.Timeout, missing.done, nil) < 0 {
			return errTimeout
		}
		return nil
	}

	err := store.restore(tenant, kind, missing.balance.quotaPeriod)
	entry.mu.Lock()
	defer entry.mu.Unlock()
	missing.balance.restoring = nil
	missing.balance.retryRestoreAt = store.now().Mono + fillInterval
	if err == nil {
		missing.balance.restoredFor = missing.dataset
	}
	close(missing.done)
	return nil
}

func (store *Store) restore(tenant string, kind access.QuotaKind, of quotaPeriod) error {
	ctx, cancel := context.WithTimeout(context.Background(), store.options.Timeout)
	defer cancel()
	charged, err := store.options.ChargesByServer(ctx, tenant, kind, of.from, of.till)
	if err != nil {
		return err
	}

	mark := ""
	if kind == access.PeriodCredits {
		mark = creditsSuffix
	}
	var args []string
	for serverID, units := range charged {
		if serverID != store.options.ServerID && units > 0 {
			args = append(args, serverID+mark, number(units))
		}
	}
	if len(args) == 0 {
		return nil
	}
	rk := store.redisKeys(tenant)
	args = append([]string{number(of.till), number(int64(len(args)))}, args...)
	_, err = store.do(&command{script: scriptRestore, keys: []string{rk.key("q", of.name)}, args: args},
		store.options.Timeout)
	return err
}
