package limiter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"ninepocket/access"
	"ninepocket/calendar"
)

// Acks is what the answer of a script waits for.
type Acks uint8

const (
	// AcksReplica means: Options.Replicas replicas have the write. The loss of one machine loses nothing.
	AcksReplica Acks = iota
	// AcksAOF means: Redis has the write on its disk, by appendfsync always.
	AcksAOF
	// AcksNone means: it does not wait. A Redis that fails loses writes that it had not replicated yet.
	AcksNone
)

const (
	// batchers is how many batches may be in flight: a second one fills while the first one waits.
	batchers = 2
	// maxBatch is the most commands of a batch.
	maxBatch = 256
	// maxQueue is the most commands that wait; more are refused.
	maxQueue = 16_384
	// exchangeTimeout is how long a batch may take before its connection is closed.
	exchangeTimeout = time.Second
	// probeInterval is how often a connection is probed, and a reconnect tried.
	probeInterval = time.Second
)

var (
	// errUnavailable: Redis grants no units at present.
	errUnavailable = fmt.Errorf("%w: redis grants no units at present", access.ErrUnavailable)
	// errTimeout: the answer did not come in time. Units that it grants go back.
	errTimeout = fmt.Errorf("%w: redis did not answer in time", access.ErrUnavailable)

	// errScript: a script failed on the data of one tenant in Redis.
	errScript = fmt.Errorf("%w: a script failed in redis", access.ErrUnavailable)

	errReplicas = errors.New("too few replicas have what was written")
	errEmptied  = errors.New("it was emptied, or another is in its place")
	// ErrNew reports a Redis without data that this process did not use before.
	ErrNew = errors.New("it is new to this fleet")
)

// scriptResult is the answer of a script: numbers, or one number and a text.
type scriptResult struct {
	ints []int64
	text string
}

func (r *scriptResult) intAt(i int) int64 {
	if i >= len(r.ints) {
		return 0
	}
	return r.ints[i]
}

// code returns the first number of an answer, or -1 if that is not in 0 to limit.
func (r *scriptResult) code(limit int64) int64 {
	if len(r.ints) == 0 || r.ints[0] < 0 || r.ints[0] > limit {
		return -1
	}
	return r.ints[0]
}

// queuedCommand is a queued command; done receives its answer, once.
type queuedCommand struct {
	*command
	done func(scriptResult, error)
}

// redisClient sends commands to Redis in batches. An error of the whole batch takes the connection down.
// Then every command is refused at once until a reconnect succeeds.
type redisClient struct {
	options *Options
	metrics *metrics
	resync  resyncFunc

	state         atomic.Pointer[connState]
	failed        chan struct{}
	reported      []string // of reconnectLoop: the causes that were reported since the connection was up last
	syncedDataset string   // of reconnectLoop: run id and data set of the last complete resync

	mu       sync.Mutex
	upSignal chan struct{} // closed when the connection comes up
	queue    []*queuedCommand
	arrived  chan struct{} // one slot: the queue may have commands
}

// dialer connects to Redis.
type dialer interface {
	// dial makes connections to one process of Redis that may be used, and returns its run id. The
	// caller also closes connections that come with an error; they may be nil.
	dial(ctx context.Context) (conn wire, runID string, err error)
	// String is the host, for messages.
	String() string
}

// wire is the connections to one process of Redis: one for each batch in flight, and one for probes,
// which has the number batchers.
type wire interface {
	// exchange sends commands together, and returns the answer of each. It fails if too few replicas
	// have the writes, or if Redis has another data set: then the results are unknown.
	exchange(ctx context.Context, number int, dataset string, all []*queuedCommand) ([]answer, error)
	// loadDataset returns the id of the data set, which it makes if there is none, and the clock of
	// Redis in Unix milliseconds.
	loadDataset(ctx context.Context) (dataset string, clock int64, err error)
	// heartbeat records in Redis that this server reaches it.
	heartbeat(ctx context.Context) error
	close()
}

// answer is the answer to a command.
type answer struct {
	scriptResult
	err error
}

// connState is the connections to one process of Redis, or why there are none.
type connState struct {
	wire          wire
	err           error        // nil = up
	first         bool         // the first ones of this process
	dataset       string       // id of the data set
	runID         string       // of the process
	datasetSince  int64        // when the data set was made, in Unix milliseconds
	cooldownUntil atomic.Int64 // monotonic: until then, earlier grants are unknown
}

// available reports whether script calls can be made.
func (state *connState) available(now access.Instant) bool {
	return state.err == nil && now.Mono >= state.cooldownUntil.Load()
}

// resyncFunc is [Store.resync].
type resyncFunc func(exchange func([]*queuedCommand) error, newDataset bool, cooldownUntil int64) error

func newRedisClient(options *Options, m *metrics, resync resyncFunc) *redisClient {
	client := &redisClient{
		options: options, metrics: m, resync: resync, failed: make(chan struct{}, 1),
		upSignal: make(chan struct{}), arrived: make(chan struct{}, 1),
	}
	client.state.Store(&connState{err: errUnavailable})
	return client
}

// up reports whether commands may be sent.
func (client *redisClient) up() bool {
	return client.state.Load().available(client.now())
}

func (client *redisClient) now() access.Instant { return client.options.Now() }

// unavailable returns why commands may not be sent, or nil.
func (client *redisClient) unavailable() error {
	state := client.state.Load()
	if state.err == nil && !state.available(client.now()) {
		cause := errEmptied
		if state.first {
			cause = ErrNew
		}
		return fmt.Errorf("%w: redis at %s: %w: windows are closed for a minute",
			access.ErrUnavailable, client.options.dialer, cause)
	}
	return state.err
}

// whenUp returns a channel that is closed when the connection comes up.
func (client *redisClient) whenUp() <-chan struct{} {
	client.mu.Lock()
	defer client.mu.Unlock()
	return client.upSignal
}

// send queues a command. It does not block.
func (client *redisClient) send(command *command, done func(scriptResult, error)) {
	client.mu.Lock()
	full := len(client.queue) >= maxQueue
	if !full {
		client.queue = append(client.queue, &queuedCommand{command: command, done: done})
	}
	client.mu.Unlock()
	if full {
		done(scriptResult{}, errUnavailable)
		return
	}
	nudge(client.arrived)
}

// nudge fills the slot of a channel, so that its receiver continues, now or when it waits next.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// sendLoop sends the queued commands, one batch after another, until ctx ends.
func (client *redisClient) sendLoop(ctx context.Context, number int) {
	for client.options.pacer.wait(forever, ctx.Done(), client.arrived) == 1 {
		all := client.nextBatch()
		if len(all) == 0 {
			continue
		}

		state := client.state.Load()
		if !state.available(client.now()) {
			failAll(all, errUnavailable)
			continue
		}
		if err := client.exchange(ctx, number, state, all); err != nil {
			client.fail(state, err)
		}
	}
}

// nextBatch takes queued commands, up to one batch.
func (client *redisClient) nextBatch() []*queuedCommand {
	client.mu.Lock()
	defer client.mu.Unlock()
	n := min(len(client.queue), maxBatch)
	all := client.queue[:n:n]
	client.queue = client.queue[n:]
	if len(client.queue) > 0 {
		nudge(client.arrived)
	}
	return all
}

func failAll(all []*queuedCommand, err error) {
	for _, s := range all {
		s.done(scriptResult{}, err)
	}
}

// fail takes a connection down, once.
func (client *redisClient) fail(state *connState, err error) {
	err = fmt.Errorf("%w: redis at %s: %w", access.ErrUnavailable, client.options.dialer, err)
	if client.state.CompareAndSwap(state, &connState{wire: state.wire, err: err}) {
		nudge(client.failed)
	}
}

// exchange sends commands together and passes the answers on. After an error their results are unknown,
// and all get an error.
func (client *redisClient) exchange(ctx context.Context, number int, state *connState, all []*queuedCommand) error {
	began := client.metrics.now()
	answers, err := state.wire.exchange(ctx, number, state.dataset, all)
	client.metrics.countBatch(len(all), began)
	if err != nil {
		failAll(all, errUnavailable)
		return err
	}

	for i, s := range all {
		s.done(answers[i].scriptResult, answers[i].err)
	}
	return nil
}

// reconnectLoop probes the connection and reconnects when it is down, until ctx ends.
func (client *redisClient) reconnectLoop(ctx context.Context) {
	for {
		for state := client.state.Load(); state.err == nil; state = client.state.Load() {
			switch client.options.pacer.wait(probeInterval, ctx.Done(), client.failed) {
			case 0:
				return
			case 1:
				continue
			}
			client.probe(ctx, state)
			if client.state.Load().err == nil {
				client.report(client.unavailable())
			}
		}

		client.report(client.state.Load().err)
		if err := client.connect(ctx); err != nil {
			client.report(err)
			if client.options.pacer.wait(probeInterval, ctx.Done(), nil) == 0 {
				return
			}
		}
	}
}

// probe checks that Redis answers and has the same data set, also when no calls come.
func (client *redisClient) probe(ctx context.Context, state *connState) {
	err := client.exchange(ctx, batchers, state, nil)
	if err == nil {
		err = state.wire.heartbeat(ctx)
	}
	if err != nil && ctx.Err() == nil {
		client.fail(state, err)
	}
}

// report reports a connection that goes down, and one that comes up again, each once. Another cause
// is reported, too: a password that was changed begins with a broken connection, and a new Redis may
// fail before its first minute is over.
func (client *redisClient) report(err error) {
	if err == nil {
		if client.reported != nil {
			client.reported = nil
			client.options.Report(nil)
		}
		return
	}

	cause := ""
	if answer, ok := errors.AsType[*rueidis.RedisError](err); ok {
		cause, _, _ = strings.Cut(answer.Error(), " ")
	} else if errors.Is(err, ErrNew) || errors.Is(err, errEmptied) {
		cause = "closed"
	}
	if slices.Contains(client.reported, cause) {
		return
	}
	client.reported = append(client.reported, cause)
	client.options.Report(err)
}

// connect connects to Redis, resyncs this server's state, and brings the connection up.
func (client *redisClient) connect(ctx context.Context) error {
	client.state.Load().close()
	state := &connState{first: client.syncedDataset == ""}
	var err error
	state.wire, state.runID, err = client.options.dialer.dial(ctx)
	if err == nil {
		err = client.loadDataset(ctx, state)
	}
	if err == nil {
		again := func(all []*queuedCommand) error { return client.exchange(ctx, batchers, state, all) }
		dataset := state.runID + state.dataset
		err = client.resync(again, dataset != client.syncedDataset, state.cooldownUntil.Load())
		if err == nil {
			client.syncedDataset = dataset
		}
	}
	if err != nil {
		if !errors.Is(err, access.ErrUnavailable) {
			err = fmt.Errorf("%w: %w", access.ErrUnavailable, err)
		}
		client.state.Store(&connState{wire: state.wire, err: err})
		return err
	}

	// With a new data set the connection is up, but nothing is granted for a minute.
	client.state.Store(state)
	client.report(client.unavailable())
	client.mu.Lock()
	close(client.upSignal)
	client.upSignal = make(chan struct{})
	client.mu.Unlock()
	return nil
}

// close closes the connections.
func (state *connState) close() {
	if state.wire != nil {
		state.wire.close()
	}
}

// loadDataset reads the id of the data set. A new one means that earlier grants are unknown, because the
// data are new or were lost. All servers wait a minute then.
func (client *redisClient) loadDataset(ctx context.Context, state *connState) error {
	dataset, clock, err := state.wire.loadDataset(ctx)
	if err != nil {
		return err
	}

	state.dataset = dataset
	if _, err := fmt.Sscan(dataset, &state.datasetSince); err != nil {
		return fmt.Errorf("redis at %s: its mark %q is no time: %w", client.options.dialer, dataset, err)
	}
	if wait := state.datasetSince + calendar.MinuteMillis + client.options.Lease.Milliseconds() - clock; wait > 0 {
		state.cooldownUntil.Store(client.now().Mono + wait)
	}
	return state.wire.heartbeat(ctx)
}

// close closes the connection. Nothing is sent any more.
func (client *redisClient) close() {
	client.state.Swap(&connState{err: access.ErrClosed}).close()
	client.mu.Lock()
	all := client.queue
	client.queue = nil
	client.mu.Unlock()
	failAll(all, access.ErrClosed)
}
