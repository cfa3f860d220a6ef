package loader

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// dataDir finds the real catalogs, which are not part of the repository, or skips the test.
func dataDir(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv("DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "data")
	}
	if _, err := os.Stat(dir); err != nil {
		tb.Skipf("skipped: no real catalogs in %s", dir)
	}
	return dir
}

func realInputs(dir string) (tree, wide, wideOP Input) {
	return Input{"tcgcsv", filepath.Join(dir, "tcgcsv", "tcgplayer-current.tar.zst")},
		Input{"tcgcsv", filepath.Join(dir, "price-history", "pokemon-daily-250d-by-productId.csv.zst")},
		Input{"tcgcsv", filepath.Join(dir, "price-history", "onepiece-daily-366d-by-productId.csv.zst")}
}

func TestRealDump(t *testing.T) {
	tree, wide, wideOP := realInputs(dataDir(t))
	start := time.Now()
	r, err := Build(context.Background(), Options{Sources: []Input{tree}, Prices: []Input{wide, wideOP}, CollectedAt: time.Date(2026, 8, 22, 20, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(time.Since(start))
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Println("sys", m.Sys>>20, "alloc", m.TotalAlloc>>20)
	fmt.Printf("%+v\n", r.Report)
	fmt.Println(r.QuarantineCounts)
	fmt.Println(string(r.Quarantine[:min(len(r.Quarantine), 2000)]))
	if err := r.Catalog.Validate(); err != nil {
		t.Fatal(err)
	}
	fmt.Println(len(r.Catalog.History.Points), len(r.Catalog.Stats.Lane), len(r.Catalog.Movers.Up), len(r.Catalog.Movers.Down))
	for i := range 5 {
		fmt.Println(r.Catalog.Cards.ID.At(i), r.Catalog.Cards.Slug.At(i), r.Catalog.Cards.Name.At(i), r.Catalog.Cards.Number.At(i), r.Catalog.Cards.Printing.At(i), r.Catalog.Lanes.Cents[r.Catalog.Cards.Display[i]])
	}
}
