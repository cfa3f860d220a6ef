package access

import (
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ninepocket/internal/wal/waltest"
)

// storm is a fault of the disk that comes, stays for a while, and ends.
type storm struct {
	name  string
	begin func(*waltest.Weather)
	down  bool // it takes metering down for as long as it lasts
}

// storms are the disk's row of the table of faults (docs/OPERATIONS.md, Faults and recovery).
var storms = []storm{
	{"disk full", func(w *waltest.Weather) {
		for _, verb := range []string{"create", "write", "checkpoint"} {
			w.Set(verb, syscall.ENOSPC)
		}
	}, true},
	{"one EIO of a write", func(w *waltest.Weather) { w.Once("write", syscall.EIO) }, false},
	{"one EIO of a sync", func(w *waltest.Weather) { w.Once("sync", syscall.EIO) }, false},
	{"one EIO of a checkpoint", func(w *waltest.Weather) { w.Once("checkpoint", syscall.EIO) }, false},
	{"every sync is EIO", func(w *waltest.Weather) { w.Set("sync", syscall.EIO) }, true},
	{"read-only", func(w *waltest.Weather) {
		for _, verb := range []string{"create", "write", "sync", "checkpoint"} {
			w.Set(verb, syscall.EROFS)
		}
	}, true},
	{"no descriptor is free", func(w *waltest.Weather) {
		w.Set("create", syscall.EMFILE)
		w.Set("checkpoint", syscall.EMFILE)
	}, false},
	{"a slow disk", func(w *waltest.Weather) { w.Slow(20 * time.Millisecond) }, false},
}

// TestDiskWeather lets each fault of the disk come and go under a store that is called all the
// time. What is acknowledged is charged and nothing else is, before and after a restart; nobody is
// refused for a fault that leaves the log alone; and seconds after its end everybody is answered.
func TestDiskWeather(t *testing.T) {
	t.Parallel()
	for kind, create := range waltest.Kinds(t) {
		for _, s := range storms {
			t.Run(kind+", "+s.name, func(t *testing.T) {
				t.Parallel()
				diskWeather(t, &waltest.Weather{Make: create}, s)
			})
		}
	}
}

func diskWeather(t *testing.T, disk *waltest.Weather, fault storm) {
	t.Helper()
	live, preview := faultKeys(t)
	s := &faultScript{
		t: t, live: live, preview: preview, now: instant(testTime),
		tried: map[string]int64{}, told: map[string]int64{}, replies: map[string]string{},
	}

	dir := t.TempDir()
	var told atomic.Int64 // what Report said last: 1 trouble, 2 all is well
	options := EmbeddedOptions{
		Now: s.now, CheckpointEvery: 20 * time.Millisecond, create: disk.Create, unsynced: true, boot: noBoot,
		checkpoint: func() error { return disk.Fails("checkpoint") },
		Report: func(err error) {
			told.Store(2)
			if err != nil {
				told.Store(1)
			}
		},
	}
	var err error
	s.store, err = OpenEmbedded(dir, options)
	if err != nil {
		t.Fatal(err)
	}
	defer s.store.Close()

	batch := 0
	round := func() (down bool) {
		s.down = false
		s.call(live, CardsGet, true)
		s.call(live, CardsGet, false)
		s.call(preview, ProductsList, true)
		batch++
		s.batch(fmt.Sprint("batch", batch))
		s.now.Mono += 500
		s.now.Wall += 500
		return s.down
	}
	rounds := func(n int) (down int) {
		for range n {
			if round() {
				down++
			}
			time.Sleep(5 * time.Millisecond)
		}
		return down
	}

	if n := rounds(4); n != 0 {
		t.Fatalf("%d of 4 rounds were refused by a good disk", n)
	}
	fault.begin(disk)
	n := rounds(12)
	if fault.down && n == 0 || !fault.down && n > 0 {
		t.Fatalf("%d of 12 rounds were refused during the fault (%v)", n, s.store.Err())
	}
	for _, p := range []*Principal{live, preview} { // what is left is told, also while nothing is metered
		d := s.store.Admit(p, RuleFor(p, CardsGet), s.now)
		if d.Verdict == Admitted {
			_, err := s.store.Finish(d.Ticket, false)
			s.answered(err)
		}
		if d.Allowance.Remaining != d.Allowance.Limit-s.told[p.Tenant] {
			t.Errorf("%s has %+v left, and was charged %d", p.Tenant, d.Allowance, s.told[p.Tenant])
		}
	}

	for _, verb := range []string{"create", "write", "sync", "checkpoint"} {
		disk.Set(verb, nil)
	}
	disk.Slow(0)
	for ended := time.Now(); round(); time.Sleep(10 * time.Millisecond) {
		if time.Since(ended) > 10*time.Second {
			t.Fatalf("still down: %v", s.store.Err())
		}
	}
	if n := rounds(4); n != 0 {
		t.Fatalf("%d of 4 rounds were refused after the fault", n)
	}

	// The checkpoint works again, too, and says so.
	saved := s.store.Stats().CheckpointAt
	deadline := time.Now().Add(10 * time.Second)
	for s.store.Stats().CheckpointAt.Equal(saved) || told.Load() == 1 {
		if time.Now().After(deadline) {
			t.Fatalf("no checkpoint after the fault, last report %d", told.Load())
		}
		time.Sleep(5 * time.Millisecond)
	}

	s.check(&waltest.FaultyDisk{})
	s.store.Kill()
	s.now = Instant{Wall: s.now.Wall}
	s.store, err = OpenEmbedded(dir, EmbeddedOptions{Now: s.now, unsynced: true})
	if err != nil {
		t.Fatal(err)
	}
	s.check(&waltest.FaultyDisk{})
}

// TestHalfACheckpoint fails a checkpoint after it took place and before it: neither counts a call
// twice, nor loses one or a reply.
func TestHalfACheckpoint(t *testing.T) {
	t.Parallel()
	live, preview := faultKeys(t)
	for _, written := range []bool{true, false} {
		s := &faultScript{
			t: t, live: live, preview: preview, now: instant(testTime),
			tried: map[string]int64{}, told: map[string]int64{}, replies: map[string]string{},
		}
		dir := t.TempDir()
		options := EmbeddedOptions{
			Now: s.now, CheckpointEvery: time.Hour, unsynced: true, boot: noBoot,
			create: waltest.Unsynced(waltest.Kinds(t)["written"]),
		}
		var err error
		s.store, err = OpenEmbedded(dir, options)
		if err != nil {
			t.Fatal(err)
		}

		for i := range 5 {
			s.call(live, CardsGet, true)
			s.batch(fmt.Sprint("batch", i))
			if i%2 == 0 {
				half := errors.New("cut in half")
				if written {
					s.store.saver.after = func() error { return half }
				} else {
					s.store.saver.fault = func() error { return half }
				}
				if err := s.store.SaveCheckpoint(); !errors.Is(err, half) {
					t.Fatal(err)
				}
				s.call(live, CardsGet, true)
				s.store.saver.after = nil
				s.store.saver.fault = nil
			}
			if err := s.store.SaveCheckpoint(); err != nil {
				t.Fatal(err)
			}
		}

		s.check(&waltest.FaultyDisk{})
		s.store.Kill()
		s.store, err = OpenEmbedded(dir, options)
		if err != nil {
			t.Fatal(err)
		}
		s.check(&waltest.FaultyDisk{})
		s.store.Close()
	}
}
