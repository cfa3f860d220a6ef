package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"ninepocket/internal/synth"
)

// The servers of a run. full is the measured one; the others are for comparison.
const (
	full     = "ninepocket" // as serve runs it
	inMemory = "memory"     // the same with metering in memory
	bareSame = "bare"       // bare fasthttp with equal bodies and headers
	bareBody = "body"       // bare fasthttp with equal bodies
)

// extraServers are the servers that can be compared with full.
var extraServers = []string{bareSame, bareBody, inMemory}

// Options of a run; zero values mean the defaults.
type Options struct {
	// URL, Admin and Keys are those of a running server; without a URL the run builds a catalog and
	// serves it itself.
	URL, Admin string
	Keys       Keys

	Store string // an existing store to serve instead of a built one; "" builds
	Cards int    // of the catalog to build; default 30,000
	Seed  uint64 // default 1
	Days  int    // of history; default 365

	Operations  []string // names; none means all
	CompareWith []string // names; nil means bare and body
	Connections int      // default 16
	Duration    time.Duration
	Rounds      int

	// Rivals are further servers for equal paths.
	Rivals []Rival
	// Profiles is a folder for a CPU profile of the measured server in each operation, "" for none.
	Profiles string
	// AfterRun is called after the measurement with the running servers that accept any
	// request; nil for nothing.
	AfterRun func(servers []Endpoint) error

	// Self is the command line that runs a Task, Serve that of serve.
	Self, Serve []string
	Log         io.Writer
}

// Rival is a server of the caller. When it is ready it writes {"api": URL} into the ready file,
// which the environment variable READY_FILE names, too.
type Rival struct {
	Name string
	// Command returns the command line for a task with the store to serve, the state directory with
	// the keys, and the ready file. The store is "" if a running server is measured, whose store is
	// unknown. A rival without a command is left out.
	Command func(t Task) []string
}

// Endpoint is the address of a server, with a key for it.
type Endpoint struct {
	Name, Address, Key string
}

func (o *Options) setDefaults() {
	// Zero means the default, which is validated like any other value.
	set := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}

	set(&o.Cards, 30_000)
	set(&o.Days, 365)
	set(&o.Connections, 16)
	set(&o.Rounds, 5)
	if o.Seed == 0 {
		o.Seed = 1
	}
	if o.Duration == 0 {
		o.Duration = time.Second
	}
	if o.CompareWith == nil {
		o.CompareWith = []string{bareSame, bareBody}
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
}

// Validate sets the defaults and returns an error for invalid options; Run and Swap call it.
func (o *Options) Validate() error {
	o.setDefaults()
	var problems []error
	for _, name := range o.CompareWith {
		if !slices.Contains(extraServers, name) {
			problems = append(problems, fmt.Errorf("cannot measure the server %q: want %s", name,
				strings.Join(extraServers, ", ")))
		}
	}

	for _, name := range o.Operations {
		if !slices.Contains(operationNames, name) {
			problems = append(problems, fmt.Errorf("cannot measure operation %q: want one of %s", name,
				strings.Join(operationNames, ", ")))
		}
	}

	if o.Connections < 1 || o.Rounds < 1 || o.Duration < 50*time.Millisecond {
		problems = append(problems, errors.New("cannot measure with fewer than 1 connection, 1 round or 50ms"))
	}
	if o.URL == "" && o.Store == "" {
		catalog := synth.Options{Cards: o.Cards, Seed: o.Seed, HistoryDays: o.Days}
		if err := catalog.Validate(); err != nil {
			problems = append(problems, fmt.Errorf("cannot make a catalog: %w", err))
		}
	}

	for _, url := range []string{o.URL, o.Admin} {
		if url != "" {
			_, err := addressOf(url)
			problems = append(problems, err)
		}
	}
	if o.URL != "" && o.Keys.Live == "" {
		problems = append(problems, errors.New("cannot drive a running server without a key: give --key"))
	}
	return errors.Join(problems...)
}

// Run drives the servers and returns the results.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}

	folder, err := os.MkdirTemp("", "ninepocket-bench-")
	if err == nil && o.Profiles != "" {
		err = os.MkdirAll(o.Profiles, 0o750)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot make a folder for the measurement: %w", err)
	}
	// If this fails, files stay in the temporary folder.
	defer func() { _ = os.RemoveAll(folder) }()

	// A server that was measured before still has the idempotency keys of that measurement.
	uniqueCounter.CompareAndSwap(0, uint64(time.Now().UnixMicro()))
	// Every server is stopped at the end, also after an error.
	run := &run{o: &o, workspace: workspace{folder: folder, self: o.Self, serve: o.Serve, log: o.Log}}
	defer run.stop()
	if err := run.open(ctx); err != nil {
		return nil, err
	}
	return run.measure(ctx)
}

// run is one measurement in progress.
type run struct {
	workspace
	o           *Options
	contestants []*contestant
	operations  []Operation
}

func (r *run) stop() {
	for _, c := range slices.Backward(r.contestants) {
		c.stop()
	}
}

// open starts every server.
func (r *run) open(ctx context.Context) error {
	measured, err := r.openMeasured(ctx)
	if err != nil {
		return err
	}

	r.contestants = append(r.contestants, measured)
	sample, err := readSample(measured.api, r.keys)
	if err != nil {
		return err
	}
	r.operations, err = chosen(sample.operations(), r.o.Operations)
	if err != nil {
		return err
	}

	// Bare servers send our server's bytes unchanged.
	recorded, err := r.record(measured)
	if err != nil {
		return err
	}

	// The store of a running server is unknown.
	store := ""
	if r.o.URL == "" {
		store = r.store()
	}

	for _, name := range r.o.CompareWith {
		t := map[string]Task{
			inMemory: {Kind: taskMemory, Store: store, State: r.path("state")},
			bareSame: {Kind: taskBare, Script: recorded},
			bareBody: {Kind: taskBare, Script: recorded, BodyOnly: true},
		}[name]
		if t.Kind == taskMemory && t.Store == "" {
			// It needs the store.
			continue
		}
		c, err := r.startTask(ctx, name, t)
		if err != nil {
			return err
		}
		r.contestants = append(r.contestants, c)
	}

	for _, rival := range r.o.Rivals {
		t := Task{Store: store, State: r.path("state"), Ready: r.path(rival.Name + ".ready")}
		command := rival.Command(t)
		if command == nil {
			continue
		}
		r.logf("starting %s", rival.Name)
		c, err := start(ctx, rival.Name, command, t.Ready)
		if err != nil {
			return err
		}
		r.contestants = append(r.contestants, c)
	}
	return nil
}

func (r *run) store() string {
	if r.o.Store != "" {
		return r.o.Store
	}
	return r.path("store")
}

// openMeasured returns the running server, or builds a catalog and serves it.
func (r *run) openMeasured(ctx context.Context) (*contestant, error) {
	if r.o.URL == "" {
		if err := r.setUp(ctx, r.o, 1); err != nil {
			return nil, err
		}
		return r.startServe(ctx, r.store())
	}

	r.keys = r.o.Keys
	c := &contestant{name: full}
	var err error
	c.api, err = addressOf(r.o.URL)
	if err == nil && r.o.Admin != "" {
		c.admin, err = addressOf(r.o.Admin)
	}
	if err == nil {
		r.logf("waiting until the server's bulk files are made (--admin)")
		err = c.awaitBulk(ctx)
	}
	return c, err
}

// record writes the script of the bare servers.
func (r *run) record(from *contestant) (string, error) {
	script := script{}
	for i := range r.operations {
		answers, err := record(from.api, &r.operations[i])
		if err != nil {
			return "", err
		}
		script[r.operations[i].Name] = answers
	}

	text, err := json.Marshal(script)
	if err != nil {
		return "", err
	}
	return r.path("script.json"), os.WriteFile(r.path("script.json"), text, 0o600)
}

// measure drives every operation in rounds. The servers take turns, so that other work of the
// machine affects all of them alike, and every second round has the reverse order.
func (r *run) measure(ctx context.Context) (*Report, error) {
	report := r.newReport()
	for i := range r.operations {
		op := &r.operations[i]
		r.logf("%d of %d: %s", i+1, len(r.operations), op.Name)
		var able []*contestant
		for _, c := range r.contestants {
			ok, err := c.supports(op)
			if err != nil {
				return nil, err
			}
			if ok {
				able = append(able, c)
			}
		}

		samples := map[string][]Sample{}
		// Every second round has the reverse order, so that no server always follows the same one.
		for round := range r.o.Rounds {
			for k := range able {
				c := able[k]
				if round%2 == 1 {
					c = able[len(able)-1-k]
				}

				sample, err := c.drive(ctx, op, r.o.Connections, r.o.Duration)
				if err == nil {
					err = context.Cause(ctx)
				}
				if err != nil {
					return nil, fmt.Errorf("cannot drive %s of %s: %w", op.Name, c.name, err)
				}
				samples[c.name] = append(samples[c.name], sample)
			}
		}

		report.add(op, able, samples)
		if r.o.Profiles != "" {
			if err := r.profile(ctx, op); err != nil {
				return nil, err
			}
		}
	}

	for _, c := range r.contestants {
		report.Memory[c.name] = c.memory()
	}

	if r.o.AfterRun == nil {
		return report, nil
	}
	var servers []Endpoint
	for _, c := range r.contestants {
		// A bare server has only the recorded responses.
		if c.addresses == nil {
			servers = append(servers, Endpoint{c.name, c.api, r.keys.Live})
		}
	}
	return report, r.o.AfterRun(servers)
}

// supports reports whether a server supports an operation. It also initializes data that the
// server makes at first use.
func (c *contestant) supports(op *Operation) (bool, error) {
	address, ok := c.address(op.Name)
	if !ok {
		return false, nil
	}

	link, err := dial(address)
	if err != nil {
		return false, err
	}
	// The responses are complete, or their error is returned.
	defer func() { _ = link.Close() }()

	for i := range op.Requests {
		r := Request{bytes.Clone(op.Requests[i].Bytes), op.Requests[i].At, op.Requests[i].Digits}
		if r.Digits > 0 {
			r.number(uniqueCounter.Add(1))
		}
		a, err := link.roundTrip(r.Bytes)
		if err != nil {
			return false, fmt.Errorf("cannot ask %s for %s: %w", c.name, op.Name, err)
		}
		if a.status != http.StatusOK {
			return false, nil
		}
	}
	return true, nil
}

// Sample is one round of one operation on one server.
type Sample struct {
	Requests, Failures int64 // failures are responses other than 200
	Bytes              int64 // of bodies
	Wall               time.Duration
	CPU                time.Duration // of the server
	Client             time.Duration // CPU of this process
	Latency            Histogram     // of a burst, from before it is written until its last response is read
}

// drive sends an operation's requests over several connections, each of which waits for its
// responses before it sends more. In such a closed loop a slow response delays the next requests,
// so that its quantiles do not measure queues; Swap measures those.
func (c *contestant) drive(
	ctx context.Context, op *Operation, connections int, duration time.Duration,
) (Sample, error) {
	address, _ := c.address(op.Name)
	links := make([]*conn, 0, connections)
	defer func() {
		for _, link := range links {
			// The responses are complete, or their error is returned.
			_ = link.Close()
		}
	}()

	for range connections {
		link, err := dial(address)
		if err != nil {
			return Sample{}, err
		}
		links = append(links, link)
	}

	return c.during(func() ([]Sample, error) {
		parts := make([]Sample, connections)
		group, ctx := errgroup.WithContext(ctx)
		// All connections are open before the first request is sent.
		until := time.Now().Add(duration)
		for i := range links {
			group.Go(func() error { return parts[i].loop(ctx, links[i], newTurns(op, i), until) })
		}
		return parts, group.Wait()
	})
}

// during runs f, adds up its samples, and measures the CPU time of client and server meanwhile.
func (c *contestant) during(f func() ([]Sample, error)) (Sample, error) {
	var total Sample
	before, err := c.cpu()
	if err != nil && !errors.Is(err, errNoCPU) {
		return total, err
	}

	// It is unknown where that of a server is.
	own, _ := cpuTime(os.Getpid())
	began := time.Now()
	parts, err := f()
	total.Wall = time.Since(began)
	if err != nil {
		return total, err
	}

	after, err := c.cpu()
	if err != nil && !errors.Is(err, errNoCPU) {
		return total, err
	}

	ownAfter, _ := cpuTime(os.Getpid())
	total.CPU = after - before
	total.Client = ownAfter - own
	for i := range parts {
		total.Requests += parts[i].Requests
		total.Failures += parts[i].Failures
		total.Bytes += parts[i].Bytes
		total.Latency.Merge(&parts[i].Latency)
	}
	return total, nil
}

// turns is the sequence of requests of one connection, in bursts.
type turns struct {
	requests []Request
	depth    int
	next     int
	burst    []byte
}

func newTurns(op *Operation, connection int) *turns {
	turns := &turns{depth: op.Depth, next: connection * 7}
	for _, r := range op.Requests {
		turns.requests = append(turns.requests, Request{bytes.Clone(r.Bytes), r.At, r.Digits})
	}
	return turns
}

// take returns the bytes of the next burst.
func (t *turns) take() []byte {
	t.burst = t.burst[:0]
	for range t.depth {
		r := &t.requests[t.next%len(t.requests)]
		t.next++
		if r.Digits > 0 {
			r.number(uniqueCounter.Add(1))
		}
		// A burst of one is sent without a copy.
		if t.depth == 1 {
			return r.Bytes
		}

		t.burst = append(t.burst, r.Bytes...)
	}
	return t.burst
}

// loop drives one connection until an instant, at least once.
func (s *Sample) loop(ctx context.Context, link *conn, turns *turns, until time.Time) error {
	// If a server hangs, the measurement fails.
	if err := link.SetDeadline(until.Add(answerTimeout)); err != nil {
		return err
	}

	began := time.Now()
	for ctx.Err() == nil {
		if _, err := link.Write(turns.take()); err != nil {
			return fmt.Errorf("cannot send a request: %w", err)
		}

		for range turns.depth {
			a, err := link.read()
			if err != nil {
				return err
			}
			s.Requests++
			s.Bytes += int64(len(a.body))
			if a.status != http.StatusOK {
				s.Failures++
			}
		}

		done := time.Now()
		s.Latency.Add(done.Sub(began))
		if !done.Before(until) {
			return nil
		}
		began = done
	}
	return nil
}
