package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/feed"
	"ninepocket/internal/settings"
	"ninepocket/internal/term"
	"ninepocket/loader"
	"ninepocket/operate"
	"ninepocket/snapshot"
)

// pullFlags are the flags of feed pull.
type pullFlags struct {
	feed.Options
	collectedAt string
}

func feedPull() *cobra.Command {
	var flags pullFlags
	cmd := &cobra.Command{
		Use:   "pull tcgcsv --into DIR",
		Short: "Download a feed as a whole, and archive its day",
		Long: "Downloads the feed if it is newer than the local copy; otherwise it ends with exit code 0. It\n" +
			"fetches the groups, products and prices of the games, one file after another at the interval, into a\n" +
			"new directory. This becomes DIR/current by one rename. Each day's prices stay in\n" +
			"DIR/days/YYYY-MM-DD.tar.zst, from which later builds fill gaps.\n\n" +
			"Failed requests are repeated, 429 and Retry-After are obeyed, and an interrupted pull resumes. A\n" +
			"single group that is not available is named and left out. Without a list of the groups, or with more\n" +
			"than one group and over 5 % of them missing, the pull fails (exit code 1) and DIR/current stays.\n\n" +
			"If the feed has no time, or a wrong one, the time of its newest file counts. A download without a\n" +
			"plausible time goes to DIR/aside (exit code 1); --collected-at takes it from there.",
		Example: "  ninepocket feed pull tcgcsv --into feed --user-agent 'Card shop (ops@example.com)'\n" +
			"  ninepocket snapshot build --store store --source tcgcsv:feed/current --base current --publish",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] != "tcgcsv" {
				return errors.New("cannot pull: name the feed, which is tcgcsv")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}

	f := cmd.Flags()
	f.StringVar(&flags.Into, "into", "", "`DIR` of the feed: current, days and unfinished downloads")
	f.StringSliceVar(&flags.Games, "games", nil, "only these `GAMES` (default: all that the feed has)")
	f.StringVar(&flags.URL, "url", feed.DefaultURL, "base `URL` of the feed")
	f.StringVar(&flags.Images, "images", "", "also fetch missing pictures into `DIR`, at an interval of their own")
	f.DurationVar(&flags.Interval, "interval", feed.DefaultInterval, "time between two requests")
	f.DurationVar(&flags.ImageInterval, "image-interval", feed.DefaultImageInterval,
		"time between two requests for pictures")
	f.StringVar(&flags.UserAgent, "user-agent", "", "`TEXT` that names you to the feed, with an address")
	f.StringVar(&flags.collectedAt, "collected-at", "", collectedAtHelp)
	f.IntVar(&flags.ArchiveDays, "keep-days", feed.DefaultArchiveDays, "archived days to keep; 0 keeps all")
	f.Bool("json", false, "print JSON")
	for _, key := range []string{
		"into", "games", "url", "images", "interval", "image_interval", "user_agent", "keep_days",
	} {
		configured(cmd, optional, "feed."+key)
	}
	return cmd
}

func (flags *pullFlags) run(cmd *cobra.Command) error {
	var wrong settings.Problems
	flags.CollectedAt = wrong.ParseTime("collected-at", flags.collectedAt, exampleTime)
	wrong.Add(flags.Validate())
	if err := wrong.Err(); err != nil {
		return fail(exitUsage, "", err)
	}

	progress := newProgress(cmd)
	pull := newPull(flags.Options, againWith(cmd, "feed", "pull", "tcgcsv"), func(text string) {
		progress.Stop()
		cmd.PrintErrln("note: " + text)
	}, progress)
	result, err := pull.Run(cmd.Context())
	progress.Stop()
	if err != nil {
		return pullFailure(err, pull)
	}
	return printResult(cmd, result, func(out *bufio.Writer) { printPull(out, result) })
}

// newPull returns a pull that reports warnings, even if stdout is JSON, and progress.
func newPull(pulling feed.Options, again string, onWarning func(string), progress *term.Progress) *operate.Pull {
	pulling.Now = time.Now
	pulling.OnWarning = onWarning
	pulling.Progress = progress.Update
	return &operate.Pull{Options: pulling, Agent: "ninepocket/" + version, Again: again}
}

// pullFailure gives the error of a pull its hint.
func pullFailure(err error, pull *operate.Pull) error {
	if _, ok := errors.AsType[*operate.PullError](err); !ok {
		return err
	}
	hint := ""
	// Errors of the network must not get hints for a disk.
	if _, ofFile := errors.AsType[*fs.PathError](err); ofFile {
		_, hint = findHint(err, nil, pull.Into)
	}

	switch {
	case hint != "":
		hint += "; then resume by: " + pull.Again
	case errors.Is(err, context.Canceled):
		hint = "to resume run: " + pull.Again
	case errors.Is(err, feed.ErrBusy):
		hint = "wait for the other pull"
	case errors.Is(err, feed.ErrUndated):
		at := time.Now().UTC().Format(time.RFC3339)
		hint = "if its prices are those of now, run: " + pull.Again + " --collected-at " + at
	default:
		hint = "finished downloads are reused: check the network and the feed's address, then run: " + pull.Again
	}
	return fail(exitFailure, hint, err)
}

func printPull(out *bufio.Writer, result *feed.Result) {
	if !result.New {
		fmt.Fprintf(out, "nothing is new: the feed is still of %s\n", result.Updated.Format(time.RFC3339))
	} else {
		fmt.Fprintf(out, "pulled %d groups of %s in %d requests, %d of them again; %d files were here from before\n",
			result.Groups, result.Updated.Format(time.RFC3339), result.Requests, result.Retries, result.Resumed)
	}

	if n := len(result.Removed); n > 0 {
		fmt.Fprintf(out, "%d days are no longer kept, %s to %s\n", n, result.Removed[0], result.Removed[n-1])
	}
	if result.Images+result.NoImages > 0 {
		fmt.Fprintf(out, "%d pictures fetched, %d still missing\n", result.Images, result.NoImages)
	}
}

// suggestFlags are the flags of mapping suggest.
type suggestFlags struct {
	loader.Options // run completes them
	sources        []string
	into, store    string
}

func mappingSuggest() *cobra.Command {
	var flags suggestFlags
	cmd := &cobra.Command{
		Use:   "suggest --source KIND:PATH… --into DIR",
		Short: "Propose mapping rows for review: packs per box, names of equal sets",
		Long: "Reads the catalogs and writes DIR/sealed.csv: a row for each sealed product with a known package\n" +
			"whose number of units is not in the feed, with the reason. The numbers are typical for the package:\n" +
			"review them, correct or delete rows, and build with --mapping DIR. With several sources,\n" +
			"DIR/aliases.csv gets a row for each two sets that share cards and were not matched. With --store,\n" +
			"aliases.csv also gets cards of the current snapshot that no source lists any more, if a new card has\n" +
			"their set, number and name. An existing file is not touched.",
		Example: "  ninepocket mapping suggest --source tcgcsv:feed/current --into mapping",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}

	f := cmd.Flags()
	f.StringArrayVar(&flags.sources, "source", nil, "catalog, `KIND:PATH`, as of a build")
	f.StringVar(&flags.Mapping, "mapping", "", "`DIR` of the present mapping: its rows are not proposed again")
	f.StringVar(&flags.store, "store", "", "snapshot store `DIR`: cards of its current snapshot are compared")
	f.StringVar(&flags.into, "into", "", "`DIR` that sealed.csv and aliases.csv are written into")
	f.Bool("json", false, "print JSON")
	require(cmd, "source", "into")
	return cmd
}

// suggestResult is the output of mapping suggest.
type suggestResult struct {
	File      string         `json:"file"` // "" if there is nothing to propose
	Rows      int            `json:"rows"`
	Open      int            `json:"open"`       // rows without a number
	AliasFile string         `json:"alias_file"` // likewise
	Aliases   int            `json:"aliases"`
	Unknown   map[string]int `json:"unknown"`
	Apart     int            `json:"sets_apart"` // sets of later sources without a proposal
}

func (flags *suggestFlags) run(cmd *cobra.Command) error {
	var wrong settings.Problems
	flags.Sources = wrong.ParseInputs(flags.sources)
	wrong.Add(settings.CheckFolder("store", flags.store))
	if err := wrong.Err(); err != nil {
		return fail(exitUsage, "", err)
	}

	sealed := filepath.Join(flags.into, "sealed.csv")
	aliases := filepath.Join(flags.into, "aliases.csv")
	// Checked before minutes of reading: existing files may have been reviewed.
	for _, name := range []string{sealed, aliases} {
		if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			return fail(exitFailure, "move it away, or give another --into and what is there as --mapping",
				fmt.Errorf("cannot write %q: it is there", name))
		}
	}

	progress := newProgress(cmd)
	flags.Progress = progress.Update
	if flags.store != "" {
		store := snapshot.OpenStore(flags.store)
		cur, err := store.Current()
		if err == nil {
			flags.Base, err = store.Load(cmd.Context(), cur.ID, nil)
		}
		if err != nil {
			return fail(exitFailure, "", fmt.Errorf("cannot compare with store %q: %w", flags.store, err))
		}
	}
	found, err := loader.Suggest(cmd.Context(), flags.Options)
	progress.Stop()
	if err != nil {
		return fail(exitFailure, "", err)
	}

	result := suggestResult{
		Rows: len(found.Rows), Open: found.Open, Aliases: len(found.Aliases), Unknown: found.Unknown,
		Apart: found.Unmatched,
	}
	if result.Rows > 0 {
		result.File = sealed
		err = writeProposal(sealed, found.Write)
	}
	if err == nil && result.Aliases > 0 {
		result.AliasFile = aliases
		err = writeProposal(aliases, found.WriteAliases)
	}
	if err != nil {
		return fail(exitFailure, "", err)
	}
	return printResult(cmd, result, result.print)
}

// writeProposal writes a file of a mapping.
func writeProposal(name string, content func(io.Writer) error) error {
	var text bytes.Buffer
	err := errors.Join(content(&text), os.MkdirAll(filepath.Dir(name), 0o755)) //nolint:gosec // public knowledge
	if err == nil {
		err = os.WriteFile(name, text.Bytes(), 0o644) //nolint:gosec // as above
	}
	if err != nil {
		return fmt.Errorf("cannot write %q: %w", name, err)
	}
	return nil
}

func (result *suggestResult) print(out *bufio.Writer) {
	if result.File+result.AliasFile == "" {
		fmt.Fprintln(out, "nothing to propose")
	}
	if result.File != "" {
		fmt.Fprintf(out, "%d rows proposed in %s: review each reason, then build with --mapping %s\n", result.Rows,
			result.File, filepath.Dir(result.File))
		if result.Open > 0 {
			fmt.Fprintf(out, "%d of them have no number: fill it in, or the product stays out\n", result.Open)
		}
	}

	if result.AliasFile != "" {
		fmt.Fprintf(out, "%d sets or cards are proposed to be the same as others in %s: an alias joins them "+
			"for good, so look at each\n", result.Aliases, result.AliasFile)
	}

	printCounts(out, "still unknown", result.Unknown)
	if result.Apart > 0 {
		fmt.Fprintf(out, "sets of later sources that are like none of an earlier one: %d\n", result.Apart)
	}
}
