package main

import (
	"bufio"
	"fmt"

	"github.com/spf13/cobra"

	"ninepocket/internal/term"
	"ninepocket/snapshot"
	"ninepocket/snapshot/diff"
)

func snapshotDiff() *cobra.Command {
	var flags storeFlags
	return flags.addStored(&cobra.Command{
		Use: "diff A B --store DIR", Short: "Show what changed from one snapshot to another", Args: cobra.ExactArgs(2),
		Long: "Shows cards, sets and sealed products added, removed and renamed, prices changed with the " +
			"largest moves, and how\n" +
			"many cards have a price. A and B are ids, or current, previous or latest.",
		Example: "  ninepocket snapshot diff current latest --store store",
		RunE: func(cmd *cobra.Command, args []string) error {
			var both [2]*snapshot.Catalog
			for i, id := range args {
				var err error
				both[i], err = flags.dir().Load(cmd.Context(), id, nil)
				if err != nil {
					return fmt.Errorf("cannot compare the snapshots: %w", err)
				}
			}

			changes := diff.Compare(both[0], both[1], "")
			return printResult(cmd, flags.asJSON, changes, func(out *bufio.Writer) { printDiff(out, changes) })
		},
	})
}

// diffKind is a part of a Diff with changes, and its printed name.
type diffKind struct {
	name string
	*diff.Changes
}

func printDiff(out *bufio.Writer, found *diff.Diff) {
	fmt.Fprintf(out, "from  %s\nto    %s\n\n", found.From, found.To)
	kinds := []diffKind{{"cards", &found.Cards}, {"sets", &found.Sets}, {"sealed", &found.Sealed}}
	term.Table(out, "\tBEFORE\tAFTER\tADDED\tREMOVED\tRENAMED", kinds, func(changes diffKind) []any {
		return []any{changes.name, changes.Before, changes.After, changes.Added, changes.Removed, changes.Renamed}
	})
	for _, changes := range kinds {
		changes.printExamples(out)
	}

	prices := found.Prices
	coverage := found.Coverage
	fmt.Fprintf(out, "\ncards with a price: %d of %d before, %d of %d after\n",
		coverage.PricedBefore, found.Cards.Before, coverage.PricedAfter, found.Cards.After)
	fmt.Fprintf(out, "prices: %d in both, %d of them changed, %d by more than 60 %%; %d new, %d gone\n",
		prices.Compared, prices.Changed, prices.Moved, prices.Appeared, prices.Disappeared)
	if prices.MedianPercent != nil {
		fmt.Fprintf(out, "median change: %+.2f %%\n", *prices.MedianPercent)
	}
	// Snapshots with the same prices have no moves.
	if len(prices.Largest) == 0 {
		return
	}

	fmt.Fprintln(out)
	header := "LARGEST MOVES\tSET\tNUMBER\tVARIANT\tCONDITION\tFROM\tTO\tCHANGE\tID"
	term.Table(out, header, prices.Largest, func(move diff.Move) []any {
		return []any{
			move.Name, move.Set, move.Number, move.Variant, move.Condition, dollars(move.FromCents),
			dollars(move.ToCents), signed(move.Percent), move.ID,
		}
	})
}

func (changes *diffKind) printExamples(out *bufio.Writer) {
	part := func(verb string, n int, lines []string) {
		if n == 0 {
			return
		}
		fmt.Fprintf(out, "\n%s %s:\n", changes.name, verb)
		for _, line := range lines {
			fmt.Fprintln(out, "  "+line)
		}

		if more := n - len(lines); more > 0 {
			fmt.Fprintf(out, "  and %d more\n", more)
		}
	}

	things := func(all []diff.Thing) (lines []string) {
		for _, thing := range all {
			lines = append(lines, thing.Name+"  "+thing.ID)
		}
		return lines
	}
	part("added", changes.Added, things(changes.Examples.Added))
	part("removed", changes.Removed, things(changes.Examples.Removed))

	var renamed []string
	for _, name := range changes.Examples.Renamed {
		renamed = append(renamed, fmt.Sprintf("%s -> %s  %s", name.From, name.To, name.ID))
	}
	part("renamed", changes.Renamed, renamed)
}

// dollars formats cents as dollars.
func dollars(cents int64) string { return fmt.Sprintf("$%d.%02d", cents/100, cents%100) }

func signed(percent *float64) string {
	if percent == nil {
		return "-"
	}
	return fmt.Sprintf("%+.2f %%", *percent)
}
