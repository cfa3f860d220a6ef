package engine_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ninepocket/engine"
	"ninepocket/engine/cursor"
	"ninepocket/internal/testsweep"
	"ninepocket/snapshot"
)

// publishAt moves the pointer to a snapshot that all servers activate at a time.
func (s *source) publishAt(id string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = nil
	s.current = snapshot.Current{
		Epoch: s.current.Epoch + 1, ID: id, Previous: s.current.ID, ActivateAt: at, PreviousUntil: at,
		PreviousEpoch: s.current.Epoch,
	}
	s.past = append(s.past, id)
}

// TestPrepared makes a View ahead of its time, serves it at that time and not before, and lets
// cursors of other servers lead to it meanwhile.
func TestPrepared(t *testing.T) {
	s := newSource()
	e := engine.New(s, engine.Options{Site: site})
	a := s.add(1, small(1))
	b := s.add(2, small(2))
	s.publish(a)
	wantErr(t, "open", e.Open(start), nil)

	at := start.Add(time.Minute)
	s.publishAt(b, at)
	wantErr(t, "check", e.Check(start), nil)
	st := e.Stats()
	if serving(e) != a || st.Prepared != b || !st.PreparedAt.Equal(at) || st.Epoch != 1 || st.Behind {
		t.Errorf("before its time %q is served: %+v", serving(e), st)
	}
	if v := e.Retained(cursor.Hash(b)); v == nil || v.ID != b {
		t.Error("a cursor of what is prepared leads nowhere")
	}
	wantErr(t, "check", e.Check(at.Add(-time.Nanosecond)), nil)
	if serving(e) != a || s.loaded(b) != 1 {
		t.Errorf("a moment before its time %q is served, loaded %d times", serving(e), s.loaded(b))
	}

	wantErr(t, "check", e.Check(at.Add(40*time.Millisecond)), nil)
	st = e.Stats()
	if serving(e) != b || st.Prepared != "" || st.Epoch != 2 || st.Previous != a || st.Late != 40*time.Millisecond {
		t.Errorf("in its time %q is served: %+v", serving(e), st)
	}
	if e.Retained(cursor.Hash(a)) == nil {
		t.Error("a cursor of the one before leads nowhere")
	}

	// A late release is activated at once, and reports the delay.
	c := s.add(3, small(3))
	s.publishAt(c, at.Add(time.Minute))
	wantErr(t, "check", e.Check(at.Add(time.Minute+3*time.Second)), nil)
	if st := e.Stats(); serving(e) != c || st.Late < 3*time.Second {
		t.Errorf("after its time %q is served: %+v", serving(e), st)
	}
}

// TestPreparedInTurn releases again before the prepared View's time has come.
func TestPreparedInTurn(t *testing.T) {
	at := start.Add(time.Minute)
	for name, test := range map[string]struct {
		second         string
		lead           time.Duration // of the second release after the first release's time
		early, at, end string        // the snapshots served at once, at the first time, and at last
		prepared       string        // at once
	}{
		"a later one waits its turn":       {"c", time.Second, "a", "b", "c", "b"},
		"an earlier one takes its place":   {"c", -time.Second, "a", "c", "c", "c"},
		"one that is due takes its place":  {"c", -time.Hour, "c", "c", "c", ""},
		"it is withdrawn before its time":  {"a", -time.Second, "a", "a", "a", ""},
		"it is withdrawn after its time":   {"a", time.Second, "a", "b", "a", "b"},
		"it is published once more, later": {"b", time.Second, "a", "a", "b", "b"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSource()
			e := engine.New(s, engine.Options{Site: site})
			ids := map[string]string{"": ""}
			for i, name := range []string{"a", "b", "c"} {
				ids[name] = s.add(i+1, small(uint64(i+1)))
			}
			s.publish(ids["a"])
			wantErr(t, "open", e.Open(start), nil)
			s.publishAt(ids["b"], at)
			wantErr(t, "check", e.Check(start), nil)
			s.publishAt(ids[test.second], at.Add(test.lead))

			for _, step := range []struct {
				now  time.Time
				want string
			}{{start, test.early}, {at, test.at}, {at.Add(2 * time.Second), test.end}} {
				// The waiting release is loaded by the second look.
				wantErr(t, "check", e.Check(step.now), nil)
				wantErr(t, "check", e.Check(step.now), nil)
				if serving(e) != ids[step.want] {
					t.Errorf("at %s %q is served, want %s", step.now, serving(e), step.want)
				}
				if got := e.Stats().Prepared; step.now.Equal(start) && got != ids[test.prepared] {
					t.Errorf("%q is prepared, want %s", got, test.prepared)
				}
			}
			if st := e.Stats(); st.Epoch != 3 || st.Behind {
				t.Errorf("at last %+v", st)
			}
		})
	}
}

// TestOpenPrevious starts a server around the time of a release: it serves the other servers'
// snapshot, and opens their cursors.
func TestOpenPrevious(t *testing.T) {
	at := start.Add(time.Minute)
	open := func(now time.Time, change func(*source, string)) (e *engine.Engine, a, b string) {
		t.Helper()
		s := newSource()
		a = s.add(1, small(1))
		b = s.add(2, small(2))
		s.publish(a)
		s.publishAt(b, at)
		change(s, a)
		e = engine.New(s, engine.Options{Site: site})
		wantErr(t, "open", e.Open(now), nil)
		return e, a, b
	}
	asIs := func(*source, string) {}

	e, a, b := open(start, asIs)
	if st := e.Stats(); serving(e) != a || st.Epoch != 1 || st.Behind {
		t.Errorf("before its time it begins with %q: %+v", serving(e), st)
	}
	wantErr(t, "check", e.Check(start), nil)
	if e.Stats().Prepared != b {
		t.Error("what comes next is not prepared")
	}
	wantErr(t, "check", e.Check(at), nil)
	if serving(e) != b || e.Stats().Epoch != 2 {
		t.Errorf("at its time it serves %q", serving(e))
	}

	e, a, b = open(at.Add(cursor.Lifetime-time.Second), asIs)
	if serving(e) != b || e.Retained(cursor.Hash(a)) == nil || e.Stats().Late != 0 {
		t.Errorf("after its time it begins with %q: %+v", serving(e), e.Stats())
	}
	wantErr(t, "check", e.Check(at.Add(cursor.Lifetime)), nil)
	if e.Retained(cursor.Hash(a)) != nil {
		t.Error("the snapshot before is kept after the last cursor that leads to it")
	}
	e, a, _ = open(at.Add(cursor.Lifetime), asIs)
	if e.Retained(cursor.Hash(a)) != nil {
		t.Error("a snapshot to which no cursor leads is loaded")
	}

	// Without the previous release, the next one is better than none.
	gone := func(s *source, a string) { s.fail(a, errDamage) }
	e, _, b = open(start, gone)
	if serving(e) != b || e.Stats().Degraded {
		t.Errorf("without the one before it begins with %q", serving(e))
	}
	e, _, b = open(at, gone)
	if serving(e) != b {
		t.Errorf("without the one before it serves %q", serving(e))
	}
}

// TestActivateTogether lets three servers prepare a hundred releases and follow the store, each at
// different moments: all of them activate each release at one instant.
func TestActivateTogether(t *testing.T) {
	const servers, lead = 3, 10 * time.Second
	s := newSource()
	ids := [2]string{s.add(1, small(1)), s.add(2, small(2))}
	s.publish(ids[0])
	// The clock of a bubble begins here.
	began := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	var all []*engine.Engine
	for range servers {
		e := engine.New(s, engine.Options{Site: site})
		wantErr(t, "open", e.Open(began), nil)
		all = append(all, e)
	}

	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	for n := range 100 / testsweep.Stride(5) {
		next := ids[(n+1)%2]
		at := began.Add(lead + time.Duration(random.Int64N(int64(time.Second))))
		s.publishAt(next, at)
		for _, e := range all {
			wantErr(t, "check", e.Check(began), nil)
		}
		synctest.Test(t, func(t *testing.T) { activates(t, random, all, next, at) })
		if t.Failed() {
			t.Fatalf("seed %d: at publication %d", seed, n)
		}
	}
}

// activates lets servers follow beyond a time, at which all of them begin with a snapshot.
func activates(t *testing.T, random *rand.Rand, all []*engine.Engine, next string, at time.Time) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var following sync.WaitGroup
	for _, e := range all {
		begins := time.Duration(random.Int64N(int64(time.Second)))
		following.Go(func() {
			time.Sleep(begins)
			e.Follow(ctx)
		})
	}

	time.Sleep(time.Until(at) - time.Nanosecond)
	synctest.Wait()
	for k, e := range all {
		if st := e.Stats(); serving(e) == next || st.Prepared != next {
			t.Errorf("server %d serves %q before its time: %+v", k, serving(e), st)
		}
	}
	time.Sleep(time.Nanosecond)
	synctest.Wait()
	for k, e := range all {
		if st := e.Stats(); serving(e) != next || !st.Live.Equal(at) || st.Late != 0 {
			t.Errorf("server %d serves %q since %s, want %s", k, serving(e), st.Live, at)
		}
	}
	stop()
	following.Wait()
}

// TestIsPending distinguishes the cursor of a snapshot that is being delivered from the cursor
// of a snapshot that is gone.
func TestIsPending(t *testing.T) {
	published := engine.RemoteStatus{Current: snapshot.Current{ID: idOf(2)}, Asked: start}
	e := engine.New(newSource(), engine.Options{RemoteStatus: func() engine.RemoteStatus { return published }})

	for _, test := range []struct {
		what   string
		id     string
		issued time.Time
		want   bool
	}{
		{"what the store told", idOf(2), start.Add(-time.Second), true},
		{"another one, older than what the store told", idOf(1), start.Add(-time.Second), false},
		{"another one, younger than what the store told", idOf(3), start.Add(time.Second), true},
	} {
		if got := e.IsPending(cursor.Hash(test.id), test.issued); got != test.want {
			t.Errorf("a cursor of %s: %v", test.what, got)
		}
	}
	if engine.New(newSource(), engine.Options{}).IsPending(cursor.Hash(idOf(2)), start) {
		t.Error("on one machine nothing is on its way")
	}
}

// TestPreparedDoesNotFit checks that a View that cannot be prepared is reported, and served when there is room.
func TestPreparedDoesNotFit(t *testing.T) {
	s := newSource()
	e := engine.New(s, engine.Options{Site: site})
	s.publish(s.add(1, small(1)))
	wantErr(t, "open", e.Open(start), nil)

	b := s.add(2, small(2))
	tired := errors.New("the disk is tired")
	s.fail(b, tired)
	s.publishAt(b, start.Add(time.Minute))
	wantErr(t, "check", e.Check(start), tired)
	if st := e.Stats(); st.Prepared != "" || !st.Behind {
		t.Errorf("what does not load is prepared: %+v", st)
	}

	s.fail(b, nil)
	wantErr(t, "check", e.Check(start), nil)
	wantErr(t, "check", e.Check(start.Add(time.Minute)), nil)
	if serving(e) != b || e.Stats().Behind {
		t.Errorf("%q is served: %+v", serving(e), e.Stats())
	}
}
