package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"ninepocket/internal/pace"
	"ninepocket/snapshot"
)

// longestWait is the longest time between two tries of what may pass. With the time that loading
// takes, a publication is live within three seconds of the store being readable again.
const longestWait = 2 * time.Second

// publication is what tells one move of a store's pointer from another: another store may count its
// epochs alike.
type publication struct {
	epoch uint64
	id    string
}

// trouble is a failure that may pass: the source cannot be asked, or what it publishes cannot be
// read or does not fit into memory. It is tried again for ever; the wait doubles up to longestWait.
type trouble struct {
	err   error
	epoch uint64 // of the publication that it is about; 0 when the source itself could not be asked
	wait  time.Duration
	until time.Time // not tried again before
}

// ongoing reports whether the trouble is about a publication and it is too early to try again.
func (t *trouble) ongoing(epoch uint64, now time.Time) bool {
	return t.err != nil && t.epoch == epoch && now.Before(t.until)
}

// note records a failure; the wait doubles while it is about the same publication.
func (t *trouble) note(err error, epoch uint64, poll time.Duration, now time.Time) {
	if t.err == nil || t.epoch != epoch {
		t.wait = poll / 2
	}
	t.err = err
	t.epoch = epoch
	t.wait = max(poll, min(2*t.wait, longestWait))
	t.until = now.Add(t.wait)
}

// Open loads the published snapshot. When that one cannot be served, whatever the reason, it loads
// the one that was published last of those that can be served, and sets Degraded. It serves nothing
// that was never published. When none can be served, it returns the first error.
func (e *Engine) Open(now time.Time) error {
	ctx := context.Background()
	e.following.Lock()
	defer e.following.Unlock()

	cur, err := e.source.Current()
	if err == nil {
		e.book.asked(now)
		err = e.load(ctx, cur, now)
		if err == nil {
			e.published = publication{cur.Epoch, cur.ID}
			return nil
		}
		e.failed(cur, err, now)
	}
	if errors.Is(err, snapshot.ErrNoCurrent) {
		return err
	}

	return e.fallBack(ctx, cur, err, now)
}

// fallBack serves the latest publication that can be served in place of cur, which cause keeps from
// being served: an older catalog is better than none. Without any it returns cause.
func (e *Engine) fallBack(ctx context.Context, cur snapshot.Current, cause error, now time.Time) error {
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
			e.book.failed(other, ReasonOf(err), err, now)
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

// errUnfit says that a snapshot is whole but that no View can be made of it.
var errUnfit = errors.New("cannot be served")

// failed records why a publication is not served: for good when trying again would fail in the same
// way, else until the next try.
func (e *Engine) failed(cur snapshot.Current, err error, now time.Time) {
	reason := ReasonOf(err)
	e.book.failed(cur, reason, err, now)
	if reason.permanent() && cur.Epoch != 0 {
		e.refused = publication{cur.Epoch, cur.ID}
		e.trouble = trouble{}
		return
	}

	e.trouble.note(err, cur.Epoch, e.o.Poll, now)
}

// load makes a stored snapshot the current View. It does not remember failures.
func (e *Engine) load(ctx context.Context, cur snapshot.Current, now time.Time) error {
	start := time.Now()
	m, err := e.source.Manifest(cur.ID)
	if err != nil {
		return err
	}
	if err := e.fits(m); err != nil {
		return err
	}

	var v *View
	var took Phases
	if e.View() == nil {
		// Nobody is served yet.
		v, took, err = e.make(ctx, cur.ID, nil)
	} else {
		e.o.Aside(func() { v, took, err = e.make(ctx, cur.ID, pace.New().Step) })
	}

	if err != nil {
		return err
	}

	took.Total = time.Since(start)
	e.swap(v, now, origin{cur: cur, manifest: m, took: took})
	// What a swap costs in time and memory is the first question after one.
	kept, bytes := e.kept()
	e.o.Log.Info("snapshot is live", slog.String("snapshot_id", cur.ID), slog.Uint64("epoch", cur.Epoch),
		slog.Int("cards", v.Catalog.Cards.ID.Len()), slog.Duration("read", took.Read),
		slog.Duration("index", took.Index), slog.Duration("fragments", took.Fragments),
		slog.Duration("total", took.Total),
		slog.Int64("bytes", v.Size()), slog.Int("retired", kept), slog.Int64("retired_bytes", bytes))

	return nil
}

// make reads a snapshot and makes its View. It calls step often, and step may rest.
func (e *Engine) make(ctx context.Context, id string, step func()) (*View, Phases, error) {
	start := time.Now()
	c, err := e.source.Load(ctx, id, step)
	if err != nil {
		return nil, Phases{}, err
	}

	took := Phases{Read: time.Since(start)}
	v, err := newView(ctx, c, e.site(), step, &took)
	if err != nil {
		return nil, took, fmt.Errorf("%w: %w", errUnfit, err)
	}

	return v, took, nil
}

// Follow polls the source until ctx is done and swaps to whatever becomes current. What cannot be
// served is reported once and the current View stays; what may pass is tried again after a while
// that doubles up to two seconds. A load that goes on when ctx is done is given up: nobody would
// see its View.
func (e *Engine) Follow(ctx context.Context) {
	tick := time.NewTicker(e.o.Poll)
	defer tick.Stop()

	// The trouble that goes on, so that it is not reported at every poll.
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

// poll is Check with patience.
func (e *Engine) poll(ctx context.Context, now time.Time) error {
	e.following.Lock()
	defer e.following.Unlock()
	if e.trouble.ongoing(0, now) {
		return e.trouble.err
	}
	return e.check(ctx, now, true)
}

// Recheck is Check for an operator who says that something was mended: what was refused is tried
// again.
func (e *Engine) Recheck(now time.Time) error {
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

// check asks the source what is published and serves that. With patience it does not load again
// what failed a moment ago and may pass; the caller holds following.
func (e *Engine) check(ctx context.Context, now time.Time, patient bool) error {
	e.expire(now)
	cur, err := e.source.Current()
	if err != nil {
		if errors.Is(err, snapshot.ErrNoCurrent) && e.published == (publication{}) {
			e.book.asked(now)
			e.trouble = trouble{}
			// Nothing is published yet: nothing to follow.
			return nil
		}

		// A pointer that was there and is gone is a store that is gone: a mount, a folder that
		// somebody moved.
		e.failed(snapshot.Current{}, err, now)
		return err
	}

	e.book.asked(now)
	if now := (publication{cur.Epoch, cur.ID}); now == e.published || now == e.refused {
		e.trouble = trouble{}
		return nil
	}

	if patient && e.trouble.ongoing(cur.Epoch, now) {
		return e.trouble.err
	}

	if v := e.View(); v == nil || v.ID != cur.ID {
		if err := e.load(ctx, cur, now); err != nil {
			err = fmt.Errorf("cannot serve published snapshot %q: %w", cur.ID, err)
			// A load that was given up says nothing of the snapshot.
			if ctx.Err() == nil {
				e.failed(cur, err, now)
			}
			return err
		}
	} else {
		e.book.republished(cur)
	}

	e.published = publication{cur.Epoch, cur.ID}
	e.refused = publication{}
	e.trouble = trouble{}
	e.Degraded.Store(false)
	return nil
}
