//go:build unix

package disk_test

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"ninepocket/internal/disk"
	"ninepocket/internal/disk/disktest"
)

var (
	before = bytes.Repeat([]byte("before "), 300)
	after  = bytes.Repeat([]byte("what comes after "), 300)
)

// folder is one with a file that was put in place, and with what a crash left.
func folder(t *testing.T) (dir, name, staged string) {
	t.Helper()
	dir = t.TempDir()
	name = filepath.Join(dir, "CURRENT")
	staged = filepath.Join(dir, "CURRENT.part")
	if err := errors.Join(os.WriteFile(name, before, 0o600), os.WriteFile(staged, []byte("half"), 0o600)); err != nil {
		t.Fatal(err)
	}
	return dir, name, staged
}

// TestReplaceFails fails each call of Replace in turn, as a whole and after half a write: the file is
// one of the two, and the next attempt works.
func TestReplaceFails(t *testing.T) {
	t.Parallel()
	for _, short := range []bool{false, true} {
		failed := map[string]int{}
		for k := 1; ; k++ {
			_, name, staged := folder(t)
			nth := &disktest.Nth{K: k, Short: short}
			err := disk.Replace(disktest.New(nth.Rule), staged, name, after, 0o600)
			op := nth.Failed().Op
			if (op != "") != errors.Is(err, disktest.ErrDisk) {
				t.Fatalf("a failure of %q is told as %v", op, err)
			}

			got, err := os.ReadFile(name)
			if done := op == "" || op == "syncdir"; err != nil || done != bytes.Equal(got, after) ||
				!done && !bytes.Equal(got, before) {
				t.Fatalf("after a failure of %q there are %d bytes (%v)", op, len(got), err)
			}
			if op == "" {
				break
			}
			failed[op]++
			if err := disk.Replace(disk.OS, staged, name, after, 0o600); err != nil {
				t.Fatalf("after a failure of %q: %v", op, err)
			}
		}
		for _, op := range []string{"remove", "create", "write", "sync", "rename", "syncdir"} {
			if failed[op] != 1 {
				t.Errorf("%s failed %d times", op, failed[op])
			}
		}
	}
}

// TestReplacePowerCut cuts the power before each call of Replace, and when it has returned. Without any
// one of its syncs some cut breaks it.
func TestReplacePowerCut(t *testing.T) {
	t.Parallel()
	for _, lie := range []string{"", "sync", "syncdir"} {
		dir, name, staged := folder(t)
		on := disktest.New(nil)
		on.Watch(dir)
		dice := rand.New(rand.NewPCG(1, 2))
		broken := 0
		cut := func(done bool) {
			for _, files := range on.PowerCuts(dice, ".part") {
				got := files["/CURRENT"]
				if !bytes.Equal(got, after) && (done || !bytes.Equal(got, before)) {
					broken++
				}
			}
		}

		on.Set(func(call disktest.Call) disktest.Effect {
			if call.Writes() {
				cut(false)
			}
			return disktest.Effect{Lie: call.Op == lie}
		})
		if err := disk.Replace(on, staged, name, after, 0o600); err != nil {
			t.Fatal(err)
		}
		cut(true)
		if (broken > 0) != (lie != "") {
			t.Errorf("with a disk that lies of %q, %d cuts break the file", lie, broken)
		}
	}
}

// TestMkdirAllPowerCut makes a file in a folder three new levels down, and syncs no more than the
// file and its folder. A power cut loses no folder above them.
func TestMkdirAllPowerCut(t *testing.T) {
	t.Parallel()
	for _, lie := range []string{"", "syncdir"} {
		top := t.TempDir()
		on := disktest.New(nil)
		on.Watch(top)
		on.Set(func(call disktest.Call) disktest.Effect { return disktest.Effect{Lie: call.Op == lie} })

		store := filepath.Join(top, "srv", "cards", "store")
		name := filepath.Join(store, "CURRENT")
		err := errors.Join(disk.MkdirAll(on, store, 0o755), on.SyncDir(filepath.Dir(store)),
			disk.Replace(on, name+".part", name, after, 0o600))
		if err != nil {
			t.Fatal(err)
		}

		lost := 0
		for _, files := range on.PowerCuts(rand.New(rand.NewPCG(1, 2)), ".part") {
			if !bytes.Equal(files["/srv/cards/store/CURRENT"], after) {
				lost++
			}
		}
		if (lost > 0) != (lie != "") {
			t.Errorf("with a disk that lies of %q, %d cuts lose the file", lie, lost)
		}
	}
}

// TestReadFile reads files alone, and waits for no writer of a fifo.
func TestReadFile(t *testing.T) {
	t.Parallel()
	dir, name, _ := folder(t)
	if got, err := disk.ReadFile(disk.OS, name); err != nil || !bytes.Equal(got, before) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err := disk.ReadFile(disk.OS, name+".not"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}

	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, kind := range map[string]string{dir: "a directory", fifo: "neither file nor directory"} {
		_, err := disk.ReadFile(disk.OS, path)
		wrong, is := errors.AsType[*disk.NotRegularError](err)
		if !is || wrong.Kind != kind || disk.CheckFile(path) == nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}
