package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/loader"
	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// buildFlags are the flags of snapshot build.
type buildFlags struct {
	storeFlags
	publishing              publishFlags
	sources, prices         []string
	base                    string
	snapshotAt, collectedAt string
	mapping                 string
	keepUnmatched, publish  bool
}

func snapshotBuild() *cobra.Command {
	var b buildFlags
	cmd := &cobra.Command{
		Use:   "build --store DIR --source KIND:PATH…",
		Short: "Build a snapshot from catalogs and price feeds",
		Long: "Reads catalogs and prices, builds one snapshot and stores it. KIND is tcgcsv, pokemon-tcg-data, " +
			"punk-records\n" +
			"or native; PATH is a directory, a .tar.zst or .tar.gz, for TCGCSV archives a .7z, for --prices " +
			"also a wide CSV\n" +
			"file of price history. What is refused goes to the snapshot's quarantine file, with the reason.",
		Example: "  ninepocket snapshot build --store store --source tcgcsv:tcgplayer --prices " +
			"tcgcsv:history.csv.zst --publish\n" +
			"  ninepocket snapshot build --store store --source tcgcsv:today --base current --publish",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return b.run(cmd) },
	}

	f := cmd.Flags()
	f.StringArrayVar(&b.sources, "source", nil,
		"catalog with or without prices, `KIND:PATH`; the first one owns the ids")
	f.StringArrayVar(&b.prices, "prices", nil, "prices alone, `KIND:PATH`")
	f.StringVar(&b.base, "base", "none",
		"earlier snapshot whose history and ids go on: an `ID`, latest (built), current (published) or none")
	f.StringVar(&b.snapshotAt, "snapshot-at", "",
		"`TIME` that the snapshot describes (default: the newest collected_at)")
	f.StringVar(&b.collectedAt, "collected-at", "", "`TIME` when a live tree was fetched that does not say so")
	f.StringVar(&b.mapping, "mapping", "", "`DIR` with sealed.csv, aliases.csv and feeds.toml")
	f.BoolVar(&b.keepUnmatched, "keep-unmatched", false, "keep cards of later sources that no earlier one has")
	f.BoolVar(&b.publish, "publish", false, "publish the snapshot once it is built")
	b.add(cmd)
	b.publishing.add(cmd)
	return cmd
}

// options reads the flags, naming every problem.
func (b *buildFlags) options() (loader.Options, error) {
	o := loader.Options{Mapping: b.mapping, KeepUnmatched: b.keepUnmatched}
	var problems []error
	inputs := func(given []string) (all []loader.Input) {
		for _, s := range given {
			in, err := loader.ParseInput(s)
			if err != nil {
				problems = append(problems, err)
			}
			all = append(all, in)
		}
		return all
	}

	o.Sources = inputs(b.sources)
	o.Prices = inputs(b.prices)
	if len(b.sources) == 0 {
		problems = append(problems, errors.New("cannot build without a --source"))
	}

	instant := func(flag, given string) (at time.Time) {
		if given == "" {
			return at
		}

		at, err := time.Parse(time.RFC3339, given)
		if err != nil {
			problems = append(problems, fmt.Errorf("cannot read --%s %q: want a time such as 2026-08-22T20:00:00Z",
				flag, given))
		}
		return at
	}
	o.SnapshotAt = instant("snapshot-at", b.snapshotAt)
	o.CollectedAt = instant("collected-at", b.collectedAt)
	return o, errors.Join(problems...)
}

// readBase loads the snapshot that --base means.
func (b *buildFlags) readBase(ctx context.Context) (*snapshot.Catalog, error) {
	switch b.base {
	case "none", "":
		return nil, nil
	case "latest":
		all, err := b.dir().List()
		if err != nil {
			return nil, b.storeError(err)
		}

		for _, m := range all {
			if c, err := b.dir().LoadVerified(ctx, m.ID); err == nil {
				return c, nil
			}
		}
		return nil, fail(exitFailure, "build the first snapshot without --base",
			fmt.Errorf("cannot find a base: store %q has no snapshot that verifies", b.store))
	}

	id, err := b.resolve(b.base)
	if err == nil && !snapshot.ValidID(id) {
		err = fail(exitUsage, "run: ninepocket snapshot list --store "+b.store,
			fmt.Errorf("cannot use --base %q: want the id of a snapshot, current, previous, latest or none", b.base))
	}
	if err != nil {
		return nil, err
	}

	c, err := b.dir().LoadVerified(ctx, id)
	if err != nil {
		return nil, b.storeError(fmt.Errorf("cannot use the base: %w", err))
	}
	return c, nil
}

// built is what snapshot build prints.
type built struct {
	ID             string          `json:"id"`
	Path           string          `json:"path"`
	Counts         snapshot.Counts `json:"counts"`
	Existing       bool            `json:"existing"` // equal input was built before
	Published      bool            `json:"published"`
	Base           string          `json:"base"`
	SnapshotAt     time.Time       `json:"snapshot_at"`
	Quarantine     map[string]int  `json:"quarantine"`
	QuarantineFile string          `json:"quarantine_file"`
	Seconds        float64         `json:"seconds"`
	Report         loader.Report   `json:"report"`
	// Notes are what an operator should know of a build that went well.
	Notes []string `json:"notes"`
}

// notes say which prices were too old to be kept, and that a feed told nothing new: what the base
// has stays current then, and no guard sees a difference.
func notes(base *snapshot.Catalog, r *loader.Report) []string {
	all := []string{}
	for _, p := range r.Prices {
		// One example is enough to find the file.
		if old := p.TooOld; old != nil {
			all = append(all,
				fmt.Sprintf("%d prices of %s are of days before %s and were left out; the oldest: %s of %s, "+
					"line %d of %s",
					old.Prices, p.Input, old.Before, old.Ref, old.Day, old.Line, old.File))
		}
	}
	if base == nil {
		return all
	}

	// The newest day that was read; dates compare as text.
	newest := ""
	for _, p := range r.Prices {
		newest = max(newest, p.Last)
	}

	switch have := base.Date().String(); {
	case newest == "":
		all = append(all, "no price was read: those of the base ("+have+") stay")
	case newest < have:
		all = append(all, "the newest price that was read is of "+newest+", the base has those of "+have+": they stay")
	}
	return all
}

func (b *buildFlags) run(cmd *cobra.Command) error {
	start := time.Now()
	o, err := b.options()
	if err != nil {
		return fail(exitUsage, "", err)
	}
	// What cannot work is refused before hours of building.
	if !b.publish && len(b.publishing.overrides) > 0 {
		return fail(exitUsage, "", errors.New("cannot use --override without --publish"))
	}

	publishing, err := b.publishing.publishing(start)
	if err != nil {
		return err
	}

	o.Base, err = b.readBase(cmd.Context())
	if err != nil {
		return err
	}

	baseID := ""
	if o.Base != nil {
		baseID = o.Base.ID
	}

	// A 7z archive is unpacked by a process of this program, which has bounds of its own.
	self, err := os.Executable()
	if err != nil {
		return fail(exitFailure, "", err)
	}
	o.Unpack = []string{self, "unpack"}
	progress := newProgress(cmd.ErrOrStderr(), b.asJSON)
	o.Progress = progress.update
	result, err := loader.Build(cmd.Context(), o)
	if err != nil {
		progress.stop()
		return fail(exitFailure, "", err)
	}
	progress.update(loader.Progress{Phase: "writing the snapshot"})
	m, created, err := b.dir().Write(result.Catalog, snapshot.WriteOptions{
		Base: baseID, Quarantine: result.Quarantine, QuarantineCounts: result.QuarantineCounts,
	})
	progress.stop()
	if err != nil {
		return b.storeError(err)
	}

	out := built{
		ID: m.ID, Path: b.dir().Path(m.ID), Counts: m.Counts, Existing: !created, Base: m.Base,
		SnapshotAt: m.SnapshotAt,
		Quarantine: m.Quarantine, QuarantineFile: b.dir().QuarantinePath(m.ID), Report: result.Report,
		Notes: notes(o.Base, &result.Report),
	}
	// Notes go to the terminal even when the output is JSON for a script.
	for _, note := range out.Notes {
		_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "note: "+note)
	}

	var refused error
	if b.publish {
		// The guards compare with the time of publishing, not with that of the flags.
		publishing.Now = time.Now()
		_, refused = b.dir().Publish(m.ID, publishing)
		out.Published = refused == nil
	}
	out.Seconds = time.Since(start).Seconds()
	err = show(cmd, b.asJSON, out, out.print)
	if refused != nil {
		// What was built stays, and was said.
		return b.storeError(refused)
	}
	return err
}

func (o *built) print(w io.Writer) error {
	n := o.Counts
	var cells [][]any
	for _, g := range o.Report.Games {
		cells = append(cells, []any{g.Slug, g.Sets, g.Cards, g.Priced, g.CardProducts, g.Sealed, g.Lanes})
	}
	if err := table(w, "GAME\tSETS\tCARDS\tPRICED\tCARD PRODUCTS\tSEALED\tLANES", cells); err != nil {
		return err
	}

	for _, s := range o.Report.Sources {
		_, _ = fmt.Fprintf(w, "%s:%s: %d sets, %d cards", s.Input.Kind, s.Input.Path, s.Sets, s.Cards)
		if s.CardsJoined+s.CardsApart > 0 {
			_, _ = fmt.Fprintf(w, "; %d joined, %d of them enriched, %d stayed apart", s.CardsJoined, s.CardsEnriched,
				s.CardsApart)
		}
		if s.CodeCardsLeftOut > 0 {
			_, _ = fmt.Fprintf(w, "; %d code cards left out", s.CodeCardsLeftOut)
		}
		if s.PartnersShared > 0 {
			_, _ = fmt.Fprintf(w, "; partner ids that an earlier item has: %d", s.PartnersShared)
		}
		if s.IdentifiersShared > 0 {
			_, _ = fmt.Fprintf(w, "; identifiers that an earlier item has, which join nothing: %d, such as %s",
				s.IdentifiersShared, s.SharedExample)
		}
		_, _ = fmt.Fprintln(w)
	}

	printCounts(w, "sealed products left out", o.Report.SealedLeftOut)
	printCounts(w, "cards that are not products", o.Report.CardsUnverified)
	if err := printQuarantine(w, o.Quarantine, o.QuarantineFile); err != nil {
		return err
	}

	_, _ = fmt.Fprintf(w, "%d cards, %d products, %d lanes, %d history points in %.1f s\n", n.Cards, n.Products,
		n.Lanes, n.HistoryPoints, o.Seconds)
	verb := "built"
	if o.Existing {
		verb = "already there:"
	}
	if o.Published {
		verb += " and published"
	}

	_, err := fmt.Fprintf(w, "%s %s\n", verb, o.ID)
	return err
}

// unpackCommand is how a build starts this program again to unpack a 7z archive.
func unpackCommand() *cobra.Command {
	return &cobra.Command{
		Use: "unpack", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := source.ServeUnpacking(os.Stdin, cmd.OutOrStdout()); err != nil {
				return fail(exitFailure, "", err)
			}
			return nil
		},
	}
}

func printCounts(w io.Writer, what string, counts map[string]int) {
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		_, _ = fmt.Fprintf(w, "%s, %s: %d\n", what, reason, counts[reason])
	}
}

// printQuarantine prints the counts by reason and where the lines are.
func printQuarantine(w io.Writer, counts map[string]int, file string) error {
	if len(counts) == 0 {
		_, err := fmt.Fprintln(w, "nothing was quarantined")
		return err
	}
	printCounts(w, "quarantined", counts)
	_, err := fmt.Fprintf(w, "quarantine file: %s\n", file)
	return err
}
