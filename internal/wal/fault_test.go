package wal_test

import (
	"errors"
	"fmt"
	"testing"

	"ninepocket/internal/wal"
	"ninepocket/internal/wal/waltest"
)

func payload(n int) func([]byte) []byte {
	return func(dst []byte) []byte { return fmt.Appendf(dst, "record %d", n) }
}

// readAll reads the log of a directory, checks each record, and returns the last one's number.
func readAll(t *testing.T, dir string) uint64 {
	t.Helper()
	end, err := wal.Read(dir, 0, func(seq uint64, got []byte) error {
		if want := payload(int(seq))(nil); string(got) != string(want) {
			t.Fatalf("record %d: %q, want %q", seq, got, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return end.Last
}

// TestEveryFault fails each call to the disk in turn, then reads what is left: what was
// acknowledged is there, and after the first failure nothing is acknowledged.
func TestEveryFault(t *testing.T) {
	t.Parallel()
	for kind, create := range waltest.Kinds(t) {
		for _, short := range []bool{false, true} {
			t.Run(fmt.Sprint(kind, ", short=", short), func(t *testing.T) {
				t.Parallel()
				verbs := map[string]int{}
				for k := 1; ; k++ {
					disk := &waltest.FaultyDisk{Make: create, FailAt: k, Short: short}
					runFaulty(t, disk)
					if disk.Calls < k {
						break // the whole run did not reach the fault
					}
					verbs[disk.Verbs[k-1]]++
				}

				if verbs["create"] < 2 || verbs["write"] < 4 || verbs["sync"] < 4 {
					t.Errorf("too few faults: %v", verbs)
				}
			})
		}
	}
}

func runFaulty(t *testing.T, disk *waltest.FaultyDisk) {
	t.Helper()
	dir := t.TempDir()
	l, err := wal.Start(dir, 1, wal.Options{Create: disk.Create})
	if err != nil {
		if !errors.Is(err, waltest.ErrDisk) {
			t.Fatal(err)
		}
		return
	}

	acknowledged := uint64(0)
	tried := uint64(0)
	for n := 1; n <= 12; n++ {
		tried = l.Append(payload(n))
		var err error
		if n%2 == 0 {
			err = l.AwaitWritten(tried)
		} else {
			err = l.AwaitSynced(tried)
		}
		if err == nil && n%4 == 0 {
			_, err = l.Rotate()
		}

		failed := l.Err() != nil
		switch {
		case err == nil && failed:
			t.Fatalf("fault %d: record %d is acknowledged after a failure", disk.FailAt, tried)
		case err == nil:
			acknowledged = tried
		case !errors.Is(err, waltest.ErrDisk) || !failed:
			t.Fatalf("fault %d: %v, and the log goes on: %t", disk.FailAt, err, !failed)
		}
	}

	l.Abandon()

	if last := readAll(t, dir); last < acknowledged || last > tried {
		t.Fatalf("fault %d: %d records are left, %d acknowledged of %d", disk.FailAt, last, acknowledged, tried)
	}
}

// TestPowerCut cuts the power after records that were awaited on disk: all of them are there.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	for kind, create := range waltest.Kinds(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			disk := &waltest.PowerDisk{Make: create}
			dir := t.TempDir()
			l, err := wal.Start(dir, 1, wal.Options{Create: disk.Create})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Abandon()

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

				for range 10 { // written, and perhaps lost
					n++
					if err := l.AwaitWritten(l.Append(payload(n))); err != nil {
						t.Fatal(err)
					}
				}

				for _, lose := range []float64{1, 0.5, 0.5, 0.1, 0} {
					left := t.TempDir()
					disk.Cut(t, dir, left, lose)
					if last := readAll(t, left); last < seq {
						t.Fatalf("record %d of %d on disk is left", last, seq)
					}
				}
			}
		})
	}
}
