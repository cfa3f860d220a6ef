package main

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"ninepocket/access/keys"
	"ninepocket/fleet/control"
	"ninepocket/internal/registry"
	"ninepocket/internal/settings"
)

// controlHints are for errors of the control database. FOLDER stands for its URL.
var controlHints = []errorHint{
	hint(exitFailure, "look at --control, and whether PostgreSQL runs there and lets this machine in (pg_hba.conf)",
		control.ErrUnavailable),
	hint(exitFailure, "look at the password of --control; after an upgrade give a command as np_admin (ninepocket "+
		"fleet status), then run deploy/fleet/roles.sql; without roles: create database NAME owner USER",
		control.ErrPermission),
	hint(exitFailure, "use one version of ninepocket for all servers, and PostgreSQL 14 or later",
		control.ErrSchemaVersion),
	hint(exitUsage, "--control wants postgres://USER@HOST/DATABASE", control.ErrURL),
	hint(exitFailure,
		"create one: ninepocket keys create --control FOLDER --tenant NAME --surface live --plan free; or "+
			"take those of one machine: ninepocket fleet import --control FOLDER --state DIR", registry.ErrNoKeys),
	hint(exitFailure, "run: ninepocket fleet status --control FOLDER", control.ErrNoSuchServer,
		control.ErrServerAlive),
	hint(exitFailure, "run: ninepocket keys list --control FOLDER", keys.ErrNoSuchKey),
	hint(exitFailure, "run: ninepocket tenants list --control FOLDER", keys.ErrNoSuchTenant),
	hint(exitFailure, "run: ninepocket tenants resume TENANT --reason TEXT --control FOLDER", keys.ErrSuspendedTenant),
}

// accountFlags are the flags of commands on the keys or bills of one machine or of a fleet.
type accountFlags struct {
	folder, control string
	dry             bool
	registry.Store
}

// addDryRun adds --dry-run to a command that changes keys. It comes before add.
func (flags *accountFlags) addDryRun(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&flags.dry, "dry-run", false, dryRunHelp)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if flags.dry {
			cmd.PrintErrln("note: a dry run: nothing is changed")
			flags.Store = registry.DryRun{Store: flags.Store}
		}
		return run(cmd, args)
	}
	return cmd
}

// add adds the flags to a command, and hints to its errors. The store is open while the command
// runs.
func (flags *accountFlags) add(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&flags.folder, "state", "", "state `DIR` of the server"+ofConfiguration)
	cmd.Flags().StringVar(&flags.control, "control", "", "PostgreSQL `URL` of a fleet, instead of --state")
	cmd.Flags().Bool("json", false, "print JSON")
	// Where the configuration has both, the machine belongs to a fleet.
	configured(cmd, needed, "control", "state")

	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("state") && cmd.Flags().Changed("control") {
			return fail(exitUsage, "",
				errors.New("cannot use --state and --control: keys and bills are in one of them"))
		}
		if flags.control == "" {
			flags.Store = registry.DirStore(flags.folder)
			return withHint(run(cmd, args), stateHints, flags.folder)
		}

		return withControl(cmd, flags.control, func(db *control.DB) error {
			flags.Store = registry.ControlStore{DB: db}
			return run(cmd, args)
		})
	}
	return cmd
}

// withControl opens the control database and calls do with it.
func withControl(cmd *cobra.Command, url string, do func(*control.DB) error) error {
	db, err := control.Open(cmd.Context(), url)
	if err == nil {
		defer db.Close()
		err = do(db)
	}
	return withHint(err, slices.Concat(controlHints, stateHints), settings.Redact(url))
}

// plans returns the plans that keys may have: those of the configuration, and of a fleet's database, which win.
func (flags *accountFlags) plans(ctx context.Context, config string) (keys.Plans, []control.PlanChange, error) {
	plans, err := settings.Plans(config)
	if err != nil {
		return nil, nil, err
	}
	changes, err := flags.PlanChanges(ctx)
	return plans.With(control.PlansAfter(changes)), changes, err
}

// record appends a change to the key log. The keys are changed already, so an error is only
// printed.
func record(cmd *cobra.Command, in registry.Store, change registry.Change) {
	change.By = currentUser()
	if err := registry.Record(cmd.Context(), in, change); err != nil {
		cmd.PrintErrf("note: the command is not in the record: %v\n", err)
	}
}
