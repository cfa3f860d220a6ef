package main

import (
	"bufio"
	"fmt"
	"math"
	"slices"
	"strings"

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
		Use: "diff [A B] --store DIR", Short: "Show the changes from one snapshot to another",
		Long: "Shows cards, sets and sealed products that were added, removed or renamed, prices that moved, are\n" +
			"new or are gone, and how many cards have a price. A and B are ids, or current, previous or latest.\n" +
			"Without them the current snapshot is compared with the previous release. A price has moved if it\n" +
			"went up or down by more than --min-percent, and by --min-cents or more. A rise from zero is more\n" +
			"than any percentage.",
		Example: "  ninepocket snapshot diff --min-percent 50 --store store\n" +
			"  ninepocket snapshot diff current latest --store store --format csv",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return cobra.ExactArgs(2)(cmd, args)
		},
		PreRunE: func(cmd *cobra.Command, _ []string) error { return flags.check(cmd) },
		RunE:    flags.run,
	}

	f := cmd.Flags()
	f.Float64Var(&flags.MinPercent, "min-percent", 0, "only prices that moved by more than `N` %")
	f.Int64Var(&flags.MinCents, "min-cents", 0, "only prices that moved by `N` cents or more")
	f.IntVar(&flags.Limit, "limit", 20, "list `N` of each, 0 for all; json and csv list all unless it is given")
	f.StringVar(&flags.format, "format", "table", "table, csv or json; --json is the same as json")
	return flags.addStored(cmd)
}

// check reads the flags. The error names every problem.
func (flags *diffFlags) check(cmd *cobra.Command) error {
	var wrong settings.Problems
	wrong.AddIf(!slices.Contains([]string{"table", "csv", "json"}, flags.format),
		"cannot use --format %q: want table, csv or json", flags.format)
	wrong.AddIf(!(flags.MinPercent >= 0) || math.IsInf(flags.MinPercent, 0),
		"cannot use --min-percent %g: want 0 or more", flags.MinPercent)
	wrong.AddIf(flags.MinCents < 0, "cannot use --min-cents %d: want 0 or more", flags.MinCents)
	wrong.AddIf(flags.Limit < 0, "cannot use --limit %d: want 0 or more", flags.Limit)
	if wantsJSON(cmd) {
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
	// Without arguments it is what the last release changed.
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
		var lines [][]any
		for _, row := range found.Rows() {
			lines = append(lines, []any{
				row.Change, row.Kind, row.ID, row.Name, row.Was, row.Set, row.Number, row.Variant, row.Condition,
				orEmpty(row.FromCents), orEmpty(row.ToCents), orEmpty(row.Percent),
			})
		}
		const header = "change kind id name former_name set number variant condition from to percent"
		return printCSV(cmd, header, lines)
	}
	if flags.format == "json" {
		return term.JSON(cmd.OutOrStdout(), found)
	}
	return printResult(cmd, found, func(out *bufio.Writer) {
		_ = cmd.Flags().Set("limit", "0") // a number is valid
		printDiff(out, found, found.Rows(), againWith(cmd, append([]string{"snapshot", "diff"}, args...)...))
	})
}

// maxWhat is how many characters of a card's name and set a table shows.
const maxWhat = 44

// printDiff prints the counts of a diff and some of its rows. again is the command that lists the others.
func printDiff(out *bufio.Writer, found *diff.Diff, rows []diff.Row, again string) {
	fmt.Fprintf(out, "from %s to %s\n", found.From, found.To)
	kinds := []*diff.Changes{&found.Cards, &found.Sets, &found.Sealed}
	names := []string{"cards", "sets", "sealed"}
	if found.Sealed.Before+found.Sealed.After == 0 {
		kinds = kinds[:2]
	}
	listed := 0
	term.Table(out, "\tBEFORE\tAFTER\tADDED\tREMOVED\tRENAMED", kinds, func(of *diff.Changes) []any {
		listed += of.Added + of.Removed + of.Renamed
		return []any{names[slices.Index(kinds, of)], of.Before, of.After, of.Added, of.Removed, of.Renamed}
	})

	prices := &found.Prices
	coverage := found.Coverage
	fmt.Fprintf(out, "cards with a price: %d of %d before, %d of %d after\n",
		coverage.PricedBefore, found.Cards.Before, coverage.PricedAfter, found.Cards.After)
	moved := ""
	if prices.Moved != prices.Changed {
		moved = fmt.Sprintf(", %d by more than %g %%", prices.Moved, prices.MinPercent)
		if prices.MinCents > 0 {
			moved += " and " + dollars(&prices.MinCents) + " or more"
		}
	}
	median := ""
	if prices.MedianPercent != nil {
		median = fmt.Sprintf("; median change %+.2f %%", *prices.MedianPercent)
	}
	fmt.Fprintf(out, "prices: %d in both, %d of them changed%s; %d new, %d gone%s\n",
		prices.Compared, prices.Changed, moved, prices.Appeared, prices.Disappeared, median)

	listed += prices.Moved + prices.Appeared + prices.Disappeared
	// Snapshots of the same content have no changes.
	if listed == 0 {
		return
	}
	term.Table(out, "CHANGE\tWHAT\tFROM\tTO\tID", rows, func(row diff.Row) []any {
		// A row fits a screen of 100 columns; csv and json have all of it.
		change := row.Change + " " + row.Kind
		if row.Percent != nil {
			change = fmt.Sprintf("%+.2f %%", *row.Percent)
		}
		condition := strings.TrimPrefix(row.Condition, "ungraded")
		what := strings.Join([]string{row.Name, row.Number, row.Variant, condition, row.Set}, " ")
		what = strings.Join(strings.Fields(what), " ")
		if row.Was != "" {
			what = row.Was + " -> " + row.Name
		}
		if all := []rune(what); len(all) > maxWhat {
			what = string(all[:maxWhat-1]) + "…"
		}
		return []any{change, what, dollars(row.FromCents), dollars(row.ToCents), row.ID}
	})
	if more := listed - len(rows); more > 0 {
		fmt.Fprintf(out, "and %d more: %s\n", more, again)
	}
}

// dollars formats cents as dollars, "-" for none.
func dollars(cents *int64) string {
	if cents == nil {
		return "-"
	}
	return fmt.Sprintf("$%d.%02d", *cents/100, *cents%100)
}
