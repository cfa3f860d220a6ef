package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestLock takes the lock of a file and of a folder: a second one is refused, waits for a while or for
// as long as it takes, and has it when the first is given up.
func TestLock(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, mode := range map[string]fs.FileMode{filepath.Join(folder, "LOCK"): 0o644, folder: fs.ModeDir} {
		first, err := TakeLock(name, mode, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, wait := range []time.Duration{0, 20 * time.Millisecond} {
			begun := time.Now()
			if _, err := TakeLock(name, mode, wait); !errors.Is(err, ErrLocked) || time.Since(begun) < wait {
				t.Fatalf("a lock that is held, after %v: %v", time.Since(begun), err)
			}
		}
		if _, err := TakeShared(name, 0); !errors.Is(err, ErrLocked) {
			t.Fatal(err)
		}

		second := make(chan error)
		go func() {
			lock, err := TakeLock(name, mode, Forever)
			if err == nil {
				err = lock.Unlock()
			}
			second <- err
		}()
		select {
		case err := <-second:
			t.Fatalf("who waits for ever is through: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
		if err := errors.Join(first.Unlock(), <-second); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSharedLock has readers at the same time, and no writer with them.
func TestSharedLock(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	if _, err := TakeShared(name, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the lock of no file: %v", err)
	}
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	first, err := TakeShared(name, 0)
	if err != nil {
		t.Fatal(err)
	}
	second, err := TakeShared(name, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := TakeLock(name, 0o600, 0); !errors.Is(err, ErrLocked) {
		t.Fatalf("a writer beside readers: %v", err)
	}
	if err := errors.Join(first.Unlock(), second.Unlock()); err != nil {
		t.Fatal(err)
	}
	if last, err := TakeLock(name, 0o600, 0); err != nil || last.Unlock() != nil {
		t.Fatal(err)
	}
}

// TestRelocatedLock moves a folder that is locked away, and puts another in its place.
func TestRelocatedLock(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := TakeLock(folder, fs.ModeDir, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()

	if lock.Relocated() {
		t.Error("it is where it was")
	}
	if err := os.Rename(folder, folder+".old"); err != nil {
		t.Fatal(err)
	}
	if !lock.Relocated() {
		t.Error("it is gone")
	}

	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if !lock.Relocated() {
		t.Error("another is there")
	}
}
