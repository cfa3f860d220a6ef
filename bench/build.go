package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"ninepocket/engine"
	"ninepocket/engine/bulk"
	"ninepocket/index"
	"ninepocket/internal/synth"
	"ninepocket/loader"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// Cost is the time of an action in a separate process.
type Cost struct {
	Wall, CPU time.Duration
}

// BuildFigures are the results of a task of kind build, for its first snapshot.
type BuildFigures struct {
	Snapshots            []string // ids, in the order of their days
	Counts               snapshot.Counts
	Generate, Build, Put Cost // writing the raw catalog, raw to catalog, catalog to disk
	Stored               int64
	Peak                 int64 // peak memory of the process
}

// build writes a synthetic catalog, loads it with the real loader and publishes it. Each later
// snapshot is built on the previous one, as daily builds are.
func (t *Task) build(ctx context.Context) (BuildFigures, error) {
	var out BuildFigures
	store := snapshot.OpenStore(t.Store)

	// Later days are built on the previous one, as daily builds are.
	var base *snapshot.Catalog
	for day := range max(t.Snapshots, 1) {
		raw := filepath.Join(filepath.Dir(t.Store), fmt.Sprintf("raw-%d", day))
		options := synth.Options{Cards: t.Cards, Seed: t.Seed, HistoryDays: t.Days, Conditions: t.Conditions}
		generate, err := timed(func() error {
			if day == 0 {
				err := synth.Write(raw, options)
				return err
			}

			err := synth.WriteDay(raw, options, day)
			return err
		})
		if err != nil {
			return out, err
		}

		var result *loader.Result
		build, err := timed(func() error {
			var err error
			result, err = loader.Build(ctx, loader.Options{
				Sources: []loader.Input{{Kind: "native", Path: raw}},
				Base:    base,
			})
			return err
		})
		// The raw catalog is larger than the snapshot, and that of a million cards would fill a
		// disk.
		if err := errors.Join(err, os.RemoveAll(raw)); err != nil {
			return out, err
		}

		var manifest *snapshot.Manifest
		put, err := timed(func() error {
			var err error
			manifest, _, err = store.Write(result.Catalog, snapshot.WriteOptions{
				Quarantine:       result.Quarantine,
				QuarantineCounts: result.QuarantineCounts,
			})
			return err
		})
		if err != nil {
			return out, err
		}

		out.Snapshots = append(out.Snapshots, manifest.ID)
		base = result.Catalog
		if day == 0 {
			out.Generate = generate
			out.Build = build
			out.Put = put
			out.Counts = manifest.Counts
			out.Stored, err = folderSize(store.Path(manifest.ID))
			if err != nil {
				return out, err
			}
		}
	}

	_, out.Peak = memory(os.Getpid())
	// The first snapshot is the last to be published.
	for _, id := range slices.Backward(out.Snapshots) {
		if err := t.publish(ctx, id); err != nil {
			return out, err
		}
	}
	return out, nil
}

// publish makes a snapshot the current one. Making a View is the check, as in snapshot publish. No
// guard is run, because measurements alternate between two days.
func (t *Task) publish(ctx context.Context, id string) error {
	_, err := snapshot.OpenStore(t.Store).Publish(id, snapshot.PublishOptions{
		Now: time.Now(), Check: func(catalog *snapshot.Catalog) error {
			view, err := engine.NewView(catalog, wire.URLs{URL: siteURL, ProductPrefix: "prd"})
			if err != nil || t.State == "" {
				return err
			}

			// A server would take long, because it rests often. It adopts these.
			files := bulk.New(bulk.Options{Dir: filepath.Join(t.State, "bulk"), Log: slog.New(slog.DiscardHandler)})
			return files.Make(ctx, view, func() {})
		},
	})
	return err
}

// timed measures the wall and CPU time of a function. The process must do nothing else.
func timed(f func() error) (Cost, error) {
	began := time.Now()
	before, err := cpuTime(os.Getpid())
	if err != nil {
		return Cost{}, err
	}
	if err := f(); err != nil {
		return Cost{}, err
	}

	after, err := cpuTime(os.Getpid())
	return Cost{time.Since(began), after - before}, err
}

func folderSize(folder string) (int64, error) {
	var size int64
	err := filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}

		info, err := entry.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}

// LoadFigures are the results of a task of kind load.
type LoadFigures struct {
	Counts       snapshot.Counts
	Load         Cost  // from the files to a usable View
	Heap         int64 // live heap that the View adds
	Resident     int64 // of the process after a garbage collection
	Peak         int64
	Exact        time.Duration // a search for a whole word, its page not cached; the median word
	Typo         time.Duration // with one letter missing
	Distance2    time.Duration // with two letters missing
	Expand       time.Duration // with two letters missing, the first time: similar words are not cached either
	Filter       time.Duration // a page of 50 within a price range
	Cards200     time.Duration // the details of 200 cards
	Prices100    time.Duration // the prices of 100 cards
	CardOf       time.Duration // a card by its id
	HistoryYear  time.Duration // 365 days of one card's lanes
	SearchWords  int           // number of words in these searches
	GoroutineCPU int           // GOMAXPROCS
}

// load loads the current snapshot of a store as a server does, and measures some reads in one
// goroutine. Times are wall times of a loop. The shortest of several runs is used, because other
// processes can only add time.
func (t *Task) load() (LoadFigures, error) {
	var out LoadFigures
	store := snapshot.OpenStore(t.Store)
	current, err := store.Current()
	if err != nil {
		return out, err
	}

	// The heap before the View is not its cost.
	before := liveHeap()
	var view *engine.View
	out.Load, err = timed(func() error {
		catalog, err := store.Load(context.Background(), current.ID, nil)
		if err != nil {
			return err
		}
		view, err = engine.NewView(catalog, wire.URLs{URL: siteURL, ProductPrefix: "prd"})
		return err
	})
	if err != nil {
		return out, err
	}

	manifest, err := store.Manifest(current.ID)
	if err != nil {
		return out, err
	}

	out.Counts = manifest.Counts
	_, out.Peak = memory(os.Getpid())
	out.Heap = liveHeap() - before
	out.Resident, _ = memory(os.Getpid())
	out.GoroutineCPU = runtime.GOMAXPROCS(0)
	out.measureReads(view)
	return out, nil
}

func liveHeap() int64 {
	runtime.GC()
	// The second collection frees what finalizers and pools referenced.
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// measureReads measures the times of reads.
func (f *LoadFigures) measureReads(view *engine.View) {
	words := vocabulary(view, 8, 256)
	f.SearchWords = len(words)
	var cards []uint32
	find := func(word string) {
		cards = view.Index.Cards(cards[:0], index.Query{Filter: index.NoFilter, Words: word, HasWords: true}, nil,
			20).Cards
	}

	each := func(respell func(string) string) []time.Duration {
		var all []time.Duration
		for _, word := range words {
			q := respell(word)
			all = append(all, minTime(func() { find(q) }))
		}
		return all
	}

	var first []time.Duration
	// Nothing is cached for these words yet.
	for _, word := range words {
		began := time.Now()
		find(without(word, 1, 4))
		first = append(first, time.Since(began))
	}

	f.Expand = median(first)
	f.Exact = median(each(func(w string) string { return w }))
	f.Typo = median(each(func(w string) string { return without(w, 3) }))
	f.Distance2 = median(each(func(w string) string { return without(w, 2, 5) }))
	low := view.Index
	q := index.Query{Filter: index.NoFilter, Sort: index.PriceAsc}
	q.Min = 100
	q.Max = 2000
	f.Filter = minTime(func() { cards = low.Cards(cards[:0], q, nil, 50).Cards })

	n := view.Catalog.Cards.ID.Len()

	// The cards are spread over the catalog, so that no processor cache has them all.
	ids := make([]string, 200)
	for i := range ids {
		ids[i] = view.Catalog.Cards.ID.At(i * 7919 % n)
	}

	var body []byte
	gather := func(ids []string, of func(dst []byte, card int) []byte) func() {
		return func() {
			body = body[:0]
			for _, id := range ids {
				if card, ok := view.Index.Card(id); ok {
					body = of(body, card)
				}
			}
		}
	}
	f.Cards200 = minTime(gather(ids, view.AppendDetail))
	f.Prices100 = minTime(gather(ids[:100], view.AppendPriceEntry))
	f.CardOf = minTime(gather(ids, func(dst []byte, _ int) []byte { return dst })) / 200
	f.HistoryYear = minTime(func() { body = view.AppendHistory(body[:0], n/3, 365, "") })
}

// vocabulary returns words of card names with that many letters, spread over the catalog.
func vocabulary(view *engine.View, letters, limit int) []string {
	var all []string
	seen := map[string]bool{}
	n := view.Catalog.Cards.Name.Len()
	for i := 0; i < n && len(all) < limit; i += max(n/5000, 1) {
		for word := range strings.FieldsSeq(view.Catalog.Cards.Name.At(i)) {
			word = strings.ToLower(word)
			if len(word) >= letters && isASCII(word) && !strings.ContainsAny(word, "-'.()&") && !seen[word] {
				seen[word] = true
				all = append(all, word)
			}
		}
	}
	return all
}

// minTime returns the shortest time of f in a few runs of about a millisecond.
func minTime(f func()) time.Duration {
	f()
	best := time.Duration(1<<63 - 1)
	for range 5 {
		// A loop of a millisecond is long compared with the resolution of the clock.
		times := 0
		began := time.Now()
		for took := time.Duration(0); took < time.Millisecond; {
			f()
			times++
			took = time.Since(began)
		}

		best = min(best, time.Since(began)/time.Duration(times))
	}
	return best
}

func median(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}
