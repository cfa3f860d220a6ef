package wal_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"ninepocket/internal/disk/disktest"
	"ninepocket/internal/wal"
)

func payload(n int) func([]byte) []byte {
	return func(dst []byte) []byte { return fmt.Appendf(dst, "record %d", n) }
}

// readAll reads the log of a directory and returns how many payloads are in it: the first ones, in
// their order. A log that rests on a slow machine puts marks between them.
func readAll(t *testing.T, dir string) int {
	t.Helper()
	count := 0
	_, err := wal.Read(dir, 0, func(seq uint64, got []byte) error {
		if len(got) == 0 {
			return nil
		}

		count++
		if want := payload(count)(nil); string(got) != string(want) {
			t.Fatalf("record %d: %q, want %q", seq, got, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return count
}

// TestEveryFault fails each call to the disk in turn, then reads the files. Acknowledged records
// are there, and a single failure fails no caller.
func TestEveryFault(t *testing.T) {
	t.Parallel()
	for kind, mapped := range disktest.Kinds(t) {
		for _, short := range []bool{false, true} {
			t.Run(fmt.Sprint(kind, ", short=", short), func(t *testing.T) {
				t.Parallel()
				verbs := map[string]int{}
				for k := 1; ; k++ {
					nth := &disktest.Nth{K: k, Short: short}
					runFaulty(t, nth, mapped)

					failed := nth.Failed().Op
					if failed == "" {
						break // the whole run did not reach the fault
					}
					verbs[failed]++
				}

				if verbs["create"] < 2 || verbs["write"] < 4 || verbs["sync"] < 4 || verbs["rename"] < 2 ||
					verbs["syncdir"] < 2 {
					t.Errorf("too few faults: %v", verbs)
				}
			})
		}
	}
}

// runFaulty appends to a log without a goroutine, whose calls to the disk would come when they like:
// the k-th one has to be the same in each run.
func runFaulty(t *testing.T, nth *disktest.Nth, mapped bool) {
	t.Helper()
	dir := t.TempDir()
	disk := disktest.New(nth.Rule)
	disk.Written = !mapped
	l, err := wal.Start(dir, 1, wal.Options{Disk: disk, Inline: true})
	if err != nil {
		if !errors.Is(err, disktest.ErrDisk) {
			t.Fatal(err)
		}
		return
	}

	const records = 12
	for n := 1; n <= records; n++ {
		seq := l.Append(payload(n))
		var err error
		if n%2 == 0 {
			err = l.AwaitWritten(seq)
		} else {
			err = l.AwaitSynced(seq)
		}
		if err != nil || l.Err() != nil {
			t.Fatalf("fault %d: record %d: %v", nth.K, seq, err)
		}

		if n%4 == 0 {
			// A new segment is not possible: the log continues in the old one.
			if _, err := l.Rotate(); err != nil && !errors.Is(err, disktest.ErrDisk) || l.Err() != nil {
				t.Fatalf("fault %d: %v", nth.K, err)
			}
		}
	}
	l.CloseNow()

	if left := readAll(t, dir); left != records {
		t.Fatalf("fault %d: %d records are left of %d", nth.K, left, records)
	}
}

// TestTransientFaults lets faults of the disk come and go, and kills the log in between.
// Acknowledged records are there, and abandoned records are not. A second after a fault has ended
// the log works again.
func TestTransientFaults(t *testing.T) {
	t.Parallel()
	for kind, mapped := range disktest.Kinds(t) {
		for _, verb := range []string{"create", "write", "sync", "rename", "syncdir"} {
			t.Run(kind+", "+verb, func(t *testing.T) {
				t.Parallel()
				for round := range 2 {
					runTransientFaults(t, mapped, verb, round)
				}
			})
		}
	}
}

func runTransientFaults(t *testing.T, mapped bool, verb string, round int) {
	t.Helper()
	dir := t.TempDir()
	faults := &disktest.Faults{}
	disk := disktest.New(faults.Rule)
	disk.Written = !mapped
	l, err := wal.Start(dir, 1, wal.Options{Disk: disk})
	if err != nil {
		t.Fatal(err)
	}

	acknowledged := map[uint64]bool{}
	cancelled := map[uint64]bool{}
	call := func() error {
		seq := l.Append(func(dst []byte) []byte { return append(dst, "record"...) })
		await := l.AwaitWritten
		if seq%3 == 0 {
			await = l.AwaitSynced
		}
		err := await(seq)
		if err != nil && l.Cancel(seq) {
			cancelled[seq] = true
			return err
		}
		acknowledged[seq] = true
		return nil
	}
	calls := func(n int) (failed int) {
		for range n {
			if call() != nil {
				failed++
			}
		}
		return failed
	}

	if n := calls(10); n != 0 {
		t.Fatalf("%d calls of a good disk failed", n)
	}
	faults.Set(verb, disktest.ErrDisk)
	if verb != "write" && verb != "sync" { // which is asked for after another failure alone
		faults.Once([]string{"write", "sync"}[round%2], disktest.ErrDisk)
	}
	if failed := calls(10); failed == 0 || l.Err() == nil {
		t.Fatalf("no call of a bad disk failed: %v", l.Err())
	}

	faults.Set(verb, nil)
	ended := time.Now()
	for call() != nil {
		if time.Since(ended) > time.Minute {
			t.Fatalf("still down: %v", l.Err())
		}
		time.Sleep(10 * time.Millisecond)
	}
	if n := calls(10); n != 0 {
		t.Fatalf("%d calls failed after the log was mended", n)
	}
	if _, err := l.Rotate(); err != nil {
		t.Fatal(err)
	}
	l.CloseNow()

	left := map[uint64]bool{}
	if _, err := wal.Read(dir, 0, func(seq uint64, data []byte) error {
		left[seq] = len(data) > 0
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for seq := range acknowledged {
		if !left[seq] {
			t.Errorf("record %d was acknowledged and is gone", seq)
		}
	}
	for seq := range cancelled {
		if left[seq] {
			t.Errorf("record %d was given up and is there", seq)
		}
	}
}

// TestPowerCut cuts the power after records that were awaited on disk: all of them are there.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	for kind, mapped := range disktest.Kinds(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			disk := disktest.New(nil)
			disk.Written = !mapped
			dir := t.TempDir()
			disk.Watch(dir)
			l, err := wal.Start(dir, 1, wal.Options{Disk: disk})
			if err != nil {
				t.Fatal(err)
			}
			defer l.CloseNow()

			for n := 1; n <= 120; n++ {
				seq := l.Append(payload(n))
				if err := l.AwaitWritten(seq); err != nil {
					t.Fatal(err)
				}
				if n == 60 {
					if _, err := l.Rotate(); err != nil {
						t.Fatal(err)
					}
				}
				if n%20 != 0 {
					continue
				}
				if err := l.AwaitSynced(seq); err != nil {
					t.Fatal(err)
				}
				synced := n

				for range 10 { // written, and perhaps lost
					n++
					if err := l.AwaitWritten(l.Append(payload(n))); err != nil {
						t.Fatal(err)
					}
				}

				for _, lose := range []float64{1, 0.5, 0.5, 0.1, 0} {
					left := t.TempDir()
					cut := disk.AfterPowerCut(func() bool { return rand.Float64() < lose })
					if err := disktest.WriteFiles(left, cut); err != nil {
						t.Fatal(err)
					}
					if count := readAll(t, left); count < synced {
						t.Fatalf("%d records of %d on disk are left", count, synced)
					}
				}
			}
		})
	}
}
