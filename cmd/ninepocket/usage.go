package main

import (
	"bufio"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"ninepocket/access"
)

func usageCommand() *cobra.Command {
	var flags stateFlags
	var tenant, since string
	cmd := &cobra.Command{
		Use: "usage --state DIR", Short: "Show the ledger: calls and charges by tenant, key, day and operation",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// No date is the day before all others.
			from, err := access.ParseDay(since)
			if since != "" && err != nil {
				return fail(exitUsage, "dates look like 2026-08-22", err)
			}

			// Days before the date are left out, tenants without a call are not there.
			report, err := access.ReadUsage(flags.folder, tenant, from)
			if err == nil && len(report.Tenants) == 0 {
				// No calls, or no state directory at all.
				_, err = access.ReadKeys(flags.folder)
			}
			if err != nil {
				return err
			}
			return show(cmd, flags.asJSON, report, func(out *bufio.Writer) {
				table(out, "TENANT\tKEY\tDATE\tOPERATION\tCALLS\tCHARGED", usageRows(report),
					func(row []any) []any { return row })
			})
		},
	}

	f := cmd.Flags()
	f.StringVar(&tenant, "tenant", "", "only this tenant")
	f.StringVar(&since, "since", "", "only from this `DATE` on")
	flags.add(cmd)
	return cmd
}

// usageRows are the lines of a report as people read them: a row an operation of a key on a day.
func usageRows(report access.LedgerReport) (rows [][]any) {
	for _, tenant := range report.Tenants {
		for _, key := range tenant.Keys {
			for _, day := range key.Days {
				for _, op := range slices.Sorted(maps.Keys(day.Operations)) {
					counts := day.Operations[op]
					rows = append(rows, []any{tenant.Tenant, key.ID, day.Date, op, counts.Calls, counts.Charged})
				}
			}
		}
	}
	return rows
}
