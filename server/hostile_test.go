package server

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"ninepocket/server/httpconn"
)

// hostile is a case of testdata/hostile.txt.
type hostile struct {
	name     string
	want     []wanted
	persists bool // the connection
	front    []int
	sent     []byte
}

// wanted is an answer that a case expects.
type wanted struct {
	status  int
	code    string // of an error
	preview bool   // its envelope
}

// hostileCases reads the corpus, with w's keys.
func hostileCases(tb testing.TB, w *world) []*hostile {
	tb.Helper()
	text, err := os.ReadFile("testdata/hostile.txt")
	if err != nil {
		tb.Fatal(err)
	}

	var all []*hostile
	var c *hostile
	for n, line := range strings.Split(string(text), "\n") {
		mark, rest, _ := strings.Cut(line, " ")
		switch mark {
		case "#", "":
		case "==":
			c = &hostile{name: rest}
			all = append(all, c)
		case "want":
			if err := c.expect(rest); err != nil {
				tb.Fatalf("line %d: %v", n+1, err)
			}
		case "front":
			for status := range strings.FieldsSeq(rest) {
				c.front = append(c.front, number(tb, status))
			}
		case ">", ">>":
			b, err := strconv.Unquote(`"` + strings.ReplaceAll(w.expand(tb, rest), `"`, `\"`) + `"`)
			if err != nil {
				tb.Fatalf("line %d: %v", n+1, err)
			}

			c.sent = append(c.sent, b...)
			if mark == ">" {
				c.sent = append(c.sent, "\r\n"...)
			}
		default:
			tb.Fatalf("line %d begins with %q", n+1, mark)
		}
	}
	return all
}

func number(tb testing.TB, text string) int {
	tb.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

func (c *hostile) expect(text string) error {
	words := strings.Fields(strings.ReplaceAll(text, ",", " , "))
	last := len(words) - 1
	c.persists = words[last] == "keep"
	if !c.persists && words[last] != "close" {
		return fmt.Errorf("%q says nothing of the connection", text)
	}

	one := wanted{}
	for _, word := range append(words[:last:last], ",") {
		switch status, err := strconv.Atoi(word); {
		case err == nil:
			one.status = status
		case word == ",":
			c.want = append(c.want, one)
			one = wanted{}
		case word == "preview":
			one.preview = true
		default:
			one.code = word
		}
	}
	return nil
}

var repeats = regexp.MustCompile(`\{([^{}]+)\*(\d+)\}`)

// expand puts keys and repetitions into a line of the corpus.
func (w *world) expand(tb testing.TB, line string) string {
	tb.Helper()
	line = strings.NewReplacer("{live}", w.keys["bench"], "{preview}", w.keys["preview"]).Replace(line)
	return repeats.ReplaceAllStringFunc(line, func(part string) string {
		groups := repeats.FindStringSubmatch(part)
		return strings.Repeat(groups[1], number(tb, groups[2]))
	})
}

// loopback is a world that listens on TCP and notes what should not reach its handler.
type loopback struct {
	*world
	addr     string
	smuggled sync.Map // targets that no case sent as a request
}

// newLoopback serves a world on a TCP port.
func newLoopback(tb testing.TB, s setup) *loopback {
	tb.Helper()
	l := &loopback{}
	if s.timeouts == (httpconn.Timeouts{}) {
		// A slow client still sees the end.
		s.timeouts = httpconn.DefaultTimeouts
		s.timeouts.Linger = time.Minute
	}
	tune := s.tune
	s.tune = func(h *fasthttp.Server) {
		handle := h.Handler
		h.Handler = func(ctx *fasthttp.RequestCtx) {
			if bytes.Contains(ctx.RequestURI(), []byte("smuggled")) {
				l.smuggled.Store(string(ctx.RequestURI()), true)
			}
			handle(ctx)
		}
		if tune != nil {
			tune(h)
		}
	}

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}

	s.listener = listener
	l.world = newWorld(tb, s)
	l.addr = listener.Addr().String()
	return l
}

// sharedLoopback is the world of all tests that send bytes over TCP and change nothing in it.
var sharedLoopback = sync.OnceValue(func() *loopback { return newLoopback(forever{}, setup{}) })

func (l *loopback) dial(tb testing.TB) *client {
	tb.Helper()
	return dial(tb, l.addr)
}

// maxTest is how long a test waits for what must come; it bounds a hang and measures nothing.
const maxTest = 30 * time.Second

func dial(tb testing.TB, addr string) *client {
	tb.Helper()
	c, err := net.Dial("tcp", addr)
	if err == nil {
		err = c.SetDeadline(time.Now().Add(maxTest))
	}
	if err != nil {
		tb.Fatal(err)
	}
	return &client{Conn: c, r: bufio.NewReader(c)}
}

// next reads one answer.
func (c *client) next() (reply, error) {
	resp, err := http.ReadResponse(c.r, nil)
	if err != nil {
		return reply{}, err
	}
	if resp.Close {
		resp.Header.Set("Connection", "close") // which ReadResponse takes out
	}

	body, err := io.ReadAll(resp.Body)
	return reply{status: resp.StatusCode, header: resp.Header, wire: body, body: body}, err
}

var probes atomic.Int64

// probe is an honest request, and the id by which its answer is known.
func probe() (request, id string) {
	id = fmt.Sprintf("req_probe-%d", probes.Add(1))
	return "GET /healthz HTTP/1.1\r\nHost: cards.test\r\nX-Request-Id: " + id + "\r\n\r\n", id
}

// TestHostileCorpus sends every case of the corpus to the server itself.
func TestHostileCorpus(t *testing.T) {
	l := sharedLoopback()
	for _, c := range hostileCases(t, l.world) {
		t.Run(c.name, func(t *testing.T) { c.run(t, l.dial(t), [][]byte{c.sent}) })
	}
	l.checkSmuggled(t)
}

// TestHostileCorpusInPieces sends every case byte by byte where it is short, else in pieces: the
// answers are the same.
func TestHostileCorpusInPieces(t *testing.T) {
	l := sharedLoopback()
	for _, c := range hostileCases(t, l.world) {
		t.Run(c.name, func(t *testing.T) {
			size := max(1, len(c.sent)/200)
			c.run(t, l.dial(t), slices.Collect(slices.Chunk(c.sent, size)))
		})
	}
	l.checkSmuggled(t)
}

// TestLastAnswerIsNotReset sends on after the last answer of a connection: its end stays an end,
// for a reset would take the answer from a client that had not read it yet.
func TestLastAnswerIsNotReset(t *testing.T) {
	l := sharedLoopback()
	for name, last := range map[string]string{
		"close":    "GET /v1/games HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		"HTTP/1.0": "GET /v1/games HTTP/1.0\r\n\r\n",
		"refused":  "GET /v1/games HTTP/1.1\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			c := l.dial(t)
			if _, err := io.WriteString(c, last); err != nil {
				t.Fatal(err)
			}
			if _, err := c.next(); err != nil {
				t.Fatal(err)
			}

			for range 3 { // the first of them would be answered by the reset
				if _, err := io.WriteString(c, last); err != nil {
					t.Fatalf("sending on: %v", err)
				}
				time.Sleep(10 * time.Millisecond)
			}

			if r, err := c.next(); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("the connection does not end: %d %v", r.status, err)
			}
		})
	}
}

func (l *loopback) checkSmuggled(t *testing.T) {
	t.Helper()
	l.smuggled.Range(func(target, _ any) bool {
		t.Errorf("a request for %s reached the handler", target)
		return true
	})
}

// run sends a case and expects its answers and its end.
func (c *hostile) run(t *testing.T, to *client, pieces [][]byte) {
	defer to.Close()
	honest, id := probe()
	sent := make(chan struct{})
	go func() { // while answers are read: a refused body need not be taken whole
		defer close(sent)

		for _, p := range pieces {
			if _, err := to.Write(p); err != nil {
				return
			}
		}
		if c.persists {
			_, _ = io.WriteString(to, honest)
		}
	}()

	for i, want := range c.want {
		r, err := to.next()
		if err != nil {
			t.Fatalf("answer %d: %v, want %d", i+1, err, want.status)
		}
		if faults := r.differs(want); len(faults) > 0 {
			t.Errorf("answer %d: %v\n%s", i+1, faults, r.body)
		}
		if strings.Contains(fmt.Sprint(r.header)+string(r.body), "hunter2") {
			t.Errorf("answer %d echoes the request: %v %s", i+1, r.header, r.body)
		}
		if last := i == len(c.want)-1; last && !c.persists && r.header.Get("Connection") != "close" {
			t.Errorf("Connection: %q", r.header.Get("Connection"))
		}
	}

	if c.persists {
		if r, err := to.next(); err != nil || r.header.Get("X-Request-Id") != id {
			t.Errorf("the honest request after it: %v %v, want %s", err, r.header, id)
		}
	} else if r, err := to.next(); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the connection does not end: %d %v", r.status, err)
	}
	<-sent
}

// differs lists the differences between an answer and the expected answer.
func (r reply) differs(want wanted) []string {
	if r.status != want.status {
		return []string{fmt.Sprintf("status %d, want %d", r.status, want.status)}
	}
	if want.status < 400 {
		return nil
	}

	faults := r.envelopeFaults(r.header.Get("X-Request-Id"))
	if r.code() != want.code {
		faults = append(faults, fmt.Sprintf("code %q, want %q", r.code(), want.code))
	}
	if preview := r.header.Get("Content-Type") == "application/json"; preview != want.preview {
		faults = append(faults, fmt.Sprintf("Content-Type %q, want the preview envelope: %v",
			r.header.Get("Content-Type"), want.preview))
	}
	return faults
}
