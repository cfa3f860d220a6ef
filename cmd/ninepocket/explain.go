package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ninepocket/internal/settings"
	"ninepocket/internal/term"
	"ninepocket/operate"
	"ninepocket/operate/explain"
)

func snapshotExplain() *cobra.Command {
	var flags storeFlags
	var path string
	var from explain.Options
	cmd := &cobra.Command{
		Use: "explain CARD --store DIR", Short: "Explain the price of a card, or why it has none",
		Long: "CARD is an id, a slug, also a former one, an identifier (tcgplayer:42382, tcgcsv,3/42382) or the URL\n" +
			"of a page. Shows each variant with its feed, last day and price. If there is no current price, it\n" +
			"shows the reason: rows that the build refused, or gaps of the feed. It lists the archived days that\n" +
			"have the variant, by the index of feed pull. It also explains why a card is not in the catalog.",
		Example: "  ninepocket snapshot explain tcgplayer:42382 --config ninepocket.toml --store store",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			config, err := settings.ReadWithEnv(path)
			if err != nil {
				return fail(exitUsage, "", err)
			}
			id, err := operate.Resolve(flags.folder, "current")
			if err != nil {
				return err
			}
			c, err := flags.dir().Load(cmd.Context(), id, nil)
			if err != nil {
				return err
			}

			from.Feed = cmp.Or(from.Feed, config.Feed.Into)
			from.Mapping = config.Daily.Mapping
			from.Report = flags.dir().QuarantinePath(id)
			found, err := explain.Card(c, args[0], from)
			if errors.Is(err, explain.ErrUnknown) {
				return fail(exitFailure, "look the card up on its page, or by GET /v1/cards?q=NAME", err)
			}
			if err != nil {
				return err
			}
			return printResult(cmd, found, func(out *bufio.Writer) { printExplanation(out, found) })
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&path, "config", "", "TOML configuration `FILE` with feed.into and daily.mapping")
	cmd.Flags().StringVar(&from.Feed, "into", "", "`DIR` of the pulled feed (default: feed.into of the configuration)")
	return cmd
}

func printExplanation(out *bufio.Writer, found *explain.Explanation) {
	refs := strings.Join(found.Refs, " ")
	fmt.Fprintf(out, "%s  %s  %s %s\n%s\n", found.ID, found.Name, found.Set, found.Number, refs)
	for _, reason := range found.Reasons {
		fmt.Fprintf(out, "no price: %s\n", reason.Text)
	}
	// A card without a lane has its reasons above.
	if len(found.Lanes) > 0 {
		header := "VARIANT\tCONDITION\tFEED\tLAST DAY\tPRICE\tLAST PRICE\tOF"
		term.Table(out, header, found.Lanes, func(lane explain.Lane) []any {
			return []any{
				lane.Variant, lane.Condition, lane.Feed, lane.LastDay, dollars(lane.Cents), dollars(lane.LastCents),
				lane.LastPriced,
			}
		})
	}
	for _, lane := range found.Lanes {
		if lane.Reason != nil {
			fmt.Fprintf(out, "%s: %s\n", lane.Variant, lane.Reason.Text)
		}
	}

	for _, line := range found.Refused {
		fmt.Fprintf(out, "refused: %s\n", &line)
	}
	lists := []string{"the feed lacks days", "archived days have it", "archived days lack the index of feed pull"}
	for i, days := range [][]string{found.Gaps, found.Days, found.Unknown} {
		if n := len(days); n > 0 {
			fmt.Fprintf(out, "%s: %d, %s to %s\n", lists[i], n, days[0], days[n-1])
		}
	}
}
