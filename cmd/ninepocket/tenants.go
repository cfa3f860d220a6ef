package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/fleet/control"
	"ninepocket/internal/registry"
	"ninepocket/internal/settings"
	"ninepocket/internal/term"
	"ninepocket/internal/tombstone"
)

// tenantRow is a tenant as list, show and export print it.
type tenantRow struct {
	Tenant   string            `json:"tenant"`
	Status   string            `json:"status"` // active, suspended or deleted
	Plans    map[string]string `json:"plans"`  // by surface
	Active   int               `json:"active_keys"`
	LastUsed *time.Time        `json:"last_used_at"`
	Record   *keys.Tenant      `json:"record"`
	Keys     []listedKey       `json:"keys,omitempty"` // not of list
}

const tenantHeader = "TENANT\tSTATUS\tPLANS\tACTIVE KEYS\tLAST USED\tCONTACT"

func (r tenantRow) cells() []any {
	var plans []string
	for _, surface := range slices.Sorted(maps.Keys(r.Plans)) {
		plans = append(plans, surface+" "+r.Plans[surface])
	}
	return []any{r.Tenant, r.Status, strings.Join(plans, ", "), r.Active, orNever(r.LastUsed), r.Record.Contact}
}

// tenants reads all tenants with their keys, or one.
func (flags *accountFlags) tenants(cmd *cobra.Command, only string) ([]tenantRow, error) {
	listed, file, err := flags.listKeys(cmd.Context())
	if err != nil {
		return nil, err
	}

	rows := []tenantRow{}
	for _, name := range slices.Sorted(maps.Keys(file.Tenants)) {
		if only == "" || only == name {
			rows = append(rows, newTenantRow(name, file.Tenants[name], listed))
		}
	}
	if only != "" && len(rows) == 0 {
		return nil, fmt.Errorf("cannot find tenant %q: %w", only, keys.ErrNoSuchTenant)
	}
	return rows, nil
}

func newTenantRow(name string, tenant *keys.Tenant, listed []listedKey) tenantRow {
	row := tenantRow{Tenant: name, Status: "active", Plans: map[string]string{}, Record: tenant}
	switch {
	case keys.IsOpaque(name):
		row.Status = "deleted"
	case tenant.SuspendedAt != nil:
		row.Status = "suspended"
	}

	for _, key := range listed {
		if key.Tenant != name {
			continue
		}

		// Plans of surfaces without a key are in the record alone.
		row.Keys = append(row.Keys, key)
		row.Plans[key.Surface] = key.Plan
		if key.Status == "active" {
			row.Active++
		}
		if key.LastUsed != nil && (row.LastUsed == nil || key.LastUsed.After(*row.LastUsed)) {
			row.LastUsed = key.LastUsed
		}
	}
	return row
}

func tenantsList() *cobra.Command {
	var flags accountFlags
	return flags.add(&cobra.Command{
		Use: "list", Short: "List tenants with status, plans and contact", Args: cobra.NoArgs,
		Long:    "A deleted tenant is listed under the opaque id that its calls stay under.",
		Example: "  ninepocket tenants list --state state",

		RunE: func(cmd *cobra.Command, _ []string) error {
			rows, err := flags.tenants(cmd, "")
			if err != nil {
				return err
			}
			// They are for show: a list has a row a tenant.
			for i := range rows {
				rows[i].Keys = nil
			}
			return printTable(cmd, rows, tenantHeader, tenantRow.cells)
		},
	})
}

func tenantsShow() *cobra.Command {
	var flags accountFlags
	return flags.add(&cobra.Command{
		Use: "show TENANT", Short: "Show a tenant and its keys", Args: cobra.ExactArgs(1),
		Long:    "Shows plans, contact and status of a tenant, and each of its keys with its last use.",
		Example: "  ninepocket tenants show acme --state state",

		RunE: func(cmd *cobra.Command, args []string) error {
			rows, err := flags.tenants(cmd, args[0])
			if err != nil {
				return err
			}
			return printResult(cmd, rows[0], func(out *bufio.Writer) {
				term.Table(out, tenantHeader, rows, tenantRow.cells)
				fmt.Fprintln(out)
				term.Table(out, keyHeader, rows[0].Keys, listedKey.cells)
			})
		},
	})
}

// tenantExport is everything that is stored about a tenant.
type tenantExport struct {
	tenantRow
	Usage   access.LedgerReport `json:"usage"`
	Changes []registry.Change   `json:"changes"`
}

func tenantsExport() *cobra.Command {
	var flags accountFlags
	return flags.add(&cobra.Command{
		Use: "export TENANT", Short: "Print everything that is stored about a tenant, as JSON",
		Args: cobra.ExactArgs(1),
		Long: "Prints plans, contact, keys, the whole ledger and the keys log of a tenant, but neither hashes of\n" +
			"keys nor the answers that are stored for ten minutes. Access logs have its requests besides.",
		Example: "  ninepocket tenants export acme --state state > acme.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			rows, err := flags.tenants(cmd, args[0])
			if err != nil {
				return err
			}
			ledger, err := flags.ReadLedger(cmd.Context(), args[0], 0, lastDay)
			if err != nil {
				return err
			}

			// A torn line of the log is of nobody.
			changes, _, err := registry.Changes(cmd.Context(), flags.Store)
			if err != nil {
				return err
			}
			changes = slices.DeleteFunc(changes, func(change registry.Change) bool { return change.Tenant != args[0] })
			return term.JSON(cmd.OutOrStdout(), tenantExport{rows[0], access.NewLedgerReport(ledger), changes})
		},
	})
}

// tenantFlags are the flags of commands that change a tenant for a reason.
type tenantFlags struct {
	accountFlags
	reason string
}

func (flags *tenantFlags) addReason(cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.ExactArgs(1)
	cmd.Flags().StringVar(&flags.reason, "reason", "", "why, for the keys log")
	require(cmd, "reason")

	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		flags.reason = strings.TrimSpace(flags.reason)
		if flags.reason == "" {
			return fail(exitUsage, "", errors.New("cannot use an empty --reason: readers of the keys log need one"))
		}
		return run(cmd, args)
	}
	return flags.add(flags.addDryRun(cmd))
}

func tenantsSuspend() *cobra.Command {
	return tenantsSwitch(&cobra.Command{
		Use: "suspend TENANT --reason TEXT", Short: "Refuse a tenant's keys until it is resumed",
		Long: "Within a second the keys of the tenant are answered 403 with a detail that says so; keys that are\n" +
			"made meanwhile, too. Counters and quotas stay. A server of an earlier version answers 401.",
		Example: "  ninepocket tenants suspend acme --reason 'the bill of October is open' --state state",
	}, "suspended", (*keys.File).Suspend)
}

func tenantsResume() *cobra.Command {
	return tenantsSwitch(&cobra.Command{
		Use: "resume TENANT --reason TEXT", Short: "Resume a suspended tenant",
		Long: "The keys that the suspension stopped work again within a second, with what was left of their\n" +
			"limits. Keys that were revoked stay so.",
		Example: "  ninepocket tenants resume acme --reason paid --state state",
	}, "resumed", (*keys.File).Resume)
}

// tenantsSwitch makes a command that suspends or resumes.
func tenantsSwitch(cmd *cobra.Command, said string, do func(*keys.File, string, time.Time) error) *cobra.Command {
	var flags tenantFlags
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		change := registry.Change{At: time.Now(), Command: cmd.Name(), Tenant: args[0], Reason: flags.reason}
		err := flags.update(cmd.Context(), func(file *keys.File) error { return do(file, args[0], change.At) })
		if err != nil {
			return err
		}
		record(cmd, flags.Store, change)
		return printLine(cmd, change, said+" %s", args[0])
	}
	return flags.addReason(cmd)
}

func tenantsSetPlan() *cobra.Command {
	var flags accountFlags
	var want keys.NewKey
	var surface, contact string
	var credits int64
	cmd := &cobra.Command{
		Use: "set-plan TENANT --surface live|preview|sandbox --plan P", Args: cobra.ExactArgs(1),
		Short: "Change a tenant's plan, credits or contact; its keys stay",
		Long: "Gives a tenant another plan on a surface, within 2 seconds. Bills count a day to the plan that it\n" +
			"ended with. --contact says whom to write to.",
		Example: "  ninepocket tenants set-plan acme --surface live --plan pro --contact ada@example.com --state state",
	}

	f := cmd.Flags()
	f.StringVar(&surface, "surface", "live", "live, preview or sandbox")
	f.StringVar(&want.Plan, "plan", "", "plan of the surface: a built-in or a configured one")
	f.Int64Var(&credits, "credits", 0, "credits a period of a preview tenant")
	f.StringVar(&contact, "contact", "", "whom to write to; an empty one removes it")

	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		missing := func(name string) bool { return !f.Changed(name) }
		what := slices.DeleteFunc([]string{"plan", "credits", "contact"}, missing)
		change := registry.Change{
			At: time.Now(), Command: "set-plan", Tenant: args[0], Surface: surface, Plan: want.Plan,
			What: strings.Join(what, ", "),
		}
		if f.Changed("credits") {
			want.Credits = &credits
		}

		// Wrong arguments are named at once.
		var wrong settings.Problems
		var err error
		want.Tenant = args[0]
		want.Surface, err = keys.ParseSurface(surface)
		wrong.Add(err)
		wrong.AddIf(len(what) == 0, "cannot change nothing: give --plan, --credits or --contact")
		if err == nil {
			wrong.Add(want.Validate(change.At))
		}
		if f.Changed("plan") {
			wrong.Add(flags.checkPlan(cmd.Context(), want.Plan, want.Surface, f.Lookup("config").Value.String()))
		}
		if wrong.Err() != nil {
			return fail(exitUsage, "", wrong.Err())
		}

		err = flags.update(cmd.Context(), func(file *keys.File) (err error) {
			// Bills of days that are over need the plan before.
			change.PlanBefore, err = file.ChangeTenant(want)
			if err == nil && f.Changed("contact") {
				file.Tenants[args[0]].Contact = strings.TrimSpace(contact)
			}
			return err
		})
		if err != nil {
			return err
		}
		record(cmd, flags.Store, change)
		return printLine(cmd, change, "changed %s of %s", change.What, args[0])
	}
	return flags.add(flags.addDryRun(cmd))
}

// deletedTenant is the output of tenants delete.
type deletedTenant struct {
	Tenant string   `json:"tenant"`
	Opaque string   `json:"opaque"`
	Files  []string `json:"files"` // that still have the name
}

func tenantsDelete() *cobra.Command {
	var flags tenantFlags
	var yes bool
	cmd := &cobra.Command{
		Use: "delete TENANT --reason TEXT", Short: "Delete a tenant's name, contact and keys; its counters stay",
		Long: "The keys stop working at once. Calls, charges and plans stay under an opaque id, so that bills add\n" +
			"up. The command waits until no file of the state directory has the name; servers of a fleet follow\n" +
			"with their next checkpoint. Access logs and backups have it until they are rotated, and are listed.\n" +
			"The folder of [backup] gets a mark without the name, by which a restore deletes the tenant again.",
		Example: "  ninepocket tenants delete acme --reason 'asked for it on 2026-11-20' --state state --yes",
		RunE:    func(cmd *cobra.Command, args []string) error { return flags.delete(cmd, args[0], yes) },
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return flags.addReason(cmd)
}

func (flags *tenantFlags) delete(cmd *cobra.Command, name string, yes bool) error {
	config, err := readConfiguration(cmd, cmd.Flags().Lookup("config").Value.String())
	if err != nil {
		return err
	}
	// Tried on a copy first: a tombstone must not be of a tenant that stays.
	file, err := flags.ReadKeys(cmd.Context())
	if err != nil {
		return err
	}
	out := deletedTenant{Tenant: name, Opaque: keys.MintOpaque(), Files: flags.filesWithNames(&config.Config)}
	now := time.Now()
	if err := file.Delete(name, out.Opaque, now); err != nil {
		return err
	}
	if strings.Contains(flags.reason, name) {
		return fail(exitUsage, "", errors.New("cannot use a --reason with the name: it stays in the keys log"))
	}

	// Only who knows the name can write its tombstone.
	question := fmt.Sprintf("delete tenant %s with its %d keys for good?", name, len(file.KeysOf(out.Opaque)))
	if !yes && !flags.dry && !term.Confirm(cmd.InOrStdin(), cmd.ErrOrStderr(), question) {
		return fail(exitUsage, "add --yes", fmt.Errorf("cannot delete tenant %q: nobody said yes", name))
	}
	if into := config.Backup.Into; into != "" && !flags.dry {
		err := os.MkdirAll(into, 0o700)
		if err == nil {
			err = tombstone.Append(into, tombstone.New(name, out.Opaque, now))
		}
		if err != nil {
			return fail(exitFailure, "look at [backup] into; nothing was deleted", err)
		}
	}

	// When it waits in vain, the tenant is deleted all the same.
	err = flags.DeleteTenant(cmd.Context(), name, out.Opaque, now)
	if err == nil || errors.Is(err, registry.ErrNameStays) {
		record(cmd, flags.Store, registry.Change{At: now, Command: "delete", Tenant: out.Opaque, Reason: flags.reason})
	}
	if err != nil {
		return err
	}
	return printResult(cmd, out, func(to *bufio.Writer) {
		fmt.Fprintf(to, "deleted %s: its calls stay under %s\n", name, out.Opaque)
		for _, file := range out.Files {
			fmt.Fprintf(to, "has the name until it is rotated or removed: %s\n", file)
		}
	})
}

// filesWithNames returns files that still have the name of a deleted tenant: copies of a repair,
// backups and access logs.
func (flags *tenantFlags) filesWithNames(config *settings.Config) []string {
	files := []string{}
	for _, place := range [][2]string{
		{flags.folder, "/*damaged-*"},
		{config.Backup.Into, "/backups/*.json"},
		{strings.TrimPrefix(config.AccessLog, "-"), "*"}, // and those that were rotated
	} {
		if place[0] != "" {
			found, _ := filepath.Glob(place[0] + place[1]) // a bad pattern has no files
			files = append(files, found...)
		}
	}
	return slices.DeleteFunc(files, func(path string) bool { return filepath.Base(path) == tombstone.Name })
}

// planChange returns the plans to be written, nil for one to be removed, given those of the database.
type planChange func(cmd *cobra.Command, args []string, db *control.DB, stored keys.Plans) (keys.Plans, error)

// changePlans makes a command that changes the plans of a fleet.
func changePlans(cmd *cobra.Command, change planChange) *cobra.Command {
	dry := cmd.Flags().Bool("dry-run", false, dryRunHelp)
	return addControl(cmd, func(cmd *cobra.Command, args []string, db *control.DB) error {
		changes, err := db.PlanChanges(cmd.Context())
		if err != nil {
			return err
		}
		changed, err := change(cmd, args, db, control.PlansAfter(changes))
		if err != nil {
			return err
		}

		what := cmp.Or(strings.Join(changed.Names(), ", "), "nothing")
		if *dry {
			cmd.PrintErrln("note: a dry run: nothing is changed")
		} else if err := db.ChangePlans(cmd.Context(), changed); err != nil {
			return err
		} else {
			change := registry.Change{At: time.Now(), Command: "plans " + cmd.Name(), What: what}
			record(cmd, registry.ControlStore{DB: db}, change)
		}
		return printLine(cmd, changed, "plans %s: %s", cmd.Name(), what)
	})
}

func plansList() *cobra.Command {
	return addControl(&cobra.Command{
		Use: "list", Short: "List the plans of a fleet", Args: cobra.NoArgs,
		Long: "Lists the plans of the control database with their limits and prices. A plan that is not listed is\n" +
			"what the file of each server says.",
		Example: "  ninepocket plans list --control postgres://ninepocket@db/ninepocket",
	}, func(cmd *cobra.Command, _ []string, db *control.DB) error {
		changes, err := db.PlanChanges(cmd.Context())
		if err != nil {
			return err
		}

		plans := control.PlansAfter(changes)
		rows := []*keys.Plan{}
		for _, name := range plans.Names() {
			rows = append(rows, plans[name])
		}
		const header = "NAME\tPER_MINUTE\tPER_DAY\tMAX_CARDS\tMAX_PRICES\tDAYS\tSTATS\tBULK\tPRICE\tINCLUDED\tOVERAGE"
		return printTable(cmd, rows, header, planCells)
	})
}

func planCells(plan *keys.Plan) []any {
	cells := []any{
		plan.Name, plan.PerMinute, plan.PerDay, plan.MaxCards, plan.MaxPrices, plan.HistoryDays, plan.StatsWindow,
		plan.HasBulk(),
	}
	price := plan.Price
	if price == nil {
		return append(cells, "none", "", "")
	}
	return append(cells, keys.FormatAmount(price.Month, price.Currency)+" "+price.Currency, price.Included,
		keys.FormatAmount(price.Overage, price.Currency))
}

func plansSet() *cobra.Command {
	var given settings.Config
	const unnamed = "NAME" // the plan that flags fill, until the argument says which one it is
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Make or change a plan of a fleet", Args: cobra.ExactArgs(1),
		Long: "Changes the limits of a plan that are given; all others stay. Servers follow within 2 seconds, and\n" +
			"while they differ the lower limits hold. A price is given whole, with its currency; bills count a\n" +
			"day at the price that it ended with. A plan that the database does not have begins as it is in\n" +
			"the configuration.",
		Example: "  ninepocket plans set pro --per-minute 900 --control postgres://ninepocket@db/ninepocket\n" +
			"  ninepocket plans set pro --price 59.00 --included 100000 --overage-price 1.50 --currency USD",
	}
	for _, setting := range settings.Settings {
		if strings.HasPrefix(setting.Key, "plans.") {
			defineFlag(cmd.Flags(), setting.Pointer(&given, unnamed), flagOf(setting.Key), setting.Help)
		}
	}

	// Mistakes are named before the database is asked.
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		given.Plans = map[string]*settings.Plan{args[0]: given.Plans[unnamed]}
		wrong := settings.Problems{}
		nothing := *given.Plans[args[0]] == settings.Plan{}
		cmd.Flags().Visit(func(f *pflag.Flag) {
			nothing = nothing || f.Value.String() == "0" && f.Name != "included"
		})
		wrong.AddIf(nothing, "cannot change plan %q: give a limit or a price, and no limit that is 0", args[0])
		_, err := given.PlanTable()
		wrong.Add(err)
		return fail(exitUsage, "", wrong.Err())
	}
	return changePlans(cmd, func(cmd *cobra.Command, args []string, _ *control.DB, all keys.Plans) (keys.Plans, error) {
		plans, err := settings.Plans(cmd.Flags().Lookup("config").Value.String())
		if err == nil {
			plans, err = given.ChangePlans(plans.With(all))
		}
		return keys.Plans{args[0]: plans[args[0]]}, fail(exitUsage, "", err)
	})
}

func plansRemove() *cobra.Command {
	return changePlans(&cobra.Command{
		Use: "remove NAME", Short: "Remove a plan that no key has from a fleet", Args: cobra.ExactArgs(1),
		Long: "Removes a plan from the control database. One that keys have is refused, and their tenants named.\n" +
			"Where the file of a server has the plan, it holds there.",
		Example: "  ninepocket plans remove trial --control postgres://ninepocket@db/ninepocket",
	}, func(cmd *cobra.Command, args []string, db *control.DB, stored keys.Plans) (keys.Plans, error) {
		file, err := db.ReadKeys(cmd.Context())
		if err != nil {
			return nil, err
		}
		if stored[args[0]] == nil {
			return nil, fail(exitFailure, "run: ninepocket plans list",
				fmt.Errorf("cannot remove plan %q: the database has none of that name", args[0]))
		}

		users := map[string]bool{}
		for _, key := range file.Keys {
			if key.Status(time.Now()) != "revoked" && file.Tenants[key.Tenant].PlanOf(key.Surface) == args[0] {
				users[key.Tenant] = true
			}
		}
		if len(users) > 0 {
			return nil, fail(exitFailure, "run: ninepocket tenants set-plan TENANT --surface live --plan OTHER",
				fmt.Errorf("cannot remove plan %q: keys of these tenants have it: %s", args[0],
					strings.Join(slices.Sorted(maps.Keys(users)), ", ")))
		}
		return keys.Plans{args[0]: nil}, nil
	})
}

func plansImport() *cobra.Command {
	return changePlans(&cobra.Command{
		Use: "import --config FILE", Short: "Import the plans of a configuration into a fleet", Args: cobra.NoArgs,
		Long: "Enters the built-in plans, as the configuration has changed them, and its own ones, with prices.\n" +
			"Plans that the database has stay as they are, and those that differ are named.",
		Example: "  ninepocket plans import --config /etc/ninepocket/ninepocket.toml",
	}, func(cmd *cobra.Command, _ []string, _ *control.DB, stored keys.Plans) (keys.Plans, error) {
		plans, err := settings.Plans(cmd.Flags().Lookup("config").Value.String())
		for _, name := range stored.Names() {
			if plans[name] != nil && !reflect.DeepEqual(plans[name], stored[name]) {
				cmd.PrintErrf("note: plan %s is there and differs: the fleet's stays\n", name)
			}
			delete(plans, name)
		}

		return plans, fail(exitUsage, "", err)
	})
}
