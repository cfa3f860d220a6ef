package access

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ninepocket/access/statedir"
	"ninepocket/internal/wal"
)

// TestFlipBeforeRest flips bits of calls that a server was given 200 for and then rested: each flip
// is damage, and none a torn end that is cut off in silence.
func TestFlipBeforeRest(t *testing.T) {
	t.Parallel()
	live, _ := faultKeys(t)
	dir := t.TempDir()
	now := instant(testTime)
	store, err := OpenLocal(dir, LocalOptions{Now: now, CheckpointEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()

	const calls = 30
	for range calls {
		now.Mono += 200
		now.Wall += 200
		if _, err := store.Finish(store.Admit(live, SpecFor(live, CardsGet), now).Reservation, true); err != nil {
			t.Fatal(err)
		}
	}

	// The last segment, as kill -9 leaves it, until the mark of the rest is in it.
	walDir := filepath.Join(dir, statedir.LogName)
	var records []int // payload lengths
	marked := func() bool {
		records = nil
		_, err := wal.Read(walDir, 0, func(_ uint64, payload []byte) error {
			records = append(records, len(payload))
			return nil
		})
		made := 0
		for _, length := range records {
			if length > 0 { // and no mark, which a slow machine has between the calls, too
				made++
			}
		}
		return err == nil && made == calls && records[len(records)-1] == 0
	}
	for deadline := time.Now().Add(time.Minute); !marked(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no mark after %v", records)
		}
	}

	firsts, err := wal.Segments(walDir)
	if err != nil {
		t.Fatal(err)
	}
	name := wal.SegmentName(firsts[len(firsts)-1])
	path := filepath.Join(walDir, name)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	const header, recordHeader = 20, 24
	out := t.TempDir()
	at := header
	for i, length := range records {
		if length == 0 {
			at += recordHeader
			continue
		}

		data[at+recordHeader+i%length] ^= 1
		if err := os.WriteFile(filepath.Join(out, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := wal.Read(out, firsts[len(firsts)-1]-1, func(uint64, []byte) error { return nil })
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("a flipped bit of record %d of %d: %v", i+1, len(records), err)
		}
		data[at+recordHeader+i%length] ^= 1
		at += recordHeader + length
	}
}
