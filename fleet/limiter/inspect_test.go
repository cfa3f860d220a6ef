package limiter

import (
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"ninepocket/access"
	"ninepocket/internal/redistest"
)

// TestInspect makes the calls of servers. A full Redis refuses every grant, even with a perfect
// configuration.
func TestInspect(t *testing.T) {
	const password = "secret-word"
	r := redistest.Start(t)
	replica := redistest.Start(t, "--replicaof", "127.0.0.1 "+r.Port())
	replica.Until("it follows", func() bool {
		return strings.Contains(r.Try("INFO", "replication"), "state=online")
	})
	inspect := func(url string, want ...string) Inspection {
		t.Helper()
		now := func() access.Instant { return access.StartClock(time.Now()).At(time.Now()) }
		found, err := Inspect(t.Context(), Options{URL: url, Now: now, Replicas: 1, Timeout: 2 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Findings) != len(want) {
			t.Fatalf("%+v, want %q", found, want)
		}
		for i, one := range found.Findings {
			if !strings.Contains(one.Text+" | "+one.Command, want[i]) || strings.Contains(one.Command, password) {
				t.Errorf("%+v, want %q", one, want[i])
			}
		}
		return found
	}

	// The first configuration, without a password.
	open := []string{r.Address() + " answers without a password", replica.Address() + " answers without a password"}
	if r.Address() > replica.Address() {
		slices.Reverse(open)
	}
	if found := inspect(r.URL(), open...); found.Used == 0 || found.Bound != 0 {
		t.Errorf("%+v", found)
	}
	sentinel := redistest.Sentinel(t, r, "cards")
	found, err := Inspect(t.Context(), Options{
		URL: "redis+sentinel://" + sentinel.Address() + "/cards", Acks: AcksNone,
		Now: func() access.Instant { return access.StartClock(time.Now()).At(time.Now()) },
	})
	if err != nil || len(found.Findings) != 3 {
		t.Errorf("with an open Sentinel: %+v (%v)", found, err)
	}

	// With a password, and full.
	for _, one := range []*redistest.Process{r, replica} {
		one.Try("CONFIG", "SET", "requirepass", password)
	}
	url := strings.Replace(r.URL(), "redis://", "redis://:"+password+"@", 1)
	before := inspect(url)
	full := strconv.FormatInt(before.Used/2, 10)
	config := func(name, value string) {
		t.Helper()
		if got := tryAs(t, r, password, "CONFIG", "SET", name, value); got != "OK" {
			t.Fatal(got)
		}
	}
	config("maxmemory", full)
	inspect(url, "--askpass config set maxmemory ", "it refuses a test grant: OOM")
	config("maxmemory", "0")

	// A replica that is connected and does nothing.
	replica.Signal(syscall.SIGSTOP)
	inspect(url, "it refuses a test grant: 0 of 1 replicas had it", "its replica "+replica.Address()+" stands still")
	replica.Signal(syscall.SIGCONT)
	if left := tryAs(t, r, password, "DBSIZE"); left != "0" {
		t.Errorf("%s keys are left", left)
	}
}

// tryAs sends a command to a Redis with a password.
func tryAs(t *testing.T, r *redistest.Process, password string, words ...string) string {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{r.Address()}, Password: password, DisableCache: true, ForceSingleClient: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()

	// Numbers and texts are written alike.
	answer := client.Do(t.Context(), client.B().Arbitrary(words...).Build())
	if n, err := answer.AsInt64(); err == nil {
		return strconv.FormatInt(n, 10)
	}
	text, err := answer.ToString()
	if err != nil {
		t.Fatal(err)
	}
	return text
}
