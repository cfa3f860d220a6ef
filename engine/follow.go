package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"ninepocket/internal/throttle"
	"ninepocket/snapshot"
)

// maxRetryWait is the longest time between two tries (decision 94). A load of a real catalog takes
// about a second. So a publication is served within three seconds after the store can be read
// again.
const maxRetryWait = 2 * time.Second

// publication tells one move of a store's pointer from another. The epoch alone is not enough: when
// another store is put in the place of the first, it may have reached the same epoch.
type publication struct {
	epoch uint64
	id    string
}

// loadBackoff is a failure that may pass (decision 94): the source cannot be asked, or the snapshot
// cannot be read, or it does not fit into memory. The engine tries again for ever. The wait doubles
// up to maxRetryWait.
type loadBackoff struct {
	err   error
	epoch uint64 // of the publication that failed; 0 when the source could not be asked
	wait  time.Duration
	until time.Time // not tried again before
}

// active reports whether there is trouble with this publication and it is too early to try again.
func (t *loadBackoff) active(epoch uint64, now time.Time) bool {
	return t.err != nil && t.epoch == epoch && now.Before(t.until)
}

// record records a failure. The wait doubles while the same publication fails.
func (t *loadBackoff) record(err error, epoch uint64, poll time.Duration, now time.Time) {
	if t.err == nil || t.epoch != epoch {
		t.wait = poll / 2 // it is doubled below
	}

	t.err = err
	t.epoch = epoch
	t.wait = max(poll, min(2*t.wait, maxRetryWait))
	t.until = now.Add(t.wait)
}

// Open loads the published snapshot. When that one cannot be served, for whatever reason, it tries
// the earlier publications, the latest first, and sets Degraded (decision 96). It serves nothing
// that was never published. When nothing can be served, it returns the first error.
func (e *Engine) Open(now time.Time) error {
	ctx := context.Background()
	e.following.Lock()
	defer e.following.Unlock()

	cur, err := e.source.Current()
	if err == nil {
		e.recorder.polled(now)
		if e.openPrevious(ctx, cur, now) {
			// Follow prepares what comes after it.
			return nil
		}
		err = e.load(ctx, cur, now)
		if err == nil {
			e.published = publication{cur.Epoch, cur.ID}
			e.loadPrevious(ctx, cur, now)
			return nil
		}
		e.failed(cur, err, now)
	}

	// Where nothing is published, there is nothing earlier.
	if errors.Is(err, snapshot.ErrNoCurrent) {
		return err
	}

	return e.openFallback(ctx, cur, err, now)
}

// openFallback serves the latest other publication that can be served: an older catalog is better
// than none. cause is why cur cannot be served; openFallback returns it when no other can be served
// either.
func (e *Engine) openFallback(ctx context.Context, cur snapshot.Current, cause error, now time.Time) error {
	published, err := e.source.Published()
	if err != nil {
		return errors.Join(cause, err)
	}

	for _, id := range published {
		if id == cur.ID {
			continue
		}

		other := snapshot.Current{ID: id}
		err := e.load(ctx, other, now)
		if errors.Is(err, snapshot.ErrNotFound) {
			// It was removed since.
			continue
		}
		if err != nil {
			e.recorder.failed(other, ReasonOf(err), err, now)
			continue
		}

		e.Degraded.Store(true)
		e.o.Log.Error("cannot serve what the store publishes, serving an earlier publication",
			slog.String("snapshot_id", id), slog.String("published_id", cur.ID),
			slog.String("reason", ReasonOf(cause).String()), slog.Any("cause", cause))
		return nil
	}

	return cause
}

// errUnservable says that a snapshot is whole but that no View can be made of it.
var errUnservable = errors.New("cannot be served")

// failed records why a publication is not served. When trying again would fail in the same way, it
// is refused for good; else it is tried again after a while.
func (e *Engine) failed(cur snapshot.Current, err error, now time.Time) {
	reason := ReasonOf(err)
	e.recorder.failed(cur, reason, err, now)

	if reason.permanent() && cur.Epoch != 0 {
		e.refused = publication{cur.Epoch, cur.ID}
		e.backoff = loadBackoff{}
		return
	}

	e.backoff.record(err, cur.Epoch, e.o.Poll, now)
}

// load makes a stored snapshot the current View, or prepares it when its time has not come. It
// leaves it to the caller to remember failures.
func (e *Engine) load(ctx context.Context, cur snapshot.Current, now time.Time) error {
	start := time.Now()
	m, err := e.source.Manifest(cur.ID)
	if err != nil {
		return err
	}
	if err := e.checkMemory(m); err != nil {
		return err
	}

	var v *View
	var took Phases
	if e.View() == nil {
		// Nobody is served yet: the load need not rest.
		v, took, err = e.buildView(ctx, cur.ID, nil)
	} else {
		e.o.RunLoad(func() { v, took, err = e.buildView(ctx, cur.ID, throttle.New().Step) })
	}

	if err != nil {
		return err
	}

	took.Total = time.Since(start)
	from := origin{cur: cur, manifest: m, took: took}
	if !cur.ActivateAt.IsZero() {
		// How late it is counts from when it could begin.
		now = now.Add(took.Total)
	}
	if e.View() != nil && notYetActive(cur, now) {
		e.prepare(v, from)
		return nil
	}

	e.swap(v, now, from)
	e.reportLive(v, from)
	return nil
}

// reportLive logs a swap. After one people first ask what it cost, in time and in memory.
func (e *Engine) reportLive(v *View, from origin) {
	count, bytes := e.retiredStats()
	took := &from.took
	e.o.Log.Info("snapshot is live", slog.String("snapshot_id", v.ID), slog.Uint64("epoch", from.cur.Epoch),
		slog.Int("cards", v.Catalog.Cards.ID.Len()), slog.Duration("read", took.Read),
		slog.Duration("index", took.Index), slog.Duration("fragments", took.Fragments),
		slog.Duration("total", took.Total),
		slog.Int64("bytes", v.Size()), slog.Int("retired", count), slog.Int64("retired_bytes", bytes))
}

// buildView reads a snapshot and makes its View. It calls step often, and step may rest.
func (e *Engine) buildView(ctx context.Context, id string, step func()) (*View, Phases, error) {
	start := time.Now()
	c, err := e.source.Load(ctx, id, step)
	if err != nil {
		return nil, Phases{}, err
	}

	took := Phases{Read: time.Since(start)}
	v, err := newView(ctx, c, e.site(), step, &took)
	if err != nil {
		return nil, took, fmt.Errorf("%w: %w", errUnservable, err)
	}

	return v, took, nil
}

// Follow polls the source until ctx is done, and swaps to each new publication. When one cannot be
// served, Follow logs that once, and the current View stays. What may pass is tried again after a
// while, which doubles up to two seconds (decision 94). When ctx ends during a load, the load is
// given up: nobody would see its View. A View that is made before its time is swapped in at that
// time.
func (e *Engine) Follow(ctx context.Context) {
	tick := time.NewTicker(e.o.Poll)
	defer tick.Stop()
	defer e.runActivations(ctx)()

	// What was logged last: trouble that goes on is not logged at every poll.
	reported := ""
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			err := e.poll(ctx, now)
			switch {
			case ctx.Err() != nil:
				return
			case err == nil:
				reported = ""
			case err.Error() != reported:
				reported = err.Error()
				e.o.Log.Error("cannot follow the store, serving on", slog.String("reason", ReasonOf(err).String()),
					slog.Any("cause", err))
			}
		}
	}
}

// poll is Check for Follow, which asks often: while it is too early to try again, it returns the
// failure that is known.
func (e *Engine) poll(ctx context.Context, now time.Time) error {
	e.following.Lock()
	defer e.following.Unlock()

	if e.backoff.active(0, now) {
		return e.backoff.err
	}
	return e.check(ctx, now, true)
}

// Retry polls the source and also retries publications that were refused permanently.
func (e *Engine) Retry(now time.Time) error {
	e.following.Lock()
	defer e.following.Unlock()

	e.refused = publication{}
	return e.check(context.Background(), now, false)
}

// Check asks the source once and swaps when something else is published. When it cannot serve what
// is published, it returns why; a publication that was refused for good is reported only once.
func (e *Engine) Check(now time.Time) error {
	e.following.Lock()
	defer e.following.Unlock()
	return e.check(context.Background(), now, false)
}

// check asks the source what is published, and serves that. When it is patient and the same load
// failed a moment ago, it returns that failure instead. The caller holds following.
func (e *Engine) check(ctx context.Context, now time.Time, retries bool) error {
	e.expire(now)
	e.activate(now)
	cur, err := e.source.Current()
	if err != nil {
		if errors.Is(err, snapshot.ErrNoCurrent) && e.published == (publication{}) {
			// Nothing is published yet, so there is nothing to follow.
			e.recorder.polled(now)
			e.backoff = loadBackoff{}
			return nil
		}

		// The pointer was there and is gone. Then the store itself is gone: it was unmounted, or
		// somebody moved its folder.
		e.failed(snapshot.Current{}, err, now)
		return err
	}

	e.recorder.polled(now)
	if now := (publication{cur.Epoch, cur.ID}); now == e.published || now == e.refused {
		e.backoff = loadBackoff{}
		return nil
	}

	if retries && e.backoff.active(cur.Epoch, now) {
		return e.backoff.err
	}

	if e.mustWait(cur) {
		return nil
	}

	if !e.adopt(cur) {
		if err := e.load(ctx, cur, now); err != nil {
			err = fmt.Errorf("cannot serve published snapshot %q: %w", cur.ID, err)

			// A load that was given up says nothing about the snapshot.
			if ctx.Err() == nil {
				e.failed(cur, err, now)
			}
			return err
		}
	}

	e.published = publication{cur.Epoch, cur.ID}
	e.refused = publication{}
	e.backoff = loadBackoff{}
	return nil
}
