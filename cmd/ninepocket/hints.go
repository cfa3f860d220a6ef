package main

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/access/state"
	"ninepocket/access/statedir"
	"ninepocket/internal/registry"
	"ninepocket/node"
	"ninepocket/operate"
	"ninepocket/snapshot"
)

// errorHint is the exit code of errors and a hint for the operator; FOLDER in it stands for the
// directory that the command works on.
type errorHint struct {
	code int
	hint string
	errs []error
}

func hint(code int, hint string, errs ...error) errorHint { return errorHint{code, hint, errs} }

// storeHints are for errors of a snapshot store. Damage is exitRefused, most others are
// exitFailure.
var storeHints = []errorHint{
	// The other hints are about stores.
	hint(exitFailure, "", operate.ErrInput),
	hint(exitFailure, "build the first snapshot without --base", operate.ErrNoBase),
	hint(exitUsage, "run: ninepocket snapshot list --store FOLDER", operate.ErrBaseName),
	hint(exitRefused, "serve the one before and run this again: ninepocket snapshot rollback --store FOLDER; or build "+
		"on another: ninepocket snapshot build --base previous", operate.ErrDamagedBase),
	hint(exitRefused, "build the snapshot again, or publish a whole one: ninepocket snapshot list --store FOLDER",
		snapshot.ErrDamaged),
	hint(exitRefused, "use the version of ninepocket that built it, or a newer one", snapshot.ErrNewerFormat),
	hint(exitFailure, "look at --store, and whether its disk is mounted; or build a first snapshot: "+
		"ninepocket snapshot build --store FOLDER --source KIND:PATH", snapshot.ErrNoStore),
	hint(exitFailure,
		"run this as the user that the store belongs to, or give FOLDER back to that one (chown -R), and "+
			"the folders above it their permissions", fs.ErrPermission),
	hint(exitFailure, "build a first snapshot without --base, or run: ninepocket snapshot publish ID --store FOLDER",
		snapshot.ErrNoCurrent),
	hint(exitFailure, "run: ninepocket snapshot list --store FOLDER",
		snapshot.ErrNotFound, snapshot.ErrNoPrevious, snapshot.ErrNotPinned),
	hint(exitFailure, "--store wants the folder of a store", syscall.ENOTDIR, syscall.EISDIR),
}

// stateHints are for errors of a state directory.
var stateHints = []errorHint{
	hint(exitFailure, "the tenant is deleted; look at the log of the server for why it writes no checkpoint",
		registry.ErrNameStays),
	hint(exitFailure, "run: ninepocket keys list --state FOLDER", keys.ErrNoSuchKey),
	hint(exitFailure,
		"the plan belongs to the tenant: add --change-plan to change it for all of its keys of the surface",
		keys.ErrPlanDiffers),
	hint(exitFailure, "credits belong to the tenant: add --change-plan to change them for all of its preview keys, or "+
		"leave --credits out", keys.ErrCreditsDiffer),
	hint(exitFailure, "run this as root, or as the user that the server runs as, such as: runuser -u ninepocket -- "+
		"ninepocket ...; nothing was changed", statedir.ErrOwner),
	hint(exitFailure,
		"give the copy a folder with room that this user may write to; nothing of the copy was left, and "+
			"the state directory is unchanged", state.ErrCopy),
	hint(exitFailure, "look at --state, and whether its disk is mounted; or begin a state directory: "+
		"ninepocket keys create --state FOLDER --tenant NAME --surface live --plan free", keys.ErrNoFile),
	hint(exitFailure, "run this as the user that the server runs as, or give FOLDER back to that one (chown -R), and "+
		"the folders above it their permissions", fs.ErrPermission),
	hint(exitFailure, "give --control instead of --state", keys.ErrShared),
	hint(exitRefused, "restore keys.json from a copy; without one, stop the server, run: "+
		"ninepocket state repair --accept-keys --state FOLDER, and create new keys; a running server goes on with the "+
		"last good ones", keys.ErrMissing),
	hint(exitRefused, "if keys.json was edited on purpose, stop the server and run: ninepocket state repair "+
		"--accept-keys --state FOLDER; else restore it from a copy; a running server goes on with the last good one",
		keys.ErrEdited),
	hint(exitRefused,
		"restore keys.json from a copy, or repair the edit; without one, stop the server, move "+
			"keys.json away, run: ninepocket state repair --accept-keys --state FOLDER, and create keys; a running "+
			"server goes on with the last good ones", keys.ErrDamaged),
	hint(exitRefused,
		"restore the file `incarnation` from a copy of FOLDER: without it the reports of this machine to the "+
			"fleet would be counted twice", statedir.ErrServerID),
	hint(exitNotReady, "run: ninepocket keys create --state FOLDER --tenant NAME --surface live --plan free",
		node.ErrNoKeys),
	hint(exitRefused, "run: ninepocket state verify --state FOLDER; then restore a copy, or stop the server and run: "+
		"ninepocket state repair --state FOLDER", access.ErrCorrupt),
	hint(exitFailure, "a server runs on this directory, or another command holds it: one state directory serves one "+
		"process", statedir.ErrLocked),
	hint(exitFailure, "run: ninepocket tenants list --state FOLDER", keys.ErrNoSuchTenant),
	hint(exitFailure, "run: ninepocket tenants resume TENANT --reason TEXT --state FOLDER", keys.ErrSuspendedTenant),
	hint(exitFailure, "--state wants the directory that serve uses", syscall.ENOTDIR, syscall.EISDIR),
}

// diskHints are for errors that any folder may have. Most are temporary.
var diskHints = []errorHint{
	hint(exitFailure, "make room on the disk of FOLDER", syscall.ENOSPC, syscall.EDQUOT),
	hint(exitFailure, "the disk of FOLDER is mounted read-only", syscall.EROFS),
	hint(exitFailure, "the process has no file descriptor left: raise LimitNOFILE", syscall.EMFILE),
	hint(exitFailure, "the system has no file descriptor left: look at /proc/sys/fs/file-nr", syscall.ENFILE),
	hint(exitFailure, "the disk of FOLDER failed: look at the kernel's log", syscall.EIO),
	hint(exitFailure, "the mount of FOLDER does not answer: look at it and at its server", keys.ErrTimeout,
		syscall.ESTALE, syscall.ENOTCONN, syscall.EHOSTDOWN, syscall.ETIMEDOUT),
	hint(exitFailure, "the machine has no memory for this", syscall.ENOMEM),
}

// portHints are for addresses that cannot be bound.
var portHints = []errorHint{
	hint(exitFailure, "another program holds the port; port 0 picks a free one", syscall.EADDRINUSE),
	hint(exitFailure, "no interface of this machine has the address, or none has it yet", syscall.EADDRNOTAVAIL),
	hint(exitFailure, "a port below 1024 wants the capability CAP_NET_BIND_SERVICE", fs.ErrPermission),
}

// isAny reports whether an error is one of several.
func isAny(err error, several ...error) bool {
	return slices.ContainsFunc(several, func(known error) bool { return errors.Is(err, known) })
}

// withHint adds the exit code and hint of an error, unless it is an exitError, which has its own.
func withHint(err error, hints []errorHint, folder string) error {
	if _, known := errors.AsType[*exitError](err); known || err == nil {
		return err
	}

	code, hint := findHint(err, hints, folder)
	return fail(code, hint, err)
}

// findHint finds the exit code and hint of an error; the hint is "" if there is none.
func findHint(err error, hints []errorHint, folder string) (code int, hint string) {
	// A full disk causes many errors, some of which have a better hint.
	for _, known := range slices.Concat(hints, diskHints) {
		if isAny(err, known.errs...) {
			return known.code, strings.ReplaceAll(known.hint, "FOLDER", folder)
		}
	}
	return exitFailure, ""
}

// hintOf returns the hint that an error has already.
func hintOf(err error) string {
	if known, ok := errors.AsType[*exitError](err); ok {
		return known.hint
	}
	return ""
}

// unreadableHint returns a hint if the configuration file exists and could not be read: then the
// file has no mistake.
func unreadableHint(err error) (hint string, is bool) {
	failed, is := errors.AsType[*fs.PathError](err)
	if !is || errors.Is(err, fs.ErrNotExist) {
		return "", false
	}
	_, hint = findHint(err, nil, failed.Path)
	if errors.Is(err, fs.ErrPermission) {
		hint = "let the user that runs this read " + failed.Path
	}
	return hint, hint != ""
}

// addFolder adds the flag of the folder that a command works on, and --json, and hints to its errors.
func addFolder(cmd *cobra.Command, folder *string, name, help string, hints []errorHint) *cobra.Command {
	cmd.Flags().StringVar(folder, name, "", help+ofConfiguration)
	cmd.Flags().Bool("json", false, "print JSON")
	configured(cmd, needed, name)

	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return withHint(run(cmd, args), hints, *folder)
	}
	return cmd
}

// storeFlags are the flags of the snapshot commands.
type storeFlags struct {
	folder string
	dry    bool
}

// addDryRun adds --dry-run to a command that works on the store and on other folders. It comes before add.
func (flags *storeFlags) addDryRun(cmd *cobra.Command, others ...*string) *cobra.Command {
	cmd.Flags().BoolVar(&flags.dry, "dry-run", false, dryRunHelp)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !flags.dry {
			return run(cmd, args)
		}
		end, err := dryRun(cmd, append(others, &flags.folder)...)
		if err != nil {
			return err
		}
		defer end()
		return run(cmd, args)
	}
	return cmd
}

func (flags *storeFlags) add(cmd *cobra.Command) *cobra.Command {
	return addFolder(cmd, &flags.folder, "store", "snapshot store `DIR`", storeHints)
}

// addStored is add for a command on an existing store: a misspelt folder is no empty store. The
// arguments of such commands are snapshots, which addStored resolves to ids.
func (flags *storeFlags) addStored(cmd *cobra.Command) *cobra.Command {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := flags.dir().Exists(); err != nil {
			return err
		}

		ids := make([]string, len(args))
		for i, given := range args {
			var err error
			ids[i], err = operate.Resolve(flags.folder, given)
			if err != nil {
				return err
			}
		}
		return run(cmd, ids)
	}
	return flags.add(cmd)
}

func (flags *storeFlags) dir() *snapshot.Store { return snapshot.OpenStore(flags.folder) }

// stateFlags are the flags of the commands that read or change a state directory.
type stateFlags struct{ folder string }

func (flags *stateFlags) add(cmd *cobra.Command) *cobra.Command {
	return addFolder(cmd, &flags.folder, "state", "state `DIR` of the server", stateHints)
}

// againWith writes a command with the flags of this one.
func againWith(cmd *cobra.Command, words ...string) string {
	words = append([]string{"ninepocket"}, words...)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name == "dry-run" {
			return // what is pasted is meant to do it
		}
		value := f.Value.String()
		if list, is := f.Value.(pflag.SliceValue); is {
			value = strings.Join(list.GetSlice(), ",")
		}
		words = append(words, "--"+f.Name)
		if f.NoOptDefVal == "" {
			words = append(words, value)
		}
	})
	return shellWords(words)
}

// require marks flags as required.
func require(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		if err := cmd.MarkFlagRequired(name); err != nil {
			// The flag is not defined: a programming error.
			panic(err)
		}
	}
}
