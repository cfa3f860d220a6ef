package main

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// fleetConfig is the [fleet] table: how servers share rights and bills. It means nothing without
// metering or control.
type fleetConfig struct {
	Acks     string `toml:"acks" help:"what a grant of rights waits for: replica, aof or none"`
	Replicas int    `toml:"replicas" help:"replicas that must have a grant, with acks = replica"`
	Timeout  string `toml:"timeout" help:"time that a call waits for its right; then it is answered 503"`
	Lease    string `toml:"lease" help:"how long rights are taken ahead for plans above 1,000 a minute; 0s takes none"` // air: a tag is one text
	Export   string `toml:"export" help:"time between two reports of what was charged"`
	Prefix   string `toml:"prefix" help:"begins the names of all that is kept in Redis"`
}

func defaultFleet() fleetConfig {
	return fleetConfig{Acks: "replica", Replicas: 1, Timeout: "100ms", Lease: "500ms", Export: "5s", Prefix: "np"}
}

// fleet is the [fleet] table as values.
type fleet struct {
	acks     string // replica, aof or none
	replicas int
	timeout  time.Duration
	lease    time.Duration // 0 = none
	export   time.Duration
	prefix   string
}

// The bounds of [fleet]. A call that waits longer than the longest timeout has lost its client. A
// lease bounds how late a lowered plan holds. A report that comes seldom is an alert.
const (
	mostReplicas    = 9
	shortestTimeout = 10 * time.Millisecond
	longestTimeout  = 5 * time.Second
	shortestLease   = 50 * time.Millisecond
	longestLease    = 5 * time.Second
	shortestExport  = 100 * time.Millisecond
	longestExport   = time.Minute
	longestPrefix   = 16
)

// fleet reads the [fleet] table; the error joins every problem.
func (c *config) fleet() (fleet, error) {
	given := &c.Fleet
	out := fleet{acks: given.Acks, replicas: given.Replicas, prefix: given.Prefix}

	var wrong problems
	span := func(key, text string, shortest, longest time.Duration) time.Duration {
		d, err := time.ParseDuration(text)
		wrong.when(err != nil || d < shortest || d > longest, "cannot use fleet.%s %q: want a time from %s to %s",
			key, text, shortest, longest)
		return d
	}
	out.timeout = span("timeout", given.Timeout, shortestTimeout, longestTimeout)
	out.export = span("export", given.Export, shortestExport, longestExport)
	if d, err := time.ParseDuration(given.Lease); err != nil || d != 0 {
		out.lease = span("lease", given.Lease, shortestLease, longestLease)
	}

	wrong.when(!slices.Contains([]string{"replica", "aof", "none"}, given.Acks),
		"cannot use fleet.acks %q: want replica, aof or none", given.Acks)
	wrong.when(given.Replicas < 1 || given.Replicas > mostReplicas,
		"cannot use fleet.replicas %d: want 1 to %d", given.Replicas, mostReplicas)
	wrong.when(!validFleetPrefix(given.Prefix),
		"cannot use fleet.prefix %q: want 1 to %d letters, digits, - or _", given.Prefix, longestPrefix)
	return out, wrong.err()
}

func validFleetPrefix(s string) bool { return len(s) <= longestPrefix && bareKey(s) }

// errNoControl means: rights are shared, and what is billed is not.
var errNoControl = errors.New("cannot serve without --control: a fleet bills from one ledger")

// checkFleet returns every problem of what servers share.
func (c *config) checkFleet() error {
	_, err := c.fleet()
	var wrong problems
	wrong.add(err)

	check := func(key, value string, check func(string) error) {
		if value != "" {
			err := check(value)
			wrong.when(err != nil, "cannot use %s %q: %w", key, redact(value), err)
		}
	}
	check("metering", c.Metering, checkMetering)
	check("control", c.Control, checkControl)
	if c.Metering != "" && c.Control == "" {
		wrong.add(errNoControl)
	}
	return wrong.err()
}

// checkControl wants the URL of a PostgreSQL database. Whether it can be reached is found out by
// connecting.
func checkControl(s string) error {
	u, err := url.Parse(s)
	if err != nil {
		return errors.New("it is not a URL; /, #, ? and % of its password are written as %2F, %23, %3F and %25")
	}
	host := u.Host != "" || u.Query().Get("host") != ""
	if u.Scheme != "postgres" && u.Scheme != "postgresql" || !host || len(u.Path) < 2 {
		return errors.New("want postgres://USER@HOST/DATABASE")
	}

	// The driver takes what is behind the first @ for the host, and messages name hosts.
	_, rest, _ := strings.Cut(s, "://")
	authority, _, _ := strings.Cut(rest, "/")
	if strings.Count(authority, "@") > 1 {
		return errors.New("write an @ of its password as %40")
	}
	return nil
}

// checkMetering wants the URL of Redis or Valkey, or the addresses of its Sentinels with the name of
// what they watch.
func checkMetering(s string) error {
	scheme, rest, _ := strings.Cut(s, "://")
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		rest = rest[at+1:]
	}
	hosts, name, _ := strings.Cut(rest, "/")

	switch scheme {
	case "redis", "rediss":
		_, err := strconv.ParseUint("0"+name, 10, 16)
		if hosts != "" && !strings.Contains(hosts, ",") && err == nil {
			return nil
		}
	case "redis+sentinel", "rediss+sentinel":
		if hosts != "" && !slices.Contains(strings.Split(hosts, ","), "") && bareKey(name) {
			return nil
		}
	}
	return errors.New("want redis://HOST:PORT/0, rediss://HOST:PORT/0 or redis+sentinel://HOST,HOST,HOST/NAME")
}
