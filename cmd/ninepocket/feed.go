package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/feed"
	"ninepocket/internal/settings"
	"ninepocket/internal/term"
	"ninepocket/operate"
)

// pullFlags are the flags of feed pull.
type pullFlags struct {
	feed.Options
	config, collectedAt string
	asJSON              bool
}

func feedPull() *cobra.Command {
	var flags pullFlags
	cmd := &cobra.Command{
		Use:   "pull tcgcsv --into DIR",
		Short: "Fetch a feed's newest tree, whole or not at all, and keep its day",
		Long: "Asks the feed when it was built, and does nothing when that tree is here (exit code 0). " +
			"Otherwise it fetches the\n" +
			"groups, products and prices of the games, one file after another at the interval, into a new directory\n" +
			"that becomes DIR/current by one rename. Each day's prices stay in DIR/days/YYYY-MM-DD.tar.zst, from " +
			"which\n" +
			"later builds fill gaps.\n\n" +
			"What fails is tried again, 429 and Retry-After are obeyed, and a pull that was ended goes on where it " +
			"was. A\n" +
			"single group that cannot be had is named and left out. Without a listing of the groups, or with more " +
			"than one\n" +
			"group and over 5 % of them missing, the pull fails (exit code 1) and DIR/current stays.\n\n" +
			"When the feed says no time, or a wrong one, the tree is of the time of its newest file. One that no\n" +
			"file dates goes to DIR/aside (exit code 1); --collected-at takes it from there.",
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
	f.StringVar(&flags.Into, "into", "", "`DIR` of the feed: current, days and what a pull is about to fetch")
	f.StringSliceVar(&flags.Games, "games", nil, "only these `GAMES` (default: all that the feed has)")
	f.StringVar(&flags.URL, "url", feed.DefaultURL, "base `URL` of the feed")
	f.StringVar(&flags.Images, "images", "", "also fetch missing pictures into `DIR`, at an interval of their own")
	f.DurationVar(&flags.Interval, "interval", feed.DefaultInterval, "time between two requests")
	f.DurationVar(&flags.ImageInterval, "image-interval", feed.DefaultImageInterval,
		"time between two requests for pictures")
	f.StringVar(&flags.UserAgent, "user-agent", "", "`TEXT` that names you to the feed, with an address")
	f.StringVar(&flags.collectedAt, "collected-at", "", collectedAtHelp)
	f.IntVar(&flags.ArchiveDays, "keep-days", feed.DefaultArchiveDays, "day files that stay; 0 keeps all")
	f.StringVar(&flags.config, "config", "",
		"TOML configuration `FILE` whose table [feed] stands for flags that are not given\n"+
			"(default: $NINEPOCKET_CONFIG)")
	f.BoolVar(&flags.asJSON, "json", false, "print JSON")
	return cmd
}

// merged returns the options of the flags, and of the configuration for flags that are not given.
func (flags *pullFlags) merged(cmd *cobra.Command) (feed.Options, error) {
	layered, err := settings.ReadWithEnv(flags.config)
	if err != nil {
		return feed.Options{}, err
	}
	pulling, err := layered.Pulling()
	if err != nil {
		return pulling, fmt.Errorf("cannot use [feed]: %w", err)
	}

	// The default of a flag must not win over the file.
	given := flags.Options
	for name, take := range map[string]func(){
		"into": func() { pulling.Into = given.Into }, "url": func() { pulling.URL = given.URL },
		"games": func() { pulling.Games = given.Games }, "images": func() { pulling.Images = given.Images },
		"interval":       func() { pulling.Interval = given.Interval },
		"image-interval": func() { pulling.ImageInterval = given.ImageInterval },
		"user-agent":     func() { pulling.UserAgent = given.UserAgent },
		"keep-days":      func() { pulling.ArchiveDays = given.ArchiveDays },
	} {
		if cmd.Flags().Changed(name) {
			take()
		}
	}
	var wrong settings.Problems
	pulling.CollectedAt = wrong.ParseTime("collected-at", flags.collectedAt, exampleTime)
	return pulling, wrong.Err()
}

func (flags *pullFlags) run(cmd *cobra.Command) error {
	pulling, err := flags.merged(cmd)
	if err == nil {
		err = pulling.Validate()
	}
	if err != nil {
		return fail(exitUsage, "", err)
	}

	progress := term.NewProgress(cmd.ErrOrStderr(), flags.asJSON)
	pull := newPull(pulling, againWith(cmd, "feed", "pull", "tcgcsv"), func(text string) {
		progress.Stop()
		cmd.PrintErrln("note: " + text)
	}, progress)
	result, err := pull.Run(cmd.Context())
	progress.Stop()
	if err != nil {
		return pullFailure(err, pull)
	}
	return printResult(cmd, flags.asJSON, result, func(out *bufio.Writer) { printPull(out, result) })
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
		hint += "; then go on by: " + pull.Again
	case errors.Is(err, context.Canceled):
		hint = "to go on where it was run: " + pull.Again
	case errors.Is(err, feed.ErrBusy):
		hint = "wait for the other one"
	case errors.Is(err, feed.ErrUndated):
		at := time.Now().UTC().Format(time.RFC3339)
		hint = "if its prices are those of now, run: " + pull.Again + " --collected-at " + at
	default:
		hint = "the current tree is as it was, and what was fetched is kept; later run: " + pull.Again
	}
	return fail(exitFailure, hint, err)
}

func printPull(out *bufio.Writer, result *feed.Result) {
	if !result.New {
		fmt.Fprintf(out, "nothing is new: the feed is still of %s\n", result.Updated.Format(time.RFC3339))
	} else {
		fmt.Fprintf(out, "pulled %d groups of %s in %d requests, %d of them again; %d files were here from before\n",
			result.Groups, result.Updated.Format(time.RFC3339), result.Requests, result.Retries, result.Resumed)
		fmt.Fprintf(out, "tree     %s\nday      %s\n", result.Tree, result.DayFile)
	}

	if n := len(result.Removed); n > 0 {
		fmt.Fprintf(out, "%d days are no longer kept, %s to %s\n", n, result.Removed[0], result.Removed[n-1])
	}
	if result.Images+result.NoImages > 0 {
		fmt.Fprintf(out, "%d pictures fetched, %d still missing\n", result.Images, result.NoImages)
	}
}
