package limiter

import (
	_ "embed"
	"encoding/hex"
	"strconv"
	"strings"

	"ninepocket/access"
	"ninepocket/access/keys"
)

const (
	// claimMillis is how long a claim owns an idempotency key: longer than a request may take.
	claimMillis = int64(15_000)
	// leaseFullMillis is how long a leased window is taken as full, in milliseconds.
	leaseFullMillis = int64(100)
	// creditsSuffix ends a server id in the Redis key of credits: a key may be used for the day and
	// for credits.
	creditsSuffix = "c"
	// maxExact is the highest limit whose calls are granted one by one (decision 12).
	maxExact = 1000
)

// The scripts. Redis names each by its hash: old and new versions run at the same time, so that a new
// one may only add to the stored data.
var (
	//go:embed scripts/head.lua
	headSource string
	//go:embed scripts/take.lua
	takeSource string
	//go:embed scripts/lease.lua
	leaseSource string
	//go:embed scripts/begin.lua
	beginSource string
	//go:embed scripts/commit.lua
	commitSource string
	//go:embed scripts/abort.lua
	abortSource string
	//go:embed scripts/restore.lua
	restoreSource string
	//go:embed scripts/offer.lua
	offerSource string
)

// script is one of the scripts.
type script uint8

const (
	scriptTake script = iota
	scriptLease
	scriptBegin
	scriptCommit
	scriptAbort
	scriptRestore
	scriptOffer
	scriptCount
)

func sources() [scriptCount]string {
	return [...]string{
		scriptTake: headSource + takeSource, scriptLease: headSource + leaseSource,
		scriptBegin: beginSource, scriptCommit: commitSource, scriptAbort: abortSource,
		scriptRestore: restoreSource, scriptOffer: offerSource,
	}
}

// command is one call of a script.
type command struct {
	script script
	keys   []string
	args   []string
}

// redisKeys makes the Redis keys of a tenant. They share a hash tag, so that a script finds them on one
// node.
type redisKeys struct {
	prefix, tenant, serverID string
	sessionID                string // of the process: an earlier one may have used the same numbers
}

func (rk *redisKeys) key(parts ...string) string {
	return rk.prefix + ":{" + rk.tenant + "}:" + strings.Join(parts, ":")
}

// admitKeys returns the keys of take and lease; only lease has the last one.
func (rk *redisKeys) admitKeys(o *admitRequest) []string {
	return []string{
		rk.key("q", o.period.name), rk.key("w", o.subject), rk.key("m", o.subject), rk.key("z"), rk.key("W", o.subject),
	}
}

// command makes a command of take or lease, with the arguments of both and its own.
func (rk *redisKeys) command(which script, keys []string, both, own []int64) command {
	if which == scriptTake {
		keys = keys[:4]
	}
	args := make([]string, 1, len(both)+len(own)+2)
	args[0] = rk.serverID
	for _, figure := range both {
		args = append(args, number(figure))
	}
	args = append(args, rk.sessionID)
	for _, figure := range own {
		args = append(args, number(figure))
	}
	return command{script: which, keys: keys, args: args}
}

// heartbeatKey is the key that a server renews as long as it reaches Redis.
func heartbeatKey(prefix, serverID string) string { return prefix + ":lives:" + serverID }

// record returns the key of the record of an operation's idempotency key.
func (rk *redisKeys) record(op access.Operation, key string) string {
	name := access.NewReplyKey(op, key)
	return rk.key("i", hex.EncodeToString(name[:]))
}

// times returns the key with the times of a tenant's replies.
func (rk *redisKeys) times() string { return rk.key("r") }

// periodOf returns the day or period that a principal's calls are charged to. After an operator's reset
// it has another name, so that all servers begin it at zero.
func periodOf(p *keys.Principal, kind access.QuotaKind, quota *access.QuotaState) quotaPeriod {
	out := quotaPeriod{
		name: "d" + strconv.FormatInt(int64(quota.Day), 10),
		from: quota.Day.Start(), till: (quota.Day + 1).Start(),
	}
	if kind == access.PeriodCredits {
		period := quota.Period
		out = quotaPeriod{name: "p" + strconv.FormatInt(period.Start, 10), from: period.Start, till: period.End}
	}
	if reset := resetOf(p, kind); reset != 0 {
		out.name += "." + strconv.FormatInt(reset, 10)
	}
	return out
}

// resetOf returns when an operator last reset a quota; 0 = never.
func resetOf(p *keys.Principal, kind access.QuotaKind) int64 {
	day, credits := p.Resets()
	if kind == access.PeriodCredits {
		return credits
	}
	return day
}

// subjectOf returns the owner of the window that a call passes: a key, or its tenant.
func subjectOf(p *keys.Principal, spec *access.LimitSpec) string {
	switch {
	case spec.Window == access.UsageWindow:
		return "u"
	case spec.Window == access.SuggestWindow:
		return "s." + p.KeyID
	case p.Surface == keys.Preview:
		return "t"
	}
	return p.KeyID
}
