package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Task is the work of a child process of a measurement. The driver starts the program again with a
// task, so that every server is a separate process, whose CPU time and memory can be measured.
type Task struct {
	Kind string

	Store, State string // of the servers, build and load; build makes bulk files if there is a State
	Ready        string // the file that a server writes when it is ready

	Script     string // of a bare server: the file with the responses
	BodyOnly   bool   // of a bare server: bodies without the headers of the original
	Cards      int    // of build, as all that follow
	Seed       uint64
	Days       int           // of history
	Conditions int           // largest number of conditions of a variant, 0 for all
	Snapshots  int           // number of snapshots, a day apart
	Snapshot   string        // to publish
	For        time.Duration // to compute
}

// Kinds of tasks.
const (
	taskBare    = "bare"    // sends recorded responses
	taskMemory  = "memory"  // the whole server with metering in memory
	taskBuild   = "build"   // makes a store, prints BuildFigures
	taskLoad    = "load"    // loads a store, prints LoadFigures
	taskPublish = "publish" // publishes a snapshot
	taskCompute = "compute" // only uses a processor
)

// BuildTask returns the task that makes a store with a synthetic catalog.
func BuildTask(store string, cards, days int) Task {
	return Task{Kind: taskBuild, Store: store, Cards: cards, Seed: 1, Days: days}
}

// Text returns the task as one argument of a command line.
func (t *Task) Text() string {
	text, err := json.Marshal(t)
	if err != nil {
		// Strings and numbers do not fail.
		panic(err)
	}
	return string(text)
}

// Tasks has the functions of a program that run tasks, by kind. Servers end with the context.
type Tasks map[string]func(ctx context.Context, t *Task, out io.Writer) error

// OwnTasks returns the tasks for measurements of our own server.
func OwnTasks() Tasks { // air: one table
	return Tasks{
		taskBare:   func(ctx context.Context, t *Task, _ io.Writer) error { return t.serveBare(ctx) },
		taskMemory: func(ctx context.Context, t *Task, _ io.Writer) error { return t.serveMemory(ctx) },
		taskBuild: func(ctx context.Context, t *Task, out io.Writer) error {
			return printFigures(out)(t.build(ctx))
		},
		taskLoad:    func(_ context.Context, t *Task, out io.Writer) error { return printFigures(out)(t.load()) },
		taskPublish: func(ctx context.Context, t *Task, _ io.Writer) error { return t.publish(ctx, t.Snapshot) },
		taskCompute: func(ctx context.Context, t *Task, _ io.Writer) error {
			for end := time.Now().Add(t.For); time.Now().Before(end) && ctx.Err() == nil; {
			}
			return nil
		},
	}
}

// Do runs the task in a text from Text.
func (all Tasks) Do(ctx context.Context, text string, out io.Writer) error {
	var t Task
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return fmt.Errorf("cannot read the task %q: %w", text, err)
	}

	do := all[t.Kind]
	if do == nil {
		return fmt.Errorf("cannot do a task of kind %q", t.Kind)
	}
	return do(ctx, &t, out)
}

func printFigures(out io.Writer) func(any, error) error {
	return func(figures any, err error) error {
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(figures)
	}
}

// Ready is the content of a ready file: one address, or one for each operation.
type Ready struct {
	API       string            `json:"api,omitempty"`
	Admin     string            `json:"admin,omitempty"`
	Addresses map[string]string `json:"addresses,omitempty"`
}

// WriteReady writes a server's ready file atomically.
func WriteReady(path string, ready Ready) error {
	text, err := json.Marshal(ready)
	if err != nil {
		return err
	}

	// A process that waits for the file must never read an incomplete file.
	draft := filepath.Join(filepath.Dir(path), "."+filepath.Base(path))
	if err := os.WriteFile(draft, text, 0o600); err != nil {
		return fmt.Errorf("cannot write ready file %q: %w", path, err)
	}
	return os.Rename(draft, path)
}

// awaitReady reads a server's ready file once it exists.
func awaitReady(ctx context.Context, path string, ended <-chan struct{}) (Ready, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()

	for {
		var ready Ready
		// The file is renamed into its place, so it is complete once it exists.
		if text, err := os.ReadFile(path); err == nil {
			err = json.Unmarshal(text, &ready)
			return ready, err
		}

		select {
		case <-ctx.Done():
			return ready, context.Cause(ctx)
		case <-ended:
			return ready, fmt.Errorf("cannot start a server: it ended before %q was written", path)
		case <-tick.C:
		}
	}
}
