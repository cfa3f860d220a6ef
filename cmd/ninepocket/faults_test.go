package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ninepocket/internal/disk/disktest"
	"ninepocket/internal/testsweep"
)

// fault is one cell of the table of faults (docs/dev/FAULTS.md): something that
// the environment does to a running server for a while.
type fault struct {
	name  string
	begin func(*faultServer)
	end   func(*faultServer) // nil: only what the kernel was told ends
	// down says that it takes metering down, so that calls are answered 503. By everything else
	// nobody is refused.
	down bool
	// written makes the log one that is written and not mapped, as on file systems without blocks in
	// place.
	written bool
	long    bool          // only in the long form
	lasts   time.Duration // 0: as long as usual
}

// usually is how long a fault lasts; the long form has a checkpoint in it.
func usually() time.Duration {
	if long() {
		return 12 * time.Second
	}
	return 400 * time.Millisecond
}

// slowly is how long a slow disk takes for each write and each sync.
func slowly() time.Duration {
	if long() {
		return 5 * time.Second
	}
	return 100 * time.Millisecond
}

const (
	day  = 24 * time.Hour
	year = 366 * day
)

// touches reports whether a call is about a file below a folder of this name.
func touches(call disktest.Call, folder string) bool {
	return slices.Contains(strings.Split(filepath.ToSlash(call.Path), "/"), folder)
}

// opens reports whether a call opens a file or lists a folder.
func opens(call disktest.Call) bool {
	return slices.Contains([]string{"open", "create", "list"}, call.Op)
}

// stateDisk is a fault of the state's disk: the named calls fail, or wait.
func stateDisk(effect disktest.Effect, ops ...string) func(*faultServer) {
	return func(v *faultServer) {
		v.setRule(func(call disktest.Call) disktest.Effect {
			if call.Writes() && touches(call, "state") && slices.Contains(ops, call.Op) {
				return effect
			}
			return disktest.Effect{}
		})
	}
}

// diskFaults are those of the state's disk.
func diskFaults(written bool) []fault {
	fails := func(errno syscall.Errno, ops ...string) func(*faultServer) {
		return stateDisk(disktest.Effect{Fail: errno}, ops...)
	}
	changes := []string{"write", "truncate"}
	names := []string{"open", "create", "rename", "remove", "mkdir", "link"}
	syncs := []string{"sync", "syncdir"}
	waits := stateDisk(disktest.Effect{Wait: slowly()}, append(changes, syncs...)...)
	slow := func(v *faultServer) {
		v.burst = 1 // each of them waits
		waits(v)
	}
	// A written log maps nothing; the checkpoint does, when its file is opened.
	unmapped := func(v *faultServer) {
		v.setRule(func(call disktest.Call) disktest.Effect {
			if call.Mapped || call.Change && filepath.Base(call.Path) == "meter.db" {
				return disktest.Effect{Fail: syscall.ENOMEM}
			}
			return disktest.Effect{}
		})
	}

	kind := ", mapped log"
	if written {
		kind = ", written log"
	}
	table := []fault{
		{name: "disk full", begin: fails(syscall.ENOSPC, append(changes, "open", "create")...), down: true},
		{name: "EIO of every write", begin: fails(syscall.EIO, changes...), down: true},
		{name: "EIO of every sync", begin: fails(syscall.EIO, syncs...), down: true},
		{name: "read-only", begin: fails(syscall.EROFS, append(changes, names...)...), down: true},
		{name: "slow disk", begin: slow, lasts: max(usually(), 6*slowly())},
		{name: "no memory to map files", begin: unmapped, down: !written},
	}
	for i := range table {
		one := &table[i]
		one.long = written && !strings.HasPrefix(one.name, "EIO of every sync")
		one.name += kind
		one.written = written
	}
	return table
}

// clockFaults are those of the wall clock. What the kernel does not vouch for is never followed, what
// it vouches for after three seconds.
func clockFaults() []fault {
	var table []fault
	for _, step := range []time.Duration{time.Hour, -time.Hour, day, -day, year, -year} {
		for _, unsynced := range []bool{true, false} {
			one := fault{
				name:  fmt.Sprintf("wall clock set by %v, vouched for: %t", step, !unsynced),
				begin: clocked(clocks{Wall: step, Unsynced: unsynced}), end: rightClock,
				long: step != year && (step != -day || !unsynced),
				// The server looks at its clocks once a second.
				lasts: max(usually(), 1500*time.Millisecond),
			}
			if !unsynced {
				one.lasts = 4500 * time.Millisecond
			}
			table = append(table, one)
		}
	}

	return append(table, fault{
		name: "suspended for three hours", lasts: 2 * time.Second,
		begin: clocked(clocks{Wall: 3 * time.Hour, Boot: 3 * time.Hour}), end: func(*faultServer) {},
	})
}

// clocked is a fault of the clocks, which a tenant with few calls a day meets as well.
func clocked(clock clocks) func(*faultServer) {
	return func(v *faultServer) {
		v.smallTenantCalls(1)
		v.injector.SetClock(&clock)
		v.smallTenantCalls(1)
	}
}

// rightClock ends a fault of the clocks. The tenant with few calls a day has as many as its plan says,
// as often as days have begun for the server. It waits for the second midnight at most while the
// clock is wrong (decision 1754), and 30 s later for no longer than a day.
func rightClock(v *faultServer) {
	if retry := v.smallTenantCalls(smallDay + 1); retry < 1 || retry > int(2*day/time.Second) {
		v.t.Errorf("%s: a call is to wait for %d s", v.fault, retry)
	}

	v.injector.SetClock(&clocks{})
	for over := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		retry := v.smallTenantCalls(smallDay + 1)
		if retry > 0 && retry <= int(day/time.Second) {
			break
		}
		if time.Since(over) > 30*time.Second {
			v.t.Errorf("%s: a call is to wait for %d s, 30 s after the clock is right", v.fault, retry)
			break
		}
	}
	if v.smallAnswered > 2*smallDay {
		v.t.Errorf("%s: %d calls of %d a day", v.fault, v.smallAnswered, smallDay)
	}
}

// otherFaults are those of the store. Those of sockets are in TestOutOfDescriptors, and each error of
// accept in TestAcceptGoesOn of internal/connlimit.
func otherFaults() []fault {
	unreadable := func(v *faultServer) {
		v.setRule(func(call disktest.Call) disktest.Effect {
			if opens(call) && touches(call, "store") {
				return disktest.Effect{Fail: syscall.EIO}
			}
			return disktest.Effect{}
		})
		v.published()
	}
	readable := func(v *faultServer) { v.setRule(nil); v.isWhole(v.t, v.key2, v.snapshot, time.Now()) }

	return []fault{{name: "the store cannot be read", begin: unreadable, end: readable}}
}

// faults is the table.
func faults() []fault {
	return slices.Concat(diskFaults(false), diskFaults(true), clockFaults(), otherFaults())
}

// TestAPIErrors lets each fault come upon the real program, over HTTP, and go. No call is charged
// wrongly, the process lives, and a new client is answered within 30 s. make test does every other
// one of the short form. NINEPOCKET_TORTURE makes them last longer, and has all of them.
func TestAPIErrors(t *testing.T) {
	t.Parallel()

	table := faults()
	if !long() {
		table = slices.DeleteFunc(table, func(one fault) bool { return one.long })
	}
	for i, one := range table {
		if !long() && i%testsweep.Stride(2) != 0 {
			continue
		}
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			v := newFaultServer(t)
			v.written = one.written
			v.start(newFaultInjector(t))
			v.suffers(&one)
		})
	}
}

// suffers lets a fault come and go.
func (v *faultServer) suffers(one *fault) {
	v.t.Helper()
	v.fault = one.name
	if n := v.rounds(50 * time.Millisecond); n > 0 {
		v.t.Fatalf("%d calls were refused by a server that is well\n%s", n, v.log)
	}

	lasts := one.lasts
	if lasts == 0 {
		lasts = usually()
	}
	before := v.injector.Disturbed()
	one.begin(v)
	refused := v.rounds(lasts)
	// On a busy machine it may take a while until the log is large enough.
	for deadline := time.Now().Add(time.Minute); one.down && refused == 0 && time.Now().Before(deadline); {
		refused += v.round()
	}
	disturbed := v.injector.Disturbed() - before
	if disturbed == 0 || one.down != (refused > 0) {
		v.t.Errorf("%d calls were refused during the fault, which was met %d times\n%s", refused, disturbed, v.log)
	}

	if one.end == nil {
		v.setRule(nil)
	} else {
		one.end(v)
	}
	took := v.comesBack()
	if n := v.rounds(50 * time.Millisecond); n > 0 {
		v.t.Errorf("%d calls were refused after the fault\n%s", n, v.log)
	}
	v.settle()
	v.t.Logf("met %d times: %d calls answered, %d refused, all is well %v after its end", disturbed, v.answered,
		v.refused, took.Round(time.Millisecond))
}

// TestKilledInFault kills a server while the disk fails, and starts another one when the disk is well:
// what was acknowledged is charged, and nothing beyond what was answered 503 or not at all.
func TestKilledInFault(t *testing.T) {
	t.Parallel()
	for _, one := range slices.Concat(diskFaults(false), diskFaults(true)) {
		if !one.down || !long() && one.name != "EIO of every sync, mapped log" {
			continue
		}
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			v := newFaultServer(t)
			v.written = one.written
			v.start(newFaultInjector(t))
			v.fault = one.name
			v.rounds(50 * time.Millisecond)
			one.begin(v)
			v.rounds(300 * time.Millisecond)

			v.dies()
			v.start(nil)
			v.agrees("of the next server", v.refused+int64(len(v.batches)-len(v.made)))
			if n := v.rounds(50 * time.Millisecond); n > 0 {
				t.Errorf("%d calls were refused after the fault\n%s", n, v.log)
			}
		})
	}
}

// TestBegunUnderAWrongClock starts a server whose clock is wrong, as after a boot without a battery. It
// serves; and so does the next one, under the right clock, with the charges of both.
func TestBegunUnderAWrongClock(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{year, -year} {
		if step < 0 && !long() {
			continue
		}
		t.Run(step.String(), func(t *testing.T) {
			t.Parallel()
			v := newFaultServer(t)
			v.fault = "a clock that is wrong at the start"
			injector := newFaultInjector(t)
			injector.SetClock(&clocks{Wall: step, Unsynced: true})
			v.start(injector)
			v.rounds(100 * time.Millisecond)
			v.smallTenantCalls(smallDay / 2)
			v.agrees("under the wrong clock", 0)

			v.dies()
			v.start(nil)
			v.comesBack()
			if retry := v.smallTenantCalls(smallDay + 1); retry < 1 || retry > int(day/time.Second) ||
				v.smallAnswered > 2*smallDay {
				t.Errorf("%d calls of %d a day, and a call is to wait for %d s", v.smallAnswered, smallDay, retry)
			}
			v.agrees("under the right clock", 0)
		})
	}
}
