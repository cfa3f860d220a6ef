package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/sync/errgroup"
)

// SwapOptions are the releases and the load of Swap.
type SwapOptions struct {
	Swaps int           // releases; default 50
	Every time.Duration // between two; default 2 s
	Load  float64       // requests sent, as a fraction of the rate that server and client can reach; default 0.3
}

func (o *SwapOptions) setDefaults() {
	if o.Swaps == 0 {
		o.Swaps = 50
	}
	if o.Every == 0 {
		o.Every = 2 * time.Second
	}
	if o.Load == 0 {
		o.Load = 0.3
	}
}

// Validate sets the defaults of both options and returns an error for invalid ones; Swap calls it.
func (o *SwapOptions) Validate(other *Options) error {
	o.setDefaults()
	problems := []error{other.Validate()}
	if other.URL != "" || other.Store != "" {
		problems = append(problems,
			errors.New("cannot publish into somebody else's store: --swap serves a catalog of its own"))
	}
	if o.Swaps < 1 || o.Every <= 0 {
		problems = append(problems,
			errors.New("cannot publish less than once, or without a time between two releases"))
	}

	// This also rejects NaN.
	if !(o.Load > 0 && o.Load <= 1) {
		problems = append(problems,
			fmt.Errorf("cannot drive the server at a load of %v: want more than 0 and at most 1", o.Load))
	}
	return errors.Join(problems...)
}

// SwapReport has the results of releases under load.
type SwapReport struct {
	Cards                int
	Rate                 float64 // requests per second that were intended
	Phases               []Phase // before, publishing, swapping, after, computing
	Swaps                int     // releases
	Seen                 int     // changes of the snapshot in the responses
	Failures, Mixed      int64   // responses other than 200; bodies that differ from others of the same snapshot
	HeapBefore           int64   // live heap of the server at its last collection
	HeapEarly, HeapAfter int64   // the same with two Views retained, and at the end
	MemoryAfter          int64
}

// Phase is a part of the run, with the latencies of the requests that were due in it.
type Phase struct {
	Name                string
	Requests            uint64
	P50, P99, P999, Max float64 // µs from when a request was due until its response was read
}

const (
	before     = iota
	publishing // while the publisher verifies a snapshot in a separate process
	swapping   // from its end until the next one begins: the server loads the snapshot and swaps
	after
	computing // while a process of the lowest priority only computes: the effect of any other work on this machine
	phases
)

// Ratio returns the p99 of one phase divided by that before the swaps.
func (r *SwapReport) Ratio(phase int) float64 { return r.Phases[phase].P99 / r.Phases[before].P99 }

// Swapping returns the p99 in µs before the swaps and in four situations. These are: while the
// server loads and swaps, while a publisher verifies, afterwards, and while another process only
// computes.
func (r *SwapReport) Swapping() (quiet, swap, publish, calm, compute float64) {
	return r.Phases[before].P99, r.Ratio(swapping), r.Ratio(publishing), r.Ratio(after), r.Ratio(computing)
}

// Swap serves one of two snapshots, sends cards and searches at a fixed rate, and publishes the
// other snapshot repeatedly. Requests are due at fixed instants, and their latency counts from
// then, even if the previous response is late. So a stall of the server counts for every
// request that waited.
func Swap(ctx context.Context, o Options, options SwapOptions) (*SwapReport, error) {
	if err := options.Validate(&o); err != nil {
		return nil, err
	}

	folder, err := os.MkdirTemp("", "ninepocket-bench-")
	if err != nil {
		return nil, fmt.Errorf("cannot make a folder for the measurement: %w", err)
	}
	// If this fails, files stay in the temporary folder.
	defer func() { _ = os.RemoveAll(folder) }()
	h := workspace{folder: folder, self: o.Self, serve: o.Serve, log: o.Log}
	if err := h.setUp(ctx, &o, 2); err != nil {
		return nil, err
	}

	c, err := h.startServe(ctx, h.path("store"))
	if err != nil {
		return nil, err
	}
	defer c.stop()
	run := &swapRun{workspace: &h, c: c, plan: options}
	run.mix, err = mixture(c, h.keys)
	if err != nil {
		return nil, err
	}
	return run.run(ctx, &o)
}

// mixture alternates between cards and searches.
func mixture(c *contestant, keys Keys) (*Operation, error) {
	sample, err := readSample(c.api, keys)
	if err != nil {
		return nil, err
	}

	both, err := chosen(sample.operations(), []string{"get_card", "search_exact"})
	if err != nil {
		return nil, err
	}
	mix := &Operation{Name: "cards and searches", Depth: 1}
	for i := range both[0].Requests {
		mix.Requests = append(mix.Requests, both[0].Requests[i], both[1].Requests[i])
	}
	return mix, nil
}

// swapRun is a Swap in progress.
type swapRun struct {
	*workspace
	c     *contestant
	mix   *Operation
	plan  SwapOptions
	phase atomic.Int32 // of requests that are due now
}

// openConnections is the number of connections of the open loop: enough that a slow response does
// not delay the requests on other connections.
const openConnections = 16

func (m *swapRun) run(ctx context.Context, o *Options) (*SwapReport, error) {
	// Warm up.
	if _, err := m.c.drive(ctx, m.mix, o.Connections, time.Second); err != nil {
		return nil, err
	}

	capacity, err := m.c.drive(ctx, m.mix, o.Connections, 2*time.Second)
	if err != nil {
		return nil, err
	}

	report := &SwapReport{Cards: m.built.Counts.Cards, Swaps: m.plan.Swaps}
	report.Rate = m.plan.Load * float64(capacity.Requests) / capacity.Wall.Seconds()
	quiet := max(time.Duration(m.plan.Swaps)*m.plan.Every/5, 5*time.Second)
	m.logf("%.0f requests/s, %v before, %d swaps in %v, %v after, as long next to a process that computes",
		report.Rate, quiet, m.plan.Swaps, time.Duration(m.plan.Swaps)*m.plan.Every, quiet)

	loops := make([]openLoop, openConnections)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	start := time.Now().Add(50 * time.Millisecond)
	for i := range loops {
		group.Go(func() error {
			step := time.Duration(float64(openConnections) / report.Rate * float64(time.Second))
			return loops[i].run(ctx, m, i, start.Add(step*time.Duration(i)/openConnections), step)
		})
	}
	group.Go(func() error {
		defer stop()
		return m.publish(ctx, quiet, report)
	})
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return nil, err
	}
	report.fill(loops)
	report.MemoryAfter = m.c.memory()
	return report, nil
}

// publish runs the phases.
func (m *swapRun) publish(ctx context.Context, quiet time.Duration, report *SwapReport) error {
	if err := wait(ctx, quiet); err != nil {
		return err
	}

	report.HeapBefore = m.c.liveHeap()
	for i := range m.plan.Swaps {
		next := m.built.Snapshots[(i+1)%len(m.built.Snapshots)]
		m.phase.Store(publishing)
		if err := m.publishOne(ctx, next); err != nil {
			return err
		}
		m.phase.Store(swapping)
		if err := wait(ctx, m.plan.Every); err != nil {
			return err
		}
		if i == 1 {
			report.HeapEarly = m.c.liveHeap()
		}
	}

	m.phase.Store(after)
	if err := wait(ctx, quiet); err != nil {
		return err
	}
	report.HeapAfter = m.c.liveHeap()
	m.phase.Store(computing)
	return m.runLowPriority(ctx, Task{Kind: taskCompute, For: quiet})
}

// publishOne publishes as an operator would on the machine of a server: from a separate process at
// the lowest priority. It verifies the snapshot and makes a View before it moves the pointer.
func (m *swapRun) publishOne(ctx context.Context, id string) error {
	return m.runLowPriority(ctx, Task{Kind: taskPublish, Store: m.path("store"), Snapshot: id})
}

// runLowPriority runs a task in a separate process at the lowest priority.
func (m *swapRun) runLowPriority(ctx context.Context, t Task) error {
	arguments := append(slices.Clip(m.self[1:]), t.Text())
	command := exec.CommandContext(ctx, m.self[0], arguments...) //nolint:gosec // ourselves
	endWithParent(command)
	var trouble bytes.Buffer
	command.Stderr = &trouble
	err := command.Start()
	if err == nil {
		lowerPriority(command.Process.Pid)
		err = command.Wait()
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("cannot do the task %s next to the server: %w\n%s", t.Text(), err, tail(trouble.String(), 5))
	}
	return err
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()

	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// liveHeap returns the live heap of the server's last garbage collection; the next one begins at
// twice that (GOGC=100).
func (c *contestant) liveHeap() int64 {
	next, err := c.metric("go_memstats_next_gc_bytes")
	if err != nil {
		// The report can do without this figure.
		return 0
	}
	return int64(next / 2)
}

// openLoop sends requests on one connection at fixed instants.
type openLoop struct {
	latency         [phases]Histogram
	failures, mixed int64
	seen            int // changes of the snapshot
	last            uint64
	bodies          map[served]uint64
}

// served is a request in a snapshot; its response body never changes.
type served struct {
	request  int
	snapshot uint64
}

func (l *openLoop) run(ctx context.Context, run *swapRun, connection int, due time.Time, step time.Duration) error {
	link, err := dial(run.c.api)
	if err != nil {
		return err
	}

	// The responses are complete, or their error is returned.
	defer func() { _ = link.Close() }()
	l.bodies = map[served]uint64{}
	turns := newTurns(run.mix, connection)
	for ; ctx.Err() == nil; due = due.Add(step) {
		sleepUntil(due)
		phase := run.phase.Load()
		request := turns.next % len(turns.requests)
		a, err := link.roundTrip(turns.take())
		if err != nil {
			return err
		}

		l.latency[phase].Add(time.Since(due))
		l.check(request, &a)
	}
	return nil
}

// check compares a response with the others to the same request from the same snapshot.
func (l *openLoop) check(request int, a *response) {
	if a.status != http.StatusOK {
		l.failures++
		return
	}

	// The cursor has the instant.
	body, _, _ := bytes.Cut(a.body, []byte(`"next_cursor"`))
	_, id, _ := bytes.Cut(a.header, []byte("X-Snapshot-Id: "))
	id, _, _ = bytes.Cut(id, []byte("\r\n"))
	snap := xxhash.Sum64(id)
	sum := xxhash.Sum64(body)
	if snap != l.last {
		l.seen++
		l.last = snap
	}

	of := served{request, snap}
	if before, known := l.bodies[of]; !known {
		l.bodies[of] = sum
	} else if before != sum {
		l.mixed++
	}
}

func (r *SwapReport) fill(loops []openLoop) {
	for phase, name := range []string{"before", "publishing", "swapping", "after", "computing"} {
		var histogram Histogram
		for i := range loops {
			histogram.Merge(&loops[i].latency[phase])
		}
		r.Phases = append(r.Phases, Phase{
			name, histogram.Len(), micros(histogram.Quantile(0.5)), micros(histogram.Quantile(0.99)),
			micros(histogram.Quantile(0.999)),
			micros(histogram.Max()),
		})
	}

	for i := range loops {
		r.Failures += loops[i].failures
		r.Mixed += loops[i].mixed
		// The first snapshot is no change.
		r.Seen = max(r.Seen, loops[i].seen-1)
	}
}

// Print writes the report as text.
func (r *SwapReport) Print(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "PHASE\tREQUESTS\tp50 µs\tp99 µs\tp99.9 µs\tMAX µs\tp99 AGAINST BEFORE\t\n")
	for i, phase := range r.Phases {
		fmt.Fprintf(t, "%s\t%d\t%.0f\t%.0f\t%.0f\t%.0f\t%.2f\t\n", phase.Name, phase.Requests, phase.P50, phase.P99,
			phase.P999, phase.Max,
			r.Ratio(i))
	}

	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out,
		"\n%d cards, %.0f requests/s due at fixed instants and counted from then; %d releases, %d seen in "+
			"the answers;\n"+
			"%d failed, %d mixed; live heap %d MB before, %d MB after two, %d MB at the end; %d MB resident\n", r.Cards,
		r.Rate, r.Swaps, r.Seen,
		r.Failures, r.Mixed, r.HeapBefore/1e6, r.HeapEarly/1e6, r.HeapAfter/1e6, r.MemoryAfter/1e6)
	return err
}
