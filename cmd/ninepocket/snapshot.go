package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/engine/cursor"
	"ninepocket/internal/settings"
	"ninepocket/internal/term"
	"ninepocket/operate"
	"ninepocket/operate/explain"
	"ninepocket/snapshot"
)

// listRow is a row of snapshot list.
type listRow struct {
	ID         string    `json:"id"`
	CreatedAt  time.Time `json:"created_at"`
	SnapshotAt time.Time `json:"snapshot_at"`
	Current    bool      `json:"current"`
	Cards      int       `json:"cards"`
	Bytes      int64     `json:"bytes"`
	Pinned     bool      `json:"held"`
	// Refused are the guard results of the last refusal, unless it was published since.
	Refused []snapshot.GuardResult `json:"refused,omitempty"`
}

func snapshotList() *cobra.Command {
	var flags storeFlags
	return flags.addStored(&cobra.Command{
		Use: "list", Short: "List the snapshots of a store, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := flags.dir().List()
			if err != nil {
				return err
			}

			cur, err := flags.dir().Current()
			if err != nil && !errors.Is(err, snapshot.ErrNoCurrent) && !errors.Is(err, snapshot.ErrDamaged) {
				return err
			}

			pinned, err := flags.dir().Pinned()
			if err != nil {
				return err
			}

			// A damaged manifest must not hide the other snapshots.
			for _, problem := range flags.dir().ListErrors() {
				cmd.PrintErrf("note: left out: %v\n", problem)
			}

			// An empty list is [] for scripts, and never null.
			rows := []listRow{}
			refused := flags.refused()
			for _, m := range all {
				rows = append(rows, listRow{
					m.ID, m.CreatedAt, m.SnapshotAt, m.ID == cur.ID, m.Counts.Cards, m.Bytes(),
					slices.Contains(pinned, m.ID), refused[m.ID],
				})
			}
			return printTable(cmd, rows, "ID\tSNAPSHOT AT\tCREATED AT\tCARDS\tSIZE\t", listRow.cells)
		},
	})
}

func (l listRow) cells() []any {
	var marks []string
	if l.Pinned {
		marks = append(marks, "pinned")
	}

	if len(l.Refused) > 0 {
		var guards []string
		for _, verdict := range l.Refused {
			guards = append(guards, verdict.Name)
		}
		marks = append(marks, "refused by "+strings.Join(guards, ", "))
	}
	if l.Current {
		// The last word, which scripts search for.
		marks = append(marks, "current")
	}
	return []any{
		l.ID, l.SnapshotAt.Format(time.RFC3339), l.CreatedAt.Format(time.RFC3339), l.Cards, term.Size(l.Bytes),
		strings.Join(marks, " "),
	}
}

// inspectResult is the output of snapshot inspect.
type inspectResult struct {
	ID         string          `json:"id"`
	CreatedAt  time.Time       `json:"created_at"`
	SnapshotAt time.Time       `json:"snapshot_at"`
	Base       string          `json:"base"`
	Counts     snapshot.Counts `json:"counts"`
	Sections   []sectionRow    `json:"sections"`
	Quarantine map[string]int  `json:"quarantine"`
	Games      []gameRow       `json:"games"`
	// Guards are the guard results of the release, else those that it would get now.
	Guards []snapshot.GuardResult `json:"guards"`
	// Publications are its releases, rollbacks included.
	Publications []snapshot.Publication `json:"publications"`
	Pinned       bool                   `json:"held"`
	// QuarantineFile has the quarantined lines.
	QuarantineFile string `json:"quarantine_file"`
}

type sectionRow struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	Raw    int64  `json:"raw_bytes"`
	SHA256 string `json:"sha256"`
	// Optional: a program that does not know the section serves the snapshot without it.
	Optional bool `json:"optional,omitempty"`
}

type gameRow struct {
	Slug  string `json:"slug"`
	Sets  int    `json:"sets"`
	Cards int    `json:"cards"`
}

func snapshotInspect() *cobra.Command {
	var flags storeFlags
	return flags.addStored(&cobra.Command{
		Use: "inspect ID", Short: "Show the content of a snapshot", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			// Only the limits of the guards are needed.
			config, err := settings.ReadWithEnv(cmd.Flag("config").Value.String())
			if err != nil {
				return fail(exitUsage, "", err)
			}
			st, err := flags.dir().LoadStored(cmd.Context(), args[0])
			if err != nil {
				return fmt.Errorf("cannot inspect the snapshot: %w", err)
			}

			pinned, err := flags.dir().Pinned()
			if err != nil {
				return err
			}

			terms := operate.Terms{Store: flags.folder, Guards: config.GuardLimits(), Now: time.Now}
			// There may be none.
			past, _ := flags.dir().Publications()
			m := st.Manifest
			shown := inspectResult{
				ID: m.ID, CreatedAt: m.CreatedAt, SnapshotAt: m.SnapshotAt, Base: m.Base, Counts: m.Counts,
				Quarantine: m.Quarantine, Games: gamesOf(st.Catalog), QuarantineFile: flags.dir().QuarantinePath(m.ID),
				Guards: terms.GuardResults(cmd.Context(), st), Publications: []snapshot.Publication{},
				Pinned: slices.Contains(pinned, m.ID),
			}
			for _, pub := range past {
				if pub.ID == m.ID {
					// The guard results of the last one are shown separately.
					pub.Guards = nil
					shown.Publications = append(shown.Publications, pub)
				}
			}

			for _, sec := range m.Sections {
				row := sectionRow{sec.Name, sec.Bytes, sec.Raw, sec.SHA256, sec.Optional}
				shown.Sections = append(shown.Sections, row)
			}
			return printResult(cmd, shown, shown.print)
		},
	})
}

func gamesOf(catalog *snapshot.Catalog) []gameRow {
	rows := make([]gameRow, catalog.Games.Slug.Len())
	for g := range rows {
		rows[g].Slug = catalog.Games.Slug.At(g)
	}

	for _, g := range catalog.Sets.Game {
		rows[g].Sets++
	}
	for _, g := range catalog.Cards.Game {
		rows[g].Cards++
	}
	return rows
}

func (shown *inspectResult) print(out *bufio.Writer) {
	fmt.Fprintf(out, "snapshot     %s\nsnapshot at  %s\ncreated at   %s\nbase         %s\n\n", shown.ID,
		shown.SnapshotAt.Format(time.RFC3339Nano), shown.CreatedAt.Format(time.RFC3339), cmp.Or(shown.Base, "none"))
	n := shown.Counts
	fmt.Fprintf(out, "%d games, %d sets, %d cards, %d products, %d lanes, %d history points\n\n",
		n.Games, n.Sets, n.Cards, n.Products, n.Lanes, n.HistoryPoints)

	term.Table(out, "GAME\tSETS\tCARDS", shown.Games,
		func(row gameRow) []any { return []any{row.Slug, row.Sets, row.Cards} })
	fmt.Fprintln(out)
	term.Table(out, "SECTION\tSTORED\tDECODED\tSHA-256", shown.Sections, func(sec sectionRow) []any {
		name := sec.Name
		if sec.Optional {
			name += " (optional)"
		}
		return []any{name, term.Size(sec.Bytes), term.Size(sec.Raw), sec.SHA256}
	})

	fmt.Fprintln(out)
	term.Table(out, "GUARD\tSTATUS\tFIGURE\tLIMIT\t", shown.Guards, func(verdict snapshot.GuardResult) []any {
		return []any{
			verdict.Name, verdict.Status, formatFigure(verdict.Value), formatFigure(verdict.Limit), verdict.Message,
		}
	})
	fmt.Fprintln(out)
	for _, pub := range shown.Publications {
		fmt.Fprintf(out, "%s %s (epoch %d)\n", pub.PublishedAt.Format(time.RFC3339), pub.Action, pub.Epoch)
		for _, override := range pub.Overrides {
			fmt.Fprintf(out, "  guard %s overridden: %s\n", override.Guard, override.Reason)
		}
	}

	if shown.Pinned {
		fmt.Fprintln(out, "pinned: no clean-up removes it")
	}
	printQuarantine(out, shown.Quarantine, shown.QuarantineFile)
}

// formatFigure formats a guard's number: counts as integers, shares with four decimals.
func formatFigure(v float64) string {
	decimals := 4
	if v == math.Trunc(v) {
		decimals = -1
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

func snapshotVerify() *cobra.Command {
	var flags storeFlags
	return flags.addStored(&cobra.Command{
		Use: "verify ID", Short: "Check every byte of a snapshot; exit 3 for any damage",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := args[0]
			err := flags.dir().Verify(id)
			if err == nil {
				return printLine(cmd, map[string]any{"id": id, "ok": true}, "%s is whole", id)
			}

			// Damage is a result too, for readers of JSON.
			if wantsJSON(cmd) {
				result := map[string]any{"id": id, "ok": false, "error": err.Error()}
				err = errors.Join(term.JSON(cmd.OutOrStdout(), result), err)
			}
			return fmt.Errorf("cannot verify the snapshot: %w", err)
		},
	})
}

// pinCommand is the command pin or unpin, or a hidden one with the old name hold or unhold.
func pinCommand(verb string) *cobra.Command {
	pins := !strings.HasPrefix(verb, "un")
	short := "Keep a snapshot out of every clean-up until unpin"
	done := "pinned"
	do := (*snapshot.Store).Pin
	if !pins {
		short = "Let clean-ups remove a pinned snapshot again"
		done = "no longer pinned"
		do = (*snapshot.Store).Unpin
	}

	var flags storeFlags
	return flags.addStored(&cobra.Command{
		Use: verb + " ID", Short: short, Args: cobra.ExactArgs(1),
		Hidden: strings.HasSuffix(verb, "hold"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := args[0]
			if err := do(flags.dir(), id); err != nil {
				return err
			}
			return printLine(cmd, map[string]any{"id": id, "held": pins}, "%s %s", done, id)
		},
	})
}

func snapshotPrune() *cobra.Command {
	var flags storeFlags
	var conditions publishFlags
	cmd := &cobra.Command{
		Use: "prune", Short: "Remove old snapshots", Args: cobra.NoArgs,
		Long: "Removes the snapshots beyond the newest N. These always stay: the current snapshot,\n" +
			"the previous one, pinned ones, and those to which a client's cursor may still lead.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			retain, err := conditions.retention()
			if err != nil {
				return fail(exitUsage, "", err)
			}

			done, err := flags.dir().Prune(snapshot.Retention{RetainCount: retain, MinAge: cursor.Lifetime}, time.Now())
			if err != nil {
				return err
			}

			// An empty list is [] for scripts, and never null.
			removed := []string{}
			var bytes int64
			for _, m := range done.Removed {
				removed = append(removed, m.ID)
				bytes += m.Bytes()
			}
			result := map[string]any{"removed": removed, "bytes": bytes, "kept": done.Retained}
			return printResult(cmd, result, func(out *bufio.Writer) {
				for _, id := range removed {
					fmt.Fprintln(out, "removed", id)
				}
				for _, id := range slices.Sorted(maps.Keys(done.Retained)) {
					fmt.Fprintf(out, "kept %s: %s\n", id, done.Retained[id])
				}
				fmt.Fprintf(out, "%d snapshots removed, %s freed\n", len(removed), term.Size(bytes))
			})
		},
	}
	conditions.addConfig(cmd, "`FILE` with daily.keep")
	conditions.addRetain(cmd, "keep the newest `N`")
	return flags.addStored(flags.addDryRun(cmd))
}

// retention returns how many snapshots prune retains.
func (flags *publishFlags) retention() (int, error) {
	if flags.retain != retainConfigured {
		if flags.retain < 1 {
			return 0, fmt.Errorf("cannot use --keep %d: want 1 or more", flags.retain)
		}
		return flags.retain, nil
	}

	configured, err := settings.ReadWithEnv(flags.config)
	retain := configured.Daily.RetainSnapshots
	if err == nil && retain < 1 {
		err = fmt.Errorf("cannot tell how many to keep: daily.keep is %d, which keeps all; give --keep N", retain)
	}
	return retain, err
}

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
	cmd.Flags().StringVar(&path, "config", "", "TOML configuration `FILE` with feed.into and daily.mapping")
	cmd.Flags().StringVar(&from.Feed, "into", "", "`DIR` of the pulled feed (default: feed.into of the configuration)")
	return flags.add(cmd)
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
