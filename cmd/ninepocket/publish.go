package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/engine"
	"ninepocket/engine/cursor"
	"ninepocket/fleet/mirror"
	"ninepocket/loader/source"
	"ninepocket/snapshot"
	"ninepocket/snapshot/guard"
	"ninepocket/wire"
)

// keepSnapshots is how many of the newest snapshots a publication leaves in the store: a month of
// daily ones.
const keepSnapshots = 30

// keepAsConfigured stands for a flag --keep that was not given.
const keepAsConfigured = math.MinInt

// publishFlags are what publishing takes, by itself and after a build.
type publishFlags struct {
	config    string
	overrides []string
	reason    string
	keep      int
}

func (flags *publishFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	flags.addConfig(cmd, "`FILE` with the limits of the guards")
	f.StringSliceVar(&flags.overrides, "override", nil,
		"publish although this `GUARD` refuses (can be repeated); needs --reason")
	f.StringVar(&flags.reason, "reason", "", "`TEXT` that is recorded with --override")
	flags.addKeep(cmd, "then remove snapshots beyond the newest `N` (never the current, previous or held ones); 0 "+
		"keeps all")
}

func (flags *publishFlags) addConfig(cmd *cobra.Command, help string) {
	cmd.Flags().StringVar(&flags.config, "config", "", "TOML configuration "+help)
}

func (flags *publishFlags) addKeep(cmd *cobra.Command, help string) {
	f := cmd.Flags()
	f.IntVar(&flags.keep, "keep", keepAsConfigured,
		help+"\n(default: daily.keep of the configuration, "+strconv.Itoa(keepSnapshots)+")")
	f.Lookup("keep").DefValue = "0"
}

// configuration is what the file and the environment say. Variables that are no settings are left
// for serve to report.
func (flags *publishFlags) configuration() (layered, error) {
	return readConfig(cmp.Or(flags.config, os.Getenv(envPrefix+"CONFIG")), os.Environ(), func(string) {})
}

// publishing reads the flags and the configuration, naming every problem.
func (flags *publishFlags) publishing(now time.Time, store string) (snapshot.Publishing, error) {
	var wrong problems
	retention := snapshot.Retention{Keep: flags.keep, Recent: cursor.Lifetime}
	publishing := snapshot.Publishing{Now: now, Retention: retention, By: who()}
	reason := strings.TrimSpace(flags.reason)
	for _, given := range flags.overrides {
		name, err := guard.Name(given)
		wrong.add(err)
		publishing.Overrides = append(publishing.Overrides, snapshot.Override{Guard: name, Reason: reason})
	}

	over := len(flags.overrides) > 0
	wrong.when(over && reason == "", "cannot use --override without --reason: say why, it is recorded")
	wrong.when(!over && flags.reason != "", "cannot use --reason without --override")
	wrong.when(flags.keep < 0 && flags.keep != keepAsConfigured, "cannot use --keep %d: want 0 or more", flags.keep)

	// The environment counts as it does for serve.
	layered, err := flags.configuration()
	if err == nil {
		err = layered.guards().Validate()
	}
	wrong.add(err)
	if flags.keep == keepAsConfigured {
		publishing.Retention.Keep = layered.Daily.Keep
	}
	// Checked with the prefix of this server, because ids of products are part of a View.
	publishing.Check = servable(layered.ProductPrefix)
	publishing.Judge = judge(layered.guards(), now, store)
	return publishing, fail(exitUsage, "", wrong.err())
}

// servable is the check before publishing: the engine itself makes its View of the snapshot as read
// back from disk, and the View answers what clients will ask.
func servable(prefix string) func(*snapshot.Catalog) error {
	return func(catalog *snapshot.Catalog) error {
		v, err := engine.NewView(catalog, wire.Site{ProductPrefix: prefix})
		if err != nil {
			return err
		}
		return v.Smoke()
	}
}

// judge has the guards compare with the current snapshot.
func judge(limits guard.Limits, now time.Time, store string) func(current, next *snapshot.Stored) []snapshot.Verdict {
	return func(current, next *snapshot.Stored) []snapshot.Verdict {
		return guard.Judge(current, next, guard.Options{
			Limits: limits, Now: now, Duplicates: source.Duplicates, Store: store,
		})
	}
}

// publishedRow is what publish and rollback print.
type publishedRow struct {
	ID                string             `json:"id"`
	*snapshot.Current                    // nil of one that was refused
	Published         bool               `json:"published"`
	Guards            []snapshot.Verdict `json:"guards,omitempty"`
	Pushed            *pushedRow         `json:"pushed,omitempty"` // nil without --to, and when that failed
}

func snapshotPublish() *cobra.Command {
	var flags storeFlags
	var conditions publishFlags
	var push pushFlags
	var key *mirror.Key
	var publishing snapshot.Publishing
	cmd := &cobra.Command{
		Use: "publish ID --store DIR", Short: "Make a snapshot the one that is served", Args: cobra.ExactArgs(1),
		Long: "Verifies the snapshot, reads it back with the engine's own loader, lets the guards compare it with " +
			"the current\n" +
			"one and then moves the pointer that servers follow. Whatever is wrong is named, with exit code 3, and " +
			"leaves the\n" +
			"current snapshot alone. ID may be latest. With --to it is then pushed, as by snapshot push.\n\n" +
			guardHelp(),
		Example: "  ninepocket snapshot publish latest --store store\n" +
			"  ninepocket snapshot publish ID --store store --override cards_removed --reason 'rotation, see ticket " +
			"812'",
		// Mistakes in the flags are told before the store is looked at.
		PreRunE: func(cmd *cobra.Command, _ []string) (err error) {
			publishing, err = conditions.publishing(time.Now(), flags.folder)
			if err == nil {
				key, err = push.check(cmd)
			}
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			row, err := flags.publish(cmd, args[0], publishing, conditions.config)
			if err != nil {
				return err
			}
			return push.after(cmd, &flags, key, row)
		},
	}

	flags.addStored(cmd)
	conditions.add(cmd)
	push.add(cmd, usualLead)
	return cmd
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

// publish publishes and tells people what became of it. What a script gets is returned: a push may
// add to it.
func (flags *storeFlags) publish(
	cmd *cobra.Command, id string, publishing snapshot.Publishing, config string,
) (publishedRow, error) {
	// Only to say whether anything changed.
	before, _ := flags.dir().Current()
	cur, err := flags.dir().Publish(id, publishing)
	if err != nil {
		// A script gets the verdicts of a refusal as well, and the exit code.
		if refused, ok := errors.AsType[*snapshot.RefusedError](err); ok && flags.asJSON {
			err = errors.Join(printJSON(cmd.OutOrStdout(), publishedRow{ID: id, Guards: refused.Verdicts}), err)
		}
		return publishedRow{}, flags.refusal(err, config)
	}

	// The verdicts are what was recorded. Nothing here depends on the journal.
	var guards []snapshot.Verdict
	past, _ := flags.dir().Publications()
	for _, pub := range past {
		if pub.Current == cur {
			guards = pub.Guards
		}
	}

	row := publishedRow{cur.ID, &cur, true, guards, nil}
	if flags.asJSON {
		return row, nil
	}
	return row, show(cmd, false, nil, func(out *bufio.Writer) {
		for _, verdict := range guards {
			if verdict.Status == snapshot.Overridden {
				fmt.Fprintf(out, "guard %s is overridden: %s\n", verdict.Name, verdict.Text)
			}
		}

		verb := "published"
		if before == cur {
			verb = "already current:"
		}
		fmt.Fprintf(out, "%s %s (epoch %d)\n", verb, cur.ID, cur.Epoch)
	})
}

// refusal gives an error of the guards its exit code, and the command that publishes all the same.
func (flags *storeFlags) refusal(err error, config string) error {
	refused, ok := errors.AsType[*snapshot.RefusedError](err)
	if !ok {
		return err
	}

	command := []string{"ninepocket", "snapshot", "publish", refused.ID, "--store", flags.folder}
	if config != "" {
		command = append(command, "--config", config)
	}
	for _, verdict := range refused.Verdicts {
		if verdict.Status == snapshot.Refused {
			command = append(command, "--override", verdict.Name)
		}
	}
	return fail(exitRefused, "mend the feed and build again; when the change is right, say why: "+
		shellWords(command)+" --reason 'WHY'", err)
}

func snapshotRollback() *cobra.Command {
	var flags storeFlags
	var conditions publishFlags
	var reason string
	var push pushFlags
	var key *mirror.Key
	var configured layered
	cmd := &cobra.Command{
		Use: "rollback [ID] --store DIR", Short: "Serve an earlier snapshot again", Args: cobra.MaximumNArgs(1),
		Long: "Makes an earlier snapshot the current one, as a new publication. Without ID it is the one that the " +
			"current\n" +
			"snapshot replaced when it was published; a second rollback goes one further back. Guards are not " +
			"asked.\n" +
			"With --to it is then pushed, as by snapshot push; --hold keeps the next daily push out.",
		PreRunE: func(cmd *cobra.Command, _ []string) (err error) {
			configured, err = conditions.configuration()
			if err != nil {
				return fail(exitUsage, "", err)
			}
			key, err = push.check(cmd)
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			id := ""
			if len(args) > 0 {
				id = args[0]
			}

			cur, err := flags.dir().Rollback(id, snapshot.Publishing{
				Now: time.Now(), Check: servable(configured.ProductPrefix), By: who(),
				Reason: strings.TrimSpace(reason),
			})
			if err != nil {
				return err
			}
			if !flags.asJSON {
				err = say(cmd, false, nil, "rolled back to %s (epoch %d)", cur.ID, cur.Epoch)
			}
			if err != nil {
				return err
			}
			return push.after(cmd, &flags, key, publishedRow{cur.ID, &cur, true, nil, nil})
		},
	}

	flags.addStored(cmd)
	conditions.addConfig(cmd, "`FILE` with the product prefix of the server")
	push.add(cmd, rollbackLead)
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` that is recorded")
	return cmd
}

// verdicts are what the guards said when a snapshot was published last, else what they would say
// now.
func (flags *storeFlags) verdicts(ctx context.Context, next *snapshot.Stored, limits guard.Limits) []snapshot.Verdict {
	past, _ := flags.dir().Publications()
	// A snapshot may have been published more than once: the last time counts.
	for _, pub := range slices.Backward(past) {
		if pub.ID == next.Manifest.ID && pub.Action == snapshot.ActionPublish && pub.Guards != nil {
			return pub.Guards
		}
	}

	// Compared with what it replaced, or would replace. Without that, some guards have nothing to
	// say.
	var current *snapshot.Stored
	if cur, err := flags.dir().Current(); err == nil {
		other := cur.ID
		if other == next.Manifest.ID {
			other = cur.Previous
		}
		if st, err := flags.load(ctx, other); err == nil {
			current = st
		}
	}
	return judge(limits, time.Now(), flags.folder)(current, next)
}
