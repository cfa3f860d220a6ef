//go:build unix

package access

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"ninepocket/access/keys"
	"ninepocket/access/state"
	"ninepocket/access/statedir"
	"ninepocket/internal/disk/disktest"
)

// blockedCheckpoint is a store whose checkpoint file somebody else has hands on.
type blockedCheckpoint struct {
	t     *testing.T
	store *LocalStore
	path  string
	live  *keys.Principal
	acked int64

	commit func() error // before a checkpoint takes place; nil does nothing
}

func newBlockedCheckpoint(t *testing.T) *blockedCheckpoint {
	t.Helper()
	dir := smallState(t)
	live, _ := faultKeys(t)
	h := &blockedCheckpoint{t: t, path: filepath.Join(dir, statedir.CheckpointName), live: live}

	disk := disktest.Unsynced(true)
	disk.Set(func(call disktest.Call) (effect disktest.Effect) {
		if h.commit != nil && verb(call) == "checkpoint" {
			effect.Fail = h.commit()
		}
		return effect
	})
	seams := state.Seams{Inline: true, Disk: disk}
	var err error
	h.store, err = OpenLocal(dir, LocalOptions{Now: instant(testTime), boot: noBoot, Seams: seams})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.store.Close() })
	h.acked = h.ledger()
	return h
}

// call makes a call that is charged.
func (h *blockedCheckpoint) call() {
	h.t.Helper()
	now := instant(testTime)
	if _, err := h.store.Finish(h.store.Admit(h.live, SpecFor(h.live, CardsGet), now).Reservation, true); err != nil {
		h.t.Fatal(err)
	}
	h.acked++
}

func (h *blockedCheckpoint) ledger() (sum int64) {
	h.t.Helper()
	rows, err := h.store.Ledger("live", 0)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, row := range rows {
		sum += row.Charged
	}
	return sum
}

func (h *blockedCheckpoint) read() []byte {
	h.t.Helper()
	data, err := os.ReadFile(h.path)
	if err != nil {
		h.t.Fatal(err)
	}
	return data
}

func (h *blockedCheckpoint) write(data []byte) {
	h.t.Helper()
	if err := os.WriteFile(h.path, data, 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// isWell wants the next checkpoint to be written, and nothing to be lost or counted twice.
func (h *blockedCheckpoint) isWell() {
	h.t.Helper()
	if err := h.store.SaveCheckpoint(); err != nil {
		h.t.Errorf("the checkpoint after that: %v", err)
	}
	if got := h.ledger(); got != h.acked {
		h.t.Errorf("%d calls are charged, want %d", got, h.acked)
	}
}

// TestFaultsOfMappedPages cuts a checkpoint file short while bbolt has it mapped, so that its pages
// are gone. Reading them is an error: no signal ends the process, and no lock stays locked.
// Metering goes on, and the checkpoint with it once the file is whole.
func TestFaultsOfMappedPages(t *testing.T) {
	t.Parallel()
	h := newBlockedCheckpoint(t)
	whole := h.read()
	err := h.store.dir.Between(func(file *state.File) error {
		nothing := func(*state.View) error { return nil }
		if err := errors.Join(file.Read(nothing), os.Truncate(h.path, 0)); err != nil {
			t.Fatal(err)
		}
		return file.Read(nothing)
	})
	if !errors.Is(err, ErrCorrupt) {
		t.Errorf("reading pages that are gone: %v", err)
	}

	h.write(whole)
	h.call()
	h.commit = func() error { return os.Truncate(h.path, 0) }
	if err := h.store.SaveCheckpoint(); !errors.Is(err, ErrCorrupt) {
		t.Errorf("writing into pages that are gone: %v", err)
	}
	h.commit = nil
	h.call()
	if err := h.store.SaveCheckpoint(); err == nil {
		t.Error("a checkpoint was written into what is left")
	}

	h.write(whole)
	h.isWell()
}

// TestAnotherCheckpointFile takes a running server's checkpoint file away, empties it, and puts an
// older one in its place. No checkpoint is written to it, because only the right file has its
// content. Metering continues, and checkpoints continue once the file is back.
func TestAnotherCheckpointFile(t *testing.T) {
	t.Parallel()
	h := newBlockedCheckpoint(t)
	older := h.read()
	h.call()
	h.isWell()
	right := h.read()
	for what, change := range map[string]func(){
		"gone":  func() { _ = os.Remove(h.path) },
		"empty": func() { h.write(nil) },
		"older": func() { h.write(older) },
	} {
		change()
		for range 2 {
			h.call()
			if err := h.store.SaveCheckpoint(); err == nil {
				t.Fatalf("%s: a checkpoint was written", what)
			}
		}
		if _, err := os.Stat(h.path); what == "gone" && err == nil {
			t.Errorf("another file was begun")
		}

		h.write(right)
		h.isWell()
		right = h.read()
	}
}
