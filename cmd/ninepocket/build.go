package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/internal/settings"
	"ninepocket/internal/term"
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
	mapping, days, images   string
	keepUnmatched, publish  bool
}

func snapshotBuild() *cobra.Command {
	var flags buildFlags
	cmd := &cobra.Command{
		Use:   "build --store DIR --source KIND:PATH…",
		Short: "Build a snapshot from catalogs and price feeds",
		Long: "Reads catalogs and prices, builds one snapshot and stores it. KIND is one of\n" +
			strings.Join(source.KindNames(), ", ") + ".\n" +
			"PATH is a directory or an archive (.tar, .tar.zst, .tar.gz, .tgz, .7z), for --prices also a wide CSV\n" +
			"file of price history. What is refused goes to the snapshot's quarantine file, with the reason.",
		Example: "  ninepocket snapshot build --store store --source tcgcsv:tcgplayer --prices " +
			"tcgcsv:history.csv.zst --publish\n" +
			"  ninepocket snapshot build --store store --source tcgcsv:today --base current --publish",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}

	f := cmd.Flags()
	f.StringArrayVar(&flags.sources, "source", nil,
		"catalog with or without prices, `KIND:PATH`; the first one owns the ids")
	f.StringArrayVar(&flags.prices, "prices", nil, "prices alone, `KIND:PATH`")
	f.StringVar(&flags.base, "base", "none",
		"snapshot whose history and ids go on: an `ID`, latest (built), current or previous (published), or none")
	f.StringVar(&flags.snapshotAt, "snapshot-at", "",
		"`TIME` that the snapshot describes (default: the newest collected_at)")
	f.StringVar(&flags.collectedAt, "collected-at", "",
		"`TIME` when a live tree was fetched, for a tree that does not say it itself")
	f.StringVar(&flags.mapping, "mapping", "", "`DIR` with sealed.csv, aliases.csv, feeds.toml and search_aliases.csv")
	f.StringVar(&flags.images, "images", "",
		"`DIR` with card images, as serve has it: a card's image is the file that is there, such as 42382.jpg")
	f.StringVar(&flags.days, "days", "",
		"`DIR` of kept day files, from which days are filled that the base lacks; none for no filling\n"+
			"(default: the folder days beside the tree of a tcgcsv source, as feed pull keeps it)")
	f.BoolVar(&flags.keepUnmatched, "keep-unmatched", false, "keep cards of later sources that no earlier one has")
	f.BoolVar(&flags.publish, "publish", false, "publish the snapshot once it is built")
	flags.add(cmd)
	flags.publishing.add(cmd)
	return cmd
}

// options reads the flags, naming every problem.
func (flags *buildFlags) options() (loader.Options, error) {
	options := loader.Options{Mapping: flags.mapping, Images: flags.images, KeepUnmatched: flags.keepUnmatched}
	var wrong settings.Problems
	inputs := func(given []string) (all []loader.Input) {
		for _, s := range given {
			input, err := loader.ParseInput(s)
			wrong.Add(err)
			all = append(all, input)
		}
		return all
	}

	options.Sources = inputs(flags.sources)
	options.Prices = inputs(flags.prices)
	wrong.When(len(flags.sources) == 0, "cannot build without a --source")

	var err error
	options.Kept, err = keptDays(flags.days, options.Sources)
	wrong.Add(err)
	options.SnapshotAt = wrong.Time("snapshot-at", flags.snapshotAt, "2026-08-22T20:00:00Z")
	options.CollectedAt = wrong.Time("collected-at", flags.collectedAt, "2026-08-22T20:00:00Z")

	// What cannot work is refused before hours of building.
	wrong.When(!flags.publish && len(flags.publishing.overrides) > 0, "cannot use --override without --publish")
	return options, fail(exitUsage, "", wrong.Err())
}

// readBase loads the snapshot that --base means.
func (flags *buildFlags) readBase(ctx context.Context) (*snapshot.Catalog, error) {
	switch flags.base {
	case "none", "":
		return nil, nil
	case "latest":
		all, err := flags.dir().List()
		if err != nil {
			return nil, err
		}

		for _, m := range all {
			if catalog, err := flags.dir().LoadVerified(ctx, m.ID); err == nil {
				return catalog, nil
			}
		}
		return nil, fail(exitFailure, "build the first snapshot without --base",
			fmt.Errorf("cannot find a base: store %q has no snapshot that verifies", flags.folder))
	}

	id, err := flags.resolve(flags.base)
	if err == nil && !snapshot.ValidID(id) {
		err = fail(exitUsage, "run: ninepocket snapshot list --store "+flags.folder,
			fmt.Errorf("cannot use --base %q: want the id of a snapshot, current, previous, latest or none",
				flags.base))
	}
	if err != nil {
		return nil, err
	}

	catalog, err := flags.dir().LoadVerified(ctx, id)
	if errors.Is(err, snapshot.ErrDamaged) {
		return nil, fmt.Errorf("cannot use the base: %w: %w", errDamagedBase, err)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot use the base: %w", err)
	}
	return catalog, nil
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

// notes say which prices were too old to be kept, which search aliases stand for no card, and whether
// the feeds told nothing new. In that case the prices of the base stay current, and no guard sees a
// difference.
func notes(base *snapshot.Catalog, report *loader.Report) []string {
	all := []string{}
	// The newest day that was read; dates compare as text.
	newest := ""
	for _, prices := range report.Prices {
		newest = max(newest, prices.Last)
		// One example is enough to find the file.
		if old := prices.TooOld; old != nil {
			all = append(all,
				fmt.Sprintf("%d prices of %s are older than %s and were left out; the oldest is that of %s on %s, "+
					"in line %d of %s",
					old.Prices, prices.Input, old.Before, old.Ref, old.Day, old.Line, old.File))
		}
	}

	all = append(all, gapNotes(report, dayOf(base))...)
	all = append(all, report.MappingNotes...)
	all = append(all, report.AliasNotes...)
	if more := report.AliasesUnmatched - len(report.AliasNotes); more > 0 {
		all = append(all, fmt.Sprintf("%d more search aliases stand for no card", more))
	}
	if base == nil {
		return all
	}

	switch have := base.Date().String(); {
	case newest == "":
		all = append(all, "no price was read: those of the base ("+have+") stay")
	case newest < have:
		all = append(all, "the newest price that was read is of "+newest+", the base has those of "+have+": they stay")
	}
	return all
}

func (flags *buildFlags) run(cmd *cobra.Command) error {
	start := time.Now()
	options, err := flags.options()
	if err != nil {
		return err
	}

	publishing, err := flags.publishing.publishing(start, flags.folder)
	if err != nil {
		return err
	}
	configured, err := flags.publishing.configuration()
	if err != nil {
		return err
	}
	options.Guards = configured.GuardLimits()

	options.Base, err = flags.readBase(cmd.Context())
	if err != nil {
		return err
	}

	out, err := flags.build(cmd, options)
	if err != nil {
		return err
	}
	// Notes go to the terminal even when the output is JSON for a script.
	for _, note := range out.Notes {
		cmd.PrintErrln("note: " + note)
	}

	var refused error
	if flags.publish {
		// The guards compare with the time of publishing, not with that of the flags.
		publishing.Now = time.Now()
		_, refused = flags.dir().Publish(out.ID, publishing)
		out.Published = refused == nil
	}
	out.Seconds = time.Since(start).Seconds()
	err = show(cmd, flags.asJSON, out, out.print)
	if refused != nil {
		// What was built stays, and was said.
		return flags.refusal(refused, flags.publishing.config)
	}
	return err
}

// build builds the snapshot and writes it.
func (flags *buildFlags) build(cmd *cobra.Command, options loader.Options) (*built, error) {
	// A 7z archive is unpacked by a process of this program, which has bounds of its own.
	self, err := os.Executable()
	if err != nil {
		// A bare root file system has no /proc; the name that it was started by will do.
		self = os.Args[0]
	}
	options.Unpack = []string{self, "unpack"}

	// A misspelt folder is a new store: nobody serves what goes there.
	fresh := errors.Is(flags.dir().Exists(), snapshot.ErrNoStore)
	progress := term.NewProgress(cmd.ErrOrStderr(), flags.asJSON)
	defer progress.Stop()
	m, created, report, err := buildSnapshot(cmd.Context(), flags.dir(), options, progress)
	if err != nil {
		return nil, err
	}

	said := append(notes(options.Base, report), flags.missingDays(report, options.Base)...)
	if fresh {
		said = append(said, fmt.Sprintf("store %q is new", flags.folder))
	}
	return &built{
		ID: m.ID, Path: flags.dir().Path(m.ID), Counts: m.Counts, Existing: !created, Base: m.Base,
		SnapshotAt: m.SnapshotAt, Quarantine: m.Quarantine, QuarantineFile: flags.dir().QuarantinePath(m.ID),
		Report: *report, Notes: said,
	}, nil
}

// buildSnapshot builds a snapshot and writes it into a store, showing how far it is.
func buildSnapshot(ctx context.Context, store *snapshot.Dir, options loader.Options, p *term.Progress) (
	m *snapshot.Manifest, created bool, report *loader.Report, err error,
) {
	options.Progress = p.Update
	result, err := loader.Build(ctx, options)
	if err != nil {
		// Without a hint: this error is about an input, and the hints are about stores.
		return nil, false, nil, fail(exitFailure, "", err)
	}

	p.Update("writing the snapshot", 0, 0)
	written := snapshot.WriteOptions{Quarantine: result.Quarantine, QuarantineCounts: result.QuarantineCounts}
	if options.Base != nil {
		written.Base = options.Base.ID
	}
	m, created, err = store.Write(result.Catalog, written)
	return m, created, &result.Report, err
}

func (out *built) print(w *bufio.Writer) {
	const header = "GAME\tSETS\tCARDS\tPRICED\tCARD PRODUCTS\tSEALED\tLANES"
	term.Table(w, header, out.Report.Games, func(report loader.GameReport) []any {
		return []any{
			report.Slug, report.Sets, report.Cards, report.Priced, report.CardProducts, report.Sealed,
			report.Lanes,
		}
	})

	for _, report := range out.Report.Sources {
		fmt.Fprintf(w, "%s:%s: %d sets, %d cards", report.Input.Kind, report.Input.Path, report.Sets, report.Cards)
		if report.CardsJoined+report.CardsApart > 0 {
			fmt.Fprintf(w, "; %d joined, %d of them enriched, %d stayed apart", report.CardsJoined,
				report.CardsEnriched,
				report.CardsApart)
		}
		if report.CodeCardsLeftOut > 0 {
			fmt.Fprintf(w, "; %d code cards left out", report.CodeCardsLeftOut)
		}
		if report.PartnersShared > 0 {
			fmt.Fprintf(w, "; partner ids that an earlier item has: %d", report.PartnersShared)
		}
		if report.IdentifiersShared > 0 {
			fmt.Fprintf(w, "; identifiers that an earlier item has, which join nothing: %d, such as %s",
				report.IdentifiersShared, report.SharedExample)
		}
		fmt.Fprintln(w)
	}

	printCounts(w, "sealed products left out", out.Report.SealedLeftOut)
	if n := out.Report.SealedLeftOut["units_per_package"]; n > 0 {
		fmt.Fprintf(w, "%d of them need to be told how many units a package holds: ninepocket mapping suggest\n", n)
	}
	printCounts(w, "cards that are not products", out.Report.CardsUnverified)
	printQuarantine(w, out.Quarantine, out.QuarantineFile)

	n := out.Counts
	fmt.Fprintf(w, "%d cards, %d products, %d lanes, %d history points in %.1f s\n", n.Cards, n.Products,
		n.Lanes, n.HistoryPoints, out.Seconds)
	verb := "built"
	if out.Existing {
		verb = "already there:"
	}
	if out.Published {
		verb += " and published"
	}
	fmt.Fprintf(w, "%s %s\n", verb, out.ID)
}

// unpackCommand is how a build starts this program again to unpack a 7z archive.
func unpackCommand() *cobra.Command {
	return &cobra.Command{
		Use: "unpack", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return fail(exitFailure, "", source.ServeUnpacking(os.Stdin, cmd.OutOrStdout()))
		},
	}
}

func printCounts(w *bufio.Writer, what string, counts map[string]int) {
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(w, "%s, %s: %d\n", what, reason, counts[reason])
	}
}

// printQuarantine prints the counts by reason and where the lines are.
func printQuarantine(w *bufio.Writer, counts map[string]int, file string) {
	if len(counts) == 0 {
		fmt.Fprintln(w, "nothing was quarantined")
		return
	}
	printCounts(w, "quarantined", counts)
	fmt.Fprintf(w, "quarantine file: %s\n", file)
}
