package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"ninepocket/snapshot"
)

// Task is what a child process of a measurement does. The driver starts the program again with a
// task, so that every server has a process of its own whose CPU time and memory are its alone.
type Task struct {
	Kind string

	Store, State string // of the servers, build and load
	Ready        string // the file that says that a server answers

	Script     string // of a bare server: the file with the answers
	BodyOnly   bool   // of a bare server: bodies without the headers of the original
	Cards      int    // of build, and what follows
	Seed       uint64
	Days       int           // of history
	Conditions int           // most conditions that a variant is tracked in, 0 for as many as there are
	Snapshots  int           // of which the store gets as many, a day apart
	Snapshot   string        // to publish
	For        time.Duration // to compute
}

// Kinds of tasks.
const (
	taskBare    = "bare"    // answers scripted bytes
	taskMemory  = "memory"  // the whole server with metering in memory
	taskPlain   = "plain"   // net/http and encoding/json over the same engine
	taskBuild   = "build"   // makes a store, prints BuildFigures
	taskLoad    = "load"    // loads a store, prints LoadFigures
	taskPublish = "publish" // publishes a snapshot
	taskCompute = "compute" // uses a processor, for nothing
	taskExport  = "export"  // prints the cards of a store, a JSON object a line
)

// ParseTask reads a task as Text spells it.
func ParseTask(text string) (Task, error) {
	var t Task
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return t, fmt.Errorf("cannot read the task %q: %w", text, err)
	}
	return t, nil
}

// Text spells the task as one argument of a command line.
func (t *Task) Text() string {
	text, err := json.Marshal(t)
	if err != nil {
		// Strings and numbers can be spelt.
		panic(err)
	}
	return string(text)
}

// Run does the task; servers end with ctx.
func (t *Task) Run(ctx context.Context, out io.Writer) error { // air: one step
	switch t.Kind {
	case taskBare:
		return t.serveBare(ctx)

	case taskMemory:
		return t.serveMemory(ctx)
	case taskPlain:
		return t.servePlain(ctx)
	case taskBuild:
		return printFigures(out)(t.build(ctx))
	case taskLoad:
		return printFigures(out)(t.load())
	case taskPublish:
		return publish(snapshot.OpenDir(t.Store), t.Snapshot)
	case taskCompute:
		for end := time.Now().Add(t.For); time.Now().Before(end) && ctx.Err() == nil; {
		}
		return nil
	case taskExport:
		return t.export(out)
	}
	return fmt.Errorf("cannot do a task of kind %q", t.Kind)
}

func printFigures(out io.Writer) func(any, error) error {
	return func(figures any, err error) error {
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(figures)
	}
}

// readyFile is what a server writes when it answers: one address, or one for each operation.
type readyFile struct {
	API       string            `json:"api,omitempty"`
	Admin     string            `json:"admin,omitempty"`
	Addresses map[string]string `json:"addresses,omitempty"`
}

// announce writes the ready file at once.
func announce(path string, ready readyFile) error {
	text, err := json.Marshal(ready)
	if err != nil {
		return err
	}

	// A process that waits for the file must never see half of it.
	draft := filepath.Join(filepath.Dir(path), "."+filepath.Base(path))
	if err := os.WriteFile(draft, text, 0o600); err != nil {
		return fmt.Errorf("cannot write ready file %q: %w", path, err)
	}
	return os.Rename(draft, path)
}

// await reads a server's ready file once it is there.
func await(ctx context.Context, path string, ended <-chan struct{}) (readyFile, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()

	for {
		var ready readyFile
		// The file is renamed into its place, so it is whole once it is there.
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
