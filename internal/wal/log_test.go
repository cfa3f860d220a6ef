package wal

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"testing"
	"time"

	"ninepocket/internal/disk/disktest"
)

// testPayload is the n-th of many different payloads, encoded as Append wants it.
func testPayload(n int) func([]byte) []byte {
	return func(dst []byte) []byte {
		dst = fmt.Appendf(dst, "record %d of tenant %d", n, n%3)
		return append(dst, bytes.Repeat([]byte{byte(n)}, n%7)...)
	}
}

// written is a disk whose segments are written and not mapped.
func written(rule disktest.Rule) *disktest.Disk {
	d := disktest.New(rule)
	d.Written = true
	return d
}

// writeLog writes records 1 to n into segments of per records, and returns the directory and the
// path of the last segment.
func writeLog(t testing.TB, n, per int) (dir, last string) {
	t.Helper()
	dir = t.TempDir()
	l, err := Start(dir, 1, Options{Disk: written(nil), Inline: true}) // no marks between the records
	if err != nil {
		t.Fatal(err)
	}

	for i := 1; i <= n; i++ {
		if seq := l.Append(testPayload(i)); seq != uint64(i) {
			t.Fatalf("record %d got number %d", i, seq)
		}
		if err := l.AwaitSynced(uint64(i)); err != nil {
			t.Fatal(err)
		}
		if i%per == 0 && i < n {
			if last, err := l.Rotate(); err != nil || last != uint64(i) {
				t.Fatal(last, err)
			}
		}
	}
	if err := l.Sync(); err != nil {
		t.Fatal(err)
	}

	l.CloseNow()

	firsts, err := Segments(dir)
	if err != nil || len(firsts) != (n+per-1)/per {
		t.Fatal(firsts, err)
	}
	return dir, segmentPath(dir, firsts[len(firsts)-1])
}

// readLog reads a log and checks each record.
func readLog(t testing.TB, dir string, after uint64) (int, End, error) {
	t.Helper()
	count := 0
	end, err := Read(dir, after, func(seq uint64, payload []byte) error {
		count++
		if want := testPayload(int(seq))(nil); !bytes.Equal(payload, want) {
			t.Fatalf("record %d: %q, want %q", seq, payload, want)
		}
		return nil
	})
	return count, end, err
}

// TestBytes pins the format: logs that were written have to be read for ever.
func TestBytes(t *testing.T) {
	t.Parallel()
	data := encodeHeader(7)
	data = appendRecord(data, 7, 6, func(dst []byte) []byte { return append(dst, "charged"...) })
	const want = "6e706b77616c3031" + "0700000000000000" + "30a001d0" +
		"5f81a262" + "07000000" + "0700000000000000" + "0600000000000000" + "63686172676564"

	if got := hex.EncodeToString(data); got != want {
		t.Fatalf("a segment is\n%s, want\n%s", got, want)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	dir, _ := writeLog(t, 20, 6)
	for after := range uint64(21) {
		count, end, err := readLog(t, dir, after)
		if err != nil || count != int(20-after) || end != (End{Last: 20}) {
			t.Fatalf("after %d: %d records, %+v, %v", after, count, end, err)
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

// TestRemoveThrough removes what is covered, and never the segment that is written.
func TestRemoveThrough(t *testing.T) {
	t.Parallel()
	dir, _ := writeLog(t, 20, 6)
	l, err := Start(dir, 21, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.CloseNow()

	for _, step := range []struct {
		last uint64
		left int
	}{{0, 5}, {5, 5}, {6, 4}, {17, 3}, {18, 2}, {20, 1}, {99, 1}} {
		if err := l.RemoveThrough(step.last); err != nil {
			t.Fatal(err)
		}

		firsts, err := Segments(dir)
		if err != nil || len(firsts) != step.left || firsts[len(firsts)-1] != 21 {
			t.Fatalf("through %d: %v, want %d segments (%v)", step.last, firsts, step.left, err)
		}
	}
}

// TestTornEnd cuts the last segment at every byte: what is whole is read, the rest is reported as
// torn, never as damage. A segment gets its name when its header is on disk: what is shorter is damage.
func TestTornEnd(t *testing.T) {
	t.Parallel()
	dir, path := writeLog(t, 10, 4)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	last := 0
	for size := range len(whole) {
		for _, tail := range []string{"", string(make([]byte, 25)), "garbage that was in the block"} {
			if size < segmentHeader && tail != "" {
				continue
			}
			if err := os.WriteFile(path, append(whole[:size:size], tail...), 0o600); err != nil {
				t.Fatal(err)
			}

			count, end, err := readLog(t, dir, 0)
			if size < segmentHeader {
				if !errors.Is(err, ErrCorrupt) {
					t.Fatalf("cut at %d: %v, want ErrCorrupt", size, err)
				}
				continue
			}
			if err != nil || count < last || count < 8 || count > 10 {
				t.Fatalf("cut at %d: %d records after %d, %+v, %v", size, count, last, end, err)
			}
			last = count

			if tail != "" && end.TornPath != path {
				t.Fatalf("cut at %d: torn end not seen: %+v", size, end)
			}
			if err := end.Trim(); err != nil {
				t.Fatal(err)
			}
			if again, end, err := readLog(t, dir, 0); err != nil || again != count || end.TornPath != "" {
				t.Fatalf("after cutting: %d %+v %v", again, end, err)
			}
		}
	}
}

// TestDamage flips every byte. Every record was on disk before the next was written, so all but a
// flip in the last record is damage and refused.
func TestDamage(t *testing.T) {
	t.Parallel()
	dir, lastPath := writeLog(t, 10, 4)
	firsts, err := Segments(dir)
	if err != nil {
		t.Fatal(err)
	}

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
			case err == nil && path == lastPath && end.TornPath == path && count == 9:
			default:
				t.Fatalf("segment %d, byte %d: %d records, %+v, %v", first, i, count, end, err)
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

// TestZeroTails follows the records of each segment with zeros, as segments that are mapped end. A
// record that is lost among them is missed, and what is neither record nor zeros is damage.
func TestZeroTails(t *testing.T) {
	t.Parallel()
	dir, lastPath := writeLog(t, 10, 4)
	firsts, err := Segments(dir)
	if err != nil {
		t.Fatal(err)
	}

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
		change(first, func(data []byte) []byte {
			whole[first] = len(data)
			return append(data, make([]byte, 5000)...)
		})
	}

	for after := range uint64(11) {
		count, end, err := readLog(t, dir, after)
		if err != nil || count != int(10-after) || end.TornPath != lastPath || end.TornAt != int64(whole[9]) {
			t.Fatalf("after %d: %d records, %+v, %v", after, count, end, err)
		}
	}

	// A segment ends where the next one begins: after a failure, old records may stand behind that.
	change(5, func(data []byte) []byte { data[whole[5]+100] = 1; return data })
	if count, _, err := readLog(t, dir, 0); err != nil || count != 10 {
		t.Fatalf("a byte after the records of a segment: %d %v", count, err)
	}

	lost := len(appendRecord(nil, 8, 7, testPayload(8)))
	change(5, func(data []byte) []byte { clear(data[whole[5]-lost:]); return data })
	if _, _, err := readLog(t, dir, 0); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("the last record of a segment gone: %v", err)
	}
	if count, _, err := readLog(t, dir, 8); err != nil || count != 2 {
		t.Fatalf("a lost record that is not needed: %d %v", count, err)
	}
}

// TestUnsyncedHole loses a record that was never on disk while a later one made it: that is what a
// power cut does, and not damage.
func TestUnsyncedHole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := encodeHeader(1)
	data = appendRecord(data, 1, 0, testPayload(1))
	hole := len(data)
	data = appendRecord(data, 2, 1, testPayload(2))
	data[hole+recordHeader] ^= 0xff
	data = appendRecord(data, 3, 1, testPayload(3))
	path := segmentPath(dir, 1)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if count, end, err := readLog(t, dir, 0); err != nil || count != 1 || end.TornAt != int64(hole) {
		t.Fatal(count, end, err)
	}

	data = appendRecord(data, 4, 2, testPayload(4)) // says that 2 was on disk
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := readLog(t, dir, 0); !errors.Is(err, ErrCorrupt) {
		t.Fatal(err)
	}
}

// TestGroups has many callers wait for the disk: fsyncs are shared.
func TestGroups(t *testing.T) {
	t.Parallel()
	syncs := 0 // the log makes them one at a time
	dir := t.TempDir()
	l, err := Start(dir, 1, Options{Disk: written(func(call disktest.Call) disktest.Effect {
		if call.Op != "sync" {
			return disktest.Effect{}
		}
		syncs++
		return disktest.Effect{Wait: time.Millisecond} // as a disk takes; who comes meanwhile waits for the next one
	})})
	if err != nil {
		t.Fatal(err)
	}

	var group sync.WaitGroup
	for range 64 {
		group.Go(func() {
			for n := range 20 {
				seq := l.Append(testPayload(n))
				if err := l.AwaitSynced(seq); err != nil || l.synced.Load() < seq {
					t.Errorf("record %d of %d synced: %v", seq, l.synced.Load(), err)
				}
			}
		})
	}

	group.Wait()
	if err := l.Sync(); err != nil {
		t.Fatal(err)
	}

	l.CloseNow()
	if syncs > 64*20/4 {
		t.Fatalf("%d fsyncs for %d records", syncs, 64*20)
	}

	count := 0
	_, err = Read(dir, 0, func(_ uint64, payload []byte) error {
		if len(payload) > 0 { // a log that rests for a moment puts a mark
			count++
		}
		return nil
	})
	if err != nil || count != 64*20 {
		t.Fatal(count, err)
	}
	if err := l.AwaitSynced(l.Append(testPayload(1))); !errors.Is(err, ErrClosed) {
		t.Fatalf("after close: %v", err)
	}
}

func FuzzLog(f *testing.F) {
	data := encodeHeader(1)
	for n := range uint64(5) {
		data = appendRecord(data, n+1, n, testPayload(int(n+1)))
	}

	f.Add(data)
	f.Add(data[:len(data)-7])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		last := uint64(0)
		end := End{}
		err := end.records("segment", data, 1, endless, func(seq uint64, _ []byte) error {
			if seq != last+1 {
				t.Fatalf("record %d after %d", seq, last)
			}
			last = seq
			return nil
		})
		if err == nil && end.Last != last || err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(end, err)
		}
	})
}
