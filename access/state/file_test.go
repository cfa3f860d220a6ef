package state

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ninepocket/access/statedir"
	"ninepocket/internal/disk/disktest"
	"ninepocket/internal/wal"
)

// notes is content of one kind: replies by their keys.
type notes struct {
	fresh, taken map[string]string
	loaded       map[string]string
}

func newNotes() *notes { return &notes{fresh: map[string]string{}, loaded: map[string]string{}} }

func (n *notes) Load(_ Bucket, key, value []byte) error {
	n.loaded[string(key)] = string(value)
	return nil
}

func (n *notes) Replay(uint64, []byte) error { return nil }

func (n *notes) Loaded(Mark) {}

func (n *notes) Take() Mark {
	n.taken = n.fresh
	n.fresh = map[string]string{}
	return Mark{}
}

func (n *notes) Write(into *Writer) {
	for key, value := range n.taken {
		into.Reply([]byte(key), []byte(value))
	}
}

func (n *notes) Keep() { n.taken = nil }

func (n *notes) Restore() {
	maps.Copy(n.fresh, n.taken)
	n.taken = nil
}

func (n *notes) Carry(*wal.Log) {}

func (n *notes) Renew() {}

// TestOneReader reads from a checkpoint file again and again: it is opened once between two checkpoints,
// also by who reads while its pages are gone.
func TestOneReader(t *testing.T) {
	t.Parallel()
	content := newNotes()
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
	if _, err := read("a"); !errors.Is(err, wal.ErrCorrupt) || !d.file.torn || d.file.reader != nil {
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
	again := newNotes()
	if _, err := LoadQuiet(path, again); err != nil || len(again.loaded) != 3 {
		t.Errorf("%v is stored, %v", again.loaded, err)
	}
}
