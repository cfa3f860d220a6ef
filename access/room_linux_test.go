package access

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"ninepocket/access/keys"
	"ninepocket/access/statedir"
	"ninepocket/internal/disk/disktest"
	"ninepocket/internal/testsweep"
)

// TestLogFillsItsDisk makes more calls than a small file system has room for in one log, which is mapped
// or written. Checkpoints make the room again, with nobody's help: calls are refused for a moment, and
// all that were not are charged.
func TestLogFillsItsDisk(t *testing.T) {
	t.Parallel()
	t.Run("mapped", func(t *testing.T) { fillDisk(t, true) })
	t.Run("written", func(t *testing.T) { fillDisk(t, false) })
}

func fillDisk(t *testing.T, mapped bool) {
	t.Parallel()
	disk := t.TempDir()
	if err := syscall.Mount("none", disk, "tmpfs", 0, "size=800k"); err != nil {
		t.Skipf("skipped: a small file system, because it cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })

	live, _ := faultKeys(t)
	r := &removed{dir: filepath.Join(disk, "state"), disk: disktest.Unsynced(mapped)}
	r.blockedCheckpoint = &blockedCheckpoint{t: t, live: live, path: filepath.Join(r.dir, statedir.CheckpointName)}
	err := keys.Update(r.dir, func(f *keys.File) error {
		_, _, err := f.Create(keys.NewKey{Tenant: "live", Surface: keys.Live, Plan: "pro"}, testTime)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	r.open()

	refused := 0
	answered := time.Now()
	for r.acked < 40_000/int64(testsweep.Stride(4)) || refused == 0 {
		d := r.store.Admit(live, SpecFor(live, CardsGet), instant(testTime.Add(time.Duration(r.acked)*time.Minute)))
		var err error
		if d.Result == Admitted { // a refused call has no reservation
			_, err = r.store.Finish(d.Reservation, true)
		}

		switch {
		case d.Result == Unavailable || errors.Is(err, ErrUnavailable):
			refused++
			if time.Since(answered) > time.Minute {
				t.Fatalf("no room after %d calls: %v", r.acked, r.store.Err())
			}
			time.Sleep(time.Millisecond)
		case err != nil || d.Result != Admitted:
			t.Fatalf("a call is %v: %v", d.Result, err)
		default:
			r.acked++
			answered = time.Now()
		}
	}
	r.soon("all is well", func() bool { return r.store.Err() == nil })
	r.dies()
}
