// Package rivals measures what others make of the requests that our server answers: net/http and
// encoding/json over the same engine, and any server that a command starts over a dump of our cards.
//
// # Basics
//
// [Run] is bench.Run that knows the net/http server by name and can ask a search set of every
// server that searches. The net/http server and the dump are tasks of this package; [Tasks] has
// them for the command that starts itself again.
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

// Plain is the name of the server of net/http and encoding/json.
const Plain = "nethttp"

// Kinds of tasks.
const (
	taskPlain  = "plain"  // serves a store by net/http and encoding/json
	taskExport = "export" // prints the cards of a store, a JSON object a line
)

// Tasks are what a measurement of rivals starts processes of its own for.
func Tasks() bench.Tasks { return bench.Tasks{taskPlain: servePlain, taskExport: export} }

// ExportTask is the task that prints the cards of a store.
func ExportTask(store string) bench.Task { return bench.Task{Kind: taskExport, Store: store} }

// Options of a run with rivals.
type Options struct {
	// Self is the command line that does a task of this package.
	Self []string
	// Queries is a search set to ask every server, "" for none.
	Queries string
	// Typed is a file of queries as people type them, "" for none.
	Typed string
}

// Report is what a run measured, with how the servers did on the search set.
type Report struct {
	*bench.Report
	Quality map[string]map[string]Quality `json:",omitempty"` // by server and tier
	Typed   map[string]map[string]Quality `json:",omitempty"` // by server and family
}

// Run drives our server beside others and returns what was measured. Beside may name Plain, too.
func Run(ctx context.Context, options bench.Options, with Options) (*Report, error) {
	if slices.Contains(options.Beside, Plain) {
		options.Beside = slices.DeleteFunc(slices.Clone(options.Beside),
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

		options.Last = func(servers []bench.Endpoint) error {
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

// plainRival starts the net/http server over the store of the run, when that is known.
func plainRival(self []string) bench.Rival {
	return bench.Rival{Name: Plain, Command: func(task bench.Task) []string {
		if task.Store == "" {
			return nil
		}
		task.Kind = taskPlain
		return append(slices.Clip(self), task.Text())
	}}
}

// Shell is a rival that a shell command starts.
func Shell(name, command string) bench.Rival {
	return bench.Rival{Name: name, Command: func(bench.Task) []string {
		return []string{"sh", "-c", "exec " + command}
	}}
}

// Print writes the report for people.
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
