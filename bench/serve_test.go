package bench

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"ninepocket/access"
	"ninepocket/engine"
	"ninepocket/engine/cursor"
	"ninepocket/internal/synth"
	"ninepocket/loader"
	"ninepocket/server"
	"ninepocket/site"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// world is a server with a synthetic catalog, keys without effective limits, and the requests that
// drive it.
type world struct {
	server     *server.Server
	view       *engine.View
	live       string
	keys       Keys
	options    server.Options
	sample     *sample
	operations []Operation
}

// worlds are made once for each size. The cost of history does not depend on the size, so the
// large world has only a month of history.
var worlds = map[int]func() *world{
	1_000:   sync.OnceValue(func() *world { return mustWorld(1_000, 365) }),
	30_000:  sync.OnceValue(func() *world { return mustWorld(30_000, 365) }),
	300_000: sync.OnceValue(func() *world { return mustWorld(300_000, 30) }),
}

// The memory of the caches for searches and compressed bodies, as in serve without a limit.
const (
	searchCache = 64 << 20
	packCache   = 64 << 20
)

func mustWorld(cards, days int) *world {
	w, err := newWorld(cards, days, searchCache)
	if err != nil {
		panic(err)
	}
	return w
}

// localSite has the URLs in the responses of the worlds.
var localSite = wire.URLs{URL: "http://localhost", ProductPrefix: "prd"}

// smallCatalog is the catalog of two worlds with different caches; each has a separate View.
// Larger catalogs are not shared, because benchmarks need their memory.
var smallCatalog = sync.OnceValues(func() (*snapshot.Catalog, error) { return makeCatalog(1_000, 365) })

func catalogOf(cards, days int) (*snapshot.Catalog, error) {
	if cards == 1_000 && days == 365 {
		return smallCatalog()
	}
	return makeCatalog(cards, days)
}

// makeCatalog builds a synthetic catalog.
func makeCatalog(cards, days int) (*snapshot.Catalog, error) {
	raw, err := os.MkdirTemp("", "ninepocket-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(raw)
	if err := synth.Write(raw, synth.Options{Cards: cards, HistoryDays: days}); err != nil {
		return nil, err
	}

	built, err := loader.Build(context.Background(),
		loader.Options{Sources: []loader.Input{{Kind: "native", Path: raw}}})
	if err != nil {
		return nil, err
	}
	built.Catalog.ID = "bench"
	return built.Catalog, nil
}

func newWorld(cards, days int, cache int64) (*world, error) {
	folder, err := os.MkdirTemp("", "ninepocket-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	catalog, err := catalogOf(cards, days)
	if err != nil {
		return nil, err
	}
	w := &world{}
	w.view, err = engine.NewView(catalog, localSite)
	if err != nil {
		return nil, err
	}

	now := time.Now()
	eng := engine.New(nil, engine.Options{Site: localSite, SearchCache: cache})
	eng.Swap(w.view, now)
	keys, err := writeKeys(filepath.Join(folder, "state"), filepath.Join(folder, "bench.toml"))
	if err != nil {
		return nil, err
	}

	ring, err := LoadKeys(filepath.Join(folder, "state"))
	if err != nil {
		return nil, err
	}

	signer, err := cursor.NewSigner(cursor.Key{ID: 1})
	if err != nil {
		return nil, err
	}
	w.live = keys.Live

	// The budgets of the API are for a server that also serves the site.
	pages, err := site.New(site.Options{BaseURL: "http://localhost"})
	if err != nil {
		return nil, err
	}
	store := access.NewMemory(access.MemoryOptions{MaxIdempotencyRecords: 1 << 40, MaxReplyBytes: 1 << 40})
	w.options = server.Options{
		Engine: eng, Gate: access.NewGate(ring, store),
		Clock:   access.StartClock(now),
		Cursors: signer, CompressedCacheSize: packCache, BaseURL: "http://localhost", Preview: true, Pages: pages,
	}
	w.keys = keys
	w.server, err = server.New(w.options)
	if err != nil {
		return nil, err
	}
	return w, w.prepare(keys)
}

// prepare makes the requests from the API, as for any other server.
func (w *world) prepare(keys Keys) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}

	// It serves until the tests end.
	go w.server.Serve(l)
	w.sample, err = readSample(l.Addr().String(), keys)
	if err != nil {
		return err
	}
	w.operations = w.sample.operations()
	return nil
}

func (w *world) operation(tb testing.TB, name string) *Operation {
	tb.Helper()
	one, err := chosen(w.operations, []string{name})
	if err != nil {
		tb.Fatal(err)
	}
	return &one[0]
}

// replayConn is a connection whose client sends requests in turn, burst requests per read, and
// counts the responses with status 200. So only the server is measured, without system calls.
type replayConn struct {
	net.Conn
	turns    *turns
	left     int
	answered int64
	good     int64
}

func (c *replayConn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, io.EOF
	}
	c.left -= c.turns.depth
	n := copy(p, c.turns.take())
	return n, nil
}

var success = []byte("HTTP/1.1 200 OK\r\n")

func (c *replayConn) Write(p []byte) (int, error) {
	c.answered += int64(len(p))
	c.good += int64(bytes.Count(p, success))
	return len(p), nil
}

func (c *replayConn) Close() error                     { return nil }
func (c *replayConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c *replayConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c *replayConn) SetDeadline(time.Time) error      { return nil }
func (c *replayConn) SetReadDeadline(time.Time) error  { return nil }
func (c *replayConn) SetWriteDeadline(time.Time) error { return nil }

// replay serves b.N requests of an operation over one connection. It reports the CPU time per
// request in addition to the wall time, which other programs lengthen.
func replay(b *testing.B, serve func(net.Conn) error, op *Operation) {
	b.Helper()
	c := &replayConn{turns: newTurns(op, 0), left: b.N}
	b.ReportAllocs()
	before, _ := cpuTime(os.Getpid())
	b.ResetTimer()
	if err := serve(c); err != nil && c.left > 0 {
		b.Fatal(err)
	}

	b.StopTimer()
	after, _ := cpuTime(os.Getpid())
	b.ReportMetric(float64(after-before)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(c.answered)/float64(b.N), "bytes/op")
	if c.good < int64(b.N) {
		b.Fatalf("%d of %d requests answered with 200", c.good, b.N)
	}
}

// scriptOf returns the responses of a bare server to an operation.
func (w *world) scriptOf(tb testing.TB, op *Operation, headers bool) []scripted {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}

	go w.server.Serve(l)
	tb.Cleanup(func() { l.Close() })
	answers, err := record(l.Addr().String(), op)
	if err != nil {
		tb.Fatal(err)
	}

	for i := range answers {
		if !headers {
			answers[i].Header = nil
		}
	}
	return answers
}

// BenchmarkGetCard measures GET /v1/cards/{id} through the whole pipeline, and bare servers with
// the same bodies.
func BenchmarkGetCard(b *testing.B) {
	w := worlds[30_000]()
	for burst, name := range map[int]string{1: "get_card", 16: "get_card_pipelined"} {
		op := w.operation(b, name)
		bare := bareServer(w.scriptOf(b, op, false))
		same := bareServer(w.scriptOf(b, op, true))
		b.Run("bare/burst="+strconv.Itoa(burst), func(b *testing.B) { replay(b, bare.ServeConn, op) })
		b.Run("same/burst="+strconv.Itoa(burst), func(b *testing.B) { replay(b, same.ServeConn, op) })
		b.Run("full/burst="+strconv.Itoa(burst), func(b *testing.B) { replay(b, w.server.ServeConn, op) })
	}
}

// BenchmarkOperations measures every operation through the whole pipeline, with catalogs of two
// sizes.
func BenchmarkOperations(b *testing.B) {
	for _, size := range []int{30_000, 300_000} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			w := worlds[size]()
			for i := range w.operations {
				b.Run(w.operations[i].Name, func(b *testing.B) { replay(b, w.server.ServeConn, &w.operations[i]) })
			}
		})
	}
}

// BenchmarkReads measures the parts of operations that are the engine's alone.
func BenchmarkReads(b *testing.B) {
	w := worlds[30_000]()
	selections := make([]wire.Selection, len(w.sample.selections))
	for i, s := range w.sample.selections {
		selections[i] = wire.Selection{Kind: s.Kind, ProductID: s.ProductID, Variant: s.Variant, Condition: s.Condition}
	}

	var dst []byte
	read := func(name string, f func(i int)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			before, _ := cpuTime(os.Getpid())
			for i := 0; b.Loop(); i++ {
				dst = dst[:0]
				f(i)
			}

			after, _ := cpuTime(os.Getpid())
			b.ReportMetric(float64(after-before)/float64(b.N), "cpu-ns/op")
			b.ReportMetric(float64(len(dst)), "bytes/op")
		})
	}
	results := make([]wire.PriceResult, len(selections))
	read("selections_50", func(int) {
		for i := range selections {
			results[i] = w.view.PriceResult(&selections[i])
		}
		dst = wire.AppendPriceResults(dst, selections, results, w.view.Catalog.SnapshotAt)
	})

	card := w.movingCard()
	variant := w.firstVariant(card)
	read("history_365_of_one_variant", func(int) { dst = w.view.AppendHistory(dst, card, 365, variant) })
	words := w.sample.words(6)
	forgetful, err := engine.NewView(w.view.Catalog, *w.view.Site()) // without a cache
	if err != nil {
		b.Fatal(err)
	}
	read("suggest_fresh", func(i int) {
		word := words[i%len(words)]
		query := engine.SuggestQuery{Words: word[:3+i%(len(word)-3)], Limit: 10}
		dst = forgetful.AppendSuggestions(dst, query)
	})
	read("card", func(i int) {
		if found, ok := w.view.Index.Card(w.sample.card(i)); ok {
			dst = w.view.AppendDetail(dst, found)
		}
	})
}

// movingCard returns a card with a price on every day of a year. Most prices differ from the
// previous day, as with expensive cards. Such a history takes the longest to encode.
func (w *world) movingCard() (best int) {
	maxChanges := 0
	lane := -1
	date := w.view.Catalog.Date()
	for card := range min(w.view.Catalog.Cards.ID.Len(), 2000) {
		w.view.DisplayLanes(card, w.firstVariant(card), func(l int, _ string) { lane = l })
		points := w.view.Catalog.History.AppendPoints(nil, lane, snapshot.WindowStart(date, 365), date)
		changes := 0
		for i := 1; i < len(points); i++ {
			if points[i].Cents != points[i-1].Cents {
				changes++
			}
		}

		if len(points) == 365 && changes > maxChanges {
			best = card
			maxChanges = changes
		}
	}
	return best
}

func (w *world) firstVariant(card int) (code string) {
	w.view.DisplayLanes(card, "", func(_ int, variant string) {
		if code == "" {
			code = variant
		}
	})
	return code
}

// TestOperations sends every operation once with a small catalog and expects success, because the
// driver measures successes only.
func TestOperations(t *testing.T) {
	w := worlds[1_000]()
	if len(w.operations) != len(operationNames) {
		t.Errorf("%d operations, want %d", len(w.operations), len(operationNames))
	}

	for i := range w.operations {
		op := &w.operations[i]
		for k, answer := range w.scriptOf(t, op, true) {
			if len(answer.Body) < 10 {
				t.Errorf("%s: request %d is answered with %q", op.Name, k, answer.Body)
			}
		}
	}
}

// TestBareIsEqual compares the responses of a bare server with the original, byte for byte, except
// the instant and the unique parts of every response.
func TestBareIsEqual(t *testing.T) {
	w := worlds[1_000]()
	op := w.operation(t, "get_card")
	answers := w.scriptOf(t, op, true)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go bareServer(answers).Serve(l)
	original, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer original.Close()
	go w.server.Serve(original)
	for i := range op.Requests {
		a, err := requestOnce(l.Addr().String(), op.Requests[i].Bytes)
		if err != nil {
			t.Fatal(err)
		}

		// A bare server sends its responses in turn, for any request.
		want := answers[(i+1)%len(answers)]
		if a.status != http.StatusOK || !bytes.Equal(a.body, want.Body) {
			t.Fatalf("request %d: %d %s, want %s", i, a.status, a.body, want.Body)
		}

		full, err := requestOnce(original.Addr().String(), op.Requests[(i+1)%len(answers)].Bytes)
		if err != nil {
			t.Fatal(err)
		}

		// Numbers in the rate headers may gain or lose a digit.
		if d := len(full.header) - len(a.header); d < -4 || d > 4 {
			t.Fatalf("request %d: a header of %d bytes, the original's has %d", i, len(a.header), len(full.header))
		}
		got := headerLines(a.header)
		if len(got) != len(want.Header) {
			t.Fatalf("request %d: headers %q, want %q", i, got, want.Header)
		}

		for k := range got {
			if !bytes.Equal(got[k][0], want.Header[k][0]) || !bytes.Equal(got[k][1], want.Header[k][1]) {
				t.Errorf("request %d: header %q, want %q", i, got[k], want.Header[k])
			}
		}
	}
}
