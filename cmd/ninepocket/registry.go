package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/calendar"
	"ninepocket/fleet/ledger"
)

// registry is where keys and bills are kept: the state directory of one machine, or the database of a
// fleet.
type registry interface {
	ReadKeys(ctx context.Context) (*keys.File, error)
	UpdateKeys(ctx context.Context, change func(*keys.File) error) error
	ReadLedger(ctx context.Context, tenant string, since, until calendar.Day) ([]access.LedgerRow, error)
	ReadLastUse(ctx context.Context) (map[string]time.Time, error)
	// Note adds a line to the record of commands that changed keys; Notes is the record.
	Note(ctx context.Context, line []byte) error
	Notes(ctx context.Context) (io.ReadCloser, error)
	Close()
}

// folder is the registry of one machine.
type folder string

func (f folder) ReadKeys(context.Context) (*keys.File, error) { return keys.Read(string(f)) }

func (f folder) UpdateKeys(_ context.Context, change func(*keys.File) error) error {
	return keys.Update(string(f), change)
}

func (f folder) ReadLedger(_ context.Context, tenant string, since, until calendar.Day) ([]access.LedgerRow, error) {
	return access.ReadLedger(string(f), tenant, since, until)
}

func (f folder) ReadLastUse(context.Context) (map[string]time.Time, error) {
	return access.ReadLastUse(string(f))
}

func (f folder) Note(_ context.Context, line []byte) error {
	return appendLine(filepath.Join(string(f), keyLogName), line)
}

func (f folder) Notes(context.Context) (io.ReadCloser, error) {
	file, err := os.Open(filepath.Join(string(f), keyLogName))
	if errors.Is(err, fs.ErrNotExist) {
		return io.NopCloser(bytes.NewReader(nil)), nil
	}
	return file, err
}

func (f folder) Close() {}

// shared is the registry of a fleet.
type shared struct{ *ledger.DB }

// ReadKeys wants some to be there, as in a state directory.
func (s shared) ReadKeys(ctx context.Context) (*keys.File, error) {
	file, err := s.DB.ReadKeys(ctx)
	if err == nil && len(file.Keys) == 0 {
		err = fmt.Errorf("cannot read keys from %s: %w", s.DB, errNoSharedKeys)
	}
	return file, err
}

func (s shared) Notes(ctx context.Context) (io.ReadCloser, error) {
	lines, err := s.DB.Notes(ctx)
	return io.NopCloser(bytes.NewReader(bytes.Join(lines, []byte("\n")))), err
}

// errNoSharedKeys means: the database of a fleet has no keys yet.
var errNoSharedKeys = errors.New("it has none yet")

// controlRemedies are for errors of the database of a fleet. FOLDER stands for its name.
var controlRemedies = []remedy{
	on(exitFailure, "look at --control, and whether PostgreSQL runs there and lets this machine in (pg_hba.conf)",
		ledger.ErrAway),
	on(exitFailure, "give the user of --control the database: create database NAME owner USER; and look at its "+
		"password", ledger.ErrRefused),
	on(exitFailure, "use one version of ninepocket for all servers, and PostgreSQL 14 or later", ledger.ErrForm),
	on(exitUsage, "--control wants postgres://USER@HOST/DATABASE", ledger.ErrURL),
	on(exitFailure, "create one: ninepocket keys create --control FOLDER --tenant NAME --surface live --plan free; or "+
		"take those of one machine: ninepocket fleet import --control FOLDER --state DIR", errNoSharedKeys),
	on(exitFailure, "run: ninepocket fleet status --control FOLDER", ledger.ErrNoSuchServer, ledger.ErrReports),
	on(exitFailure, "run: ninepocket keys list --control FOLDER", keys.ErrNoSuchKey, keys.ErrNoSuchTenant),
}

// registryFlags are the flags of commands that work on the keys or bills of one machine or of a fleet.
type registryFlags struct {
	stateFlags
	control string
	registry
}

// add adds the flags to a command, and what its errors mean. While the command runs, its registry is
// open.
func (flags *registryFlags) add(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&flags.folder, "state", "", "state `DIR` of the server")
	cmd.Flags().StringVar(&flags.control, "control", "", "PostgreSQL `URL` of a fleet, instead of --state")
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, "print JSON")

	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := flags.choose(cmd); err != nil {
			return err
		}
		if flags.control == "" {
			flags.registry = folder(flags.folder)
			return asFailure(run(cmd, args), stateRemedies, flags.folder)
		}

		db, err := openControl(cmd.Context(), flags.control)
		if err != nil {
			return err
		}
		defer db.Close()
		flags.registry = shared{db}
		return asFailure(run(cmd, args), slices.Concat(controlRemedies, stateRemedies), redact(flags.control))
	}
	return cmd
}

// choose wants one of the two places. Where none is given the environment names it, and that of a
// fleet goes before that of the machine.
func (flags *registryFlags) choose(cmd *cobra.Command) error {
	given := cmd.Flags().Changed
	if !given("state") && !given("control") {
		flags.control = os.Getenv(envPrefix + "CONTROL")
		if flags.control == "" {
			flags.folder = os.Getenv(envPrefix + "STATE")
		}
	}

	if flags.control != "" || given("control") {
		err := checkControl(flags.control)
		if err != nil {
			err = fmt.Errorf("cannot use control %q: %w", redact(flags.control), err)
		}
		if err == nil && given("state") {
			err = errors.New("cannot use --state and --control: keys and bills are in one of them")
		}
		return fail(exitUsage, "", err)
	}
	if flags.folder == "" {
		// As the parser of flags says it.
		return errors.New(`required flag(s) "state" not set`)
	}
	return fail(exitUsage, "", checkFolder("state", flags.folder))
}

// openControl opens the database of a fleet.
func openControl(ctx context.Context, url string) (*ledger.DB, error) {
	db, err := ledger.Open(ctx, url)
	return db, asFailure(err, controlRemedies, redact(url))
}
