package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ninepocket/snapshot"
	"ninepocket/snapshot/diff"
)

func snapshotDiff() *cobra.Command {
	var s storeFlags
	cmd := &cobra.Command{
		Use: "diff A B --store DIR", Short: "Show what changed from one snapshot to another", Args: cobra.ExactArgs(2),
		Long: "Shows cards, sets and sealed products added, removed and renamed, prices changed with the " +
			"largest moves, and how\n" +
			"many cards have a price. A and B are ids, or current, previous or latest.",
		Example: "  ninepocket snapshot diff current latest --store store",
		RunE: func(cmd *cobra.Command, args []string) error {
			var both [2]*snapshot.Catalog
			for i, given := range args {
				id, err := s.resolve(given)
				if err != nil {
					return err
				}
				both[i], err = s.dir().Load(cmd.Context(), id, nil)
				if err != nil {
					return s.storeError(fmt.Errorf("cannot compare the snapshots: %w", err))
				}
			}

			d := diff.Compare(both[0], both[1], diff.Options{})
			return show(cmd, s.asJSON, d, func(out io.Writer) error { return printDiff(out, d) })
		},
	}

	s.addStored(cmd)
	return cmd
}

// kinds are the parts of a Diff that hold changes, with their names for people.
func kinds(d *diff.Diff) []struct {
	name string
	*diff.Changes
} {
	return []struct {
		name string
		*diff.Changes
	}{{"cards", &d.Cards}, {"sets", &d.Sets}, {"sealed", &d.Sealed}}
}

func printDiff(out io.Writer, d *diff.Diff) error {
	_, _ = fmt.Fprintf(out, "from  %s\nto    %s\n\n", d.From, d.To)
	var cells [][]any
	for _, k := range kinds(d) {
		cells = append(cells, []any{k.name, k.Before, k.After, k.Added, k.Removed, k.Renamed})
	}
	if err := table(out, "\tBEFORE\tAFTER\tADDED\tREMOVED\tRENAMED", cells); err != nil {
		return err
	}

	for _, k := range kinds(d) {
		printExamples(out, k.name, k.Changes)
	}
	p := d.Prices
	c := d.Coverage
	_, _ = fmt.Fprintf(out, "\ncards with a price: %d of %d before, %d of %d after\n", c.PricedBefore, d.Cards.Before,
		c.PricedAfter, d.Cards.After)
	_, _ = fmt.Fprintf(out, "prices: %d in both, %d of them changed, %d by more than 60 %%; %d new, %d gone\n",
		p.Compared, p.Changed, p.Moved, p.Appeared, p.Disappeared)
	if p.MedianPercent != nil {
		_, _ = fmt.Fprintf(out, "median change: %+.2f %%\n", *p.MedianPercent)
	}
	// Two snapshots of the same prices have no moves.
	if len(p.Largest) == 0 {
		return nil
	}

	cells = nil
	for _, m := range p.Largest {
		cells = append(cells, []any{
			m.Name, m.Variant, m.Condition, dollars(m.FromCents), dollars(m.ToCents),
			signed(m.Percent), m.ID,
		})
	}

	_, _ = fmt.Fprintln(out)
	return table(out, "LARGEST MOVES\tVARIANT\tCONDITION\tFROM\tTO\tCHANGE\tID", cells)
}

func printExamples(out io.Writer, kind string, c *diff.Changes) {
	part := func(verb string, n int, lines []string) {
		if n == 0 {
			return
		}
		_, _ = fmt.Fprintf(out, "\n%s %s:\n", kind, verb)
		for _, line := range lines {
			_, _ = fmt.Fprintln(out, "  "+line)
		}

		if more := n - len(lines); more > 0 {
			_, _ = fmt.Fprintf(out, "  and %d more\n", more)
		}
	}

	things := func(all []diff.Thing) (lines []string) {
		for _, t := range all {
			lines = append(lines, t.Name+"  "+t.ID)
		}
		return lines
	}
	part("added", c.Added, things(c.Examples.Added))
	part("removed", c.Removed, things(c.Examples.Removed))
	var renamed []string
	for _, r := range c.Examples.Renamed {
		renamed = append(renamed, fmt.Sprintf("%s -> %s  %s", r.From, r.To, r.ID))
	}
	part("renamed", c.Renamed, renamed)
}

// dollars spells cents for people.
func dollars(cents int64) string { return fmt.Sprintf("$%d.%02d", cents/100, cents%100) }

func signed(percent *float64) string {
	if percent == nil {
		return "-"
	}
	return fmt.Sprintf("%+.2f %%", *percent)
}
