package server

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"ninepocket/access/keys"
	"ninepocket/engine"
	"ninepocket/engine/bulk"
	"ninepocket/internal/certificate/certificatetest"
	"ninepocket/server/httpconn"
)

// bulkOf is the bulk files of Views, made once.
var bulkOf = memoize(func(v *engine.View) (*bulk.Store, error) {
	dir, err := os.MkdirTemp(scratchDir, "bulk-")
	if err != nil {
		return nil, err
	}
	files := bulk.New(bulk.Options{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	return files, files.Make(context.Background(), v, func() {})
})

// bulkOfLast is the bulk files of the last of some Views, which is served; nil where there is none.
func bulkOfLast(tb testing.TB, views []*engine.View) *bulk.Store {
	tb.Helper()
	if len(views) == 0 {
		return nil
	}
	files, err := bulkOf(views[len(views)-1])
	if err != nil {
		tb.Fatal(err)
	}
	return files
}

// bulkFile is a file of the list.
type bulkFile struct {
	Name, URL, SHA256 string
	Bytes             int64
}

func bulkFiles(t *testing.T, r reply) (files []bulkFile) {
	t.Helper()
	var list struct{ Files []bulkFile }
	r.decode(t, &list)
	return list.Files
}

// TestBulkDownload takes each file of the list whole, in parts and again. The bytes match the list,
// and each successful request counts once.
func TestBulkDownload(t *testing.T) {
	w := newWorld(t, setup{})
	list := w.get(t, "/v1/bulk")
	files := bulkFiles(t, list)
	if len(files) != len(bulk.Names) {
		t.Fatalf("the list has %+v", files)
	}
	dice := rand.New(rand.NewPCG(1, 2))
	for _, file := range files {
		path := strings.TrimPrefix(file.URL, baseURL)
		whole := w.get(t, path)
		sum := sha256.Sum256(whole.body)
		if int64(len(whole.body)) != file.Bytes || hex.EncodeToString(sum[:]) != file.SHA256 {
			t.Errorf("%s is not what the list says", file.Name)
		}
		for name, want := range map[string]string{
			"Content-Type": "application/zstd", "Accept-Ranges": "bytes", "Content-Encoding": "",
			"X-Snapshot-Id": today().view.ID, "X-Attribution": list.header.Get("X-Attribution"),
			"X-Use-Until": "2026-08-23T20:00:00Z",
		} {
			if got := whole.header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", file.Name, name, got, want)
			}
		}

		head := w.try(t, scenario{method: "HEAD", path: path})
		tag := whole.header.Get("ETag")
		if head.header.Get("ETag") != tag || head.header.Get("Content-Length") != strconv.FormatInt(file.Bytes, 10) {
			t.Errorf("HEAD of %s: %v", file.Name, head.header)
		}
		_, before := whole.remaining(t)
		again := w.try(t, scenario{path: path, header: []string{"If-None-Match: " + tag}, status: 304})
		_, after := again.remaining(t)
		if before-1 != after { // HEAD took one, and this none
			t.Errorf("%s: %d were left, then %d", file.Name, before, after)
		}

		for range 20 {
			from := dice.IntN(len(whole.body))
			to := from + dice.IntN(len(whole.body)-from)
			r := w.try(t, scenario{path: path, header: []string{
				fmt.Sprintf("Range: bytes=%d-%d", from, to), "If-Range: " + tag,
			}, status: http.StatusPartialContent})
			want := fmt.Sprintf("bytes %d-%d/%d", from, to, len(whole.body))
			if !bytes.Equal(r.body, whole.body[from:to+1]) || r.header.Get("Content-Range") != want {
				t.Errorf("%s: %s is %d bytes of %s", file.Name, want, len(r.body), r.header.Get("Content-Range"))
			}
			_, left := r.remaining(t)
			if left != after-1 {
				t.Errorf("a part: %d were left, then %d", after, left)
			}
			after = left
		}
	}
}

// TestBulkRanges tries what a Range header can be.
func TestBulkRanges(t *testing.T) {
	w := shared()
	path := "/v1/bulk/" + today().view.ID + "/" + bulk.Sets
	whole := w.get(t, path)
	n := len(whole.body)
	f := func(status int, want []byte, header ...string) {
		t.Helper()
		r := w.try(t, scenario{path: path, header: header, status: status})
		if status < 300 && !bytes.Equal(r.body, want) {
			t.Errorf("%v: %d bytes, want %d", header, len(r.body), len(want))
		}
		if size := fmt.Sprint("bytes */", n); status == 416 && r.header.Get("Content-Range") != size {
			t.Errorf("%v: Content-Range is %q", header, r.header.Get("Content-Range"))
		}
	}

	f(206, whole.body[10:], "Range: bytes=10-")
	f(206, whole.body[n-10:], "Range: bytes=-10")
	f(206, whole.body, "Range: bytes=0-99999999")
	f(206, whole.body, "Range: bytes=-99999999")
	f(416, nil, fmt.Sprintf("Range: bytes=%d-", n))
	f(416, nil, "Range: bytes=5-4")
	f(416, nil, "Range: bytes=-0")
	f(416, nil, "Range: bytes=x")
	f(416, nil, "Range: bytes=99999999999999999999-")
	f(200, whole.body, "Range: bytes=0-1,3-4")
	f(200, whole.body, "Range: lines=0-1")
	f(200, whole.body, "Range: bytes=10-", `If-Range: "other"`)
	f(200, whole.body, "Range: bytes=10-", "If-Range: Sat, 22 Aug 2026 20:00:00 GMT")
	f(304, nil, "Range: bytes=10-", "If-None-Match: *")
}

// TestBulkRefusals tries who may not have files, and what is not there.
func TestBulkRefusals(t *testing.T) {
	w := newWorld(t, setup{})
	path := "/v1/bulk/" + today().view.ID + "/"
	f := func(status int, code, key, path string, header ...string) {
		t.Helper()
		w.try(t, scenario{path: path, key: key, header: header, status: status, code: code})
	}
	for _, key := range []string{"free", "starter", "capped", "suspended"} {
		f(403, "plan_limit", key, "/v1/bulk")
		f(403, "plan_limit", key, path+bulk.Cards)
	}
	f(401, "unauthorized", "-", "/v1/bulk")
	f(401, "unauthorized", "preview", path+bulk.Cards)
	f(403, "sandbox_key", "sandbox", "/v1/bulk")
	f(200, "", "pro", path+bulk.History)

	// A plan with a shorter history has the other files.
	if files := bulkFiles(t, w.try(t, scenario{path: "/v1/bulk", key: "month"})); len(files) != 3 {
		t.Errorf("a plan of a month has %+v", files)
	}
	f(403, "plan_limit", "month", path+bulk.History)
	f(200, "", "month", path+bulk.Cards)

	f(404, "not_found", "", path+"manifest.json")
	f(404, "not_found", "", path+"..%2f"+bulk.Cards)
	f(410, "snapshot_gone", "", "/v1/bulk/none/"+bulk.Cards)
	f(410, "snapshot_gone", "", "/v1/bulk", "X-Snapshot-Id: none")
	f(400, "invalid_request", "", path+bulk.Cards, "X-Snapshot-Id: none")
	f(200, "", "", path+bulk.Cards, "X-Snapshot-Id: "+today().view.ID)
	w.try(t, scenario{path: path + bulk.Cards, method: "DELETE", status: 405, code: "method_not_allowed"})
}

// TestBulkUntilItIsMade wants an empty list that says when to ask again, until Run has made the files; then
// those of the snapshot before stay, too.
func TestBulkUntilItIsMade(t *testing.T) {
	files := bulk.New(bulk.Options{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	w := newWorld(t, setup{options: func(o *Options) { o.Bulk = files }})
	path := "/v1/bulk/" + today().view.ID + "/" + bulk.Cards
	r := w.get(t, "/v1/bulk")
	if len(bulkFiles(t, r)) != 0 || r.header.Get("Retry-After") == "" || r.header.Get("Cache-Control") != "no-store" {
		t.Errorf("before: %v %s", r.header, r.body)
	}
	w.try(t, scenario{path: path, status: 503, code: "temporarily_unavailable"})

	if err := files.Make(context.Background(), today().view, func() {}); err != nil {
		t.Fatal(err)
	}
	w.Engine.Swap(tomorrow().view, time.Now())
	if len(bulkFiles(t, w.get(t, "/v1/bulk"))) != 0 {
		t.Error("the next snapshot has files")
	}
	w.try(t, scenario{path: path, want: []match{}})
	pinned := w.get(t, "/v1/bulk", "X-Snapshot-Id: "+today().view.ID)
	if len(bulkFiles(t, pinned)) != 4 || pinned.header.Get("X-Snapshot-Id") != today().view.ID {
		t.Errorf("of the snapshot before: %s", pinned.body)
	}
}

// largeBulk is a store whose files are of a size that no buffer of a connection takes.
func largeBulk(t testing.TB, size int64) *bulk.Store {
	t.Helper()
	dir := t.TempDir()
	s := bulk.New(bulk.Options{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if err := s.Make(context.Background(), today().view, func() {}); err != nil {
		t.Fatal(err)
	}

	id := today().view.ID
	files := *s.Of(id)
	name := filepath.Join(dir, id, bulk.Cards)
	if err := os.Truncate(name, size); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	about := &files.Files[0]
	about.Bytes = size
	about.SHA256 = hex.EncodeToString(sum[:])
	manifest, err := json.Marshal(files)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, id, "manifest.json"), manifest, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	s = bulk.New(bulk.Options{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	s.Adopt(context.Background(), func() {})
	if s.Of(id) == nil {
		t.Fatal("the large file is not adopted")
	}
	return s
}

// download asks for the large file, and reads the head of the answer.
func download(t testing.TB, conn net.Conn, key string) (*bufio.Reader, *http.Response) {
	t.Helper()
	_, err := fmt.Fprintf(conn, "GET /v1/bulk/%s/%s HTTP/1.1\r\nHost: cards.test\r\nX-API-Key: %s\r\n\r\n",
		today().view.ID, bulk.Cards, key)
	if err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReaderSize(conn, 4<<10)
	r, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	return reader, r
}

// TestTwoDownloads wants a tenant to have two downloads at a time, whatever its keys, and another once one
// has ended, be it cut.
func TestTwoDownloads(t *testing.T) {
	l := newLoopback(t, setup{options: func(o *Options) { o.Bulk = largeBulk(t, 64<<20) }})
	keysOf := make([]string, 3)
	for i := range keysOf {
		keysOf[i] = l.world.key(t, keys.NewKey{Name: only("k"), Tenant: "mirror", Surface: keys.Live, Plan: "pro"})
	}
	first := l.dial(t)
	second := l.dial(t)
	defer second.Close()
	download(t, first, keysOf[0])
	download(t, second, keysOf[1])
	if n := l.downloading(); n != 2 {
		t.Errorf("%d downloads", n)
	}

	try := func(status int, method, key string, header ...string) {
		t.Helper()
		c := l.dial(t)
		defer c.Close()
		s := scenario{path: "/v1/bulk/" + today().view.ID + "/" + bulk.Cards, method: method, key: key, header: header}
		q := s.request(l.world)
		r, _, err := c.send(q)
		if err != nil || r.status != status || status == 429 && r.header.Get("Retry-After") == "" {
			t.Errorf("%s %v: %d %v, want %d", method, header, r.status, err, status)
		}
		l.world.check(t, q, r)
	}
	try(429, "GET", keysOf[2])
	try(429, "GET", keysOf[2], "Range: bytes=0-9")
	try(200, "HEAD", keysOf[2])
	try(416, "GET", keysOf[2], "Range: bytes=x")
	try(206, "GET", "pro", "Range: bytes=0-9")

	_ = first.Close()
	for l.downloading() > 1 {
		time.Sleep(time.Millisecond) // until the server has seen it, and the end of the other tenant's
	}
	try(206, "GET", keysOf[2], "Range: bytes=0-9")
}

// TestDownloadIsCut wants a client that takes nothing to be cut, and one that takes all to have all: by the
// same connection once more.
func TestDownloadIsCut(t *testing.T) {
	timeouts := httpconn.DefaultTimeouts
	timeouts.Progress = 200 * time.Millisecond
	l := newLoopback(t, setup{timeouts: timeouts, options: func(o *Options) { o.Bulk = largeBulk(t, 64<<20) }})
	idle := l.dial(t)
	defer idle.Close()
	_, r := download(t, idle, l.world.named("pro"))
	for l.downloading() > 0 {
		time.Sleep(time.Millisecond)
	}
	if n, err := io.Copy(io.Discard, r.Body); err == nil {
		t.Errorf("a client that took nothing for long has all of %d bytes", n)
	}

	busy := l.dial(t)
	defer busy.Close()
	for range 2 {
		_, r := download(t, busy, l.world.named("pro"))
		if n, err := io.Copy(io.Discard, r.Body); err != nil || n != 64<<20 {
			t.Fatalf("%d bytes, %v", n, err)
		}
	}
}

// TestMemoryOfDownloads has a hundred clients begin a download and stay, over TCP and TLS.
func TestMemoryOfDownloads(t *testing.T) { // not parallel: it measures memory
	for _, secured := range []bool{false, true} {
		s := setup{options: func(o *Options) { o.Bulk = largeBulk(t, 64<<20) }}
		config := &tls.Config{}
		if secured {
			cert := filepath.Join(t.TempDir(), "cert")
			key := filepath.Join(t.TempDir(), "key")
			config.RootCAs = certificatetest.Write(t, cert, key, 1)
			config.ServerName = "localhost"
			pair, err := tls.LoadX509KeyPair(cert, key)
			if err != nil {
				t.Fatal(err)
			}
			s.wrap = func(inner net.Listener) net.Listener {
				return tls.NewListener(inner, &tls.Config{Certificates: []tls.Certificate{pair}})
			}
		}
		l := newLoopback(t, s)
		conns := make([]net.Conn, 100)
		keysOf := make([]string, len(conns))
		for i := range conns {
			var err error
			keysOf[i] = l.world.key(t, keys.NewKey{
				Name: only("k"), Tenant: fmt.Sprint("mirror-", i/2), Surface: keys.Live, Plan: "pro",
			})
			conns[i], err = net.Dial("tcp", l.addr)
			if secured && err == nil {
				client := tls.Client(conns[i], config)
				err = client.Handshake()
				conns[i] = client
			}
			if err != nil {
				t.Fatal(err)
			}
			defer conns[i].Close()
		}

		before := memory()
		for i, conn := range conns {
			download(t, conn, keysOf[i])
		}
		more := memory() - before
		t.Logf("tls %t: %d downloads take %d bytes", secured, l.downloading(), more)
		if l.downloading() != len(conns) || more > 20<<20 {
			t.Errorf("%d downloads take %d bytes more", l.downloading(), more)
		}
	}
}

// BenchmarkDownload compares the processor that a download takes with that of fasthttp's own file server.
func BenchmarkDownload(b *testing.B) {
	const size = 64 << 20
	files := largeBulk(b, size)
	run := func(b *testing.B, addr, request string) {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close()
		reader := bufio.NewReaderSize(conn, 256<<10)
		b.SetBytes(size)
		cpu := processorTime()
		for b.Loop() {
			if _, err := io.WriteString(conn, request); err != nil {
				b.Fatal(err)
			}
			r, err := http.ReadResponse(reader, nil)
			if err != nil {
				b.Fatal(err)
			}
			if n, err := io.Copy(io.Discard, r.Body); err != nil || n != size {
				b.Fatal(n, err)
			}
		}
		b.ReportMetric(float64(processorTime()-cpu)/float64(b.N), "cpu-ns/op")
	}

	b.Run("ours", func(b *testing.B) {
		l := newLoopback(b, setup{options: func(o *Options) { o.Bulk = files }})
		run(b, l.addr, fmt.Sprintf("GET /v1/bulk/%s/%s HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\n\r\n",
			today().view.ID, bulk.Cards, l.world.named("bench")))
	})
	b.Run("fasthttp", func(b *testing.B) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		folder := &fasthttp.FS{Root: filepath.Join(files.Dir, today().view.ID), AcceptByteRange: true}
		bare := &fasthttp.Server{Handler: folder.NewRequestHandler()}
		go func() { _ = bare.Serve(listener) }()
		defer func() { _ = bare.Shutdown() }()
		run(b, listener.Addr().String(), "GET /"+bulk.Cards+" HTTP/1.1\r\nHost: x\r\n\r\n")
	})
}

// processorTime is what this process has used of the processors.
func processorTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // fails for no valid argument
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// downloading is how many files are being sent.
func (l *loopback) downloading() (n int) {
	l.downloads.mu.Lock()
	defer l.downloads.mu.Unlock()
	for _, of := range l.downloads.of {
		n += of
	}
	return n
}
