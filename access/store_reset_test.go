package access

import (
	"testing"

	"ninepocket/access/keys"
	"ninepocket/access/state"
	"ninepocket/internal/disk/disktest"
)

// TestResetDay uses a day up, resets it as an operator does, and restarts: the day is whole once, and
// what was used after the reset stays used. Credits are another matter.
func TestResetDay(t *testing.T) {
	t.Parallel()
	plans := keys.DefaultPlans()
	plans.Set("tiny", keys.Plan{PerMinute: 1000, PerDay: 3, Credits: 3})
	f := keys.NewFile()
	_, live := mustCreate(t, f, keys.NewKey{Tenant: "acme", Surface: keys.Live, Plan: "tiny"})
	_, preview := mustCreate(t, f, keys.NewKey{Tenant: "acme", Surface: keys.Preview, Plan: "tiny"})
	ring, err := keys.FixedRing(f, plans)
	if err != nil {
		t.Fatal(err)
	}

	now := instant(testTime)
	dir := t.TempDir()
	options := LocalOptions{
		Now: now, boot: noBoot,
		Seams: state.Seams{Inline: true, Disk: disktest.Unsynced(false)},
	}
	store, err := OpenLocal(dir, options)
	if err != nil {
		t.Fatal(err)
	}
	use := func(raw string, op Operation) (n int) {
		for range 10 {
			p, err := ring.FindCached([]byte(raw), now.Wall, nil)
			if err != nil {
				t.Fatal(err)
			}
			decision := store.Admit(p, SpecFor(p, op), now)
			if decision.Result == QuotaExceeded {
				break
			}
			if _, err := store.Finish(decision.Reservation, true); err != nil {
				t.Fatal(err)
			}
			n++
			now.Mono++
			now.Wall++
		}
		return n
	}
	want := func(what string, calls, products int) {
		t.Helper()
		if got := use(live, CardsGet); got != calls {
			t.Fatalf("%s: %d live calls, want %d", what, got, calls)
		}
		if got := use(preview, ProductsList); got != products {
			t.Fatalf("%s: %d preview calls, want %d", what, got, products)
		}
	}
	reset := func(credits bool) {
		t.Helper()
		if err := f.ResetDay("acme", credits, testTime); err != nil {
			t.Fatal(err)
		}
		if err := ring.Replace(f); err != nil {
			t.Fatal(err)
		}
	}

	want("at first", 3, 3)
	want("used up", 0, 0)
	reset(false)
	want("the day reset", 3, 0)
	reset(true)
	want("the credits reset", 0, 3)
	want("used up again", 0, 0)
	reset(false) // in the same millisecond
	want("the day reset again", 3, 0)

	for _, kill := range []bool{true, false} {
		if kill {
			store.Kill()
		} else if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		store, err = OpenLocal(dir, options)
		if err != nil {
			t.Fatal(err)
		}
		want("after a restart", 0, 0)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}
