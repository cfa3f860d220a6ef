package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/bench"
	"ninepocket/bench/plot"
)

func scaleCommand(s *settings) *cobra.Command {
	var sizes []int
	var days, largeDays int
	var picture string
	cmd := &cobra.Command{
		Use: "scale", Short: "How cost grows with the catalog", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all := make([]bench.Size, len(sizes))
			for i, cards := range sizes {
				all[i] = bench.Size{Cards: cards, Days: days}
				// For larger catalogs, writing and reading a year of history takes minutes.
				if cards > large {
					all[i].Days = largeDays
				}
			}

			points, err := bench.Scale(cmd.Context(), s.options, all)
			if err != nil {
				return err
			}
			if picture != "" {
				drawing := []byte(scalePlot(points))
				if err := os.WriteFile(picture, drawing, 0o644); err != nil { //nolint:gosec // a public picture
					return fmt.Errorf("cannot write the picture: %w", err)
				}
			}
			return s.publish(cmd.Context(), "scaling", "bench-plot", bench.ScaleTable(points))
		},
	}

	f := cmd.Flags()
	f.IntSliceVar(&sizes, "sizes", []int{3_000, 30_000, 300_000, 1_000_000}, "cards of the catalogs")
	f.IntVar(&days, "days", 365, "days of history")
	f.IntVar(&largeDays, "large-days", 365, "days of history of catalogs of more than 300,000 cards")
	f.StringVar(&picture, "picture", "docs/dev/scaling.svg", "the plot to write, \"\" for none")
	return cmd
}

// large is the number of cards above which a catalog may have less history, because a year of
// history takes minutes to write and read.
const large = 300_000

// scalePlot draws the points.
func scalePlot(points []bench.ScalePoint) string {
	line := func(name string, value func(*bench.ScalePoint) float64) plot.Line {
		line := plot.Line{Name: name}
		for i := range points {
			line.Points = append(line.Points, plot.Point{X: float64(points[i].Load.Counts.Cards), Y: value(&points[i])})
		}
		return line
	}

	reading := func(name string, of func(*bench.LoadFigures) time.Duration) plot.Line {
		return line(name, func(point *bench.ScalePoint) float64 { return of(&point.Load).Seconds() * 1e6 })
	}
	return plot.Grid("How cost grows with the catalog", []plot.Panel{
		{Title: "Build and load, seconds of CPU", Lines: []plot.Line{
			line("build", func(point *bench.ScalePoint) float64 { return point.Build.Build.CPU.Seconds() }),
			line("load", func(point *bench.ScalePoint) float64 { return point.Load.Load.CPU.Seconds() }),
		}},
		{Title: "Memory, MB", Lines: []plot.Line{
			line("peak of the build", func(point *bench.ScalePoint) float64 { return float64(point.Build.Peak) / 1e6 }),
			line("live heap of one snapshot",
				func(point *bench.ScalePoint) float64 { return float64(point.Load.Heap) / 1e6 }),
			line("snapshot on disk",
				func(point *bench.ScalePoint) float64 { return float64(point.Build.Stored) / 1e6 }),
		}},
		{Title: "A search, µs", Lines: []plot.Line{
			reading("two letters missing, words not remembered",
				func(figures *bench.LoadFigures) time.Duration { return figures.Expand }),
			reading("two letters missing", func(figures *bench.LoadFigures) time.Duration { return figures.Distance2 }),
			reading("whole word", func(figures *bench.LoadFigures) time.Duration { return figures.Exact }),
		}},
		{Title: "Batches and reads, µs", Lines: []plot.Line{
			reading("200 card details", func(figures *bench.LoadFigures) time.Duration { return figures.Cards200 }),
			reading("100 prices", func(figures *bench.LoadFigures) time.Duration { return figures.Prices100 }),
			reading("a year of one card's history",
				func(figures *bench.LoadFigures) time.Duration { return figures.HistoryYear }),
		}},
	})
}
