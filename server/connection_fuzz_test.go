package server

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// handled is a request as it reached the handler.
type handled struct{ method, target, host, body string }

// watched is a world that notes what its handler gets; one connection at a time.
type watched struct {
	*world
	requests []handled
}

var watchedWorld = sync.OnceValue(func() *watched {
	w := &watched{}
	w.world = newWorld(forever{}, setup{tune: func(h *fasthttp.Server) {
		handle := h.Handler
		h.Handler = func(ctx *fasthttp.RequestCtx) {
			w.requests = append(w.requests, handled{
				string(ctx.Method()), string(ctx.RequestURI()), string(ctx.Request.Header.Host()),
				string(ctx.PostBody()),
			})
			handle(ctx)
		}
	}})
	return w
})

// tape is a connection whose client sends what is on it and goes.
type tape struct {
	net.Conn
	stream   []byte
	size     func() int
	replayed bytes.Buffer
}

func (c *tape) Read(p []byte) (int, error) {
	if len(c.stream) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.stream[:min(len(c.stream), c.size())])
	c.stream = c.stream[n:]
	return n, nil
}

func (c *tape) Write(p []byte) (int, error)      { return c.replayed.Write(p) }
func (c *tape) Close() error                     { return nil }
func (c *tape) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c *tape) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c *tape) SetDeadline(time.Time) error      { return nil }
func (c *tape) SetReadDeadline(time.Time) error  { return nil }
func (c *tape) SetWriteDeadline(time.Time) error { return nil }

// play sends a stream over one connection and returns what was handled and the statuses that were
// answered, each error in an envelope.
func (w *watched) play(t *testing.T, stream []byte, size func() int) (requests []handled, statuses []int) {
	t.Helper()
	w.requests = nil
	c := &tape{stream: stream, size: size}
	_ = w.ServeConn(c) // how the connection ended is no matter
	answer := bufio.NewReader(&c.replayed)
	for answered := 0; ; {
		method := ""
		if answered < len(w.requests) {
			method = w.requests[answered].method
		}

		resp, err := http.ReadResponse(answer, &http.Request{Method: method})
		if err != nil {
			break
		}

		r := reply{status: resp.StatusCode, header: resp.Header}
		r.body, err = io.ReadAll(resp.Body)
		if err != nil {
			t.Fatalf("%q: %v", stream, err)
		}
		if r.status >= 500 {
			t.Fatalf("%q: answered %d %s", stream, r.status, r.body)
		}
		if r.status >= 400 && method != http.MethodHead {
			if faults := r.envelopeFaults(r.header.Get("X-Request-Id")); len(faults) > 0 {
				t.Fatalf("%q: %v", stream, faults)
			}
		}

		statuses = append(statuses, r.status)
		if r.status != http.StatusContinue {
			answered++
		}
	}
	return w.requests, statuses
}

// leftToRouter are errors of net/http over targets that are requests here: whether they mean
// anything is the router's.
var leftToRouter = regexp.MustCompile(`invalid URL escape|invalid port|in host name|missing ']' in host|` +
	`invalid host|net/url: invalid|invalid userinfo|expected 1\*8\(`)

// errBody is an error of net/http over a body, which the server has to share.
var errBody = errors.New("the body cannot be read")

// plainly reads a stream as net/http does, to the first error, which may be none here.
func plainly(stream []byte) (requests []handled, end error) {
	r := bufio.NewReader(bytes.NewReader(stream))
	for {
		if next, _ := r.Peek(2); string(next) == "\r\n" {
			_, _ = r.Discard(2)
		}

		req, err := http.ReadRequest(r)
		if err != nil {
			return requests, err
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return requests, errBody
		}
		requests = append(requests, handled{req.Method, req.RequestURI, req.Host, string(body)})
	}
}

// FuzzConnection sends streams of bytes through the whole server. The handled requests are those
// that net/http reads, each is answered once and in its turn, and cuts of the bytes make no
// difference.
func FuzzConnection(f *testing.F) {
	for _, c := range hostileCases(f, shared()) {
		if len(c.sent) < 20_000 {
			f.Add(c.sent, uint64(1))
		}
	}

	w := watchedWorld()
	f.Fuzz(func(t *testing.T, stream []byte, seed uint64) {
		if len(stream) > 20_000 {
			return
		}

		requests, statuses := w.play(t, stream, func() int { return len(stream) })
		theirs, end := plainly(stream)
		for i, q := range requests {
			if i == len(theirs) && leftToRouter.MatchString(end.Error()) {
				break
			}
			if i >= len(theirs) {
				t.Fatalf("%q: handled %q, where net/http reads no request", stream, q)
			}
			q.host = strings.ToLower(q.host)
			theirs[i].host = strings.ToLower(theirs[i].host)
			if q != theirs[i] {
				t.Fatalf("%q: handled %q, net/http reads %q", stream, q, theirs[i])
			}
		}

		if final := len(slices.DeleteFunc(slices.Clone(statuses),
			func(s int) bool { return s == 100 })); final < len(requests) || final > len(requests)+1 {
			t.Fatalf("%q: %d requests were handled, %d answered", stream, len(requests), final)
		}
		random := rand.New(rand.NewPCG(seed, 0))
		for _, size := range []func() int{func() int { return 1 }, func() int { return 1 + random.IntN(100) }} {
			again, answer := w.play(t, stream, size)
			if !slices.Equal(requests, again) || !slices.Equal(statuses, answer) {
				t.Fatalf("%q: in one piece %q %v, in many %q %v", stream, requests, statuses, again, answer)
			}
		}
	})
}
