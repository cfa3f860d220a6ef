//go:build unix

package access

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// mappings counts those of a file that this process has; 0 where nobody tells.
func mappings(t *testing.T, path string) int {
	t.Helper()
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	maps, _ := os.ReadFile("/proc/self/maps")
	return strings.Count(string(maps), path)
}

// TestRepeatedFromTheFile repeats a batch whose reply is in the checkpoint file alone. The file is
// opened once for all repetitions between two checkpoints; no checkpoint, backup or reader waits for
// them; and what is wrong with the file for a while is over with it.
func TestRepeatedFromTheFile(t *testing.T) {
	t.Parallel()
	h := newHeldCheckpoint(t)
	_, preview := faultKeys(t)
	now := instant(testTime)
	repeated := func() error {
		ticket := h.store.Admit(preview, RuleFor(preview, PricesBatch), now).Ticket
		claim, err := h.store.Begin(ticket, "batch5", BodyHash{1}, now)
		if _, ended := h.store.Finish(ticket, false); ended != nil {
			t.Fatal(ended)
		}
		if err == nil && (claim.Outcome != Replay || string(claim.Reply) != "reply of batch5") {
			t.Fatalf("outcome %v, %q", claim.Outcome, claim.Reply)
		}
		return err
	}
	isRepeated := func() *boltFile {
		t.Helper()
		if err := repeated(); err != nil {
			t.Fatal(err)
		}
		return h.store.saver.reader
	}

	first := isRepeated()
	if first == nil || isRepeated() != first {
		t.Error("the file is opened for each repetition")
	}
	if _, err := BackupState(filepath.Dir(h.path), filepath.Join(t.TempDir(), "copy")); err != nil {
		t.Error(err)
	}
	h.call()
	h.isWell()
	if h.store.Stats().CheckpointBusy > 0 || h.store.saver.reader != nil {
		t.Error("a checkpoint waited for repetitions, or left them a file that it wrote to")
	}
	if second := isRepeated(); second == nil || second == first {
		t.Error("the file of before the checkpoint is read")
	}

	// Its pages are gone, and there again.
	whole := h.read()
	if err := os.Truncate(h.path, 0); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := repeated(); !errors.Is(err, ErrUnavailable) {
			t.Errorf("of a file that is empty: %v", err)
		}
	}
	h.write(whole)
	isRepeated()
	h.isWell()

	// What is cut behind its first pages opens, and cannot be read. The mapping that was there is left, and
	// no others.
	whole = h.read()
	isRepeated()
	before := mappings(t, h.path)
	if err := os.Truncate(h.path, 2*int64(os.Getpagesize())); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if err := repeated(); !errors.Is(err, ErrUnavailable) {
			t.Errorf("of a file that is cut: %v", err)
		}
	}
	if n := mappings(t, h.path); n > before {
		t.Errorf("%d mappings are left of a file that is cut, %d before", n, before)
	}
	h.write(whole)
	isRepeated()
	h.isWell()

	// A process that is being forked has a copy of every descriptor for a moment.
	copied, err := syscall.Dup(int(isRepeated().file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	h.isWell()
	if err := syscall.Close(copied); err != nil {
		t.Error(err)
	}

	if err := h.store.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = h.store.saver.readReply("prev", nameReply(PricesBatch, "batch5"), answer{})
	if !errors.Is(err, errClosed) {
		t.Errorf("of a store that is closed: %v", err)
	}
}
