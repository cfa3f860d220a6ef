package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/feed"
	"ninepocket/internal/disk"
	"ninepocket/loader"
	"ninepocket/loader/source"
	"ninepocket/snapshot"
	"ninepocket/snapshot/diff"
)

// pulledFeed is how the sources of daily name the tree that was pulled.
const pulledFeed = "feed"

// checkDaily returns every problem of the tables for pulling and building.
func (c *config) checkDaily() error {
	var wrong problems
	if c.Feed.Into != "" {
		o, err := c.pulling()
		if err == nil {
			err = o.Validate()
		}
		wrong.when(err != nil, "cannot use [feed]: %w", err)
	}

	for _, given := range slices.Concat(c.Daily.Sources, c.Daily.Prices) {
		if given == pulledFeed {
			continue
		}
		_, err := loader.ParseInput(given)
		wrong.when(err != nil, "cannot use [daily]: %w", err)
	}
	wrong.when(c.Daily.Keep < 0, "cannot use daily.keep %d: want 0 or more", c.Daily.Keep)
	return wrong.err()
}

// pulling are the options of a pull as configured.
func (c *config) pulling() (o feed.Options, err error) {
	var wrong problems
	duration := func(key, text string) time.Duration {
		d, err := time.ParseDuration(text)
		wrong.when(err != nil, "%s %q is no time such as 100ms", key, text)
		return d
	}
	o = feed.Options{
		Into: c.Feed.Into, URL: c.Feed.URL, Games: c.Feed.Games, UserAgent: c.Feed.UserAgent, KeepDays: c.Feed.KeepDays,
		Images: c.Feed.Images, Interval: duration("interval", c.Feed.Interval),
		ImageInterval: duration("image_interval", c.Feed.ImageInterval),
	}
	return o, wrong.err()
}

// dailyFlags are the flags of daily.
type dailyFlags struct {
	config, store  string
	noPull, asJSON bool
}

// daily is a day's work.
type daily struct {
	dailyFlags
	cmd   *cobra.Command
	c     layered
	build buildFlags
	told  dailyRow
}

// dailyRow is what daily prints.
type dailyRow struct {
	Pulled *feed.Result `json:"pulled"` // null without a pull
	Built  *built       `json:"built"`
	// New is false when what was built is current already.
	New       bool               `json:"new"`
	Diff      *diff.Diff         `json:"diff"`
	Published bool               `json:"published"`
	Guards    []snapshot.Verdict `json:"guards,omitempty"`
	// Withdrawn says that this day was published before, and that somebody rolled it back.
	Withdrawn bool `json:"withdrawn,omitempty"`
}

func dailyCommand() *cobra.Command {
	var flags dailyFlags
	cmd := &cobra.Command{
		Use: "daily --config FILE", Args: cobra.NoArgs,
		Short: "Do the day's work: pull, build, compare, publish, clean up",
		Long: "Pulls the feed, builds on the current snapshot, fills the days that it lacks from the kept day files, " +
			"shows\n" +
			"what changed, publishes, and removes old snapshots. One configuration holds for all steps: store,\n" +
			"[feed], [daily] and [guards]; 'ninepocket config init' writes it with every key. Running it again\n" +
			"does nothing twice, and two runs never work at once.\n\n" +
			"Exit codes: 0 published, or nothing is new; 1 the pull or the build failed (what could be built is " +
			"published\n" +
			"all the same); 2 a mistake in the configuration; 3 built and refused, and what was served still is.",
		Example: "  ninepocket daily --config /etc/ninepocket/ninepocket.toml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			work := &daily{dailyFlags: flags, cmd: cmd}
			err := work.run()
			return asFailure(err, storeRemedies, work.store)
		},
	}

	f := cmd.Flags()
	f.StringVar(&flags.config, "config", "", "TOML configuration `FILE` (default: $NINEPOCKET_CONFIG)")
	f.StringVar(&flags.store, "store", "", "snapshot store `DIR` (default: store of the configuration)")
	f.BoolVar(&flags.noPull, "no-pull", false, "build from the tree that is here")
	f.BoolVar(&flags.asJSON, "json", false, "print JSON")
	return cmd
}

// read takes over the configuration.
func (d *daily) read() error {
	d.config = cmp.Or(d.config, os.Getenv(envPrefix+"CONFIG"))
	var err error
	d.c, err = readConfig(d.config, os.Environ(), func(string) {})
	err = errors.Join(err, d.c.checkDaily(), d.c.guards().Validate())
	if err != nil {
		return fail(exitUsage, "run: ninepocket config check --config "+d.config, err)
	}

	d.store = cmp.Or(d.store, d.c.Store)
	var wrong problems
	wrong.when(d.store == "", "cannot do the day's work: the store is not given")
	pulled := d.c.Feed.Into != ""
	wrong.when(!pulled && slices.Contains(d.c.Daily.Sources, pulledFeed),
		"cannot do the day's work: daily.sources names the feed, and feed.into is not given")
	wrong.when(len(d.c.Daily.Sources) == 0, "cannot do the day's work: daily.sources is empty")
	wrong.add(checkFolder("store", d.store))
	return fail(exitUsage, "set store and feed.into in the configuration, or NINEPOCKET_STORE and "+
		"NINEPOCKET_FEED__INTO", wrong.err())
}

func (d *daily) run() error {
	if err := d.read(); err != nil {
		return err
	}
	unlock, err := d.lock()
	if err != nil {
		return err
	}
	defer unlock()

	// A tree that an earlier run left unpublished goes live although the feed cannot be had today.
	pullErr := d.pull()
	if pullErr != nil && !d.hasTree() {
		return pullErr
	}
	if pullErr != nil {
		d.cmd.PrintErrf("note: the pull failed, and the day goes on with what is here: %v\n", pullErr)
	}
	if err := d.publish(); err != nil {
		return err
	}
	if err := show(d.cmd, d.asJSON, &d.told, d.told.print); err != nil {
		return err
	}
	return pullErr
}

// lock keeps a second run out of the store.
func (d *daily) lock() (unlock func(), err error) {
	defer func() {
		if _, known := errors.AsType[*failure](err); err != nil && !known {
			err = fmt.Errorf("cannot do the day's work on store %q: %w", d.store, err)
		}
	}()

	if err := disk.MkdirAll(disk.OS, d.store, 0o755); err != nil {
		return nil, err
	}
	held, err := disk.TakeLock(filepath.Join(d.store, "DAILY.LOCK"), 0o644, 0)
	if errors.Is(err, disk.ErrLocked) {
		err = fail(exitFailure, "wait for the other one",
			fmt.Errorf("cannot do the day's work on store %q: another run does it", d.store))
	}
	if err != nil {
		return nil, err
	}
	return func() { _ = held.Unlock() }, nil
}

func (d *daily) pull() (err error) {
	if d.noPull || d.c.Feed.Into == "" {
		return nil
	}
	o, err := d.c.pulling()
	if err == nil {
		d.told.Pulled, err = pullFeed(d.cmd, o, d.config, d.asJSON)
	}
	return err
}

// tree is where the feed's tree is.
func (d *daily) tree() string { return filepath.Join(d.c.Feed.Into, "current") }

// hasTree reports whether there is something to build from without a pull.
func (d *daily) hasTree() bool {
	_, err := os.Stat(d.tree())
	return err == nil && d.cmd.Context().Err() == nil
}

// inputs spells the sources as the build takes them.
func (d *daily) inputs() []string {
	list := slices.Clone(d.c.Daily.Sources)
	for i, given := range list {
		if given == pulledFeed {
			list[i] = source.KindTCGCSV + ":" + d.tree()
		}
	}
	return list
}

// images is the folder of card images: that of the server, else where pictures are pulled to.
func (d *daily) images() string {
	folder := cmp.Or(d.c.Images, d.c.Feed.Images)
	if _, err := os.Stat(folder); err != nil {
		return ""
	}
	return folder
}

// publish builds on the current snapshot, shows what changed and publishes.
func (d *daily) publish() error {
	b := &d.build
	b.folder = d.store
	b.sources = d.inputs()
	b.prices = d.c.Daily.Prices
	b.mapping = d.c.Daily.Mapping
	b.images = d.images()
	b.keepUnmatched = d.c.Daily.KeepUnmatched
	b.asJSON = d.asJSON
	b.publish = true
	b.publishing = publishFlags{config: d.config, keep: d.c.Daily.Keep}

	// The first snapshot has none to continue. What goes on is what is published: a build that was
	// refused must not.
	cur, err := b.dir().Current()
	b.base = "current"
	if errors.Is(err, snapshot.ErrNoCurrent) || errors.Is(err, snapshot.ErrNoStore) {
		b.base = "none"
	} else if err != nil {
		return err
	}
	options, err := b.options()
	if err != nil {
		return err
	}
	options.Base, err = b.readBase(d.cmd.Context())
	if err != nil {
		return err
	}

	// A build replaces what is damaged, so that this is asked before.
	withdrawn, lost := b.dir().Withdrawn()
	d.told.Built, err = b.build(d.cmd, options)
	if err != nil {
		return err
	}
	for _, note := range d.told.Built.Notes {
		d.cmd.PrintErrln("note: " + note)
	}
	id := d.told.Built.ID
	d.told.New = id != cur.ID
	if !d.told.New {
		return nil
	}
	d.compare(cur.ID, options.Base)
	if lost != nil {
		d.cmd.PrintErrf("note: nobody knows what was rolled back: %v; a day that was built before counts as rolled "+
			"back\n", lost)
	}
	// It may be built on another base: what counts is that the feed is the same.
	for i := range withdrawn {
		if withdrawn[i].Of.Equal(d.told.Built.SnapshotAt) {
			return d.withhold(&withdrawn[i])
		}
	}
	return d.move(id)
}

// withhold leaves alone what somebody rolled back: who looked at it knows better than the timer.
func (d *daily) withhold(pub *snapshot.Withdrawal) error {
	d.told.Withdrawn = true
	if err := show(d.cmd, d.asJSON, &d.told, d.told.print); err != nil {
		return err
	}

	what := "this day counts as rolled back"
	if !pub.PublishedAt.IsZero() {
		what = fmt.Sprintf("this day was rolled back at %s by %s", pub.PublishedAt.Format(time.RFC3339),
			cmp.Or(pub.By, "somebody"))
	}
	if pub.Reason != "" {
		what += " (" + pub.Reason + ")"
	}
	words := []string{"ninepocket", "snapshot", "publish", d.told.Built.ID, "--store", d.store}
	if d.config != "" {
		words = append(words, "--config", d.config)
	}
	return fail(exitRefused, "the next day of the feed goes on the air by itself; to publish this one after all run: "+
		shellWords(words), fmt.Errorf("cannot publish %q: %s", d.told.Built.ID, what))
}

// compare says what changed since the current snapshot. It is for people: guards decide.
func (d *daily) compare(current string, base *snapshot.Catalog) {
	if current == "" {
		return
	}
	next, err := d.build.dir().Load(d.cmd.Context(), d.told.Built.ID, nil)
	if err != nil {
		d.cmd.PrintErrf("note: cannot compare with %s: %v\n", current, err)
		return
	}
	d.told.Diff = diff.Compare(base, next, diff.Options{ProductPrefix: d.c.ProductPrefix})
}

// move publishes what was built.
func (d *daily) move(id string) error {
	publishing, err := d.build.publishing.publishing(time.Now(), d.store)
	if err != nil {
		return err
	}

	_, err = d.build.dir().Publish(id, publishing)
	d.told.Published = err == nil
	if refused, ok := errors.AsType[*snapshot.RefusedError](err); ok {
		d.told.Guards = refused.Verdicts
		if shown := show(d.cmd, d.asJSON, &d.told, d.told.print); shown != nil {
			return shown
		}
	}
	d.told.Built.Published = d.told.Published
	return d.build.refusal(err, d.config)
}

func (told *dailyRow) print(out *bufio.Writer) {
	if told.Pulled != nil {
		printPull(out, told.Pulled)
	}
	if told.Diff != nil {
		printDiff(out, told.Diff)
		fmt.Fprintln(out)
	}

	id := told.Built.ID
	switch {
	case !told.New:
		fmt.Fprintf(out, "nothing is new: %s is already served\n", id)
	case told.Withdrawn:
		fmt.Fprintf(out, "%s was built and is not published: the day was rolled back; what was served still is\n", id)
	case told.Published:
		n := told.Built.Counts
		fmt.Fprintf(out, "published %s: %d cards, %d products, %d lanes, %d history points\n", id, n.Cards, n.Products,
			n.Lanes, n.HistoryPoints)
	default:
		var names []string
		for _, verdict := range told.Guards {
			if verdict.Status == snapshot.Refused {
				names = append(names, verdict.Name)
			}
		}
		fmt.Fprintf(out, "%s was built and refused by %s; what was served still is\n", id, strings.Join(names, ", "))
	}
}
