package main

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"
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
			all, err := readRequests(path, args[0])
			if errors.Is(err, fs.ErrNotExist) {
				return fail(exitFailure, "give the file that serve writes, by its --access-log", err)
			}
			if err != nil {
				return fail(exitFailure, "", fmt.Errorf("cannot read the access log: %w", err))
			}
			if len(all) == 0 {
				return fail(exitFailure, "it may be in an older file, or not have been sampled",
					fmt.Errorf("cannot find request %q in %q", args[0], path))
			}
			return list(cmd, asJSON, all,
				"TIME\tTENANT\tKEY\tSURFACE\tOPERATION\tSTATUS\tSNAPSHOT\tBYTES\tDURATION", accessLine.cells)
		},
	}

	cmd.Flags().StringVar(&path, "access-log", "", "access log `FILE`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	require(cmd, "access-log")
	return cmd
}

// readRequests reads a log, compressed or not.
func readRequests(path, id string) ([]accessLine, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the access log: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read

	var in io.Reader = file
	switch {
	case strings.HasSuffix(path, ".gz"):
		in, err = gzip.NewReader(file)
	case strings.HasSuffix(path, ".zst"):
		in, err = zstd.NewReader(file)
	}
	if err != nil {
		return nil, err
	}
	return findRequest(in, id)
}

func (l accessLine) cells() []any {
	return []any{
		l.Time.Format(time.RFC3339Nano), l.Tenant, l.Key, l.Surface, l.Operation, l.Status, l.Snapshot, l.Bytes,
		time.Duration(l.Micros) * time.Microsecond,
	}
}
