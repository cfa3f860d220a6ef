package main

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"ninepocket/access"
	"ninepocket/snapshot"
)

// remedy is the exit code of an error and what an operator does about it; FOLDER in it stands for
// the directory that the command works on.
type remedy struct {
	of   error
	code int
	hint string
}

// storeRemedies are for errors of a snapshot store: damage is refused, the rest failed.
var storeRemedies = []remedy{
	{snapshot.ErrDamaged, exitRefused,
		"build the snapshot again, or publish a whole one: ninepocket snapshot list --store FOLDER"},
	{snapshot.ErrNewerFormat, exitRefused, "use the version of ninepocket that built it, or a newer one"},
	{snapshot.ErrNoStore, exitFailure,
		"look at --store, or build a first snapshot: ninepocket snapshot build --store FOLDER --source KIND:PATH"},
	{fs.ErrPermission, exitFailure, "run this as the user that the store belongs to"},
	{snapshot.ErrNoCurrent, exitFailure,
		"build a first snapshot without --base, or run: ninepocket snapshot publish ID --store FOLDER"},
	{snapshot.ErrNotFound, exitFailure, lookAtList},
	{snapshot.ErrNoPrevious, exitFailure, lookAtList},
	{snapshot.ErrNotHeld, exitFailure, lookAtList},
}

const lookAtList = "run: ninepocket snapshot list --store FOLDER"

// stateRemedies are for errors of a state directory.
var stateRemedies = []remedy{
	{access.ErrNoSuchKey, exitFailure, "run: ninepocket keys list --state FOLDER"},
	{access.ErrPlanDiffers, exitFailure,
		"the plan belongs to the tenant: add --change-plan to change it for all of its keys"},
	{access.ErrNoKeysFile, exitFailure, "give the state directory that serve uses, or begin one: " +
		"ninepocket keys create --state FOLDER --tenant NAME --surface live --plan free"},
	{fs.ErrPermission, exitFailure,
		"run this as the user that the server runs as: only that one can read the state directory"},
	{access.ErrCorrupt, exitFailure, "restore the file from a copy; a running server goes on with the last good one"},
	{syscall.ENOTDIR, exitFailure, wantsState},
	{syscall.EISDIR, exitFailure, wantsState},
}

const wantsState = "--state wants the directory that serve uses"

// asFailure gives an error the remedy that it has, if any; a failure has its own.
func asFailure(err error, remedies []remedy, folder string) error {
	if _, known := errors.AsType[*failure](err); known || err == nil {
		return err
	}

	code, hint := remedyOf(err, remedies, folder)
	return fail(code, hint, err)
}

// remedyOf finds the remedy of an error; the hint is "" when nobody knows one.
func remedyOf(err error, remedies []remedy, folder string) (code int, hint string) {
	for _, r := range remedies {
		if errors.Is(err, r.of) {
			return r.code, strings.ReplaceAll(r.hint, "FOLDER", folder)
		}
	}
	return exitFailure, ""
}

// folderFlags are what every command takes that works on a store or on a state directory.
type folderFlags struct {
	folder string
	asJSON bool
}

// add adds the flags to a command, and the remedies to what it fails with.
func (f *folderFlags) add(cmd *cobra.Command, name, help string, remedies []remedy) *cobra.Command {
	cmd.Flags().StringVar(&f.folder, name, "", help)
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	require(cmd, name)

	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return asFailure(run(cmd, args), remedies, f.folder)
	}
	return cmd
}

// storeFlags are the flags of the snapshot commands.
type storeFlags struct{ folderFlags }

func (s *storeFlags) add(cmd *cobra.Command) *cobra.Command {
	return s.folderFlags.add(cmd, "store", "snapshot store `DIR`", storeRemedies)
}

// addStored adds the flags to a command that wants a store to be there: a misspelt folder is no
// empty store. The arguments of such commands are snapshots, whose ids they get.
func (s *storeFlags) addStored(cmd *cobra.Command) *cobra.Command {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := s.dir().Exists(); err != nil {
			return err
		}

		ids := make([]string, len(args))
		for i, given := range args {
			var err error
			ids[i], err = s.resolve(given)
			if err != nil {
				return err
			}
		}
		return run(cmd, ids)
	}
	return s.add(cmd)
}

func (s *storeFlags) dir() *snapshot.Dir { return snapshot.OpenDir(s.folder) }

// stateFlags are the flags of the commands that read or change a state directory.
type stateFlags struct{ folderFlags }

func (s *stateFlags) add(cmd *cobra.Command) *cobra.Command {
	return s.folderFlags.add(cmd, "state", "state `DIR` of the server", stateRemedies)
}

// require marks flags as required.
func require(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		if err := cmd.MarkFlagRequired(name); err != nil {
			// The flag was not defined: a mistake in the command.
			panic(err)
		}
	}
}
