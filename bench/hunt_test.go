package bench

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"ninepocket/internal/testsweep"
)

// worstLegal is the largest CPU time that a legal request may take.
const worstLegal = 10 * time.Millisecond

// firstSpan is how long a request is measured at first.
const firstSpan = 10 * time.Millisecond

// huntWorlds are worlds without a cache of search pages, so that every request costs as much as a
// new one.
var huntWorlds = map[int]func() (*world, error){
	1_000:  sync.OnceValues(func() (*world, error) { return newWorld(1_000, 365, 0) }),
	30_000: sync.OnceValues(func() (*world, error) { return newWorld(30_000, 365, 0) }),
}

// huntConn is a replayConn for requests that are larger than one read of the server. It can store
// the responses.
type huntConn struct {
	replayConn
	rest     []byte // of the request, not yet read
	capture  bool
	captured []byte
}

func newHuntConn(request []byte, capture bool) *huntConn {
	return &huntConn{replayConn: replayConn{turns: newTurns(repeated(request), 0), left: 1}, capture: capture}
}

func (c *huntConn) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		if c.left == 0 {
			return 0, io.EOF
		}
		c.left--
		c.rest = c.turns.take()
	}

	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (c *huntConn) Write(p []byte) (int, error) {
	if c.capture {
		c.captured = append(c.captured, p...)
	}
	return c.replayConn.Write(p)
}

// huntResult is a request with its cost.
type huntResult struct {
	operation string
	values    []string
	request   []byte
	cost      time.Duration
}

// hunter searches for the most expensive requests: it mutates the best of an operation, and
// replaces them by more expensive ones.
type hunter struct {
	random     *rand.Rand
	serve      func(net.Conn) error
	clearCache func() // clears the caches of searches
	cost       func(request []byte, span time.Duration) (time.Duration, error)
}

// repeated returns an operation of one request.
func repeated(request []byte) *Operation {
	r := Request{Bytes: request}
	if i := bytes.Index(request, []byte(freshKey)); i >= 0 {
		r.At = i + len("hunt-")
		r.Digits = len(freshKey) - len("hunt-")
	}
	return &Operation{Depth: 1, Requests: []Request{r}}
}

// request sends a request once and returns the response. A response other than success is an error,
// because the request should be legal and about existing cards.
func (h *hunter) request(request []byte) ([]byte, error) {
	c := newHuntConn(request, true)
	if err := h.serve(c); err != nil && c.good == 0 {
		return nil, fmt.Errorf("cannot serve %.300q: %w", request, err)
	}
	if c.good != 1 || bytes.Contains(c.captured, []byte(`"isError":true`)) ||
		bytes.Contains(c.captured, []byte(`"error":{"code":-`)) {
		return nil, fmt.Errorf("the request %.1000q is answered with %.600q", request, c.captured)
	}
	return c.captured, nil
}

// cpu returns the CPU time of a request, of the whole process with the garbage collector. The
// request is repeated for span, because some kernels count CPU time in steps of milliseconds. Each
// time is like the first: the caches of searches are cleared (which takes 2 µs, included).
func (h *hunter) cpu(request []byte, span time.Duration) (time.Duration, error) {
	before, err := cpuTime(os.Getpid())
	if err != nil {
		return 0, err
	}

	for times := time.Duration(1); ; times++ {
		h.clearCache()
		c := newHuntConn(request, false)
		if err := h.serve(c); err != nil && c.good == 0 {
			return 0, err
		}
		if c.good == 0 {
			return 0, fmt.Errorf("not answered with 200: %.300q", request)
		}
		if after, err := cpuTime(os.Getpid()); err != nil || after-before >= span {
			return (after - before) / times, err
		}
	}
}

// minCost returns the smallest of three means, because other programs, which use the processor's
// caches, can only add.
func (h *hunter) minCost(request []byte, span time.Duration) (time.Duration, error) {
	var best time.Duration
	for i := range 3 {
		cost, err := h.cost(request, span)
		if err != nil {
			return 0, err
		}
		if i == 0 || cost < best {
			best = cost
		}
	}
	return best, nil
}

var cursorIn = regexp.MustCompile(`"next_cursor":"([^"]+)"`)

// evaluate encodes a request, follows its pages and measures it. If its first measurement is below
// enough, it is not measured again.
func (h *hunter) evaluate(q *huntOp, values []string, enough time.Duration) (huntResult, error) {
	t := huntResult{operation: q.name, values: values, request: q.encode(values)}
	if q.follow != nil {
		plain := slices.Clone(values)
		// A compressed response cannot be read.
		plain[len(plain)-2] = ""
		pages, _ := strconv.Atoi(values[len(values)-1])
		for step := q.encode(plain); pages > 0; pages-- {
			answer, err := h.request(step)
			if err != nil {
				return t, err
			}

			found := cursorIn.FindSubmatch(answer)
			if found == nil {
				break
			}
			step = q.follow(plain, string(found[1]))
			t.request = q.follow(values, string(found[1]))
		}
	}
	if _, err := h.request(t.request); err != nil {
		return t, err
	}

	var err error
	t.cost, err = h.cost(t.request, firstSpan)
	if err != nil || t.cost < enough {
		return t, err
	}

	t.cost, err = h.minCost(t.request, 2*firstSpan)
	return t, err
}

// poolSize is how many of the most expensive requests of an operation are mutated.
const poolSize = 6

// hunt searches for the most expensive request of an operation: rounds of new requests, then as
// many rounds of mutated ones.
func (h *hunter) hunt(q *huntOp, rounds int) ([]huntResult, error) {
	var best []huntResult
	for round := range 2 * rounds {
		values := q.first(h.random)
		if round >= rounds {
			values = q.mutate(h.random, best[h.random.IntN(len(best))].values, best[h.random.IntN(len(best))].values)
		}

		enough := time.Duration(0)
		if len(best) == poolSize {
			enough = best[poolSize-1].cost
		}

		t, err := h.evaluate(q, values, enough)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", q.name, err)
		}
		best = append(best, t)
		slices.SortStableFunc(best, func(a, b huntResult) int { return int(b.cost - a.cost) })
		best = best[:min(len(best), poolSize)]
	}
	return best, nil
}

func newHunter(w *world, seed uint64) *hunter {
	h := &hunter{random: rand.New(rand.NewPCG(seed, 9)), serve: w.server.ServeConn, clearCache: w.clearCache}
	h.cost = h.cpu
	return h
}

func huntWorld(t *testing.T, cards int) (*world, []huntOp) {
	t.Helper()
	w, err := huntWorlds[cards]()
	if err != nil {
		t.Fatal(err)
	}
	g := newCorpus(w)
	return w, slices.Concat(g.reads(), g.batches(), g.tools())
}

// TestHunt searches for legal requests that take too much CPU time, NINEPOCKET_HUNT rounds of each
// operation. Without that variable it only checks that all made and mutated requests are legal.
func TestHunt(t *testing.T) {
	rounds, _ := strconv.Atoi(os.Getenv("NINEPOCKET_HUNT"))
	if rounds > 0 {
		if !clearsCache {
			t.Fatal("cannot hunt without the build tag hunt, as make hunt gives it: repeated searches would " +
				"cost what they remember")
		}
		huntLong(t, rounds)
		return
	}

	w, operations := huntWorld(t, 1_000)
	h := newHunter(w, 1)
	h.cost = func(request []byte, _ time.Duration) (time.Duration, error) { return time.Duration(len(request)), nil }
	for i := range operations {
		if _, err := h.hunt(&operations[i], 12/testsweep.Stride(3)); err != nil {
			t.Error(err)
		}
	}
}

func huntLong(t *testing.T, rounds int) {
	seed := uint64(time.Now().UnixNano())
	if given, err := strconv.ParseUint(os.Getenv("NINEPOCKET_SEED"), 10, 64); err == nil {
		seed = given
	}
	t.Logf("%d rounds of each operation, NINEPOCKET_SEED=%d", 2*rounds, seed)
	w, operations := huntWorld(t, 30_000)
	h := newHunter(w, seed)
	only := regexp.MustCompile(os.Getenv("NINEPOCKET_OPERATION"))
	var all []huntResult
	for i := range operations {
		if !only.MatchString(operations[i].name) {
			continue
		}
		best, err := h.hunt(&operations[i], rounds)
		if err != nil {
			t.Fatal(err)
		}

		// Again, often enough to include the garbage collector.
		for k := range best {
			best[k].cost, err = h.minCost(best[k].request, 10*firstSpan)
			if err != nil {
				t.Fatal(err)
			}
		}
		slices.SortFunc(best, func(a, b huntResult) int { return int(b.cost - a.cost) })
		t.Logf("%-36s %9v", best[0].operation, best[0].cost.Round(time.Microsecond))
		all = append(all, best...)
	}

	slices.SortFunc(all, func(a, b huntResult) int { return int(b.cost - a.cost) })
	for i := range all[:min(len(all), 10)] {
		t.Logf("%d. %v %s\n%.12000s", i+1, all[i].cost.Round(time.Microsecond), all[i].operation,
			withoutKey.ReplaceAll(all[i].request, nil))
	}

	for i := range all {
		if all[i].cost > worstLegal {
			t.Errorf("%s costs %v, more than %v: %q", all[i].operation, all[i].cost, worstLegal,
				withoutKey.ReplaceAll(all[i].request, nil))
		}
	}
}

var withoutKey = regexp.MustCompile(`(?m)^X-API-Key: .*\n`)

// TestHuntFinds plants two weaknesses. One costs more the more often a word has a rare letter:
// mutation must find far more of it than random requests do. The other really uses CPU: the
// measured time must be over the bound.
func TestHuntFinds(t *testing.T) {
	w, operations := huntWorld(t, 1_000)
	h := newHunter(w, 2)
	h.cost = func(request []byte, _ time.Duration) (time.Duration, error) {
		target, _, _ := bytes.Cut(request, []byte(" HTTP/1.1"))
		return time.Duration(bytes.Count(target, []byte("z"))) * time.Millisecond, nil
	}

	best, err := h.hunt(&operations[0], 1)
	if err != nil {
		t.Fatal(err)
	}

	climbed, err := h.hunt(&operations[0], 60)
	if err != nil {
		t.Fatal(err)
	}
	if climbed[0].cost <= worstLegal || climbed[0].cost <= best[0].cost {
		t.Errorf("the weakness found costs %v, at first sight %v", climbed[0].cost, best[0].cost)
	}

	planted := newHunter(w, 3)
	planted.serve = func(c net.Conn) error {
		for until := spent(t) + 2*worstLegal; spent(t) < until; {
		}
		return w.server.ServeConn(c)
	}
	found, err := planted.evaluate(&operations[0], operations[0].first(planted.random), 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := planted.minCost(found.request, firstSpan); err != nil || got <= worstLegal {
		t.Errorf("a request that uses %v of CPU is measured as %v, %v", 2*worstLegal, got, err)
	}
}

func spent(t *testing.T) time.Duration {
	t.Helper()
	used, err := cpuTime(os.Getpid())
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	return used
}
