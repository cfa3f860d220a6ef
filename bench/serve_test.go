package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"ninepocket/access"
	"ninepocket/engine"
	"ninepocket/engine/cursor"
	"ninepocket/index"
	"ninepocket/internal/synth"
	"ninepocket/loader"
	"ninepocket/server"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// cards is the size of the catalog that requests are measured on.
const cards = 30_000

// world is a server over a synthetic catalog, with keys that no limit stops.
type world struct {
	server        *server.Server
	view          *engine.View
	live, preview string
}

var shared = sync.OnceValue(func() *world {
	s, err := newService(cards)
	if err != nil {
		panic(err)
	}
	return s
})

func newService(n int) (*world, error) {
	folder, err := os.MkdirTemp("", "ninepocket-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	raw := filepath.Join(folder, "catalog")
	if _, err := synth.Write(raw, synth.Options{Cards: n}); err != nil {
		return nil, err
	}
	built, err := loader.Build(context.Background(), loader.Options{Sources: []loader.Input{{Kind: "native", Path: raw}}})
	if err != nil {
		return nil, err
	}
	built.Catalog.ID = "bench"
	s := &world{}
	site := wire.Site{URL: "http://localhost", ProductPrefix: "prd"}
	if s.view, err = engine.NewView(built.Catalog, site); err != nil {
		return nil, err
	}
	now := time.Now()
	eng := engine.New(nil, engine.Options{Site: site, SearchCache: 64 << 20})
	eng.Swap(s.view, now)
	file := access.NewKeyFile()
	if _, s.live, err = file.Create(access.NewKey{Tenant: "live", Kind: access.Live, Plan: "unlimited"}, now); err != nil {
		return nil, err
	}
	if _, s.preview, err = file.Create(access.NewKey{Tenant: "preview", Kind: access.Preview, Plan: "unlimited"}, now); err != nil {
		return nil, err
	}
	plans := access.DefaultPlans()
	plans.Set("unlimited", access.Plan{PerMinute: 10_000_000, PerDay: 1 << 50, Credits: 1 << 50}) // no benchmark meets a limit
	ring, err := access.FixedKeyRing(file, plans)
	if err != nil {
		return nil, err
	}
	signer, err := cursor.NewSigner(cursor.Key{ID: 1})
	if err != nil {
		return nil, err
	}
	s.server, err = server.New(server.Options{
		Engine: eng, Gate: access.NewGate(ring, access.NewMemory(access.MemoryOptions{ReplyBytes: 1 << 40})), Clock: access.StartClock(now),
		Cursors: signer, BaseURL: "http://localhost", Preview: true,
	})
	return s, err
}

// replayConn is a connection whose client sends the same bytes, burst requests a read, and discards the answers: what
// is measured is the server's side alone, without system calls.
type replayConn struct {
	net.Conn
	request  []byte
	burst    int
	left     int
	answered int64
	next     func() // changes the request before each burst; nil for always the same
}

func (c *replayConn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, io.EOF
	}
	if c.next != nil {
		c.next()
	}
	n := 0
	for range min(c.burst, c.left) {
		if n+len(c.request) > len(p) {
			break
		}
		n += copy(p[n:], c.request)
		c.left--
	}
	return n, nil
}

func (c *replayConn) Write(p []byte) (int, error)      { c.answered += int64(len(p)); return len(p), nil }
func (c *replayConn) Close() error                     { return nil }
func (c *replayConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c *replayConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c *replayConn) SetDeadline(time.Time) error      { return nil }
func (c *replayConn) SetReadDeadline(time.Time) error  { return nil }
func (c *replayConn) SetWriteDeadline(time.Time) error { return nil }

// replay serves b.N equal requests over one connection and returns the bytes answered.
func replay(b *testing.B, serve func(net.Conn) error, request []byte, burst int) int64 {
	b.Helper()
	c := &replayConn{request: request, burst: burst, left: b.N}
	b.ReportAllocs()
	b.ResetTimer()
	if err := serve(c); err != nil && c.left > 0 {
		b.Fatal(err)
	}
	return c.answered
}

// request spells an HTTP request with a key.
func request(method, target, key, body string, headers ...string) []byte {
	var w bytes.Buffer
	fmt.Fprintf(&w, "%s %s HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench\r\nAccept: */*\r\nX-API-Key: %s\r\n", method, target, key)
	for _, h := range headers {
		w.WriteString(h + "\r\n")
	}
	if body != "" {
		fmt.Fprintf(&w, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	w.WriteString("\r\n" + body)
	return w.Bytes()
}

// bare is a fasthttp server that answers every request with one body and nothing else.
func bare(body []byte) *fasthttp.Server {
	return &fasthttp.Server{
		Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.Response.Header.SetContentType("application/json")
			ctx.Response.SetBodyRaw(body)
		},
		ReadBufferSize: 16 << 10, WriteBufferSize: 32 << 10, NoDefaultServerHeader: true,
	}
}

// BenchmarkGetCard is GET /v1/cards/{id} through the whole pipeline beside a bare server of the same body.
func BenchmarkGetCard(b *testing.B) {
	s := shared()
	card := 12_345
	req := request("GET", "/v1/cards/"+s.view.Catalog.Cards.ID.At(card), s.live, "")
	plain := bare(s.view.Detail(card))
	for _, burst := range []int{1, 16} {
		b.Run("bare/burst="+strconv.Itoa(burst), func(b *testing.B) { replay(b, plain.ServeConn, req, burst) })
		b.Run("full/burst="+strconv.Itoa(burst), func(b *testing.B) { replay(b, s.server.ServeConn, req, burst) })
	}
}

// BenchmarkOperations is one request of every operation through the whole pipeline.
func BenchmarkOperations(b *testing.B) {
	s := shared()
	ids := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, strconv.Quote(s.view.Catalog.Cards.ID.At(i*97%cards)))
		}
		return `{"ids":[` + strings.Join(all, ",") + `]}`
	}
	card, set := s.view.Catalog.Cards.ID.At(777), s.view.Catalog.Sets.ID.At(7)
	for _, op := range []struct {
		name string
		req  []byte
	}{
		{"cards_search/exact", request("GET", "/v1/cards?q=charizard&limit=20", s.live, "")},
		{"cards_search/typo", request("GET", "/v1/cards?q=charizrd&limit=20", s.live, "")},
		{"cards_search/filters", request("GET", "/v1/cards?game=pokemon&rarity=common&min_price_cents=100&sort=price_asc", s.live, "")},
		{"cards_search/all", request("GET", "/v1/cards?limit=50", s.live, "")},
		{"cards_batch/200", request("POST", "/v1/cards/batch", s.live, ids(200))},
		{"prices_batch/100", request("POST", "/v1/prices/batch", s.live, ids(100))},
		{"card_prices/365", request("GET", "/v1/cards/"+card+"/prices?days=365", s.live, "")},
		{"card_price_stats", request("GET", "/v1/cards/"+card+"/price-stats", s.live, "")},
		{"sets_list", request("GET", "/v1/sets?limit=50", s.live, "")},
		{"sets_get", request("GET", "/v1/sets/"+set, s.live, "")},
		{"market_movers", request("GET", "/v1/market/movers?direction=up&limit=50", s.live, "")},
		{"products_list/50", request("GET", "/v1/products?limit=50", s.preview, "")},
	} {
		b.Run(op.name, func(b *testing.B) {
			if n := replay(b, s.server.ServeConn, op.req, 1); n < int64(b.N)*100 {
				b.Fatalf("%d bytes answered to %d requests", n, b.N)
			}
		})
	}
}

// BenchmarkSelections is a preview batch of 50 selections: the prices alone, the whole request with a fresh idempotency
// key each time (charge and kept reply included), and its replay.
func BenchmarkSelections(b *testing.B) {
	s := shared()
	c := s.view.Catalog
	var selections []wire.Selection
	var items []string
	for _, row := range s.view.Index.Products() {
		if int(row) >= c.Cards.ID.Len() || len(selections) == 50 {
			continue
		}
		lane, _ := c.Lanes.Of.Range(int(row))
		one := wire.Selection{
			Kind: "card", ProductID: "prd_" + index.ProductTail(c, int(row)),
			Variant: c.Variants.At(int(c.Lanes.Variant[lane])), Condition: snapshot.Condition(c.Lanes.Condition[lane]).Code(),
		}
		selections = append(selections, one)
		items = append(items, fmt.Sprintf(`{"kind":"card","product_id":%q,"variant":%q,"condition":%q}`, one.ProductID, one.Variant, one.Condition))
	}
	body := `{"items":[` + strings.Join(items, ",") + `]}`
	b.Run("prices", func(b *testing.B) {
		b.ReportAllocs()
		var dst []byte
		for b.Loop() {
			dst = dst[:0]
			for i := range selections {
				dst = s.view.AppendPrice(dst, &selections[i])
			}
		}
	})
	b.Run("fresh", func(b *testing.B) {
		req := request("POST", "/v1/prices/batch", s.preview, body, "Idempotency-Key: 0000000000000000")
		at := bytes.Index(req, []byte("0000000000000000"))
		c := &replayConn{request: req, burst: 1, left: b.N, next: func() {
			copy(req[at:], fmt.Sprintf("%016x", freshKeys.Add(1)))
		}}
		b.ReportAllocs()
		b.ResetTimer()
		if err := s.server.ServeConn(c); err != nil && c.left > 0 {
			b.Fatal(err)
		}
		if c.answered < int64(b.N)*5_000 {
			b.Fatalf("%d bytes answered to %d batches", c.answered, b.N)
		}
	})
	b.Run("replay", func(b *testing.B) {
		req := request("POST", "/v1/prices/batch", s.preview, body, "Idempotency-Key: replayed")
		if n := replay(b, s.server.ServeConn, req, 1); n < int64(b.N)*5_000 {
			b.Fatalf("%d bytes answered to %d batches", n, b.N)
		}
	})
}

// freshKeys counts idempotency keys over all runs of a benchmark, which share the server.
var freshKeys atomic.Int64
