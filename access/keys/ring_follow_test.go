package keys

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ninepocket/access/statedir"
	"ninepocket/internal/wal"
)

// ringOfOne is a ring over a file with one key.
func ringOfOne(t *testing.T) (ring *Ring, path string) {
	t.Helper()
	dir := t.TempDir()
	err := Update(dir, func(f *File) error {
		_, _, err := f.Create(NewKey{Tenant: "acme", Surface: Live, Plan: "pro"}, testTime)
		return err
	})
	if err == nil {
		ring, err = OpenRing(dir, DefaultPlans())
	}
	if err != nil {
		t.Fatal(err)
	}
	return ring, filepath.Join(dir, statedir.KeysName)
}

// TestKeysStayBad damages a keys file, repairs it, and damages it with the same bytes again. The
// error stays as long as the damage does, and each start and end is reported once.
func TestKeysStayBad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ring, path := ringOfOne(t)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		reported := ""
		go ring.Watch(t.Context(), Poll, func(changed bool, err error) {
			reported += fmt.Sprintf("[%t %t]", changed, err == nil)
		})

		// Ten looks each, and a call in between gets the same error.
		for _, content := range [][]byte{good, good[:90], good, good[:90], good[:80], good} {
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * Poll)
			synctest.Wait()
			for range 2 {
				err := ring.Reload()
				bad := len(content) != len(good)
				if errors.Is(err, wal.ErrCorrupt) != bad || ring.Stats().Readable == bad ||
					(ring.ReloadError() != nil) != bad {
					t.Fatalf("%d of %d bytes: %v, %+v, %v", len(content), len(good), err, ring.Stats(),
						ring.ReloadError())
				}
			}
			if ring.Len() != 1 {
				t.Fatal("the good keys are gone")
			}
		}

		// The two cuts have one message: both end too early.
		if want := "[false false][false true][false false][false true]"; reported != want {
			t.Errorf("told %s, want %s", reported, want)
		}
	})
}

// TestNoFileOfKeys puts other things in the place of a keys file. None of them makes a reader wait.
func TestNoFileOfKeys(t *testing.T) {
	t.Parallel()
	ring, path := ringOfOne(t)
	for what, put := range map[string]func() error{
		"a fifo":      func() error { return syscall.Mkfifo(path, 0o600) },
		"a directory": func() error { return os.Mkdir(path, 0o700) },
		"a device":    func() error { return os.Symlink("/dev/zero", path) },
	} {
		if err := errors.Join(os.Remove(path), put()); err != nil {
			t.Fatal(err)
		}

		if err := ring.Reload(); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v, want ErrDamaged", what, err)
		}
		if _, err := Read(filepath.Dir(path)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v, want ErrDamaged", what, err)
		}
	}
}

// TestKeysHang lets a reading of the keys file last: others wait for a while and get an error.
// Calls without need of the file do not wait.
func TestKeysHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ring, _ := ringOfOne(t)
		ring.reading <- struct{}{} // as a reading does that does not come back
		began := time.Now()
		if err := ring.SetPlans(DefaultPlans()); err != nil || len(ring.WithoutPlan(testTime)) != 0 || ring.Len() != 1 {
			t.Error(err)
		}
		if time.Since(began) != 0 {
			t.Errorf("they waited for %s", time.Since(began))
		}

		err := ring.Reload()
		if !errors.Is(err, ErrTimeout) || time.Since(began) != readTimeout || ring.Stats().Readable {
			t.Errorf("%v after %s", err, time.Since(began))
		}

		<-ring.reading
		if err := ring.Reload(); err != nil || !ring.Stats().Readable {
			t.Error("it answers again:", err)
		}
	})
}

// TestKeysInNoFile watches the keys of a demo, which are in no file: nothing is ever wrong with them.
func TestKeysInNoFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ring, err := FixedRing(NewFile(), DefaultPlans())
		if err != nil {
			t.Fatal(err)
		}

		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			ring.Watch(ctx, Poll, func(changed bool, err error) { t.Errorf("changed %t, %v", changed, err) })
		}()
		time.Sleep(time.Minute)
		cancel()
		<-done

		if err := ring.ReloadError(); err != nil {
			t.Error(err)
		}
	})
}

func TestRingStats(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	err := Update(dir, func(f *File) error {
		_, _, err := f.Create(NewKey{Tenant: "t", Surface: Live, Plan: "free"}, time.Now())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	ring, err := OpenRing(dir, DefaultPlans())
	if err != nil {
		t.Fatal(err)
	}
	if stats := ring.Stats(); stats != (RingStats{Keys: 1, Reloads: 1, Readable: true}) {
		t.Errorf("%+v", stats)
	}
	if err := os.WriteFile(filepath.Join(dir, "keys.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := ring.Reload(); err == nil {
		t.Fatal("a broken keys file is read")
	}
	if stats := ring.Stats(); stats != (RingStats{Keys: 1, Reloads: 1, Failures: 1}) {
		t.Errorf("%+v", stats)
	}
}
