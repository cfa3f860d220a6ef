package limiter

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ninepocket/access"
	"ninepocket/access/accesstest"
	"ninepocket/access/keys"
	"ninepocket/internal/redistest"
	"ninepocket/internal/testsweep"
)

// memoryDir is a directory whose fsync costs nothing where there is such a file system: these tests cut
// no power.
func memoryDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "meter") //nolint:usetesting // that is on a disk
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// openUsageLog opens the usage log of a directory.
func openUsageLog(t testing.TB, dir string, now access.Instant) *access.LocalStore {
	t.Helper()
	journal, err := access.OpenLocal(dir, access.LocalOptions{Now: now, CheckpointEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return journal
}

// clockedRedis is a Redis whose scripts go by the latest Instant that a test gave.
type clockedRedis struct {
	*redisDialer
	seen atomic.Pointer[access.Instant]
}

func newClockedRedis(t testing.TB, options Options, now access.Instant) *clockedRedis {
	t.Helper()
	clock := access.StartClock(time.Now())
	options.Now = func() access.Instant { return clock.At(time.Now()) } // which this machine's clock is held against
	options.setDefaults()
	r, err := newRedisDialer(&options, newMetrics())
	if err != nil {
		t.Fatal(err)
	}

	g := &clockedRedis{redisDialer: r}
	g.observe(now)
	texts := sources()
	for which, source := range texts {
		texts[which] = strings.Replace(source, "redis.call('TIME')", "{ARGV[#ARGV-1],ARGV[#ARGV]}", 1)
	}
	r.hashScripts(texts)
	return g
}

// observe notes an Instant that was given.
func (g *clockedRedis) observe(now access.Instant) {
	for {
		last := g.seen.Load()
		if last != nil && last.Mono >= now.Mono || g.seen.CompareAndSwap(last, &now) {
			return
		}
	}
}

func (g *clockedRedis) now() access.Instant { return *g.seen.Load() }

func (g *clockedRedis) dial(ctx context.Context) (wire, string, error) {
	conn, run, err := g.redisDialer.dial(ctx)
	return clockedWire{wire: conn, of: g}, run, err
}

// clockedWire gives each script the time.
type clockedWire struct {
	wire
	of *clockedRedis
}

func (w clockedWire) exchange(ctx context.Context, number int, dataset string, all []*queuedCommand) ([]answer, error) {
	wall := w.of.now().Wall
	var timed []*queuedCommand
	for _, s := range all {
		c := *s.command
		c.args = append(slices.Clip(c.args), fmt.Sprint(wall/1000), fmt.Sprint(wall%1000*1000))
		timed = append(timed, &queuedCommand{command: &c})
	}
	return w.wire.exchange(ctx, number, dataset, timed)
}

// clockedStore is a store that goes by the Instants that it is given.
type clockedStore struct {
	*Store
	redis *clockedRedis
}

func (s *clockedStore) Admit(p *keys.Principal, spec access.LimitSpec, now access.Instant) access.Decision {
	s.redis.observe(now)
	return s.Store.Admit(p, spec, now)
}

func (s *clockedStore) Begin(
	res access.Reservation, key string, body access.BodyHash, now access.Instant,
) (access.Claim, error) {
	s.redis.observe(now)
	return s.Store.Begin(res, key, body, now)
}

func (s *clockedStore) Usage(p *keys.Principal, spec access.LimitSpec, now access.Instant) (access.Usage, error) {
	s.redis.observe(now)
	return s.Store.Usage(p, spec, now)
}

// harness makes stores over one redis-server, whose scripts go by the time that the test gives.
func harness() accesstest.Harness {
	type home struct{ dir, prefix string }
	homes := map[access.Store]home{}
	open := func(t testing.TB, at home, now access.Instant) access.Store {
		r, _ := commonRedis(t)
		options := Options{
			URL: r.URL(), Prefix: at.prefix, UsageLog: openUsageLog(t, at.dir, now), ServerID: "0000000000000001",
			Acks: AcksNone, Timeout: 20 * time.Second, Lease: 500 * time.Millisecond,
			MaxIdempotencyRecords: accesstest.MaxIdempotencyRecords,
			exchange:              20 * time.Second, commit: 20 * time.Second,
		}
		given := newClockedRedis(t, options, now)
		options.Now = given.now
		options.dialer = given

		opened, err := Open(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		store := &clockedStore{Store: opened, redis: given}
		homes[store] = at
		t.Cleanup(func() { store.Close() })
		return store
	}

	return accesstest.Harness{
		OneClock: true,
		Open: func(t testing.TB, now access.Instant) access.Store {
			r, prefix := commonRedis(t)
			age(t, r, prefix)
			return open(t, home{dir: memoryDir(t), prefix: prefix}, now)
		},
		Reopen: func(t testing.TB, store access.Store, kill bool, now access.Instant) access.Store {
			at := homes[store]
			if kill {
				at.dir = killed(t, store.(*clockedStore).Store, at.dir)
			} else if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			return open(t, at, now)
		},
	}
}

// killed ends a store as the death of its process would: what its directory had then is in a copy.
func killed(t testing.TB, store *Store, dir string) string {
	t.Helper()
	store.end()
	to := memoryDir(t)
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

func TestConformance(t *testing.T) {
	t.Parallel()
	redistest.Need(t)
	accesstest.Conform(t, harness())
}

func TestModel(t *testing.T) {
	t.Parallel()
	redistest.Need(t)
	accesstest.Model(t, harness(), 200/testsweep.Stride(3))
}
