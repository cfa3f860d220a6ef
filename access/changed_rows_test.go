package access

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ninepocket/access/keys"
	"ninepocket/access/state"
	"ninepocket/access/statedir"
	"ninepocket/calendar"
	"ninepocket/internal/disk/disktest"
)

// TestChangedIsTheLedger charges, writes checkpoints, some of which fail, and restarts. A reader
// that applies the changes, at any time, has the ledger.
func TestChangedIsTheLedger(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	live, preview := faultKeys(t)
	dir := t.TempDir()
	now := instant(testTime)
	failing := false
	disk := disktest.Unsynced(false)
	disk.Set(func(call disktest.Call) (effect disktest.Effect) {
		if failing && verb(call) == "checkpoint" {
			effect.Fail = disktest.ErrDisk
		}
		return effect
	})
	options := LocalOptions{
		Now: now, Export: true, boot: noBoot,
		Seams: state.Seams{Inline: true, Disk: disk},
	}
	open := func() *LocalStore {
		store, err := OpenLocal(dir, options)
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
	store := open()
	defer func() { store.Kill() }()

	reported := map[LedgerRow]Counts{}
	take := func(rows []LedgerRow) {
		for _, row := range rows {
			name := row
			name.Counts = Counts{}
			if row.Calls < reported[name].Calls {
				t.Fatalf("seed %d: %v went back from %v", seed, row, reported[name])
			}
			reported[name] = row.Counts
		}
	}
	compare := func() {
		t.Helper()
		rows, err := store.Ledger("", 0)
		if err != nil {
			t.Fatal(err)
		}
		want := map[LedgerRow]Counts{}
		for _, row := range rows {
			name := row
			name.Counts = Counts{}
			want[name] = row.Counts
		}
		if diff := cmp.Diff(want, reported); diff != "" {
			t.Fatalf("seed %d: who takes over what changed has (- ledger, + told)\n%s", seed, diff)
		}
	}

	for range 400 {
		switch random.IntN(8) {
		case 0:
			failing = random.IntN(3) == 0
			_ = store.SaveCheckpoint()
			failing = false
		case 1, 2:
			rows, used, err := store.Changed()
			if err != nil {
				// After a checkpoint that failed nobody knows where its rows are.
				if !errors.Is(err, ErrUnavailable) {
					t.Fatal(err)
				}
				continue
			}
			for _, row := range rows {
				if used[row.Key].IsZero() {
					t.Fatalf("%v has no last use", row)
				}
			}
			take(rows)
			compare()
		case 3:
			if random.IntN(4) > 0 {
				continue
			}
			store.Kill()
			options.Now = now
			store = open()
			rows, _, err := store.Totals(0)
			if err != nil {
				t.Fatal(err)
			}
			clear(reported)
			take(rows)
			compare()
		default:
			p := live
			op := CardsGet
			if random.IntN(2) == 0 {
				p = preview
				op = ProductsList
			}
			decision := store.Admit(p, SpecFor(p, op), now)
			if _, err := store.Finish(decision.Reservation, true); err != nil {
				t.Fatal(err)
			}
			if random.IntN(30) == 0 {
				now.Mono += calendar.DayMillis
				now.Wall += calendar.DayMillis
			}
			now.Mono += 700
			now.Wall += 700
		}
	}
}

// TestChangedReportsOnce asks when nothing changed since.
func TestChangedReportsOnce(t *testing.T) {
	t.Parallel()
	live, _ := faultKeys(t)
	now := instant(testTime)
	store, err := OpenLocal(t.TempDir(), LocalOptions{
		Now: now, Export: true, boot: noBoot,
		Seams: state.Seams{Inline: true, Disk: disktest.Unsynced(false)},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	decision := store.Admit(live, SpecFor(live, CardsGet), now)
	if _, err := store.Finish(decision.Reservation, true); err != nil {
		t.Fatal(err)
	}
	if err := store.SaveCheckpoint(); err != nil {
		t.Fatal(err)
	}

	for want := 1; want >= 0; want-- {
		rows, _, err := store.Changed()
		if err != nil || len(rows) != want {
			t.Errorf("%d rows changed, %v, want %d", len(rows), err, want)
		}
	}
}

// TestChangedIsOnDisk lets the log fail while it is asked: a call that no log has is not reported.
func TestChangedIsOnDisk(t *testing.T) {
	t.Parallel()
	live, _ := faultKeys(t)
	now := instant(testTime)
	disk := &disktest.Faults{Name: verb}
	on := disktest.Unsynced(false)
	on.Set(disk.Rule)
	mending := testTime
	store, err := OpenLocal(t.TempDir(), LocalOptions{
		Now: now, Export: true, boot: noBoot,
		Seams: state.Seams{
			Inline: true,
			Disk:   on,
			Now:    func() time.Time { return mending },
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Kill()
	call := func() error {
		decision := store.Admit(live, SpecFor(live, CardsGet), now)
		_, err := store.Finish(decision.Reservation, true)
		return err
	}
	if err := call(); err != nil {
		t.Fatal(err)
	}

	for _, verb := range []string{"create", "write", "sync"} {
		disk.Set(verb, disktest.ErrDisk)
	}
	if rows, _, err := store.Changed(); !errors.Is(err, ErrUnavailable) {
		t.Errorf("while the log fails %v is told, %v", rows, err)
	}
	for _, verb := range []string{"create", "write", "sync"} {
		disk.Set(verb, nil)
	}

	// In time it recovers.
	var rows []LedgerRow
	for range 10 {
		mending = mending.Add(time.Minute)
		_ = store.dir.Log.Sync()
		rows, _, err = store.Changed()
		if err == nil {
			break
		}
	}
	want, bad := store.Ledger("", 0)
	if err != nil || bad != nil || !slices.Equal(rows, want) {
		t.Errorf("%v is told, and the ledger has %v, %v", rows, want, err)
	}
}

// TestNothingTakenBackIsReported lets a log fail under callers, again and again, while somebody
// asks what changed. A counter that only grows ends with what the ledger has: no call was reported
// and then taken back.
func TestNothingTakenBackIsReported(t *testing.T) {
	t.Parallel()
	live, _ := faultKeys(t)
	now := instant(testTime)
	disk := &disktest.Faults{Name: verb}
	on := disktest.Unsynced(false)
	on.Set(disk.Rule)
	store, err := OpenLocal(t.TempDir(), LocalOptions{
		Now: now, Export: true, boot: noBoot,
		Seams: state.Seams{Disk: on},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()

	reported := map[LedgerRow]Counts{}
	ask := func() error {
		rows, _, err := store.Changed()
		for _, row := range rows {
			name := row
			name.Counts = Counts{}
			have := reported[name]
			reported[name] = Counts{Calls: max(have.Calls, row.Calls), Charged: max(have.Charged, row.Charged)}
		}
		return err
	}

	var callers sync.WaitGroup
	var refused atomic.Int64
	for range 4 {
		callers.Go(func() {
			for range 400 {
				decision := store.Admit(live, SpecFor(live, CardsGet), now)
				if decision.Result != Admitted {
					refused.Add(1)
					continue
				}
				if _, err := store.Finish(decision.Reservation, true); err != nil {
					refused.Add(1)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { callers.Wait(); close(done) }()
	for over := false; !over; {
		for _, verb := range []string{"write", "create"} {
			disk.Once(verb, disktest.ErrDisk)
		}
		_ = ask() // it may fail with the log
		select {
		case <-done:
			over = true
		default:
		}
	}

	// It recovers within a second, or two on a busy machine.
	for began := time.Now(); ask() != nil; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("the log is down for a minute: %v", store.Err())
		}
	}
	rows, err := store.Ledger("", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		name := row
		name.Counts = Counts{}
		if reported[name] != row.Counts {
			t.Errorf("%v is told, the ledger has %v; %d calls were refused", reported[name], row, refused.Load())
		}
	}
}

// TestServerID names a directory once, for every reader and for its copies.
func TestServerID(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := statedir.ReadServerID(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory without a name: %v", err)
	}
	names := make(chan string)
	for range 4 {
		go func() {
			name, err := statedir.ServerID(dir)
			if err != nil {
				t.Error(err)
			}
			names <- name
		}()
	}
	first := <-names
	for range 3 {
		if other := <-names; other != first || len(other) != 16 {
			t.Errorf("a directory has the names %q and %q", first, other)
		}
	}
	if other, err := statedir.ServerID(t.TempDir()); err != nil || other == first {
		t.Errorf("another directory has the name %q, %v", other, err)
	}

	err := keys.Update(dir, func(f *keys.File) error {
		_, _, err := f.Create(keys.NewKey{Tenant: "acme", Surface: keys.Live, Plan: "pro"}, testTime)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	backup := filepath.Join(t.TempDir(), "copy")
	if _, err := BackupState(dir, backup); err != nil {
		t.Fatal(err)
	}
	if name, err := statedir.ServerID(backup); err != nil || name != first {
		t.Errorf("a copy has the name %q, %v, want %q", name, err, first)
	}

	path := filepath.Join(dir, statedir.ServerIDName)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 1
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		name, err := statedir.ServerID(dir)
		if !errors.Is(err, statedir.ErrServerID) {
			t.Errorf("with byte %d changed the name is %q, %v", i, name, err)
		}
	}
}

// TestKeysOfAFleet uses a state directory whose keys are elsewhere: it is whole, it can be copied, and
// nobody makes keys there.
func TestKeysOfAFleet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store, err := OpenLocal(dir, LocalOptions{Now: instant(testTime), Seams: quick()})
	if err == nil {
		err = store.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Read(dir); !errors.Is(err, keys.ErrMissing) {
		t.Errorf("a directory of one machine without keys: %v", err)
	}
	if _, err := statedir.ServerID(dir); err != nil {
		t.Fatal(err)
	}

	if _, err := keys.Read(dir); !errors.Is(err, keys.ErrShared) {
		t.Errorf("its keys are read: %v", err)
	}
	change := func(f *keys.File) error {
		_, _, err := f.Create(keys.NewKey{Tenant: "acme", Surface: keys.Live, Plan: "pro"}, testTime)
		return err
	}
	if err := keys.Update(dir, change); !errors.Is(err, keys.ErrShared) {
		t.Errorf("keys are made there: %v", err)
	}
	if report, err := VerifyState(dir); err != nil || len(report.Damage) > 0 {
		t.Errorf("it is damaged: %v, %v", report.Damage, err)
	}
	if report, err := RepairState(dir, true, testTime); err != nil || len(report.Dropped) > 0 {
		t.Errorf("a repair dropped %v, %v", report.Dropped, err)
	}
	to := filepath.Join(t.TempDir(), "copy")
	if report, err := BackupState(dir, to); err != nil || len(report.Damage) > 0 {
		t.Errorf("a copy of it: %v, %v", report.Damage, err)
	}
}
