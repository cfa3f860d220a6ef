package access

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ninepocket/access/keys"
	"ninepocket/access/state"
	"ninepocket/access/statedir"
	"ninepocket/calendar"
	"ninepocket/internal/disk/disktest"
	"ninepocket/internal/wal"
)

// faultScript is a sequence of calls whose charges are counted as a client sees them.
type faultScript struct {
	t       *testing.T
	store   *LocalStore
	live    *keys.Principal
	preview *keys.Principal
	now     Instant

	tried, acked map[string]int64  // charges by tenant: attempted, acknowledged
	replies      map[string]string // acknowledged replies by key
	keys         []string          // idempotency keys attempted
	down         bool
}

func faultKeys(t testing.TB) (live, preview *keys.Principal) {
	t.Helper()
	f := keys.NewFile()
	_, liveRaw := mustCreate(t, f, keys.NewKey{Tenant: "live", Surface: keys.Live, Plan: "pro"})
	_, previewRaw := mustCreate(t, f, keys.NewKey{Tenant: "prev", Surface: keys.Preview, Plan: "preview"})
	plans := keys.DefaultPlans()
	plans.Set("preview", keys.Plan{PerMinute: 100_000})
	ring, err := keys.FixedRing(f, plans)
	if err != nil {
		t.Fatal(err)
	}

	live, liveErr := ring.FindCached([]byte(liveRaw), testTime.UnixMilli(), nil)
	preview, previewErr := ring.FindCached([]byte(previewRaw), testTime.UnixMilli(), nil)
	if err := errors.Join(liveErr, previewErr); err != nil {
		t.Fatal(err)
	}
	return live, preview
}

// answered checks a result: an answer, or nothing but ErrUnavailable.
func (script *faultScript) answered(err error) bool {
	script.t.Helper()
	if err != nil {
		if !errors.Is(err, ErrUnavailable) {
			script.t.Fatalf("neither an answer nor unavailable: %v", err)
		}
		script.down = true
	}
	return err == nil
}

func (script *faultScript) admit(p *keys.Principal, op Operation) (Decision, bool) {
	decision := script.store.Admit(p, SpecFor(p, op), script.now)
	if decision.Result == Unavailable {
		script.answered(ErrUnavailable)
		return decision, false
	}
	if decision.Result != Admitted {
		script.t.Fatalf("verdict %v", decision.Result)
	}
	return decision, true
}

func (script *faultScript) call(p *keys.Principal, op Operation, success bool) {
	decision, ok := script.admit(p, op)
	if !ok {
		return
	}
	if success {
		script.tried[p.Tenant]++
	}

	charge, err := script.store.Finish(decision.Reservation, success)
	if script.answered(err) {
		script.acked[p.Tenant] += charge.Charged
	} else if charge.Charged != 0 {
		script.t.Fatal("a failed call says it was charged")
	}
}

func (script *faultScript) batch(key string) {
	decision, ok := script.admit(script.preview, PricesBatch)
	if !ok {
		return
	}

	claim, err := script.store.Begin(decision.Reservation, key, BodyHash{1}, script.now)
	if !script.answered(err) {
		return
	}
	defer script.store.Abort(decision.Reservation, claim)

	script.tried["prev"]++
	script.keys = append(script.keys, key)
	charge, err := script.store.Commit(decision.Reservation, claim, []byte("reply of "+key))
	if script.answered(err) {
		script.acked["prev"] += charge.Charged
		script.replies[key] = "reply of " + key
	}
}

func (script *faultScript) run() {
	for i := range 6 {
		script.call(script.live, CardsGet, i%3 != 2)
		script.call(script.preview, ProductsList, i%3 != 1)
		script.batch(fmt.Sprint("key", i))
		script.now.Mono += 500
		script.now.Wall += 500
		if i%2 == 1 {
			_ = script.store.SaveCheckpoint() // the next one does its work, too
		}
	}
}

// TestEveryFault fails each call to the disk in turn, once: no call is refused for it. Then it opens
// what is left: every acknowledged charge is there and no other, every credit of a batch has its
// reply.
func TestEveryFault(t *testing.T) {
	t.Parallel()
	for kind, mapped := range disktest.Kinds(t) {
		for _, short := range []bool{false, true} {
			t.Run(fmt.Sprint(kind, ", short=", short), func(t *testing.T) {
				t.Parallel()
				everyFault(t, mapped, short)
			})
		}
	}
}

func everyFault(t *testing.T, mapped, short bool) {
	t.Helper()
	verbs := map[string]int{}
	for k := 1; ; k++ {
		nth := &disktest.Nth{K: k, Short: short}
		runFaulty(t, t.TempDir(), nth, mapped)

		failed := nth.Failed()
		if failed.Op == "" {
			break // the whole script ran without reaching the fault
		}
		verbs[verb(failed)]++
	}

	for _, verb := range []string{"create", "write", "sync", "rename", "syncdir", "checkpoint", "committed"} {
		if verbs[verb] < 2 {
			t.Errorf("only %d faults of %s: %v", verbs[verb], verb, verbs)
		}
	}
}

func runFaulty(t *testing.T, dir string, nth *disktest.Nth, mapped bool) {
	t.Helper()
	live, preview := faultKeys(t)
	script := &faultScript{
		t: t, live: live, preview: preview, now: instant(testTime),
		tried: map[string]int64{}, acked: map[string]int64{}, replies: map[string]string{},
	}

	disk := disktest.Unsynced(mapped)
	disk.Set(nth.Rule)
	store, err := OpenLocal(dir, LocalOptions{
		Now: script.now, CheckpointEvery: time.Hour, boot: noBoot,
		// Inline, or the log's own calls come when they like, and the k-th one is another.
		Seams: state.Seams{Disk: disk, Inline: true},
	})

	switch {
	case err == nil:
		script.store = store
		script.run()
		if script.down || store.Err() != nil {
			t.Fatalf("fault %d: one failure of the disk took metering down: %v", nth.K, store.Err())
		}
		store.Kill()
	case !errors.Is(err, disktest.ErrDisk):
		t.Fatal(err)
	}

	script.now = Instant{Wall: script.now.Wall}
	script.store, err = OpenLocal(dir, LocalOptions{Now: script.now, Seams: quick()})
	if err != nil {
		t.Fatalf("fault %d (%s): cannot open what is left: %v", nth.K, nth.Failed(), err)
	}
	defer script.store.Close()
	script.down = false
	script.check(nth)
}

func (script *faultScript) check(nth *disktest.Nth) {
	script.t.Helper()
	ledger := map[string]int64{}
	rows, err := script.store.Ledger("", 0)
	if err != nil {
		script.t.Fatal(err)
	}

	batches := int64(0)
	for _, row := range rows {
		ledger[row.Tenant] += row.Charged
		if row.Operation == PricesBatch {
			batches += row.Charged
		}
	}

	for _, p := range []*keys.Principal{script.live, script.preview} {
		usage, err := script.store.Usage(p, SpecFor(p, UsageGet), script.now)
		if err != nil || usage.Used != ledger[p.Tenant] {
			script.t.Fatalf("fault %d: %s used %d, ledger %d (%v)",
				nth.K, p.Tenant, usage.Used, ledger[p.Tenant], err)
		}
		if usage.Used != script.acked[p.Tenant] {
			script.t.Fatalf("fault %d: %s charged %d, acknowledged %d, tried %d",
				nth.K, p.Tenant, usage.Used, script.acked[p.Tenant], script.tried[p.Tenant])
		}
	}

	replays := int64(0)
	for _, key := range script.keys {
		decision, _ := script.admit(script.preview, PricesBatch)
		claim, err := script.store.Begin(decision.Reservation, key, BodyHash{1}, script.now)
		if err != nil {
			script.t.Fatal(err)
		}
		if claim.Result == Replay && string(claim.Reply) == "reply of "+key {
			replays++
		} else if script.replies[key] != "" {
			script.t.Fatalf("fault %d: acknowledged reply of %s is gone: %+v", nth.K, key, claim)
		}
	}

	if replays != batches {
		script.t.Fatalf("fault %d: %d batches charged, %d replies kept", nth.K, batches, replays)
	}
}

// TestStateDamage damages what a closed store left; opening must refuse, not guess.
func TestStateDamage(t *testing.T) {
	t.Parallel()
	fill := func() string {
		dir := t.TempDir()
		live, _ := faultKeys(t)
		store, err := OpenLocal(dir, LocalOptions{Now: instant(testTime)})
		if err != nil {
			t.Fatal(err)
		}

		for range 3 {
			decision := store.Admit(live, SpecFor(live, CardsGet), instant(testTime))
			if _, err := store.Finish(decision.Reservation, true); err != nil {
				t.Fatal(err)
			}
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		return dir
	}

	f := func(name string, damage func(dir string) error) {
		t.Helper()
		dir := fill()
		if err := damage(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenLocal(dir, LocalOptions{Now: instant(testTime)}); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}

	f("log removed", func(dir string) error { return os.RemoveAll(filepath.Join(dir, statedir.LogName)) })
	f("checkpoint removed", func(dir string) error { return os.Remove(filepath.Join(dir, statedir.CheckpointName)) })
	f("log renumbered", func(dir string) error {
		firsts, err := wal.Segments(filepath.Join(dir, statedir.LogName))
		segment := func(first uint64) string {
			return filepath.Join(dir, statedir.LogName, fmt.Sprintf("%020d.wal", first))
		}
		return errors.Join(err, os.Rename(segment(firsts[0]), segment(firsts[0]+5)))
	})
}

// TestOneServer opens a state directory twice.
func TestOneServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := OpenLocal(dir, LocalOptions{Now: instant(testTime)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = OpenLocal(dir, LocalOptions{Now: instant(testTime)})
	if !errors.Is(err, statedir.ErrLocked) || !strings.Contains(err.Error(), "one server") {
		t.Fatalf("second server: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}

	second, err := OpenLocal(dir, LocalOptions{Now: instant(testTime)})
	if err != nil {
		t.Fatal(err)
	}

	second.Close()
}

// TestReadBeside reads ledger and last use while a server runs, through many checkpoints, and after
// it: the last finished call is always there.
func TestReadBeside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if report, err := readUsage(dir, "", 0); err != nil || report.Tenants == nil || len(report.Tenants) != 0 {
		t.Fatalf("empty state: %+v, %v", report, err)
	}

	live, preview := faultKeys(t)
	now := instant(testTime)

	const every = 60 * time.Millisecond // readers look at the lock every 50 ms
	store, err := OpenLocal(dir, LocalOptions{Now: now, CheckpointEvery: every})
	if err != nil {
		t.Fatal(err)
	}

	check := func(calls int64) {
		t.Helper()
		report, err := readUsage(dir, "live", calendar.DayOf(now.Wall))
		for slow := 0; slow < 12 && errors.Is(err, statedir.ErrLocked); slow++ { // a checkpoint on a busy disk
			report, err = readUsage(dir, "live", calendar.DayOf(now.Wall))
		}
		if err != nil {
			t.Fatal(err)
		}
		got := report.Tenants[0].Keys[0].Days[0].Operations[CardsGet]
		if want := (Counts{Calls: calls, Charged: (calls + 1) / 2}); got != want || len(report.Tenants) != 1 {
			t.Fatalf("read %+v, want %+v", report, want)
		}
		last, err := ReadLastUse(dir)
		for slow := 0; slow < 12 && errors.Is(err, statedir.ErrLocked); slow++ {
			last, err = ReadLastUse(dir)
		}
		if err != nil || last[live.KeyID].UnixMilli() != now.Wall || len(last) != 2 {
			t.Fatalf("last use %v, want %d (%v)", last, now.Wall, err)
		}
	}

	if _, err := store.Finish(store.Admit(preview, SpecFor(preview, ProductsList), now).Reservation, true); err != nil {
		t.Fatal(err)
	}

	for calls := range int64(120) {
		now.Mono += 1000
		now.Wall += 1000
		res := store.Admit(live, SpecFor(live, CardsGet), now).Reservation
		if _, err := store.Finish(res, calls%2 == 0); err != nil {
			t.Fatal(err)
		}
		check(calls + 1)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}

	check(120)
	if report, err := readUsage(dir, "", calendar.DayOf(now.Wall)+1); err != nil || len(report.Tenants) != 0 {
		t.Fatalf("since tomorrow: %+v %v", report, err)
	}
}
