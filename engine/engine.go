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
	// Current returns the published snapshot; the epoch changes with every release.
	Current() (snapshot.Current, error)
	// Manifest describes a stored snapshot without reading its sections. The engine estimates from
	// it how much memory a load needs.
	Manifest(id string) (*snapshot.Manifest, error)
	// Load reads a snapshot whole; damage is a *snapshot.DamageError. It calls step every ten
	// microseconds or so, and step may pause; with a nil step it loads at full speed. When the
	// context ends, Load returns soon, with the context's error.
	Load(ctx context.Context, id string, step func()) (*snapshot.Catalog, error)
	// Published returns the ids of the released snapshots, each once, the latest release first.
	// It works even while Current fails. Snapshots that were only built, or refused, are not
	// included; removed ones may be.
	Published() ([]string, error)
}

// Options configure an Engine; zero values mean the defaults.
type Options struct {
	Site wire.URLs
	// Images lists the existing card images, once for each View. It is nil when the Site has no
	// images, or needs no list (see wire.URLs.HasImage).
	Images func() (has func(file string) bool, err error)
	// Poll is the interval between polls of the source; default 250 ms.
	Poll time.Duration
	// RetiredBudget bounds the memory of Views retained for cursors, in bytes; default 2 GiB. A
	// negative value retains none.
	RetiredBudget int64
	// SearchCache bounds the memory of cached searches, in bytes; 0 disables the cache.
	SearchCache int64
	// Memory returns how many bytes the process uses and how many it may use. It is called before a
	// load while another snapshot is served: see checkMemory. If it is nil, or the limit is 0 or
	// less, the limit is unknown and every load is tried.
	Memory func() (used, limit int64)
	// RunLoad wraps a load that runs while another snapshot is served; nil calls it directly. The
	// load pauses now and then, so that requests have priority.
	RunLoad func(work func())
	// Each swap sends to the Swapped channels; a full channel is skipped. One waiting message is enough, because
	// the receiver looks at the newest View.
	Swapped []chan<- struct{}
	// Deltas returns the releases' changes, latest first. With an error, it returns only the intact ones. Nil
	// means unknown changes.
	Deltas func() ([]*snapshot.Delta, error)
	// RemoteStatus returns the last known state of the remote store. It is nil on one machine.
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

// Engine has the current View and follows a Source.
type Engine struct {
	current  atomic.Pointer[View]
	prepared atomic.Pointer[scheduledView] // nil without one
	retired  atomic.Pointer[[]retiredView]

	o        Options
	source   Source
	searches *searchCache                  // nil without a cache
	mu       sync.Mutex                    // locked during a swap
	woken    atomic.Pointer[chan struct{}] // wakes Follow when a View is prepared; nil while it is not running

	pollMu    sync.Mutex     // locked during a poll of the source; guards the next three
	published publicationKey // the release that is served, or prepared
	refused   publicationKey // a release that cannot be served: only Retry tries it again
	backoff   loadBackoff    // a temporary failure: it is retried

	recorder statsRecorder // has its own lock

	Degraded atomic.Bool // set by a fallback of Open, until the current release is served
}

// retiredView is a View that was swapped out at a time.
type retiredView struct {
	view *View
	at   time.Time
}

// New returns an engine without a View; Open or Swap sets the first. An engine with a search cache
// must be closed.
func New(source Source, o Options) *Engine {
	o.setDefaults()
	e := &Engine{source: source, o: o}
	e.retired.Store(&[]retiredView{})
	if o.SearchCache > 0 {
		e.searches = newSearchCache(o.SearchCache)
	}
	return e
}

// Close closes the search cache. Views stay usable.
func (e *Engine) Close() {
	if e.searches != nil {
		e.searches.pages.Close()
	}
}

// View returns the current View, nil before the first.
func (e *Engine) View() *View { return e.current.Load() }

// Retained returns the View with a snapshot hash: the current, a recently retired or a scheduled
// one. Another server may serve a scheduled View already. It returns nil if this server does not
// have the View.
func (e *Engine) Retained(hash uint64) *View {
	for {
		all := e.retired.Load()
		// A prepared View becomes the current one before it is released.
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

		// A swap in the meantime could have moved the View from one place to another, past this
		// search. Then search again.
		if all == e.retired.Load() {
			return nil
		}
	}
}

// site returns the URLs of the next View. If the images cannot be listed, the View has none: prices
// matter more than images.
func (e *Engine) site() wire.URLs {
	site := e.o.Site
	if e.o.Images == nil {
		return site
	}

	has, err := e.o.Images()
	if err != nil {
		e.o.Log.Error("image folder unreadable: serving without images", slog.Any("cause", err))
		site.Images = ""
	}

	site.HasImage = has
	return site
}

// Swap makes v the current View and retires the previous one.
func (e *Engine) Swap(v *View, now time.Time) { e.swap(v, now, origin{}) }

// swap is Swap for a View with a known origin.
func (e *Engine) swap(v *View, now time.Time, from origin) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.swapLocked(v, now, from)
}

// swapLocked is swap for a caller that holds mu. It releases the prepared View.
func (e *Engine) swapLocked(v *View, now time.Time, from origin) {
	old := e.current.Load()
	live := e.unexpired(now)
	if old != nil {
		live = append([]retiredView{{old, now}}, live...)
	}

	retained := e.withinBudget(live, v)

	// A View that was served before may have readers. It has the cache already: do not write to it.
	if v.searches != e.searches {
		v.searches = e.searches
	}

	// The order is: retire the old View, swap, release Views beyond the budget. So Retained finds a
	// View at every moment, even when a retired snapshot becomes current again.
	e.retired.Store(&live)
	e.current.Store(v)
	e.retired.Store(&retained)
	e.prepared.Store(nil)
	e.recorder.swapped(old, v, now, from)
	if from.cur.Epoch != 0 {
		e.Degraded.Store(false)
	}
	for _, swapped := range e.o.Swapped {
		select {
		case swapped <- struct{}{}:
		default:
		}
	}
}

// unexpired returns the retired Views to which a cursor may still refer (decision 35), the last
// retired first.
func (e *Engine) unexpired(now time.Time) []retiredView {
	return slices.DeleteFunc(slices.Clone(*e.retired.Load()), func(retired retiredView) bool {
		return now.Sub(retired.at) >= cursor.Lifetime
	})
}

// withinBudget returns the Views within the budget; the oldest are dropped first. It also drops
// Views of the snapshot that becomes current: Retained finds it as the current View.
func (e *Engine) withinBudget(all []retiredView, current *View) []retiredView {
	retained := slices.DeleteFunc(slices.Clone(all), func(retired retiredView) bool {
		return retired.view.Hash == current.Hash
	})

	var size int64
	for i := range retained {
		size += ownSize(retained, i, current)
		if size > e.o.RetiredBudget {
			return slices.Clone(retained[:i])
		}
	}
	return retained
}

// ownSize returns the bytes of a retired View that the View after it does not share.
func ownSize(all []retiredView, i int, current *View) int64 {
	size := all[i].view.Size()
	next := current
	if i > 0 {
		next = all[i-1].view
	}

	if closed := next.Catalog.History.Closed; closed == all[i].view.Catalog.History.Closed {
		size -= closed.Size()
	}
	// After a rollback the next one may be older.
	if next.after == all[i].view.Hash {
		size -= next.Shared()
	}
	return size
}

// expire releases the retired Views without a valid cursor.
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
	current := e.current.Load()
	for i := range all {
		bytes += ownSize(all, i, current)
	}
	return len(all), bytes
}
