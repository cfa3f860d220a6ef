package limiter

import (
	"context"
	"crypto/sha1" //nolint:gosec // it is how Redis names scripts
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/redis/rueidis"
)

// redisDialer connects to a Redis by its address.
type redisDialer struct {
	options *Options
	url     atomic.Pointer[string]
	host    string               // for messages
	target  rueidis.ClientOption // as configured at the start
	nodes   []string             // addresses of the primary, of Sentinels while it is not known
	scripts [scriptCount]loadedScript
	metrics *metrics
}

// loadedScript is a script as it is sent.
type loadedScript struct{ source, hash string }

// newRedisDialer returns the dialer of the Redis in options.
func newRedisDialer(options *Options, m *metrics) (*redisDialer, error) {
	target, host, err := parseURL(options.URL, options.exchange)
	if err != nil {
		return nil, err
	}
	r := &redisDialer{options: options, target: target, host: host, nodes: target.InitAddress, metrics: m}
	r.url.Store(&options.URL)
	r.hashScripts(sources())
	return r, nil
}

// hashScripts sets the scripts.
func (r *redisDialer) hashScripts(sources [scriptCount]string) {
	for which, source := range sources {
		sum := sha1.Sum([]byte(source)) //nolint:gosec // it is how Redis names scripts
		r.scripts[which] = loadedScript{source: source, hash: hex.EncodeToString(sum[:])}
	}
}

func (r *redisDialer) String() string { return r.host }

// connections are the connections to one process of Redis. They do not reconnect by themselves: another
// process may answer then, with less data.
type connections struct {
	*redisDialer
	client rueidis.Client
	conns  [batchers + 1]rueidis.DedicatedClient
}

// dial implements [dialer]. It loads the scripts.
func (r *redisDialer) dial(ctx context.Context) (wire, string, error) {
	client, err := r.connect()
	if err != nil {
		return nil, "", fmt.Errorf("redis at %s: %w", r.host, err)
	}

	cs := &connections{redisDialer: r, client: client}
	ctx, cancel := context.WithTimeout(ctx, 3*r.options.exchange)
	defer cancel()
	run, err := cs.dedicate(ctx)
	if err == nil {
		err = r.addHost(r.check(ctx, cs.conns[0]))
	}
	if err == nil {
		err = r.load(ctx, cs.conns[0])
	}
	return cs, run, err
}

// connect makes a client with the passwords and certificates of now.
func (r *redisDialer) connect() (rueidis.Client, error) {
	target, _, err := parseURL(*r.url.Load(), r.options.exchange)
	if err != nil {
		return nil, err
	}
	return rueidis.NewClient(target)
}

// dedicate makes the connections, and checks that they lead to one process.
func (cs *connections) dedicate(ctx context.Context) (first string, err error) {
	for i := range cs.conns {
		conn, _ := cs.client.Dedicate()
		cs.conns[i] = conn
		text, err := conn.Do(ctx, conn.B().Info().Section("server").Build()).ToString()
		if err != nil {
			return "", fmt.Errorf("redis at %s: %w", cs.host, err)
		}
		run := readInfo(text)["run_id"]
		if i > 0 && run != first {
			return "", fmt.Errorf("redis at %s: %w", cs.host, errEmptied)
		}
		first = run
	}
	return first, nil
}

// addHost adds the host to an error that does not have it.
func (r *redisDialer) addHost(err error) error {
	_, found := errors.AsType[*FindingsError](err)
	if err == nil || found || errors.Is(err, ErrServerAlive) {
		return err
	}
	return fmt.Errorf("redis at %s: %w", r.host, err)
}

// load loads the scripts into Redis.
func (r *redisDialer) load(ctx context.Context, conn rueidis.DedicatedClient) error {
	var multi []rueidis.Completed
	for _, loaded := range r.scripts {
		multi = append(multi, conn.B().ScriptLoad().Script(loaded.source).Build())
	}
	for _, result := range conn.DoMulti(ctx, multi...) {
		if err := result.Error(); err != nil {
			return fmt.Errorf("redis at %s: cannot load a script: %w", r.host, err)
		}
	}
	return nil
}

// close implements [wire].
func (cs *connections) close() {
	for _, conn := range cs.conns {
		if conn != nil {
			conn.Close()
		}
	}
	go cs.client.Close() // which may wait for a Redis that does not answer
}

// loadDataset implements [wire].
func (cs *connections) loadDataset(ctx context.Context) (dataset string, clock int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, cs.options.exchange)
	defer cancel()
	conn := cs.conns[0]
	clock, err = redisTime(ctx, conn)
	if err != nil {
		return "", 0, err
	}
	made := conn.Do(ctx, conn.B().Set().Key(cs.datasetKey()).Value(number(clock)).Nx().Build()).Error()
	if made != nil && !rueidis.IsRedisNil(made) {
		return "", 0, made
	}
	dataset, err = conn.Do(ctx, conn.B().Get().Key(cs.datasetKey()).Build()).ToString()
	return dataset, clock, err
}

func (r *redisDialer) datasetKey() string { return r.options.Prefix + ":born" }

// heartbeat implements [wire].
func (cs *connections) heartbeat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, cs.options.exchange)
	defer cancel()
	conn := cs.conns[batchers]
	name := heartbeatKey(cs.options.Prefix, cs.options.ServerID)
	err := conn.Do(ctx, conn.B().Set().Key(name).Value("").Px(heartbeatTTL).Build()).Error()
	if skew, bad := cs.clockSkew(ctx, conn); bad == nil {
		cs.metrics.clockSkew.Store(skew)
	}
	// If Redis does not report its memory, calls go on.
	if text, bad := conn.Do(ctx, conn.B().Info().Section("memory").Build()).ToString(); bad == nil {
		used, bound := memoryOf(readInfo(text))
		cs.metrics.memoryUsed.Store(used)
		cs.metrics.memoryBound.Store(bound)
	}
	return err
}

// exchange implements [wire].
func (cs *connections) exchange(ctx context.Context, number int, dataset string, all []*queuedCommand) ([]answer,
	error,
) {
	ctx, cancel := context.WithTimeout(ctx, cs.options.exchange)
	defer cancel()
	conn := cs.conns[number]
	results := cs.doMulti(ctx, conn, all)
	if answer, ok := rueidis.IsRedisErr(firstConnError(results)); ok && answer.IsNoScript() {
		// After a fail-over. Some commands may have run: their repetition is answered as before.
		if err := cs.load(ctx, conn); err != nil {
			return nil, err
		}
		results = cs.doMulti(ctx, conn, all)
	}

	err := firstConnError(results)
	if err == nil {
		err = cs.checkAcks(dataset, results[len(all):])
	}
	if err != nil {
		return nil, err
	}

	answers := make([]answer, len(all))
	for i := range all {
		answers[i].scriptResult, answers[i].err = readReply(results[i])
	}
	return answers, nil
}

// doMulti sends commands in one batch. Two more commands follow: they return the id of the data set, and
// how many replicas have the writes.
func (r *redisDialer) doMulti(ctx context.Context, conn rueidis.DedicatedClient,
	all []*queuedCommand,
) []rueidis.RedisResult {
	b := conn.B()
	multi := make([]rueidis.Completed, 0, len(all)+2)
	for _, s := range all {
		one := b.Evalsha().Sha1(r.scripts[s.script].hash).Numkeys(int64(len(s.keys))).Key(s.keys...)
		multi = append(multi, one.Arg(s.args...).Build())
	}

	multi = append(multi, b.Get().Key(r.datasetKey()).Build())
	if r.options.Acks == AcksReplica {
		timeout := r.options.Timeout.Milliseconds()
		multi = append(multi, b.Wait().Numreplicas(int64(r.options.Replicas)).Timeout(timeout).Build())
	}
	return conn.DoMulti(ctx, multi...)
}

// checkAcks checks that the data set is the one of the connection, and that enough replicas have the
// writes.
func (r *redisDialer) checkAcks(dataset string, last []rueidis.RedisResult) error {
	found, err := last[0].ToString()
	if rueidis.IsRedisNil(err) || err == nil && found != dataset {
		return errEmptied
	}
	if err != nil || r.options.Acks != AcksReplica {
		return err
	}

	have, err := last[1].AsInt64()
	if err == nil && have < int64(r.options.Replicas) {
		err = errReplicas
	}
	return err
}

// connErrors are beginnings of Redis errors that concern the connection, not a command.
var connErrors = []string{
	"NOREPLICAS", "OOM", "READONLY", "MISCONF", "LOADING", "MASTERDOWN", "NOAUTH", "NOPERM", "NOSCRIPT", "BUSY",
	"WRONGPASS", "UNKILLABLE",
}

// firstConnError returns the first error of the connection.
func firstConnError(results []rueidis.RedisResult) error {
	for i := range results {
		err := results[i].Error()
		if err == nil || rueidis.IsRedisNil(err) {
			continue
		}

		answer, ours := rueidis.IsRedisErr(err)
		if !ours {
			return err
		}
		begins := func(begin string) bool { return strings.HasPrefix(answer.Error(), begin) }
		if slices.ContainsFunc(connErrors, begins) {
			return err
		}
	}
	return nil
}

// readReply decodes the answer of a script.
func readReply(result rueidis.RedisResult) (out scriptResult, err error) {
	items, err := result.ToArray()
	if err != nil {
		return scriptResult{}, fmt.Errorf("%w: %w", errScript, err)
	}
	for i := range items {
		n, err := items[i].AsInt64()
		if items[i].IsString() {
			out.text, err = items[i].ToString()
		}
		if err != nil {
			return scriptResult{}, fmt.Errorf("%w: %w", errScript, err)
		}
		out.ints = append(out.ints, n)
	}
	return out, nil
}
