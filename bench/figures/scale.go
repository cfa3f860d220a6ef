package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"ninepocket/bench"
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
				// Writing and reading a year of history takes minutes from there on.
				if cards > large {
					all[i].Days = largeDays
				}
			}

			points, err := bench.Scale(cmd.Context(), s.options, all)
			if err != nil {
				return err
			}
			if picture != "" {
				drawing := []byte(bench.ScalePlot(points))
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
	f.StringVar(&picture, "picture", "docs/scaling.svg", "the plot to write, \"\" for none")
	return cmd
}

// large is from where on a catalog may have less history: writing and reading a year of it takes
// minutes.
const large = 300_000
