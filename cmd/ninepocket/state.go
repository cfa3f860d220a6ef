package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/access/statedir"
	"ninepocket/internal/registry"
	"ninepocket/node"
)

func stateVerify() *cobra.Command {
	var flags stateFlags
	return flags.add(&cobra.Command{
		Use: "verify", Short: "Check every checksum of a state directory; exit 3 on damage",
		Args: cobra.NoArgs,
		Long: "Reads keys, checkpoint, log and cursor key, whether or not a server runs there, and changes nothing.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			report, err := access.VerifyState(flags.folder)
			if err != nil {
				return err
			}

			_, _, err = node.ReadCursorKey(flags.folder)
			switch {
			case errors.Is(err, access.ErrCorrupt):
				report.Damage = append(report.Damage, err.Error())
				report.Causes = append(report.Causes, errCursorKey)
			case err != nil && !errors.Is(err, fs.ErrNotExist):
				return err
			}
			if _, err := statedir.ReadServerID(flags.folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
				report.Damage = append(report.Damage, err.Error())
				report.Causes = append(report.Causes, err)
			}
			if err := printResult(cmd, report,
				func(out *bufio.Writer) { printState(out, &report) }); err != nil {
				return err
			}

			if len(report.Damage) > 0 {
				return fail(exitRefused, damageHint(flags.folder, report.Causes...),
					fmt.Errorf("cannot vouch for state directory %q: %d problems", flags.folder, len(report.Damage)))
			}
			return nil
		},
	})
}

// errCursorKey reports a damaged cursor key.
var errCursorKey = errors.New("the cursor key is damaged")

// damageHints are for damage in a state directory, with a running server or without one.
var damageHints = []errorHint{
	hint(exitRefused, "restore cursor.key, or stop the server and run: ninepocket state repair --state FOLDER, which "+
		"removes it: the next start makes another, and clients restart their pagination", errCursorKey),
	hint(exitRefused,
		"restore the file `incarnation` from a copy of FOLDER; it has a name that `ninepocket fleet status` "+
			"lists, and without it what this machine reported would be counted twice", statedir.ErrServerID),
	hint(exitRefused,
		"a server that runs on FOLDER has all but older rows of the ledger in memory, so do not stop it: "+
			"POST /-/checkpoint?rebuild=yes on its admin listener writes a new checkpoint, which also replaces a "+
			"damaged log; where none runs, restore a copy that `ninepocket state backup` made, or run: "+
			"ninepocket state repair --state FOLDER", access.ErrCorrupt),
}

// damageHint returns the hints for a damaged state directory.
func damageHint(folder string, causes ...error) string {
	var hints []string
	for _, err := range causes {
		known := damageHints
		if isAny(err, keys.ErrDamaged, keys.ErrEdited, keys.ErrMissing) {
			known = stateHints
		}
		if _, hint := findHint(err, known, folder); !slices.Contains(hints, hint) {
			hints = append(hints, hint)
		}
	}
	return strings.Join(hints, "\nhint: ")
}

func printState(out *bufio.Writer, report *access.StateReport) {
	fmt.Fprintf(out, "%d keys, %d tenants that called, %d ledger rows, %d replies, %d calls in the log\n",
		report.Keys, report.Tenants, report.Rows, report.Replies, report.Records)
	if report.Torn > 0 {
		fmt.Fprintf(out, "the end of the log is torn: %d unacknowledged records will be dropped\n",
			report.Torn)
	}
	for _, damage := range report.Damage {
		fmt.Fprintf(out, "damaged: %s\n", damage)
	}
	if len(report.Damage) == 0 {
		fmt.Fprintln(out, "everything is whole")
	}
}

func stateBackup() *cobra.Command {
	var flags stateFlags
	return flags.add(&cobra.Command{
		Use: "backup DIR", Short: "Copy a state directory, consistently, also while a server runs",
		Long: "Makes DIR, copies keys, checkpoint, log and cursor key into it, and checks the copy. DIR must be\n" +
			"empty or new, and outside of the state directory. A server on the directory still answers; it only\n" +
			"delays its checkpoints. A failed backup leaves no part of the copy. To restore, stop the server and\n" +
			"put the copy in the place of the state directory.",
		Example: "  ninepocket state backup /backup/state-2026-11-22 --state /var/lib/ninepocket/state",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			report, err := access.BackupState(flags.folder, args[0])
			if errors.Is(err, access.ErrCorrupt) {
				return fail(exitRefused, damageHint(flags.folder, err), err)
			}
			if err != nil {
				return err
			}

			const copied = "copied %d keys, %d tenants, %d ledger rows and %d calls in the log to %s"
			return printLine(cmd, report, copied,
				report.Keys, report.Tenants, report.Rows, report.Records, args[0])
		},
	})
}

func stateRepair() *cobra.Command {
	var flags stateFlags
	var believe bool
	cmd := &cobra.Command{
		Use: "repair", Short: "Drop damaged values of a state directory and name the affected tenants",
		Long: "Keeps every value whose checksum is right, drops the rest, and prints the dropped values and the\n" +
			"tenants that they affect. The previous files are moved into a folder damaged-TIME. No server may run\n" +
			"there. A damaged cursor key is removed: the next start makes another.\n\n" +
			"keys.json is repaired only with --accept-keys: then the file is trusted as it reads, for a file that\n" +
			"was edited by hand. A missing keys.json is made again then, without keys.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			report, err := access.RepairState(flags.folder, believe, time.Now())
			if err != nil {
				return err
			}
			removed, err := node.RepairCursorKey(flags.folder)
			if err != nil {
				return err
			}
			if removed {
				const what = "the cursor key: the next start makes another, and clients restart their pagination"
				report.Dropped = append(report.Dropped, what)
			}
			return printResult(cmd, report, func(out *bufio.Writer) { printRepair(out, &report) })
		},
	}

	cmd.Flags().BoolVar(&believe, "accept-keys", false, "believe keys.json as it reads, after it was edited or lost")
	return flags.add(cmd)
}

func printRepair(out *bufio.Writer, report *access.RepairReport) {
	if len(report.Dropped) == 0 {
		fmt.Fprintln(out, "nothing is damaged")
		return
	}

	for _, what := range report.Dropped {
		fmt.Fprintf(out, "dropped: %s\n", what)
	}
	if report.BackupDir != "" {
		fmt.Fprintf(out, "kept %d values and %d calls of the log; the files from before are in %s\n",
			report.Recovered, report.Records, report.BackupDir)
	}
	for _, tenant := range report.Accounts {
		fmt.Fprintf(out, "look at the figures of tenant %s: ninepocket usage --tenant %s\n", tenant, tenant)
	}
}

func tenantResetDay() *cobra.Command {
	var flags accountFlags
	var credits bool
	cmd := &cobra.Command{
		Use: "reset-day TENANT", Short: "Reset the day's quota of a tenant, within 2 seconds",
		Long: "Today's usage of the tenant no longer counts; the ledger keeps it. Works while a server runs. With\n" +
			"--credits the preview credits of the period are whole again, and not the day.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			now := time.Now()
			reset := func(keys *keys.File) error { return keys.ResetDay(args[0], credits, now) }
			err := flags.update(cmd.Context(), reset)
			if err != nil {
				return err
			}

			what := "day"
			if credits {
				what = "credits"
			}
			record(cmd, flags.Store, registry.Change{At: now, Command: "reset-day", Tenant: args[0], What: what})
			result := map[string]string{"tenant": args[0], "reset": what}
			return printLine(cmd, result, "reset the %s of %s", what, args[0])
		},
	}

	cmd.Flags().BoolVar(&credits, "credits", false, "reset the credits of the period instead")
	return flags.add(flags.addDryRun(cmd))
}
