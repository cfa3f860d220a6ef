package limiter

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/redis/rueidis"

	"ninepocket/access"
	"ninepocket/internal/testsweep"
)

// randomCalls makes calls of a script as servers do, and as they never should.
type randomCalls struct {
	*rand.Rand
	now  int64 // Unix microseconds
	seqs map[string]int64
}

func (rc *randomCalls) number(n int64) string { return strconv.FormatInt(rc.Int64N(n), 10) }

// next makes a call of one of the scripts under a prefix.
func (rc *randomCalls) next(prefix string, which script) command {
	rc.now += rc.Int64N([]int64{100, 100_000, 5_000_000}[rc.IntN(3)])
	server := rc.IntN(4)
	tenant := fmt.Sprint(rc.IntN(2))
	rk := redisKeys{
		prefix: prefix, tenant: tenant, serverID: fmt.Sprint("s", server),
		sessionID: fmt.Sprint("a", rc.IntN(60)/59),
	}
	record := rk.record(access.PricesBatch, rc.number(6))
	claim := rc.number(12)
	switch which {
	case scriptBegin:
		body := rc.number(2)
		return command{script: which, keys: []string{record, rk.times()}, args: []string{
			claim, body, number(claimMillis), number(access.ReplyMillis), "30", rc.number(3),
		}}
	case scriptCommit:
		return command{script: which, keys: []string{record, rk.times()}, args: []string{
			claim, number(rc.now/1000 - rc.Int64N(3000)), "reply " + rc.number(100), number(access.ReplyMillis),
		}}
	case scriptAbort:
		return command{script: which, keys: []string{record}, args: []string{claim, number(claimMillis)}}
	}

	subject := "k" + rc.number(2)
	id := rk.serverID + tenant
	seq := rc.seqs[id] + 1
	if rc.IntN(10) == 0 {
		seq -= rc.Int64N(3)
	}
	rc.seqs[id] = max(rc.seqs[id], seq)
	last := max(0, rc.seqs[id]-1-rc.Int64N(3))
	from := rc.now / 1000 / 86_400_000 * 86_400_000
	o := admitRequest{subject: subject, period: quotaPeriod{name: "d1"}}
	both := []int64{
		seq, last, 20 + rc.Int64N(30), rc.Int64N(20), 5000, rc.Int64N(500), from, from + 86_400_000, 500,
	}
	own := []int64{rc.Int64N(2), rc.Int64N(2)}
	if which == scriptLease {
		own = []int64{rc.seqs[id] - 1, rc.Int64N(5)}
	}
	return rk.command(which, rk.admitKeys(&o), both, own)
}

// TestModelIsRedis holds the model of the simulation against redis-server, call by call: a simulation
// is worth as much as its model.
func TestModelIsRedis(t *testing.T) {
	t.Parallel()
	r, prefix := commonRedis(t)
	for name, mix := range map[string][]script{
		"take": {scriptTake}, "lease": {scriptLease}, "both": {scriptTake, scriptLease},
		"batches": {scriptBegin, scriptBegin, scriptCommit, scriptAbort},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := dial(t, r)
			defer client.Close()
			var hashes [scriptCount]string
			for which, source := range sources() {
				hashes[which] = loadGiven(t, client, source)
			}

			rc := &randomCalls{Rand: rand.New(rand.NewPCG(1, 1)), now: 1_773_144_000_000_000, seqs: map[string]int64{}}
			sim := newSimRedis(t, func() int64 { return rc.now }, nil)
			const together = 250
			for range 20_000 / testsweep.Stride(20) / together {
				var multi []rueidis.Completed
				var want []scriptResult
				var said []command
				for range together {
					c := rc.next(prefix+name, mix[rc.IntN(len(mix))])
					out, _ := sim.eval(&c)
					want = append(want, out)
					said = append(said, c)
					args := append(slices.Clone(c.args), number(rc.now/1e6), number(rc.now%1e6))
					multi = append(multi, client.B().Evalsha().Sha1(hashes[c.script]).Numkeys(int64(len(c.keys))).
						Key(c.keys...).Arg(args...).Build())
				}
				for i, result := range client.DoMulti(t.Context(), multi...) {
					got, err := readReply(result)
					if err != nil || !slices.Equal(got.ints, want[i].ints) || got.text != want[i].text {
						t.Fatalf("script %d %q: redis answers %v %q (%v), the model %v %q",
							said[i].script, said[i].args, got.ints, got.text, err, want[i].ints, want[i].text)
					}
				}
			}
		})
	}
}
