package access

import (
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ninepocket/access/keys"
	"ninepocket/access/state"
	"ninepocket/internal/disk/disktest"
)

// storm is a fault of the disk that comes, stays for a while, and ends.
type storm struct {
	name  string
	begin func(*disktest.Faults)
	down  bool // it takes metering down for as long as it lasts
}

// storms are the disk's row of the table of faults (docs/dev/FAULTS.md).
var storms = []storm{
	{"disk full", func(weather *disktest.Faults) {
		for _, verb := range []string{"create", "write", "checkpoint"} {
			weather.Set(verb, syscall.ENOSPC)
		}
	}, true},
	{"one EIO of a write", func(weather *disktest.Faults) { weather.Once("write", syscall.EIO) }, false},
	{"one EIO of a sync", func(weather *disktest.Faults) { weather.Once("sync", syscall.EIO) }, false},
	{"one EIO of a checkpoint", func(weather *disktest.Faults) { weather.Once("checkpoint", syscall.EIO) }, false},
	{"every sync is EIO", func(weather *disktest.Faults) { weather.Set("sync", syscall.EIO) }, true},
	{"read-only", func(weather *disktest.Faults) {
		for _, verb := range []string{"create", "write", "sync", "checkpoint"} {
			weather.Set(verb, syscall.EROFS)
		}
	}, true},
	{"no descriptor is free", func(weather *disktest.Faults) {
		weather.Set("create", syscall.EMFILE)
		weather.Set("checkpoint", syscall.EMFILE)
	}, false},
	{"a slow disk", func(weather *disktest.Faults) { weather.Delay(20 * time.Millisecond) }, false},
}

// TestDiskWeather lets each fault of the disk come and go under a store that is called all the
// time. What is acknowledged is charged and nothing else is, before and after a restart; nobody is
// refused for a fault that leaves the log alone; and seconds after its end everybody is answered.
func TestDiskWeather(t *testing.T) {
	t.Parallel()
	for kind, mapped := range disktest.Kinds(t) {
		for _, storm := range storms {
			t.Run(kind+", "+storm.name, func(t *testing.T) {
				t.Parallel()
				diskWeather(t, mapped, storm)
			})
		}
	}
}

func diskWeather(t *testing.T, mapped bool, fault storm) {
	t.Helper()
	weather := &disktest.Faults{Name: verb}
	disk := disktest.Unsynced(mapped)
	disk.Set(weather.Rule)
	live, preview := faultKeys(t)
	script := &faultScript{
		t: t, live: live, preview: preview, now: instant(testTime),
		tried: map[string]int64{}, acked: map[string]int64{}, replies: map[string]string{},
	}

	dir := t.TempDir()
	var lastReport atomic.Int64 // what Report said last: 1 trouble, 2 all is well
	options := LocalOptions{
		Now: script.now, CheckpointEvery: 20 * time.Millisecond, boot: noBoot,
		Report: func(err error) {
			lastReport.Store(2)
			if err != nil {
				lastReport.Store(1)
			}
		},
		Seams: state.Seams{Disk: disk},
	}
	var err error
	script.store, err = OpenLocal(dir, options)
	if err != nil {
		t.Fatal(err)
	}
	defer script.store.Close()

	batch := 0
	round := func() (down bool) {
		script.down = false
		script.call(live, CardsGet, true)
		script.call(live, CardsGet, false)
		script.call(preview, ProductsList, true)
		batch++
		script.batch(fmt.Sprint("batch", batch))
		script.now.Mono += 500
		script.now.Wall += 500
		return script.down
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
	fault.begin(weather)
	n := rounds(12)
	if fault.down && n == 0 || !fault.down && n > 0 {
		t.Fatalf("%d of 12 rounds were refused during the fault (%v)", n, script.store.Err())
	}
	for _, p := range []*keys.Principal{live, preview} { // what is left is told, also while nothing is metered
		decision := script.store.Admit(p, SpecFor(p, CardsGet), script.now)
		if decision.Result == Admitted {
			_, err := script.store.Finish(decision.Reservation, false)
			script.answered(err)
		}
		if decision.Quota.Remaining != decision.Quota.Limit-script.acked[p.Tenant] {
			t.Errorf("%s has %+v left, and was charged %d", p.Tenant, decision.Quota, script.acked[p.Tenant])
		}
	}

	for _, verb := range []string{"create", "write", "sync", "checkpoint"} {
		weather.Set(verb, nil)
	}
	weather.Delay(0)
	for ended := time.Now(); round(); time.Sleep(10 * time.Millisecond) {
		if time.Since(ended) > time.Minute {
			t.Fatalf("still down: %v", script.store.Err())
		}
	}
	if n := rounds(4); n != 0 {
		t.Fatalf("%d of 4 rounds were refused after the fault", n)
	}

	// The checkpoint works again, too, and says so.
	saved := script.store.Stats().CheckpointAt
	deadline := time.Now().Add(time.Minute)
	for script.store.Stats().CheckpointAt.Equal(saved) || lastReport.Load() == 1 {
		if time.Now().After(deadline) {
			t.Fatalf("no checkpoint after the fault, last report %d", lastReport.Load())
		}
		time.Sleep(5 * time.Millisecond)
	}

	script.check(&disktest.Nth{})
	script.store.Kill()
	script.now = Instant{Wall: script.now.Wall}
	script.store, err = OpenLocal(dir, LocalOptions{Now: script.now, Seams: quick()})
	if err != nil {
		t.Fatal(err)
	}
	script.check(&disktest.Nth{})
}

// TestHalfACheckpoint fails a checkpoint after it took place and before it: neither counts a call
// twice, nor loses one or a reply.
func TestHalfACheckpoint(t *testing.T) {
	t.Parallel()
	live, preview := faultKeys(t)
	for _, written := range []bool{true, false} {
		script := &faultScript{
			t: t, live: live, preview: preview, now: instant(testTime),
			tried: map[string]int64{}, acked: map[string]int64{}, replies: map[string]string{},
		}
		dir := t.TempDir()
		half := errors.New("cut in half")
		moment := "checkpoint"
		if written {
			moment = "committed"
		}
		weather := &disktest.Faults{Name: verb}
		disk := disktest.Unsynced(false)
		disk.Set(weather.Rule)
		options := LocalOptions{
			Now: script.now, CheckpointEvery: time.Hour, boot: noBoot, Seams: state.Seams{Disk: disk},
		}
		var err error
		script.store, err = OpenLocal(dir, options)
		if err != nil {
			t.Fatal(err)
		}

		for i := range 5 {
			script.call(live, CardsGet, true)
			script.batch(fmt.Sprint("batch", i))
			if i%2 == 0 {
				weather.Set(moment, half)
				if err := script.store.SaveCheckpoint(); !errors.Is(err, half) {
					t.Fatal(err)
				}
				script.call(live, CardsGet, true)
				weather.Set(moment, nil)
			}
			if err := script.store.SaveCheckpoint(); err != nil {
				t.Fatal(err)
			}
		}

		script.check(&disktest.Nth{})
		script.store.Kill()
		script.store, err = OpenLocal(dir, options)
		if err != nil {
			t.Fatal(err)
		}
		script.check(&disktest.Nth{})
		script.store.Close()
	}
}
