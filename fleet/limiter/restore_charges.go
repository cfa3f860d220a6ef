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
	acc     *periodBalance
	dataset string        // the mark of the data
	done    chan struct{} // closed when nobody waits for it any more
}

// findMissing returns what Redis may lack of an account: its span began before the data there did,
// so that something of it may have been lost; ours says that the caller is to fill it. It is nil
// when nothing is missing, or nobody can say it. The caller holds the seat.
func (store *Store) findMissing(acc *periodBalance, now access.Instant) (lack *missingCharges, ours bool) {
	state := store.link.state.Load()
	if store.options.ChargesByServer == nil || acc.restoredFor == state.dataset || !state.open(store.now()) ||
		now.Mono < acc.retryRestoreAt {
		return nil, false
	}
	if acc.from >= state.datasetSince {
		acc.restoredFor = state.dataset
		return nil, false
	}
	if acc.restoring != nil {
		return acc.restoring, false
	}
	acc.restoring = &missingCharges{acc: acc, dataset: state.dataset, done: make(chan struct{})}
	return acc.restoring, true
}

// fillMissing enters into Redis what others charged, or waits for the call that does. Where nobody
// says it, calls go on: that takes an emptied Redis and a database that is away at once.
func (store *Store) fillMissing(st *limiterEntry, lack *missingCharges, ours bool, tenant string,
	allowance access.QuotaKind,
) error {
	if !ours {
		if store.options.pacer.wait(2*store.options.Timeout, lack.done, nil) < 0 {
			return errLate
		}
		return nil
	}

	err := store.restore(tenant, allowance, lack.acc.quotaPeriod)
	st.mu.Lock()
	defer st.mu.Unlock()
	lack.acc.restoring = nil
	lack.acc.retryRestoreAt = store.now().Mono + fillInterval
	if err == nil {
		lack.acc.restoredFor = lack.dataset
	}
	close(lack.done)
	return nil
}

func (store *Store) restore(tenant string, allowance access.QuotaKind, of quotaPeriod) error {
	ctx, cancel := context.WithTimeout(context.Background(), store.options.Timeout)
	defer cancel()
	charged, err := store.options.ChargesByServer(ctx, tenant, allowance, of.from, of.till)
	if err != nil {
		return err
	}

	mark := ""
	if allowance == access.PeriodCredits {
		mark = creditsMark
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
	n := store.names(tenant)
	args = append([]string{number(of.till), number(int64(len(args)))}, args...)
	_, err = store.do(&command{script: scriptRestore, keys: []string{n.key("q", of.name)}, args: args},
		store.options.Timeout)
	return err
}
