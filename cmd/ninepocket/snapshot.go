package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/engine"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

func snapshotCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "snapshot", Short: "Build, publish and look at snapshots", RunE: group}
	cmd.AddCommand(snapshotBuild(), snapshotPublish(), snapshotList(), snapshotInspect(), snapshotVerify())
	return cmd
}

// storeFlags are what every snapshot command takes.
type storeFlags struct {
	store  string
	asJSON bool
}

func (s *storeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.store, "store", "", "snapshot store `DIR`")
	cmd.Flags().BoolVar(&s.asJSON, "json", false, "print JSON")
	require(cmd, "store")
}

func (s *storeFlags) dir() *snapshot.Dir { return snapshot.OpenDir(s.store) }

// storeError gives an error of the store its exit code: damage is refused, the rest failed.
func (s *storeFlags) storeError(err error) error {
	switch {
	case errors.Is(err, snapshot.ErrDamaged):
		return fail(exitRefused, "build the snapshot again, or publish another: ninepocket snapshot list --store "+s.store, err)
	case errors.Is(err, snapshot.ErrNewerFormat):
		return fail(exitRefused, "use the version of ninepocket that built it, or a newer one", err)
	case errors.Is(err, snapshot.ErrNotFound):
		return fail(exitFailure, "run: ninepocket snapshot list --store "+s.store, err)
	}
	return fail(exitFailure, "", err)
}

// servable is the check before publishing: the engine itself makes its View of the snapshot as read back from disk.
func servable(c *snapshot.Catalog) error {
	_, err := engine.NewView(c, wire.Site{ProductPrefix: defaultConfig().ProductPrefix})
	return err
}

func snapshotPublish() *cobra.Command {
	var s storeFlags
	cmd := &cobra.Command{
		Use: "publish ID --store DIR", Short: "Make a snapshot the one that is served", Args: cobra.ExactArgs(1),
		Long: "Verifies the snapshot, reads it back with the engine's own loader and then moves the pointer that servers\n" +
			"follow. Whatever is wrong is named and leaves the current snapshot alone.",
		RunE: func(cmd *cobra.Command, args []string) error {
			cur, err := s.dir().Publish(args[0], time.Now(), servable)
			if err != nil {
				return s.storeError(err)
			}
			if s.asJSON {
				return printJSON(cmd.OutOrStdout(), cur)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "published %s (epoch %d)\n", cur.ID, cur.Epoch)
			return err
		},
	}
	s.add(cmd)
	return cmd
}

// listed is a row of snapshot list (contract).
type listed struct {
	ID         string    `json:"id"`
	CreatedAt  time.Time `json:"created_at"`
	SnapshotAt time.Time `json:"snapshot_at"`
	Current    bool      `json:"current"`
	Cards      int       `json:"cards"`
	Bytes      int64     `json:"bytes"`
}

func snapshotList() *cobra.Command {
	var s storeFlags
	cmd := &cobra.Command{
		Use: "list --store DIR", Short: "List the snapshots of a store, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := s.dir().List()
			if err != nil {
				return s.storeError(err)
			}
			cur, err := s.dir().Current()
			if err != nil && !errors.Is(err, snapshot.ErrNoCurrent) && !errors.Is(err, snapshot.ErrDamaged) {
				return s.storeError(err)
			}
			rows := []listed{}
			for _, m := range all {
				rows = append(rows, listed{m.ID, m.CreatedAt, m.SnapshotAt, m.ID == cur.ID, m.Counts.Cards, m.Bytes()})
			}
			if s.asJSON {
				return printJSON(cmd.OutOrStdout(), rows)
			}
			var cells [][]any
			for _, r := range rows {
				mark := ""
				if r.Current {
					mark = "current"
				}
				cells = append(cells, []any{r.ID, r.SnapshotAt.Format(time.RFC3339), r.CreatedAt.Format(time.RFC3339), r.Cards, sized(r.Bytes), mark})
			}
			return table(cmd.OutOrStdout(), "ID\tSNAPSHOT AT\tCREATED AT\tCARDS\tSIZE\t", cells)
		},
	}
	s.add(cmd)
	return cmd
}

// inspected is what snapshot inspect shows (contract).
type inspected struct {
	ID         string          `json:"id"`
	CreatedAt  time.Time       `json:"created_at"`
	SnapshotAt time.Time       `json:"snapshot_at"`
	Base       string          `json:"base"`
	Counts     snapshot.Counts `json:"counts"`
	Sections   []sectionRow    `json:"sections"`
	Quarantine map[string]int  `json:"quarantine"`
	Games      []gameRow       `json:"games"`
	// QuarantineFile is where the lines behind the counts are.
	QuarantineFile string `json:"quarantine_file"`
}

type sectionRow struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	Raw    int64  `json:"raw_bytes"`
	SHA256 string `json:"sha256"`
}

type gameRow struct {
	Slug  string `json:"slug"`
	Sets  int    `json:"sets"`
	Cards int    `json:"cards"`
}

func snapshotInspect() *cobra.Command {
	var s storeFlags
	cmd := &cobra.Command{
		Use: "inspect ID --store DIR", Short: "Show what a snapshot holds", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := s.dir().Manifest(args[0])
			if err != nil {
				return s.storeError(fmt.Errorf("cannot inspect the snapshot: %w", err))
			}
			c, err := s.dir().Load(args[0])
			if err != nil {
				return s.storeError(fmt.Errorf("cannot inspect the snapshot: %w", err))
			}
			i := inspected{
				ID: m.ID, CreatedAt: m.CreatedAt, SnapshotAt: m.SnapshotAt, Base: m.Base, Counts: m.Counts,
				Quarantine: m.Quarantine, Games: gamesOf(c), QuarantineFile: s.dir().QuarantinePath(m.ID),
			}
			for _, sec := range m.Sections {
				i.Sections = append(i.Sections, sectionRow{sec.Name, sec.Bytes, sec.Raw, sec.SHA256})
			}
			if s.asJSON {
				return printJSON(cmd.OutOrStdout(), i)
			}
			return i.print(cmd)
		},
	}
	s.add(cmd)
	return cmd
}

func gamesOf(c *snapshot.Catalog) []gameRow {
	rows := make([]gameRow, c.Games.Slug.Len())
	for g := range rows {
		rows[g].Slug = c.Games.Slug.At(g)
	}
	for _, g := range c.Sets.Game {
		rows[g].Sets++
	}
	for _, g := range c.Cards.Game {
		rows[g].Cards++
	}
	return rows
}

func (i *inspected) print(cmd *cobra.Command) error {
	out := cmd.OutOrStdout()
	n := i.Counts
	base := i.Base
	if base == "" {
		base = "none"
	}
	_, _ = fmt.Fprintf(out, "snapshot     %s\nsnapshot at  %s\ncreated at   %s\nbase         %s\n\n", i.ID,
		i.SnapshotAt.Format(time.RFC3339Nano), i.CreatedAt.Format(time.RFC3339), base)
	_, _ = fmt.Fprintf(out, "%d games, %d sets, %d cards, %d products, %d lanes, %d history points\n\n",
		n.Games, n.Sets, n.Cards, n.Products, n.Lanes, n.HistoryPoints)
	var cells [][]any
	for _, g := range i.Games {
		cells = append(cells, []any{g.Slug, g.Sets, g.Cards})
	}
	if err := table(out, "GAME\tSETS\tCARDS", cells); err != nil {
		return err
	}
	cells = nil
	for _, sec := range i.Sections {
		cells = append(cells, []any{sec.Name, sized(sec.Bytes), sized(sec.Raw), sec.SHA256})
	}
	_, _ = fmt.Fprintln(out)
	if err := table(out, "SECTION\tSTORED\tDECODED\tSHA-256", cells); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(out)
	return printQuarantine(out, i.Quarantine, i.QuarantineFile)
}

func snapshotVerify() *cobra.Command {
	var s storeFlags
	cmd := &cobra.Command{
		Use: "verify ID --store DIR", Short: "Check every byte of a snapshot; exit 3 on any damage", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.dir().Verify(args[0]); err != nil {
				return s.storeError(fmt.Errorf("cannot verify the snapshot: %w", err))
			}
			if s.asJSON {
				return printJSON(cmd.OutOrStdout(), map[string]any{"id": args[0], "ok": true})
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s is whole\n", args[0])
			return err
		},
	}
	s.add(cmd)
	return cmd
}
