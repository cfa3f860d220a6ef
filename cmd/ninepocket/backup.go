package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/internal/backup"
	"ninepocket/internal/registry"
	"ninepocket/internal/settings"
	"ninepocket/internal/term"
	"ninepocket/internal/tombstone"
)

// backupHints are for errors of a backup folder.
var backupHints = []errorHint{
	hint(exitFailure, "only its owner may read it: chmod 700 FOLDER", backup.ErrReadable),
	hint(exitFailure, "run: ninepocket backup FOLDER --list", backup.ErrNone),
	hint(exitRefused, "take another one: ninepocket backup FOLDER --list; then restore FOLDER --backup ID",
		backup.ErrDamaged),
	hint(exitFailure, "give empty places, such as --into a new folder; nothing was changed", backup.ErrPlace),
	hint(exitFailure, "install the client programs of PostgreSQL", exec.ErrNotFound),
	hint(exitFailure, "look at the paths, and whether their disks are mounted", fs.ErrNotExist),
}

// backupFlags are the flags of backup and restore.
type backupFlags struct {
	*configFlags
	folder   string
	places   map[string]string // of the parts
	dryRun   bool
	progress *term.Progress
	layered  settings.Merged
}

// add adds the flags to a command, and hints to its errors. The configuration is read before it runs.
func (flags *backupFlags) add(cmd *cobra.Command, keys ...string) *cobra.Command {
	flags.configFlags = addConfigFlags(cmd, keys...)
	cmd.Flags().BoolVar(&flags.dryRun, "dry-run", false, "show what would be done, and do nothing")
	cmd.Flags().Bool("json", false, "print JSON")
	cmd.Args = cobra.MaximumNArgs(1)

	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		flags.layered, err = flags.read()
		flags.folder = append(args, flags.layered.Backup.Into)[0]
		if err == nil && flags.folder == "" {
			return fail(exitUsage, "give the folder: "+cmd.CommandPath()+" DIR; or set into in [backup]",
				errors.New("cannot find the backup folder: none is given, and backup.into is not set"))
		}
		if err != nil {
			return fail(exitUsage, "run: ninepocket config check, with the same flags", err)
		}

		layered := &flags.layered
		flags.places = map[string]string{
			backup.Store: layered.Store, backup.State: layered.State, backup.Feed: layered.Feed.Into,
			backup.Mapping: layered.Daily.Mapping,
		}

		flags.progress = newProgress(cmd)
		err = run(cmd, args)
		flags.progress.Stop()
		if err == nil && flags.dryRun {
			cmd.PrintErrln("note: this was a dry run, which changed nothing")
		}
		if errors.Is(err, access.ErrCorrupt) {
			return fail(exitRefused, damageHint(layered.State, err), err)
		}
		return withHint(err, backupHints, flags.folder)
	}
	return cmd
}

func backupCommand() *cobra.Command {
	var flags backupFlags
	var list bool
	var retain int
	cmd := &cobra.Command{
		Use: "backup [DIR]", Short: "Copy state, store, archived days, mapping and configuration, while a server runs",
		Long: "Copies state, store, archived days, mapping and configuration into DIR. The backup has every call\n" +
			"that was acknowledged before, and one moment of the store. Files that DIR has already are not copied\n" +
			"again. Passwords of the configuration are masked. DIR is for its owner alone (0700), and belongs on\n" +
			"another disk.\n\n" +
			"With control it also runs pg_dump. Redis is not copied: in a new Redis minutes start again, and\n" +
			"servers report their charges. To try a backup: ninepocket restore DIR --check.",
		Example: "  ninepocket backup /backup --keep 14\n  ninepocket backup /backup --list",

		RunE: func(cmd *cobra.Command, _ []string) error {
			if list {
				return flags.list()
			}
			if !cmd.Flags().Changed("keep") {
				retain = flags.layered.Backup.RetainCount
			}
			return flags.make(retain)
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "list the backups in DIR instead, the newest first")
	cmd.Flags().IntVar(&retain, "keep", 0, "keep the newest `N` backups, 0 for all (default: backup.keep)")
	return flags.add(cmd, "store", "state", "control")
}

// make makes a backup.
func (flags *backupFlags) make(retain int) error {
	layered := &flags.layered
	if layered.UsesBucket() {
		flags.cmd.PrintErrln("note: a store that is a bucket is not in the backup")
		delete(flags.places, backup.Store)
	}
	var wrong settings.Problems
	wrong.AddIf(layered.Store == "" || layered.State == "",
		"cannot back up: the store or the state directory is not given")
	wrong.AddIf(retain < 0, "cannot use --keep %d: want 0 or more", retain)
	if err := wrong.Err(); err != nil {
		return fail(exitUsage, "set store and state in the configuration", err)
	}

	var text bytes.Buffer
	layered.Print(&text)
	job := backup.Job{
		Now: time.Now(), Places: flags.places, Configuration: text.Bytes(), Control: layered.Control,
		Retain: retain, DryRun: flags.dryRun, Progress: flags.progress.Update,
	}
	made, err := job.Run(flags.cmd.Context(), flags.folder)
	if err != nil {
		return err
	}
	if layered.Control != "" {
		flags.cmd.PrintErrln("note: Redis is not in the backup: a new Redis starts minutes and stored responses again")
	}
	return printResult(flags.cmd, made, func(out *bufio.Writer) {
		fmt.Fprintf(out, "backup %s: %d files, %s; %d new ones, %s\n", made.ID, made.Count, term.Size(made.Bytes),
			made.NewFiles, term.Size(made.NewBytes))
		for _, id := range made.Removed {
			fmt.Fprintf(out, "removed %s\n", id)
		}
	})
}

// list lists the backups.
func (flags *backupFlags) list() error {
	all, err := backup.List(flags.folder)
	if err != nil {
		return err
	}
	for _, b := range all {
		b.Files = nil // a script wants rows
	}

	cells := func(b *backup.Backup) []any {
		drill := "never"
		switch {
		case b.Damage != "":
			drill = b.Damage
		case b.Good:
			drill = "good at " + b.Drilled.Format(time.RFC3339)
		case !b.Drilled.IsZero():
			drill = "bad at " + b.Drilled.Format(time.RFC3339)
		}
		return []any{b.ID, time.Since(b.At).Round(time.Second), b.Count, term.Size(b.Bytes), drill}
	}
	return printTable(flags.cmd, all, "ID\tAGE\tFILES\tSIZE\tDRILL", cells)
}

func restoreCommand() *cobra.Command {
	var flags backupFlags
	var check bool
	var into, id string
	cmd := &cobra.Command{
		Use: "restore [DIR]", Short: "Restore a backup into empty folders, or check that it can be restored",
		Long: "Restores the whole backup, or nothing. The places of the configuration must be empty. Each file is\n" +
			"compared with its hash, and all get their names at the end. Tenants that were deleted since the\n" +
			"backup are deleted again. With --into everything goes below one folder, the configuration too: fill\n" +
			"in values that read ***.\n\n" +
			"With --check it is a drill: it reads everything in DIR and restores into a temporary folder\n" +
			"(TMPDIR). It verifies snapshots, state, days and configuration there, and stores the result. A fault\n" +
			"ends with exit code 3.",
		Example: "  ninepocket restore /backup --check\n  ninepocket restore /backup --into /var/lib/ninepocket",

		RunE: func(cmd *cobra.Command, _ []string) error {
			// One folder for all, in place of what is configured.
			if into != "" {
				flags.places[backup.Configuration] = into
				for part := range flags.places {
					flags.places[part] = filepath.Join(into, part)
				}
			}
			work := backup.Restore{
				ID: id, Now: time.Now().UTC(), Places: flags.places, DryRun: flags.dryRun,
				Delete: deleteAgain, Progress: flags.progress.Update,
			}
			if check {
				return flags.drill(work)
			}

			done, err := work.Run(cmd.Context(), flags.folder)
			if err != nil {
				return err
			}
			return printResult(cmd, done, func(out *bufio.Writer) { flags.printRestored(out, done) })
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "try it in a temporary place, and verify everything")
	cmd.Flags().StringVar(&id, "backup", "", "`ID` of the backup (default: the newest)")
	cmd.Flags().StringVar(&into, "into", "", "restore below this `DIR`, and the configuration too")
	return flags.add(cmd, "store", "state")
}

func (flags *backupFlags) printRestored(out *bufio.Writer, done *backup.Restored) {
	fmt.Fprintf(out, "backup %s: %d files, %s\n", done.ID, done.Count, term.Size(done.Bytes))
	for _, part := range slices.Sorted(maps.Keys(done.Places)) {
		fmt.Fprintf(out, "%-13s  %s\n", part, done.Places[part])
	}
	fmt.Fprintf(out, "%d tombstones of deleted tenants are in the folder; deleted again: %d\n", done.Tombstones,
		done.Deleted)
	if done.Dump != "" {
		fmt.Fprintln(out, "the database is for you to restore: pg_restore --dbname URL "+done.Dump)
	}
}

// deleteAgain deletes tenants of a restored state directory, but not those that came back under the name.
func deleteAgain(ctx context.Context, state string, stones []tombstone.Tombstone) (deleted int, err error) {
	file, err := keys.Read(state)
	if errors.Is(err, keys.ErrShared) {
		return 0, nil // the names of a fleet are in its database
	}
	if err != nil {
		return 0, err
	}

	for _, stone := range stones {
		for name := range maps.Clone(file.Tenants) {
			// A key that is newer is of somebody who came back.
			newer := func(key *keys.Key) bool { return key.CreatedAt.After(stone.At) }
			if err == nil && stone.Of(name) && !slices.ContainsFunc(file.KeysOf(name), newer) {
				err = registry.DirStore(state).DeleteTenant(ctx, name, stone.Opaque, stone.At)
				// A later tombstone of the name is of another tenant.
				delete(file.Tenants, name)
				deleted++
			}
		}
	}
	return deleted, err
}

// drill tries a backup.
func (flags *backupFlags) drill(work backup.Restore) error {
	read := func(file string) error {
		_, err := settings.Read(file, nil, func(string) {})
		return err
	}
	t, err := work.Check(flags.cmd.Context(), flags.folder, read)
	if err != nil {
		return err
	}

	err = printResult(flags.cmd, t, func(out *bufio.Writer) {
		fmt.Fprintf(out, "restored backup %s: %d files, %s\n", t.ID, t.Count, term.Size(t.Bytes))
		for _, what := range slices.Sorted(maps.Keys(t.Verified)) {
			fmt.Fprintf(out, "verified %s: %d\n", strings.ReplaceAll(what, "_", " "), t.Verified[what])
		}
		for _, problem := range t.Problems {
			fmt.Fprintln(out, "wrong: "+problem)
		}
		if t.Good {
			fmt.Fprintln(out, "everything is whole")
		}
	})
	if err == nil && !t.Good {
		again := shellWords([]string{"ninepocket", "backup", flags.folder})
		err = fail(exitRefused, "run: "+again+", which copies again what is whole in its place; a backup that stays "+
			"damaged goes with --keep",
			fmt.Errorf("cannot vouch for backup folder %q: %d problems", flags.folder, len(t.Problems)))
	}
	return err
}
