package server

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"ninepocket/access"
	"ninepocket/server/strict"
)

// maxFields bounds a request's header lines, as the usual proxies do: each look-up of a header passes over all of them.
const maxFields = 100

var requestLimits = strict.Limits{Head: maxHeader, Fields: maxFields, Body: MaxBody}

// How long and how much a connection is read after its last answer was written.
const (
	lingerTime  = 2 * time.Second
	lingerBytes = 4 << 20
	// mostLingering bounds the connections that linger at a time: each is a descriptor and a goroutine. Beyond it one is
	// closed at once, as a server does that does not linger.
	mostLingering = 1024
)

// guarding accepts connections that are checked and can be closed slowly. TLS lies below it.
type guarding struct {
	net.Listener
	open *connections
}

func (l guarding) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.open.guard(c), nil
}

// patience is how long a connection may take over what; it frees connections of clients that send or read too slowly,
// and lets Shutdown end.
type patience struct{ read, write, idle time.Duration }

var usualPatience = patience{read: 15 * time.Second, write: 30 * time.Second, idle: 75 * time.Second}

// connections are those that are open.
type connections struct {
	patience
	mu  sync.Mutex
	all map[*conn]struct{}

	lingering atomic.Int32
}

func (o *connections) guard(c net.Conn) *conn {
	guarded := &conn{Conn: c, guard: strict.Guard{Limits: &requestLimits}, open: o}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = map[*conn]struct{}{}
	}
	o.all[guarded] = struct{}{}
	return guarded
}

func (o *connections) forget(c *conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.all, c)
}

// cut ends all of them, whatever they wait for.
func (o *connections) cut() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for c := range o.all {
		_ = c.Conn.Close()
	}
}

// conn is a connection whose requests are checked before they are parsed (package strict), and that reads what still
// comes before it closes. A socket that is closed with unread bytes in it is reset, and the reset may overtake the
// answer: a client that is still sending an oversized body, or a request after one that said close, would never see it.
type conn struct {
	net.Conn
	guard strict.Guard
	err   error // of the last read
	open  *connections
	over  atomic.Bool // the line itself ended or failed: nobody is there to read an answer

	// The deadlines belong to the goroutine that serves the connection.
	served          time.Time // when the last request was whole; zero before the first
	fresh           bool      // nothing was written since
	readBy, writeBy time.Time // the deadlines that are set
	partial         bool      // part of a request has come, and readBy is that request's
	key             access.Recall
}

// Read reads requests as far as they are good. It belongs to the goroutine that serves the connection.
func (c *conn) Read(p []byte) (int, error) {
	if fault := c.guard.Fault(); fault != nil {
		return 0, fault
	}
	if err := c.awaitRequest(); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) { // one that was slow is still told so
		c.over.Store(true)
	}
	n, fault := c.guard.Check(p[:n])
	if fault != nil {
		err = fault
	}
	c.err = err
	return n, err
}

// awaitRequest sets the deadline of the next read. A request has its time from its first bytes on, the first one of a
// connection from the beginning. Between requests a client has about the idle time, a fifth less at worst: so the deadline
// is moved a few times a minute and not, as fasthttp would, twice a request, and the clock is not read for it.
func (c *conn) awaitRequest() error {
	switch {
	case c.guard.Idle() && !c.served.IsZero():
		if c.partial = false; c.readBy.Sub(c.served) >= c.open.idle/5*4 {
			return nil
		}
		c.readBy = c.served.Add(c.open.idle)
	case c.partial || c.guard.Idle() && !c.readBy.IsZero():
		return nil
	default:
		c.partial = !c.guard.Idle()
		c.readBy = time.Now().Add(c.open.read)
	}
	return c.SetReadDeadline(c.readBy)
}

// Write writes answers. A client has the write time to take one, a third less at worst. Its time begins when the request
// was whole, so that the clock is not read again; what is left of an answer that does not fit the buffer begins anew.
func (c *conn) Write(p []byte) (int, error) {
	now := c.served
	if !c.fresh {
		now = time.Now()
	}
	if c.fresh = false; c.writeBy.Sub(now) < c.open.write/3*2 {
		c.writeBy = now.Add(c.open.write)
		if err := c.SetWriteDeadline(c.writeBy); err != nil {
			return 0, err
		}
	}
	n, err := c.Conn.Write(p)
	if err != nil {
		c.over.Store(true)
	}
	return n, err
}

// Close closes the connection: one that still stands after the client has read its answer and closed, or a short while.
func (c *conn) Close() error {
	c.open.forget(c)
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if c.over.Load() || !ok {
		return c.Conn.Close()
	}
	if c.open.lingering.Add(1) > mostLingering || half.CloseWrite() != nil {
		c.open.lingering.Add(-1)
		return c.Conn.Close()
	}
	go func() {
		defer c.open.lingering.Add(-1)
		defer func() { _ = c.Conn.Close() }()
		if c.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
			_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes) // until the client closes, the deadline or the bound
		}
	}()
	return nil
}

// recall makes r of what was found good of the head of a request that failed, for fasthttp forgets it: the path and the
// key decide how the failure is told. False when not even the request line is known.
func (c *conn) recall(r *fasthttp.Request) bool {
	line, rest, ok := bytes.Cut(c.guard.Head(), crlf)
	method, target, _ := bytes.Cut(line, []byte{' '})
	target, _, _ = bytes.Cut(target, []byte{' '})
	if !ok {
		return false
	}
	r.Header.SetMethodBytes(method)
	r.SetRequestURIBytes(target)
	for line := range bytes.SplitSeq(rest, crlf) {
		if name, value, ok := bytes.Cut(line, []byte{':'}); ok {
			r.Header.AddBytesKV(name, bytes.Trim(value, " \t"))
		}
	}
	return true
}

var crlf = []byte("\r\n")

// expectations is told each head before the body is read. fasthttp compares the expectation with its usual spelling, and
// would answer it to HTTP/1.0 clients, which do not know interim answers (RFC 9110, 10.1.1).
func expectations(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if h.ContentLength() == noBody {
		return fasthttp.RequestConfig{}
	}
	switch value := h.Peek(fasthttp.HeaderExpect); {
	case len(value) == 0:
	case h.IsHTTP11():
		h.Set(fasthttp.HeaderExpect, "100-continue") // the guard lets nothing else pass
	default:
		h.Del(fasthttp.HeaderExpect)
	}
	return fasthttp.RequestConfig{}
}

// noBody is the ContentLength by which fasthttp tells a request that has neither header.
const noBody = -2
