package limiter

import (
	"flag"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/rueidis"

	"ninepocket/internal/redistest"
	"ninepocket/internal/testsweep"
)

// sharedRedis is one redis-server for all tests that need no own: each has a prefix of its own.
var sharedRedis = struct {
	sync.Mutex
	*redistest.Process
	number atomic.Int64
}{}

func TestMain(m *testing.M) {
	// Opening a store takes as long as many calls, so that make test does fewer and longer runs.
	if !testsweep.Full() && os.Getenv("RAPID_CHECKS") == "" {
		if err := flag.Set("rapid.checks", "25"); err != nil {
			panic(err)
		}
	}

	code := m.Run()
	if sharedRedis.Process != nil {
		sharedRedis.Kill()
		os.RemoveAll(sharedRedis.Dir)
	}
	os.Exit(code)
}

// commonRedis returns the shared process and a prefix.
func commonRedis(t testing.TB) (*redistest.Process, string) {
	t.Helper()
	redistest.Need(t)
	sharedRedis.Lock()
	defer sharedRedis.Unlock()
	if sharedRedis.Process == nil {
		dir, err := os.MkdirTemp("", "meter") //nolint:usetesting // it outlives this test
		if err != nil {
			t.Fatal(err)
		}
		sharedRedis.Process = redistest.StartIn(t, dir)
	}
	prefix := "t" + strconv.FormatInt(sharedRedis.number.Add(1), 10)
	return sharedRedis.Process, prefix
}

// dial connects to a process.
func dial(t testing.TB, r *redistest.Process) rueidis.Client {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{r.Address()}, DisableCache: true, ForceSingleClient: true, DisableRetry: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// age makes the data under a prefix old: nobody waits for the minute after a birth.
func age(t testing.TB, r *redistest.Process, prefix string) {
	t.Helper()
	if got := r.Try("SET", prefix+":born", "1"); got != "OK" {
		t.Fatalf("cannot set %s:born: %q", prefix, got)
	}
}
