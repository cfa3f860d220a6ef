package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/snapshot"
)

func snapshotCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "snapshot", Short: "Build, publish and look at snapshots", RunE: group}
	cmd.AddCommand(snapshotBuild(), snapshotPublish(), snapshotRollback(), snapshotList(), snapshotInspect(),
		snapshotVerify(),
		snapshotDiff(), snapshotHold(), snapshotUnhold(), snapshotPrune())
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

// addStored adds the flags to a command that wants a store to be there: a misspelt folder is no
// empty store.
func (s *storeFlags) addStored(cmd *cobra.Command) {
	s.add(cmd)
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if !cmd.Flags().Changed("store") {
			// Cobra says next that it is required.
			return nil
		}
		if err := s.dir().Exists(); err != nil {
			return s.storeError(err)
		}
		return nil
	}
}

func (s *storeFlags) dir() *snapshot.Dir { return snapshot.OpenDir(s.store) }

// resolve takes, where a command wants the id of a snapshot, also the words current, previous and
// latest.
func (s *storeFlags) resolve(given string) (string, error) { // air: one step
	switch given {
	case "current", "previous":
		cur, err := s.dir().Current()
		if err != nil {
			return "", s.storeError(fmt.Errorf("cannot find the %s snapshot: %w", given, err))
		}
		if given == "current" {
			return cur.ID, nil
		}
		if cur.Previous == "" {
			return "", s.storeError(fmt.Errorf("cannot find the previous snapshot: %w", snapshot.ErrNoPrevious))
		}
		return cur.Previous, nil
	case "latest":
		all, err := s.dir().List()
		if err != nil {
			return "", s.storeError(err)
		}
		if len(all) == 0 {
			return "", s.storeError(fmt.Errorf("store %q is empty: %w", s.store, snapshot.ErrNotFound))
		}
		return all[0].ID, nil
	}
	return given, nil
}

// storeError gives an error of the store its exit code: damage is refused, the rest failed.
func (s *storeFlags) storeError(err error) error { // air: one step
	switch {
	case errors.Is(err, snapshot.ErrDamaged):
		return fail(exitRefused,
			"build the snapshot again, or publish a whole one: ninepocket snapshot list --store "+s.store, err)
	case errors.Is(err, snapshot.ErrNewerFormat):
		return fail(exitRefused, "use the version of ninepocket that built it, or a newer one", err)
	case errors.As(err, new(*snapshot.RefusedError)):
		return fail(exitRefused,
			"mend the feed and build again; when the change is right, add: --override GUARD --reason TEXT", err)
	case errors.Is(err, snapshot.ErrNoStore):
		return fail(exitFailure,
			"look at --store, or build a first snapshot: ninepocket snapshot build "+
				"--store "+s.store+" --source KIND:PATH", err)
	case errors.Is(err, fs.ErrPermission):
		return fail(exitFailure, "run this as the user that the store belongs to", err)
	case errors.Is(err, snapshot.ErrNoCurrent):
		return fail(exitFailure,
			"build a first snapshot without --base, or run: ninepocket snapshot publish ID --store "+s.store, err)
	case errors.Is(err, snapshot.ErrNotFound), errors.Is(err, snapshot.ErrNoPrevious),
		errors.Is(err, snapshot.ErrNotHeld):
		return fail(exitFailure, "run: ninepocket snapshot list --store "+s.store, err)
	}
	return fail(exitFailure, "", err)
}

// listed is a row of snapshot list.
type listed struct {
	ID         string    `json:"id"`
	CreatedAt  time.Time `json:"created_at"`
	SnapshotAt time.Time `json:"snapshot_at"`
	Current    bool      `json:"current"`
	Cards      int       `json:"cards"`
	Bytes      int64     `json:"bytes"`
	Held       bool      `json:"held"`
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

			held, err := s.dir().Held()
			if err != nil {
				return s.storeError(err)
			}

			// A damaged manifest hides one snapshot, and must not hide the others.
			for _, problem := range s.dir().Unlisted() {
				_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "note: left out: %v\n", problem)
			}
			rows := []listed{}
			for _, m := range all {
				rows = append(rows, listed{
					m.ID, m.CreatedAt, m.SnapshotAt, m.ID == cur.ID, m.Counts.Cards, m.Bytes(),
					slices.Contains(held, m.ID),
				})
			}

			var cells [][]any
			for _, r := range rows {
				var marks []string
				if r.Held {
					marks = append(marks, "held")
				}
				if r.Current {
					// The last word: scripts look for it.
					marks = append(marks, "current")
				}
				mark := strings.Join(marks, " ")
				cells = append(cells, []any{
					r.ID, r.SnapshotAt.Format(time.RFC3339), r.CreatedAt.Format(time.RFC3339),
					r.Cards, sized(r.Bytes), mark,
				})
			}
			return list(cmd, s.asJSON, rows, "ID\tSNAPSHOT AT\tCREATED AT\tCARDS\tSIZE\t", cells)
		},
	}
	s.addStored(cmd)
	return cmd
}

// inspected is what snapshot inspect shows.
type inspected struct {
	ID         string          `json:"id"`
	CreatedAt  time.Time       `json:"created_at"`
	SnapshotAt time.Time       `json:"snapshot_at"`
	Base       string          `json:"base"`
	Counts     snapshot.Counts `json:"counts"`
	Sections   []sectionRow    `json:"sections"`
	Quarantine map[string]int  `json:"quarantine"`
	Games      []gameRow       `json:"games"`
	// Guards are the verdicts that the snapshot was published with, else those it would get now.
	Guards []snapshot.Verdict `json:"guards"`
	// Publications are when it was published and rolled back to.
	Publications []snapshot.Publication `json:"publications"`
	Held         bool                   `json:"held"`
	// QuarantineFile is where the lines behind the counts are.
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
	var s storeFlags
	var path string
	cmd := &cobra.Command{
		Use: "inspect ID --store DIR", Short: "Show what a snapshot holds", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			// Only the limits of the guards are asked of it.
			config, err := readConfig(path, os.Environ(), func(string) {})
			if err != nil {
				return fail(exitUsage, "", err)
			}

			id, err := s.resolve(args[0])
			if err != nil {
				return err
			}

			m, err := s.dir().Manifest(id)
			if err != nil {
				return s.storeError(fmt.Errorf("cannot inspect the snapshot: %w", err))
			}

			c, err := s.dir().Load(cmd.Context(), id, nil)
			if err != nil {
				return s.storeError(fmt.Errorf("cannot inspect the snapshot: %w", err))
			}

			// None are fine.
			past, _ := s.dir().Publications()
			i := inspected{
				ID: m.ID, CreatedAt: m.CreatedAt, SnapshotAt: m.SnapshotAt, Base: m.Base, Counts: m.Counts,
				Quarantine: m.Quarantine, Games: gamesOf(c), QuarantineFile: s.dir().QuarantinePath(m.ID),
				Guards: s.verdicts(cmd.Context(), &snapshot.Stored{Manifest: m, Catalog: c}, past,
					config.guards()),
				Publications: []snapshot.Publication{},
			}
			for _, p := range past {
				if p.ID == id {
					// The last ones are shown by themselves.
					p.Guards = nil
					i.Publications = append(i.Publications, p)
				}
			}

			held, err := s.dir().Held()
			if err != nil {
				return s.storeError(err)
			}
			i.Held = slices.Contains(held, id)
			for _, sec := range m.Sections {
				i.Sections = append(i.Sections, sectionRow{sec.Name, sec.Bytes, sec.Raw, sec.SHA256, sec.Optional})
			}
			return show(cmd, s.asJSON, i, i.print)
		},
	}
	s.addStored(cmd)
	cmd.Flags().StringVar(&path, "config", "", "TOML configuration `FILE` with the limits of the guards")
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

func (i *inspected) print(out io.Writer) error {
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
		name := sec.Name
		if sec.Optional {
			name += " (optional)"
		}
		cells = append(cells, []any{name, sized(sec.Bytes), sized(sec.Raw), sec.SHA256})
	}

	_, _ = fmt.Fprintln(out)
	if err := table(out, "SECTION\tSTORED\tDECODED\tSHA-256", cells); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(out)
	if err := printVerdicts(out, i.Guards); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(out)
	for _, p := range i.Publications {
		_, _ = fmt.Fprintf(out, "%s %s (epoch %d)\n", p.PublishedAt.Format(time.RFC3339), p.Action, p.Epoch)
		for _, o := range p.Overrides {
			_, _ = fmt.Fprintf(out, "  guard %s overridden: %s\n", o.Guard, o.Reason)
		}
	}

	if i.Held {
		_, _ = fmt.Fprintln(out, "held: no clean-up removes it")
	}
	return printQuarantine(out, i.Quarantine, i.QuarantineFile)
}

func snapshotVerify() *cobra.Command {
	var s storeFlags
	cmd := &cobra.Command{
		Use: "verify ID --store DIR", Short: "Check every byte of a snapshot; exit 3 on any damage",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := s.resolve(args[0])
			if err != nil {
				return err
			}
			if err := s.dir().Verify(id); err != nil {
				if s.asJSON {
					told := map[string]any{"id": id, "ok": false, "error": err.Error()}
					if err := printJSON(cmd.OutOrStdout(), told); err != nil {
						return err
					}
				}
				return s.storeError(fmt.Errorf("cannot verify the snapshot: %w", err))
			}
			return say(cmd, s.asJSON, map[string]any{"id": id, "ok": true}, "%s is whole", id)
		},
	}

	s.addStored(cmd)
	return cmd
}
