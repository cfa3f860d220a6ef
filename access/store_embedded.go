package access

import (
	"time"

	"ninepocket/internal/wal"
)

// Embedded is the store of one machine: the truth is in memory, a write-ahead log makes every
// finished call durable, and a checkpoint in a bbolt file bounds the log. The bbolt file is open
// only while a checkpoint is written, so that other processes can read it between.
type Embedded struct{ *limits }

var _ Store = (*Embedded)(nil)

// EmbeddedOptions configure an Embedded store. Now is required.
type EmbeddedOptions struct {
	// Now is the present; later Instants must come from the same Clock.
	Now Instant
	// RepliesMax bounds the idempotency records of a tenant; 0 = 100,000.
	RepliesMax int
	// CheckpointEvery is the time between checkpoints; 0 = 10 s.
	CheckpointEvery time.Duration
	// Report is told of a failure when it happens, once, and nil when it is over; nil = nobody. What
	// wraps ErrUnavailable takes metering down, anything else delays a checkpoint alone.
	Report func(error)
	// Export makes the store note which of the ledger's rows change, for Changed.
	Export bool

	create     func(path string) (wal.Segment, error) // tests: log segments that fail
	checkpoint func() error                           // tests: called before a checkpoint commits
	boot       func() boot                            // tests: where the machine's boot stands
	inline     bool                                   // simulations: no goroutine, and no checkpoint by itself
	now        func() time.Time                       // simulations: when the log is mended
	unsynced   bool                                   // tests that do not cut the power: checkpoints leave fsync out
}

func (o *EmbeddedOptions) setDefaults() {
	if o.CheckpointEvery <= 0 {
		o.CheckpointEvery = 10 * time.Second
	}
	if o.boot == nil {
		o.boot = readBoot
	}
	if o.Report == nil {
		o.Report = func(error) {}
	}
}

// OpenEmbedded opens the store of a state directory, making it when it is not there. It reads the
// checkpoint and the log, so that counters, replies and the minute windows go on where they were.
// When another server has the directory the error is ErrLocked; when what is stored is damaged,
// ErrCorrupt.
func OpenEmbedded(stateDir string, options EmbeddedOptions) (*Embedded, error) {
	options.setDefaults()
	j, err := openJournal(stateDir, &options)
	if err != nil {
		return nil, err
	}
	return &Embedded{newLimits(j, options.RepliesMax)}, nil
}
