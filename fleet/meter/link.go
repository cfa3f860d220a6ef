package meter

import (
	"context"
	"crypto/sha1" //nolint:gosec // it is how Redis names scripts
	"encoding/hex"
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
	// batchMost is how many commands go together at most.
	batchMost = 256
	// queueMost is how many commands wait at most; more are refused.
	queueMost = 16_384
	// exchangeFor is how long a batch may take before its connection is given up.
	exchangeFor = time.Second
	// probeEvery is how often a Redis that is away is looked for.
	probeEvery = time.Second
)

var (
	// errAway: no rights can be had at present.
	errAway = fmt.Errorf("%w: no rights can be had from redis at present", access.ErrUnavailable)
	// errLate: the answer did not come in time. What it grants goes back.
	errLate = fmt.Errorf("%w: redis did not answer in time", access.ErrUnavailable)

	// errScript: a script failed, because of what one tenant has in Redis.
	errScript = fmt.Errorf("%w: a script failed in redis", access.ErrUnavailable)

	errReplicas = errors.New("too few replicas have what was written")
	errEmptied  = errors.New("it was emptied, or another is in its place")
)

// reply is the answer of a script: numbers, or one and a text.
type reply struct {
	ints []int64
	text string
}

func (r *reply) at(i int) int64 {
	if i >= len(r.ints) {
		return 0
	}
	return r.ints[i]
}

// code is the first number of an answer, or -1 where that is none of 0 to most.
func (r *reply) code(most int64) int64 {
	if len(r.ints) == 0 || r.ints[0] < 0 || r.ints[0] > most {
		return -1
	}
	return r.ints[0]
}

// sending is a command on its way, and who wants its answer. done is called once.
type sending struct {
	*command
	done func(reply, error)
}

// link is the way to Redis: commands go in batches, and one that fails for the whole batch takes the
// link down. Then everything is refused at once until Redis is found well again.
type link struct {
	options  *Options
	target   rueidis.ClientOption
	host     string // for messages
	scripts  [scriptCount]loaded
	meters   *meters
	reassert func(exchange func([]*sending) error, another bool, shut int64) error

	queue chan *sending
	state atomic.Pointer[linkState]
	fails chan struct{}
	told  bool   // the keeper's: somebody was told that the link is down
	data  string // the keeper's: process and mark of the data that had all

	mu    sync.Mutex
	woken chan struct{} // closed when the link comes up
}

// loaded is a script as it is sent.
type loaded struct{ source, hash string }

// linkState is connections to one process of Redis, or why there are none. One that ends is not made
// again by itself: what answers at the address then may be another, which knows less.
type linkState struct {
	client rueidis.Client
	conns  [batchers + 1]rueidis.DedicatedClient // of each batch, and of the probes
	err    error                                 // nil = up
	born   string                                // the mark of the data that this is
	run    string                                // the process that has it
	bornAt int64                                 // when that was made, in Unix milliseconds
	shut   atomic.Int64                          // monotonic: until then, nobody knows what was granted before
}

// open reports whether rights may be had by a state.
func (state *linkState) open(now access.Instant) bool {
	return state.err == nil && now.Mono >= state.shut.Load()
}

func newLink(
	options *Options, m *meters, reassert func(exchange func([]*sending) error, another bool, shut int64) error,
) (*link, error) {
	target, host, err := parseURL(options.URL, options.exchange)
	if err != nil {
		return nil, err
	}

	l := &link{
		options: options, target: target, host: host, meters: m, reassert: reassert,
		queue: make(chan *sending, queueMost), fails: make(chan struct{}, 1), woken: make(chan struct{}),
	}
	l.state.Store(&linkState{err: errAway})
	for which, source := range sources() {
		if options.given {
			source = strings.Replace(source, "redis.call('TIME')", "{ARGV[#ARGV-1],ARGV[#ARGV]}", 1)
		}
		sum := sha1.Sum([]byte(source)) //nolint:gosec // it is how Redis names scripts
		l.scripts[which] = loaded{source: source, hash: hex.EncodeToString(sum[:])}
	}
	return l, nil
}

// up reports whether commands may be sent.
func (l *link) up() bool {
	return l.state.Load().open(l.present())
}

func (l *link) present() access.Instant { return l.options.Now() }

// away returns why commands may not be sent, or nil.
func (l *link) away() error {
	state := l.state.Load()
	if state.err == nil && !state.open(l.present()) {
		return fmt.Errorf("%w: redis at %s: %w: windows are closed for a minute",
			access.ErrUnavailable, l.host, errEmptied)
	}
	return state.err
}

// wake returns a channel that is closed when the link comes up.
func (l *link) wake() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.woken
}

// send queues a command. It does not block.
func (l *link) send(command *command, done func(reply, error)) {
	select {
	case l.queue <- &sending{command: command, done: done}:
	default:
		done(reply{}, errAway)
	}
}

// batch sends what is queued, one batch after another, until ctx ends.
func (l *link) batch(ctx context.Context, number int) {
	for {
		var all []*sending
		select {
		case <-ctx.Done():
			return
		case first := <-l.queue:
			all = l.more(first)
		}

		state := l.state.Load()
		if !state.open(l.present()) {
			refuseAll(all, errAway)
			continue
		}
		if err := l.exchange(ctx, state.conns[number], state, all); err != nil {
			l.fail(state, err)
		}
	}
}

// more takes what else is queued.
func (l *link) more(first *sending) []*sending {
	all := []*sending{first}
	for len(all) < batchMost {
		select {
		case next := <-l.queue:
			all = append(all, next)
		default:
			return all
		}
	}
	return all
}

func refuseAll(all []*sending, err error) {
	for _, s := range all {
		s.done(reply{}, err)
	}
}

// fail takes a connection down, once.
func (l *link) fail(state *linkState, err error) {
	err = fmt.Errorf("%w: redis at %s: %w", access.ErrUnavailable, l.host, err)
	if l.state.CompareAndSwap(state, &linkState{client: state.client, conns: state.conns, err: err}) {
		select {
		case l.fails <- struct{}{}:
		default: // the keeper knows
		}
	}
}

// exchange sends commands together and hands the answers out. On an error nobody knows what became
// of them, and all are told so.
func (l *link) exchange(ctx context.Context, conn rueidis.DedicatedClient, state *linkState, all []*sending) error {
	began := l.meters.now()
	ctx, cancel := context.WithTimeout(ctx, l.options.exchange)
	defer cancel()
	results := l.doMulti(ctx, conn, all)
	if err := firstFault(results); rueidisNoScript(err) {
		// After a fail-over. What ran did so once: a repetition is answered as before.
		if err := l.load(ctx, conn); err != nil {
			refuseAll(all, errAway)
			return err
		}
		results = l.doMulti(ctx, conn, all)
	}

	err := firstFault(results)
	if err == nil {
		err = l.acknowledged(state, results[len(all):])
	}
	l.meters.batch(len(all), began)
	if err != nil {
		refuseAll(all, errAway)
		return err
	}

	for i, s := range all {
		out, err := readReply(results[i])
		s.done(out, err)
	}
	return nil
}

// doMulti sends commands in one batch. The last answers say whose data it is, and who has it.
func (l *link) doMulti(ctx context.Context, conn rueidis.DedicatedClient, all []*sending) []rueidis.RedisResult {
	b := conn.B()
	multi := make([]rueidis.Completed, 0, len(all)+2)
	for _, s := range all {
		args := s.args
		if l.options.given {
			args = append(slices.Clip(args), l.givenTime()...)
		}
		multi = append(multi,
			b.Evalsha().Sha1(l.scripts[s.script].hash).Numkeys(int64(len(s.keys))).Key(s.keys...).Arg(args...).Build())
	}

	multi = append(multi, b.Get().Key(l.bornKey()).Build())
	if l.options.Acks == AcksReplica {
		patience := l.options.Timeout.Milliseconds()
		multi = append(multi, b.Wait().Numreplicas(int64(l.options.Replicas)).Timeout(patience).Build())
	}
	return conn.DoMulti(ctx, multi...)
}

// givenTime is the time of scripts in tests.
func (l *link) givenTime() []string {
	wall := l.options.Now().Wall
	return []string{number(wall / 1000), number(wall % 1000 * 1000)}
}

func (l *link) bornKey() string { return l.options.Prefix + ":born" }

// acknowledged wants the data to be the one that was found when the link came up, and enough replicas
// to have it.
func (l *link) acknowledged(state *linkState, last []rueidis.RedisResult) error {
	born, err := last[0].ToString()
	if rueidis.IsRedisNil(err) || err == nil && born != state.born {
		return errEmptied
	}
	if err != nil || l.options.Acks != AcksReplica {
		return err
	}

	have, err := last[1].AsInt64()
	if err == nil && have < int64(l.options.Replicas) {
		err = errReplicas
	}
	return err
}

// linkFaults begin the errors of Redis that are none of a command's own.
var linkFaults = []string{
	"NOREPLICAS", "OOM", "READONLY", "MISCONF", "LOADING", "MASTERDOWN", "NOAUTH", "NOPERM", "NOSCRIPT", "BUSY",
	"WRONGPASS", "UNKILLABLE",
}

// firstFault returns the first error that is the link's.
func firstFault(results []rueidis.RedisResult) error {
	for i := range results {
		err := results[i].Error()
		if err == nil || rueidis.IsRedisNil(err) {
			continue
		}

		answer, ours := rueidis.IsRedisErr(err)
		if !ours {
			return err
		}
		for _, begin := range linkFaults {
			if strings.HasPrefix(answer.Error(), begin) {
				return err
			}
		}
	}
	return nil
}

func rueidisNoScript(err error) bool {
	answer, ok := rueidis.IsRedisErr(err)
	return ok && answer.IsNoScript()
}

// readReply reads the answer of a script.
func readReply(result rueidis.RedisResult) (out reply, err error) {
	items, err := result.ToArray()
	if err != nil {
		return reply{}, fmt.Errorf("%w: %w", errScript, err)
	}
	for i := range items {
		n, err := items[i].AsInt64()
		if items[i].IsString() {
			out.text, err = items[i].ToString()
		}
		if err != nil {
			return reply{}, fmt.Errorf("%w: %w", errScript, err)
		}
		out.ints = append(out.ints, n)
	}
	return out, nil
}

// keep brings the link up again when it is down, until ctx ends.
func (l *link) keep(ctx context.Context) {
	for {
		for state := l.state.Load(); state.err == nil; state = l.state.Load() {
			select {
			case <-ctx.Done():
				return
			case <-l.fails:
			case <-time.After(probeEvery):
				l.probe(ctx, state)
				if l.state.Load().err == nil {
					l.tell(l.away())
				}
			}
		}

		l.tell(l.state.Load().err)
		if err := l.connect(ctx); err != nil {
			l.tell(err)
			select {
			case <-ctx.Done():
				return
			case <-time.After(probeEvery):
			}
		}
	}
}

// probe finds out whether Redis is still there, and still the same, also when nobody calls.
func (l *link) probe(ctx context.Context, state *linkState) {
	conn := state.conns[batchers]
	err := l.exchange(ctx, conn, state, nil)
	if err == nil {
		bound, cancel := context.WithTimeout(ctx, l.options.exchange)
		defer cancel()
		err = l.live(bound, conn)
		if apart, bad := l.apart(bound, conn); bad == nil && !l.options.given {
			l.meters.apart.Store(apart)
		}
	}
	if err != nil && ctx.Err() == nil {
		l.fail(state, err)
	}
}

// tell reports a link that goes down, and comes up again, each once.
func (l *link) tell(err error) {
	if (err != nil) == l.told {
		return
	}
	l.told = err != nil
	l.options.Report(err)
}

// connect finds Redis, checks that it may be used, says again what this server has, and opens the
// link.
func (l *link) connect(ctx context.Context) error {
	l.state.Load().end()
	client, err := rueidis.NewClient(l.target)
	state := &linkState{client: client}
	if err != nil {
		state.client = nil
		err = fmt.Errorf("redis at %s: %w", l.host, err)
	} else {
		err = l.prepare(ctx, state)
	}
	if err == nil {
		again := func(all []*sending) error { return l.exchange(ctx, state.conns[batchers], state, all) }
		data := state.run + state.born
		err = l.reassert(again, data != l.data, state.shut.Load())
		if err == nil {
			l.data = data
		}
	}
	if err != nil {
		if !errors.Is(err, access.ErrUnavailable) {
			err = fmt.Errorf("%w: %w", access.ErrUnavailable, err)
		}
		l.state.Store(&linkState{client: state.client, conns: state.conns, err: err})
		return err
	}

	// After a birth it is up, and no rights can be had for a minute all the same.
	l.state.Store(state)
	l.tell(l.away())
	l.mu.Lock()
	close(l.woken)
	l.woken = make(chan struct{})
	l.mu.Unlock()
	return nil
}

// prepare makes the connections, checks that they lead to one process that may be used, and loads the
// scripts.
func (l *link) prepare(ctx context.Context, state *linkState) error {
	ctx, cancel := context.WithTimeout(ctx, 3*l.options.exchange)
	defer cancel()
	first := ""
	for i := range state.conns {
		conn, _ := state.client.Dedicate()
		state.conns[i] = conn
		text, err := conn.Do(ctx, conn.B().Info().Section("server").Build()).ToString()
		if err != nil {
			return fmt.Errorf("redis at %s: %w", l.host, err)
		}
		run := readInfo(text)["run_id"]
		if i > 0 && run != first {
			return fmt.Errorf("redis at %s: %w", l.host, errEmptied)
		}
		first = run
	}
	state.run = first

	conn := state.conns[0]
	err := l.explain(l.check(ctx, conn))
	if err == nil {
		err = l.load(ctx, conn)
	}
	if err == nil {
		err = l.birth(ctx, conn, state)
	}
	if err == nil {
		err = l.live(ctx, conn)
	}
	return err
}

// live says that this server reaches Redis.
func (l *link) live(ctx context.Context, conn rueidis.DedicatedClient) error {
	name := livesKey(l.options.Prefix, l.options.Incarnation)
	return conn.Do(ctx, conn.B().Set().Key(name).Value("").Px(livesFor).Build()).Error()
}

// explain says whose error it is, where it does not say so itself.
func (l *link) explain(err error) error {
	_, found := errors.AsType[*FindingsError](err)
	if err == nil || found || errors.Is(err, ErrLives) {
		return err
	}
	return fmt.Errorf("redis at %s: %w", l.host, err)
}

// end gives connections up.
func (state *linkState) end() {
	for _, conn := range state.conns {
		if conn != nil {
			conn.Close()
		}
	}
	if state.client != nil {
		go state.client.Close() // which may wait for a Redis that does not answer
	}
}

// load makes Redis know the scripts.
func (l *link) load(ctx context.Context, conn rueidis.DedicatedClient) error {
	var multi []rueidis.Completed
	for _, loaded := range l.scripts {
		multi = append(multi, conn.B().ScriptLoad().Script(loaded.source).Build())
	}
	for _, result := range conn.DoMulti(ctx, multi...) {
		if err := result.Error(); err != nil {
			return fmt.Errorf("redis at %s: cannot load a script: %w", l.host, err)
		}
	}
	return nil
}

// birth reads the mark of the data, or makes one: data without one are new, or were lost, and nobody
// knows what was granted before. All servers wait a minute then.
func (l *link) birth(ctx context.Context, conn rueidis.DedicatedClient, state *linkState) error {
	clock, err := redisTime(ctx, conn)
	if err != nil {
		return err
	}
	made := conn.Do(ctx, conn.B().Set().Key(l.bornKey()).Value(number(clock)).Nx().Build()).Error()
	if made != nil && !rueidis.IsRedisNil(made) {
		return made
	}
	state.born, err = conn.Do(ctx, conn.B().Get().Key(l.bornKey()).Build()).ToString()
	if err != nil {
		return err
	}

	if _, err := fmt.Sscan(state.born, &state.bornAt); err != nil {
		return fmt.Errorf("redis at %s: its %q is no time: %w", l.host, l.bornKey(), err)
	}
	if wait := state.bornAt + calendar.MinuteMillis + l.options.Lease.Milliseconds() - clock; wait > 0 {
		state.shut.Store(l.present().Mono + wait)
	}
	return nil
}

// close ends the connection. Nobody sends any more.
func (l *link) close() {
	l.state.Swap(&linkState{err: access.ErrClosed}).end()
	for {
		select {
		case s := <-l.queue:
			s.done(reply{}, access.ErrClosed)
		default:
			return
		}
	}
}
