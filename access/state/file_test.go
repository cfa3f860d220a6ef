package state

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ninepocket/access/statedir"
	"ninepocket/internal/disk/disktest"
	"ninepocket/internal/wal"
)

// fakeContent is content of one kind: replies by their keys.
type fakeContent struct {
	fresh, taken map[string]string
	loaded       map[string]string
}

func newFakeContent() *fakeContent {
	return &fakeContent{fresh: map[string]string{}, loaded: map[string]string{}}
}

func (n *fakeContent) Load(_ Bucket, key, value []byte) error {
	n.loaded[string(key)] = string(value)
	return nil
}

func (n *fakeContent) Replay(uint64, []byte) error { return nil }

func (n *fakeContent) Loaded(Mark) {}

func (n *fakeContent) Take() Mark {
	n.taken = n.fresh
	n.fresh = map[string]string{}
	return Mark{}
}

func (n *fakeContent) Write(into *Writer) {
	for key, value := range n.taken {
		into.Reply([]byte(key), []byte(value))
	}
}

func (n *fakeContent) Confirm() { n.taken = nil }

func (n *fakeContent) Restore() {
	maps.Copy(n.fresh, n.taken)
	n.taken = nil
}

func (n *fakeContent) Carry(*wal.Log) {}

func (n *fakeContent) MarkAllDirty() {}

// TestOneReader reads from a checkpoint file again and again: it is opened once between two checkpoints,
// also by who reads while its pages are gone.
func TestOneReader(t *testing.T) {
	t.Parallel()
	content := newFakeContent()
	path := t.TempDir()
	d, err := Open(path, content, Options{Seams: Seams{Inline: true, Disk: disktest.Unsynced(true)}})
	if err != nil {
		t.Fatal(err)
	}
	save := func(key string) {
		t.Helper()
		content.fresh[key] = "of " + key
		if err := d.Save(time.Second); err != nil {
			t.Fatal(err)
		}
	}
	read := func(key string) (got string, err error) {
		err = d.Between(func(f *File) error {
			return f.Read(func(v *View) error {
				value, err := v.Reply([]byte(key))
				got = string(value)
				return err
			})
		})
		return got, err
	}

	save("a")
	var first *boltFile
	for range 3 {
		if got, err := read("a"); err != nil || got != "of a" {
			t.Fatalf("%q, %v", got, err)
		}
		if first == nil {
			first = d.file.reader
		}
		if d.file.reader == nil || d.file.reader != first {
			t.Error("the file is opened for each reading")
		}
	}
	save("b")
	if got, err := read("b"); err != nil || got != "of b" || d.file.reader == first {
		t.Errorf("after a checkpoint %q, %v", got, err)
	}

	// Pages that are gone are an error, not the end of the process.
	file := filepath.Join(path, statedir.CheckpointName)
	whole, err := os.ReadFile(file)
	if err == nil {
		err = os.Truncate(file, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := read("a"); !errors.Is(err, wal.ErrCorrupt) || !d.file.damagedPages || d.file.reader != nil {
		t.Errorf("pages that are gone: %v", err)
	}
	if err := os.WriteFile(file, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	save("c")

	if err := errors.Join(d.Stop(true), d.Release()); err != nil {
		t.Fatal(err)
	}
	if _, err := read("a"); !errors.Is(err, wal.ErrClosed) {
		t.Errorf("of a file that is closed: %v", err)
	}
	again := newFakeContent()
	if _, err := LoadOnce(path, again); err != nil || len(again.loaded) != 3 {
		t.Errorf("%v is stored, %v", again.loaded, err)
	}
}

// TestFileGrowsWithContent writes checkpoints that grow. The file is never much larger than what is in it,
// although its mapping has room for all of them: a start reads the file, and a backup copies it.
func TestFileGrowsWithContent(t *testing.T) {
	t.Parallel()
	content := newFakeContent()
	dir := t.TempDir()
	d, err := Open(dir, content, Options{Seams: Seams{Inline: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(d.Stop(true), d.Release()) }()

	total := 0
	for n := range 10 {
		for k := range 400 {
			key := fmt.Sprintf("%03d of checkpoint %d", k, n)
			content.fresh[key] = strings.Repeat("r", 400)
			total += len(key) + 400
		}
		if err := d.Save(time.Second); err != nil {
			t.Fatal(err)
		}

		info, err := os.Stat(filepath.Join(dir, statedir.CheckpointName))
		if err != nil {
			t.Fatal(err)
		}
		// A page may be half empty, and pages of the checkpoint before are free.
		if limit := 3*total + growStep + 256<<10; info.Size() > int64(limit) {
			t.Fatalf("%d bytes in checkpoint %d, whose content has %d", info.Size(), n, total)
		}
	}
}
