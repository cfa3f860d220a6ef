package settings

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"ninepocket/fleet/limiter"
	"ninepocket/fleet/mirror"
)

// Fleet is the [fleet] table: how servers share rights and bills. It means nothing without
// metering or control.
type Fleet struct {
	Acks     string `toml:"acks" help:"what a grant of rights waits for: replica, aof or none"`
	Replicas int    `toml:"replicas" help:"replicas that must have a grant, with acks = replica"`
	Timeout  string `toml:"timeout" help:"time that a call waits for its right; then it is answered 503"`
	Lease    string `toml:"lease" help:"how long rights are taken ahead for plans above 1,000 a minute; 0s takes none"` // air: a tag is one text
	Export   string `toml:"export" help:"time between two reports of what was charged"`
	Prefix   string `toml:"prefix" help:"begins the names of all that is kept in Redis"`
}

// The bounds of [fleet]. A call that waits longer than the longest timeout has lost its client. A
// lease bounds how late a lowered plan holds. A report that comes seldom is an alert.
const (
	MaxReplicas = 9
	MaxPrefix   = 16
	minTimeout  = 10 * time.Millisecond
	maxTimeout  = 5 * time.Second
	minLease    = 50 * time.Millisecond
	maxLease    = 5 * time.Second
	minExport   = 100 * time.Millisecond
	maxExport   = time.Minute
)

// Acks are the values of fleet.acks.
var Acks = map[string]limiter.Acks{"replica": limiter.AcksReplica, "aof": limiter.AcksAOF, "none": limiter.AcksNone}

// FleetOptions reads the [fleet] table: how rights are shared, as far as it is configured, and how
// often charges are reported. The error joins every problem.
func (c *Config) FleetOptions() (options limiter.Options, export time.Duration, err error) {
	given := &c.Fleet
	var wrong Problems
	duration := func(key, text string, lowest, highest time.Duration) time.Duration {
		d, err := time.ParseDuration(text)
		wrong.AddIf(err != nil || d < lowest || d > highest, "cannot use fleet.%s %q: want a time from %s to %s",
			key, text, lowest, highest)
		return d
	}

	options = limiter.Options{
		URL: c.Metering, Acks: Acks[given.Acks], Replicas: given.Replicas, Prefix: given.Prefix,
		Timeout:               duration("timeout", given.Timeout, minTimeout, maxTimeout),
		MaxIdempotencyRecords: c.MaxIdempotencyRecords,
	}
	export = duration("export", given.Export, minExport, maxExport)
	// None is shorter than the shortest one.
	if d, err := time.ParseDuration(given.Lease); err != nil || d != 0 {
		options.Lease = duration("lease", given.Lease, minLease, maxLease)
	}

	_, known := Acks[given.Acks]
	wrong.AddIf(!known, "cannot use fleet.acks %q: want replica, aof or none", given.Acks)
	wrong.AddIf(given.Replicas < 1 || given.Replicas > MaxReplicas,
		"cannot use fleet.replicas %d: want 1 to %d", given.Replicas, MaxReplicas)
	wrong.AddIf(!ValidPrefix(given.Prefix),
		"cannot use fleet.prefix %q: want 1 to %d letters, digits, - or _", given.Prefix, MaxPrefix)
	return options, export, wrong.Err()
}

// ValidPrefix reports whether names in Redis may begin with a text.
func ValidPrefix(s string) bool { return len(s) <= MaxPrefix && bareKey(s) }

// checkFleet returns every problem of what servers share.
func (c *Config) checkFleet() error {
	_, _, err := c.FleetOptions()
	var wrong Problems
	wrong.Add(err)
	wrong.Add(CheckMetering(c.Metering))
	if c.Control != "" {
		wrong.Add(CheckControl(c.Control))
	}
	wrong.AddIf(c.Metering != "" && c.Control == "", "cannot serve without --control: a fleet bills from one ledger")
	return wrong.Err()
}

// CheckControl wants the URL of a PostgreSQL database; the error shows no password. Whether it can be
// reached is found out by connecting.
func CheckControl(s string) error { return invalidValue("control", s, controlProblem(s)) }

func controlProblem(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "it is not a URL; /, #, ? and % of its password are written as %2F, %23, %3F and %25"
	}
	// A socket in a folder is a parameter.
	host := u.Host != "" || u.Query().Get("host") != ""
	if u.Scheme != "postgres" && u.Scheme != "postgresql" || !host || len(u.Path) < 2 {
		return "want postgres://USER@HOST/DATABASE"
	}

	// The driver takes what is behind the first @ for the host, and messages name hosts.
	_, rest, _ := strings.Cut(s, "://")
	authority, _, _ := strings.Cut(rest, "/")
	if strings.Count(authority, "@") > 1 {
		return "write an @ of its password as %40"
	}
	return ""
}

// CheckMetering wants the URL of Redis or Valkey, the addresses of its Sentinels with the name of
// what they watch, or nothing. The error shows no password.
func CheckMetering(s string) error { return invalidValue("metering", s, meteringProblem(s)) }

func meteringProblem(s string) string {
	if s == "" {
		return ""
	}
	scheme, rest, _ := strings.Cut(s, "://")
	// A password may hold an @ of its own.
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		rest = rest[at+1:]
	}
	hosts, name, _ := strings.Cut(rest, "/")

	switch scheme {
	case "redis", "rediss":
		_, err := strconv.ParseUint("0"+name, 10, 16)
		if hosts != "" && !strings.Contains(hosts, ",") && err == nil {
			return ""
		}
	case "redis+sentinel", "rediss+sentinel":
		if hosts != "" && !slices.Contains(strings.Split(hosts, ","), "") && bareKey(name) {
			return ""
		}
	}
	return "want redis://HOST:PORT/0, rediss://HOST:PORT/0 or redis+sentinel://HOST,HOST,HOST/NAME"
}

// UsesBucket reports whether the store is one that many servers follow.
func (c *Config) UsesBucket() bool { return strings.HasPrefix(c.Store, mirror.Scheme) }

// StoreFolder is the folder that snapshots are served from.
func (c *Config) StoreFolder() string {
	if c.UsesBucket() {
		return c.StoreCache
	}
	return c.Store
}

// ParsePublishers reads the keys that are trusted, each as ID:KEY; the error joins every problem.
func ParsePublishers(texts []string) ([]mirror.Publisher, error) {
	var wrong Problems
	var all []mirror.Publisher
	for _, text := range texts {
		publisher, err := mirror.ParsePublisher(text)
		wrong.Add(err)
		all = append(all, publisher)
	}
	return all, wrong.Err()
}

// checkMirror checks the settings of a store that many servers follow.
func (c *Config) checkMirror() error {
	var wrong Problems
	_, err := ParsePublishers(c.Publishers)
	wrong.Add(err)
	wrong.AddIf(c.StoreCache != "" && c.Store != "" && !c.UsesBucket(),
		"cannot use store_cache %q: the store is a folder already", c.StoreCache)
	if c.UsesBucket() {
		_, err := mirror.ParseLocation(c.Store)
		wrong.Add(err)
	}
	wrong.Add(CheckFolder("store_cache", c.StoreCache))
	return wrong.Err()
}
