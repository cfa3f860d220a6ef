// Package rivals compares our server with others for equal requests: net/http and encoding/json
// over the engine, and any server that a command starts on a dump of our cards.
//
// # Basics
//
// [Run] is bench.Run with the net/http server as a further rival; it can also send a search set to
// every server with a search. The net/http server and the dump are tasks of this package; [Tasks]
// has them for the command that starts itself again.
//
// # Caveats
//
// The package is no part of the product: bench/figures imports it, and the ninepocket command must
// not.
package rivals

import (
	"context"
	"fmt"
	"io"
	"slices"

	"ninepocket/bench"
)

// Plain is the name of the server with net/http and encoding/json.
const Plain = "nethttp"

// Kinds of tasks.
const (
	taskPlain  = "plain"  // serves a store with net/http and encoding/json
	taskExport = "export" // prints the cards of a store, one JSON object per line
)

// Tasks returns the tasks of a measurement of rivals, for separate processes.
func Tasks() bench.Tasks { return bench.Tasks{taskPlain: servePlain, taskExport: export} }

// ExportTask returns the task that prints the cards of a store.
func ExportTask(store string) bench.Task { return bench.Task{Kind: taskExport, Store: store} }

// Options of a run with rivals.
type Options struct {
	// Self is the command line that runs a task of this package.
	Self []string
	// Queries is the file of a search set for every server, "" for none.
	Queries string
	// Typed is a file of typed queries, "" for none.
	Typed string
}

// Report has the results of a run, with those of the search set.
type Report struct {
	*bench.Report
	Quality map[string]map[string]Quality `json:",omitempty"` // by server and tier
	Typed   map[string]map[string]Quality `json:",omitempty"` // by server and family
}

// Run drives our server and others and returns the results. CompareWith may name Plain, too.
func Run(ctx context.Context, options bench.Options, with Options) (*Report, error) {
	if slices.Contains(options.CompareWith, Plain) {
		options.CompareWith = slices.DeleteFunc(slices.Clone(options.CompareWith),
			func(name string) bool { return name == Plain })
		options.Rivals = append([]bench.Rival{plainRival(with.Self)}, options.Rivals...)
	}

	report := &Report{}
	if with.Queries != "" {
		all, err := readQueries(with.Queries)
		if err != nil {
			return nil, err
		}
		var typed []typed
		if with.Typed != "" {
			typed, err = readTyped(with.Typed)
			if err != nil {
				return nil, err
			}
		}

		options.AfterRun = func(servers []bench.Endpoint) error {
			report.Quality, err = judge(ctx, all, servers)
			if err != nil || len(typed) == 0 {
				return err
			}
			report.Typed, err = judgeTyped(ctx, typed, servers)
			return err
		}
	}

	var err error
	report.Report, err = bench.Run(ctx, options)
	if err != nil {
		return nil, err
	}
	return report, nil
}

// plainRival returns the net/http server on the store of the run; it is left out if that is
// unknown.
func plainRival(self []string) bench.Rival {
	return bench.Rival{Name: Plain, Command: func(task bench.Task) []string {
		if task.Store == "" {
			return nil
		}
		task.Kind = taskPlain
		return append(slices.Clip(self), task.Text())
	}}
}

// Shell returns a rival that a shell command starts.
func Shell(name, command string) bench.Rival {
	return bench.Rival{Name: name, Command: func(bench.Task) []string {
		return []string{"sh", "-c", "exec " + command}
	}}
}

// Print writes the report as text.
func (r *Report) Print(out io.Writer) error {
	if err := r.Report.Print(out); err != nil {
		return err
	}

	for _, server := range r.Servers {
		if tiers := r.Quality[server]; tiers != nil {
			if _, err := fmt.Fprintf(out, "search set, %s: %s\n", server, formatTiers(tiers)); err != nil {
				return err
			}
		}
	}
	return nil
}
