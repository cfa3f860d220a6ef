package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"ninepocket/engine"
	"ninepocket/engine/cursor"
	"ninepocket/snapshot"
)

// TestMemory refuses a swap for lack of memory, after it released retired Views, the oldest first.
func TestMemory(t *testing.T) {
	const mib = int64(1 << 20)
	s := newSource()
	var log bytes.Buffer
	limit := int64(1 << 40)
	each := 10 * mib
	used := int64(0)
	var e *engine.Engine
	e = engine.New(s, engine.Options{
		Site: site, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Memory: func() (int64, int64) { return used + int64(e.Stats().Retired)*each, limit },
	})
	var ids []string
	for n := range 5 {
		ids = append(ids, s.add(n, small(uint64(n))))
	}

	retained := func() (left []int) {
		for n, id := range ids {
			if e.Retained(cursor.Hash(id)) != nil {
				left = append(left, n)
			}
		}
		return left
	}

	want := func(what string, current int, left ...int) {
		t.Helper()
		all := slices.Sorted(slices.Values(append(left, current)))
		got := retained()
		if serving(e) != ids[current] || !slices.Equal(got, all) {
			t.Fatalf("%s: serving %q, kept %v, want %v", what, serving(e), got, all)
		}
	}

	for n := range 3 {
		s.publish(ids[n])
		wantErr(t, "check", e.Check(start), nil)
	}

	want("with room", 2, 0, 1)

	// Loading takes 16 MiB and a half more than the decoded size; there is room for that with one
	// retired View.
	s.raw = 20 * mib
	used = 100 * mib
	limit = 100*mib + 46*mib + each + mib
	s.publish(ids[3])
	wantErr(t, "check", e.Check(start), nil)
	want("with room for one", 3, 1, 2)
	if n := strings.Count(log.String(), "dropped=1"); n != 1 {
		t.Errorf("dropping is logged %d times: %s", n, &log)
	}

	// Now there is no room at all: the served View stays, and the operator learns the size of
	// the load.
	limit = 100*mib + 46*mib - 1
	s.publish(ids[4])
	err := e.Check(start)
	if err == nil || engine.ReasonOf(err) != engine.NoMemory || !strings.Contains(err.Error(), "46 MiB") {
		t.Errorf("without room: %v", err)
	}

	want("without room", 3)
	st := e.Stats()
	if s.loaded(ids[4]) != 0 || st.Failures[engine.NoMemory] != 1 || !st.Behind || st.LastFailure.ID != ids[4] ||
		st.LastFailure.Reason.String() != "memory" {
		t.Errorf("loaded %d times, stats %+v", s.loaded(ids[4]), st)
	}

	// It is tried again until there is room; nobody has to say so.
	limit++
	wantErr(t, "check", e.Check(start), nil)
	want("with room again", 4, 3)
	if e.Stats().Behind {
		t.Error("behind although what is published is served")
	}

	// An unknown limit stops nothing.
	used = 1 << 50
	limit = 0
	s.publish(ids[0])
	wantErr(t, "check", e.Check(start), nil)
	want("without a limit", 0, 3, 4)
}

// TestFirstIsNotRefused loads at start with any memory: no other snapshot can be served.
func TestFirstIsNotRefused(t *testing.T) {
	s := newSource()
	s.publish(s.add(1, small(1)))
	e := engine.New(s, engine.Options{Site: site, Memory: func() (int64, int64) { return 2, 1 }})
	wantErr(t, "open", e.Open(start), nil)
}

func TestEngineStats(t *testing.T) {
	s := newSource()
	a := s.add(1, small(1))
	b := s.add(2, small(2))
	c := s.add(3, small(3))
	e := engine.New(s, engine.Options{Site: site, SearchCache: 1 << 20})
	defer e.Close()

	if st := e.Stats(); st.Swaps != 0 || st.Manifest != nil || st.LastFailure != nil || !st.Checked.IsZero() {
		t.Errorf("a new engine's stats are %+v", st)
	}

	s.publish(a)
	wantErr(t, "open", e.Open(start), nil)
	s.publish(b)
	at := start.Add(time.Minute)
	wantErr(t, "check", e.Check(at), nil)
	st := e.Stats()
	if st.Epoch != 2 || st.Previous != a || !st.Live.Equal(at) || st.Manifest.ID != b || !st.Checked.Equal(at) ||
		st.Swaps != 2 || st.Behind ||
		st.Retired != 1 || st.RetiredBytes != e.Retained(cursor.Hash(a)).Size() {
		t.Errorf("after a swap %+v", st)
	}

	if p := st.LastLoad; p.Index <= 0 || p.Fragments <= 0 || p.Total < p.Read+p.Index+p.Fragments {
		t.Errorf("a load took %+v", p)
	}

	for _, f := range []struct {
		err  error
		want engine.Reason
	}{{errDamage, engine.Damaged}, {snapshot.ErrNewerFormat, engine.NewerFormat}, {
		errors.New("away"),
		engine.NoSource,
	}} {
		s.publish(c)
		s.fail(c, f.err)
		n := e.Stats().Failures[f.want]
		if e.Check(at) == nil {
			t.Errorf("%v is served", f.err)
		}

		if st := e.Stats(); st.Failures[f.want] != n+1 || !st.Behind || st.LastFailure.Reason != f.want ||
			st.LastFailure.Epoch == 0 || st.Epoch != 2 {
			t.Errorf("%v: %+v", f.err, st)
		}
	}

	s.fail(c, nil)
	s.publish(b) // served already
	wantErr(t, "check", e.Check(at), nil)
	if st := e.Stats(); st.Behind || st.Epoch != 6 || st.Swaps != 2 {
		t.Errorf("published again: %+v", st)
	}

	// The source cannot be asked: its last release may still be served.
	s.unreachable(errors.New("away"))
	if e.Check(at.Add(time.Hour)) == nil || e.Stats().Behind || !e.Stats().Checked.Equal(at) {
		t.Errorf("an unreachable source: %+v", e.Stats())
	}
}

// TestDegradedIsBehind serves an earlier release at start and reports it.
func TestDegradedIsBehind(t *testing.T) {
	s := newSource()
	old := s.add(1, small(1))
	broken := s.add(2, small(2))
	published := s.add(3, small(3))
	s.publish(old)
	s.publish(broken)
	s.publish(published)
	s.fail(published, errDamage)
	s.fail(broken, snapshot.ErrNewerFormat)
	e := engine.New(s, engine.Options{Site: site})
	wantErr(t, "open", e.Open(start), nil)

	st := e.Stats()
	if serving(e) != old || !st.Degraded || !st.Behind || st.Epoch != 0 || st.Failures[engine.Damaged] != 1 ||
		st.Failures[engine.NewerFormat] != 1 {
		t.Errorf("%+v", st)
	}
}

// slowSource is a source whose one snapshot takes until somebody gives up waiting.
type slowSource struct {
	*source
	slow    string
	loading chan struct{}
}

func (s slowSource) Load(ctx context.Context, id string, step func()) (*snapshot.Catalog, error) {
	if id != s.slow {
		return s.source.Load(ctx, id, step)
	}
	close(s.loading)
	<-ctx.Done()

	return nil, fmt.Errorf("cannot load: %w", ctx.Err())
}

// TestFollowEndsWhileItLoads: a server that stops does not wait for a load, and does not report
// the snapshot as damaged.
func TestFollowEndsWhileItLoads(t *testing.T) {
	s := slowSource{source: newSource(), loading: make(chan struct{})}
	first := s.add(0, small(1))
	s.slow = s.add(1, small(2))
	s.publish(first)
	var log bytes.Buffer
	e := engine.New(s, engine.Options{
		Site: site, Poll: time.Millisecond, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	wantErr(t, "open", e.Open(time.Now()), nil)

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		e.Follow(ctx)
		close(ended)
	}()
	s.publish(s.slow)
	<-s.loading
	cancel()
	<-ended

	st := e.Stats()
	if serving(e) != first || st.LastFailure != nil || strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("after it ended it serves %q, its last failure is %+v, its log\n%s", serving(e), st.LastFailure, &log)
	}
}
