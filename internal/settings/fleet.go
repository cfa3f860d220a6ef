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

// Fleet is the [fleet] table: how servers share limits and bills. It has no effect without metering
// or control.
type Fleet struct {
	Acks     string `toml:"acks" help:"what a grant waits for: replica, aof or none" public:"replica aof none"`
	Replicas int    `toml:"replicas" help:"replicas that must have a grant, with acks = replica" public:"yes"`
	Timeout  string `toml:"timeout" help:"time that a call waits for its grant; then it is answered 503" public:"duration"`                // air: a tag is one text
	Lease    string `toml:"lease" help:"how long calls are leased ahead for plans above 1,000 a minute; 0s leases none" public:"duration"` // air: a tag is one text
	Export   string `toml:"export" help:"time between two reports of charges" public:"duration"`
	Prefix   string `toml:"prefix" help:"prefix of all names in Redis"`

	KeysMaxAge string `toml:"keys_max_age" help:"age of keys and plans up to which a server starts while PostgreSQL does not answer; 0s wants PostgreSQL" public:"duration"` // air: a tag is one text
}

// The limits of [fleet]. The client of a call that waits longer than maxTimeout is gone. A lease
// limits how late a lowered plan takes effect. A rare export is an alert.
const (
	MaxReplicas = 9
	MaxPrefix   = 16
	minTimeout  = 10 * time.Millisecond
	maxTimeout  = 5 * time.Second
	minLease    = 50 * time.Millisecond
	maxLease    = 5 * time.Second
	minExport   = 100 * time.Millisecond
	maxExport   = time.Minute
	maxKeysAge  = 30 * 24 * time.Hour
)

// Acks are the values of fleet.acks.
var Acks = map[string]limiter.Acks{"replica": limiter.AcksReplica, "aof": limiter.AcksAOF, "none": limiter.AcksNone}

// FleetOptions reads the [fleet] table: the options of the limiter, as far as they are configured,
// and the export interval. The error joins every problem.
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
	duration("keys_max_age", given.KeysMaxAge, 0, maxKeysAge)
	// 0s, for no lease, is less than minLease.
	if d, err := time.ParseDuration(given.Lease); err != nil || d != 0 {
		options.Lease = duration("lease", given.Lease, minLease, maxLease)
	}

	_, known := Acks[given.Acks]
	wrong.AddIf(!known, "cannot use fleet.acks %q: want replica, aof or none", given.Acks)
	wrong.AddIf(given.Replicas < 1 || given.Replicas > MaxReplicas,
		"cannot use fleet.replicas %d: want 1 to %d", given.Replicas, MaxReplicas)
	wrong.AddIf(!ValidRedisPrefix(given.Prefix),
		"cannot use fleet.prefix %q: want 1 to %d letters, digits, - or _", given.Prefix, MaxPrefix)
	return options, export, wrong.Err()
}

// ValidRedisPrefix reports whether names in Redis may begin with a text.
func ValidRedisPrefix(s string) bool { return len(s) <= MaxPrefix && isBareKey(s) }

// checkFleet returns every problem of the settings of a fleet.
func (c *Config) checkFleet() error {
	_, _, err := c.FleetOptions()
	wrong := Problems{err, CheckMetering(c.Metering)}
	if c.Control != "" {
		wrong.Add(CheckControl(c.Control))
	}
	wrong.AddIf(c.Metering != "" && c.Control == "", "cannot serve without --control: a fleet bills from one ledger")
	return wrong.Err()
}

// CheckControl returns an error unless s is the URL of a PostgreSQL database. It contains no
// password. Only connecting shows whether the database is available.
func CheckControl(s string) error { return invalidValue("control", s, controlProblem(s)) }

func controlProblem(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "it is not a URL; /, #, ? and % of its password are written as %2F, %23, %3F and %25"
	}
	// The folder of a socket is a parameter.
	host := u.Host != "" || u.Query().Get("host") != ""
	if u.Scheme != "postgres" && u.Scheme != "postgresql" || !host || len(u.Path) < 2 {
		return "want postgres://USER@HOST/DATABASE"
	}

	// The driver takes the text after the first @ for the host, and messages name hosts.
	_, rest, _ := strings.Cut(s, "://")
	authority, _, _ := strings.Cut(rest, "/")
	if strings.Count(authority, "@") > 1 {
		return "write an @ of its password as %40"
	}
	return ""
}

// CheckMetering returns an error for an invalid URL of Redis or Valkey. With Sentinels it has their
// addresses and the name that they watch. Empty is valid. The error contains no password.
func CheckMetering(s string) error { return invalidValue("metering", s, meteringProblem(s)) }

func meteringProblem(s string) string {
	if s == "" {
		return ""
	}
	s, parameters, _ := strings.Cut(s, "?")
	if _, err := limiter.ParseParameters(parameters); err != nil {
		return err.Error()
	}
	scheme, rest, _ := strings.Cut(s, "://")
	// A password may contain an @.
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
		if hosts != "" && !slices.Contains(strings.Split(hosts, ","), "") && isBareKey(name) {
			return ""
		}
	}
	return "want redis://HOST:PORT/0, rediss://HOST:PORT/0 or redis+sentinel://HOST,HOST,HOST/NAME"
}

// UsesBucket reports whether the store is a bucket that many servers follow.
func (c *Config) UsesBucket() bool { return strings.HasPrefix(c.Store, mirror.Scheme) }

// StoreFolder returns the folder that snapshots are served from.
func (c *Config) StoreFolder() string {
	if c.UsesBucket() {
		return c.StoreCache
	}
	return c.Store
}

// ParsePublishers parses trusted keys, each as ID:KEY. The error joins every problem.
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

// checkMirror returns every problem of the settings of a bucket.
func (c *Config) checkMirror() error {
	_, err := ParsePublishers(c.Publishers)
	wrong := Problems{err}
	wrong.AddIf(c.StoreCache != "" && c.Store != "" && !c.UsesBucket(),
		"cannot use store_cache %q: the store is a folder already", c.StoreCache)
	if c.UsesBucket() {
		_, err := mirror.ParseLocation(c.Store)
		wrong.Add(err)
	}
	wrong.Add(CheckFolder("store_cache", c.StoreCache))
	return wrong.Err()
}
