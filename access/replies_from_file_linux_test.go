package access

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ninepocket/internal/wal"
)

// mappings counts those of a file that this process has.
func mappings(t *testing.T, path string) int {
	t.Helper()
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	maps, _ := os.ReadFile("/proc/self/maps")
	return strings.Count(string(maps), path)
}

// descriptor returns the descriptor of a file that this process has open, -1 if it has none.
func descriptor(t *testing.T, path string) int {
	t.Helper()
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}

	for _, entry := range open {
		if leads, _ := os.Readlink(filepath.Join("/proc/self/fd", entry.Name())); leads == path {
			number, _ := strconv.Atoi(entry.Name())
			return number
		}
	}
	return -1
}

// TestRepeatedFromTheFile repeats a batch whose reply is in the checkpoint file alone. The file is
// opened once for all repetitions between two checkpoints. No checkpoint, backup or reader waits
// for them. A fault of the file has no effect after its end.
func TestRepeatedFromTheFile(t *testing.T) {
	t.Parallel()
	h := newBlockedCheckpoint(t)
	_, preview := faultKeys(t)
	now := instant(testTime)
	repeated := func() error {
		ticket := h.store.Admit(preview, SpecFor(preview, PricesBatch), now).Reservation
		claim, err := h.store.Begin(ticket, "batch5", BodyHash{1}, now)
		if _, ended := h.store.Finish(ticket, false); ended != nil {
			t.Fatal(ended)
		}
		if err == nil && (claim.Result != Replay || string(claim.Reply) != "reply of batch5") {
			t.Fatalf("outcome %v, %q", claim.Result, claim.Reply)
		}
		return err
	}
	isRepeated := func() (open int) {
		t.Helper()
		if err := repeated(); err != nil {
			t.Fatal(err)
		}
		return descriptor(t, h.path)
	}

	first := isRepeated()
	if first < 0 || isRepeated() != first {
		t.Error("the file is opened for each repetition")
	}
	if _, err := BackupState(filepath.Dir(h.path), filepath.Join(t.TempDir(), "copy")); err != nil {
		t.Error(err)
	}
	h.call()
	h.isWell()
	if h.store.Stats().CheckpointBusy > 0 || descriptor(t, h.path) >= 0 {
		t.Error("a checkpoint waited for repetitions, or left them a file that it wrote to")
	}
	if isRepeated() < 0 {
		t.Error("the file is closed after a repetition")
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

	// A file that is cut behind its first pages opens, and cannot be read. The mapping that was
	// there is left, and no others.
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
	copied, err := syscall.Dup(isRepeated())
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
	_, err = h.store.readReply("prev", NewReplyKey(PricesBatch, "batch5"), replyMeta{})
	if !errors.Is(err, wal.ErrClosed) {
		t.Errorf("of a store that is closed: %v", err)
	}
}
