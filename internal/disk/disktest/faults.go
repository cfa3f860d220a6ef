package disktest

import (
	"errors"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// ErrDisk is the error of a [Disk] that fails for no better reason.
var ErrDisk = errors.New("the disk said no")

// Call is a call that is made to a disk.
type Call struct {
	// Op is open, create, read, write, truncate, sync, mkdir, link, symlink, rename, remove, list or
	// syncdir.
	Op   string
	Path string
	To   string // the new name of a rename or a link
	Data []byte // that a write writes
	// Mapped says that a file grows, or is to grow, through a mapping: of a create and of a write.
	Mapped bool
	// Change says of an open that it is for writing.
	Change bool
}

// Writes reports whether a call changes the disk, or opens a file for that.
func (c Call) Writes() bool { return c.Change || c.Op != "open" && c.Op != "read" && c.Op != "list" }

// String spells a call without what it writes.
func (c Call) String() string {
	if c.To != "" {
		return c.Op + " " + c.Path + " -> " + c.To
	}
	return c.Op + " " + c.Path
}

// Effect is what becomes of a call: it waits, and then it fails or goes on. A write that fails writes
// its first Part bytes before.
type Effect struct {
	Wait time.Duration
	Fail error // nil: it goes on
	Part int
	// Forget says of a sync that fails that the file loses what was written since the last good
	// one. That is what a page cache may do. The next sync succeeds.
	Forget bool
	// Lie says of a sync that it was done, which it was not.
	Lie bool
}

// Rule judges calls. It is called from many goroutines.
type Rule func(Call) Effect

// Nth is a rule by which the K-th of the calls that Of is true of fails, and no later one. Nobody
// must take the recovery for a repair. A nil Of is true of every call that changes something.
type Nth struct {
	K     int
	Of    func(Call) bool
	Short bool // a write that fails writes half

	calls  atomic.Int64
	failed atomic.Pointer[Call]
}

// Rule is the rule.
func (n *Nth) Rule(call Call) Effect {
	if n.Of == nil && !call.Writes() || n.Of != nil && !n.Of(call) || n.calls.Add(1) != int64(n.K) {
		return Effect{}
	}
	n.failed.Store(&call)

	effect := Effect{Fail: ErrDisk}
	if n.Short {
		effect.Part = len(call.Data) / 2
	}
	return effect
}

// Failed is the call that failed; it has no Op when there were fewer calls.
func (n *Nth) Failed() Call {
	if call := n.failed.Load(); call != nil {
		return *call
	}
	return Call{}
}

// Faults is a rule whose faults come and go, as the environment's do. A log forgets what a failed
// sync was to save. It is safe for concurrent use.
type Faults struct {
	// Name is how a call is called in what follows, nil for its Op; "" is a call that never fails.
	Name func(Call) string

	mu      sync.Mutex
	failing map[string]error // by name
	once    map[string]error // of the next call alone
	delay   time.Duration    // that a sync takes
}

// Set makes calls of a name fail from now on; nil ends that.
func (w *Faults) Set(op string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.once, op)
	if w.failing == nil {
		w.failing = map[string]error{}
	}
	w.failing[op] = err
}

// Once makes the next call of a name fail.
func (w *Faults) Once(op string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.once == nil {
		w.once = map[string]error{}
	}
	w.once[op] = err
}

// Delay makes every sync take so long.
func (w *Faults) Delay(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delay = d
}

// Rule is the rule.
func (w *Faults) Rule(call Call) Effect {
	name := call.Op
	if w.Name != nil {
		name = w.Name(call)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var effect Effect
	if name == "sync" {
		effect.Wait = w.delay
	}

	effect.Fail = w.once[name]
	delete(w.once, name)
	if effect.Fail == nil {
		effect.Fail = w.failing[name]
	}
	effect.Forget = effect.Fail != nil
	// Some failures come when everything is there, others before anything is.
	if errors.Is(effect.Fail, syscall.EIO) {
		effect.Part = len(call.Data)
	}
	return effect
}
