//go:build unix

package access

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"ninepocket/access/state"
	"ninepocket/access/statedir"
	"ninepocket/internal/disk/disktest"
)

// removed is a running store whose files somebody removes or moves.
type removed struct {
	*blockedCheckpoint
	dir  string
	disk *disktest.Disk // nil: as usual

	mu      sync.Mutex
	reports []error
}

func newRemoved(t *testing.T) *removed {
	t.Helper()
	r := &removed{dir: filepath.Join(t.TempDir(), "state")}
	if err := os.Rename(smallState(t), r.dir); err != nil {
		t.Fatal(err)
	}
	live, _ := faultKeys(t)
	r.blockedCheckpoint = &blockedCheckpoint{t: t, live: live, path: filepath.Join(r.dir, statedir.CheckpointName)}
	r.open()
	r.acked = r.ledger()
	return r
}

// open opens the store of the directory.
func (r *removed) open() {
	r.t.Helper()
	if r.disk == nil {
		r.disk = disktest.Unsynced(true)
	}

	var err error
	r.store, err = OpenLocal(r.dir, LocalOptions{
		Now: instant(testTime), CheckpointEvery: time.Hour, boot: noBoot,
		Report: func(err error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.reports = append(r.reports, err)
		},
		Seams: state.Seams{Disk: r.disk},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(r.store.Kill)
}

// reported reports whether an error was reported.
func (r *removed) reported(want error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, err := range r.reports {
		if errors.Is(err, want) {
			return true
		}
	}
	return false
}

// soon waits for something that the store does by itself.
func (r *removed) soon(what string, done func() bool) {
	r.t.Helper()
	for range 3000 {
		if done() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.t.Fatalf("within half a minute, not: %s", what)
}

// dies kills the store, and wants the next one to know of every call.
func (r *removed) dies() {
	r.t.Helper()
	r.store.Kill()
	if report, err := VerifyState(r.dir); err != nil || len(report.Damage) > 0 {
		r.t.Errorf("it left %q: %v", report.Damage, err)
	}
	r.open()
	r.isWell()
}

// TestRemovedLog removes the log of a running store, whole or its open segment. That is seen
// without a call, reported and counted, and a checkpoint takes the log's place: the process may die
// then.
func TestRemovedLog(t *testing.T) {
	t.Parallel()
	for what, remove := range map[string]func(*removed) error{
		"the directory": func(r *removed) error { return os.RemoveAll(filepath.Join(r.dir, statedir.LogName)) },
		"every segment": func(r *removed) error {
			names, err := filepath.Glob(filepath.Join(r.dir, statedir.LogName, "*"))
			for _, name := range names {
				err = errors.Join(err, os.Remove(name))
			}
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r := newRemoved(t)
			for range 5 {
				r.call()
			}
			if err := remove(r); err != nil {
				t.Fatal(err)
			}

			r.soon("the loss is told", func() bool { return r.reported(state.ErrLogLost) })
			r.soon("there is a log again", func() bool { return len(r.store.dir.Log.MissingSegments()) == 0 })
			if got := r.store.Stats().LogLost; got == 0 {
				t.Error("the loss is not counted")
			}
			r.dies()
			r.call()
			r.dies()
		})
	}
}

// TestMovedState moves the directory of a running store away, and puts a copy in its place, which
// another store opens. The first one writes nothing there, refuses calls, and goes on when its
// directory is back.
func TestMovedState(t *testing.T) {
	t.Parallel()
	r := newRemoved(t)
	r.call()
	away := r.dir + "-away"
	if err := errors.Join(os.Rename(r.dir, away), os.CopyFS(r.dir, os.DirFS(away))); err != nil {
		t.Fatal(err)
	}
	r.soon("the move is seen", func() bool {
		return errors.Is(r.store.Err(), statedir.ErrMoved) && r.reported(statedir.ErrMoved)
	})
	if d := r.store.Admit(r.live, SpecFor(r.live, CardsGet), instant(testTime)); d.Result != Unavailable {
		t.Errorf("a call is %v", d.Result)
	}

	first := r.store
	r.open()
	r.isWell()
	before, err := figures(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.SaveCheckpoint(); !errors.Is(err, statedir.ErrMoved) {
		t.Errorf("a checkpoint: %v, want ErrMoved", err)
	}
	if _, err := first.Checkpoint(true, testTime); !errors.Is(err, statedir.ErrMoved) {
		t.Errorf("a new checkpoint: %v, want ErrMoved", err)
	}
	if after, err := figures(r.dir); err != nil || after != before {
		t.Errorf("the copy was changed: %v\n%s\n%s", err, before, after)
	}

	r.store.Kill()
	if err := errors.Join(os.RemoveAll(r.dir), os.Rename(away, r.dir)); err != nil {
		t.Fatal(err)
	}
	r.store = first
	r.soon("it is back", func() bool { return r.store.Err() == nil && r.reported(nil) })
	r.call()
	r.dies()
}

// TestCheckpointAnew takes the checkpoint file of a running store away, or puts another in its
// place. On request the store begins a new file, from which the next store knows the usage of every
// account.
func TestCheckpointAnew(t *testing.T) {
	t.Parallel()
	used := func(r *removed) int64 {
		t.Helper()
		usage, err := r.store.Usage(r.live, SpecFor(r.live, CardsGet), instant(testTime))
		if err != nil {
			t.Fatal(err)
		}
		return usage.Used
	}

	for what, change := range map[string]func(*removed) error{
		"gone":  func(r *removed) error { return os.Remove(r.path) },
		"empty": func(r *removed) error { return os.Truncate(r.path, 0) },
		"cut":   func(r *removed) error { return os.Truncate(r.path, 5000) },
		"directory": func(r *removed) error {
			return errors.Join(os.Remove(r.path), os.Mkdir(r.path, 0o700))
		},
	} {
		r := newRemoved(t)
		r.call()
		r.isWell()
		r.call()
		want := used(r)
		if err := change(r); err != nil {
			t.Fatal(err)
		}

		if _, err := r.store.Checkpoint(false, testTime); err == nil {
			t.Errorf("%s: a checkpoint was written", what)
		}
		aside, err := r.store.Checkpoint(true, testTime)
		if err != nil || (aside == "") != (what == "gone") {
			t.Fatalf("%s: moved to %q: %v", what, aside, err)
		}
		if aside != "" {
			if _, err := os.Stat(aside); err != nil {
				t.Error(err)
			}
		}

		r.acked = r.ledger()
		r.dies()
		if got := used(r); got != want {
			t.Errorf("%s: the account has used %d, want %d", what, got, want)
		}
	}
}

// TestCheckpointsAnewTogether asks for a new checkpoint file many times at once, where the file is gone.
// One of them begins it, and no other takes it for lost: it has rows of the ledger already.
func TestCheckpointsAnewTogether(t *testing.T) {
	t.Parallel()
	for range 20 {
		r := newRemoved(t)
		r.call()
		r.isWell()
		r.call()
		if err := os.Remove(r.path); err != nil {
			t.Fatal(err)
		}

		var asking sync.WaitGroup
		begin := make(chan struct{})
		for range 16 {
			asking.Go(func() {
				<-begin
				aside, err := r.store.Checkpoint(true, testTime)
				if aside != "" || err != nil {
					t.Errorf("moved to %q: %v", aside, err)
				}
			})
		}
		close(begin)
		asking.Wait()
		r.acked = 1 // since the checkpoint before
		r.isWell()
		r.dies()
	}
}

// TestRepliesOfALostCheckpoint repeats batches whose replies were in the lost file alone, also to the
// next store: they are refused, and not charged again.
func TestRepliesOfALostCheckpoint(t *testing.T) {
	t.Parallel()
	r := newRemoved(t)
	r.isWell()
	if err := os.Remove(r.path); err != nil {
		t.Fatal(err)
	}
	if _, err := r.store.Checkpoint(true, testTime); err != nil {
		t.Fatal(err)
	}

	_, preview := faultKeys(t)
	refused := func(when string) {
		t.Helper()
		for i := range 8 {
			ticket := Reservation{Principal: preview, Spec: SpecFor(preview, PricesBatch)}
			claim, err := r.store.Begin(ticket, fmt.Sprint("batch", i), BodyHash{1}, instant(testTime))
			if err == nil {
				t.Errorf("%s: batch%d is claimed: %+v", when, i, claim)
			}
		}
	}
	refused("the same store")
	r.acked = r.ledger()
	r.dies()
	refused("the next one")
}

// TestCheckpointAnewWithoutALog asks for a new checkpoint file where it is the log that cannot be made:
// the file that is there stays.
func TestCheckpointAnewWithoutALog(t *testing.T) {
	t.Parallel()
	r := newRemoved(t)
	r.call()
	r.isWell()
	r.call()
	log := filepath.Join(r.dir, statedir.LogName)
	if err := errors.Join(os.RemoveAll(log), os.Symlink("nowhere", log)); err != nil {
		t.Fatal(err)
	}
	if aside, err := r.store.Checkpoint(true, testTime); aside != "" || err == nil {
		t.Errorf("moved to %q: %v", aside, err)
	}

	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	r.isWell()
	r.dies()
}
