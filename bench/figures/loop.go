package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ninepocket/bench"
	"ninepocket/bench/rivals"
)

func loopCommand(s *settings) *cobra.Command {
	var options bench.Options
	var queries string
	var others []string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "loop", Short: "The figures of bench/drive, with net/http and other servers", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options.Self = s.options.Self
			options.Serve = s.options.Serve
			options.Log = s.options.Log
			for _, text := range others {
				rival, err := parseRival(text)
				if err != nil {
					return err
				}
				options.Rivals = append(options.Rivals, rival)
			}

			report, err := rivals.Run(cmd.Context(), options, rivals.Options{Self: s.self, Queries: queries})
			if err != nil {
				return err
			}
			return bench.Write(cmd.OutOrStdout(), report, asJSON)
		},
	}

	f := cmd.Flags()
	options.Flags(f)
	f.StringSliceVar(&options.CompareWith, "beside", []string{"bare", "body", rivals.Plain},
		"further servers to measure: bare, body, memory, "+rivals.Plain)
	f.StringArrayVar(&others, "rival", nil,
		"`NAME=COMMAND` of another server, which writes {\"api\": URL} to $READY_FILE")
	f.StringVar(&queries, "queries", "", "search set `FILE` to ask every server that searches")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func parseRival(text string) (bench.Rival, error) {
	name, command, ok := strings.Cut(text, "=")
	if !ok || name == "" || command == "" {
		return bench.Rival{}, fmt.Errorf("cannot use --rival %q: want NAME=COMMAND", text)
	}
	return rivals.Shell(name, command), nil
}
