package engine

import (
	"context"
	"log/slog"
	"time"

	"ninepocket/engine/cursor"
	"ninepocket/snapshot"
)

// scheduledView is a View that is made before its activation time (docs/FLEET-STORE.md,
// Scheduled activation).
type scheduledView struct {
	view *View
	from origin
}

// at returns its activation time, by the wall clocks of all servers.
func (p *scheduledView) at() time.Time { return p.from.cur.ActivateAt }

// prepare stores a View until its activation time. It releases an earlier prepared View.
func (e *Engine) prepare(v *View, from origin) {
	e.mu.Lock()
	v.searches = e.searches
	e.prepared.Store(&scheduledView{v, from})
	e.mu.Unlock()

	e.o.Log.Info("snapshot is prepared", slog.String("snapshot_id", v.ID), slog.Uint64("epoch", from.cur.Epoch),
		slog.Time("activate_at", from.cur.ActivateAt), slog.Duration("total", from.took.Total))
	// If Follow is not running, the next poll activates.
	if woken := e.woken.Load(); woken != nil {
		select {
		case *woken <- struct{}{}:
		default: // it is awake already
		}
	}
}

// activate serves the prepared View if its time has come.
func (e *Engine) activate(now time.Time) {
	e.mu.Lock()
	p := e.prepared.Load()
	due := p != nil && !now.Before(p.at())
	if due {
		e.swapLocked(p.view, now, p.from)
	}
	e.mu.Unlock()

	if due {
		e.reportLive(p.view, p.from)
	}
}

// adopt records a release whose View is already served or prepared. It returns false if there is
// no such View.
func (e *Engine) adopt(cur snapshot.Current) bool {
	e.mu.Lock()
	defer e.mu.Unlock()

	p := e.prepared.Load()
	switch v := e.current.Load(); {
	case v != nil && v.ID == cur.ID:
		// The prepared release was withdrawn before its time.
		e.prepared.Store(nil)
		e.recorder.republished(cur)
		e.Degraded.Store(false)
		return true
	case p != nil && p.view.ID == cur.ID:
		from := p.from
		from.cur = cur
		e.prepared.Store(&scheduledView{p.view, from})
		return true
	}
	return false
}

// activateOnSchedule activates the prepared View, to the millisecond, until ctx is done. It checks
// the wall clock at every poll interval, because somebody may set the clock.
func (e *Engine) activateOnSchedule(ctx context.Context, woken <-chan struct{}) {
	timer := time.NewTimer(e.o.Poll)
	defer timer.Stop()
	for {
		wait := e.o.Poll
		if p := e.prepared.Load(); p != nil {
			wait = max(0, min(wait, time.Until(p.at())))
		}
		timer.Reset(wait)

		select {
		case <-ctx.Done():
			return
		case <-woken:
		case <-timer.C:
			e.activate(time.Now())
		}
	}
}

// openPrevious serves the snapshot that all other servers still serve, if the time of the current
// release has not come. It returns false if that time has come, or if the previous snapshot is not
// here.
func (e *Engine) openPrevious(ctx context.Context, cur snapshot.Current, now time.Time) bool {
	if cur.Previous == "" || cur.Previous == cur.ID || !now.Before(cur.PreviousUntil) {
		return false
	}

	before := snapshot.Current{Epoch: cur.PreviousEpoch, ID: cur.Previous}
	err := e.load(ctx, before, now)
	if err != nil {
		e.o.Log.Warn("previous snapshot could not be loaded: activating the next snapshot early",
			slog.String("snapshot_id", cur.Previous), slog.Any("cause", err))
	}
	return err == nil
}

// loadPrevious loads the previously served snapshot if cursors may still refer to it: the client
// used another server, or this server before its restart.
func (e *Engine) loadPrevious(ctx context.Context, cur snapshot.Current, now time.Time) {
	until := cur.PreviousUntil
	if cur.Previous == "" || cur.Previous == cur.ID || until.IsZero() || now.Sub(until) >= cursor.Lifetime {
		return
	}

	v, _, err := e.buildView(ctx, snapshot.Current{ID: cur.Previous}, nil)
	if err != nil {
		e.o.Log.Warn("previous snapshot could not be loaded: its cursors continue in this snapshot or start again",
			slog.String("snapshot_id", cur.Previous), slog.Any("cause", err))
		return
	}

	e.mu.Lock()
	defer e.mu.Unlock()
	v.searches = e.searches
	retained := e.withinBudget([]retiredView{{v, until}}, e.current.Load())
	e.retired.Store(&retained)
}

// RemoteStatus is the release of a store that many servers follow, before its bytes are here.
type RemoteStatus struct {
	Current snapshot.Current
	Asked   time.Time // when the store was asked
}

// IsPending reports whether a cursor's snapshot may still arrive on this server. The snapshot is
// published and not here yet, or the cursor is younger than the last known remote status.
func (e *Engine) IsPending(hash uint64, issued time.Time) bool {
	if e.o.RemoteStatus == nil {
		return false
	}
	published := e.o.RemoteStatus()
	return published.Asked.Before(issued) || published.Current.ID != "" && cursor.Hash(published.Current.ID) == hash
}
