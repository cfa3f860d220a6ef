package site_test

import (
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"ninepocket/engine"
	"ninepocket/internal/synth"
	"ninepocket/loader"
	"ninepocket/site"
	"ninepocket/wire"
)

const base = "https://cards.test"

// world is a View of the demo catalog and its pages.
type world struct {
	view  *engine.View
	pages *site.Pages
	now   time.Time
}

var made struct {
	once  sync.Once
	world *world
	err   error
}

// today returns the demo world, made once.
func today(tb testing.TB) *world {
	tb.Helper()
	made.once.Do(func() { made.world, made.err = makeWorld(tb) })
	if made.err != nil {
		tb.Fatal(made.err)
	}
	return made.world
}

func makeWorld(tb testing.TB) (*world, error) {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "catalog")
	if err := synth.Write(dir, synth.Options{Cards: 2000, Plain: true}); err != nil {
		return nil, err
	}

	built, err := loader.Build(tb.Context(), loader.Options{Sources: []loader.Input{{Kind: "native", Path: dir}}})
	if err != nil {
		return nil, err
	}

	built.Catalog.ID = "today"
	w := &world{now: time.UnixMilli(built.Catalog.SnapshotAt)}
	w.view, err = engine.NewView(built.Catalog, wire.URLs{URL: base, ProductPrefix: "prd"})
	if err != nil {
		return nil, err
	}

	w.pages, err = site.New(site.Options{BaseURL: base})
	return w, err
}

// busiest returns the card with the most prices.
func (w *world) busiest() int {
	var best, peak int
	for card := range w.view.Catalog.Cards.ID.Len() {
		n := 0
		from, to := w.view.Catalog.Lanes.Of.Range(card)
		for lane := from; lane < to; lane++ {
			if w.view.Catalog.Lanes.Cents[lane] >= 0 {
				n++
			}
		}
		if n > peak {
			best = card
			peak = n
		}
	}
	return best
}

func itoa(n int) string { return strconv.Itoa(n) }
