package text

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// TestBuildLeavesNothing checks that an index has no goroutine: bleve's end with Build.
func TestBuildLeavesNothing(t *testing.T) {
	smallIndex(t) // bleve starts these once for all
	before := runtime.NumGoroutine()
	for range 5 {
		smallIndex(t)
	}

	for range 12_000 { // they end soon, but not at once
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}

	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

func TestEmptyCorpus(t *testing.T) {
	ix, err := Build(context.Background(), Corpus{}, noStep)
	if err != nil {
		t.Fatal(err)
	}
	if hits := ix.Search(nil, "charizard 4/102", nil); len(hits) > 0 {
		t.Errorf("found %v", hits)
	}
}

// TestConcurrent runs many searches on one index.
func TestConcurrent(t *testing.T) {
	ix := smallIndex(t)
	queries := []string{"charizrd", "4/102", "luffy op05-119", "muk", "nidoran f", "base set", "mr 1", "exeggutr"}
	want := make([][]Hit, len(queries))
	for i, q := range queries {
		want[i] = sorted(ix.Search(nil, q, nil))
	}

	fresh := smallIndex(t)
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 400 {
				k := (i + worker) % len(queries)
				if got := sorted(fresh.Search(nil, queries[k], nil)); !slices.Equal(got, want[k]) {
					t.Errorf("%q: %v, want %v", queries[k], got, want[k])
				}
			}
		})
	}

	wg.Wait()
}
