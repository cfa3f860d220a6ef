package main

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/internal/registry"
	"ninepocket/internal/settings"
	"ninepocket/internal/term"
	"ninepocket/internal/tombstone"
)

// tenantRow is a tenant as list and show print it.
type tenantRow struct {
	Tenant      string            `json:"tenant"`
	Status      string            `json:"status"` // active, suspended or deleted
	Plans       map[string]string `json:"plans"`  // by surface
	Credits     *int64            `json:"credits,omitempty"`
	Contact     string            `json:"contact,omitempty"`
	SuspendedAt *time.Time        `json:"suspended_at,omitempty"`
	Active      int               `json:"active_keys"`
	LastUsed    *time.Time        `json:"last_used_at"`
	Keys        []listedKey       `json:"keys,omitempty"` // of show
}

// tenantRows describes tenants in the order of their names; keys has their rows.
func tenantRows(file *keys.File, all []listedKey) []tenantRow {
	rows := []tenantRow{}
	for _, name := range slices.Sorted(maps.Keys(file.Tenants)) {
		tenant := file.Tenants[name]
		row := tenantRow{
			Tenant: name, Status: "active", Plans: map[string]string{}, Credits: tenant.Credits,
			Contact: tenant.Contact, SuspendedAt: tenant.SuspendedAt,
		}
		maps.Copy(row.Plans, tenant.Plans)
		switch {
		case keys.IsOpaque(name):
			row.Status = "deleted"
		case tenant.SuspendedAt != nil:
			row.Status = "suspended"
		}

		for _, key := range all {
			if key.Tenant != name {
				continue
			}
			row.Plans[key.Surface] = key.Plan
			if key.Status == "active" {
				row.Active++
			}
			if key.LastUsed != nil && (row.LastUsed == nil || key.LastUsed.After(*row.LastUsed)) {
				row.LastUsed = key.LastUsed
			}
			row.Keys = append(row.Keys, key)
		}
		rows = append(rows, row)
	}
	return rows
}

func (r tenantRow) cells() []any {
	var plans []string
	for _, surface := range slices.Sorted(maps.Keys(r.Plans)) {
		plans = append(plans, surface+" "+r.Plans[surface])
	}
	last := "never"
	if r.LastUsed != nil {
		last = r.LastUsed.Format(time.RFC3339)
	}
	return []any{r.Tenant, r.Status, strings.Join(plans, ", "), r.Active, last, r.Contact}
}

const tenantHeader = "TENANT\tSTATUS\tPLANS\tACTIVE KEYS\tLAST USED\tCONTACT"

// tenants reads all tenants with their keys.
func (flags *accountFlags) tenants(cmd *cobra.Command) ([]tenantRow, error) {
	file, err := flags.ReadKeys(cmd.Context())
	if err != nil {
		return nil, err
	}
	all, err := flags.listKeys(cmd.Context(), file)
	return tenantRows(file, all), err
}

// tenant reads one tenant.
func (flags *accountFlags) tenant(cmd *cobra.Command, name string) (tenantRow, error) {
	all, err := flags.tenants(cmd)
	i := slices.IndexFunc(all, func(row tenantRow) bool { return row.Tenant == name })
	if err == nil && i < 0 {
		err = fmt.Errorf("cannot find tenant %q: %w", name, keys.ErrNoSuchTenant)
	}
	if err != nil {
		return tenantRow{}, err
	}
	return all[i], nil
}

func tenantsList() *cobra.Command {
	var flags accountFlags
	return flags.add(&cobra.Command{
		Use: "list", Short: "List tenants with status, plans and contact", Args: cobra.NoArgs,
		Long: "Lists every tenant with its plans by surface, how many of its keys work, and when one was last used.\n" +
			"A deleted tenant stands under the opaque id that its calls stay under.",
		Example: "  ninepocket tenants list --state state",
		RunE: func(cmd *cobra.Command, _ []string) error {
			rows, err := flags.tenants(cmd)
			if err != nil {
				return err
			}
			for i := range rows {
				rows[i].Keys = nil
			}
			return printTable(cmd, flags.asJSON, rows, tenantHeader, tenantRow.cells)
		},
	})
}

func tenantsShow() *cobra.Command {
	var flags accountFlags
	return flags.add(&cobra.Command{
		Use: "show TENANT", Short: "Show a tenant and its keys", Args: cobra.ExactArgs(1),
		Long:    "Shows plans, contact and suspension of a tenant, and each of its keys with its last use.",
		Example: "  ninepocket tenants show acme --state state",
		RunE: func(cmd *cobra.Command, args []string) error {
			row, err := flags.tenant(cmd, args[0])
			if err != nil {
				return err
			}
			return printResult(cmd, flags.asJSON, row, func(out *bufio.Writer) {
				term.Table(out, tenantHeader, []tenantRow{row}, tenantRow.cells)
				fmt.Fprintln(out)
				term.Table(out, keyHeader, row.Keys, listedKey.cells)
			})
		},
	})
}

// tenantFlags are the flags of commands that change a tenant.
type tenantFlags struct {
	accountFlags
	reason string
	dryRun bool
}

// addChange adds the flags to a command that changes a tenant; most want a reason.
func (flags *tenantFlags) addChange(cmd *cobra.Command, wantsReason bool) *cobra.Command {
	cmd.Args = cobra.ExactArgs(1)
	cmd.Flags().StringVar(&flags.reason, "reason", "", "why, for the keys log")
	cmd.Flags().BoolVar(&flags.dryRun, "dry-run", false, "say what would change, and change nothing")
	if wantsReason {
		require(cmd, "reason")
	}
	return flags.add(cmd)
}

// tenantChanged is the output of a command that changed a tenant.
type tenantChanged struct {
	Tenant string   `json:"tenant"`
	Change string   `json:"change"`
	DryRun bool     `json:"dry_run"`
	Plan   string   `json:"plan,omitempty"`
	Opaque string   `json:"opaque,omitempty"`
	Files  []string `json:"files,omitempty"` // that still have the name of a deleted tenant
}

// change changes keys, records the change and says it; with --dry-run it only says it. The change may be
// filled in by do.
func (flags *tenantFlags) change(
	cmd *cobra.Command, change *registry.Change, do func(*keys.File) error, said string, args ...any,
) error {
	change.At = time.Now()
	change.Reason = strings.TrimSpace(flags.reason)
	out := tenantChanged{Tenant: change.Tenant, Change: change.Command, DryRun: flags.dryRun}
	if flags.dryRun {
		file, err := flags.ReadKeys(cmd.Context())
		if err == nil {
			err = do(file)
		}
		if err != nil {
			return err
		}
		said = "would have " + said
	} else {
		if err := flags.update(cmd.Context(), do); err != nil {
			return err
		}
		flags.record(cmd, *change)
	}
	out.Plan = change.Plan
	return printLine(cmd, flags.asJSON, out, said, args...)
}

// checkReason refuses an empty reason.
func (flags *tenantFlags) checkReason() error {
	if strings.TrimSpace(flags.reason) == "" {
		return fail(exitUsage, "", errors.New("cannot use an empty --reason: readers of the keys log need one"))
	}
	return nil
}

func tenantsSetPlan() *cobra.Command {
	var flags tenantFlags
	var surface, contact, config string
	var credits int64
	var want keys.TenantChange
	cmd := &cobra.Command{
		Use: "set-plan TENANT --surface live|preview|sandbox --plan P", Short: "Change a tenant's plan, credits or contact",
		Long: "Gives a tenant another plan on a surface. Its keys stay, and follow within 2 seconds; bills count the\n" +
			"day to the plan that it ended with. --contact says whom to write to, for tenants list.",
		Example: "  ninepocket tenants set-plan acme --surface live --plan pro --state state\n" +
			"  ninepocket tenants set-plan acme --contact 'Ada, ada@example.com' --state state",
		RunE: func(cmd *cobra.Command, args []string) error {
			var wrong settings.Problems
			var err error
			want.Surface, err = keys.ParseSurface(surface)
			wrong.Add(err)
			if cmd.Flags().Changed("credits") {
				want.Credits = &credits
			}
			if cmd.Flags().Changed("contact") {
				want.Contact = new(strings.TrimSpace(contact))
			}
			if err == nil {
				wrong.Add(want.Validate())
			}
			if cmd.Flags().Changed("plan") && err == nil {
				wrong.Add(checkPlan(want.Plan, want.Surface, config))
			}
			if err := wrong.Err(); err != nil {
				return fail(exitUsage, "", err)
			}

			change := registry.Change{Command: "set-plan", Tenant: args[0], Plan: want.Plan}
			said := []string{}
			for name, given := range map[string]bool{"contact": want.Contact != nil, "credits": want.Credits != nil} {
				if given {
					said = append(said, name)
				}
			}
			slices.Sort(said)
			change.What = strings.Join(said, ", ")
			if want.Plan != "" {
				change.Surface = surface
				said = append([]string{"plan to " + want.Plan + " on " + surface}, said...)
			}
			return flags.change(cmd, &change, func(file *keys.File) error {
				if tenant := file.Tenants[args[0]]; tenant != nil && want.Plan != "" {
					change.PlanBefore = tenant.PlanOf(surface)
				}
				return file.ChangeTenant(args[0], want)
			}, "changed of %s: %s", args[0], strings.Join(said, ", "))
		},
	}

	f := cmd.Flags()
	f.StringVar(&surface, "surface", "live", "live, preview or sandbox")
	f.StringVar(&want.Plan, "plan", "", "plan of the surface: a built-in or a configured one")
	f.Int64Var(&credits, "credits", 0, "credits a period of a preview tenant")
	f.StringVar(&contact, "contact", "", "whom to write to; an empty one removes it")
	f.StringVar(&config, "config", "",
		"TOML configuration `FILE` of the server, for plans that are not built in (default: $NINEPOCKET_CONFIG)")
	return flags.addChange(cmd, false)
}

func tenantsSuspend() *cobra.Command {
	var flags tenantFlags
	return flags.addChange(&cobra.Command{
		Use: "suspend TENANT --reason TEXT", Short: "Refuse a tenant's keys until it is resumed",
		Long: "Within a second the keys of the tenant are answered 403, with a detail that says so; keys that are\n" +
			"made meanwhile, too. Counters and quotas stay. A server of an earlier version answers 401.",
		Example: "  ninepocket tenants suspend acme --reason 'bill of October is open' --state state",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.checkReason(); err != nil {
				return err
			}
			change := registry.Change{Command: "suspend", Tenant: args[0]}
			do := func(file *keys.File) error { return file.Suspend(args[0], change.At) }
			return flags.change(cmd, &change, do, "suspended %s", args[0])
		},
	}, true)
}

func tenantsResume() *cobra.Command {
	var flags tenantFlags
	return flags.addChange(&cobra.Command{
		Use: "resume TENANT --reason TEXT", Short: "Let a suspended tenant go on",
		Long: "The keys that the suspension stopped work again within a second, with all that was left of their\n" +
			"limits. Keys that were revoked stay so.",
		Example: "  ninepocket tenants resume acme --reason paid --state state",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.checkReason(); err != nil {
				return err
			}
			change := registry.Change{Command: "resume", Tenant: args[0]}
			do := func(file *keys.File) error { return file.Resume(args[0]) }
			return flags.change(cmd, &change, do, "resumed %s", args[0])
		},
	}, true)
}

func tenantsDelete() *cobra.Command {
	var flags tenantFlags
	var yes bool
	var config string
	cmd := &cobra.Command{
		Use: "delete TENANT --reason TEXT", Short: "Delete a tenant's name, contact and keys; its counters stay",
		Long: "The keys stop working at once. Calls, charges and plans stay under an opaque id, so that bills add\n" +
			"up. The command waits until no file of the state directory has the name. Access logs and backups\n" +
			"keep it until they are rotated, and are listed; [backup] into gets a mark without the name, by which\n" +
			"a restore deletes the tenant again. In a fleet each server follows with its next checkpoint.",
		Example: "  ninepocket tenants delete acme --reason 'asked for it on 2026-11-20' --state state --yes",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.checkReason(); err != nil {
				return err
			}
			configuration, err := settings.ReadWithEnv(config)
			if err != nil {
				return fail(exitUsage, "", err)
			}
			return flags.delete(cmd, args[0], &configuration.Config, yes)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().StringVar(&config, "config", "",
		"TOML configuration `FILE` of the server, for its access log and its backups (default: $NINEPOCKET_CONFIG)")
	return flags.addChange(cmd, true)
}

func (flags *tenantFlags) delete(cmd *cobra.Command, name string, config *settings.Config, yes bool) error {
	file, err := flags.ReadKeys(cmd.Context())
	if err != nil {
		return err
	}
	out := tenantChanged{
		Tenant: name, Change: "delete", DryRun: flags.dryRun, Opaque: keys.MintOpaque(),
		Files: flags.filesWithNames(config),
	}
	contact := ""
	if tenant := file.Tenants[name]; tenant != nil {
		contact = tenant.Contact
	}
	now := time.Now()
	if err := file.Delete(name, out.Opaque, now); err != nil {
		return err
	}
	if strings.Contains(flags.reason, name) || contact != "" && strings.Contains(flags.reason, contact) {
		return fail(exitUsage, "", errors.New("cannot use a --reason with the name or the contact: the keys log keeps it"))
	}

	if !flags.dryRun {
		question := fmt.Sprintf("delete tenant %s for good, with its %d keys?", name, len(file.KeysOf(out.Opaque)))
		if !yes && !term.Confirm(cmd.InOrStdin(), cmd.ErrOrStderr(), question) {
			return fail(exitUsage, "add --yes", fmt.Errorf("cannot delete tenant %q: nobody said yes", name))
		}
		// Before the name is gone: only who knows it can write the tombstone.
		if into := config.Backup.Into; into != "" {
			err := os.MkdirAll(into, 0o700)
			if err == nil {
				err = tombstone.Append(into, tombstone.New(name, out.Opaque, now))
			}
			if err != nil {
				return fail(exitFailure, "look at [backup] into; nothing was deleted", err)
			}
		}
		err := flags.DeleteTenant(cmd.Context(), name, out.Opaque, now)
		if err != nil && !errors.Is(err, registry.ErrNameStays) {
			return err
		}
		flags.record(cmd, registry.Change{At: now, Command: "delete", Tenant: out.Opaque, Reason: flags.reason})
		if err != nil {
			return fail(exitFailure, "the tenant is deleted, and its server drops the name with its next checkpoint: look "+
				"at its log", err)
		}
	}

	return printResult(cmd, flags.asJSON, out, func(to *bufio.Writer) {
		did := "deleted %s: what it called stays under %s\n"
		if flags.dryRun {
			did = "would have " + did
		}
		fmt.Fprintf(to, did, name, out.Opaque)
		for _, file := range out.Files {
			fmt.Fprintf(to, "keeps the name until it is rotated: %s\n", file)
		}
	})
}

// filesWithNames returns the files and folders that keep what they have of a deleted tenant: access logs, what
// a repair set aside, and backups.
func (flags *tenantFlags) filesWithNames(config *settings.Config) []string {
	files := []string{}
	for _, pattern := range []string{
		config.AccessLog, filepath.Join(flags.folder, "*damaged-*"), filepath.Join(config.Backup.Into, "*"),
	} {
		if pattern == "" || pattern == "-" || !filepath.IsAbs(pattern) && strings.HasPrefix(pattern, "*") {
			continue
		}
		found, _ := filepath.Glob(pattern + "*") // a bad pattern has no files
		files = append(files, found...)
	}
	return slices.DeleteFunc(files, func(name string) bool { return filepath.Base(name) == tombstone.Name })
}

// tenantExport is everything that is stored about a tenant.
type tenantExport struct {
	tenantRow
	Record  *keys.Tenant        `json:"record"`
	Usage   access.LedgerReport `json:"usage"`
	Changes []registry.Change   `json:"changes"`
}

func tenantsExport() *cobra.Command {
	var flags accountFlags
	return flags.add(&cobra.Command{
		Use: "export TENANT", Short: "Print everything that is stored about a tenant, as JSON",
		Long: "Prints plans, contact, keys, the whole ledger and the keys log of a tenant. Hashes of keys, and the\n" +
			"answers that are stored for ten minutes, are left out. Access logs have lines of its requests besides.",
		Example: "  ninepocket tenants export acme --state state > acme.json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			row, err := flags.tenant(cmd, args[0])
			if err != nil {
				return err
			}
			file, err := flags.ReadKeys(cmd.Context())
			if err != nil {
				return err
			}
			rows, err := flags.ReadLedger(cmd.Context(), args[0], 0, lastDay)
			if err != nil {
				return err
			}
			changes, _, err := registry.Changes(cmd.Context(), flags.Store)
			if err != nil {
				return err
			}
			changes = slices.DeleteFunc(changes, func(change registry.Change) bool { return change.Tenant != args[0] })
			return term.JSON(cmd.OutOrStdout(), tenantExport{
				row, file.Tenants[args[0]], access.NewLedgerReport(rows), changes,
			})
		},
	})
}
