package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/calendar"
	"ninepocket/internal/accesslog"
	"ninepocket/internal/registry"
	"ninepocket/internal/settings"
	"ninepocket/internal/term"
)

// usageFlags are the flags of usage.
type usageFlags struct {
	accountFlags
	tenant, since, until, day, month, format, config string
	totals, priced                                   bool
}

func usageCommand() *cobra.Command {
	var flags usageFlags
	cmd := &cobra.Command{
		Use: "usage", Args: cobra.NoArgs,
		Short: "Show usage records or bills: calls and charges by tenant, key, day and operation",
		Long: "Shows the calls and charges of every key, up to the last written call, also while a server runs.\n" +
			"--since and --until are days (UTC) and both belong to the bill. --totals sums a tenant and surface\n" +
			"up in one row, with the plan and its limits as they are now. --month with --priced makes a bill a\n" +
			"tenant from the prices of [plans.NAME]; amounts are in minor units, such as cents, but in the table.",
		Example: "  ninepocket usage --day yesterday --totals\n" +
			"  ninepocket usage --since 2026-10-01 --until 2026-10-31 --totals --format csv\n" +
			"  ninepocket usage --month 2026-10 --priced --format jsonl",
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}

	f := cmd.Flags()
	f.StringVar(&flags.day, "day", "", "only of this `DATE`, or of today or yesterday")
	f.StringVar(&flags.tenant, "tenant", "", "only this tenant")
	f.StringVar(&flags.since, "since", "", "only from this `DATE` on")
	f.StringVar(&flags.until, "until", "", "only up to this `DATE`, which is part of it")
	f.StringVar(&flags.month, "month", "", "only this `MONTH` of UTC, such as 2026-10")
	f.BoolVar(&flags.priced, "priced", false, "a bill for each tenant, of --month")
	f.StringVar(&flags.format, "format", "table",
		"table, csv or json, and jsonl with --priced; --json is the same as json")
	f.BoolVar(&flags.totals, "totals", false, "a row for each tenant and surface, with plan and limits")
	f.StringVar(&flags.config, "config", "",
		"TOML configuration `FILE` of the server, for plans that are not built in (default: $NINEPOCKET_CONFIG)")
	return flags.add(cmd)
}

// dayRange reads the days. The error names every problem.
func (flags *usageFlags) dayRange() (since, until calendar.Day, err error) {
	var wrong settings.Problems
	date := func(name, text string, none calendar.Day) calendar.Day {
		if text == "" {
			return none
		}
		day, err := calendar.ParseDay(text)
		wrong.AddIf(err != nil, "cannot use --%s %q: dates look like 2026-08-22", name, text)
		return day
	}

	formats := []string{"table", "csv", "json"}
	if flags.priced {
		formats = append(formats, "jsonl")
	}
	wrong.AddIf(!slices.Contains(formats, flags.format), "cannot use --format %q: want %s", flags.format,
		strings.Join(formats, ", "))
	wrong.AddIf(flags.priced && flags.month == "", "cannot use --priced without --month")
	wrong.AddIf(flags.priced && flags.totals, "cannot use --priced with --totals")
	if flags.day != "" {
		wrong.AddIf(flags.since+flags.until+flags.month != "", "cannot use --day with --since, --until or --month")
		ago, named := map[string]calendar.Day{"today": 0, "yesterday": 1}[flags.day]
		day := calendar.DayOf(time.Now().UnixMilli()) - ago
		if !named {
			day = date("day", flags.day, 0)
		}
		flags.since = day.String()
		flags.until = day.String()
	}

	// Without a date the range is unlimited.
	since = date("since", flags.since, 0)
	until = date("until", flags.until, lastDay)
	if flags.month != "" {
		month, err := registry.ParseMonth(flags.month)
		wrong.AddIf(err != nil, "cannot use --month %q: months look like 2026-10", flags.month)
		wrong.AddIf(flags.since != "" || flags.until != "", "cannot use --month with --since, --until or --day")
		since = month.First
		until = month.Last
	}
	wrong.AddIf(until < since, "cannot use --until %s: it lies before --since %s", flags.until, flags.since)
	return since, until, fail(exitUsage, "", wrong.Err())
}

func (flags *usageFlags) run(cmd *cobra.Command) error {
	since, until, err := flags.dayRange()
	if err != nil {
		return err
	}
	plans, changes, err := flags.plans(cmd.Context(), flags.config)
	if err != nil {
		return fail(exitUsage, "", err)
	}

	rows, err := flags.ReadLedger(cmd.Context(), flags.tenant, since, until)
	if err != nil {
		return err
	}
	// No calls, or no state directory at all.
	file, err := flags.ReadKeys(cmd.Context())
	if err != nil && (len(rows) == 0 || !isAny(err, keys.ErrNoFile, keys.ErrShared, registry.ErrNoKeys)) {
		return err
	}
	file = cmp.Or(file, keys.NewFile())
	// A misspelt name would look like an empty bill.
	if flags.tenant != "" && file.Tenants[flags.tenant] == nil && len(rows) == 0 {
		return fmt.Errorf("cannot show the usage of tenant %q: %w", flags.tenant, keys.ErrNoSuchTenant)
	}

	bill := &registry.Bill{Keys: file, Plans: plans, Rows: rows, PlanChanges: changes}
	if !flags.priced {
		return flags.print(cmd, bill)
	}
	bill.Changes, _, err = registry.Changes(cmd.Context(), flags.Store)
	if err != nil {
		return err
	}
	bills := bill.Months(registry.Month{First: since, Last: until}, time.Now())
	return flags.printBills(cmd, slices.DeleteFunc(bills, func(bill registry.MonthBill) bool {
		return flags.tenant != "" && bill.Tenant != flags.tenant
	}))
}

// printBills prints the bills of a month.
func (flags *usageFlags) printBills(cmd *cobra.Command, bills []registry.MonthBill) error {
	const header = "TENANT\tMONTH\tPLAN\tUSED\tINCLUDED\tOVERAGE\tAMOUNT\tCURRENCY\tCOMPLETE\tPROBLEM"
	// Scripts get minor units, as in JSON.
	human := flags.format == "table"
	var cells [][]any
	for _, bill := range bills {
		amount := orEmpty(bill.Amount)
		if human && bill.Amount != nil {
			amount = keys.FormatAmount(*bill.Amount, bill.Currency)
		}
		cells = append(cells, []any{
			bill.Tenant, bill.Month, bill.Plan, bill.Used, bill.Included, bill.Overage, amount,
			bill.Currency, bill.Complete, bill.Problem,
		})
	}

	if flags.format != "jsonl" || wantsJSON(cmd) {
		return flags.printCells(cmd, header, cells, bills)
	}
	out := json.NewEncoder(cmd.OutOrStdout())
	for _, bill := range bills {
		if err := out.Encode(bill); err != nil {
			return err
		}
	}
	return nil
}

// print prints a bill in the requested format.
func (flags *usageFlags) print(cmd *cobra.Command, b *registry.Bill) error {
	report := usageReport{LedgerReport: access.NewLedgerReport(b.Rows)}
	var cells [][]any
	if !flags.totals {
		// One line an operation of a key on a day.
		for _, row := range b.Rows {
			cells = append(cells, []any{row.Tenant, row.Key, row.Day, row.Operation, row.Calls, row.Charged})
		}
		return flags.printCells(cmd, "TENANT\tKEY\tDATE\tOPERATION\tCALLS\tCHARGED", cells, report)
	}

	report.Totals = b.Totals()
	for _, sum := range report.Totals {
		cells = append(cells, []any{
			sum.Tenant, sum.Surface, sum.Plan, orEmpty(sum.PerMinute), orEmpty(sum.PerDay), orEmpty(sum.Quota),
			sum.Calls, sum.Charged, sum.Credits,
		})
	}
	const header = "TENANT\tSURFACE\tPLAN\tPER_MINUTE\tPER_DAY\tCREDITS_A_PERIOD\tCALLS\tCHARGED\tCREDITS"
	return flags.printCells(cmd, header, cells, report)
}

// printCells prints a report as JSON, or its cells in the requested format.
func (flags *usageFlags) printCells(cmd *cobra.Command, header string, cells [][]any, report any) error {
	switch {
	case wantsJSON(cmd) || flags.format == "json":
		return term.JSON(cmd.OutOrStdout(), report)
	case flags.format == "csv":
		return printCSV(cmd, header, cells)
	}
	return printTable(cmd, cells, header, func(line []any) []any { return line })
}

// usageReport is the JSON output of usage.
type usageReport struct {
	access.LedgerReport
	Totals []registry.Total `json:"totals,omitempty"`
}

// orEmpty returns the value, "" if it is unknown.
func orEmpty[T any](v *T) any {
	if v == nil {
		return ""
	}
	return *v
}

func requestCommand() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use: "request REQUEST_ID", Args: cobra.ExactArgs(1),
		Short: "Look up a request id in the access log",
		Long: "Looks a request up in the access log of serve and its rotated files, which may be compressed (.gz,\n" +
			".zst). It prints time, tenant, key id, operation, status, snapshot and duration. The search ends at\n" +
			"the newest file with the request. A request that is nowhere ends with exit code 1.",
		Example: "  ninepocket request req_2f6ctyq4oz3w\n" +
			"  ninepocket request req_2f6ctyq4oz3w --access-log '/backup/access*.zst'",
		RunE: func(cmd *cobra.Command, args []string) error {
			all, searched, err := accesslog.Find(path, args[0])
			if err != nil {
				hint := ""
				if errors.Is(err, fs.ErrNotExist) {
					hint = "give the file that serve writes, by its --access-log; - is its standard output"
				}
				return fail(exitFailure, hint, fmt.Errorf("cannot read the access log: %w", err))
			}
			if len(all) == 0 {
				return fail(exitFailure, "it may be in an older file, or not have been sampled",
					fmt.Errorf("cannot find request %q in %d files: %s", args[0], len(searched),
						strings.Join(searched, ", ")))
			}
			return printTable(cmd, all,
				"TIME\tTENANT\tKEY\tSURFACE\tOPERATION\tSTATUS\tSNAPSHOT\tBYTES\tDURATION", requestCells)
		},
	}

	cmd.Flags().StringVar(&path, "access-log", "", "access log `FILE`, or a pattern of such"+ofConfiguration)
	cmd.Flags().Bool("json", false, "print JSON")
	configured(cmd, needed, "access_log")
	return cmd
}

func requestCells(line accesslog.Line) []any {
	return []any{
		line.Time.Format(time.RFC3339Nano), line.Tenant, line.Key, line.Surface, line.Operation, line.Status,
		line.Snapshot, line.Bytes, time.Duration(line.Micros) * time.Microsecond,
	}
}
