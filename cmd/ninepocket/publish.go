package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/engine"
	"ninepocket/engine/cursor"
	"ninepocket/loader/source"
	"ninepocket/snapshot"
	"ninepocket/snapshot/guard"
	"ninepocket/wire"
)

// keepSnapshots is how many of the newest snapshots a publication leaves in the store: a month of
// daily ones.
const keepSnapshots = 30

// publishFlags are what publishing takes, by itself and after a build.
type publishFlags struct {
	config    string
	overrides []string
	reason    string
	keep      int
}

func (p *publishFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.config, "config", "", "TOML configuration `FILE` with the limits of the guards")
	f.StringSliceVar(&p.overrides, "override", nil,
		"publish although this `GUARD` refuses (can be repeated); needs --reason")
	f.StringVar(&p.reason, "reason", "", "`TEXT` that is recorded with --override")
	f.IntVar(&p.keep, "keep", keepSnapshots,
		"then remove snapshots beyond the newest `N` (never the current, previous or held ones); 0 keeps all")
}

// publishing reads the flags and the configuration, naming every problem.
func (p *publishFlags) publishing(now time.Time) (snapshot.Publishing, error) {
	var problems []error
	o := snapshot.Publishing{Now: now, Retention: snapshot.Retention{Keep: p.keep, Recent: cursor.Lifetime}}
	for _, given := range p.overrides {
		name, err := guard.Name(given)
		if err != nil {
			problems = append(problems, err)
		}
		o.Overrides = append(o.Overrides, snapshot.Override{Guard: name, Reason: strings.TrimSpace(p.reason)})
	}

	if len(p.overrides) > 0 && strings.TrimSpace(p.reason) == "" {
		problems = append(problems, errors.New("cannot use --override without --reason: say why, it is recorded"))
	}
	if len(p.overrides) == 0 && p.reason != "" {
		problems = append(problems, errors.New("cannot use --reason without --override"))
	}
	if p.keep < 0 {
		problems = append(problems, fmt.Errorf("cannot use --keep %d: want 0 or more", p.keep))
	}

	// The environment counts as it does for serve; names that mean nothing are its business.
	c, err := readConfig(p.config, os.Environ(), func(string) {})
	if err == nil {
		err = c.guards().Validate()
	}
	err = errors.Join(append(problems, err)...)
	if err != nil {
		return o, fail(exitUsage, "", err)
	}

	// Checked with the prefix of this server, because ids of products are part of a View.
	site := wire.Site{ProductPrefix: c.ProductPrefix}
	o.Check = func(catalog *snapshot.Catalog) error { return servable(catalog, site) }
	o.Judge = judge(c.guards(), now)
	return o, nil
}

// servable is the check before publishing: the engine itself makes its View of the snapshot as read
// back from disk, and the View answers what clients will ask.
func servable(c *snapshot.Catalog, site wire.Site) error {
	v, err := engine.NewView(c, site)
	if err != nil {
		return err
	}
	return v.Smoke()
}

// judge has the guards compare with the current snapshot.
func judge(limits guard.Limits, now time.Time) func(current, next *snapshot.Stored) []snapshot.Verdict {
	return func(current, next *snapshot.Stored) []snapshot.Verdict {
		return guard.Judge(current, next, guard.Options{Limits: limits, Now: now, Duplicates: source.Duplicates})
	}
}

// publishedRow is what publish and rollback print.
type publishedRow struct {
	ID string `json:"id"`
	*pointed
	Published bool               `json:"published"`
	Guards    []snapshot.Verdict `json:"guards,omitempty"`
}

// pointed is what a publication that happened has; nil of one that was refused.
type pointed struct {
	Epoch       uint64    `json:"epoch"`
	PublishedAt time.Time `json:"published_at"`
	Previous    string    `json:"previous,omitempty"`
}

func published(cur snapshot.Current, guards []snapshot.Verdict) publishedRow {
	return publishedRow{cur.ID, &pointed{cur.Epoch, cur.PublishedAt, cur.Previous}, true, guards}
}

func snapshotPublish() *cobra.Command {
	var s storeFlags
	var p publishFlags
	cmd := &cobra.Command{
		Use: "publish ID --store DIR", Short: "Make a snapshot the one that is served", Args: cobra.ExactArgs(1),
		Long: "Verifies the snapshot, reads it back with the engine's own loader, lets the guards compare it " +
			"with the current\n" +
			"one and then moves the pointer that servers follow. Whatever is wrong is named, with exit code 3, " +
			"and leaves the\n" +
			"current snapshot alone. ID may be latest.\n\n" + guardHelp(),
		Example: "  ninepocket snapshot publish latest --store store\n" +
			"  ninepocket snapshot publish ID --store store --override cards_removed --reason 'rotation, see " +
			"ticket 812'",
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := p.publishing(time.Now())
			if err != nil {
				return err
			}

			id, err := s.resolve(args[0])
			if err != nil {
				return err
			}
			return s.publish(cmd.OutOrStdout(), id, o)
		},
	}

	s.addStored(cmd)
	p.add(cmd)
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

// publish publishes and says what became of it.
func (s *storeFlags) publish(out io.Writer, id string, o snapshot.Publishing) error {
	// Only to say whether anything changed.
	before, _ := s.dir().Current()
	cur, err := s.dir().Publish(id, o)
	refused, isRefusal := errors.AsType[*snapshot.RefusedError](err)
	// A script gets the verdicts of a refusal as well, and the exit code.
	if isRefusal && s.asJSON {
		if err := printJSON(out, publishedRow{ID: id, Guards: refused.Verdicts}); err != nil {
			return err
		}
	}
	if err != nil {
		return s.storeError(err)
	}

	// The verdicts are read back from the journal: they are what was recorded.
	guards := s.recorded(cur)
	if s.asJSON {
		return printJSON(out, published(cur, guards))
	}

	for _, v := range guards {
		if v.Status == snapshot.Overridden {
			_, _ = fmt.Fprintf(out, "guard %s is overridden: %s\n", v.Name, v.Text)
		}
	}

	verb := "published"
	if before == cur {
		verb = "already current:"
	}
	_, err = fmt.Fprintf(out, "%s %s (epoch %d)\n", verb, cur.ID, cur.Epoch)
	return err
}

// recorded are the verdicts that a publication was made with.
func (s *storeFlags) recorded(cur snapshot.Current) []snapshot.Verdict {
	// The journal explains, nothing depends on it.
	past, _ := s.dir().Publications()
	for _, p := range past {
		if p.Current == cur {
			return p.Guards
		}
	}
	return nil
}

func snapshotRollback() *cobra.Command {
	var s storeFlags
	cmd := &cobra.Command{
		Use: "rollback [ID] --store DIR", Short: "Serve an earlier snapshot again", Args: cobra.MaximumNArgs(1),
		Long: "Makes an earlier snapshot the current one, as a new publication. Without ID it is the one that " +
			"the current\n" +
			"snapshot replaced when it was published; a second rollback goes one further back. Guards are not asked.",
		RunE: func(cmd *cobra.Command, args []string) error {
			id := ""
			var err error
			if len(args) > 0 {
				id, err = s.resolve(args[0])
				if err != nil {
					return err
				}
			}

			site := wire.Site{ProductPrefix: defaultConfig().ProductPrefix}
			cur, err := s.dir().Rollback(id, snapshot.Publishing{
				Now: time.Now(), Check: func(c *snapshot.Catalog) error { return servable(c, site) },
			})
			if err != nil {
				return s.storeError(err)
			}
			return say(cmd, s.asJSON, published(cur, nil), "rolled back to %s (epoch %d)", cur.ID, cur.Epoch)
		},
	}

	s.addStored(cmd)
	return cmd
}

// verdicts are what the guards said when a snapshot was published last, else what they would say
// now.
func (s *storeFlags) verdicts(ctx context.Context, next *snapshot.Stored, past []snapshot.Publication,
	limits guard.Limits,
) []snapshot.Verdict {
	// A snapshot may have been published more than once: the last time counts.
	for _, p := range slices.Backward(past) {
		if p.ID == next.Manifest.ID && p.Action == snapshot.ActionPublish && p.Guards != nil {
			return p.Guards
		}
	}

	// Compared with what it replaced, or would replace. Without that, some guards have nothing to
	// say.
	var current *snapshot.Stored
	if cur, err := s.dir().Current(); err == nil {
		other := cur.ID
		if other == next.Manifest.ID {
			other = cur.Previous
		}
		if m, err := s.dir().Manifest(other); err == nil {
			if c, err := s.dir().Load(ctx, other, nil); err == nil {
				current = &snapshot.Stored{Manifest: m, Catalog: c}
			}
		}
	}
	return judge(limits, time.Now())(current, next)
}

// printVerdicts prints the guards in a table.
func printVerdicts(out io.Writer, verdicts []snapshot.Verdict) error {
	var cells [][]any
	for _, v := range verdicts {
		cells = append(cells, []any{v.Name, v.Status, figure(v.Figure), figure(v.Limit), v.Text})
	}
	return table(out, "GUARD\tSTATUS\tFIGURE\tLIMIT\t", cells)
}

// figure spells a guard's number: counts as they are, shares with four decimals.
func figure(v float64) string {
	if v == math.Trunc(v) {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'f', 4, 64)
}
