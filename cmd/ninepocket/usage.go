package main

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/calendar"
)

// usageFlags are the flags of usage.
type usageFlags struct {
	registryFlags
	tenant, since, until, format, config string
	totals                               bool
}

func usageCommand() *cobra.Command {
	var flags usageFlags
	cmd := &cobra.Command{
		Use: "usage --state DIR", Args: cobra.NoArgs,
		Short: "Show the ledger, or bills: calls and charges by tenant, key, day and operation",
		Long: "Shows what every key called and what was charged, up to the last written call, also while a server " +
			"runs.\n" +
			"--since and --until are days (UTC) and both belong to the bill. --totals sums a tenant and surface up\n" +
			"in one row, with the plan and its limits as they are now.",
		Example: "  ninepocket usage --state state --since 2026-10-01 --until 2026-10-31 --totals --format csv",
		RunE:    func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}

	f := cmd.Flags()
	f.StringVar(&flags.tenant, "tenant", "", "only this tenant")
	f.StringVar(&flags.since, "since", "", "only from this `DATE` on")
	f.StringVar(&flags.until, "until", "", "only up to this `DATE`, which is part of it")
	f.StringVar(&flags.format, "format", "table", "table, csv or json; --json is the same as json")
	f.BoolVar(&flags.totals, "totals", false, "a row for each tenant and surface, with plan and limits")
	f.StringVar(&flags.config, "config", "",
		"TOML configuration `FILE` of the server, for plans that are not built in (default: $NINEPOCKET_CONFIG)")
	flags.add(cmd)
	return cmd
}

// span reads the days, naming every problem.
func (flags *usageFlags) span() (since, until calendar.Day, err error) {
	var wrong problems
	date := func(name, text string, none calendar.Day) calendar.Day {
		if text == "" {
			return none
		}
		day, err := calendar.ParseDay(text)
		wrong.when(err != nil, "cannot use --%s %q: dates look like 2026-08-22", name, text)
		return day
	}

	// No date is before, or after, all others.
	since = date("since", flags.since, 0)
	until = date("until", flags.until, math.MaxInt32)
	wrong.when(until < since, "cannot use --until %s: it lies before --since %s", flags.until, flags.since)
	wrong.when(!slices.Contains([]string{"table", "csv", "json"}, flags.format),
		"cannot use --format %q: want table, csv or json", flags.format)
	return since, until, fail(exitUsage, "", wrong.err())
}

func (flags *usageFlags) run(cmd *cobra.Command) error {
	since, until, err := flags.span()
	if err != nil {
		return err
	}
	plans, err := plansOf(flags.config)
	if err != nil {
		return fail(exitUsage, "", err)
	}

	rows, err := flags.ReadLedger(cmd.Context(), flags.tenant, since, until)
	if err != nil {
		return err
	}
	// No calls, or no state directory at all.
	file, err := flags.ReadKeys(cmd.Context())
	noKeys := slices.ContainsFunc([]error{keys.ErrNoFile, keys.ErrShared, errNoSharedKeys},
		func(known error) bool { return errors.Is(err, known) })
	if err != nil && (len(rows) == 0 || !noKeys) {
		return err
	}
	if file == nil {
		file = keys.NewFile()
	}
	if flags.tenant != "" && file.Tenants[flags.tenant] == nil && len(rows) == 0 {
		return fmt.Errorf("cannot show the usage of tenant %q: %w", flags.tenant, keys.ErrNoSuchTenant)
	}

	b := bill{keys: file, plans: plans, rows: rows}
	b.name()
	return flags.print(cmd, &b)
}

// print prints a bill in the form that is wanted.
func (flags *usageFlags) print(cmd *cobra.Command, b *bill) error {
	header := []string{"TENANT", "KEY", "DATE", "OPERATION", "CALLS", "CHARGED"}
	cells := b.lines()
	if flags.totals {
		header = []string{
			"TENANT", "SURFACE", "PLAN", "PER_MINUTE", "PER_DAY", "CREDITS_A_PERIOD", "CALLS", "CHARGED", "CREDITS",
		}
		cells = b.totalLines()
	}

	switch {
	case flags.asJSON || flags.format == "json":
		report := usageReport{LedgerReport: access.NewLedgerReport(b.rows)}
		if flags.totals {
			report.Totals = b.totals()
		}
		return printJSON(cmd.OutOrStdout(), report)
	case flags.format == "csv":
		out := csv.NewWriter(cmd.OutOrStdout())
		for i, name := range header {
			header[i] = strings.ToLower(name)
		}
		_ = out.Write(header)
		for _, line := range cells {
			texts := make([]string, len(line))
			for i, cell := range line {
				texts[i] = fmt.Sprint(cell)
			}
			_ = out.Write(texts)
		}
		out.Flush()
		return out.Error()
	}

	return show(cmd, false, nil, func(out *bufio.Writer) {
		table(out, strings.Join(header, "\t"), cells, func(line []any) []any { return line })
	})
}

// usageReport is what usage prints as JSON.
type usageReport struct {
	access.LedgerReport
	Totals []total `json:"totals,omitempty"`
}

// bill is a part of the ledger with whose it is.
type bill struct {
	keys    *keys.File
	plans   keys.Plans
	rows    []access.LedgerRow
	surface map[string]string // by key
}

// total is what a tenant did on a surface. Limits are those of today's plan, null where the
// configuration does not have it.
type total struct {
	Tenant    string `json:"tenant"`
	Surface   string `json:"surface"`
	Plan      string `json:"plan"`
	PerMinute *int   `json:"per_minute"`
	PerDay    *int64 `json:"per_day"`
	Allowance *int64 `json:"credits_a_period"` // preview
	Calls     int64  `json:"calls"`
	Charged   int64  `json:"charged"` // units of the daily quota, on live
	Credits   int64  `json:"credits"` // on preview
}

// name finds the surfaces of the keys.
func (b *bill) name() {
	b.surface = map[string]string{}
	for _, key := range b.keys.Keys {
		b.surface[key.ID] = key.Surface
	}
}

// lines are the rows as people read them: one an operation of a key on a day.
func (b *bill) lines() (lines [][]any) {
	for _, row := range b.rows {
		lines = append(lines, []any{row.Tenant, row.Key, row.Day, row.Operation, row.Calls, row.Charged})
	}
	return lines
}

// totals sum up each tenant and surface, in order.
func (b *bill) totals() []total {
	sums := map[[2]string]*total{}
	for _, row := range b.rows {
		surface := cmp.Or(b.surface[row.Key], "unknown")
		at := [2]string{row.Tenant, surface}
		sum := sums[at]
		if sum == nil {
			sum = &total{Tenant: row.Tenant, Surface: surface}
			b.limits(sum)
			sums[at] = sum
		}

		sum.Calls += row.Calls
		if surface == keys.Preview.String() {
			sum.Credits += row.Charged
		} else {
			sum.Charged += row.Charged
		}
	}

	all := []total{}
	inOrder := func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }
	for _, at := range slices.SortedFunc(maps.Keys(sums), inOrder) {
		all = append(all, *sums[at])
	}
	return all
}

// limits fills in the plan of a tenant on a surface.
func (b *bill) limits(sum *total) {
	tenant := b.keys.Tenants[sum.Tenant]
	if tenant == nil || sum.Surface == "unknown" {
		return
	}
	sum.Plan = tenant.PlanOf(sum.Surface)
	plan := b.plans[sum.Plan]
	if plan == nil {
		return
	}

	sum.PerMinute = &plan.PerMinute
	if sum.Surface == keys.Preview.String() {
		sum.Allowance = cmp.Or(tenant.Credits, &plan.Credits)
	} else {
		sum.PerDay = &plan.PerDay
	}
}

func (b *bill) totalLines() (lines [][]any) {
	for _, sum := range b.totals() {
		lines = append(lines, []any{
			sum.Tenant, sum.Surface, sum.Plan, orEmpty(sum.PerMinute), orEmpty(sum.PerDay), orEmpty(sum.Allowance),
			sum.Calls, sum.Charged, sum.Credits,
		})
	}
	return lines
}

// orEmpty spells what may not be known.
func orEmpty[T any](v *T) any {
	if v == nil {
		return ""
	}
	return *v
}

// plansOf are the plans of a configuration, the built-in ones without one.
func plansOf(path string) (keys.Plans, error) {
	configured, err := readConfig(cmp.Or(path, os.Getenv(envPrefix+"CONFIG")), os.Environ(), func(string) {})
	if err != nil {
		return nil, err
	}
	return configured.plans()
}
