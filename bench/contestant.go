package bench

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// contestant is a measured server: a process that we started, with its descendants, or one that was
// running before.
type contestant struct {
	name      string
	process   *exec.Cmd // nil if it was running before
	ended     chan struct{}
	log       *bytes.Buffer
	api       string            // host and port
	addresses map[string]string // host and port by operation, if each has its own
	admin     string            // host and port of the admin listener, "" for none
}

// address returns the host and port for an operation.
func (c *contestant) address(operation string) (string, bool) {
	if c.addresses == nil {
		return c.api, true
	}
	a, ok := c.addresses[operation]
	return a, ok
}

const (
	// startTimeout bounds the start of a server, which includes an import into a database.
	startTimeout = 10 * time.Minute
	// bulkTimeout bounds the making of bulk files. Those of a million cards take 40 minutes.
	bulkTimeout = time.Hour
)

// start runs a command and waits for its ready file.
func start(ctx context.Context, name string, command []string, ready string) (*contestant, error) {
	c := &contestant{name: name, ended: make(chan struct{}), log: &bytes.Buffer{}}
	c.process = exec.Command(command[0], command[1:]...) //nolint:gosec // our own program, or the caller's
	c.process.Stdout = c.log
	c.process.Stderr = c.log
	c.process.Env = append(os.Environ(), "READY_FILE="+ready)
	endWithParent(c.process)
	if err := c.process.Start(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", name, err)
	}

	// A goroutine waits for the process, so that a server that exits early is noticed.
	go func() {
		// awaitReady reports a server that exits early; one that is stopped exits as requested.
		_ = c.process.Wait()
		close(c.ended)
	}()

	// The start may include an import into a database, which takes minutes.
	wait, cancel := context.WithTimeoutCause(ctx, startTimeout,
		fmt.Errorf("cannot start %s within %v", name, startTimeout))
	defer cancel()
	announced, err := awaitReady(wait, ready, c.ended)
	c.addresses = announced.Addresses
	if err == nil && announced.API != "" {
		c.api, err = addressOf(announced.API)
	}
	if err == nil && announced.Admin != "" {
		c.admin, err = addressOf(announced.Admin)
	}

	if err == nil {
		err = c.awaitBulk(ctx)
	}
	if err != nil {
		c.stop()
		return nil, fmt.Errorf("%w\n%s", err, tail(c.log.String(), 20))
	}
	return c, nil
}

// awaitBulk waits until a ninepocket has made its bulk files. It makes them once for each snapshot, and no
// request causes this work. A server whose metrics do not name the files is not waited for.
func (c *contestant) awaitBulk(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, bulkTimeout,
		fmt.Errorf("cannot measure %s: its bulk files are not made after %v", c.name, bulkTimeout))
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()

	for c.admin != "" {
		made, err := c.metric("ninepocket_bulk_ready")
		if made == 1 || errors.Is(err, errNoMetric) {
			return nil
		}
		failures, failed := c.metric("ninepocket_bulk_failures_total")
		if err := cmp.Or(err, failed); err != nil {
			return err
		}
		if failures > 0 {
			return fmt.Errorf("cannot measure %s: it cannot make its bulk files, and tries again", c.name)
		}

		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.ended:
			return fmt.Errorf("cannot measure %s: it ended before its bulk files were made", c.name)
		case <-tick.C:
		}
	}
	return nil
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// stop ends the process and waits for it.
func (c *contestant) stop() {
	if c.process == nil {
		return
	}

	// It may have exited.
	_ = c.process.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.ended:
	// A server drains for a while; the wait for one that hangs is bounded.
	case <-time.After(20 * time.Second):
		_ = c.process.Process.Kill()
		<-c.ended
	}
}

var (
	errNoCPU    = errors.New("its CPU time is not known: give --admin")
	errNoMetric = errors.New("it reports no such metric")
)

// cpu returns the CPU time that the server has used so far.
func (c *contestant) cpu() (time.Duration, error) {
	if c.process == nil {
		return c.cpuFromMetrics()
	}

	var total time.Duration
	// The processes of a database count, too.
	for i, pid := range processTree(c.process.Process.Pid) {
		used, err := cpuTime(pid)
		if err != nil && i == 0 {
			// A descendant may exit meanwhile, but not the server.
			return 0, err
		}
		total += used
	}
	return total, nil
}

// cpuFromMetrics reads the CPU time from the server's own metrics.
func (c *contestant) cpuFromMetrics() (time.Duration, error) {
	seconds, err := c.metric("process_cpu_seconds_total")
	return time.Duration(seconds * float64(time.Second)), err
}

// metric reads one metric from the admin listener.
func (c *contestant) metric(name string) (float64, error) {
	if c.admin == "" {
		return 0, errNoCPU
	}

	client := http.Client{Timeout: answerTimeout}
	response, err := client.Get("http://" + c.admin + "/metrics")
	if err != nil {
		return 0, fmt.Errorf("cannot read the metrics of %s: %w", c.name, err)
	}
	// The body was only read, so an error of Close means nothing.
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, fmt.Errorf("cannot read the metrics of %s: %w", c.name, err)
	}

	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(rest), 64)
		}
	}
	return 0, fmt.Errorf("cannot find %s in the metrics of %s: %w", name, c.name, errNoMetric)
}

// memory returns the memory of the server's processes now.
func (c *contestant) memory() int64 {
	if c.process == nil {
		return 0
	}

	var total int64
	for _, pid := range processTree(c.process.Process.Pid) {
		now, _ := memory(pid)
		total += now
	}
	return total
}

// workspace is the folder of a measurement: its store, its keys and its servers.
type workspace struct {
	folder string
	self   []string // the command line that runs a Task, without the task
	serve  []string // the command line of serve, without its flags
	keys   Keys
	built  BuildFigures
	log    io.Writer
}

func (h *workspace) path(name string) string { return filepath.Join(h.folder, name) }

// logf writes a progress line for the user; errors are ignored.
func (h *workspace) logf(format string, a ...any) { _, _ = fmt.Fprintf(h.log, format+"\n", a...) }

// setUp makes the keys, and the store unless one is given.
func (h *workspace) setUp(ctx context.Context, o *Options, snapshots int) error {
	var err error
	h.keys, err = writeKeys(h.path("state"), h.path("bench.toml"))
	if err != nil {
		return err
	}
	if o.Store != "" {
		return nil
	}

	h.logf("building %d cards with %d days of history", o.Cards, o.Days)
	text, err := h.exec(ctx, Task{
		Kind: taskBuild, Store: h.path("store"), State: h.path("state"), Cards: o.Cards, Seed: o.Seed, Days: o.Days,
		Snapshots: snapshots,
	})
	if err != nil {
		return err
	}
	return json.Unmarshal(text, &h.built)
}

// exec runs a task and returns its output.
func (h *workspace) exec(ctx context.Context, t Task) ([]byte, error) {
	arguments := append(slices.Clip(h.self[1:]), t.Text())
	command := exec.CommandContext(ctx, h.self[0], arguments...) //nolint:gosec // ourselves
	// If the measurement is killed, its servers end, too.
	endWithParent(command)
	var out, trouble bytes.Buffer
	command.Stdout = &out
	command.Stderr = &trouble
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("cannot %s in a process of its own: %w\n%s", t.Kind, err, tail(trouble.String(), 20))
	}
	return out.Bytes(), nil
}

// startTask starts a task that is a server.
func (h *workspace) startTask(ctx context.Context, name string, t Task) (*contestant, error) {
	t.Ready = h.path(name + ".ready")
	return start(ctx, name, append(slices.Clip(h.self), t.Text()), t.Ready)
}

// startServe starts the program's serve command on the store.
func (h *workspace) startServe(ctx context.Context, store string) (*contestant, error) {
	ready := h.path("serve.ready")
	h.logf("starting the server, and waiting until its bulk files are made")
	return start(ctx, full, append(slices.Clip(h.serve),
		"--store", store, "--state", h.path("state"), "--config", h.path("bench.toml"),
		"--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--ready-file", ready), ready)
}
