package limiter

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// stillTimeout is how long a replica may take to say that it has what was written just now.
const stillTimeout = 1500 * time.Millisecond

// Inspection is what Inspect saw.
type Inspection struct {
	Used, Bound int64 // bytes of memory; no bound = 0
	Findings    []Finding
}

// Inspect checks a Redis as a server does at its start. It requests a grant on a separate key as
// servers do, and it looks for listeners without a password.
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

	// At nine tenths there is time left to act: minutes hold a key for each tenant.
	out.Used, out.Bound = memoryOf(before)
	if out.Bound > 0 && out.Used >= out.Bound/10*9 {
		find(r.cli(r.nodes[0], fmt.Sprintf("config set maxmemory %d", 2*max(out.Used, out.Bound))),
			"its memory is full: %s are used of %s; at the bound every call is 503", Megabytes(out.Used),
			Megabytes(out.Bound))
	}
	replicas := onlineReplicas(before)
	if before["role"] == "master" {
		if err := r.tryTake(ctx, conn); err != nil {
			find(r.cli(r.nodes[0], "info"), "it refuses a test grant: %s", err)
		}
		// A replica that lives says that it has what was written just now.
		wait := conn.B().Wait().Numreplicas(int64(len(replicas))).Timeout(stillTimeout.Milliseconds()).Build()
		_ = conn.Do(ctx, wait)
		after, err := r.info(ctx, conn)
		if err != nil {
			return err
		}
		for address, offset := range onlineReplicas(after) {
			if behind := atoi(after["master_repl_offset"]) - offset; behind > 0 && offset <= replicas[address] {
				find(r.cli(address, "info replication"), "its replica %s stands still, %d bytes behind", address,
					behind)
			}
		}
	}

	// Sentinels, the primary and its replicas: who reaches one of them reaches all.
	for _, name := range slices.Concat(r.target.InitAddress, r.nodes) {
		replicas[name] = 0
	}
	for _, address := range slices.Sorted(maps.Keys(replicas)) {
		if r.isOpen(ctx, address) {
			find(r.cli(address, "acl list"), "%s answers without a password: whoever reaches it can read and "+
				"change everything; set one (docs/FLEET.md)", address)
		}
	}
	return nil
}

// tryTake requests one grant on a separate key, as servers do, and waits for as many replicas.
func (r *redisDialer) tryTake(ctx context.Context, conn rueidis.DedicatedClient) error {
	if err := r.load(ctx, conn); err != nil {
		return err
	}
	rk := redisKeys{prefix: r.options.Prefix, tenant: "check." + rand.Text(), serverID: "check", sessionID: "check"}
	names := rk.admitKeys(&admitRequest{subject: "check", period: quotaPeriod{name: "check"}})
	// The first request of a server without earlier ones: one call, with a limit of one a minute and a
	// quota of one until tomorrow.
	till := r.options.Now().Wall + (24 * time.Hour).Milliseconds()
	take := rk.command(scriptTake, names, []int64{1, 0, 1, 1, 1, 0, 0, till, 0}, []int64{1, 1})
	defer conn.Do(context.WithoutCancel(ctx), conn.B().Del().Key(names...).Build())

	results := r.doMulti(ctx, conn, []*queuedCommand{{command: &take}})
	answer, err := readReply(results[0])
	err = cmp.Or(firstConnError(results), err)
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

// isOpen reports whether a Redis or a Sentinel answers somebody without a password and a certificate.
func (r *redisDialer) isOpen(ctx context.Context, address string) bool {
	option := rueidis.ClientOption{
		InitAddress: []string{address}, ForceSingleClient: true, DisableCache: true, DisableRetry: true,
		Dialer: r.target.Dialer, ConnWriteTimeout: r.options.exchange,
	}

	// The server's certificate is believed as before, and none is shown.
	if r.target.TLSConfig != nil {
		option.TLSConfig = r.target.TLSConfig.Clone()
		option.TLSConfig.Certificates = nil
		option.TLSConfig.GetClientCertificate = nil
	}

	// A Redis that wants a password lets no client begin.
	client, err := rueidis.NewClient(option)
	if err != nil {
		return false
	}
	defer client.Close()
	return client.Do(ctx, client.B().Ping().Build()).Error() == nil
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

// Megabytes writes a number of bytes.
func Megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// cli returns a command that an operator can run on a Redis. It asks for the password.
func (r *redisDialer) cli(address, words string) string {
	host, port, _ := net.SplitHostPort(address)
	line := "redis-cli -h " + host + " -p " + port
	if r.target.TLSConfig != nil {
		line += " --tls"
	}
	switch {
	case r.target.Username != "" && strings.HasPrefix(words, "config set"):
		line += " --user admin" // as users.acl has it: servers must not change how Redis is set
	case r.target.Username != "":
		line += " --user " + r.target.Username
	}
	if r.target.Password != "" {
		line += " --askpass"
	}
	return line + " " + words
}
