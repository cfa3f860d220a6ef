package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"ninepocket/engine/cursor"
	"ninepocket/internal/throttle"
	"ninepocket/snapshot"
)

// maxRetryWait is the longest wait after a failed try, unless Options.Poll is longer (decision 94). A
// load of a real catalog takes about a second. So a release is served within three seconds after the
// store is readable again.
const maxRetryWait = 2 * time.Second

// publicationKey identifies one change of a store's CURRENT. The epoch alone is not enough: a store
// that replaces another may have the same epoch. loadBackoff compares epochs alone, so a try may come
// one wait late.
type publicationKey struct {
	epoch uint64
	id    string
}

// loadBackoff is a temporary failure (decision 94): the source cannot be polled, or the
// snapshot cannot be read or is too large for the memory. The engine retries without end. The
// wait doubles up to maxRetryWait.
type loadBackoff struct {
	err   error
	epoch uint64 // of the release that failed; 0 if the source could not be polled
	wait  time.Duration
	until time.Time // not tried again before
}

// active reports whether this release failed and it is too early to try again.
func (t *loadBackoff) active(epoch uint64, now time.Time) bool {
	return t.err != nil && t.epoch == epoch && now.Before(t.until)
}

// record records a failure. The wait doubles while one release fails.
func (t *loadBackoff) record(err error, epoch uint64, poll time.Duration, now time.Time) {
	if t.err == nil || t.epoch != epoch {
		t.wait = poll / 2 // it is doubled below
	}

	t.err = err
	t.epoch = epoch
	t.wait = max(poll, min(2*t.wait, maxRetryWait))
	t.until = now.Add(t.wait)
}

// Open loads the released snapshot. If that cannot be served, it tries the earlier releases, the
// latest first, and sets Degraded (decision 96). It serves nothing that was never released.
// If nothing can be served, it returns the first error, joined with the error of listing. While a
// release is scheduled for later, the previous release is served if possible.
func (e *Engine) Open(now time.Time) error {
	ctx := context.Background()
	e.pollMu.Lock()
	defer e.pollMu.Unlock()

	cur, err := e.source.Current()
	if err == nil {
		e.recorder.polled(now)
		if e.openPrevious(ctx, cur, now) {
			// Follow prepares the next release.
			return nil
		}
		err = e.load(ctx, cur, now)
		if err == nil {
			e.published = publicationKey{cur.Epoch, cur.ID}
			e.loadPrevious(ctx, cur, now)
			return nil
		}
		e.recordFailure(cur, err, now)
	}

	// If nothing is published, there is nothing earlier.
	if errors.Is(err, snapshot.ErrNoCurrent) {
		return err
	}

	return e.openFallback(ctx, cur, err, now)
}

// openFallback serves the latest other release that can be served, because an older catalog is
// better than none. If there is none, it returns cause (why cur cannot be served), joined with the
// error of Published.
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
		if err := e.load(ctx, other, now); err != nil {
			// One that was removed since is no failure.
			if !errors.Is(err, snapshot.ErrNotFound) {
				e.recorder.failed(other, ReasonOf(err), err, now)
			}
			continue
		}

		e.Degraded.Store(true)
		e.o.Log.Error("the published snapshot could not be loaded at the start: an earlier snapshot is served",
			slog.String("snapshot_id", id), slog.String("published_id", cur.ID),
			slog.String("reason", ReasonOf(cause).String()), slog.Any("cause", cause))
		return nil
	}

	return cause
}

// errUnservable reports that a View cannot be made of an undamaged snapshot.
var errUnservable = errors.New("cannot be served")

// recordFailure records why a release is not served, or why the source could not be polled. If
// another try would fail with the same reason, the release is refused permanently; otherwise it is
// retried after a while.
func (e *Engine) recordFailure(cur snapshot.Current, err error, now time.Time) {
	reason := ReasonOf(err)
	e.recorder.failed(cur, reason, err, now)

	if reason.permanent() && cur.Epoch != 0 {
		e.refused = publicationKey{cur.Epoch, cur.ID}
		e.backoff = loadBackoff{}
		return
	}

	e.backoff.record(err, cur.Epoch, e.o.Poll, now)
}

// load makes a stored snapshot the current View, or prepares it if it is scheduled for later. The
// caller records failures.
func (e *Engine) load(ctx context.Context, cur snapshot.Current, now time.Time) error {
	var v *View
	var from origin
	var err error
	if e.View() == nil {
		// No requests are served yet, so the load need not pause.
		v, from, err = e.buildView(ctx, cur, nil)
	} else {
		e.o.RunLoad(func() { v, from, err = e.buildView(ctx, cur, throttle.New().Step) })
	}

	if err != nil {
		return err
	}

	if !cur.ActivateAt.IsZero() {
		// The View is usable from the end of the load. Stats.Late counts from the activation time to that end.
		now = now.Add(from.took.Total)
	}
	// The epoch of a fallback is 0: it is not delayed.
	if e.View() != nil && cur.Epoch != 0 && now.Before(cur.ActivateAt) {
		e.prepare(v, from)
		return nil
	}

	e.swap(v, now, from)
	e.reportLive(v, from)
	return nil
}

// reportLive logs a swap with its cost in time and memory.
func (e *Engine) reportLive(v *View, from origin) {
	count, bytes := e.retiredStats()
	took := &from.took
	e.o.Log.Info("snapshot is live", slog.String("snapshot_id", v.ID), slog.Uint64("epoch", from.cur.Epoch),
		slog.Int("cards", v.Catalog.Cards.ID.Len()), slog.Duration("read", took.Read),
		slog.Duration("index", took.Index), slog.Duration("fragments", took.Fragments),
		slog.Duration("total", took.Total),
		slog.Int64("bytes", v.Size()), slog.Int("retired", count), slog.Int64("retired_bytes", bytes))
}

// buildView reads a snapshot and makes its View, if there is memory for it. It calls step often, and
// step may pause; step may be nil.
func (e *Engine) buildView(ctx context.Context, cur snapshot.Current, step func()) (*View, origin, error) {
	start := time.Now()
	m, err := e.source.Manifest(cur.ID)
	if err == nil {
		err = e.checkMemory(m)
	}
	if err != nil {
		return nil, origin{}, err
	}

	from := origin{cur: cur, manifest: m}
	begin := time.Now()
	c, err := e.source.Load(ctx, cur.ID, step)
	if err != nil {
		return nil, from, err
	}

	if step == nil { // reading then continues on all cores
		step = func() {}
	}

	from.took.Read = time.Since(begin)
	v, err := newView(ctx, e.View(), c, e.site(), step, &from.took)
	if err != nil {
		return nil, from, fmt.Errorf("%w: %w", errUnservable, err)
	}
	e.loadChanges(v, step)

	from.took.Total = time.Since(start)
	return v, from, nil
}

// Follow polls the source until ctx is done, and swaps to each new release. If a release cannot be
// served, Follow logs that once, and the current View stays. A temporary failure is retried after a
// while, which doubles up to two seconds (decision 94). If ctx ends during a load, the load is
// cancelled: its View would have no use. A View that is made early is swapped in at its time.
func (e *Engine) Follow(ctx context.Context) {
	tick := time.NewTicker(e.o.Poll)
	defer tick.Stop()

	woken := make(chan struct{}, 1)
	e.woken.Store(&woken)
	defer e.woken.Store(nil)
	var activations sync.WaitGroup
	activations.Go(func() { e.activateOnSchedule(ctx, woken) })
	defer activations.Wait()

	// The last logged error: a lasting failure is not logged at every poll.
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
				e.o.Log.Error("cannot follow the store: the current snapshot stays in use",
					slog.String("reason", ReasonOf(err).String()), slog.Any("cause", err))
			}
		}
	}
}

// poll is check for Follow, which polls often: it obeys the backoff. While it is too early to try again,
// it returns the known failure, and does not even ask a source that could not be polled.
func (e *Engine) poll(ctx context.Context, now time.Time) error {
	e.pollMu.Lock()
	defer e.pollMu.Unlock()

	if e.backoff.active(0, now) {
		return e.backoff.err
	}
	return e.check(ctx, now, true)
}

// Retry polls the source once, without the backoff, and also retries a release that was refused
// permanently.
func (e *Engine) Retry(now time.Time) error {
	e.pollMu.Lock()
	defer e.pollMu.Unlock()

	e.refused = publicationKey{}
	return e.check(context.Background(), now, false)
}

// check polls the source once and swaps if there is another release. If it cannot serve the release,
// it returns the reason; a release that was refused permanently is reported only once. With
// obeyBackoff, it returns the known failure if the same load failed a moment ago. The caller holds
// pollMu.
func (e *Engine) check(ctx context.Context, now time.Time, obeyBackoff bool) error {
	e.expire(now)
	e.activate(now)

	cur, err := e.source.Current()
	// If nothing is published yet, there is nothing to follow.
	nothing := errors.Is(err, snapshot.ErrNoCurrent) && e.published == (publicationKey{})
	if err != nil && !nothing {
		// The pointer cannot be read, or is damaged. If it existed and is gone, the whole store is gone:
		// it was unmounted, or its folder was moved.
		e.recordFailure(snapshot.Current{}, err, now)
		return err
	}

	e.recorder.polled(now)
	if key := (publicationKey{cur.Epoch, cur.ID}); nothing || key == e.published || key == e.refused {
		e.backoff = loadBackoff{}
		return nil
	}

	if obeyBackoff && e.backoff.active(cur.Epoch, now) {
		return e.backoff.err
	}

	// A release that begins later waits until the prepared one is served: there is memory for only one View
	// without readers.
	if p := e.prepared.Load(); p != nil && p.view.ID != cur.ID && p.at().Before(cur.ActivateAt) {
		return nil
	}

	if e.adopt(cur) {
		// This View existed already: it was made before this release, or before a release that this one undoes.
		e.loadChanges(e.Retained(cursor.Hash(cur.ID)), throttle.New().Step)
	} else if err := e.load(ctx, cur, now); err != nil {
		err = fmt.Errorf("cannot serve published snapshot %q: %w", cur.ID, err)

		// A cancelled load says nothing about the snapshot.
		if ctx.Err() == nil {
			e.recordFailure(cur, err, now)
		}
		return err
	}

	e.published = publicationKey{cur.Epoch, cur.ID}
	e.refused = publicationKey{}
	e.backoff = loadBackoff{}
	return nil
}
