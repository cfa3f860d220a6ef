package limiter

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"ninepocket/access"
	"ninepocket/calendar"
)

const (
	// heartbeatTTL is how long a server counts as alive after it last reached Redis, which it tries
	// each second. It is longer than a machine pauses while it is copied.
	heartbeatTTL = 2 * time.Minute
	// scanCount is how many keys one step of a scan visits.
	scanCount = 1000
)

// ErrServerAlive reports that the server reached Redis recently, and may use the units it claims.
var ErrServerAlive = errors.New("it asks redis still")

//go:embed scripts/forget.lua
var releaseSource string

// Released counts the units that ReleaseServer released.
type Released struct {
	Tenants int   `json:"tenants"`
	Units   int64 `json:"units"`
}

// ChargesFunc returns the units a server charged to a tenant on one day, or in credits, since an
// instant in Unix milliseconds. known is false if that is not recorded.
type ChargesFunc func(tenant string, kind access.QuotaKind, from int64) (units int64, known bool)

// CheckDead returns [ErrServerAlive] for a server that reached Redis within two minutes.
func CheckDead(ctx context.Context, options Options, serverID string) error {
	options.setDefaults()
	return withRedis(&options, func(conn rueidis.DedicatedClient, _ *redisDialer) error {
		name := heartbeatKey(options.Prefix, serverID)
		left, err := conn.Do(ctx, conn.B().Pttl().Key(name).Build()).AsInt64()
		if err == nil && left > 0 {
			ago := heartbeatTTL - time.Duration(left)*time.Millisecond
			err = fmt.Errorf("cannot forget %q: %w: %d s ago", serverID, ErrServerAlive, max(0, ago/time.Second))
		}
		return err
	})
}

// ReleaseServer releases the units reserved by a dead server; its claims shrink to its recorded
// charges. A dry run only counts them. The caller calls [CheckDead] before. It may be repeated.
func ReleaseServer(
	ctx context.Context, options Options, serverID string, charged ChargesFunc, dryRun bool,
) (released Released, err error) {
	options.setDefaults()
	err = withRedis(&options, func(conn rueidis.DedicatedClient, _ *redisDialer) error {
		tenants := map[string]bool{}
		scan := rueidis.NewScanner(func(cursor uint64) (rueidis.ScanEntry, error) {
			return conn.Do(ctx, conn.B().Scan().Cursor(cursor).Match(options.Prefix+":{*}:q:*").
				Count(scanCount).Build()).AsScanEntry()
		})

		for key := range scan.Iter() {
			tenant, units, err := releaseKey(ctx, conn, &options, key, serverID, charged, dryRun)
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

// releaseKey releases the units of one quota that a server claims and has not charged.
func releaseKey(
	ctx context.Context, conn rueidis.DedicatedClient, options *Options, key, serverID string, charged ChargesFunc,
	dryRun bool,
) (tenant string, units int64, err error) {
	tenant, kind, from, ok := parseQuotaKey(options.Prefix, key)
	if !ok {
		return "", 0, nil
	}
	if kind == access.PeriodCredits {
		serverID += creditsSuffix
	}
	there, err := conn.Do(ctx, conn.B().Hexists().Key(key).Field("s:"+serverID).Build()).AsBool()
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
	script := conn.B().Eval().Script(releaseSource).Numkeys(1).Key(key).Arg(serverID, number(units), only).Build()
	out, err := conn.Do(ctx, script).AsIntSlice()
	if err != nil || len(out) != 1 {
		return tenant, 0, errors.Join(err, errScript)
	}
	return tenant, out[0], nil
}

// parseQuotaKey parses the key of a quota: the inverse of periodOf.
func parseQuotaKey(prefix, key string) (tenant string, kind access.QuotaKind, from int64, ok bool) {
	rest, ok := strings.CutPrefix(key, prefix+":{")
	at := strings.LastIndex(rest, "}:q:")
	if !ok || at < 0 {
		return "", 0, 0, false
	}
	tenant = rest[:at]
	name, _, _ := strings.Cut(rest[at+len("}:q:"):], ".") // a reset period has the begin of the whole period
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

// withRedis calls a function with its own connection.
func withRedis(options *Options, do func(rueidis.DedicatedClient, *redisDialer) error) error {
	r, err := newRedisDialer(options, newMetrics())
	if err != nil {
		return err
	}
	client, err := r.connect()
	if err != nil {
		return fmt.Errorf("cannot reach redis at %s: %w", r.host, err)
	}
	defer client.Close()
	r.nodes = slices.Sorted(maps.Keys(client.Nodes()))
	conn, release := client.Dedicate()
	defer release()

	return r.addHost(do(conn, r))
}
