package main

import (
	"bufio"
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
	"ninepocket/node"
	"ninepocket/operate"
)

const (
	collectedAtHelp = "`TIME` when a live tree was fetched, for a tree that does not say it itself"
	exampleTime     = "2026-08-22T20:00:00Z"
)

// buildFlags are the flags of snapshot build.
type buildFlags struct {
	storeFlags
	build                         operate.Build // read completes it
	publishing                    publishFlags
	sources, prices               []string
	snapshotAt, collectedAt, days string
	publish                       bool
}

func snapshotBuild() *cobra.Command {
	var flags buildFlags
	cmd := &cobra.Command{
		Use:   "build --source KIND:PATH…",
		Short: "Build a snapshot from catalogs and price feeds",
		Long: "Reads catalogs and prices, builds one snapshot and stores it. KIND is one of\n" +
			strings.Join(source.KindNames(), ", ") + ".\n" +
			"PATH is a directory or an archive (.tar, .tar.zst, .tar.gz, .tgz, .7z), for --prices also a wide CSV\n" +
			"file of price history. Refused rows go to the snapshot's quarantine file, with the reason.",
		Example: "  ninepocket snapshot build --store store --source tcgcsv:tcgplayer --prices " +
			"tcgcsv:history.csv.zst --publish\n" +
			"  ninepocket snapshot build --store store --source tcgcsv:today --base current --publish",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}

	f := cmd.Flags()
	b := &flags.build
	f.StringArrayVar(&flags.sources, "source", nil,
		"catalog with or without prices, `KIND:PATH`; the first one owns the ids")
	f.StringArrayVar(&flags.prices, "prices", nil, "prices alone, `KIND:PATH`")
	f.StringVar(&b.On, "base", "none",
		"snapshot to continue, with history and ids: an `ID`, latest (built), current or previous (published), or none")
	f.StringVar(&flags.snapshotAt, "snapshot-at", "",
		"`TIME` that the snapshot describes (default: the newest collected_at)")
	f.StringVar(&flags.collectedAt, "collected-at", "", collectedAtHelp)
	f.StringVar(&b.Mapping, "mapping", "",
		"`DIR` with sealed.csv, aliases.csv, removed.csv, feeds.toml and search_aliases.csv")
	f.StringVar(&b.Names, "names", "",
		"`FILE.tsv` of names in other languages: a column number of card numbers, and one for each language's code")
	f.StringSliceVar(&b.Languages, "languages", nil,
		"read names in these languages, such as de,fr,ja (default: all languages of the names)")
	f.StringVar(&b.Images, "images", "",
		"`DIR` with card images, as serve has it: a card's image is the file that is there, such as 42382.jpg")
	f.StringVar(&flags.days, "days", "",
		"`DIR` of archived days, which fill days that the base lacks; none for no filling\n"+
			"(default: the folder days next to a tcgcsv source, where feed pull writes them)")
	f.BoolVar(&b.RereadDays, "reread-days", false,
		"read all archived days again, also those of the base: once after an upgrade, or when files were replaced")
	f.BoolVar(&b.IncludeUnmatched, "keep-unmatched", false, "keep cards of later sources that no earlier one has")
	f.BoolVar(&flags.publish, "publish", false, "publish the snapshot once it is built")
	flags.publishing.add(cmd)
	return flags.add(cmd)
}

// read reads the flags. The error names every problem.
func (flags *buildFlags) read() error {
	b := &flags.build
	b.Store = flags.folder
	b.Unpack = unpackArgs()
	b.Again = func() string { return againCommand(b, flags.publish, flags.publishing.config) }

	var wrong settings.Problems
	b.Sources = wrong.ParseInputs(flags.sources)
	b.Prices = wrong.ParseInputs(flags.prices)
	wrong.AddIf(len(flags.sources) == 0, "cannot build without a --source")
	var err error
	b.ArchivedDays, err = operate.ArchivedDays(flags.days, b.Sources)
	wrong.Add(err)
	wrong.Add(loader.CheckNames(b.Names, b.Languages))
	b.SnapshotAt = wrong.ParseTime("snapshot-at", flags.snapshotAt, exampleTime)
	b.CollectedAt = wrong.ParseTime("collected-at", flags.collectedAt, exampleTime)

	// Flags that cannot work are refused before hours of building.
	wrong.AddIf(!flags.publish && len(flags.publishing.overrides) > 0, "cannot use --override without --publish")
	return fail(exitUsage, "", wrong.Err())
}

// unpackArgs is the command that unpacks 7z archives: this program, in a process with its own
// limits.
func unpackArgs() []string {
	self, err := os.Executable()
	if err != nil {
		// A bare root file system has no /proc: the name of the command must do.
		self = os.Args[0]
	}
	return []string{self, "unpack"}
}

func (flags *buildFlags) run(cmd *cobra.Command) error {
	start := time.Now()
	if err := flags.read(); err != nil {
		return err
	}
	terms, err := flags.publishing.terms(flags.folder)
	if err != nil {
		return err
	}

	node.LimitBuild()
	b := &flags.build
	b.Guards = terms.BuildLimits()
	progress := newProgress(cmd)
	b.Progress = progress.Update
	out, err := b.Run(cmd.Context())
	progress.Stop()
	if err != nil {
		return err
	}
	// Notes go to stderr even if the output is JSON for a script.
	for _, warning := range out.Warnings {
		cmd.PrintErrln("note: " + warning)
	}

	var refused error
	if flags.publish {
		_, refused = terms.Publish(out.ID)
		out.Published = refused == nil
	}
	out.Seconds = time.Since(start).Seconds()
	err = printResult(cmd, out, func(w *bufio.Writer) { printBuilt(w, out) })
	if refused != nil {
		// The snapshot stays, and is printed already.
		return refusal(refused, flags.folder, flags.publishing.config)
	}
	return err
}

// againCommand returns the command that builds the same.
func againCommand(b *operate.Build, publish bool, config string) string {
	words := []string{"ninepocket", "snapshot", "build", "--store", b.Store, "--base", b.On}
	for _, in := range b.Sources {
		words = append(words, "--source", in.String())
	}
	for _, in := range b.Prices {
		words = append(words, "--prices", in.String())
	}

	// Arguments that were not given are left out.
	for _, given := range [][]string{
		{"--mapping", b.Mapping}, {"--names", b.Names}, {"--languages", strings.Join(b.Languages, ",")},
	} {
		if given[1] != "" {
			words = append(words, given...)
		}
	}
	if b.IncludeUnmatched {
		words = append(words, "--keep-unmatched")
	}
	if publish {
		words = append(words, "--publish")
	}
	if publish && config != "" {
		words = append(words, "--config", config)
	}
	return shellWords(words)
}

func printBuilt(w *bufio.Writer, out *operate.Built) {
	const header = "GAME\tSETS\tCARDS\tPRICED\tCARD PRODUCTS\tSEALED\tLANES"
	term.Table(w, header, out.Report.Games, func(report loader.GameReport) []any {
		return []any{
			report.Slug, report.Sets, report.Cards, report.Priced, report.CardProducts, report.Sealed,
			report.Lanes,
		}
	})

	for _, report := range out.Report.Sources {
		fmt.Fprintf(w, "%s:%s: %d sets, %d cards", report.Input.Kind, report.Input.Path, report.Sets, report.Cards)
		if report.CardsJoined+report.CardsUnmatched > 0 {
			fmt.Fprintf(w, "; %d joined, %d of them enriched, %d stayed apart", report.CardsJoined,
				report.CardsEnriched, report.CardsUnmatched)
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
	// Of all missing data, an operator can look up this.
	if n := out.Report.SealedLeftOut["units_per_package"]; n > 0 {
		fmt.Fprintf(w, "%d of them lack packs per box: fill in units in sealed.csv, see mapping suggest\n", n)
	}
	printCounts(w, "cards that are not products", out.Report.CardsUnverified)
	printQuarantine(w, out.Quarantine, out.QuarantineFile)

	n := out.Counts
	fmt.Fprintf(w, "%d cards, %d products, %d lanes, %d history points in %.1f s\n", n.Cards, n.Products,
		n.Lanes, n.HistoryPoints, out.Seconds)
	verb := "built"
	switch {
	case out.Published && out.Existing:
		verb = "already there and now published:"
	case out.Published:
		verb = "built and published"
	case out.Existing:
		verb = "already there:"
	}
	fmt.Fprintf(w, "%s %s\n", verb, out.ID)
}

// unpackCommand is the hidden command that unpacks a 7z archive for a build.
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

// printQuarantine prints the counts by reason, and the file with the lines.
func printQuarantine(w *bufio.Writer, counts map[string]int, file string) {
	if len(counts) == 0 {
		fmt.Fprintln(w, "nothing was quarantined")
		return
	}
	printCounts(w, "quarantined", counts)
	fmt.Fprintf(w, "quarantine file: %s\n", file)
}
