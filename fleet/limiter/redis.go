package limiter

import (
	"context"
	"crypto/sha1" //nolint:gosec // it is how Redis names scripts
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/rueidis"
)

// redis is a Redis that is found by an address.
type redis struct {
	options *Options
	target  rueidis.ClientOption
	host    string // for messages
	scripts [scriptCount]loaded
	meters  *metrics
}

// loaded is a script as it is sent.
type loaded struct{ source, hash string }

// newRedis returns the Redis of options, with scripts that change has made others; nil changes nothing.
func newRedis(options *Options, m *metrics) (*redis, error) {
	target, host, err := parseURL(options.URL, options.exchange)
	if err != nil {
		return nil, err
	}
	r := &redis{options: options, target: target, host: host, meters: m}
	r.give(sources())
	return r, nil
}

// give takes scripts by their texts.
func (r *redis) give(sources [scriptCount]string) {
	for which, source := range sources {
		sum := sha1.Sum([]byte(source)) //nolint:gosec // it is how Redis names scripts
		r.scripts[which] = loaded{source: source, hash: hex.EncodeToString(sum[:])}
	}
}

func (r *redis) String() string { return r.host }

// connections are those to one process of Redis. One that ends is not made again by itself: what answers
// at the address then may be another, which knows less.
type connections struct {
	*redis
	client rueidis.Client
	conns  [batchers + 1]rueidis.DedicatedClient
}

// dial implements [dialer]. It loads the scripts.
func (r *redis) dial(ctx context.Context) (wire, string, error) {
	client, err := rueidis.NewClient(r.target)
	if err != nil {
		return nil, "", fmt.Errorf("redis at %s: %w", r.host, err)
	}

	cs := &connections{redis: r, client: client}
	ctx, cancel := context.WithTimeout(ctx, 3*r.options.exchange)
	defer cancel()
	run, err := cs.begin(ctx)
	if err == nil {
		err = r.explain(r.check(ctx, cs.conns[0]))
	}
	if err == nil {
		err = r.load(ctx, cs.conns[0])
	}
	return cs, run, err
}

// begin makes the connections, and wants them to lead to one process.
func (cs *connections) begin(ctx context.Context) (first string, err error) {
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

// explain says whose error it is, where it does not say so itself.
func (r *redis) explain(err error) error {
	_, found := errors.AsType[*FindingsError](err)
	if err == nil || found || errors.Is(err, ErrServerAlive) {
		return err
	}
	return fmt.Errorf("redis at %s: %w", r.host, err)
}

// load makes Redis know the scripts.
func (r *redis) load(ctx context.Context, conn rueidis.DedicatedClient) error {
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

// startCooldown implements [wire].
func (cs *connections) close() {
	for _, conn := range cs.conns {
		if conn != nil {
			conn.Close()
		}
	}
	go cs.client.Close() // which may wait for a Redis that does not answer
}

// loadDataset implements [wire].
func (cs *connections) birth(ctx context.Context) (born string, clock int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, cs.options.exchange)
	defer cancel()
	conn := cs.conns[0]
	clock, err = redisTime(ctx, conn)
	if err != nil {
		return "", 0, err
	}
	made := conn.Do(ctx, conn.B().Set().Key(cs.bornKey()).Value(number(clock)).Nx().Build()).Error()
	if made != nil && !rueidis.IsRedisNil(made) {
		return "", 0, made
	}
	born, err = conn.Do(ctx, conn.B().Get().Key(cs.bornKey()).Build()).ToString()
	return born, clock, err
}

func (r *redis) bornKey() string { return r.options.Prefix + ":born" }

// live implements [wire].
func (cs *connections) live(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, cs.options.exchange)
	defer cancel()
	conn := cs.conns[batchers]
	name := heartbeatKey(cs.options.Prefix, cs.options.Incarnation)
	err := conn.Do(ctx, conn.B().Set().Key(name).Value("").Px(heartbeatTTL).Build()).Error()
	if apart, bad := cs.apart(ctx, conn); bad == nil {
		cs.meters.apart.Store(apart)
	}
	return err
}

// exchange implements [wire].
func (cs *connections) exchange(ctx context.Context, number int, born string, all []*sending) ([]answer, error) {
	ctx, cancel := context.WithTimeout(ctx, cs.options.exchange)
	defer cancel()
	conn := cs.conns[number]
	results := cs.doMulti(ctx, conn, all)
	if answer, ok := rueidis.IsRedisErr(firstFault(results)); ok && answer.IsNoScript() {
		// After a fail-over. What ran did so once: a repetition is answered as before.
		if err := cs.load(ctx, conn); err != nil {
			return nil, err
		}
		results = cs.doMulti(ctx, conn, all)
	}

	err := firstFault(results)
	if err == nil {
		err = cs.acknowledged(born, results[len(all):])
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

// doMulti sends commands in one batch. The last answers say whose data it is, and who has it.
func (r *redis) doMulti(ctx context.Context, conn rueidis.DedicatedClient, all []*sending) []rueidis.RedisResult {
	b := conn.B()
	multi := make([]rueidis.Completed, 0, len(all)+2)
	for _, s := range all {
		one := b.Evalsha().Sha1(r.scripts[s.script].hash).Numkeys(int64(len(s.keys))).Key(s.keys...)
		multi = append(multi, one.Arg(s.args...).Build())
	}

	multi = append(multi, b.Get().Key(r.bornKey()).Build())
	if r.options.Acks == AcksReplica {
		timeout := r.options.Timeout.Milliseconds()
		multi = append(multi, b.Wait().Numreplicas(int64(r.options.Replicas)).Timeout(timeout).Build())
	}
	return conn.DoMulti(ctx, multi...)
}

// acknowledged wants the data to be the one that was found when the link came up, and enough replicas
// to have it.
func (r *redis) acknowledged(born string, last []rueidis.RedisResult) error {
	found, err := last[0].ToString()
	if rueidis.IsRedisNil(err) || err == nil && found != born {
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
		begins := func(begin string) bool { return strings.HasPrefix(answer.Error(), begin) }
		if slices.ContainsFunc(linkFaults, begins) {
			return err
		}
	}
	return nil
}

// readReply reads the answer of a script.
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
