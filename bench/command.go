package bench

import (
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ninepocket/internal/term"
)

// Command returns the command that measures our own server, with a hidden sub-command that runs a
// Task.
func Command() *cobra.Command {
	var o Options
	var options SwapOptions
	var program string
	var swap, asJSON bool
	cmd := &cobra.Command{
		Use:   "drive",
		Short: "Measure a server over loopback, next to bare servers",
		Long: "Drives a server with keep-alive connections and prints, for every operation, requests a second, " +
			"the server\n" +
			"process's CPU time a request and the quantiles of latency. A bare fasthttp server that " +
			"sends equal\n" +
			"bytes is measured, too. The servers are separate processes and take turns in rounds.\n\n" +
			"The same requests to other servers (net/http, databases, search libraries) are measured from the " +
			"sources,\n" +
			"by 'go run ./bench/figures loop' and 'compare'.\n\n" +
			"Without --url it builds a synthetic catalog and serves it as 'ninepocket serve' does. With the URL " +
			"of a running\n" +
			"server, --key is a live key whose plan no measurement exhausts; CPU time is read from --admin.\n\n" +
			"Operations: " + strings.Join(OperationNames(), " "),
		Example: "  go run ./bench/drive --operation get_card --operation search_exact\n" +
			"  go run ./bench/drive --swap",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			self, err := os.Executable()
			if err != nil {
				return err
			}

			o.Self = []string{self, "task"}
			o.Serve = []string{program, "serve"}
			o.Log = cmd.ErrOrStderr()
			// Swap has more options, and validates those of a run with them.
			check := o.Validate
			if swap {
				check = func() error { return options.Validate(&o) }
			}
			if err := check(); err != nil {
				return err
			}
			return runCommand(cmd, &o, &options, swap, asJSON)
		},
	}

	f := cmd.Flags()
	o.Flags(f)
	f.StringVar(&program, "program", "bin/ninepocket", "the ninepocket to measure, as `make build` makes it")
	f.StringSliceVar(&o.CompareWith, "beside", []string{bareSame, bareBody},
		"further servers to measure: bare, body, memory")
	f.BoolVar(&swap, "swap", false, "measure releases under a fixed load instead")
	f.IntVar(&options.Swaps, "swaps", 50, "with --swap: the number of releases")
	f.DurationVar(&options.Every, "every", 2*time.Second, "with --swap: time between two")
	f.Float64Var(&options.Load, "load", 0.3, "with --swap: the load as a share of what client and server can do")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(TaskCommand(OwnTasks()))
	return cmd
}

// Flags adds the flags of a run, without those of the other servers.
func (o *Options) Flags(f *pflag.FlagSet) {
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
	f.StringVar(&o.Profiles, "profiles", "", "write a CPU profile of the server in each operation into this `DIR`")
	f.IntVar(&o.Connections, "connections", 16, "how many connections")
	f.DurationVar(&o.Duration, "duration", time.Second, "of a round of one operation on one server")
	f.IntVar(&o.Rounds, "rounds", 5, "how often the servers take turns")
}

// Printer is the result of a measurement.
type Printer interface{ Print(io.Writer) error }

func runCommand(cmd *cobra.Command, o *Options, options *SwapOptions, swap, asJSON bool) error {
	var report Printer
	var err error
	if swap {
		report, err = Swap(cmd.Context(), *o, *options)
	} else {
		report, err = Run(cmd.Context(), *o)
	}

	if err != nil {
		return err
	}
	return Write(cmd.OutOrStdout(), report, asJSON)
}

// Write writes a report as text or as JSON.
func Write(out io.Writer, report Printer, asJSON bool) error {
	if asJSON {
		return term.JSON(out, report)
	}
	return report.Print(out)
}

// TaskCommand returns the command with which a measurement starts itself again, for a task in a
// separate process.
func TaskCommand(tasks Tasks) *cobra.Command {
	return &cobra.Command{
		Use: "task TASK", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return tasks.Do(cmd.Context(), args[0], cmd.OutOrStdout())
		},
	}
}
