package engine_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ninepocket/engine"
	"ninepocket/engine/cursor"
	"ninepocket/internal/fixture"
	"ninepocket/internal/testsweep"
	"ninepocket/snapshot"
)

func TestOpen(t *testing.T) {
	s := newSource()
	e := engine.New(s, engine.Options{Site: site})
	wantErr(t, "nothing published", e.Open(start), snapshot.ErrNoCurrent)
	if e.View() != nil {
		t.Error("a view of nothing")
	}

	id := s.add(1, small(1))
	s.publish(id)
	wantErr(t, "open", e.Open(start), nil)
	if serving(e) != id || e.Degraded.Load() || e.View().Hash != cursor.Hash(id) {
		t.Errorf("serving %q, degraded %t", serving(e), e.Degraded.Load())
	}

	wantErr(t, "check", e.Check(start), nil)
	if n := s.loaded(id); n != 1 {
		t.Errorf("loaded %d times", n)
	}
}

func TestOpenFallsBack(t *testing.T) {
	f := func(what string, err error, later bool) {
		t.Helper()
		s := newSource()
		old := s.add(1, small(1))
		good := s.add(2, small(2))
		bad := s.add(3, small(3))
		published := s.add(4, small(4))
		built := s.add(5, small(5))
		for _, id := range []string{old, good, idOf(6), bad, published} {
			s.publish(id)
		}
		s.fail(published, err)
		s.fail(bad, errDamage)
		e := engine.New(s, engine.Options{Site: site})
		wantErr(t, what, e.Open(start), nil)
		if serving(e) != good || !e.Degraded.Load() || s.loaded(old) != 0 || s.loaded(built) != 0 {
			t.Errorf("%s: serving %q, degraded %t", what, serving(e), e.Degraded.Load())
		}

		// A snapshot that was removed after its release is no failure; a bad one is.
		if st := e.Stats(); st.LastFailure.ID != bad {
			t.Errorf("%s: the last failure is %+v", what, st.LastFailure)
		}

		// Once it can be loaded again, a temporarily failed snapshot is served, and a damaged one
		// is not tried.
		s.fail(published, nil)
		wantErr(t, what, e.Check(start), nil)
		if got := serving(e) == published && !e.Degraded.Load(); got != later {
			t.Errorf("%s: afterwards serving %q, degraded %t", what, serving(e), e.Degraded.Load())
		}

		// Another release is.
		s.publish(old)
		wantErr(t, what, e.Check(start), nil)
		if serving(e) != old || e.Degraded.Load() {
			t.Errorf("%s: after another publication serving %q, degraded %t", what, serving(e), e.Degraded.Load())
		}
	}

	f("damaged", errDamage, false)
	f("newer", snapshot.ErrNewerFormat, false)
	f("too many open files", errors.New("too many open files"), true)
	f("missing", snapshot.ErrNotFound, true)
}

func TestOpenWithDamagedPointer(t *testing.T) {
	s := newSource()
	id := s.add(1, small(1))
	s.add(2, small(2)) // never published
	s.publish(id)
	s.err = errDamage
	e := engine.New(s, engine.Options{Site: site})
	wantErr(t, "open", e.Open(start), nil)
	if serving(e) != id || !e.Degraded.Load() {
		t.Errorf("serving %q, degraded %t", serving(e), e.Degraded.Load())
	}

	wantErr(t, "check", e.Check(start), snapshot.ErrDamaged)
	s.publish(id)
	wantErr(t, "check", e.Check(start), nil)
	if e.Degraded.Load() {
		t.Error("still degraded with the pointer whole")
	}
}

func TestOpenWithNothingThatLoads(t *testing.T) {
	s := newSource()
	a := s.add(1, small(1))
	b := s.add(2, small(2))
	built := s.add(3, small(3))
	s.publish(a)
	s.publish(b)
	s.fail(a, errors.New("another reason"))
	s.fail(b, errDamage)
	e := engine.New(s, engine.Options{Site: site})
	wantErr(t, "open", e.Open(start), errDamage)
	// An unreleased snapshot is not better than none.
	if e.View() != nil || e.Degraded.Load() || s.loaded(built) != 0 {
		t.Errorf("serving %q, degraded %t", serving(e), e.Degraded.Load())
	}
}

func TestCheck(t *testing.T) {
	s := newSource()
	a := s.add(1, small(1))
	b := s.add(2, small(2))
	c := s.add(3, small(3))
	e := engine.New(s, engine.Options{Site: site})
	wantErr(t, "nothing published", e.Check(start), nil)
	s.publish(a)
	check := func(want error, id string) {
		t.Helper()
		wantErr(t, "check", e.Check(start), want)
		if serving(e) != id {
			t.Errorf("serving %q, want %q", serving(e), id)
		}
	}

	check(nil, a)
	s.publish(b)
	check(nil, b)

	// Back to an earlier one.
	s.publish(a)
	check(nil, a)
	// A damaged release is reported once, tried once, and does not stop the next release.
	s.publish(c)
	s.fail(c, errDamage)
	check(snapshot.ErrDamaged, a)
	check(nil, a)
	if n := s.loaded(c); n != 1 {
		t.Errorf("damaged snapshot loaded %d times", n)
	}

	// Unless the operator says that it was fixed in place.
	wantErr(t, "recheck", e.Retry(start), snapshot.ErrDamaged)
	s.fail(c, nil)
	check(nil, a)
	wantErr(t, "recheck", e.Retry(start), nil)
	check(nil, c)
	s.fail(c, errDamage)
	s.publish(b)
	check(nil, b)
	// The same snapshot, put in order and published again, is tried again.
	s.fail(c, nil)
	s.publish(c)
	check(nil, c)

	// A temporary failure is retried until it succeeds.
	broken := errors.New("the network is away")
	s.publish(a)
	s.fail(a, broken)
	check(broken, c)
	check(broken, c)
	s.fail(a, nil)
	check(nil, a)

	// The same snapshot at a new epoch is not loaded again.
	n := s.loaded(a)
	s.publish(a)
	check(nil, a)
	if s.loaded(a) != n {
		t.Error("what is served already was loaded again")
	}
}

// TestUnservableIsTriedOnce publishes a catalog that decodes but cannot be indexed.
func TestUnservableIsTriedOnce(t *testing.T) {
	s := newSource()
	a := s.add(1, small(1))
	b := s.add(2, small(2))
	s.catalogs[b].Cards.Order[0] = s.catalogs[b].Cards.Order[1]
	e := engine.New(s, engine.Options{Site: site})
	s.publish(a)
	wantErr(t, "open", e.Open(start), nil)
	s.publish(b)
	if err := e.Check(start); err == nil {
		t.Error("an unfit snapshot is served")
	}

	for range 5 {
		wantErr(t, "check", e.Check(start), nil)
	}

	if serving(e) != a || s.loaded(b) != 1 {
		t.Errorf("serving %q, unfit snapshot loaded %d times", serving(e), s.loaded(b))
	}
}

func TestRetained(t *testing.T) {
	s := newSource()
	e := engine.New(s, engine.Options{Site: site})
	var ids []string
	for n := range 4 {
		ids = append(ids, s.add(n, small(uint64(n))))
	}

	swap := func(n int, at time.Duration) {
		t.Helper()
		s.publish(ids[n])
		wantErr(t, "check", e.Check(start.Add(at)), nil)
	}

	retained := func(want ...int) {
		t.Helper()
		for n, id := range ids {
			v := e.Retained(cursor.Hash(id))
			expected := false
			for _, w := range want {
				expected = expected || w == n
			}

			if (v != nil) != expected || v != nil && v.ID != id {
				t.Errorf("view %d is retained: %t, want %t", n, v != nil, expected)
			}
		}
	}

	swap(0, 0)
	retained(0)
	swap(1, time.Minute) // 0 is retired at 1 min
	swap(2, 5*time.Minute)
	retained(0, 1, 2)
	wantErr(t, "check", e.Check(start.Add(16*time.Minute-time.Millisecond)), nil)
	retained(0, 1, 2)
	wantErr(t, "check", e.Check(start.Add(16*time.Minute)), nil)
	retained(1, 2)
	swap(1, 17*time.Minute) // back to 1: it is current, not retired
	retained(1, 2)
	swap(3, 33*time.Minute)
	retained(1, 3)
	if e.Retained(0) != nil || e.Retained(cursor.Hash("nothing")) != nil {
		t.Error("a view of nothing is retained")
	}
}

func TestRetiredBudget(t *testing.T) {
	f := func(what string, budget func(size int64) int64, want int) {
		t.Helper()
		s := newSource()
		for n := range 5 {
			s.add(n, small(1)) // all of one size
		}

		s.publish(idOf(0))
		measure := engine.New(s, engine.Options{Site: site})
		wantErr(t, "open", measure.Open(start), nil)
		s.publish(idOf(1))
		wantErr(t, "check", measure.Check(start), nil)

		// The current View shares its texts with the retired ones.
		own := measure.Stats().RetiredBytes
		if whole := measure.View().Size(); own >= whole || own < whole/4 {
			t.Fatalf("a retired View of %d bytes counts as %d", whole, own)
		}
		e := engine.New(s, engine.Options{Site: site, RetiredBudget: budget(own)})
		for n := range 5 {
			s.publish(idOf(n))
			wantErr(t, "check", e.Check(start), nil)
		}

		for n := range 5 {
			if retained := e.Retained(cursor.Hash(idOf(n))) != nil; retained != (n >= 4-want) {
				t.Errorf("%s: view %d of 5 is retained: %t", what, n, retained)
			}
		}
	}

	f("nothing", func(int64) int64 { return -1 }, 0)
	f("less than one", func(size int64) int64 { return size - 1 }, 0)
	f("one", func(size int64) int64 { return size }, 1)
	f("two and a half", func(size int64) int64 { return size * 5 / 2 }, 2)
	f("all", func(int64) int64 { return 0 }, 4)
}

// TestFollow serves each release without being asked.
func TestFollow(t *testing.T) {
	s := newSource()
	e := engine.New(s, engine.Options{Site: site, Poll: time.Millisecond})
	ctx, stop := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() { e.Follow(ctx) })

	for n := range 3 {
		id := s.add(n, small(uint64(n)))
		s.publish(id)
		for deadline := time.Now().Add(time.Minute); serving(e) != id; {
			if time.Now().After(deadline) {
				t.Fatalf("serving %q, not %q", serving(e), id)
			}
			time.Sleep(time.Millisecond)
		}
	}

	stop()
	following.Wait()
}

// TestFollowBacksOff polls in virtual time. A temporary failure is retried ever more rarely, at
// least every two seconds, and is logged once. No view is made in the bubble, because the word
// index has goroutines.
func TestFollowBacksOff(t *testing.T) {
	var log bytes.Buffer
	s := newSource()
	a := s.add(1, small(1))
	b := s.add(2, small(2))
	e := engine.New(s, engine.Options{Site: site, Log: slog.New(slog.NewTextHandler(&log, nil))})
	s.publish(a)
	wantErr(t, "open", e.Open(start), nil)
	away := errors.New("the network is away")
	unlucky := errors.New("the disk is tired")
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var following sync.WaitGroup
		following.Go(func() { e.Follow(ctx) })
		wait := func(d time.Duration) { time.Sleep(d); synctest.Wait() }
		tried := func(id string, want int) {
			t.Helper()
			if n := s.loaded(id); n != want || serving(e) != a {
				t.Errorf("tried %d times, want %d; serving %q", n, want, serving(e))
			}
		}

		s.fail(b, away)
		s.publish(b)
		wait(249 * time.Millisecond)
		tried(b, 0)
		wait(time.Millisecond)
		tried(b, 1)

		const second = time.Second
		for _, pause := range []time.Duration{second / 4, second / 2, second, 2 * second, 2 * second, 2 * second} {
			n := s.loaded(b)
			wait(pause - 1)
			tried(b, n)
			wait(1)
			tried(b, n+1)
		}

		s.fail(b, unlucky)
		wait(2 * time.Second)
		tried(b, 8)
		s.publish(a) // well again, which ends the trouble
		wait(time.Second)
		tried(b, 8)
		s.publish(b) // it starts again
		wait(time.Second)
		tried(b, 11)
		s.publish(b) // another release is tried at once, whatever happened to the previous release
		wait(250 * time.Millisecond)
		tried(b, 12)
		stop()
		following.Wait()
	})

	asked := 0
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var following sync.WaitGroup
		following.Go(func() { e.Follow(ctx) })
		s.unreachable(away)
		asked = s.asked()
		time.Sleep(20 * time.Second)
		synctest.Wait()
		asked = s.asked() - asked
		// If it is readable again, the release is tried within the longest wait.
		s.publish(b)
		n := s.loaded(b)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if s.loaded(b) == n {
			t.Error("two seconds after the source came back nothing was tried")
		}

		stop()
		following.Wait()
	})

	if asked != 13 { // after 250 ms, 500 ms, 1 s, 2 s and then every two seconds
		t.Errorf("a source that cannot be asked was asked %d times in 20 s", asked)
	}

	if n := strings.Count(log.String(), away.Error()); n != 2 {
		t.Errorf("the first trouble, of the snapshot and then of the source, is logged %d times", n)
	}

	if n := strings.Count(log.String(), unlucky.Error()); n != 3 {
		t.Errorf("the second trouble, which came twice and once after, is logged %d times", n)
	}

	f := e.Stats().Failures
	if f[engine.NoSource] == 0 || f[engine.Damaged]+f[engine.NewerFormat]+f[engine.Unservable]+f[engine.NoMemory] != 0 {
		t.Errorf("failures are counted as %v", f)
	}
}

// TestReadersDuringSwaps reads from many goroutines while views are swapped: every response is of
// one snapshot.
func TestReadersDuringSwaps(t *testing.T) {
	const snapshots = 3
	swaps := 20 / testsweep.Stride(3) // readers are busy for as long as they last
	s := newSource()
	for n := range snapshots {
		w := small(1)
		for i := range w.Cards {
			w.Cards[i].Name = idOf(n)
		}
		s.add(n, w)
	}

	e := engine.New(s, engine.Options{Site: site})
	s.publish(idOf(0))
	wantErr(t, "open", e.Open(start), nil)

	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			var body []byte
			for {
				select {
				case <-done:
					return
				default:
				}

				v := e.View()
				body = v.AppendSummaries(body[:0], []uint32{0, 1, 2, 3, 4, 5})
				body = v.AppendHistory(v.AppendDetail(body, 0), 0, 90, "")
				body = v.AppendStats(body, engine.StatsQuery{Card: 0, Window: 2, Name: "90d", MaxDays: 365})
				if n := bytes.Count(body, []byte(v.ID)); n != 8 {
					t.Errorf("%d of 8 names are of snapshot %q: %s", n, v.ID, body)
					return
				}

				if e.Retained(v.Hash) == nil {
					t.Errorf("the view of %q is gone while it is fresh", v.ID)
					return
				}
			}
		})
	}

	var checks sync.WaitGroup
	for range 2 { // a poll and an operator's reload at once
		checks.Go(func() {
			for n := range swaps {
				s.publish(idOf(n % snapshots))
				if err := e.Check(start); err != nil {
					t.Error(err)
				}
			}
		})
	}

	checks.Wait()
	close(done)
	readers.Wait()
}

// TestStoreIsGone: a pointer that existed and is gone is a failure. It is reported and retried,
// while the View is still served.
func TestStoreIsGone(t *testing.T) {
	s := newSource()
	id := s.add(1, fixture.Random(1, fixture.Small))
	s.publish(id)
	e := engine.New(s, engine.Options{Site: site})
	if err := e.Open(start); err != nil {
		t.Fatal(err)
	}

	s.mu.Lock()
	s.err = snapshot.ErrNoCurrent
	s.mu.Unlock()
	wantErr(t, "a store without its pointer", e.Check(start), snapshot.ErrNoCurrent)
	if v := e.View(); v == nil || v.ID != id {
		t.Error("the View is gone, too")
	}

	if stats := e.Stats(); stats.Failures[engine.ReasonOf(snapshot.ErrNoCurrent)] == 0 {
		t.Errorf("nothing is counted: %+v", stats)
	}

	s.mu.Lock()
	s.err = nil
	s.mu.Unlock()
	if err := e.Check(start); err != nil {
		t.Errorf("the store is back: %v", err)
	}
}

// TestAnotherStoreOfEqualEpoch: a store that replaced another counts its epochs from the start.
func TestAnotherStoreOfEqualEpoch(t *testing.T) {
	s := newSource()
	one := s.add(1, fixture.Random(1, fixture.Small))
	two := s.add(2, fixture.Random(2, fixture.Small))
	s.publish(one)
	e := engine.New(s, engine.Options{Site: site})
	if err := e.Open(start); err != nil {
		t.Fatal(err)
	}

	s.mu.Lock()
	s.current.ID = two
	s.mu.Unlock()
	if err := e.Check(start); err != nil || e.View().ID != two {
		t.Errorf("serving %s: %v", e.View().ID, err)
	}
}
