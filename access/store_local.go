package access

import (
	"cmp"
	"time"

	"ninepocket/access/state"
)

// LocalStore is the store of one machine. The truth is in memory, a write-ahead log makes every
// finished call durable, and a checkpoint in a bbolt file bounds the log. The bbolt file is open
// only while a checkpoint is written, so that other processes can read it between.
type LocalStore struct{ *limits }

var _ Store = (*LocalStore)(nil)

// LocalOptions configure a LocalStore. Now is required.
type LocalOptions struct {
	// Now is the present; later Instants must come from the same Clock.
	Now Instant
	// MaxIdempotencyRecords bounds the idempotency records of a tenant; 0 = 100,000.
	MaxIdempotencyRecords int
	// CheckpointEvery is the time between checkpoints; 0 = 10 s.
	CheckpointEvery time.Duration
	// Report receives a failure when it begins, and nil when it is over; nil disables it. An error that
	// wraps ErrUnavailable takes metering down, any other only delays a checkpoint.
	Report func(error)
	// Export makes the store record which ledger rows change, for Changed.
	Export bool

	Seams state.Seams // zero but in tests and simulations
	boot  func() Boot // set by tests
}

func (o *LocalOptions) setDefaults() {
	o.CheckpointEvery = cmp.Or(o.CheckpointEvery, 10*time.Second)
	if o.boot == nil {
		o.boot = func() Boot { return ReadClocks().Boot }
	}
	if o.Report == nil {
		o.Report = func(error) {}
	}
}

// OpenLocal opens the store of a state directory, which it makes if it is missing. It reads the
// checkpoint and the log, so that counters, replies and minute windows continue. If another server
// has the directory the error is ErrLocked; if stored data is damaged, ErrCorrupt.
func OpenLocal(stateDir string, options LocalOptions) (*LocalStore, error) {
	options.setDefaults()
	ul := newUsageLog(0)
	ul.content = &content{usage: ul, now: options.Now, boot: options.boot}
	if options.Export {
		ul.content.changedRows = map[LedgerRow]bool{}
	}

	dir, err := state.Open(stateDir, ul.content, state.Options{
		Every: options.CheckpointEvery, Seams: options.Seams,
		Report: func(err error, down bool) {
			if down {
				err = unavailable(err)
			}
			options.Report(err)
		},
	})
	if err != nil {
		return nil, err
	}
	ul.dir = dir
	return &LocalStore{newLimits(ul, options.MaxIdempotencyRecords)}, nil
}

// Memory is a store whose counters live as long as the process. It serves the demo and tests.
type Memory struct{ *limits }

var _ Store = (*Memory)(nil)

// MemoryOptions configure a Memory store. The zero value is ready.
type MemoryOptions struct {
	MaxIdempotencyRecords int // of a tenant; 0 = 100,000
	// MaxReplyBytes bounds the replies of all tenants. 0 = half a kilobyte for each of a tenant's records, but at
	// least 64 MiB and at most 1 GiB.
	MaxReplyBytes int64
}

// memoryEpoch is where the store time of a Memory store starts; any time far above zero will do.
const memoryEpoch = int64(1) << 40

// NewMemory returns an empty store.
func NewMemory(options MemoryOptions) *Memory {
	l := newLimits(newUsageLog(memoryEpoch), options.MaxIdempotencyRecords)
	room := min(int64(l.maxRecords), 1<<21) * usualReply
	l.maxUnsaved = cmp.Or(options.MaxReplyBytes, max(room, maxUnsavedBytes))
	return &Memory{l}
}
