package server

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"ninepocket/engine"
	"ninepocket/internal/synth"
	"ninepocket/loader"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// edition is one day of the demo catalog: the files it was made of, and the View of it.
type edition struct {
	dir     string
	summary synth.Summary
	view    *engine.View
}

func makeEdition(cards, day int, base *edition) *edition {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}

	e := &edition{dir: filepath.Join(scratchDir, fmt.Sprintf("%d-day%d", cards, day))}
	var err error
	e.summary, err = synth.Summarize(e.dir, synth.Options{Cards: cards, Day: day, Plain: true})
	must(err)
	o := loader.Options{Sources: []loader.Input{{Kind: "native", Path: e.dir}}}
	if base != nil {
		o.Base = base.view.Catalog
	}

	result, err := loader.Build(context.Background(), o)
	must(err)
	store := snapshot.OpenStore(filepath.Join(scratchDir, "store"))
	manifest, _, err := store.Write(result.Catalog, snapshot.WriteOptions{
		Quarantine:       result.Quarantine,
		QuarantineCounts: result.QuarantineCounts,
	})
	must(err)
	catalog, err := store.Load(context.Background(), manifest.ID, nil)
	must(err)
	e.view, err = engine.NewView(catalog, wire.URLs{URL: baseURL, ProductPrefix: "prd"})
	must(err)
	return e
}

// today and tomorrow are the editions that tests serve; tomorrow adds, removes and renames, and moves prices.
var (
	today    = sync.OnceValue(func() *edition { return makeEdition(demoCards, 0, nil) })
	tomorrow = sync.OnceValue(func() *edition { return makeEdition(demoCards, 1, today()) })
)

// thumbnails and later are editions for tests that load them again and again, which the race
// detector makes slow.
var (
	small = sync.OnceValue(func() *edition { return makeEdition(300, 0, nil) })
	later = sync.OnceValue(func() *edition { return makeEdition(300, 1, small()) })
)
