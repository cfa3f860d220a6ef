package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/internal/disk"
	"ninepocket/internal/settings"
	"ninepocket/loader"
	"ninepocket/loader/source"
	"ninepocket/node"
	"ninepocket/operate"
	"ninepocket/snapshot"
)

// daily is the command daily with its flags and settings.
type daily struct {
	config, store string
	collectedAt   string
	noPull, dry   bool
	cmd           *cobra.Command
	settings      settings.Merged
}

func dailyCommand() *cobra.Command {
	var d daily
	cmd := &cobra.Command{
		Use: "daily --config FILE", Args: cobra.NoArgs,
		Short: "Do the day's work: pull, build, compare, publish, clean up",
		Long: "Downloads the feed, builds a snapshot on the current one, fills missing days from the archive, shows\n" +
			"the changes, publishes, and removes old snapshots. One configuration holds for all steps: store,\n" +
			"[feed], [daily] and [guards]; 'ninepocket config init' writes it with every key. A repeated run does\n" +
			"no step twice, and two runs never work at once.\n\n" +
			"Exit codes: 0 means published, or nothing is new. 1 means that the pull or the build failed; an\n" +
			"older feed directory may still have been published. 2 is a mistake in the configuration. 3 means\n" +
			"that a guard refused the snapshot, and the current snapshot stays.",
		Example: "  ninepocket daily --config /etc/ninepocket/ninepocket.toml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			d.cmd = cmd
			err := d.run()
			return withHint(err, storeHints, d.store)
		},
	}

	f := cmd.Flags()
	f.StringVar(&d.config, "config", "", "TOML configuration `FILE` (default: $NINEPOCKET_CONFIG)")
	f.StringVar(&d.store, "store", "", "snapshot store `DIR` (default: store of the configuration)")
	f.StringVar(&d.collectedAt, "collected-at", "", collectedAtHelp)
	f.BoolVar(&d.noPull, "no-pull", false, "build from the local feed directory")
	f.BoolVar(&d.dry, "dry-run", false, dryRunHelp)
	f.Bool("json", false, "print JSON")
	configured(cmd, optional, "store")
	return cmd
}

// dryRunHelp is the help of --dry-run.
const dryRunHelp = "show what it would do, and change nothing"

// dryRun gives a command copies of folders to work on. Its output names the original folders. end
// removes the copies, and prints what was printed.
func dryRun(cmd *cobra.Command, folders ...*string) (end func(), err error) {
	cmd.PrintErrln("note: a dry run: nothing is changed")
	temp, err := os.MkdirTemp("", "ninepocket-dry-run-")
	if err != nil {
		return nil, err
	}
	var names []string
	for i, folder := range folders {
		// A feed may not be configured.
		if *folder == "" {
			continue
		}
		given := *folder
		*folder = filepath.Join(temp, strconv.Itoa(i))
		names = append(names, *folder, given)
		err = errors.Join(err, operate.Shadow(given, *folder))
	}

	// Output is held back as a whole: a name may lie across two writes.
	rename := strings.NewReplacer(names...)
	var printed bytes.Buffer
	stdout := cmd.OutOrStdout()
	cmd.SetOut(&printed)
	cmd.SetErr(renamed{cmd.ErrOrStderr(), rename})
	return func() {
		_, _ = rename.WriteString(stdout, printed.String())
		_ = os.RemoveAll(temp)
	}, err
}

// renamed is a writer that replaces texts.
type renamed struct {
	io.Writer
	by *strings.Replacer
}

func (r renamed) Write(p []byte) (int, error) {
	_, err := r.by.WriteString(r.Writer, string(p))
	return len(p), err
}

// read reads the configuration.
func (d *daily) read() error {
	d.config = settings.File(d.config)
	var err error
	d.settings, err = settings.ReadWithEnv(d.config)
	err = errors.Join(err, d.settings.CheckDaily(), d.settings.GuardLimits().Validate())
	if err != nil {
		return fail(exitUsage, "run: ninepocket config check --config "+d.config, err)
	}

	var wrong settings.Problems
	wrong.AddIf(d.store == "", "cannot do the day's work: the store is not given")
	pulled := d.settings.Feed.Into != ""
	wrong.AddIf(!pulled && slices.Contains(d.settings.Daily.Sources, settings.PulledFeed),
		"cannot do the day's work: daily.sources names the feed, and feed.into is not given")
	wrong.AddIf(len(d.settings.Daily.Sources) == 0, "cannot do the day's work: daily.sources is empty")
	return fail(exitUsage, "set store and feed.into in the configuration, or NINEPOCKET_STORE and "+
		"NINEPOCKET_FEED__INTO", wrong.Err())
}

func (d *daily) run() error {
	if err := d.read(); err != nil {
		return err
	}
	if d.dry {
		// Pictures are not fetched: the result without them is equal.
		d.settings.Feed.Images = ""
		end, err := dryRun(d.cmd, &d.store, &d.settings.Feed.Into)
		if err != nil {
			return err
		}
		defer end()
	}
	unlock, err := d.lock()
	if err != nil {
		return err
	}
	defer unlock()

	work, stop, err := d.work()
	if err != nil {
		return err
	}
	node.LimitBuild()
	report, err := work.Run(d.cmd.Context())
	stop()
	if report != nil {
		shown := printResult(d.cmd, report, func(out *bufio.Writer) { printDay(out, report) })
		if shown != nil {
			return shown
		}
	}
	return d.withDayHint(err, work)
}

// lock excludes a second run on the store.
func (d *daily) lock() (unlock func(), err error) {
	var dirLock *disk.Lock
	err = disk.MkdirAll(disk.OS, d.store, 0o755)
	if err == nil {
		dirLock, err = disk.TakeLock(filepath.Join(d.store, "DAILY.LOCK"), 0o644, 0)
	}
	switch {
	case errors.Is(err, disk.ErrLocked):
		return nil, fail(exitFailure, "wait for the other one",
			fmt.Errorf("cannot do the day's work on store %q: another run does it", d.store))
	case err != nil:
		return nil, fmt.Errorf("cannot do the day's work on store %q: %w", d.store, err)
	}
	return func() { _ = dirLock.Unlock() }, nil
}

// work returns the day's work by the configuration; stop ends the progress line.
func (d *daily) work() (work *operate.Day, stop func(), err error) {
	progress := newProgress(d.cmd)
	warn := func(text string) {
		progress.Stop()
		d.cmd.PrintErrln("note: " + text)
	}
	layered := &d.settings
	work = &operate.Day{
		Tree: operate.Tree(layered.Feed.Into), OnWarning: warn,
		Build: operate.Build{Store: d.store, Options: loader.Options{
			Mapping: layered.Daily.Mapping, Images: cmp.Or(layered.Images, layered.Feed.Images),
			IncludeUnmatched: layered.Daily.IncludeUnmatched,
			Names:            layered.Daily.Names, Languages: layered.Daily.Languages,
			Guards: layered.GuardLimits(), Unpack: unpackArgs(), Progress: progress.Update,
		}},
		Terms: operate.Terms{
			Store: d.store, Guards: layered.GuardLimits(), ProductPrefix: layered.ProductPrefix,
			RetainCount: layered.Daily.RetainSnapshots, By: currentUser(), Now: time.Now, OnWarning: warn,
			Override: func(refused *snapshot.RefusedError) string {
				return overrideCommand(refused, d.store, d.config)
			},
		},
	}
	b := &work.Build
	b.Again = func() string { return againCommand(b, true, d.config) }
	// A missing folder of images does not stop the day.
	if _, err := os.Stat(b.Images); err != nil {
		b.Images = ""
	}

	var wrong settings.Problems
	sources := slices.Clone(layered.Daily.Sources)
	for i, given := range sources {
		if given == settings.PulledFeed {
			sources[i] = source.KindTCGCSV + ":" + work.Tree
		}
	}
	b.CollectedAt = wrong.ParseTime("collected-at", d.collectedAt, exampleTime)
	b.Sources = wrong.ParseInputs(sources)
	b.Prices = wrong.ParseInputs(layered.Daily.Prices)
	wrong.Add(loader.CheckNames(b.Names, b.Languages))
	if !d.noPull && layered.Feed.Into != "" {
		pulling, err := layered.Pulling()
		wrong.Add(err)
		pulling.CollectedAt = b.CollectedAt
		work.Pull = newPull(pulling, againWith(d.cmd, "daily"), warn, progress)
	}
	return work, progress.Stop, fail(exitUsage, "", wrong.Err())
}

// withDayHint gives the error of a day its exit code and hint.
func (d *daily) withDayHint(err error, work *operate.Day) error {
	if work.Pull != nil {
		err = pullFailure(err, work.Pull)
	}
	// The snapshot of a dry run is gone with its store.
	if _, refused := errors.AsType[*snapshot.RefusedError](err); d.dry && refused {
		return fail(exitRefused, "to build it, and to have the command that publishes it, run: "+
			againWith(d.cmd, "daily"), err)
	}
	if rolledBack, ok := errors.AsType[*operate.RolledBackError](err); ok {
		return fail(exitRefused, "the next day of the feed goes on the air by itself; to publish this one after all "+
			"run: "+publishCommand(rolledBack.ID, d.store, d.config), err)
	}
	return refusal(err, d.store, d.config)
}

// maxShown is how many changes the day shows: all that it prints is to be on one screen.
const maxShown = 3

func printDay(out *bufio.Writer, report *operate.Report) {
	if report.Pulled != nil {
		printPull(out, report.Pulled)
	}
	if report.Diff != nil {
		rows := report.Diff.Rows()
		printDiff(out, report.Diff, rows[:min(len(rows), maxShown)], "ninepocket snapshot diff --limit 0")
	}

	id := report.Built.ID
	switch {
	case !report.New:
		fmt.Fprintf(out, "nothing is new: %s is already served\n", id)
	case report.Withdrawn:
		fmt.Fprintf(out, "%s was built and is not published: the day was rolled back; what was served still is\n", id)
	case report.Published:
		n := report.Built.Counts
		fmt.Fprintf(out, "published %s: %d cards, %d products, %d lanes, %d history points\n", id, n.Cards, n.Products,
			n.Lanes, n.HistoryPoints)
	default:
		var names []string
		for _, verdict := range report.Guards {
			if verdict.Status == snapshot.Refused {
				names = append(names, verdict.Name)
			}
		}
		fmt.Fprintf(out, "%s was built and refused by %s; what was served still is\n", id, strings.Join(names, ", "))
	}
}
