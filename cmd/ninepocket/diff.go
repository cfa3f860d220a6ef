package main

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"ninepocket/internal/settings"
	"ninepocket/internal/term"
	"ninepocket/operate"
	"ninepocket/snapshot"
	"ninepocket/snapshot/diff"
)

// diffFlags are the flags of snapshot diff.
type diffFlags struct {
	storeFlags
	diff.Options
	format string
}

func snapshotDiff() *cobra.Command {
	var flags diffFlags
	cmd := &cobra.Command{
		Use: "diff [A B] --store DIR", Short: "Show what changed from one snapshot to another",
		Long: "Shows cards, sets and sealed products added, removed and renamed, prices that moved, are new or are\n" +
			"gone, and how many cards have a price. A and B are ids, or current, previous or latest; without them\n" +
			"it is what changed since the publication before: previous current. A price has moved that went up or\n" +
			"down by more than --min-percent, and by --min-cents or more; from nothing it is more than any percentage.",
		Example: "  ninepocket snapshot diff --min-percent 50 --store store\n" +
			"  ninepocket snapshot diff current latest --store store --format csv",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return cobra.ExactArgs(2)(cmd, args)
		},
		PreRunE: func(cmd *cobra.Command, _ []string) error { return flags.check(cmd) },
		RunE:    func(cmd *cobra.Command, args []string) error { return flags.run(cmd, args) },
	}

	flags.addStored(cmd)
	f := cmd.Flags()
	f.Float64Var(&flags.MinPercent, "min-percent", 0, "only prices that moved by more than `N` %")
	f.Int64Var(&flags.MinCents, "min-cents", 0, "only prices that moved by `N` cents or more")
	f.IntVar(&flags.Limit, "limit", 20, "list `N` of each, 0 for all; json and csv list all unless it is given")
	f.StringVar(&flags.format, "format", "table", "table, csv or json; --json is the same as json")
	return cmd
}

// check reads the flags. The error names every problem.
func (flags *diffFlags) check(cmd *cobra.Command) error {
	var wrong settings.Problems
	wrong.AddIf(!slices.Contains([]string{"table", "csv", "json"}, flags.format),
		"cannot use --format %q: want table, csv or json", flags.format)
	wrong.AddIf(!(flags.MinPercent >= 0), "cannot use --min-percent %g: want 0 or more", flags.MinPercent)
	wrong.AddIf(flags.MinCents < 0, "cannot use --min-cents %d: want 0 or more", flags.MinCents)
	wrong.AddIf(flags.Limit < 0, "cannot use --limit %d: want 0 or more", flags.Limit)
	if flags.asJSON {
		flags.format = "json"
	}
	// Programs want all.
	if flags.format != "table" && !cmd.Flags().Changed("limit") {
		flags.Limit = 0
	}
	return fail(exitUsage, "", wrong.Err())
}

func (flags *diffFlags) run(cmd *cobra.Command, args []string) error {
	var both [2]*snapshot.Catalog
	for i, id := range append(args, "previous", "current")[:2] {
		id, err := operate.Resolve(flags.folder, id)
		if err == nil {
			both[i], err = flags.dir().Load(cmd.Context(), id, nil)
		}
		if err != nil {
			return fmt.Errorf("cannot compare the snapshots: %w", err)
		}
	}

	found := diff.Compare(both[0], both[1], flags.Options)
	if flags.format == "csv" {
		out := csv.NewWriter(cmd.OutOrStdout())
		found.Rows(func(row []string) { _ = out.Write(row) })
		out.Flush()
		return out.Error()
	}
	return printResult(cmd, flags.format == "json", found, func(out *bufio.Writer) { printDiff(out, found) })
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

	prices := &found.Prices
	coverage := found.Coverage
	fmt.Fprintf(out, "\ncards with a price: %d of %d before, %d of %d after\n",
		coverage.PricedBefore, found.Cards.Before, coverage.PricedAfter, found.Cards.After)
	fmt.Fprintf(out, "prices: %d in both, %d of them changed%s; %d new, %d gone\n",
		prices.Compared, prices.Changed, movedText(prices), prices.Appeared, prices.Disappeared)
	if prices.MedianPercent != nil {
		fmt.Fprintf(out, "median change: %+.2f %%\n", *prices.MedianPercent)
	}
	printMoves(out, "LARGEST MOVES", prices.Largest, prices.Moved)
	printMoves(out, "NEW PRICES", prices.New, prices.Appeared)
	printMoves(out, "GONE PRICES", prices.Gone, prices.Disappeared)
}

// movedText says how many prices moved by how much, "" where every change counts.
func movedText(prices *diff.Prices) string {
	if prices.Moved == prices.Changed {
		return ""
	}
	text := fmt.Sprintf(", %d by more than %g %%", prices.Moved, prices.MinPercent)
	if prices.MinCents > 0 {
		text += fmt.Sprintf(" and by %s or more", dollars(diff.Cents(prices.MinCents)))
	}
	return text
}

func printMoves(out *bufio.Writer, title string, moves []diff.Move, all int) {
	if all == 0 {
		return
	}
	fmt.Fprintln(out)
	header := title + "\tSET\tNUMBER\tVARIANT\tCONDITION\tFROM\tTO\tCHANGE\tID"
	term.Table(out, header, moves, func(move diff.Move) []any {
		return []any{
			move.Name, move.Set, move.Number, move.Variant, move.Condition, dollars(move.FromCents),
			dollars(move.ToCents), signed(move.Percent), move.ID,
		}
	})
	if more := all - len(moves); more > 0 {
		fmt.Fprintf(out, "and %d more\n", more)
	}
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

// dollars formats cents as dollars, "-" for none.
func dollars(cents diff.Cents) string {
	if cents < 0 {
		return "-"
	}
	return fmt.Sprintf("$%d.%02d", cents/100, cents%100)
}

func signed(percent *float64) string {
	if percent == nil {
		return "-"
	}
	return fmt.Sprintf("%+.2f %%", *percent)
}
