package limiter

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"ninepocket/access"
	"ninepocket/calendar"
)

const (
	// heartbeatTTL is how long a server is taken to live after it last reached Redis, which it
	// tries each second. It is longer than a machine is held for a copy of it.
	heartbeatTTL = 2 * time.Minute
	// scanCount is how many keys one step of a scan looks at.
	scanCount = 1000
)

// ErrServerAlive means: the server reached Redis a while ago, and may hold what it claims.
var ErrServerAlive = errors.New("it asks redis still")

//go:embed scripts/forget.lua
var releaseSource string

// Released is what ReleaseServer gave back.
type Released struct {
	Tenants int   `json:"tenants"`
	Units   int64 `json:"units"`
}

// ChargesFunc returns the units a server charged to a tenant on one day, or in credits, since an
// instant in Unix milliseconds. It is false where nobody knows.
type ChargesFunc func(tenant string, kind access.QuotaKind, from int64) (units int64, known bool)

// CheckDead returns [ErrServerAlive] for a server that reached Redis within two minutes.
func CheckDead(ctx context.Context, options Options, incarnation string) error {
	options.setDefaults()
	return withRedis(&options, func(conn rueidis.DedicatedClient, _ *redisDialer) error {
		name := heartbeatKey(options.Prefix, incarnation)
		left, err := conn.Do(ctx, conn.B().Pttl().Key(name).Build()).AsInt64()
		if err == nil && left > 0 {
			ago := heartbeatTTL - time.Duration(left)*time.Millisecond
			err = fmt.Errorf("cannot forget %q: %w: %d s ago", incarnation, ErrServerAlive, max(0, ago/time.Second))
		}
		return err
	})
}

// ReleaseServer releases the units reserved by a dead server; its claims shrink to its recorded
// charges. Who calls it asks [CheckDead] before. It may be called again.
func ReleaseServer(ctx context.Context, options Options, incarnation string, charged ChargesFunc) (Released, error) {
	return releaseServer(ctx, options, incarnation, charged, false)
}

// ReservedUnits is what ReleaseServer would give back.
func ReservedUnits(ctx context.Context, options Options, incarnation string, charged ChargesFunc) (Released, error) {
	return releaseServer(ctx, options, incarnation, charged, true)
}

// releaseServer gives back what a server holds of each allowance, or only looks.
func releaseServer(
	ctx context.Context, options Options, incarnation string, charged ChargesFunc, dryRun bool,
) (released Released, err error) {
	options.setDefaults()
	err = withRedis(&options, func(conn rueidis.DedicatedClient, _ *redisDialer) error {
		tenants := map[string]bool{}
		scan := rueidis.NewScanner(func(cursor uint64) (rueidis.ScanEntry, error) {
			return conn.Do(ctx, conn.B().Scan().Cursor(cursor).Match(options.Prefix+":{*}:q:*").
				Count(scanCount).Build()).AsScanEntry()
		})

		for key := range scan.Iter() {
			tenant, units, err := releaseKey(ctx, conn, &options, key, incarnation, charged, dryRun)
			if err != nil {
				return err
			}
			if units > 0 {
				tenants[tenant] = true
			}
			released.Units += units
		}
		released.Tenants = len(tenants)
		return scan.Err()
	})
	return released, err
}

// releaseKey gives back what a server claims of one allowance and did not charge.
func releaseKey(
	ctx context.Context, conn rueidis.DedicatedClient, options *Options, key, incarnation string, charged ChargesFunc,
	dryRun bool,
) (tenant string, units int64, err error) {
	tenant, kind, from, ok := parseQuotaKey(options.Prefix, key)
	if !ok {
		return "", 0, nil
	}
	if kind == access.PeriodCredits {
		incarnation += creditsSuffix
	}
	there, err := conn.Do(ctx, conn.B().Hexists().Key(key).Field("s:"+incarnation).Build()).AsBool()
	if err != nil || !there {
		return tenant, 0, err
	}

	units, known := charged(tenant, kind, from)
	if !known {
		return tenant, 0, nil
	}
	only := "0"
	if dryRun {
		only = "1"
	}
	script := conn.B().Eval().Script(releaseSource).Numkeys(1).Key(key).Arg(incarnation, number(units), only).Build()
	out, err := conn.Do(ctx, script).AsIntSlice()
	if err != nil || len(out) != 1 {
		return tenant, 0, errors.Join(err, errScript)
	}
	return tenant, out[0], nil
}

// parseQuotaKey reads the key of an allowance: the inverse of periodOf.
func parseQuotaKey(prefix, key string) (tenant string, kind access.QuotaKind, from int64, ok bool) {
	rest, ok := strings.CutPrefix(key, prefix+":{")
	at := strings.LastIndex(rest, "}:q:")
	if !ok || at < 0 {
		return "", 0, 0, false
	}
	tenant = rest[:at]
	name, _, _ := strings.Cut(rest[at+len("}:q:"):], ".") // what an operator reset is counted from its begin
	if name == "" {
		return "", 0, 0, false
	}

	from, err := strconv.ParseInt(name[1:], 10, 64)
	switch name[0] {
	case 'd':
		return tenant, access.DayQuota, calendar.Day(from).Start(), err == nil
	case 'p':
		return tenant, access.PeriodCredits, from, err == nil
	}
	return "", 0, 0, false
}

// withRedis does something on a connection of its own.
func withRedis(options *Options, do func(rueidis.DedicatedClient, *redisDialer) error) error {
	r, err := newRedisDialer(options, newMetrics())
	if err != nil {
		return err
	}
	client, err := rueidis.NewClient(r.target)
	if err != nil {
		return fmt.Errorf("cannot reach redis at %s: %w", r.host, err)
	}
	defer client.Close()
	conn, release := client.Dedicate()
	defer release()

	return r.addHost(do(conn, r))
}
