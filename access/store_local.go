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

// LocalOptions configure an LocalStore store. Now is required.
type LocalOptions struct {
	// Now is the present; later Instants must come from the same Clock.
	Now Instant
	// MaxIdempotencyRecords bounds the idempotency records of a tenant; 0 = 100,000.
	MaxIdempotencyRecords int
	// CheckpointEvery is the time between checkpoints; 0 = 10 s.
	CheckpointEvery time.Duration
	// Report is told of a failure when it happens, once, and nil when it is over; nil = nobody. What
	// wraps ErrUnavailable takes metering down, anything else delays a checkpoint alone.
	Report func(error)
	// Export makes the store note which of the ledger's rows change, for Changed.
	Export bool

	Seams state.Seams // zero but in tests and simulations
	boot  func() Boot // tests: where the machine's boot stands
}

func (o *LocalOptions) setDefaults() {
	if o.CheckpointEvery <= 0 {
		o.CheckpointEvery = 10 * time.Second
	}
	if o.boot == nil {
		o.boot = func() Boot { return ReadClocks().Boot }
	}
	if o.Report == nil {
		o.Report = func(error) {}
	}
}

// OpenLocal opens the store of a state directory, making it when it is not there. It reads the
// checkpoint and the log, so that counters, replies and the minute windows go on where they were.
// When another server has the directory the error is ErrLocked; when what is stored is damaged,
// ErrCorrupt.
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

// Memory is the store that forgets: counters live as long as the process. It serves the demo and
// tests.
type Memory struct{ *limits }

var _ Store = (*Memory)(nil)

// MemoryOptions configure a Memory store. The zero value is ready.
type MemoryOptions struct {
	MaxIdempotencyRecords int   // idempotency records kept for a tenant; 0 = 100,000
	MaxReplyBytes         int64 // and their bytes in all, which only memory has; 0 = 64 MiB
}

// memoryEpoch starts the store time of a Memory store; any positive time far from zero does.
const memoryEpoch = int64(1) << 40

// NewMemory returns an empty store.
func NewMemory(options MemoryOptions) *Memory {
	l := newLimits(newUsageLog(memoryEpoch), options.MaxIdempotencyRecords)
	l.maxUnsaved = cmp.Or(options.MaxReplyBytes, maxUnsavedBytes)
	return &Memory{l}
}
