package meter

import (
	"context"

	"ninepocket/access"
)

// fillEvery is how often what others charged is asked for again where nobody said it, in milliseconds.
const fillEvery = int64(5000)

// gap is what Redis may lack: what others charged to an account before Redis was emptied.
type gap struct {
	acc  *account
	born string        // the mark of the data
	done chan struct{} // closed when nobody waits for it any more
}

// lacks returns what Redis may lack of an account: its span began before the data there did, so that
// something of it may have been lost; ours says that the caller is to fill it. It is nil when nothing is
// missing, or nobody can say it. The caller holds the seat.
func (store *Store) lacks(acc *account, now access.Instant) (lack *gap, ours bool) {
	state := store.link.state.Load()
	if store.options.Recorded == nil || acc.whole == state.born || !state.open(store.now()) || now.Mono < acc.tryAt {
		return nil, false
	}
	if acc.from >= state.bornAt {
		acc.whole = state.born
		return nil, false
	}
	if acc.filling != nil {
		return acc.filling, false
	}
	acc.filling = &gap{acc: acc, born: state.born, done: make(chan struct{})}
	return acc.filling, true
}

// fill enters into Redis what others charged, or waits for the call that does. Where nobody says it,
// calls go on: that takes an emptied Redis and a database that is away at once.
func (store *Store) fill(st *seat, lack *gap, ours bool, tenant string, allowance access.Allowance) error {
	if !ours {
		if store.options.pacer.wait(2*store.options.Timeout, lack.done, nil) < 0 {
			return errLate
		}
		return nil
	}

	err := store.restore(tenant, allowance, lack.acc.span)
	st.mu.Lock()
	defer st.mu.Unlock()
	lack.acc.filling = nil
	lack.acc.tryAt = store.now().Mono + fillEvery
	if err == nil {
		lack.acc.whole = lack.born
	}
	close(lack.done)
	return nil
}

func (store *Store) restore(tenant string, allowance access.Allowance, of span) error {
	ctx, cancel := context.WithTimeout(context.Background(), store.options.Timeout)
	defer cancel()
	charged, err := store.options.Recorded(ctx, tenant, allowance, of.from, of.till)
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
