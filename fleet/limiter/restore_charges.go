package limiter

import (
	"context"

	"ninepocket/access"
)

// fillInterval is how often what others charged is asked for again where nobody said it, in
// milliseconds.
const fillInterval = int64(5000)

// missingCharges is what Redis may lack: what others charged to an account before Redis was
// emptied.
type missingCharges struct {
	balance *periodBalance
	dataset string        // the mark of the data
	done    chan struct{} // closed when nobody waits for it any more
}

// findMissing returns what Redis may lack of an account: its span began before the data there did,
// so that something of it may have been lost; ours says that the caller is to fill it. It is nil
// when nothing is missing, or nobody can say it. The caller holds the seat.
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

// fillMissing enters into Redis what others charged, or waits for the call that does. Where nobody
// says it, calls go on: that takes an emptied Redis and a database that is away at once.
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
	for incarnation, units := range charged {
		if incarnation != store.options.Incarnation && units > 0 {
			args = append(args, incarnation+mark, number(units))
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
