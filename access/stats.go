package access

import (
	"math/rand/v2"
	"sync/atomic"

	"ninepocket/access/state"
	"ninepocket/internal/counters"
)

// FinishSample is how many calls of Finish there are for one that is timed. Finish is on every
// request's path and takes about a microsecond; two readings of the clock would add a tenth.
const FinishSample = 16

// The rows of metrics.times.
const (
	timeBegin = iota
	timeFinish
	timeCommit
	timeRows
)

// metrics counts what a store does.
type metrics struct {
	times            *counters.Durations
	cancelledRecords atomic.Uint64 // counted before they are cancelled
}

// sampled reports whether a call of Finish is to be timed.
func sampled() bool {
	return rand.Uint32()%FinishSample == 0 //nolint:gosec // which calls are timed is no secret
}

// StoreStats are a store's figures since it was opened.
type StoreStats struct {
	Begin  counters.Histogram
	Commit counters.Histogram
	Finish counters.Histogram // of one call in FinishSample

	Replies    int   // idempotency records, including pending ones
	ReplyBytes int64 // of replies that are in no checkpoint

	Durable bool // the rest is only of a store with a state directory
	state.Stats
}
