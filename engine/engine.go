package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"ninepocket/engine/cursor"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// Source is where snapshots come from. It must be safe for concurrent use.
type Source interface {
	// Current says which snapshot is published; the epoch changes with every publication.
	Current() (snapshot.Current, error)
	// Load reads a snapshot whole; damage is a *snapshot.DamageError.
	Load(id string) (*snapshot.Catalog, error)
	// List returns the manifests of all stored snapshots, newest first.
	List() ([]*snapshot.Manifest, error)
}

// Options of an Engine; zero values mean the defaults.
type Options struct {
	Site wire.Site
	// Images lists the card images there are, once for each View; nil when the Site has none, or knows them.
	Images func() (has func(file string) bool, err error)
	// Poll is how often the source is asked for its current snapshot; default 250 ms.
	Poll time.Duration
	// RetiredBudget bounds the memory of Views kept for cursors, in bytes; default 2 GiB. Negative keeps none.
	RetiredBudget int64
	// SearchCache bounds the memory of remembered searches, in bytes; 0 remembers none.
	SearchCache int64
	Log         *slog.Logger
}

func (o *Options) setDefaults() {
	if o.Poll == 0 {
		o.Poll = 250 * time.Millisecond
	}
	if o.RetiredBudget == 0 {
		o.RetiredBudget = 2 << 30
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

// Engine holds the current View.
type Engine struct {
	current atomic.Pointer[View]
	retired atomic.Pointer[[]retiree]

	o        Options
	source   Source
	searches *searches  // nil without a cache
	mu       sync.Mutex // held while swapping

	following sync.Mutex // held while the source is asked; guards the two below
	epoch     uint64     // of the publication that is served
	refused   uint64     // epoch of a publication that cannot be served: not tried again until there is another

	Degraded atomic.Bool // set while a snapshot older than the published one is served, because that cannot be
}

// retiree is a View that was swapped out at a time.
type retiree struct {
	view *View
	at   time.Time
}

// New returns an engine without a View; Open or Swap gives it the first. An engine with a search cache is to be
// closed.
func New(source Source, o Options) *Engine {
	o.setDefaults()
	e := &Engine{source: source, o: o}
	e.retired.Store(&[]retiree{})
	if o.SearchCache > 0 {
		e.searches = newSearches(o.SearchCache)
	}
	return e
}

// Close ends the search cache. Views stay usable.
func (e *Engine) Close() {
	if e.searches != nil {
		e.searches.pages.Close()
	}
}

// View is the current View, nil before the first.
func (e *Engine) View() *View { return e.current.Load() }

// Retained is the View of the snapshot with a cursor.Hash, current or not long ago, nil when it is gone.
func (e *Engine) Retained(hash uint64) *View {
	if v := e.current.Load(); v != nil && v.Hash == hash {
		return v
	}
	for _, r := range *e.retired.Load() {
		if r.view.Hash == hash {
			return r.view
		}
	}
	return nil
}

// Open loads the published snapshot, or, when it is damaged, the newest other one that loads, which is reported as
// degraded. Without any it returns the first error.
func (e *Engine) Open(now time.Time) error {
	e.following.Lock()
	defer e.following.Unlock()
	cur, err := e.source.Current()
	if err == nil {
		if err = e.load(cur.ID, now); err == nil {
			e.epoch = cur.Epoch
			return nil
		}
		e.refuse(cur, err)
	}
	if errors.Is(err, snapshot.ErrNoCurrent) {
		return err
	}
	all, listErr := e.source.List()
	if listErr != nil {
		return errors.Join(err, listErr)
	}
	for _, m := range all {
		if m.ID == cur.ID || e.load(m.ID, now) != nil {
			continue
		}
		e.Degraded.Store(true)
		e.o.Log.Error("the published snapshot cannot be served, an earlier one is",
			slog.String("snapshot_id", m.ID), slog.Any("cause", err))
		return nil
	}
	return err
}

// errUnfit says that a snapshot is whole but that no View can be made of it.
var errUnfit = errors.New("cannot be served")

// refuse remembers a publication that would fail in the same way if it were tried again.
func (e *Engine) refuse(cur snapshot.Current, err error) {
	if errors.Is(err, snapshot.ErrDamaged) || errors.Is(err, snapshot.ErrNewerFormat) || errors.Is(err, errUnfit) {
		e.refused = cur.Epoch
	}
}

func (e *Engine) load(id string, now time.Time) error {
	start := time.Now()
	c, err := e.source.Load(id)
	if err != nil {
		return err
	}
	read := time.Since(start)
	v, err := NewView(c, e.site())
	if err != nil {
		return fmt.Errorf("%w: %w", errUnfit, err)
	}
	e.Swap(v, now)
	e.o.Log.Info("snapshot is live", slog.String("snapshot_id", id), slog.Int("cards", c.Cards.ID.Len()),
		slog.Duration("read", read), slog.Duration("total", time.Since(start)))
	return nil
}

// site is where the URLs of the next View lead. Images that cannot be listed are none: prices matter more.
func (e *Engine) site() wire.Site {
	site := e.o.Site
	if e.o.Images == nil {
		return site
	}
	has, err := e.o.Images()
	if err != nil {
		e.o.Log.Error("serving without images", slog.Any("cause", err))
		site.Images = ""
	}
	site.HasImage = has
	return site
}

// Swap makes v the current View and retires the one before.
func (e *Engine) Swap(v *View, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	old := e.current.Load()
	kept := e.live(now)
	if old != nil {
		kept = append([]retiree{{old, now}}, kept...)
	}
	kept = e.affordable(kept, v)
	if v.searches != e.searches { // a View that was served before may have readers
		v.searches = e.searches
	}
	// First retire, then swap: a cursor of the old View finds it at every moment.
	e.retired.Store(&kept)
	e.current.Store(v)
}

// live are the retired Views that a cursor may still lead to.
func (e *Engine) live(now time.Time) []retiree {
	var kept []retiree
	for _, r := range *e.retired.Load() {
		if now.Sub(r.at) < cursor.Lifetime {
			kept = append(kept, r)
		}
	}
	return kept
}

// affordable drops the oldest Views beyond the budget, and those of the snapshot that becomes current.
func (e *Engine) affordable(all []retiree, current *View) []retiree {
	var kept []retiree
	var size int64
	for _, r := range all {
		if r.view.Hash == current.Hash {
			continue
		}
		if size += r.view.Size(); size > e.o.RetiredBudget {
			break
		}
		kept = append(kept, r)
	}
	return kept
}

// Follow polls the source until ctx is done and swaps to whatever becomes current. What cannot be served is
// reported once and the current View stays.
func (e *Engine) Follow(ctx context.Context) {
	tick := time.NewTicker(e.o.Poll)
	defer tick.Stop()
	reported := "" // the trouble that goes on, so that it is not reported at every poll
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			err := e.Check(now)
			if err == nil {
				reported = ""
			} else if err.Error() != reported {
				reported = err.Error()
				e.o.Log.Error("cannot follow the store, serving on", slog.Any("cause", err))
			}
		}
	}
}

// Recheck is Check for an operator who says that something was mended: what was refused is tried again.
func (e *Engine) Recheck(now time.Time) error {
	e.following.Lock()
	e.refused = 0
	e.following.Unlock()
	return e.Check(now)
}

// Check asks the source once and swaps when something else is published. It returns what keeps it from serving
// that; the same damaged snapshot is reported once.
func (e *Engine) Check(now time.Time) error {
	e.following.Lock()
	defer e.following.Unlock()
	if kept := e.live(now); len(kept) != len(*e.retired.Load()) {
		e.mu.Lock()
		kept = e.live(now)
		e.retired.Store(&kept)
		e.mu.Unlock()
	}
	cur, err := e.source.Current()
	if err != nil {
		if errors.Is(err, snapshot.ErrNoCurrent) {
			return nil // nothing is published yet, or any more: nothing to follow
		}
		return err
	}
	if cur.Epoch == e.epoch || cur.Epoch == e.refused {
		return nil
	}
	if v := e.View(); v == nil || v.ID != cur.ID {
		if err := e.load(cur.ID, now); err != nil {
			e.refuse(cur, err)
			return fmt.Errorf("cannot serve published snapshot %q: %w", cur.ID, err)
		}
	}
	e.epoch = cur.Epoch
	e.Degraded.Store(false)
	return nil
}
