package main

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/feed"
	"ninepocket/fleet/mirror"
	"ninepocket/internal/settings"
	"ninepocket/internal/term"
	"ninepocket/operate"
	"ninepocket/snapshot"
	"ninepocket/snapshot/guard"
)

// retainConfigured means that --keep was not given.
const retainConfigured = math.MinInt

// publishFlags are the flags for publishing, alone and after a build.
type publishFlags struct {
	config    string
	overrides []string
	reason    string
	retain    int
}

func (flags *publishFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	flags.addConfig(cmd, "`FILE` with the limits of the guards")
	f.StringSliceVar(&flags.overrides, "override", nil,
		"publish although this `GUARD` refuses (can be repeated); needs --reason")
	f.StringVar(&flags.reason, "reason", "", "`TEXT` that is recorded with --override")
	flags.addRetain(cmd, "then remove snapshots beyond the newest `N` (never the current, previous or pinned ones); 0 "+
		"keeps all")
}

func (flags *publishFlags) addConfig(cmd *cobra.Command, help string) {
	cmd.Flags().StringVar(&flags.config, "config", "", "TOML configuration "+help)
}

func (flags *publishFlags) addRetain(cmd *cobra.Command, help string) {
	f := cmd.Flags()
	f.IntVar(&flags.retain, "keep", retainConfigured,
		help+"\n(default: daily.keep of the configuration, "+strconv.Itoa(settings.DefaultRetention)+")")
	f.Lookup("keep").DefValue = "0"
}

// terms reads the flags and the configuration. The error names every problem.
func (flags *publishFlags) terms(store string) (*operate.Terms, error) {
	var wrong settings.Problems
	terms := &operate.Terms{Store: store, RetainCount: flags.retain, By: currentUser(), Now: time.Now}
	terms.Override = func(refused *snapshot.RefusedError) string {
		return overrideCommand(refused, store, flags.config)
	}
	reason := strings.TrimSpace(flags.reason)
	for _, given := range flags.overrides {
		name, err := guard.Name(given)
		wrong.Add(err)
		terms.Overrides = append(terms.Overrides, snapshot.Override{Guard: name, Reason: reason})
	}

	// One without the other is a mistake, and readers of the log need the reason.
	over := len(flags.overrides) > 0
	wrong.AddIf(over && reason == "", "cannot use --override without --reason: say why, it is recorded")
	wrong.AddIf(!over && flags.reason != "", "cannot use --reason without --override")
	wrong.AddIf(flags.retain < 0 && flags.retain != retainConfigured,
		"cannot use --keep %d: want 0 or more", flags.retain)

	// The environment counts, as for serve.
	layered, err := settings.ReadWithEnv(flags.config)
	if err == nil {
		err = layered.GuardLimits().Validate()
	}
	wrong.Add(err)
	if flags.retain == retainConfigured {
		terms.RetainCount = layered.Daily.RetainSnapshots
	}
	terms.ProductPrefix = layered.ProductPrefix
	terms.Guards = layered.GuardLimits()
	return terms, fail(exitUsage, "", wrong.Err())
}

// publishedRow is the output of publish and rollback.
type publishedRow struct {
	ID                string                 `json:"id"`
	*snapshot.Current                        // nil if refused
	Published         bool                   `json:"published"`
	Guards            []snapshot.GuardResult `json:"guards,omitempty"`
	Pushed            *mirror.PushResult     `json:"pushed,omitempty"` // nil without --to, and if the push failed
}

func snapshotPublish() *cobra.Command {
	var flags storeFlags
	var conditions publishFlags
	var push pushFlags
	var terms *operate.Terms
	cmd := &cobra.Command{
		Use: "publish ID", Short: "Publish a snapshot", Args: cobra.ExactArgs(1),
		Long: "Verifies the snapshot, reads it back with the engine's own loader, lets the guards compare it with " +
			"the current\n" +
			"one and then moves the pointer that servers follow. A fault is named, with exit code 3, and " +
			"leaves the\n" +
			"current snapshot alone. ID may be latest. With --to it is then pushed, as by snapshot push.\n\n" +
			guardHelp(),
		Example: `  ninepocket snapshot publish latest --store store
  ninepocket snapshot publish ID --store store --override cards_removed --reason 'rotation, see ticket 812'`,
		// Mistakes in the flags are reported before the store is read.
		PreRunE: func(cmd *cobra.Command, _ []string) (err error) {
			terms, err = conditions.terms(flags.folder)
			if err != nil {
				return err
			}
			return push.check(cmd)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			terms.Store = flags.folder
			row, err := flags.publish(cmd, args[0], terms, conditions.config)
			if err != nil {
				return err
			}
			return push.pushAfter(cmd, &flags, row)
		},
	}

	conditions.add(cmd)
	push.add(cmd, defaultLead)
	return flags.addStored(flags.addDryRun(cmd))
}

// guardHelp lists the guards with their default limits.
func guardHelp() string {
	var b strings.Builder
	b.WriteString("Guards, with their limits unless [guards] in the configuration says otherwise:\n")
	for _, g := range guard.Describe() {
		fmt.Fprintf(&b, "  %-15s %-5v %s\n", g.Name, g.Limit, g.Help)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// publish publishes and prints the result for people. It returns the output for scripts, which a
// push may extend.
func (flags *storeFlags) publish(
	cmd *cobra.Command, id string, terms *operate.Terms, config string,
) (publishedRow, error) {
	// Only for the message whether anything changed.
	before, _ := flags.dir().Current()
	cur, err := terms.Publish(id)
	if err != nil {
		// A script gets the guard results of a refusal as well, and the exit code.
		if refused, ok := errors.AsType[*snapshot.RefusedError](err); ok && wantsJSON(cmd) {
			err = errors.Join(term.JSON(cmd.OutOrStdout(), publishedRow{ID: id, Guards: refused.Verdicts}), err)
		}
		return publishedRow{}, refusal(err, flags.folder, config)
	}

	// The guard results are those in the record. Without it they are only missing.
	var guards []snapshot.GuardResult
	past, _ := flags.dir().Publications()
	for _, pub := range past {
		if pub.Current == cur {
			guards = pub.Guards
		}
	}

	row := publishedRow{cur.ID, &cur, true, guards, nil}
	if wantsJSON(cmd) {
		return row, nil
	}
	return row, printResult(cmd, nil, func(out *bufio.Writer) {
		for _, verdict := range guards {
			if verdict.Status == snapshot.Overridden {
				fmt.Fprintf(out, "guard %s is overridden: %s\n", verdict.Name, verdict.Message)
			}
		}

		verb := "published"
		if before == cur {
			verb = "already current:"
		}
		fmt.Fprintf(out, "%s %s (epoch %d)\n", verb, cur.ID, cur.Epoch)
	})
}

// refusal gives an error of the guards its exit code, and the command that publishes nevertheless.
func refusal(err error, store, config string) error {
	refused, ok := errors.AsType[*snapshot.RefusedError](err)
	if !ok {
		return err
	}

	return fail(exitRefused, "mend the feed and build again; when the change is right, say why: "+
		overrideCommand(refused, store, config), err)
}

// overrideCommand returns the command that publishes a refused snapshot.
func overrideCommand(refused *snapshot.RefusedError, store, config string) string {
	words := []string{publishCommand(refused.ID, store, config)}
	// Every guard that refused is named, so that one run of the command is enough.
	for _, verdict := range refused.Verdicts {
		if verdict.Status == snapshot.Refused {
			words = append(words, "--override", verdict.Name)
		}
	}
	return strings.Join(words, " ") + " --reason 'WHY'"
}

// publishCommand returns the command that publishes a snapshot.
func publishCommand(id, store, config string) string {
	words := []string{"ninepocket", "snapshot", "publish", id, "--store", store}
	if config != "" {
		words = append(words, "--config", config)
	}
	return shellWords(words)
}

func snapshotRollback() *cobra.Command {
	var flags storeFlags
	var conditions publishFlags
	var reason string
	var discard bool
	var push pushFlags
	var configured settings.Merged
	cmd := &cobra.Command{
		Use: "rollback [ID]", Short: "Serve an earlier snapshot again", Args: cobra.MaximumNArgs(1),
		Long: "Makes an earlier snapshot the current one, as a new release. Without ID it is the snapshot that\n" +
			"the current one replaced at its release; a second rollback goes one further back. No guard runs.\n" +
			"With --to it is then pushed, as by snapshot push; --freeze keeps the next daily push out.\n\n" +
			"The next build fills the day from its archived file, but not with --discard-day: CURRENT has the\n" +
			"day, and the file goes into the folder aside of feed.into. Until a later day is published, after a\n" +
			"rollback: rollback current --discard-day.",
		PreRunE: func(cmd *cobra.Command, _ []string) (err error) {
			configured, err = settings.ReadWithEnv(conditions.config)
			if err != nil {
				return fail(exitUsage, "", err)
			}
			return push.check(cmd)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			id := append(args, "")[0]
			warn := func(text string) { cmd.PrintErrln("note: " + text) }
			cur, err := flags.dir().Rollback(id, snapshot.PublishOptions{
				Now: time.Now(), Check: operate.Servable(configured.ProductPrefix, nil), By: currentUser(),
				Reason: strings.TrimSpace(reason), DiscardDay: discard, OnWarning: warn,
			})
			if err != nil {
				return err
			}
			if !wantsJSON(cmd) {
				err = printLine(cmd, nil, "rolled back to %s (epoch %d)", cur.ID, cur.Epoch)
			}
			if err != nil {
				return err
			}
			terms := operate.Terms{Store: flags.folder, By: currentUser(), Now: time.Now, OnWarning: warn}
			terms.RecordRollback(&cur, strings.TrimSpace(reason))
			err = push.pushAfter(cmd, &flags, publishedRow{cur.ID, &cur, true, nil, nil})
			return errors.Join(err, afterRollback(cmd, &cur, discard, configured.Feed.Into))
		},
	}

	conditions.addConfig(cmd, "`FILE` with the product prefix of the server")
	push.add(cmd, rollbackLead)
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` that is recorded")
	cmd.Flags().BoolVar(&discard, "discard-day", false,
		"also leave the prices of the day that is rolled back out of the history")
	return flags.addStored(flags.addDryRun(cmd, &configured.Feed.Into))
}

// afterRollback moves the archived day that was discarded, or says how it is kept from coming back.
func afterRollback(cmd *cobra.Command, by *snapshot.Current, discard bool, into string) error {
	days := by.WithdrawnDays()
	if len(days) == 0 {
		return nil
	}
	names := days[0].String()
	if last := days[len(days)-1].String(); last != names {
		names += " to " + last
	}
	if !discard {
		cmd.PrintErrf("note: the prices of %s return into the history with the next build; to leave them out run: %s\n",
			names, againWith(cmd, "snapshot", "rollback", "current", "--discard-day"))
		return nil
	}

	cmd.PrintErrf("note: the prices of %s stay out of the history\n", names)
	if into == "" {
		cmd.PrintErrln("note: without feed.into of a configuration the archived day stays where it is; a build " +
			"without --base takes it")
		return nil
	}
	for _, day := range days {
		moved, err := feed.DiscardDay(into, day.String())
		if err != nil {
			return fail(exitFailure, "the rollback is done; move the file by hand",
				fmt.Errorf("cannot move the archived day: %w", err))
		}
		if moved != "" {
			cmd.PrintErrln("note: the archived day is now " + moved)
		}
	}
	return nil
}

// currentUser names the person or job that runs this process, for records: the user, and who became
// that user.
func currentUser() string {
	name := "uid " + strconv.Itoa(os.Getuid())
	if known, err := user.Current(); err == nil && known.Username != "" {
		name = known.Username
	}
	if sudo := os.Getenv("SUDO_USER"); sudo != "" && sudo != name {
		return sudo + " as " + name
	}
	return name
}

// logRow is a row of snapshot log.
type logRow struct {
	At     time.Time              `json:"at"`
	Action string                 `json:"action"` // of a release, or actionRefuse
	ID     string                 `json:"id"`
	Epoch  uint64                 `json:"epoch,omitempty"`
	By     string                 `json:"by,omitempty"`
	Why    []string               `json:"why"`
	guards []snapshot.GuardResult // of a refusal
}

func snapshotLog() *cobra.Command {
	var flags storeFlags
	return flags.addStored(&cobra.Command{
		Use: "log", Short: "List releases, rollbacks and refusals with user and reason, newest first",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rows, err := storeLog(flags.dir())
			if err != nil {
				return err
			}
			return printTable(cmd, rows, "AT\tACTION\tID\tBY\tWHY", logRow.cells)
		},
	})
}

// storeLog returns releases, rollbacks and refusals, the newest first.
func storeLog(store *snapshot.Store) ([]logRow, error) {
	past, err := store.Publications()
	if err != nil && !errors.Is(err, snapshot.ErrNoCurrent) {
		return nil, err
	}

	rows := []logRow{}
	for _, pub := range past {
		row := logRow{pub.PublishedAt, pub.Action, pub.ID, pub.Epoch, pub.By, []string{}, nil}
		if pub.Reason != "" {
			row.Why = append(row.Why, pub.Reason)
		}
		for _, over := range pub.Overrides {
			row.Why = append(row.Why, fmt.Sprintf("guard %s overridden: %s", over.Guard, over.Reason))
		}
		rows = append(rows, row)
	}
	for _, refusal := range store.Refusals() {
		row := logRow{refusal.At, actionRefuse, refusal.ID, 0, refusal.By, []string{}, refusal.Guards}
		for _, verdict := range refusal.Guards {
			row.Why = append(row.Why, verdict.Name+": "+verdict.Message)
		}
		rows = append(rows, row)
	}

	slices.SortStableFunc(rows, func(a, b logRow) int { return b.At.Compare(a.At) })
	return rows, nil
}

// actionRefuse is the action of guards, next to the actions of releases.
const actionRefuse = "refuse"

func (l logRow) cells() []any {
	return []any{l.At.Format(time.RFC3339), l.Action, l.ID, l.By, strings.Join(l.Why, "; ")}
}

// refused returns the last refusal of each snapshot that was not published since: the results of
// its guards.
func (flags *storeFlags) refused() map[string][]snapshot.GuardResult {
	refused := map[string][]snapshot.GuardResult{}
	past, _ := flags.dir().Publications()
	for _, refusal := range flags.dir().Refusals() {
		since := func(pub snapshot.Publication) bool {
			return pub.ID == refusal.ID && pub.Action == snapshot.ActionPublish && !pub.PublishedAt.Before(refusal.At)
		}
		if !slices.ContainsFunc(past, since) {
			refused[refusal.ID] = refusal.Guards
		}
	}
	return refused
}
