package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMountedFaults puts the state directory on separate file systems, where the kernel makes the
// faults. One of 1.5 MB is filled up. One is on a disk that refuses writes, so that fsync fails.
// One is frozen, so that every change waits. It needs to be root.
func TestMountedFaults(t *testing.T) {
	t.Parallel()
	t.Run("full file system", func(t *testing.T) {
		t.Parallel()
		v := newFaultServer(t)
		v.movesTo(func(folder string) {
			mounted(t, folder, "mount", "-t", "tmpfs", "-o", "size=1500k", "none", folder)
		})
		v.meetsFull(filepath.Join(v.dir, "state", "fill"))
	})

	t.Run("disk without writes", func(t *testing.T) {
		t.Parallel()
		v := newFaultServer(t)
		disk := t.TempDir()
		v.movesTo(func(folder string) { mountedDisk(t, folder, disk) })
		v.meetsFull(filepath.Join(disk, "fill"))
	})

	t.Run("frozen file system", func(t *testing.T) {
		t.Parallel()
		v := newFaultServer(t)
		v.movesTo(func(folder string) { mountedDisk(t, folder, t.TempDir()) })
		v.meetsFrozen()
	})
}

// mountedDisk mounts a file system on a disk of its own: a file with holes. While its content has
// no room, new blocks cannot be written.
func mountedDisk(t *testing.T, folder, disk string) {
	t.Helper()
	if _, err := exec.LookPath("mkfs.ext4"); err != nil {
		t.Skip("skipped: a disk that fails, because there is no mkfs.ext4")
	}
	mounted(t, disk, "mount", "-t", "tmpfs", "-o", "size=24m", "none", disk)

	image := filepath.Join(disk, "image")
	if err := errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, 48<<20)); err != nil {
		t.Fatal(err)
	}
	format := exec.Command("mkfs.ext4", "-q", "-O", "^has_journal", "-E", "nodiscard", image)
	if text, err := format.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	mounted(t, folder, "mount", "-o", "loop,errors=continue", image, folder)
}

// Requests of ioctl that make a file system wait with all changes, and go on.
const (
	freeze = 0xc0045877
	thaw   = 0xc0045878
)

// meetsFrozen freezes the state's file system for a while, the process with it where it copies into a
// mapped page.
func (v *faultServer) meetsFrozen() {
	v.t.Helper()
	v.fault = "a frozen file system"
	v.rounds(50 * time.Millisecond)
	folder, err := os.Open(filepath.Join(v.dir, "state"))
	if err != nil {
		v.t.Fatal(err)
	}
	end := sync.OnceFunc(func() { _ = unix.IoctlSetInt(int(folder.Fd()), thaw, 0) })
	v.t.Cleanup(func() {
		end() // it is over, or waits for the timer's call to be
		_ = folder.Close()
	})
	if err := unix.IoctlSetInt(int(folder.Fd()), freeze, 0); err != nil {
		v.t.Skipf("skipped: a frozen file system, because %v", err)
	}

	lasts := time.Second
	if long() {
		lasts = 5 * time.Second
	}
	time.AfterFunc(lasts, end)
	refused := v.rounds(lasts)
	took := v.comesBack()
	if refused > 0 {
		v.t.Errorf("%d calls were refused\n%s", refused, v.log)
	}
	v.settle()
	v.t.Logf("frozen for %v: %d calls answered, all is well %v after its end", lasts, v.answered,
		took.Round(time.Millisecond))
}

// mounted mounts something until the test ends.
func mounted(t *testing.T, folder string, command ...string) {
	t.Helper()
	if text, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		t.Skipf("skipped: faults of mounted file systems, because they cannot be mounted here: %s",
			strings.TrimSpace(string(text)))
	}
	t.Cleanup(func() {
		if err := unix.Unmount(folder, unix.MNT_DETACH); err != nil {
			t.Errorf("cannot unmount %s: %v", folder, err)
		}
	})
}

// movesTo moves the state directory to a file system of its own, and starts the server there.
func (v *faultServer) movesTo(mount func(folder string)) {
	v.t.Helper()
	state := filepath.Join(v.dir, "state")
	before := filepath.Join(v.dir, "before")
	if err := errors.Join(os.Rename(state, before), os.Mkdir(state, 0o700)); err != nil {
		v.t.Fatal(err)
	}
	mount(state)
	if err := os.CopyFS(state, os.DirFS(before)); err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { _ = v.cmd.Process.Kill(); _ = v.cmd.Wait() }) // before it is unmounted
	v.start(nil)
}

// meetsFull fills a file system until nothing is left, and empties it again.
func (v *faultServer) meetsFull(path string) {
	v.t.Helper()
	v.fault = v.t.Name()
	if n := v.rounds(50 * time.Millisecond); n > 0 {
		v.t.Fatalf("%d calls were refused by a server that is well\n%s", n, v.log)
	}

	fill, err := os.Create(path)
	if err != nil {
		v.t.Fatal(err)
	}
	for chunk := bytes.Repeat([]byte{'x'}, 64<<10); len(chunk) > 0; {
		if _, err := fill.Write(chunk); err != nil {
			chunk = chunk[:len(chunk)/2]
		}
	}
	if err := fill.Close(); err != nil {
		v.t.Fatal(err)
	}
	refused := v.rounds(usually())
	for deadline := time.Now().Add(time.Minute); refused == 0 && time.Now().Before(deadline); {
		refused += v.round()
	}
	if refused == 0 {
		v.t.Errorf("nothing was refused: there was no fault\n%s", v.log)
	}

	if err := os.Remove(path); err != nil {
		v.t.Fatal(err)
	}
	took := v.comesBack()
	if n := v.rounds(50 * time.Millisecond); n > 0 {
		v.t.Errorf("%d calls were refused after the fault\n%s", n, v.log)
	}
	v.settle()
	v.t.Logf("%d calls answered, %d refused, all is well %v after its end", v.answered, v.refused,
		took.Round(time.Millisecond))
}
