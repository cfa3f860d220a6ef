package limiter

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

const (
	// fullPercent is from which part of its bound the memory of Redis counts as full.
	fullPercent = 90
	// stillTimeout is how long a replica may take to say that it has what was written just now.
	stillTimeout = 1500 * time.Millisecond
)

// Inspection is what Inspect saw.
type Inspection struct {
	Used, Bound int64 // bytes of memory; no bound = 0
	Replicas    int   // that are connected
	Findings    []Finding
}

// Inspect checks a Redis as a server does at its start, grants a right on a key of its own as servers do,
// and looks for what answers without a password.
func Inspect(ctx context.Context, options Options) (out Inspection, err error) {
	options.setDefaults()
	err = withRedis(&options, func(conn rueidis.DedicatedClient, r *redisDialer) error {
		err := r.check(ctx, conn)
		if wrong, ok := errors.AsType[*FindingsError](err); ok {
			out.Findings = wrong.Findings
		} else if err != nil {
			return err
		}
		return r.inspect(ctx, conn, &out)
	})
	return out, err
}

// inspect looks at what a start does not.
func (r *redisDialer) inspect(ctx context.Context, conn rueidis.DedicatedClient, out *Inspection) error {
	before, err := r.info(ctx, conn)
	if err != nil {
		return err
	}
	find := func(command, format string, args ...any) {
		out.Findings = append(out.Findings, Finding{fmt.Sprintf(format, args...), command})
	}

	out.Used, out.Bound = memoryOf(before)
	if out.Bound > 0 && out.Used >= out.Bound/100*fullPercent {
		find(r.cli(r.primary(), fmt.Sprintf("config set maxmemory %d", 2*max(out.Used, out.Bound))),
			"its memory is full: %s are used of %s; at the bound every call is 503", Megabytes(out.Used),
			Megabytes(out.Bound))
	}
	replicas := onlineReplicas(before)
	out.Replicas = len(replicas)
	if before["role"] == "master" {
		if err := r.tryTake(ctx, conn); err != nil {
			find(r.cli(r.primary(), "info"), "it grants no right: %s", err)
		}
		if err := r.findStill(ctx, conn, replicas, find); err != nil {
			return err
		}
	}

	for _, address := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(
		r.target.InitAddress, r.nodes, slices.Collect(maps.Keys(replicas)))))) {
		if r.isOpen(ctx, address) {
			find("", "%s answers without a password: whoever reaches it can read and change everything; "+
				"set one (docs/FLEET.md)", address)
		}
	}
	return nil
}

// tryTake grants one right on a key of its own, as servers do, and waits for as many replicas.
func (r *redisDialer) tryTake(ctx context.Context, conn rueidis.DedicatedClient) error {
	if err := r.load(ctx, conn); err != nil {
		return err
	}
	rk := redisKeys{prefix: r.options.Prefix, tenant: "check." + rand.Text(), incarnation: "check", sessionID: "check"}
	names := rk.admitKeys(&admitRequest{subject: "check", period: quotaPeriod{name: "check"}})
	// Number 1 of a server that knows of none: one call of one a minute, of a quota of one until tomorrow.
	till := r.options.Now().Wall + (24 * time.Hour).Milliseconds()
	take := rk.command(scriptTake, names, []int64{1, 0, 1, 1, 1, 0, 0, till, 0}, []int64{1, 1})
	defer conn.Do(context.WithoutCancel(ctx), conn.B().Del().Key(names...).Build())

	results := r.doMulti(ctx, conn, []*queuedCommand{{command: &take}})
	if err := firstConnError(results); err != nil {
		return err
	}
	answer, err := readReply(results[0])
	if err == nil && (answer.intAt(0) != statusGranted || answer.intAt(2) != 1) {
		err = fmt.Errorf("its script answers %v", answer.ints)
	}
	if err != nil || r.options.Acks != AcksReplica {
		return err
	}
	have, err := results[2].AsInt64()
	if err == nil && have < int64(r.options.Replicas) {
		err = fmt.Errorf("%d of %d replicas had it after %s", have, r.options.Replicas, r.options.Timeout)
	}
	return err
}

// findStill names replicas whose offset is the one from before something was written.
func (r *redisDialer) findStill(ctx context.Context, conn rueidis.DedicatedClient, before map[string]int,
	find func(string, string, ...any),
) error {
	wait := conn.B().Wait().Numreplicas(int64(len(before))).Timeout(stillTimeout.Milliseconds()).Build()
	if have, err := conn.Do(ctx, wait).AsInt64(); err != nil || have >= int64(len(before)) {
		return err
	}
	info, err := r.info(ctx, conn)
	if err != nil {
		return err
	}
	for address, offset := range onlineReplicas(info) {
		if offset <= before[address] {
			find(r.cli(address, "info replication"), "its replica %s stands still: %d bytes behind", address,
				atoi(info["master_repl_offset"])-offset)
		}
	}
	return nil
}

// isOpen reports whether a Redis or a Sentinel answers somebody without a password and a certificate.
func (r *redisDialer) isOpen(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, r.options.exchange)
	defer cancel()
	conn, err := r.target.Dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	defer conn.Close()
	if r.target.TLSConfig != nil {
		plain := r.target.TLSConfig.Clone()
		plain.Certificates = nil
		plain.GetClientCertificate = nil
		if plain.ServerName == "" {
			plain.ServerName, _, _ = net.SplitHostPort(address)
		}
		conn = tls.Client(conn, plain)
	}

	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline)
	answer := make([]byte, len("+PONG"))
	_, err = conn.Write([]byte("PING\r\n"))
	if err == nil {
		_, err = conn.Read(answer)
	}
	return err == nil && string(answer) == "+PONG"
}

// info reads everything that Redis says of itself.
func (r *redisDialer) info(ctx context.Context, conn rueidis.DedicatedClient) (map[string]string, error) {
	text, err := conn.Do(ctx, conn.B().Info().Build()).ToString()
	return readInfo(text), err
}

// memoryOf returns how much memory a Redis uses and may use, in bytes.
func memoryOf(info map[string]string) (used, bound int64) {
	return int64(atoi(info["used_memory"])), int64(atoi(info["maxmemory"]))
}

// Megabytes spells a number of bytes.
func Megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// primary returns the address of the primary for commands: of the first Sentinel while nobody knows it.
func (r *redisDialer) primary() string {
	return append(slices.Clone(r.nodes), r.target.InitAddress...)[0]
}

// cli returns a command that an operator can run on a Redis. It asks for the password.
func (r *redisDialer) cli(address, words string) string {
	host, port, _ := net.SplitHostPort(address)
	line := []string{"redis-cli", "-h", host, "-p", port}
	if r.target.TLSConfig != nil {
		line = append(line, "--tls")
	}
	if r.target.Username != "" {
		line = append(line, "--user", r.target.Username)
	}
	if r.target.Password != "" {
		line = append(line, "--askpass")
	}
	return strings.Join(append(line, words), " ")
}
