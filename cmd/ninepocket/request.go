package main

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/internal/accesslog"
)

func requestCommand() *cobra.Command {
	var path string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "request REQUEST_ID --access-log PATH", Args: cobra.ExactArgs(1),
		Short: "Say what became of a request that a customer names by its id",
		Long: "Looks a request up in an access log of serve (--access-log), which may be compressed (.gz, .zst): its " +
			"time,\n" +
			"tenant, key id, operation, status, snapshot and duration. A request that is not there ends with exit " +
			"code 1.",
		Example: "  ninepocket request req_2f6ctyq4oz3w --access-log /var/log/ninepocket/access.log",
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := accesslog.Find(path, args[0])
			hint := ""
			if errors.Is(err, fs.ErrNotExist) {
				hint = "give the file that serve writes, by its --access-log"
			}
			if err != nil {
				return fail(exitFailure, hint, fmt.Errorf("cannot read the access log: %w", err))
			}
			if len(all) == 0 {
				return fail(exitFailure, "it may be in an older file, or not have been sampled",
					fmt.Errorf("cannot find request %q in %q", args[0], path))
			}
			return printTable(cmd, asJSON, all,
				"TIME\tTENANT\tKEY\tSURFACE\tOPERATION\tSTATUS\tSNAPSHOT\tBYTES\tDURATION", requestCells)
		},
	}

	cmd.Flags().StringVar(&path, "access-log", "", "access log `FILE`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	require(cmd, "access-log")
	return cmd
}

func requestCells(line accesslog.Line) []any {
	return []any{
		line.Time.Format(time.RFC3339Nano), line.Tenant, line.Key, line.Surface, line.Operation, line.Status,
		line.Snapshot, line.Bytes, time.Duration(line.Micros) * time.Microsecond,
	}
}
