package server

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"

	"ninepocket/access"
	"ninepocket/server/httpconn"
)

// pipes is a listener in memory whose connections know deadlines as TCP's do, on virtual time too.
type pipes struct {
	dialled chan net.Conn
	done    chan struct{}
	close   func()
}

func listenOnPipes() *pipes {
	l := &pipes{dialled: make(chan net.Conn), done: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.done) })
	return l
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.dialled:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error {
	l.close()
	return nil
}

func (l *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (l *pipes) dial() *client {
	ours, theirs := net.Pipe()
	l.dialled <- theirs
	return &client{Conn: ours, r: bufio.NewReader(ours)}
}

// inBubble runs a test on virtual time, over a world that listens on pipes.
func inBubble(t *testing.T, f func(t *testing.T, w *world, l *pipes)) {
	t.Helper()
	// Parts that a process starts once belong outside: the catalog, and the goroutine behind the
	// header Date.
	today()
	_ = new(fasthttp.ResponseHeader).AppendBytes(nil)

	synctest.Test(t, func(t *testing.T) {
		// After a shutdown, fasthttp's pool looks every ten seconds whether it is to end.
		t.Cleanup(func() { time.Sleep(11 * time.Second) })

		l := listenOnPipes()
		f(t, newWorld(t, setup{listener: l}), l)
	})
}

// TestSlowRequests wants a request that does not arrive to get its error from the surface that its head
// names, as far as that has come, under the caller's request id.
func TestSlowRequests(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, w *world, l *pipes) {
		const post = "POST /v1/prices/batch HTTP/1.1\r\nHost: x\r\nX-Request-Id: req_slow\r\n" +
			"Content-Type: application/json\r\n"
		live := "X-API-Key: " + w.keys["bench"] + "\r\n"
		preview := "X-API-Key: " + w.keys["preview"] + "\r\n"

		f := func(sent string, previewEnvelope bool, id string) {
			t.Helper()
			l.sendSlowly(t, sent, wanted{408, "request_timeout", previewEnvelope}, id)
		}
		f(post+preview+"Content-Length: 10\r\n\r\n{}", true, "req_slow")
		f(post+live+"Content-Length: 10\r\n\r\n{}", false, "req_slow")
		f(post+preview+"Content-Length: 10\r\nExpect: 100-continue\r\n\r\n", true, "req_slow")
		f(post+preview+"Transfer-Encoding: chunked\r\n\r\n5\r\n{}", true, "req_slow")
		f(post+preview+"Transfer-Encoding: chunked\r\n\r\n", true, "req_slow")
		f(post+live+"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", false, "req_slow")
		f(post+preview, true, "req_slow")
		f(post, false, "req_slow") // no key: the default surface
		f(post+"X-API-Key: npk_prev_half", false, "req_slow")
		f("GET /v1/products/prd_x HTTP/1.1\r\nHost: x\r\n", true, "")
		f("GET /v1/products HTTP/1.1\r\n", true, "")
		f("GET /v1/products HTTP/1.1\r", false, "")
		f("GET /v1/nothing HTTP/1.1\r\n", false, "")
		f("GET", false, "")
	})
}

// sendSlowly sends a part of a request and nothing more, and wants the error in time.
func (l *pipes) sendSlowly(t *testing.T, sent string, want wanted, id string) {
	t.Helper()
	c := l.dial()
	defer c.Close()
	begun := time.Now()
	if _, err := io.WriteString(c, sent); err != nil {
		t.Fatal(err)
	}

	r, err := c.next()
	if err == nil && r.status == http.StatusContinue {
		r, err = c.next()
	}
	if err != nil {
		t.Fatalf("%q: %v", sent, err)
	}
	if waited := time.Since(begun); waited != httpconn.DefaultTimeouts.Read {
		t.Errorf("%q: told after %v, want %v", sent, waited, httpconn.DefaultTimeouts.Read)
	}

	if faults := r.differs(want); len(faults) > 0 {
		t.Errorf("%q: %v\n%s", sent, faults, r.body)
	}

	got := r.header.Get("X-Request-Id")
	if id != "" && got != id || r.header.Get("Connection") != "close" {
		t.Errorf("%q: X-Request-Id %q, want %q, Connection %q", sent, got, id, r.header.Get("Connection"))
	}
	if r, err := c.next(); !ended(err) {
		t.Errorf("%q: the connection does not end: %d %v", sent, r.status, err)
	}
}

// ended reports whether an error of reading says that the server closed the connection.
func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// TestIdleConnection wants a connection without a request to end in silence.
func TestIdleConnection(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, _ *world, l *pipes) {
		c := l.dial()
		defer c.Close()

		honest, id := probe()
		if _, err := io.WriteString(c, honest); err != nil {
			t.Fatal(err)
		}
		if r, err := c.next(); err != nil || r.header.Get("X-Request-Id") != id {
			t.Fatalf("%v %v", err, r.header)
		}

		begun := time.Now()
		if r, err := c.next(); !ended(err) {
			t.Errorf("an idle connection was told %d %s (%v)", r.status, r.body, err)
		}
		if waited := time.Since(begun); waited != httpconn.DefaultTimeouts.Idle {
			t.Errorf("it ended after %v, want %v", waited, httpconn.DefaultTimeouts.Idle)
		}
	})
}

// slowMeter is a store whose disk takes longer than a client has for an answer.
type slowMeter struct{ access.Store }

func (s slowMeter) Finish(t access.Reservation, success bool) (access.Charge, error) {
	time.Sleep(httpconn.DefaultTimeouts.Write + 10*time.Second)
	return s.Store.Finish(t, success)
}

// TestSlowMeter wants a call that waited for the disk for longer than a client has for an answer to be
// answered: it is charged.
func TestSlowMeter(t *testing.T) {
	t.Parallel()
	today()
	_ = new(fasthttp.ResponseHeader).AppendBytes(nil)
	synctest.Test(t, func(t *testing.T) {
		// After a shutdown, fasthttp's pool looks every ten seconds whether it is to end.
		t.Cleanup(func() { time.Sleep(11 * time.Second) })

		l := listenOnPipes()
		w := newWorld(t, setup{store: slowMeter{access.NewMemory(access.MemoryOptions{})}, listener: l})
		c := l.dial()
		defer c.Close()
		for range 2 {
			request := "GET /v1/games HTTP/1.1\r\nHost: cards.test\r\nX-API-Key: " + w.named("bench") + "\r\n\r\n"
			if _, err := io.WriteString(c, request); err != nil {
				t.Fatal(err)
			}
			if r, err := c.next(); err != nil || r.status != http.StatusOK {
				t.Fatalf("%d, %v", r.status, err)
			}
		}
	})
}

// TestAnswersBeforeASlowBody sends requests, and the beginning of another one behind them in the same
// piece, whose body comes later: the answers to those before do not wait for it.
func TestAnswersBeforeASlowBody(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, w *world, l *pipes) {
		head := "POST /v1/cards/batch HTTP/1.1\r\nHost: cards.test\r\nX-API-Key: " + w.named("bench") + "\r\n" +
			"Content-Type: application/json\r\n"
		for begin, rest := range map[string]string{
			head + "Content-Length: 13\r\n\r\n":                         `{"ids":["x"]}`,
			head + "Content-Length: 13\r\n\r\n{\"ids\"":                 `:["x"]}`,
			head + "Content-Length: 13\r\nExpect: 100-continue\r\n\r\n": `{"ids":["x"]}`,
			head + "Transfer-Encoding: chunked\r\n\r\nd\r\n{":           "\"ids\":[\"x\"]}\r\n0\r\n\r\n",
			head + "Content-Le":                                         "ngth: 13\r\n\r\n{\"ids\":[\"x\"]}",
		} {
			c := l.dial()
			defer c.Close()
			first, firstID := probe()
			second, secondID := probe()
			begun := time.Now()
			if _, err := io.WriteString(c, first+second+begin); err != nil {
				t.Fatal(err)
			}
			for _, id := range []string{firstID, secondID} {
				if r, err := c.next(); err != nil || r.header.Get("X-Request-Id") != id {
					t.Fatalf("before %q: %v %v", begin, err, r.header)
				}
			}
			if waited := time.Since(begun); waited > 0 {
				t.Errorf("before %q: answered after %v", begin, waited)
			}

			if strings.Contains(begin, "Expect") {
				if r, err := c.next(); err != nil || r.status != http.StatusContinue {
					t.Errorf("%q: %d, %v", begin, r.status, err)
				}
			}
			time.Sleep(time.Second)
			if _, err := io.WriteString(c, rest+first); err != nil {
				t.Fatal(err)
			}
			r, err := c.next()
			if err != nil || r.status != http.StatusOK {
				t.Errorf("after %q: %d %s, %v", begin, r.status, r.body, err)
			}
			if r, err := c.next(); err != nil || r.header.Get("X-Request-Id") != firstID {
				t.Errorf("behind %q: %v %v", begin, err, r.header)
			}
		}
	})
}
