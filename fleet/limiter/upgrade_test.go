package limiter

import (
	_ "embed"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"ninepocket/internal/testsweep"
)

// olderTake is take.lua of commit 72f2d06a, which a server that is not upgraded yet sends.
//
//go:embed testdata/take-72f2d06a.lua
var olderTake string

// TestOlderScript lets the previous take script and the present one grant calls of the same tenants
// in turn, as in a rolling upgrade and back. Each answer is that of a fleet of one version, and no
// window is over its plan.
func TestOlderScript(t *testing.T) {
	t.Parallel()
	r, prefix := commonRedis(t)
	client := dial(t, r)
	defer client.Close()
	all := sources()
	older := loadGiven(t, client, headSource+olderTake)
	newer := loadGiven(t, client, all[scriptTake])
	lease := loadGiven(t, client, all[scriptLease])
	if older == newer {
		t.Fatal("both are the same script")
	}

	pick := rand.New(rand.NewPCG(2, 2))
	takes := map[string]func() string{
		"old": func() string { return older },
		"new": func() string { return newer },
		"mixed": func() string {
			return []string{older, newer}[pick.IntN(2)]
		},
	}
	const perMinute = 30
	for name, mix := range map[string][]script{
		"take": {scriptTake}, "lease": {scriptTake, scriptTake, scriptTake, scriptLease},
	} {
		rc := &randomCalls{Rand: rand.New(rand.NewPCG(3, 3)), now: 1_773_144_000_000_000, seqs: map[string]int64{}}
		granted := map[string][]int64{} // instants in the mixed fleet, by window
		for range 20_000 / testsweep.Stride(20) {
			c := rc.next("", mix[rc.IntN(len(mix))])
			c.args[3] = number(perMinute)
			args := append(slices.Clone(c.args), number(rc.now/1e6), number(rc.now%1e6))

			answers := map[string][]int64{}
			var versions []string
			var multi []rueidis.Completed
			for version, hash := range takes {
				sha := hash()
				if c.script == scriptLease {
					sha = lease
				}
				var keys []string
				for _, key := range c.keys {
					keys = append(keys, prefix+name+version+key)
				}
				b := client.B().Evalsha().Sha1(sha).Numkeys(int64(len(keys))).Key(keys...).Arg(args...)
				versions = append(versions, version)
				multi = append(multi, b.Build())
			}
			for i, result := range client.DoMulti(t.Context(), multi...) {
				out, err := result.AsIntSlice()
				if err != nil {
					t.Fatal(err)
				}
				answers[versions[i]] = out
			}

			got := answers["mixed"]
			if !slices.Equal(got, answers["old"]) || !slices.Equal(got, answers["new"]) {
				t.Fatalf("%s: script %d %q: %v", name, c.script, c.args, answers)
			}
			// A lease is used at an instant that is unknown to the scripts.
			if len(mix) == 1 && got[0] <= statusQuotaFull && c.args[11] == "1" {
				granted[c.keys[1]] = append(granted[c.keys[1]], slices.Repeat(got[1:2], int(got[2]))...)
			}
		}
		if len(mix) == 1 {
			neverOver(t, granted, perMinute)
		}
	}
}

// loadGiven loads a script that is given the time, and returns its hash.
func loadGiven(t *testing.T, client rueidis.Client, source string) string {
	t.Helper()
	given := strings.Replace(source, "redis.call('TIME')", "{ARGV[#ARGV-1],ARGV[#ARGV]}", 1)
	if given == source && strings.HasPrefix(source, headSource) {
		t.Fatal("the script does not ask for the time where the test looks")
	}
	hash, err := client.Do(t.Context(), client.B().ScriptLoad().Script(given).Build()).ToString()
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// neverOver wants full windows, and none with more calls in 60 seconds than its plan has.
func neverOver(t *testing.T, granted map[string][]int64, perMinute int) {
	t.Helper()
	if len(granted) < 4 {
		t.Errorf("only %d windows were used", len(granted))
	}
	for window, times := range granted {
		slices.Sort(times)
		if len(times) < 5*perMinute {
			t.Errorf("%s: only %d calls were granted", window, len(times))
		}
		for i := perMinute; i < len(times); i++ {
			if d := times[i] - times[i-perMinute]; d < 60_000 {
				t.Errorf("%s: %d calls in %d ms", window, perMinute+1, d)
			}
		}
	}
}
