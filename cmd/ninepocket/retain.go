package main

import (
	"bufio"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/engine/cursor"
	"ninepocket/internal/term"
	"ninepocket/snapshot"
)

// holding is the command hold or unhold.
func holding(verb, short, done string, do func(*snapshot.Dir, string) error) *cobra.Command {
	var flags storeFlags
	return flags.addStored(&cobra.Command{
		Use: verb + " ID --store DIR", Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := args[0]
			if err := do(flags.dir(), id); err != nil {
				return err
			}
			return say(cmd, flags.asJSON, map[string]any{"id": id, "held": verb == "hold"}, "%s %s", done, id)
		},
	})
}

func snapshotPrune() *cobra.Command {
	var flags storeFlags
	var conditions publishFlags
	cmd := &cobra.Command{
		Use: "prune --store DIR", Short: "Remove old snapshots", Args: cobra.NoArgs,
		Long: "Removes the snapshots beyond the newest N. The current one, the one it replaced, held ones, and " +
			"what was current\n" +
			"so lately that a client's cursor may lead to it, always stay.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			keep, err := conditions.keeps()
			if err != nil {
				return fail(exitUsage, "", err)
			}

			done, err := flags.dir().Prune(snapshot.Retention{Keep: keep, Recent: cursor.Lifetime}, time.Now())
			if err != nil {
				return err
			}

			// An empty list is [] for scripts, and never null.
			removed := []string{}
			var bytes int64
			for _, m := range done.Removed {
				removed = append(removed, m.ID)
				bytes += m.Bytes()
			}
			told := map[string]any{"removed": removed, "bytes": bytes, "kept": done.Kept}
			return show(cmd, flags.asJSON, told, func(out *bufio.Writer) {
				for _, id := range removed {
					fmt.Fprintln(out, "removed", id)
				}
				for _, id := range slices.Sorted(maps.Keys(done.Kept)) {
					fmt.Fprintf(out, "kept %s: %s\n", id, done.Kept[id])
				}
				fmt.Fprintf(out, "%d snapshots removed, %s freed\n", len(removed), term.Size(bytes))
			})
		},
	}
	flags.addStored(cmd)
	conditions.addConfig(cmd, "`FILE` with daily.keep")
	conditions.addKeep(cmd, "keep the newest `N`")
	return cmd
}

// keeps is how many snapshots a clean-up by hand keeps.
func (flags *publishFlags) keeps() (int, error) {
	if flags.keep != keepAsConfigured {
		if flags.keep < 1 {
			return 0, fmt.Errorf("cannot use --keep %d: want 1 or more", flags.keep)
		}
		return flags.keep, nil
	}

	configured, err := flags.configuration()
	keep := configured.Daily.Keep
	if err == nil && keep < 1 {
		err = fmt.Errorf("cannot tell how many to keep: daily.keep is %d, which keeps all; give --keep N", keep)
	}
	return keep, err
}
