package access

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"sync"
	"testing"
)

// testEntry is the n-th of many different entries.
func testEntry(n int) *entry {
	e := &entry{
		tenant: fmt.Sprint("tenant", n%3), key: fmt.Sprint("key_", n%5), op: CardsGet, window: KeyWindow, allowance: DayQuota,
		charged: int64(n % 2), at: windowEpoch + int64(n), wall: windowEpoch + int64(n), day: DayOf(windowEpoch),
	}
	if n%4 == 3 {
		e.op, e.window, e.allowance, e.period = PricesBatch, TenantWindow, PeriodCredits, monthOf(windowEpoch)
		e.reply = &replyEntry{name: fmt.Sprint("idem", n), body: BodyHash{byte(n)}, data: bytes.Repeat([]byte{byte(n)}, n)}
	}
	return e
}

// writeLog writes entries 1 to n into segments of per entries, and returns the
// directory and the path of the last segment.
func writeLog(t testing.TB, n, per int) (dir, last string) {
	t.Helper()
	dir = t.TempDir()
	w, err := startWAL(dir, 1, newMeter(), writeSegment)
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= n; i++ {
		if seq := w.append(testEntry(i)); seq != uint64(i) {
			t.Fatalf("entry %d got number %d", i, seq)
		}
		if err := w.waitSynced(uint64(i)); err != nil {
			t.Fatal(err)
		}
		if i%per == 0 && i < n {
			if last, err := w.rotate(); err != nil || last != uint64(i) {
				t.Fatal(last, err)
			}
		}
	}
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	firsts, err := listSegments(dir)
	if err != nil || len(firsts) != (n+per-1)/per {
		t.Fatal(firsts, err)
	}
	return dir, segmentPath(dir, firsts[len(firsts)-1])
}

// readLog replays a log and checks each entry.
func readLog(t testing.TB, dir string, after uint64) (int, replayEnd, error) {
	t.Helper()
	count := 0
	end, err := replay(dir, after, func(seq uint64, e *entry) error {
		count++
		if want := testEntry(int(seq)); !reflect.DeepEqual(e, want) {
			t.Fatalf("entry %d: %+v, want %+v", seq, e, want)
		}
		return nil
	})
	return count, end, err
}

func TestWALReplay(t *testing.T) {
	dir, _ := writeLog(t, 20, 6)
	for after := range uint64(21) {
		count, end, err := readLog(t, dir, after)
		if err != nil || count != int(20-after) || end != (replayEnd{last: 20}) {
			t.Fatalf("after %d: %d entries, %+v, %v", after, count, end, err)
		}
	}
	if err := os.Remove(segmentPath(dir, 7)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := readLog(t, dir, 3); !errors.Is(err, ErrCorrupt) || !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("missing segment: %v", err)
	}
	if count, _, err := readLog(t, dir, 14); err != nil || count != 6 {
		t.Fatalf("a missing segment that is not needed: %d %v", count, err)
	}
}

// TestWALTornEnd cuts the last segment at every byte: what is whole is read, the
// rest is reported as torn, never as damage.
func TestWALTornEnd(t *testing.T) {
	t.Parallel()
	dir, path := writeLog(t, 10, 4)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	for size := range len(whole) {
		for _, tail := range []string{"", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "garbage that was in the block"} {
			if size < segmentHeader && tail != "" {
				continue
			}
			if err := os.WriteFile(path, append(whole[:size:size], tail...), 0o600); err != nil {
				t.Fatal(err)
			}
			count, end, err := readLog(t, dir, 0)
			if err != nil || count < last || count < 8 || count > 10 {
				t.Fatalf("cut at %d: %d entries after %d, %+v, %v", size, count, last, end, err)
			}
			last = count
			if tail != "" && end.tornPath != path {
				t.Fatalf("cut at %d: torn end not seen: %+v", size, end)
			}
			if end.tornPath != "" {
				if err := truncateSegment(path, end.tornAt); err != nil {
					t.Fatal(err)
				}
				if again, end, err := readLog(t, dir, 0); err != nil || again != count || end.tornPath != "" {
					t.Fatalf("after cutting: %d %+v %v", again, end, err)
				}
			}
		}
	}
}

// TestWALDamage flips every byte. Every entry was on disk before the next was
// written, so all but a flip in the last entry is damage and refused.
func TestWALDamage(t *testing.T) {
	t.Parallel()
	dir, lastPath := writeLog(t, 10, 4)
	firsts, _ := listSegments(dir)
	for _, first := range firsts {
		path := segmentPath(dir, first)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range whole {
			bad := bytes.Clone(whole)
			bad[i] ^= 1 << (i % 8)
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			count, end, err := readLog(t, dir, 0)
			switch {
			case errors.Is(err, ErrCorrupt):
			case err == nil && path == lastPath && end.tornPath == path && count == 9:
			default:
				t.Fatalf("segment %d, byte %d: %d entries, %+v, %v", first, i, count, end, err)
			}
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if count, _, err := readLog(t, dir, 0); err != nil || count != 10 {
		t.Fatal(count, err)
	}
}

// TestWALZeroTails follows the records of each segment with zeros, as segments that are mapped end. A record that is
// lost among them is missed, and what is neither record nor zeros is damage.
func TestWALZeroTails(t *testing.T) {
	dir, lastPath := writeLog(t, 10, 4)
	firsts, _ := listSegments(dir)
	change := func(first uint64, change func(data []byte) []byte) {
		t.Helper()
		data, err := os.ReadFile(segmentPath(dir, first))
		if err == nil {
			err = os.WriteFile(segmentPath(dir, first), change(data), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	whole := map[uint64]int{}
	for _, first := range firsts {
		change(first, func(data []byte) []byte { whole[first] = len(data); return append(data, make([]byte, 5000)...) })
	}
	for after := range uint64(11) {
		if count, end, err := readLog(t, dir, after); err != nil || count != int(10-after) || end.tornPath != lastPath || end.tornAt != int64(whole[9]) {
			t.Fatalf("after %d: %d entries, %+v, %v", after, count, end, err)
		}
	}
	change(5, func(data []byte) []byte { data[whole[5]+100] = 1; return data })
	if _, _, err := readLog(t, dir, 0); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("a byte after the records of a segment: %v", err)
	}
	lost := len(appendRecord(nil, 8, 7, testEntry(8)))
	change(5, func(data []byte) []byte { clear(data[whole[5]-lost:]); return data })
	if _, _, err := readLog(t, dir, 0); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("the last record of a segment gone: %v", err)
	}
	if count, _, err := readLog(t, dir, 8); err != nil || count != 2 {
		t.Fatalf("a lost record that is not needed: %d %v", count, err)
	}
}

// TestWALUnsyncedHole loses a record that was never on disk while a later one
// made it: that is what a power cut does, and not damage.
func TestWALUnsyncedHole(t *testing.T) {
	dir := t.TempDir()
	data := segmentHead(1)
	data = appendRecord(data, 1, 0, testEntry(1))
	hole := len(data)
	data = appendRecord(data, 2, 1, testEntry(2))
	data[hole+recordHeader] ^= 0xff
	data = appendRecord(data, 3, 1, testEntry(3))
	path := segmentPath(dir, 1)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if count, end, err := readLog(t, dir, 0); err != nil || count != 1 || end.tornAt != int64(hole) {
		t.Fatal(count, end, err)
	}
	data = appendRecord(data, 4, 2, testEntry(4)) // says that 2 was on disk
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := readLog(t, dir, 0); !errors.Is(err, ErrCorrupt) {
		t.Fatal(err)
	}
}

// TestWALGroups has many callers wait for the disk: fsyncs are shared.
func TestWALGroups(t *testing.T) {
	t.Parallel()
	syncs := 0
	w, err := startWAL(t.TempDir(), 1, newMeter(), func(path string) (segmentFile, error) {
		file, err := writeSegment(path)
		return &countingFile{segmentFile: file, syncs: &syncs}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 64 {
		group.Go(func() {
			for n := range 20 {
				seq := w.append(testEntry(n))
				if err := w.waitSynced(seq); err != nil || w.synced.Load() < seq {
					t.Errorf("record %d of %d synced: %v", seq, w.synced.Load(), err)
				}
			}
		})
	}
	group.Wait()
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	if syncs > 64*20/4 {
		t.Fatalf("%d fsyncs for %d records", syncs, 64*20)
	}
	count := 0
	if _, err := replay(w.dir, 0, func(uint64, *entry) error { count++; return nil }); err != nil || count != 64*20 {
		t.Fatal(count, err)
	}
	if err := w.waitSynced(w.append(testEntry(1))); !errors.Is(err, ErrUnavailable) {
		t.Fatalf("after close: %v", err)
	}
}

// countingFile counts fsyncs; the log makes them one at a time.
type countingFile struct {
	segmentFile
	syncs *int
}

func (f *countingFile) Sync() error {
	*f.syncs++
	return f.segmentFile.Sync()
}

func FuzzWAL(f *testing.F) {
	data := segmentHead(1)
	for n := range uint64(5) {
		data = appendRecord(data, n+1, n, testEntry(int(n+1)))
	}
	f.Add(data)
	f.Add(data[:len(data)-7])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		last := uint64(0)
		end := replayEnd{}
		err := end.records("segment", data, 1, true, func(seq uint64, _ *entry) error {
			if seq != last+1 {
				t.Fatalf("record %d after %d", seq, last)
			}
			last = seq
			return nil
		})
		if err == nil && end.last != last || err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(end, err)
		}
	})
}

func FuzzEntry(f *testing.F) {
	for n := range 8 {
		f.Add(testEntry(n).append(nil))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := decodeEntry(data)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		again, err := decodeEntry(e.append(nil))
		if err != nil || !reflect.DeepEqual(e.reply == nil, again.reply == nil) || e.tenant != again.tenant || e.at != again.at {
			t.Fatalf("%+v became %+v: %v", e, again, err)
		}
	})
}

func FuzzCheckpointAccount(f *testing.F) {
	a := newAccount("acme")
	a.key("key_1").window.restore(tick{at: windowEpoch, n: 3})
	a.day, a.creditsUsed, a.lastAt = 20000, 7, windowEpoch
	f.Add(a.append(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		a := newAccount("acme")
		if err := a.decode(data); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
	})
}
