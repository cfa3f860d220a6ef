package disktest

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// ErrDisk is the error of a [Disk] that fails without a specific reason.
var ErrDisk = errors.New("the disk said no")

// Call is a call to a disk.
type Call struct {
	// Op is open, create, read, write, truncate, sync, mkdir, link, symlink, rename, remove, list or
	// syncdir.
	Op   string
	Path string
	To   string // the new name of a rename or a link
	Data []byte // of a write
	// Mapped is set for a create or write of a file that grows through a mapping.
	Mapped bool
	// Change is set for an open for writing.
	Change bool
}

// Writes reports whether a call changes the disk, or opens a file for that.
func (c Call) Writes() bool { return c.Change || c.Op != "open" && c.Op != "read" && c.Op != "list" }

// String returns the operation and its paths.
func (c Call) String() string {
	if c.To != "" {
		return c.Op + " " + c.Path + " -> " + c.To
	}
	return c.Op + " " + c.Path
}

// Effect is what a rule does to a call: it waits, and then fails or is made. A write that fails writes
// its first Part bytes before.
type Effect struct {
	Wait time.Duration
	Fail error // nil: the call is made
	Part int
	// Forget makes the file lose the writes since the last good sync if this sync fails, as a page cache
	// may do. The next sync succeeds.
	Forget bool
	// Lie makes a call return success without being made.
	Lie bool
}

// Rule returns the effect on a call. It is called from many goroutines.
type Rule func(Call) Effect

// Nth is a rule that makes the K-th of the calls that Of selects fail, and no later one. Tests must not
// mistake that recovery for a repair. A nil Of selects every call that changes something.
type Nth struct {
	K     int
	Of    func(Call) bool
	Short bool // a write that fails writes half

	calls  atomic.Int64
	failed atomic.Pointer[Call]
}

// Rule implements [Rule].
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

// Failed returns the call that failed; it has no Op if there were fewer calls.
func (n *Nth) Failed() Call {
	if call := n.failed.Load(); call != nil {
		return *call
	}
	return Call{}
}

// Faults is a rule whose failures can begin and end. A log file loses the data of a failed sync. It is
// safe for concurrent use.
type Faults struct {
	// Name returns the name of a call for Set and Once; nil = its Op. A call with the name "" never
	// fails.
	Name func(Call) string

	mu      sync.Mutex
	failing map[string]error // by name
	once    map[string]error // only for the next call
	delay   time.Duration    // that a sync takes
}

// Set makes calls with a name fail from now on; nil ends that.
func (w *Faults) Set(op string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.once, op)
	if w.failing == nil {
		w.failing = map[string]error{}
	}
	w.failing[op] = err
}

// Once makes the next call with a name fail.
func (w *Faults) Once(op string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.once == nil {
		w.once = map[string]error{}
	}
	w.once[op] = err
}

// Delay makes every sync take this long.
func (w *Faults) Delay(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delay = d
}

// Rule implements [Rule].
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
	// Some failures come after everything is written, others before.
	if errors.Is(effect.Fail, syscall.EIO) {
		effect.Part = len(call.Data)
	}
	return effect
}

// FlipBit flips a bit in the middle of a file.
func FlipBit(tb testing.TB, name string) {
	tb.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(name, b, 0o600); err != nil {
		tb.Fatal(err)
	}
}
