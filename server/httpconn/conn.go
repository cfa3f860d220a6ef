package httpconn

import (
	"bytes"
	"errors"
	"io"
	"math/bits"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"ninepocket/server/framing"
)

// Limits of a request.
const (
	// MaxBody is the largest body: 200 ids of 200 characters fit six times over (decision 3).
	MaxBody = 256 << 10
	// MaxHeader bounds a request's line and headers: 431 beyond it.
	MaxHeader = 16 << 10
	// maxFields bounds the header lines, as the usual proxies do: each look-up of a header passes
	// over all of them.
	maxFields = 100
	// MaxUnauthenticatedBody is the largest body accepted without a valid key. It lets a mistaken
	// client keep its connection.
	MaxUnauthenticatedBody = 8 << 10
)

var requestLimits = framing.Limits{
	Head: MaxHeader, Fields: maxFields, Body: MaxBody,
	Unauthenticated: MaxUnauthenticatedBody,
}

// How much a connection is read after its last answer was written, and how many are.
const (
	lingerBytes = 4 << 20
	// maxLingering bounds the connections that linger at a time: each is a descriptor and a
	// goroutine. Beyond it one is closed at once, as a server does that does not linger.
	maxLingering = 1024
)

// Timeouts holds a connection's read, write and idle timeouts. They free connections of clients
// that send or read too slowly, and let Shutdown end.
type Timeouts struct{ Read, Write, Idle, Linger time.Duration }

// DefaultTimeouts is what clients get.
var DefaultTimeouts = Timeouts{
	Read: 15 * time.Second, Write: 30 * time.Second, Idle: 75 * time.Second, Linger: 2 * time.Second,
}

// Connections is the set of open connections; End ends them, and Cut closes what is left of it.
type Connections struct {
	Timeouts
	// AllowLargeBody reports whether a request may have a body larger than MaxUnauthenticatedBody;
	// [Conn.RestoreHead] has its head. Nil welcomes all.
	AllowLargeBody func(*Conn) bool
	// BodyBudget bounds the memory of all bodies larger than MaxUnauthenticatedBody, from their
	// heads until their requests have been dealt with; 0 is no bound.
	BodyBudget int64

	mu        sync.Mutex
	all       map[*Conn]struct{}
	listeners []*guarding
	stopped   bool // listens no more

	ending    atomic.Bool // see End
	lingering atomic.Int32
	bodies    atomic.Int64 // see Taken
}

// Guard takes a connection into the set. Close takes it out again.
func (open *Connections) Guard(inner net.Conn) *Conn {
	guarded := &Conn{Conn: inner, guard: framing.Guard{Limits: &requestLimits}, open: open, opened: time.Now()}
	if open.AllowLargeBody != nil {
		guarded.guard.Welcome = func() bool { return open.AllowLargeBody(guarded) }
	}
	guarded.guard.Room = guarded.ReserveBody

	open.mu.Lock()
	defer open.mu.Unlock()
	if open.all == nil {
		open.all = map[*Conn]struct{}{}
	}
	open.all[guarded] = struct{}{}

	return guarded
}

// Remove takes a connection out of the set without closing it.
func (open *Connections) Remove(conn *Conn) {
	conn.releaseBody(&conn.whole)
	conn.releaseBody(&conn.reading)

	open.mu.Lock()
	defer open.mu.Unlock()
	delete(open.all, conn)
}

// CloseAll closes every connection of the set, whatever it waits for.
func (open *Connections) CloseAll() {
	open.mu.Lock()
	defer open.mu.Unlock()
	for conn := range open.all {
		_ = conn.Conn.Close()
	}
}

// Conn is a connection whose requests are checked before they are parsed (package strict), and that
// reads what still comes before it closes. A socket that is closed with unread bytes in it is
// reset, and the reset may overtake the answer: a client that is still sending an oversized body,
// or a request after one that said close, would never see it.
type Conn struct {
	net.Conn
	// UserData is the handler's own, for the lifetime of the connection: requests of one connection
	// come one by one.
	UserData any

	guard    framing.Guard
	err      error  // of the last read
	buffered []byte // of a request that is not whole: see Read
	rest     []byte // of a body that was refused, what had come: see Content
	open     *Connections
	over     atomic.Bool // nobody waits for an answer: the line ended or failed, or it was idle

	opened time.Time
	begun  atomic.Bool // something has come

	// Of Connections.BodyBudget, for the body that is being read, and for those that are whole and
	// have not been dealt with: bytes of both may come in one piece.
	reading, whole atomic.Int64

	lent *[]byte // see lend; it belongs to the goroutine that serves the connection

	// The deadlines belong to the goroutine that serves the connection.
	served  time.Time // when the last request was whole; zero before the first
	fresh   bool      // nothing was written since
	readBy  time.Time // the deadlines that are set
	writeBy time.Time
	partial bool // part of a request has come, and readBy is that request's
}

// RequestRead notes when a request was whole: the time to take its answer and to send the next one
// begins there.
func (conn *Conn) RequestRead(at time.Time) {
	conn.served = at
	conn.fresh = true
}

// released notes that nothing holds the body of the last request any more.
func (conn *Conn) released() {
	// What came with it may be a part of the next body.
	conn.releaseBody(&conn.whole)
	if !conn.guard.InBody() || conn.guard.Fault() != nil {
		conn.releaseBody(&conn.reading)
	}
}

// ResponseReady notes when an answer was ready that took long: the time to take it begins there,
// and not when the request was whole.
func (conn *Conn) ResponseReady(at time.Time) { conn.served = at }

// ReserveBody takes room for n bytes of a body until its request has been dealt with, if there is
// some.
func (conn *Conn) ReserveBody(n int) bool {
	open := conn.open
	if open.BodyBudget == 0 {
		return true
	}

	// The buffer that it is read into is the next power of two.
	n = 1 << bits.Len(uint(n-1))
	if open.bodies.Add(int64(n)) > open.BodyBudget {
		open.bodies.Add(-int64(n))
		return false
	}

	// The body before this one is whole.
	conn.whole.Add(conn.reading.Swap(int64(n)))
	return true
}

// BodyBytes is how many bytes the larger bodies may come to that are being read or dealt with.
func (open *Connections) BodyBytes() int64 { return open.bodies.Load() }

// spares are buffers of answers, each for whoever makes the next one.
var spares = sync.Pool{New: func() any { return new([]byte) }}

// lendBuffer lets the connection write a large answer from its buffer and returns another buffer.
// fasthttp would keep it with the connection for as long as that lives, idle or not.
func (conn *Conn) lendBuffer(content []byte) (spare []byte) {
	conn.takeBack() // an answer is written before the next request is handled
	conn.lent, _ = spares.Get().(*[]byte)
	spare = *conn.lent
	*conn.lent = content
	return spare[:0]
}

// takeBack gives a lent buffer to others. Who reads on has written the answers before.
func (conn *Conn) takeBack() {
	if conn.lent != nil {
		spares.Put(conn.lent)
		conn.lent = nil
	}
}

// releaseBody gives room back. Connections end on other goroutines than their own, too.
func (conn *Conn) releaseBody(of *atomic.Int64) {
	if of.Load() != 0 {
		conn.open.bodies.Add(-of.Swap(0))
	}
}

// IsHead reports whether the request being read, or read last, has the method HEAD.
func (conn *Conn) IsHead() bool { return conn.guard.IsHead() }

// Err is why reading ended, where fasthttp may have made something else of it; nil when it did not
// end.
func (conn *Conn) Err() error { return conn.err }

// Read reads requests as far as they are good. It belongs to the goroutine that serves the
// connection.
//
// The beginning of a request whose body is still to come is handed on by itself: fasthttp writes no
// answers while it has bytes of another request, and would keep those to earlier requests back until
// the body is whole.
func (conn *Conn) Read(p []byte) (int, error) {
	conn.takeBack()
	if len(conn.buffered) > 0 {
		n := copy(p, conn.buffered)
		conn.buffered = conn.buffered[n:]
		return n, nil
	}
	conn.buffered = nil
	if fault := conn.guard.Fault(); fault != nil {
		return 0, fault
	}
	if err := conn.awaitRequest(); err != nil {
		return 0, err
	}

	n, err := conn.readOn(p)

	// A client that was slow is still there, and is told so.
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		conn.over.Store(true)
	}

	// What the guard refuses never reaches the parser.
	came := p[:n]
	n, fault := conn.guard.Check(came)
	if fault != nil {
		err = fault
		at, _ := conn.guard.Content()
		conn.rest = bytes.Clone(came[at:])
	}
	conn.err = err

	if begun := conn.guard.Begun(); err == nil && begun > 0 && conn.guard.InBody() {
		conn.buffered = bytes.Clone(p[begun:n])
		n = begun
	}
	return n, err
}

// Content is the body of the connection's last request by its length, readable until the request's
// deadline. It is nil where another request was refused, or one without a length.
func (conn *Conn) Content() io.Reader {
	_, length := conn.guard.Content()
	if length == 0 {
		return nil
	}
	return io.LimitReader(io.MultiReader(bytes.NewReader(conn.rest), conn.Conn), int64(length))
}

// awaitRequest sets the deadline of the next read. A request has its time from its first bytes on,
// the first one of a connection from the beginning. Between requests a client has about the idle
// time, a fifth less at worst: so the deadline is moved a few times a minute and not, as fasthttp
// would, twice a request, and the clock is not read for it.
func (conn *Conn) awaitRequest() error {
	idle := conn.guard.Idle()

	switch {
	case idle && !conn.served.IsZero():
		conn.partial = false
		if conn.readBy.Sub(conn.served) >= conn.open.Idle/5*4 {
			return nil
		}
		conn.readBy = conn.served.Add(conn.open.Idle)
	case conn.partial || idle && !conn.readBy.IsZero():
		return nil
	default:
		conn.partial = !idle
		conn.readBy = time.Now().Add(conn.open.Timeouts.Read)
	}

	return conn.SetReadDeadline(conn.readBy)
}

// Write writes answers. A client has the write time to take one, a third less at worst. Its time
// begins when the request was whole, so that the clock is not read again; what is left of an answer
// that does not fit the buffer begins anew.
func (conn *Conn) Write(p []byte) (int, error) {
	now := conn.served
	if !conn.fresh {
		now = time.Now()
	}
	conn.fresh = false

	if conn.writeBy.Sub(now) < conn.open.Timeouts.Write/3*2 {
		conn.writeBy = now.Add(conn.open.Timeouts.Write)
		if err := conn.SetWriteDeadline(conn.writeBy); err != nil {
			return 0, err
		}
	}

	n, err := conn.Conn.Write(p)
	if err != nil {
		conn.over.Store(true)
	}
	return n, err
}

// Close closes the connection. One whose other end still stands is closed for writing first, and
// wholly once the client has closed it, or after a short while, unless too many connections wait in
// this way.
func (conn *Conn) Close() error {
	conn.open.Remove(conn)

	// Without half a close, or with nobody at the other end, lingering is in vain.
	half, ok := conn.Conn.(interface{ CloseWrite() error })
	if conn.over.Load() || !ok {
		return conn.Conn.Close()
	}

	if conn.open.lingering.Add(1) > maxLingering || half.CloseWrite() != nil {
		conn.open.lingering.Add(-1)
		return conn.Conn.Close()
	}

	// Aside: whoever serves the connection is done with it.
	go func() {
		defer conn.open.lingering.Add(-1)
		defer func() { _ = conn.Conn.Close() }()
		if conn.SetReadDeadline(time.Now().Add(conn.open.Linger)) == nil {
			_, _ = io.CopyN(io.Discard, conn.Conn, lingerBytes) // until the client closes, the deadline or the bound
		}
	}()
	return nil
}

// RestoreHead restores the valid head of a failed request, so that the error uses the right
// surface. fasthttp forgets it. It is false when not even the request line is known.
func (conn *Conn) RestoreHead(req *fasthttp.Request) bool {
	line, rest, ok := bytes.Cut(conn.guard.Head(), crlf)
	if !ok {
		return false
	}

	method, target, _ := bytes.Cut(line, []byte{' '})
	target, _, _ = bytes.Cut(target, []byte{' '})
	req.Header.SetMethodBytes(method)
	req.SetRequestURIBytes(target)

	for line := range bytes.SplitSeq(rest, crlf) {
		if name, value, ok := bytes.Cut(line, []byte{':'}); ok {
			req.Header.AddBytesKV(name, bytes.Trim(value, " \t"))
		}
	}
	return true
}

var crlf = []byte("\r\n")

// Expectations receives each head before the body is read. fasthttp compares the expectation with
// its usual spelling, and would answer it to HTTP/1.0 clients, which do not know interim answers
// (RFC 9110, 10.1.1).
func Expectations(header *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if header.ContentLength() == noBody {
		return fasthttp.RequestConfig{}
	}

	switch value := header.Peek(fasthttp.HeaderExpect); {
	case len(value) == 0:
	case header.IsHTTP11():
		header.Set(fasthttp.HeaderExpect, "100-continue") // the guard lets nothing else pass
	default:
		header.Del(fasthttp.HeaderExpect)
	}
	return fasthttp.RequestConfig{}
}

// noBody is the ContentLength by which fasthttp tells a request that has neither header.
const noBody = -2
