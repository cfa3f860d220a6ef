package server

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/engine"
	"ninepocket/engine/cursor"
	"ninepocket/server/httpconn"
)

const baseURL = "https://cards.test"

// demoCards is how many cards the usual editions have, however much of them a test goes through.
const demoCards = 1000

// scratchDir holds what all tests of the binary share; TestMain removes it.
var scratchDir string

func TestMain(m *testing.M) {
	var err error
	scratchDir, err = os.MkdirTemp("", "ninepocket-server-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}

	code := m.Run()
	for _, f := range atTheEnd {
		f()
	}
	if leak := keysInLogs(); leak != "" {
		fmt.Fprintf(os.Stderr, "FAIL: a log line holds the text of a key: %s\n", leak)
		code = 1
	}
	_ = os.RemoveAll(scratchDir)
	os.Exit(code)
}

// servedAs is what the OpenAPI document of a server depends on.
type servedAs struct {
	baseURL, productPrefix, version string
	preview                         bool
}

// contracts are the documents of all worlds: to render and to pack one takes a fifth of a second
// under the race detector.
var contracts = memoize(func(s servedAs) (OpenAPIDocuments, error) {
	return NewOpenAPIDocuments(s.baseURL, s.productPrefix, s.version, s.preview)
})

// memoize makes a function that remembers what another returned.
func memoize[K comparable, V any](of func(K) (V, error)) func(K) (V, error) {
	var mu sync.Mutex
	values := map[K]V{}
	return func(k K) (V, error) {
		mu.Lock()
		defer mu.Unlock()
		if v, has := values[k]; has {
			return v, nil
		}

		v, err := of(k)
		if err == nil {
			values[k] = v
		}
		return v, err
	}
}

// world is a server over an in-memory listener, with keys of every kind.
type world struct {
	*Server
	tb       testing.TB
	signer   *cursor.Signer
	store    access.Store
	listener *fasthttputil.InmemoryListener
	clock    func() time.Time // that requests are judged by

	mu   sync.Mutex
	idle []*client
	ring *keys.Ring
	file *keys.File
	keys map[string]string // by name
}

// setup says how a world differs from the usual one.
type setup struct {
	still    bool           // its clock stands
	views    []*engine.View // served one after the other; today's when nil, none when empty
	noViews  bool
	liveOnly bool
	store    access.Store
	options  func(*Options)
	tune     func(*fasthttp.Server) // before it serves
	timeouts httpconn.Timeouts      // the usual one when zero
	listener net.Listener           // instead of one in memory
	wrap     func(net.Listener) net.Listener
	retired  int64
}

// permanent are the keys of every world, by name.
var permanent = []keys.NewKey{
	{Name: "free", Tenant: "free", Surface: keys.Live, Plan: "free"},
	{Name: "starter", Tenant: "starter", Surface: keys.Live, Plan: "starter"},
	{Name: "pro", Tenant: "pro", Surface: keys.Live, Plan: "pro"},
	{Name: "business", Tenant: "business", Surface: keys.Live, Plan: "business"},
	{Name: "bench", Tenant: "bench", Surface: keys.Live, Plan: "unlimited"},
	{Name: "capped", Tenant: "capped", Surface: keys.Live, Plan: "capped"},
	{Name: "brief", Tenant: "brief", Surface: keys.Live, Plan: "brief"},
	{Name: "week", Tenant: "week", Surface: keys.Live, Plan: "week"},
	{Name: "nostats", Tenant: "nostats", Surface: keys.Live, Plan: "nostats"},
	{Name: "month", Tenant: "month", Surface: keys.Live, Plan: "month"},
	{Name: "sandbox", Tenant: "sandbox", Surface: keys.Sandbox, Plan: "free"},
	{Name: "revoked", Tenant: "revoked", Surface: keys.Live, Plan: "free"},
	{Name: "preview", Tenant: "partner", Surface: keys.Preview, Plan: "wide"},
	{Name: "preview_catalog", Tenant: "partner", Surface: keys.Preview, Plan: "wide", Scopes: keys.CatalogRead},
	{Name: "preview_prices", Tenant: "partner", Surface: keys.Preview, Plan: "wide", Scopes: keys.PricesRead},
	{Name: "preview_usage", Tenant: "partner", Surface: keys.Preview, Plan: "wide", Scopes: keys.UsageRead},
	{Name: "preview_rival", Tenant: "rival", Surface: keys.Preview, Plan: "wide"},
	{Name: "preview_revoked", Tenant: "partner-revoked", Surface: keys.Preview, Plan: "wide"},
	{Name: "suspended", Tenant: "suspended", Surface: keys.Live, Plan: "free"},
	{Name: "preview_suspended", Tenant: "suspended", Surface: keys.Preview, Plan: "wide", Scopes: keys.UsageRead},
	{Name: "sandbox_suspended", Tenant: "suspended", Surface: keys.Sandbox},
}

func testPlans() keys.Plans {
	plans := keys.DefaultPlans()
	plans.Set("capped", keys.Plan{
		PerMinute: 100_000, PerDay: 1_000_000, MaxCards: 3, MaxPrices: 2, HistoryDays: 20,
		StatsWindow: 30,
	})
	plans.Set("brief", keys.Plan{PerMinute: 100_000, PerDay: 1_000_000, HistoryDays: 5, StatsWindow: 90})
	plans.Set("week", keys.Plan{PerMinute: 100_000, PerDay: 1_000_000, StatsWindow: 7})
	bulky := true
	plans.Set("month", keys.Plan{PerMinute: 100_000, PerDay: 1_000_000, HistoryDays: 30, Bulk: &bulky})
	plans.Set("nostats", keys.Plan{PerMinute: 100_000, PerDay: 1_000_000, StatsWindow: keys.NoStats})
	plans.Set("tiny", keys.Plan{PerMinute: 1000, PerDay: 3})
	plans.Set("wide", keys.Plan{PerMinute: 1_000_000, PerDay: 1_000_000, Credits: 1_000_000_000})
	return plans
}

func newWorld(tb testing.TB, s setup) *world {
	tb.Helper()
	now := time.Now()
	w := &world{
		tb: tb, keys: map[string]string{}, file: keys.NewFile(),
		listener: fasthttputil.NewInmemoryListener(), store: s.store,
	}
	for _, k := range permanent {
		made, text, err := w.file.Create(k, now)
		if err != nil {
			tb.Fatal(err)
		}
		if strings.HasSuffix(k.Name, "revoked") {
			if _, err := w.file.Revoke(made.ID, now); err != nil {
				tb.Fatal(err)
			}
		}
		if strings.HasSuffix(k.Name, "suspended") {
			if err := w.file.Suspend(k.Tenant, now); err != nil {
				tb.Fatal(err)
			}
		}
		w.keys[k.Name] = text
		recordKey(text)
	}

	var err error
	w.ring, err = keys.FixedRing(w.file, testPlans())
	if err != nil {
		tb.Fatal(err)
	}
	if w.store == nil {
		w.store = access.NewMemory(access.MemoryOptions{})
	}

	books := &balanced{Store: w.store}
	w.signer, err = cursor.NewSigner(cursor.Key{ID: 1, Secret: [cursor.KeyLen]byte{1}})
	if err != nil {
		tb.Fatal(err)
	}

	eng := engine.New(nil, engine.Options{RetiredBudget: s.retired})
	if s.views == nil && !s.noViews {
		s.views = []*engine.View{today().view}
	}

	for _, v := range s.views {
		eng.Swap(v, now)
	}
	o := Options{
		Engine: eng, Gate: access.NewGate(w.ring, books), Clock: access.StartClock(now), Cursors: w.signer,
		Bulk: bulkOfLast(tb, s.views), BaseURL: baseURL + "/",
		Preview: !s.liveOnly, CompressedCacheSize: 4 << 20, Log: slog.New(slog.NewTextHandler(&logs,
			&slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if s.options != nil {
		s.options(&o)
	}

	o.OpenAPI, err = contracts(servedAs{o.BaseURL, o.ProductPrefix, o.Version, o.Preview})
	if err != nil {
		tb.Fatal(err)
	}

	w.Server, err = New(o)
	if err != nil {
		tb.Fatal(err)
	}
	w.http.Handler = scribbling(w.handle)
	w.clock = time.Now
	if s.still {
		w.stop()
	}
	if s.timeouts != (httpconn.Timeouts{}) {
		w.connections.Timeouts = s.timeouts
	}
	if s.tune != nil {
		s.tune(w.http)
	}
	if s.listener == nil {
		s.listener = w.listener
	}
	if s.wrap != nil {
		s.listener = s.wrap(s.listener)
	}

	served := make(chan error, 1)
	go func() { served <- w.Serve(s.listener) }()
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		w.cutAfter = 4 * time.Second // a machine that is busy has longer than what stalls
		for c := w.idleClient(); c != nil; c = w.idleClient() {
			_ = c.Close()
		}

		// The second closing is for a server that was not yet listening when it was shut down.
		_ = w.Shutdown(ctx)
		_ = s.listener.Close()
		<-served
		books.check(tb)
	})
	return w
}

// stop lets all requests come at one instant, in the middle of the time in which pages with a cursor keep their
// validators (decision 9).
func (w *world) stop() {
	const turn = cursor.Lifetime / 3
	w.stopAt(time.Now().Truncate(turn).Add(turn + turn/2))
}

// stopAt lets all requests come at one instant.
func (w *world) stopAt(at time.Time) {
	w.clock = func() time.Time { return at }
	w.instant = func(time.Time) (time.Time, access.Instant) { return at, w.Clock.At(at) }
}

// balanced counts reservations: every admitted call is ended exactly once, whatever happens to it.
type balanced struct {
	access.Store
	admitted, ended, failed atomic.Int64
}

func (b *balanced) Admit(p *keys.Principal, r access.LimitSpec, now access.Instant) access.Decision {
	d := b.Store.Admit(p, r, now)
	if d.Result == access.Admitted {
		b.admitted.Add(1)
	}
	return d
}

func (b *balanced) end(r access.Charge, err error) (access.Charge, error) {
	if err != nil {
		b.failed.Add(1)
	} else {
		b.ended.Add(1)
	}
	return r, err
}

func (b *balanced) Finish(t access.Reservation, success bool) (access.Charge, error) {
	return b.end(b.Store.Finish(t, success))
}

func (b *balanced) Commit(t access.Reservation, c access.Claim, reply []byte) (access.Charge, error) {
	return b.end(b.Store.Commit(t, c, reply))
}

func (b *balanced) Abort(t access.Reservation, c access.Claim) (access.Charge, error) {
	return b.end(b.Store.Abort(t, c))
}

func (b *balanced) check(tb testing.TB) {
	tb.Helper()
	admitted := b.admitted.Load()
	ended := b.ended.Load()
	if ended > admitted || ended < admitted && b.failed.Load() == 0 {
		tb.Errorf("%d calls were admitted, %d ended", admitted, ended)
	}
}

// forever is the lifetime of the shared world, the whole run: TestMain cleans up after it.
type forever struct{ testing.TB }

var (
	atTheEnd   []func()
	atTheEndMu sync.Mutex
)

func (forever) Cleanup(f func()) {
	atTheEndMu.Lock()
	defer atTheEndMu.Unlock()
	atTheEnd = append(atTheEnd, f)
}

func (forever) Helper() {}

func (forever) Errorf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "FAIL: "+format+"\n", args...)
	os.Exit(1)
}

func (f forever) Fatal(args ...any) { f.Errorf("%s", fmt.Sprint(args...)) }

// Worlds of all tests that change nothing in them: still is one whose clock stands.
var (
	shared = sync.OnceValue(func() *world { return newWorld(forever{}, setup{}) })
	still  = sync.OnceValue(func() *world { return newWorld(forever{}, setup{still: true}) })

	liveWorld = sync.OnceValue(func() *world { return newWorld(forever{}, setup{liveOnly: true}) })
)

var unique atomic.Int64

// only is a name that nothing else has, for what a test adds to a world that others use.
func only(name string) string { return fmt.Sprint(name, "-", unique.Add(1)) }

// key makes another key.
func (w *world) key(tb testing.TB, k keys.NewKey) string {
	tb.Helper()
	return w.keyOf(tb, k, time.Now())
}

// keyOf makes a key as of an instant.
func (w *world) keyOf(tb testing.TB, k keys.NewKey, now time.Time) string {
	tb.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()

	_, text, err := w.file.Create(k, now)
	if err == nil {
		err = w.ring.Replace(w.file)
	}
	if err != nil {
		tb.Fatal(err)
	}
	recordKey(text)
	return text
}

// revoke revokes the keys of a tenant.
func (w *world) revoke(tb testing.TB, tenant string, now time.Time) {
	tb.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()

	for _, k := range w.file.Keys {
		if k.Tenant != tenant {
			continue
		}
		if _, err := w.file.Revoke(k.ID, now); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.ring.Replace(w.file); err != nil {
		tb.Fatal(err)
	}
}

// named is the text of a permanent key, or name itself if no key has this name.
func (w *world) named(name string) string {
	if text, ok := w.keys[name]; ok {
		return text
	}
	return name
}

// lent are the headers that the handler reads.
var lent = []string{
	"Accept", "Accept-Encoding", "Access-Control-Request-Method", "Authorization", "Content-Encoding", "Content-Type",
	"Host", "Idempotency-Key",
	"If-None-Match", "MCP-Protocol-Version", "Origin", "User-Agent", "X-API-Key", "X-Request-Id",
}

// scribbled is what lent memory is overwritten with.
var scribbled = bytes.Repeat([]byte{'~'}, 64<<10)

// scribble overwrites b, by copying: byte by byte, the race detector would look at each.
func scribble(b []byte) {
	for len(b) > 0 {
		b = b[copy(b, scribbled):]
	}
}

// scribbling overwrites what a request lent to the handler once it has returned, so that memory that was kept
// wrongly shows.
func scribbling(handle fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		handle(ctx)
		r := &ctx.Request
		scribble(r.Body())
		scribble(r.URI().QueryString())
		scribble(r.URI().PathOriginal())
		scribble(r.URI().Host())
		scribble(r.Header.RawHeaders())
		for _, name := range lent {
			for _, v := range r.Header.PeekAll(name) {
				scribble(v)
			}
		}

		if x, ok := exchanges.Get().(*exchange); ok {
			scribble(x.reply.Body[:cap(x.reply.Body)])
			scribble(x.reply.Stored[:cap(x.reply.Stored)])
			scribble(x.id[:cap(x.id)])
			exchanges.Put(x)
		}
	}
}

// client is one connection to a world.
type client struct {
	net.Conn
	r         *bufio.Reader
	idleSince time.Time // when it was last laid aside
}

// request is what a test sends, byte by byte as it says.
type request struct {
	method, target string
	header         []string
	body           string
	chunked        bool
}

// reply is what came back.
type reply struct {
	status int
	header http.Header
	wire   []byte // the body as sent
	body   []byte // the body after content coding
}

func (q *request) bytes() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: cards.test\r\n", q.method, q.target)
	for _, h := range q.header {
		b.WriteString(h + "\r\n")
	}

	switch {
	case q.chunked:
		b.WriteString("Transfer-Encoding: chunked\r\n\r\n")
		for rest := q.body; rest != ""; {
			part := rest[:min(len(rest), 50_000)]
			rest = rest[len(part):]
			fmt.Fprintf(&b, "%x\r\n%s\r\n", len(part), part)
		}

		b.WriteString("0\r\n\r\n")
	case q.body != "" || q.method == http.MethodPost:
		fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(q.body), q.body)
	default:
		b.WriteString("\r\n")
	}
	return b.Bytes()
}

// send sends a request and reads the reply, without any judgement.
func (w *world) send(q request) (reply, error) {
	c := w.idleClient()
	if c == nil {
		var err error
		c, err = w.dial()
		if err != nil {
			return reply{}, err
		}
	}

	r, closed, err := c.send(q)
	switch {
	case closed:
		_ = c.Close()
	case err == nil:
		w.release(c)
	}
	return r, err
}

// idleLimit is how long an idle connection is used again: well under the server's idle timeout,
// which would close it under a request.
const idleLimit = 5 * time.Second

// idleClient is a connection on which nothing is under way, nil without one.
func (w *world) idleClient() *client {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := len(w.idle) - 1
	if last < 0 {
		return nil
	}

	c := w.idle[last]
	w.idle = w.idle[:last]
	if time.Since(c.idleSince) > idleLimit {
		_ = c.Close()
		return nil
	}
	return c
}

func (w *world) release(c *client) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.idleSince = time.Now()
	w.idle = append(w.idle, c)
}

func (w *world) dial() (*client, error) {
	conn, err := w.listener.Dial()
	if err != nil {
		return nil, err
	}
	return &client{Conn: conn, r: bufio.NewReader(conn)}, nil
}

// send sends a request over this connection and reads the reply; closed means that it was the
// last one.
func (c *client) send(q request) (r reply, closed bool, err error) {
	if _, err := c.Write(q.bytes()); err != nil {
		return reply{}, false, err
	}

	resp, err := http.ReadResponse(c.r, &http.Request{Method: q.method})
	if err != nil {
		return reply{}, false, err
	}

	r = reply{status: resp.StatusCode, header: resp.Header}
	r.wire, err = io.ReadAll(resp.Body)
	if err != nil {
		return reply{}, false, err
	}
	if resp.ContentLength >= 0 && q.method == http.MethodHead {
		r.header.Set("Content-Length", fmt.Sprint(resp.ContentLength))
	}
	r.body, err = decoded(r.wire, r.header.Get("Content-Encoding"))
	return r, resp.Close, err
}

func decoded(b []byte, encoding string) ([]byte, error) {
	if len(b) == 0 {
		return b, nil
	}

	switch encoding {
	case "":
		return b, nil
	case "gzip":
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(z)
	case "zstd":
		z, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		return io.ReadAll(z)
	}
	return nil, fmt.Errorf("unknown content encoding %q", encoding)
}

// logs are the log lines of all worlds.
var logs logBuffer

type logBuffer struct {
	mu   sync.Mutex
	b    bytes.Buffer
	keys []string
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logBuffer) contains(s string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Contains(l.b.Bytes(), []byte(s))
}

func recordKey(text string) {
	logs.mu.Lock()
	defer logs.mu.Unlock()
	logs.keys = append(logs.keys, text)
}

// keysInLogs returns a log line that holds a key, or its random part.
func keysInLogs() string {
	logs.mu.Lock()
	defer logs.mu.Unlock()

	text := logs.b.String()
	for _, key := range logs.keys {
		at := strings.Index(text, key[len("npk_live_"):len("npk_live_")+12])
		if at < 0 {
			continue
		}
		line, _, _ := strings.Cut(text[strings.LastIndexByte(text[:at], '\n')+1:], "\n")
		return line
	}
	return ""
}
