package engine

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
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
	// Manifest describes a stored snapshot without reading its sections. From it the engine knows
	// how much memory a load needs.
	Manifest(id string) (*snapshot.Manifest, error)
	// Load reads a snapshot whole; damage is a *snapshot.DamageError. It calls step every ten
	// microseconds or so, and step may rest; with a nil step it loads as fast as it can. When the
	// context ends, Load returns soon, with the context's error.
	Load(ctx context.Context, id string, step func()) (*snapshot.Catalog, error)
	// RemoteStatus returns the ids of the snapshots that were published, each once, the latest
	// publication first. It answers also while Current cannot. A snapshot that was only built, or
	// that was refused, is not among them; one that was removed since may be.
	Published() ([]string, error)
}

// Options of an Engine; zero values mean the defaults.
type Options struct {
	Site wire.URLs
	// Images lists the card images that there are, once for each View. It is nil when the Site has
	// no images, or needs no list (see wire.URLs.HasImage).
	Images func() (has func(file string) bool, err error)
	// Poll is how often the source is asked for its current snapshot; default 250 ms.
	Poll time.Duration
	// RetiredBudget bounds the memory of Views kept for cursors, in bytes; default 2 GiB. Negative
	// keeps none.
	RetiredBudget int64
	// SearchCache bounds the memory of remembered searches, in bytes; 0 remembers none.
	SearchCache int64
	// Memory tells how many bytes the process uses and how many it may use. It is asked before a
	// load, when something is served already: see fits. When it is nil, or the limit is 0 or less,
	// nobody knows, and every load is tried.
	Memory func() (used, limit int64)
	// RunLoad wraps a load that runs while another snapshot is served; nil calls it directly. The
	// load rests now and then, so that requests come first. Nil calls it directly.
	RunLoad func(work func())
	// RemoteStatus is the last known state of the remote store. It is nil on one machine.
	RemoteStatus func() RemoteStatus
	Log          *slog.Logger
}

func (o *Options) setDefaults() {
	o.Poll = cmp.Or(o.Poll, 250*time.Millisecond)
	o.RetiredBudget = cmp.Or(o.RetiredBudget, 2<<30)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.RunLoad == nil {
		o.RunLoad = func(work func()) { work() }
	}
}

// Engine holds the current View.
type Engine struct {
	current  atomic.Pointer[View]
	prepared atomic.Pointer[scheduledView] // nil without one
	retired  atomic.Pointer[[]retiredView]

	o        Options
	source   Source
	searches *searchCache    // nil without a cache
	mu       sync.Mutex      // held while swapping
	woken    chan<- struct{} // tells Follow that something is prepared; guarded by mu

	following sync.Mutex  // held while the source is asked; guards the next three
	published publication // the one that is served, or prepared
	refused   publication // one that cannot be served: only Recheck tries it again
	backoff   loadBackoff // the failure that may pass: it is tried again

	recorder statsRecorder // has a lock of its own

	Degraded atomic.Bool // set by a fallback of Open, until what is published is served
}

// retiredView is a View that was swapped out at a time.
type retiredView struct {
	view *View
	at   time.Time
}

// New returns an engine without a View; Open or Swap gives it the first. An engine with a search
// cache is to be closed.
func New(source Source, o Options) *Engine {
	o.setDefaults()
	e := &Engine{source: source, o: o}
	e.retired.Store(&[]retiredView{})
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

// Retained returns the View with a snapshot hash: the current, a recently retired or a scheduled
// one. Another server may serve a scheduled one already. It is nil when that View is not here.
func (e *Engine) Retained(hash uint64) *View {
	for {
		all := e.retired.Load()
		// A prepared View becomes the current one before it is let go of.
		if p := e.prepared.Load(); p != nil && p.view.Hash == hash {
			return p.view
		}
		if v := e.current.Load(); v != nil && v.Hash == hash {
			return v
		}

		for _, retired := range *all {
			if retired.view.Hash == hash {
				return retired.view
			}
		}

		// A swap in the meantime could have moved the View from one place to the other, past this
		// search. Then look again.
		if all == e.retired.Load() {
			return nil
		}
	}
}

// site is where the URLs of the next View lead. When the images cannot be listed, the View has
// none: prices matter more than images.
func (e *Engine) site() wire.URLs {
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
func (e *Engine) Swap(v *View, now time.Time) { e.swap(v, now, origin{}) }

// swap is Swap of a View whose origin is known.
func (e *Engine) swap(v *View, now time.Time, from origin) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.swapLocked(v, now, from)
}

// swapLocked is swap for a caller that holds mu. What was prepared for later is let go of.
func (e *Engine) swapLocked(v *View, now time.Time, from origin) {
	old := e.current.Load()
	live := e.unexpired(now)
	if old != nil {
		live = append([]retiredView{{old, now}}, live...)
	}

	retained := e.withinBudget(live, v)

	// A View that was served before may have readers. It has the cache already: do not write it.
	if v.searches != e.searches {
		v.searches = e.searches
	}

	// The order is: retire the old View, swap, let go of what is too much. So Retained finds a View
	// at every moment, even when a retired snapshot becomes current again.
	e.retired.Store(&live)
	e.current.Store(v)
	e.retired.Store(&retained)
	e.prepared.Store(nil)
	e.recorder.swapped(old, v, now, from)
	if from.cur.Epoch != 0 {
		e.Degraded.Store(false)
	}
}

// unexpired are the retired Views that a cursor may still lead to (decision 35), the last retired
// first.
func (e *Engine) unexpired(now time.Time) []retiredView {
	return slices.DeleteFunc(slices.Clone(*e.retired.Load()), func(retired retiredView) bool {
		return now.Sub(retired.at) >= cursor.Lifetime
	})
}

// withinBudget keeps the Views that fit into the budget; the oldest go first. It also drops Views
// of the snapshot that becomes current: Retained finds that one as the current View.
func (e *Engine) withinBudget(all []retiredView, current *View) []retiredView {
	retained := slices.DeleteFunc(slices.Clone(all), func(retired retiredView) bool {
		return retired.view.Hash == current.Hash
	})

	var size int64
	for i, retired := range retained {
		size += retired.view.Size()
		if size > e.o.RetiredBudget {
			return slices.Clone(retained[:i])
		}
	}
	return retained
}

// expire lets go of the retired Views that no cursor leads to any more.
func (e *Engine) expire(now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()

	if retained := e.unexpired(now); len(retained) != len(*e.retired.Load()) {
		e.retired.Store(&retained)
	}
}

// retiredStats counts the retired Views and their bytes.
func (e *Engine) retiredStats() (n int, bytes int64) {
	all := *e.retired.Load()
	for _, retired := range all {
		bytes += retired.view.Size()
	}
	return len(all), bytes
}
