package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// The exit codes of the command.
const (
	exitFailure = 1
	exitUsage   = 2
)

// Command is the sub-command that measures, with the hidden one that does a Task. fail wraps an
// error with an exit code and a hint.
func Command(fail func(code int, hint string, err error) error) *cobra.Command {
	var o Options
	var s SwapOptions
	var rivals []string
	var swap, asJSON bool
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure a server over loopback beside bare ones",
		Long: "Drives a server with keep-alive connections and prints, for every operation, requests a second, " +
			"the server\n" +
			"process's CPU time a request and the quantiles of latency, beside a bare fasthttp server that " +
			"answers the same\n" +
			"bytes and others. The servers are processes of their own and take turns in rounds.\n\n" +
			"Without --url it builds a synthetic catalog and serves it as 'ninepocket serve' does. With the URL " +
			"of a running\n" +
			"server, --key is a live key whose plan no measurement exhausts; CPU time is read from --admin.\n\n" +
			"Operations: " + strings.Join(OperationNames(), " "),
		Example: "  ninepocket bench --operation get_card --operation search_exact\n  ninepocket bench --swap",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			self, err := os.Executable()
			if err != nil {
				return fail(exitFailure, "", err)
			}

			o.Self = []string{self, "bench", "task"}
			o.Serve = []string{self, "serve"}
			o.Log = cmd.ErrOrStderr()
			for _, text := range rivals {
				name, command, ok := strings.Cut(text, "=")
				if !ok || name == "" || command == "" {
					return fail(exitUsage, "", fmt.Errorf("cannot use --rival %q: want NAME=COMMAND", text))
				}
				o.Rivals = append(o.Rivals, Rival{Name: name, Command: command})
			}

			// Swap has more options to check, and checks those of a run with them.
			check := o.Validate
			if swap {
				check = func() error { return s.Validate(&o) }
			}
			if err := check(); err != nil {
				return fail(exitUsage, "", err)
			}
			if err := runCommand(cmd, &o, &s, swap, asJSON); err != nil {
				return fail(exitFailure, "", err)
			}
			return nil
		},
	}

	f := cmd.Flags()
	f.StringVar(&o.URL, "url", "", "`URL` of a running server instead of one of its own")
	f.StringVar(&o.Admin, "admin", "", "`URL` of that server's admin listener, for its CPU time")
	f.StringVar(&o.Keys.Live, "key", "", "live `KEY` of that server")
	f.StringVar(&o.Keys.Preview, "preview-key", "",
		"preview `KEY` of that server; without it the preview contract is left out")
	f.StringVar(&o.Store, "store", "", "serve the current snapshot of this store `DIR` instead of a synthetic catalog")
	f.IntVar(&o.Cards, "cards", 30_000, "how many cards the synthetic catalog has")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of that catalog")
	f.IntVar(&o.Days, "history-days", 365, "days of history of that catalog")
	f.StringSliceVar(&o.Operations, "operation", nil, "`NAME`s of operations; all by default")
	f.StringSliceVar(&o.Beside, "beside", []string{"bare", "body", "nethttp"},
		"servers to measure beside: bare, body, nethttp, memory")
	f.StringArrayVar(&rivals, "rival", nil,
		"`NAME=COMMAND` of another server, which writes {\"api\": URL} to $READY_FILE")
	f.StringVar(&o.Profiles, "profiles", "", "write a CPU profile of the server in each operation into this `DIR`")
	f.StringVar(&o.Queries, "queries", "", "search set `FILE` to ask every server that searches")
	f.IntVar(&o.Connections, "connections", 16, "how many connections")
	f.DurationVar(&o.Duration, "duration", time.Second, "of a round of one operation on one server")
	f.IntVar(&o.Rounds, "rounds", 5, "how often the servers take turns")
	f.BoolVar(&swap, "swap", false, "measure publications under a fixed load instead")
	f.IntVar(&s.Swaps, "swaps", 50, "with --swap: how many publications")
	f.DurationVar(&s.Every, "every", 2*time.Second, "with --swap: time between two")
	f.Float64Var(&s.Load, "load", 0.3, "with --swap: the load as a share of what client and server can do")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(taskCommand(fail))
	return cmd
}

// printer is what a measurement ends with.
type printer interface{ Print(io.Writer) error }

func runCommand(cmd *cobra.Command, o *Options, s *SwapOptions, swap, asJSON bool) error {
	var report printer
	var err error
	if swap {
		report, err = Swap(cmd.Context(), *o, *s)
	} else {
		report, err = Run(cmd.Context(), *o)
	}

	if err != nil {
		return err
	}
	if asJSON {
		enc := json.NewEncoder(cmd.OutOrStdout())
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(report)
	}
	return report.Print(cmd.OutOrStdout())
}

// taskCommand is how a measurement starts itself again for a server or a figure that needs a
// process of its own.
func taskCommand(fail func(code int, hint string, err error) error) *cobra.Command {
	return &cobra.Command{
		Use: "task TASK", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := ParseTask(args[0])
			if err == nil {
				err = t.Run(cmd.Context(), cmd.OutOrStdout())
			}
			if err != nil {
				return fail(exitFailure, "", err)
			}
			return nil
		},
	}
}
