package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/access/keys"
	"ninepocket/fleet/control"
	"ninepocket/internal/registry"
	"ninepocket/internal/settings"
)

// issuedKey is the output of create and rotate, which is shown once.
type issuedKey struct {
	ID        string     `json:"id"`
	Key       string     `json:"key"`
	Tenant    string     `json:"tenant"`
	Surface   string     `json:"surface"`
	Plan      string     `json:"plan"`
	Name      string     `json:"name,omitempty"`
	Scopes    []string   `json:"scopes,omitempty"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

// issueTo returns a change of a keys file that creates a key, and describes it in made. The plan is
// the tenant's, which may have had another one before.
func issueTo(made *issuedKey, create func(*keys.File) (*keys.Key, string, error)) func(*keys.File) error {
	return func(file *keys.File) error {
		key, text, err := create(file)
		if err == nil {
			*made = issuedKey{
				ID: key.ID, Key: text, Tenant: key.Tenant, Surface: key.Surface,
				Plan: file.Tenants[key.Tenant].PlanOf(key.Surface), Name: key.Name, Scopes: key.Scopes,
				ExpiresAt: key.ExpiresAt,
			}
		}
		return err
	}
}

func (issued *issuedKey) change(command string, now time.Time) registry.Change {
	return registry.Change{
		At: now, Command: command, Tenant: issued.Tenant, Key: issued.ID, Surface: issued.Surface, Plan: issued.Plan,
	}
}

// print prints the key alone on stdout, for scripts without JSON. A dry run made none.
func (issued *issuedKey) print(cmd *cobra.Command, dry bool) error {
	if dry {
		issued.ID = ""
		issued.Key = ""
		return printLine(cmd, issued, "a key of tenant %s on %s, plan %s", issued.Tenant, issued.Surface,
			issued.Plan)
	}
	if !wantsJSON(cmd) {
		defer cmd.PrintErrf("key %s of tenant %s, plan %s: it is shown this once, only its hash is kept\n",
			issued.ID, issued.Tenant, issued.Plan)
	}
	return printLine(cmd, issued, "%s", issued.Key)
}

// createFlags are the flags of keys create.
type createFlags struct {
	accountFlags
	keys.NewKey
	surface, expires string
	config           string
	scopes           []string
	credits          int64
}

func keysCreate() *cobra.Command {
	var flags createFlags
	cmd := &cobra.Command{
		Use:     "create --tenant T --surface live|preview|sandbox --plan P",
		Short:   "Create a key and print it once",
		Example: "  ninepocket keys create --state state --tenant acme --surface live --plan starter",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return flags.run(cmd, time.Now()) },
	}

	f := cmd.Flags()
	f.StringVar(&flags.Tenant, "tenant", "", "`NAME` of the organization that the key belongs to")
	f.StringVar(&flags.surface, "surface", "live", "live, preview or sandbox")
	f.StringVar(&flags.Plan, "plan", "",
		"plan of the tenant: free, starter, pro, business, unlimited, preview, or a configured one")
	f.StringSliceVar(&flags.scopes, "scopes", nil, "scopes of a preview key (default: all)")
	f.StringVar(&flags.expires, "expires", "", "`TIME` when the key stops working, RFC 3339")
	f.StringVar(&flags.Name, "name", "", "a name for people")
	f.Int64Var(&flags.credits, "credits", 0, "credits a period of a preview tenant (default: the plan's)")
	f.BoolVar(&flags.ChangePlan, "change-plan", false,
		"let --plan and --credits replace what the tenant has on the surface")
	f.StringVar(&flags.config, "config", "",
		"TOML configuration `FILE` of the server, for plans that are not built in (default: $NINEPOCKET_CONFIG)")
	require(cmd, "tenant", "plan")
	return flags.add(flags.addDryRun(cmd))
}

func (flags *createFlags) run(cmd *cobra.Command, now time.Time) error {
	if cmd.Flags().Changed("credits") {
		flags.Credits = &flags.credits
	}
	if err := flags.read(cmd.Context(), now); err != nil {
		return err
	}

	// Read before the change, which creates a state directory.
	_, before := flags.ReadKeys(cmd.Context())
	var made issuedKey
	planBefore := ""
	err := flags.UpdateKeys(cmd.Context(), issueTo(&made, func(file *keys.File) (*keys.Key, string, error) {
		if tenant := file.Tenants[flags.Tenant]; tenant != nil {
			planBefore = tenant.PlanOf(flags.surface)
		}
		return file.Create(flags.NewKey, now)
	}))
	if err != nil {
		return err
	}

	if errors.Is(before, keys.ErrNoFile) {
		// No server knows a key in a misspelt folder.
		cmd.PrintErrf("note: state directory %q is new\n", flags.folder)
	}
	change := made.change("create", now)
	change.PlanBefore = planBefore
	record(cmd, flags.Store, change)
	return made.print(cmd, flags.dry)
}

// read parses the flags that are more than text. The error names every problem.
func (flags *createFlags) read(ctx context.Context, now time.Time) error {
	var wrong settings.Problems
	var err error
	flags.Surface, err = keys.ParseSurface(flags.surface)
	wrong.Add(err)
	flags.Scopes, err = keys.ParseScopes(flags.scopes)
	wrong.Add(err)

	if flags.expires != "" {
		flags.Expires = new(wrong.ParseTime("expires", flags.expires, "2027-01-31T00:00:00Z"))
	}

	// An invalid surface or scope is reported already.
	if wrong.Err() == nil {
		wrong.Add(flags.Validate(now))
		wrong.Add(flags.checkPlan(ctx, flags.Plan, flags.Surface, flags.config))
	}
	return fail(exitUsage, "", wrong.Err())
}

// checkPlan refuses a plan that neither the server's configuration nor the fleet's database has: its keys would
// get 503. Without a configuration only the built-in plans are known.
func (flags *accountFlags) checkPlan(ctx context.Context, plan string, surface keys.Surface, config string) error {
	plans, changes, err := flags.plans(ctx, config)
	if err != nil {
		return err
	}
	where := "the built-in plans: name the server's configuration by --config"
	if path := settings.File(config); path != "" {
		where = "those of " + path
	}
	if len(changes) > 0 {
		where = "those of the database of the fleet, nor of " + where
	}

	if plan == "" {
		return fmt.Errorf(`cannot create a key of plan "": want one of %s`, strings.Join(plans.Names(), ", "))
	}
	// A sandbox key gets no data, so it needs no plan.
	if surface != keys.Sandbox && plans[plan] == nil {
		return fmt.Errorf("cannot create a key of plan %q: it is none of %s (%s)",
			plan, where, strings.Join(plans.Names(), ", "))
	}
	return nil
}

// update changes existing keys: only create creates a state directory.
func (flags *accountFlags) update(ctx context.Context, change func(*keys.File) error) error {
	if _, err := flags.ReadKeys(ctx); err != nil {
		return err
	}
	return flags.UpdateKeys(ctx, change)
}

// listedKey is a row of keys list; it has neither the key nor its hash.
type listedKey struct {
	ID        string     `json:"id"`
	Tenant    string     `json:"tenant"`
	Surface   string     `json:"surface"`
	Plan      string     `json:"plan"`
	Status    string     `json:"status"`
	Name      string     `json:"name,omitempty"`
	Scopes    []string   `json:"scopes,omitempty"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt *time.Time `json:"expires_at"`
	RevokedAt *time.Time `json:"revoked_at"`
	LastUsed  *time.Time `json:"last_used_at"`
	RotatedTo string     `json:"rotated_to,omitempty"` // its successor; this key works until expires_at
	// Credits are those of a preview tenant, null for the plan's.
	Credits *int64 `json:"credits,omitempty"`
}

// listKeys reads and describes all keys.
func (flags *accountFlags) listKeys(ctx context.Context) ([]listedKey, *keys.File, error) {
	file, err := flags.ReadKeys(ctx)
	if err != nil {
		return nil, nil, err
	}
	// The last use is in the ledger, which a server may be writing.
	used, err := flags.ReadLastUse(ctx)
	if err != nil {
		return nil, nil, err
	}

	now := time.Now()
	// An empty list is [] for scripts, and never null.
	rows := []listedKey{}
	for _, key := range file.Keys {
		row := listedKey{
			ID: key.ID, Tenant: key.Tenant, Surface: key.Surface,
			Plan:   file.Tenants[key.Tenant].PlanOf(key.Surface),
			Status: key.Status(now), Name: key.Name, Scopes: key.Scopes, CreatedAt: key.CreatedAt,
			ExpiresAt: key.ExpiresAt, RevokedAt: key.RevokedAt, RotatedTo: key.RotatedTo,
		}
		if key.Surface == keys.Preview.String() {
			row.Credits = file.Tenants[key.Tenant].Credits
		}
		if at, ok := used[key.ID]; ok {
			row.LastUsed = &at
		}
		rows = append(rows, row)
	}
	return rows, file, nil
}

const keyHeader = "ID\tTENANT\tSURFACE\tPLAN\tSTATUS\tEXPIRES\tSCOPES\tCREDITS\tLAST USED\tNAME"

func keysList() *cobra.Command {
	var flags accountFlags
	return flags.add(&cobra.Command{
		Use: "list", Short: "List keys, never their text", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rows, _, err := flags.listKeys(cmd.Context())
			if err != nil {
				return err
			}
			return printTable(cmd, rows, keyHeader, listedKey.cells)
		},
	})
}

// orNever returns an instant as text.
func orNever(at *time.Time) string {
	if at == nil {
		return "never"
	}
	return at.UTC().Format(time.RFC3339)
}

func (r listedKey) cells() []any {
	status := r.Status
	if r.RotatedTo != "" && status == "active" {
		// It works in addition to its successor, until it expires.
		status = "rotated"
	}

	credits := ""
	if r.Surface == keys.Preview.String() {
		credits = "plan's"
	}
	if r.Credits != nil {
		credits = strconv.FormatInt(*r.Credits, 10)
	}
	return []any{
		r.ID, r.Tenant, r.Surface, r.Plan, status, orNever(r.ExpiresAt), strings.Join(r.Scopes, ","), credits,
		orNever(r.LastUsed), r.Name,
	}
}

func keysRevoke() *cobra.Command {
	var flags accountFlags
	return flags.add(flags.addDryRun(&cobra.Command{
		Use: "revoke ID", Short: "Revoke a key within 2 seconds", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var key *keys.Key
			now := time.Now()
			err := flags.update(cmd.Context(), func(file *keys.File) (err error) {
				key, err = file.Revoke(args[0], now)
				return err
			})
			if err != nil {
				return err
			}
			record(cmd, flags.Store, registry.Change{
				At: now, Command: "revoke", Tenant: key.Tenant, Key: key.ID, Surface: key.Surface,
			})

			row := map[string]any{"id": key.ID, "revoked_at": key.RevokedAt}
			return printLine(cmd, row, "revoked %s", key.ID)
		},
	}))
}

func keysRotate() *cobra.Command {
	var flags accountFlags
	var overlap time.Duration
	cmd := &cobra.Command{
		Use: "rotate ID", Short: "Replace a key; the old key stays valid for --overlap",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if overlap < 0 {
				return fail(exitUsage, "", fmt.Errorf("cannot use --overlap %s: want 0 or more", overlap))
			}

			var made issuedKey
			now := time.Now()
			err := flags.update(cmd.Context(), issueTo(&made, func(file *keys.File) (*keys.Key, string, error) {
				return file.Rotate(args[0], overlap, now)
			}))
			if err != nil {
				return err
			}

			change := made.change("rotate", now)
			change.From = args[0]
			record(cmd, flags.Store, change)
			return made.print(cmd, flags.dry)
		},
	}

	cmd.Flags().DurationVar(&overlap, "overlap", 24*time.Hour, "how long the old key keeps working")
	return flags.add(flags.addDryRun(cmd))
}

func keysLog() *cobra.Command {
	var flags accountFlags
	return flags.add(&cobra.Command{
		Use: "log", Short: "List the commands that changed keys, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			changes, badLines, err := registry.Changes(cmd.Context(), flags.Store)
			if err != nil {
				return err
			}
			for _, n := range badLines {
				cmd.PrintErrf("note: line %d of the record is none, and is passed over\n", n)
			}

			slices.Reverse(changes)
			return printTable(cmd, changes, "AT\tBY\tCOMMAND\tTENANT\tKEY\tSURFACE\tPLAN\tREASON",
				changeCells)
		},
	})
}

func changeCells(change registry.Change) []any {
	key := change.Key
	if change.From != "" {
		key = change.From + " to " + change.Key
	}
	command := change.Command
	if change.What != "" {
		command += " of " + change.What
	}
	at := change.At.Format(time.RFC3339)
	return []any{at, change.By, command, change.Tenant, key, change.Surface, change.Plan, change.Reason}
}

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
