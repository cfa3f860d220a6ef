package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Size is the size of a catalog to measure.
type Size struct {
	Cards, Days int
	Conditions  int // largest number of conditions of a variant, 0 for all
}

// ScalePoint has the results for a catalog of one size.
type ScalePoint struct {
	Size
	Build BuildFigures
	Load  LoadFigures
}

// Scale builds and loads catalogs of several sizes, one after the other, each in separate
// processes.
func Scale(ctx context.Context, o Options, sizes []Size) ([]ScalePoint, error) {
	o.setDefaults()
	var points []ScalePoint
	for _, size := range sizes {
		p, err := scalePoint(ctx, &o, size)
		if err != nil {
			return nil, fmt.Errorf("cannot measure %d cards: %w", size.Cards, err)
		}
		points = append(points, p)
	}
	return points, nil
}

func scalePoint(ctx context.Context, o *Options, size Size) (ScalePoint, error) {
	p := ScalePoint{Size: size}
	folder, err := os.MkdirTemp("", "ninepocket-scale-")
	if err != nil {
		return p, err
	}

	// If this fails, files stay in the temporary folder.
	defer func() { _ = os.RemoveAll(folder) }()
	h := workspace{folder: folder, self: o.Self, log: o.Log}
	h.logf("%d cards, %d days: building", size.Cards, size.Days)
	text, err := h.exec(ctx, Task{
		Kind: taskBuild, Store: h.path("store"), Cards: size.Cards, Seed: o.Seed,
		Days: size.Days, Conditions: size.Conditions,
	})

	if err == nil {
		err = json.Unmarshal(text, &p.Build)
	}
	if err != nil {
		return p, err
	}

	h.logf("%d cards, %d days: built in %v, loading", size.Cards, size.Days,
		p.Build.Build.Wall.Round(10*time.Millisecond))
	text, err = h.exec(ctx, Task{Kind: taskLoad, Store: h.path("store")})
	if err == nil {
		err = json.Unmarshal(text, &p.Load)
	}
	return p, err
}

// ScaleTable returns the points as a Markdown table.
func ScaleTable(points []ScalePoint) string {
	var w strings.Builder
	row := func(name string, cell func(*ScalePoint) string) {
		fmt.Fprintf(&w, "| %s |", name)
		for i := range points {
			fmt.Fprintf(&w, " %s |", cell(&points[i]))
		}
		w.WriteString("\n")
	}

	row("cards", func(p *ScalePoint) string { return grouped(p.Load.Counts.Cards) })
	w.WriteString("|---|" + strings.Repeat("---|", len(points)) + "\n")
	row("lanes", func(p *ScalePoint) string { return grouped(p.Load.Counts.Lanes) })
	row("days of history", func(p *ScalePoint) string { return strconv.Itoa(p.Days) })
	row("history points", func(p *ScalePoint) string { return grouped(p.Load.Counts.HistoryPoints) })
	row("build, CPU", func(p *ScalePoint) string { return seconds(p.Build.Build.CPU) })
	row("build and write, peak memory of the process", func(p *ScalePoint) string { return megabytes(p.Build.Peak) })
	row("snapshot on disk", func(p *ScalePoint) string { return megabytes(p.Build.Stored) })
	row("load, CPU", func(p *ScalePoint) string { return seconds(p.Load.Load.CPU) })
	row("live heap of one snapshot", func(p *ScalePoint) string { return megabytes(p.Load.Heap) })

	for _, t := range times {
		row(t.name, func(p *ScalePoint) string { return figure(micros(t.of(&p.Load))) + " µs" })
	}
	return w.String()
}

// times are the reads whose growth is shown.
var times = []struct {
	name string
	of   func(*LoadFigures) time.Duration
}{
	{"search, whole word", func(f *LoadFigures) time.Duration { return f.Exact }},
	{"search, one letter missing", func(f *LoadFigures) time.Duration { return f.Typo }},
	{"search, two letters missing", func(f *LoadFigures) time.Duration { return f.Distance2 }},
	{"search, two letters missing, words not remembered", func(f *LoadFigures) time.Duration { return f.Expand }},
	{"page of 50 within a price range", func(f *LoadFigures) time.Duration { return f.Filter }},
	{"card by id", func(f *LoadFigures) time.Duration { return f.CardOf }},
	{"200 card details by id", func(f *LoadFigures) time.Duration { return f.Cards200 }},
	{"100 prices by id", func(f *LoadFigures) time.Duration { return f.Prices100 }},
	{"a year of one card's history", func(f *LoadFigures) time.Duration { return f.HistoryYear }},
}

// grouped formats an integer with commas.
func grouped(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}

func seconds(d time.Duration) string { return figure(d.Seconds()) + " s" }

func megabytes(n int64) string { return figure(float64(n)/1e6) + " MB" }
