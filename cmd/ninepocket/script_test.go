package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"ninepocket/internal/accesslog"
	"ninepocket/internal/postgrestest"
	"ninepocket/node"
)

// TestMain lets the test binary stand in for ninepocket in scripts, also on a disk and under clocks that a
// test has a hand in.
func TestMain(m *testing.M) {
	testscript.Main(cleaning{m}, map[string]func(){"ninepocket": func() { beFaulty(); main() }})
}

// cleaning removes what all tests of the binary shared.
type cleaning struct{ m *testing.M }

func (c cleaning) Run() int {
	code := c.m.Run()
	postgrestest.Stop()
	for _, folder := range []string{builtFolder, prepared.folder} {
		if folder != "" {
			_ = os.RemoveAll(folder)
		}
	}
	return code
}

// TestScripts runs the command line as an operator does: a script a sub-command, in
// testdata/script.
func TestScripts(t *testing.T) { // air: one step
	path := scriptPath(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			example, err := filepath.Abs("../../docs/examples/native")
			env.Setenv("EXAMPLE", example)
			if path != "" {
				env.Setenv("PATH", path+string(os.PathListSeparator)+env.Getenv("PATH"))
			}
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "field": field, "flip": flip, "cut": cutFile, "serve": serveScript, "get": getScript,
			"drain": stopScript, "requestid": requestID,
		},
	})
}

// builtFolder is what plainFolder made, "" before it made anything.
var builtFolder string

// programsIn is where programs are built: a test may have a folder for temporary files of its own.
var programsIn = os.TempDir()

// plainFolder is a folder with a ninepocket as make build builds it. With the race detector a process
// takes half a second to start, and scripts start hundreds. make test names a folder that stays,
// so that a program that did not change is not linked again.
var plainFolder = sync.OnceValues(func() (string, error) {
	folder := os.Getenv("TEST_PROGRAMS")
	if folder == "" {
		made, err := os.MkdirTemp(programsIn, "ninepocket-plain-")
		if err != nil {
			return "", err
		}
		folder = made
		builtFolder = made
	}

	program := filepath.Join(folder, "ninepocket")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	if err != nil {
		return folder, fmt.Errorf("cannot build ninepocket: %w\n%s", err, out)
	}
	return folder, nil
})

// scriptPath is a folder with a ninepocket for the scripts, "" for the test binary itself.
func scriptPath(t *testing.T) string {
	t.Helper()
	if !raceEnabled {
		return ""
	}

	folder, err := plainFolder()
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// plainProcess is the program as a process of its own, without the race detector: for publishers,
// which work alone.
func plainProcess(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	folder := scriptPath(t)
	if folder == "" {
		return ninepocketProcess(t, args...)
	}
	return exec.CommandContext(t.Context(), filepath.Join(folder, "ninepocket"), args...)
}

// runPlain runs a command to its end and returns its exit code. Under the race detector it is a
// process without the detector: commands that work alone then cost a fifth. The packages that they
// call have tests with the detector.
func runPlain(t *testing.T, args []string, stdout, stderr io.Writer) int {
	t.Helper()
	if !raceEnabled {
		return run(t.Context(), args, stdout, stderr)
	}

	command := plainProcess(t, args...)
	command.Stdout = stdout
	command.Stderr = stderr
	var exit *exec.ExitError
	if err := command.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("cannot run ninepocket %s: %v", strings.Join(args, " "), err)
	}
	return command.ProcessState.ExitCode()
}

// exits runs ninepocket and wants an exit code: exits 3 snapshot verify …
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec("ninepocket", args[1:]...)
	code := 0
	var exit *exec.ExitError
	if ok := asExit(err, &exit); ok {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("cannot run ninepocket: %v", err)
	}
	if code != want {
		ts.Fatalf("ninepocket %s: exit code %d, want %d", strings.Join(args[1:], " "), code, want)
	}
}

func asExit(err error, exit **exec.ExitError) bool {
	e, ok := err.(*exec.ExitError) //nolint:errorlint // ts.Exec returns it as it is
	*exit = e
	return ok
}

// field sets a variable to a member of the JSON object or array on stdout: field ID .id, field
// FIRST 0.id
func field(ts *testscript.TestScript, _ bool, args []string) {
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &v))

	for name := range strings.SplitSeq(strings.TrimPrefix(args[1], "."), ".") {
		if i, err := strconv.Atoi(name); err == nil {
			v = v.([]any)[i]
		} else {
			v = v.(map[string]any)[name]
		}
	}
	ts.Setenv(args[0], fmt.Sprint(v))
}

// flip changes a byte of a file: flip PATH OFFSET, counted from the end when negative.
func flip(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	at, err := strconv.Atoi(args[1])
	ts.Check(err)
	if at < 0 {
		at += len(b)
	}

	b[at] ^= 1
	ts.Check(os.WriteFile(path, b, 0o600))
}

// cutFile truncates a file to its first bytes: cut PATH N
func cutFile(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), n))
}

// serveScript starts ninepocket in the background, waits for its ready file and sets API: serve
// serve --store … or serve demo …
func serveScript(ts *testscript.TestScript, _ bool, args []string) {
	ready := ts.MkAbs("ready.json")
	_ = os.Remove(ready)
	args = append(args, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--ready-file", ready)
	path, err := exec.LookPath("ninepocket")
	ts.Check(err)
	cmd := exec.Command(path, args...)
	cmd.Dir = ts.MkAbs(".")
	var log bytes.Buffer
	cmd.Stdout = &log
	cmd.Stderr = &log
	ts.Check(cmd.Start())
	ts.Defer(func() { end(cmd) })
	servers.Store(ts.Getenv("WORK"), &running{cmd: cmd, log: &log})

	for range 600 {
		if b, err := os.ReadFile(ready); err == nil {
			var ready node.ReadyFile
			ts.Check(json.Unmarshal(b, &ready))
			ts.Setenv("API", ready.API)
			ts.Setenv("ADMIN", ready.Admin)
			for name, key := range ready.Keys {
				ts.Setenv("KEY_"+name, key)
			}
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	ts.Fatalf("ninepocket %s was not ready within a minute", strings.Join(args, " "))
}

type running struct {
	cmd *exec.Cmd
	log *bytes.Buffer
}

// servers are the background processes, *running, by the script's folder: scripts run in parallel.
var servers sync.Map

// getScript fetches a URL with a key and wants a status; the body becomes stdout of a cat of
// "body": get 200 KEY URL
func getScript(ts *testscript.TestScript, _ bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, args[2], http.NoBody)
	ts.Check(err)
	if args[1] != "-" {
		req.Header.Set("X-API-Key", args[1])
	}

	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("body"), body, 0o600))
	if strconv.Itoa(resp.StatusCode) != args[0] {
		ts.Fatalf("GET %s: status %d, want %s: %s", args[2], resp.StatusCode, args[0], body)
	}
}

// requestID sets REQUEST to the id of the first line of an access log that has an operation and a
// tenant: requestid games_list access.log
func requestID(ts *testscript.TestScript, _ bool, args []string) {
	for text := range strings.Lines(ts.ReadFile(args[1])) {
		var line accesslog.Line
		ts.Check(json.Unmarshal([]byte(text), &line))
		if line.Operation == args[0] && line.Tenant != "" {
			ts.Setenv("REQUEST", line.RequestID)
			return
		}
	}
	ts.Fatalf("%s has no line of %s", args[1], args[0])
}

// stopScript sends SIGTERM to the server and wants a clean end.
func stopScript(ts *testscript.TestScript, _ bool, _ []string) {
	started, _ := servers.Load(ts.Getenv("WORK"))
	r := started.(*running)
	ts.Check(r.cmd.Process.Signal(syscall.SIGTERM))
	if err := r.cmd.Wait(); err != nil {
		ts.Fatalf("the server did not drain: %v\n%s", err, r.log)
	}
	ts.Check(os.WriteFile(ts.MkAbs("log"), r.log.Bytes(), 0o600))
}
