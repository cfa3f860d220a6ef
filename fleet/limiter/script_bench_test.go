package limiter

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"ninepocket/internal/redistest"
)

// BenchmarkScript is what one take costs Redis with two replicas, by its own commandstats: the time
// of EVALSHA, and that of the commands that it calls. The cheapest script is next to it.
func BenchmarkScript(b *testing.B) {
	redistest.Need(b)
	const tenants = 2000
	for _, c := range []struct {
		name   string
		source string
		perKey int // calls in a window before it begins again
	}{
		{"cheapest", "#!lua\nreturn redis.call('HMGET',KEYS[1],'t','s:'..ARGV[1])", 1 << 40},
		{"writes", "#!lua\nredis.call('RPUSH',KEYS[2],1)\n" +
			"redis.call('HSET',KEYS[1],'t',1,'s:'..ARGV[1],'1 2 3') return 1", 1 << 40},
		{"take/first", sources()[scriptTake], 1},
		{"take/busy", sources()[scriptTake], 1 << 40},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := redistest.Start(b)
			follow(b, r)
			follow(b, r)
			conn := dial(b, r)
			defer conn.Close()
			hash, err := conn.Do(b.Context(), conn.B().ScriptLoad().Script(c.source).Build()).ToString()
			if err != nil {
				b.Fatal(err)
			}
			clock, err := redisTime(b.Context(), dedicate(b, conn))
			if err != nil {
				b.Fatal(err)
			}

			r.Try("CONFIG", "RESETSTAT")
			b.ResetTimer()
			var multi []rueidis.Completed
			for i := range b.N {
				n := i % tenants
				if c.perKey == 1 {
					n = i
				}
				rk := redisKeys{prefix: "np", serverID: "0123456789abcdef", sessionID: "abcdefghij"}
				rk.tenant = "t" + number(int64(n))
				period := quotaPeriod{name: "d20000", from: clock - 1000, till: clock + 80_000_000}
				names := rk.admitKeys(&admitRequest{subject: "k" + number(int64(n)), period: period})
				seq := int64(i/tenants + 1)
				take := rk.command(scriptTake, names, []int64{
					seq, seq - 1, 1000, 1, 1 << 40, seq - 1, period.from, period.till, 500,
				}, []int64{1, 1})
				if c.perKey == 1 {
					take.args[1] = "1"
					take.args[2] = "0"
				}
				multi = append(multi,
					conn.B().Evalsha().Sha1(hash).Numkeys(4).Key(take.keys...).Arg(take.args...).Build())
				if len(multi) == 8 || i == b.N-1 {
					for _, result := range conn.DoMulti(context.Background(), multi...) {
						if err := result.Error(); err != nil {
							b.Fatal(err)
						}
					}
					multi = multi[:0]
				}
			}
			b.StopTimer()

			of := func(name string) (calls, usec float64) {
				fields := readInfo(strings.NewReplacer(",", "\n", "=", ":").Replace(
					readInfo(r.Try("INFO", "commandstats"))["cmdstat_"+name]))
				calls, _ = strconv.ParseFloat(fields["calls"], 64)
				usec, _ = strconv.ParseFloat(fields["usec"], 64)
				return calls, usec
			}
			n, usec := of("evalsha")
			b.ReportMetric(usec/n, "redis-µs/script")
			inner := 0.0
			calls := 0.0
			for _, name := range []string{
				"time", "hmget", "llen", "lindex", "lrange", "ltrim", "lpop", "rpush", "pexpire", "hset", "exists",
			} {
				count, took := of(name)
				calls += count
				inner += took
			}
			b.ReportMetric(inner/n, "inner-µs/script")
			b.ReportMetric(calls/n, "calls/script")
		})
	}
}

// dedicate returns a connection of its own.
func dedicate(b *testing.B, client rueidis.Client) rueidis.DedicatedClient {
	b.Helper()
	conn, release := client.Dedicate()
	b.Cleanup(release)
	return conn
}
