package limiter

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

const (
	// maxClockSkew is how far the clock of Redis may differ from this machine's, in milliseconds.
	maxClockSkew = int64(2000)
	// minMajor is the oldest major version whose scripts refuse before they write.
	minMajor = 7
)

// Finding is a fault of a Redis in words for an operator, with a command that inspects or repairs
// it.
type Finding struct{ Text, Command string }

// FindingsError is why a Redis must not be used.
type FindingsError struct {
	Host     string
	Findings []Finding
}

func (e *FindingsError) Error() string {
	var lines []string
	for _, finding := range e.Findings {
		lines = append(lines, "cannot meter with redis at "+e.Host+": "+finding.Text)
	}
	return strings.Join(lines, "\n")
}

// LostError reports that Redis lost what it had acknowledged.
type LostError struct{ Tenants int }

func (e *LostError) Error() string {
	return fmt.Sprintf("redis lost acknowledged writes (%d tenants): their minute windows are closed for 60 s, "+
		"nothing billed is lost", e.Tenants)
}

// check returns a FindingsError if Redis must not be used.
func (r *redisDialer) check(ctx context.Context, conn rueidis.DedicatedClient) error {
	info, err := r.info(ctx, conn)
	if err != nil {
		return err
	}
	var found []Finding
	find := func(words, format string, args ...any) {
		found = append(found, Finding{fmt.Sprintf(format, args...), r.cli(r.nodes[0], words)})
	}

	if major, _, _ := strings.Cut(info["redis_version"], "."); atoi(major) < minMajor {
		find("info server", "it is version %s, %d.0 is needed", info["redis_version"], minMajor)
	}
	if policy := info["maxmemory_policy"]; policy != "noeviction" {
		find("config set maxmemory-policy noeviction",
			"it evicts keys (maxmemory-policy %s): set noeviction, or quotas start again when memory is full", policy)
	}
	if info["role"] != "master" {
		find("info replication", "it is a replica itself: give the primary, or redis+sentinel://")
	} else if have := len(onlineReplicas(info)); r.options.Acks == AcksReplica && have < r.options.Replicas {
		needs := "a replica"
		if r.options.Replicas > 1 {
			needs = strconv.Itoa(r.options.Replicas) + " replicas"
		}
		find("info replication",
			`acks = "replica" needs %s, it has %d: add one, or run one Redis with appendfsync always and acks = "aof"`,
			needs, have)
	}
	if r.options.Acks == AcksAOF {
		set, err := conn.Do(ctx, conn.B().ConfigGet().Parameter("appendfsync").Build()).AsStrMap()
		if err != nil || info["aof_enabled"] != "1" || set["appendfsync"] != "always" {
			find("config set appendonly yes appendfsync always",
				`acks = "aof" needs appendonly yes and appendfsync always`)
		}
	}
	if err := r.checkClock(ctx, conn, find); err != nil {
		return err
	}
	if len(found) > 0 {
		return &FindingsError{Host: r.host, Findings: found}
	}
	return nil
}

// checkClock compares the clock of Redis with this machine's.
func (r *redisDialer) checkClock(
	ctx context.Context, conn rueidis.DedicatedClient, find func(string, string, ...any),
) error {
	skew, err := r.clockSkew(ctx, conn)
	if err != nil {
		return err
	}

	r.metrics.clockSkew.Store(skew)
	if max(skew, -skew) > maxClockSkew {
		way := "ahead of"
		if skew < 0 {
			way = "behind"
		}
		find("time", "its clock is %.1f s %s this machine: windows and days go by it, run chrony on both",
			float64(max(skew, -skew))/1000, way)
	}
	return nil
}

// clockSkew returns how far the clock of Redis is ahead of this machine's, in milliseconds. Redis reads
// it some time between question and answer: a slow answer does not look like a wrong clock.
func (r *redisDialer) clockSkew(ctx context.Context, conn rueidis.DedicatedClient) (int64, error) {
	asked := r.options.Now().Wall
	clock, err := redisTime(ctx, conn)
	answered := r.options.Now().Wall
	return clock - min(max(clock, asked), max(asked, answered)), err
}

// redisTime returns the clock of Redis in Unix milliseconds.
func redisTime(ctx context.Context, conn rueidis.DedicatedClient) (int64, error) {
	parts, err := conn.Do(ctx, conn.B().Time().Build()).AsStrSlice()
	if err != nil || len(parts) != 2 {
		return 0, errors.Join(err, errors.New("cannot read its clock"))
	}
	return int64(atoi(parts[0]))*1000 + int64(atoi(parts[1]))/1000, nil
}

// atoi reads a number of Redis, 0 for any other text.
func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// readInfo parses the answer of INFO.
func readInfo(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			out[name] = value
		}
	}
	return out
}

// onlineReplicas returns the offsets of the replicas that are connected, by their addresses.
func onlineReplicas(info map[string]string) map[string]int {
	all := map[string]int{}
	for name, value := range info {
		if !strings.HasPrefix(name, "slave") || !strings.Contains(value, "state=online") {
			continue
		}
		fields := readInfo(strings.NewReplacer(",", "\n", "=", ":").Replace(value))
		all[net.JoinHostPort(fields["ip"], fields["port"])] = atoi(fields["offset"])
	}
	return all
}

// parseURL parses redis://, rediss:// and redis+sentinel://, and reads the files that its parameters name. It
// returns the hosts for messages, without the password. A Redis that does not answer for twice an exchange
// is disconnected.
func parseURL(text string, exchange time.Duration) (option rueidis.ClientOption, host string, err error) {
	text, query, _ := strings.Cut(text, "?")
	scheme, rest, _ := strings.Cut(text, "://")
	user := ""
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		user = rest[:at] + "@"
		rest = rest[at+1:]
	}
	hosts, name, _ := strings.Cut(rest, "/")
	scheme, sentinel := strings.CutSuffix(scheme, "+sentinel")
	shown := scheme + "://" + rest // no password
	u, err := url.Parse("redis://" + user + "host")
	if err != nil || hosts == "" || scheme != "redis" && scheme != "rediss" {
		return option, "", fmt.Errorf("cannot meter with %q: want redis://HOST:PORT/0, rediss:// or redis+sentinel://",
			shown)
	}

	option = rueidis.ClientOption{
		Username: u.User.Username(), ClientName: "ninepocket",
		// The client does not know the commands: a write that it repeats may be granted twice.
		DisableRetry: true, DisableCache: true, ForceSingleClient: !sentinel,
		Dialer: net.Dialer{Timeout: exchange, KeepAlive: exchange}, ConnWriteTimeout: 2 * exchange,
		BlockingPoolSize: batchers + 2, BlockingPoolCleanup: 0, RingScaleEachConn: 8,
	}
	option.Password, _ = u.User.Password()
	for address := range strings.SplitSeq(hosts, ",") {
		option.InitAddress = append(option.InitAddress, withPort(address, sentinel))
	}

	switch {
	case sentinel:
		option.Sentinel = rueidis.SentinelOption{
			MasterSet: name, Dialer: option.Dialer, // its login is a parameter: it is another than Redis'
		}
	case name != "":
		option.SelectDB, err = strconv.Atoi(name)
		if err != nil {
			return option, "", fmt.Errorf("cannot meter with %q: %q is no number of a database", shown, name)
		}
	}
	if scheme == "rediss" {
		option.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if err := applyParameters(&option, query); err != nil {
		return option, "", fmt.Errorf("cannot meter with %q: %w", shown, err)
	}
	option.Sentinel.TLSConfig = option.TLSConfig
	return option, hosts, nil
}

// withPort adds the default port of Redis or a Sentinel to an address without one.
func withPort(address string, sentinel bool) string {
	if _, _, err := net.SplitHostPort(address); err == nil {
		return address
	}
	port := "6379"
	if sentinel {
		port = "26379"
	}
	return net.JoinHostPort(strings.Trim(address, "[]"), port)
}
