package limiter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"ninepocket/access"
	"ninepocket/calendar"
)

// Acks is what the answer of a script waits for.
type Acks uint8

const (
	// AcksReplica means: as many replicas have it as Options say. Nothing is lost with one machine.
	AcksReplica Acks = iota
	// AcksAOF means: Redis has it on its disk, by appendfsync always.
	AcksAOF
	// AcksNone means: nothing. What a Redis that fails had not passed on yet is lost.
	AcksNone
)

const (
	// batchers is how many batches may be under way: a second one fills while the first one waits.
	batchers = 2
	// maxBatch is how many commands go together at most.
	maxBatch = 256
	// maxQueue is how many commands wait at most; more are refused.
	maxQueue = 16_384
	// exchangeTimeout is how long a batch may take before its connection is given up.
	exchangeTimeout = time.Second
	// probeInterval is how often a Redis that is away is looked for.
	probeInterval = time.Second
)

var (
	// errUnavailable: Redis grants no units at present.
	errUnavailable = fmt.Errorf("%w: redis grants no units at present", access.ErrUnavailable)
	// errTimeout: the answer did not come in time. What it grants goes back.
	errTimeout = fmt.Errorf("%w: redis did not answer in time", access.ErrUnavailable)

	// errScript: a script failed, because of what one tenant has in Redis.
	errScript = fmt.Errorf("%w: a script failed in redis", access.ErrUnavailable)

	errReplicas = errors.New("too few replicas have what was written")
	errEmptied  = errors.New("it was emptied, or another is in its place")
)

// scriptResult is the answer of a script: numbers, or one and a text.
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

// code is the first number of an answer, or -1 where that is none of 0 to most.
func (r *scriptResult) code(limit int64) int64 {
	if len(r.ints) == 0 || r.ints[0] < 0 || r.ints[0] > limit {
		return -1
	}
	return r.ints[0]
}

// queuedCommand is a command on its way, and who wants its answer. done is called once.
type queuedCommand struct {
	*command
	done func(scriptResult, error)
}

// redisClient is the way to Redis: commands go in batches, and one that fails for the whole batch
// takes the link down. Then everything is refused at once until Redis is found well again.
type redisClient struct {
	options *Options
	metrics *metrics
	resync  resyncFunc

	state         atomic.Pointer[connState]
	failed        chan struct{}
	reported      bool   // the keeper's: somebody was told that the link is down
	syncedDataset string // the keeper's: process and mark of the data that had all

	mu       sync.Mutex
	upSignal chan struct{} // closed when the link comes up
	queue    []*queuedCommand
	arrived  chan struct{} // has something when the queue may have
}

// dialer finds Redis.
type dialer interface {
	// dial makes connections to one process of Redis that may be used, and names it. What it
	// returns with an error is closed all the same; it may be nil.
	dial(ctx context.Context) (conn wire, run string, err error)
	// String is what messages call it.
	String() string
}

// wire is connections to one process of Redis: a connection of each batch, and one of the probes,
// which has the number batchers.
type wire interface {
	// exchange sends commands together, and returns the answer of each. It fails when enough do not
	// have what was written, or when the data are not those of a mark: then nobody knows what
	// became of them.
	exchange(ctx context.Context, number int, dataset string, all []*queuedCommand) ([]answer, error)
	// loadDataset returns the mark of the data, which it makes where there is none, and the clock
	// of Redis in Unix milliseconds.
	loadDataset(ctx context.Context) (dataset string, clock int64, err error)
	// heartbeat says that this server reaches Redis.
	heartbeat(ctx context.Context) error
	close()
}

// apply is what a command was answered.
type answer struct {
	scriptResult
	err error
}

// connState is connections to one process of Redis, or why there are none. One that ends is not
// made again by itself: what answers at the address then may be another, which knows less.
type connState struct {
	wire          wire
	err           error        // nil = up
	dataset       string       // the mark of the data that this is
	runID         string       // the process that has it
	datasetSince  int64        // when that was made, in Unix milliseconds
	cooldownUntil atomic.Int64 // monotonic: until then, nobody knows what was granted before
}

// available reports whether rights may be had by a state.
func (state *connState) available(now access.Instant) bool {
	return state.err == nil && now.Mono >= state.cooldownUntil.Load()
}

// resyncFunc says again what this server has: see [Store.resync].
type resyncFunc func(exchange func([]*queuedCommand) error, another bool, shut int64) error

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
		return fmt.Errorf("%w: redis at %s: %w: windows are closed for a minute",
			access.ErrUnavailable, client.options.dialer, errEmptied)
	}
	return state.err
}

// whenUp returns a channel that is closed when the link comes up.
func (client *redisClient) whenUp() <-chan struct{} {
	client.mu.Lock()
	defer client.mu.Unlock()
	return client.upSignal
}

// buildCall queues a command. It does not block.
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

// nudge lets one who waits for a channel go on, now or when it waits next.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// countBatch sends what is queued, one batch after another, until ctx ends.
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

// nextBatch takes what is queued, as far as one batch goes.
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

// exchange sends commands together and hands the answers out. On an error nobody knows what became
// of them, and all are told so.
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

// add brings the link up again when it is down, until ctx ends.
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

// probe finds out whether Redis is still there, and still the same, also when nobody calls.
func (client *redisClient) probe(ctx context.Context, state *connState) {
	err := client.exchange(ctx, batchers, state, nil)
	if err == nil {
		err = state.wire.heartbeat(ctx)
	}
	if err != nil && ctx.Err() == nil {
		client.fail(state, err)
	}
}

// report reports a link that goes down, and comes up again, each once.
func (client *redisClient) report(err error) {
	if (err != nil) == client.reported {
		return
	}
	client.reported = err != nil
	client.options.Report(err)
}

// connect finds Redis, says again what this server has, and opens the link.
func (client *redisClient) connect(ctx context.Context) error {
	client.state.Load().close()
	state := &connState{}
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

	// After a birth it is up, and no rights can be had for a minute all the same.
	client.state.Store(state)
	client.report(client.unavailable())
	client.mu.Lock()
	close(client.upSignal)
	client.upSignal = make(chan struct{})
	client.mu.Unlock()
	return nil
}

// close gives connections up.
func (state *connState) close() {
	if state.wire != nil {
		state.wire.close()
	}
}

// loadDataset reads the mark of the data: data without one are new, or were lost, and nobody knows
// what was granted before. All servers wait a minute then.
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

// startCooldown ends the connection. Nobody sends any more.
func (client *redisClient) close() {
	client.state.Swap(&connState{err: access.ErrClosed}).close()
	client.mu.Lock()
	all := client.queue
	client.queue = nil
	client.mu.Unlock()
	failAll(all, access.ErrClosed)
}
