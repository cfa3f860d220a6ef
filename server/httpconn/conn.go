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
	// MaxHeader limits a request's line and headers: 431 beyond it.
	MaxHeader = 16 << 10
	// maxFields limits the header lines, as the usual proxies do: each look-up of a header reads
	// all of them.
	maxFields = 100
	// MaxUnauthenticatedBody is the largest body accepted without a valid key. It lets a mistaken
	// client keep its connection.
	MaxUnauthenticatedBody = 8 << 10
)

var requestLimits = framing.Limits{
	Head: MaxHeader, Fields: maxFields, Body: MaxBody,
	Unauthenticated: MaxUnauthenticatedBody,
}

// Limits of lingering: reading what a client still sends after the last response.
const (
	lingerBytes = 4 << 20
	// maxLingering limits the connections that linger at a time: each is a descriptor and a
	// goroutine. Beyond it a connection is closed at once, as by a server that does not linger.
	maxLingering = 1024
)

// Timeouts are a connection's read, write, idle and linger timeouts, and the time for minProgress of a file. They
// free connections of clients that send or read too slowly, and let Shutdown end.
type Timeouts struct{ Read, Write, Idle, Linger, Progress time.Duration }

// DefaultTimeouts are the timeouts of a new server.
var DefaultTimeouts = Timeouts{
	Read: 15 * time.Second, Write: 30 * time.Second, Idle: 75 * time.Second, Linger: 2 * time.Second,
	Progress: 10 * time.Second,
}

// Connections is the set of open connections. Drain ends them, and CloseAll closes them at once.
type Connections struct {
	Timeouts
	// AllowLargeBody reports whether a request may have a body larger than MaxUnauthenticatedBody;
	// [Conn.RestoreHead] has its head. Nil allows all.
	AllowLargeBody func(*Conn) bool
	// BodyBudget limits the memory of all bodies larger than MaxUnauthenticatedBody, from their
	// heads until their requests are done; 0 is no limit.
	BodyBudget int64

	mu        sync.Mutex
	all       map[*Conn]struct{}
	listeners []*listener
	stopped   bool // StopListening was called

	draining  atomic.Bool // see Drain
	lingering atomic.Int32
	bodyBytes atomic.Int64 // see BodyBytes
}

// Guard adds a connection to the set. Close removes it.
func (open *Connections) Guard(inner net.Conn) *Conn {
	guarded := &Conn{Conn: inner, guard: framing.Guard{Limits: &requestLimits}, connections: open, opened: time.Now()}
	guarded.guard.AllowLargeBody = func() bool { return open.AllowLargeBody == nil || open.AllowLargeBody(guarded) }
	guarded.guard.ReserveBody = guarded.ReserveBody

	open.mu.Lock()
	defer open.mu.Unlock()
	if open.all == nil {
		open.all = map[*Conn]struct{}{}
	}
	open.all[guarded] = struct{}{}

	return guarded
}

// Remove removes a connection from the set without closing it.
func (open *Connections) Remove(conn *Conn) {
	conn.releaseBody(&conn.wholeBytes)
	conn.releaseBody(&conn.readingBytes)

	open.mu.Lock()
	defer open.mu.Unlock()
	delete(open.all, conn)
}

// CloseAll closes every connection of the set at once.
func (open *Connections) CloseAll() {
	open.mu.Lock()
	defer open.mu.Unlock()
	for conn := range open.all {
		_ = conn.Conn.Close()
	}
}

// Conn is a connection whose requests are checked before they are parsed (package framing), and
// that lingers: it reads what still comes before it closes. A socket that is closed with unread
// bytes is reset, and the reset may overtake the response. A client that is still sending an
// oversized body, or a request after one that said close, would never see it.
type Conn struct {
	net.Conn
	// UserData belongs to the handler, for the lifetime of the connection: requests of one
	// connection come one by one.
	UserData any

	guard       framing.Guard
	err         error  // of the last Read
	buffered    []byte // bytes of an incomplete request: see Read
	refusedBody []byte // received part of a refused body: see Content
	connections *Connections
	peerGone    atomic.Bool // the client waits for no response: the connection ended, failed or was idle

	opened        time.Time
	firstByteRead atomic.Bool // the first byte has come

	// Parts of Connections.BodyBudget: of the body that is being read, and of complete bodies whose
	// requests are not done. Bytes of both may come in one piece.
	readingBytes, wholeBytes atomic.Int64

	lent *[]byte // see lendBuffer; it belongs to the goroutine that serves the connection

	// The deadlines belong to the goroutine that serves the connection.
	requestReadAt time.Time // when the last request was complete; zero before the first
	clockUsable   bool      // nothing was written since, so requestReadAt is the time of the next write
	readBy        time.Time // the deadlines that are set now
	writeBy       time.Time
	inRequest     bool // part of a request has come, and readBy is its deadline
}

// RequestRead records when a request was complete: the time to read its response and to send the
// next request begins there.
func (conn *Conn) RequestRead(at time.Time) {
	conn.requestReadAt = at
	conn.clockUsable = true
}

// requestDone releases the budget of the last request's body.
func (conn *Conn) requestDone() {
	// The last Read may have returned a part of the next body as well.
	conn.releaseBody(&conn.wholeBytes)
	if !conn.guard.InBody() || conn.guard.Fault() != nil {
		conn.releaseBody(&conn.readingBytes)
	}
}

// ResponseReady records when a late response was ready: the time to read it begins there, and not
// when the request was complete.
func (conn *Conn) ResponseReady(at time.Time) { conn.requestReadAt = at }

// ReserveBody reserves n bytes of the budget for a body until its request is done, and reports
// whether there were enough.
func (conn *Conn) ReserveBody(n int) bool {
	open := conn.connections
	if open.BodyBudget == 0 {
		return true
	}

	// Its buffer has the next power of two.
	n = 1 << bits.Len(uint(n-1))
	if open.bodyBytes.Add(int64(n)) > open.BodyBudget {
		open.bodyBytes.Add(-int64(n))
		return false
	}

	// The body before this one is complete.
	conn.wholeBytes.Add(conn.readingBytes.Swap(int64(n)))
	return true
}

// BodyBytes returns how many bytes of the budget are reserved.
func (open *Connections) BodyBytes() int64 { return open.bodyBytes.Load() }

// spareBuffers are buffers for responses.
var spareBuffers = sync.Pool{New: func() any { return new([]byte) }}

// lendBuffer lets the connection write a large response from its buffer and returns another buffer.
// fasthttp would retain it with the connection, idle or not.
func (conn *Conn) lendBuffer(content []byte) (spare []byte) {
	conn.recycleBuffer() // the last response was written before this request was handled
	conn.lent, _ = spareBuffers.Get().(*[]byte)
	spare = *conn.lent
	*conn.lent = content
	return spare[:0]
}

// recycleBuffer makes a lent buffer available to others. At the next Read all responses are
// written.
func (conn *Conn) recycleBuffer() {
	if conn.lent != nil {
		spareBuffers.Put(conn.lent)
		conn.lent = nil
	}
}

// releaseBody releases a reserved part of the budget. Connections end on other goroutines than
// their own, too.
func (conn *Conn) releaseBody(of *atomic.Int64) {
	if of.Load() != 0 {
		conn.connections.bodyBytes.Add(-of.Swap(0))
	}
}

// IsHead reports whether the current or last request has the method HEAD.
func (conn *Conn) IsHead() bool { return conn.guard.IsHead() }

// Err returns the error that ended reading, nil if it did not end. fasthttp may return another
// error for it.
func (conn *Conn) Err() error { return conn.err }

// Read reads requests as far as they are valid. It belongs to the goroutine that serves the
// connection.
//
// It returns the beginning of a request whose body is incomplete separately: fasthttp writes no
// responses while it has bytes of another request, and would delay earlier responses until the body
// is complete.
func (conn *Conn) Read(p []byte) (int, error) {
	conn.recycleBuffer()
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

	n, err := conn.readFromClient(p)

	// A client that was too slow is still there, and gets a response.
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		conn.peerGone.Store(true)
	}

	// Bytes that the guard refuses never reach the parser.
	came := p[:n]
	n, fault := conn.guard.Check(came)
	if fault != nil {
		err = fault
		at, _ := conn.guard.Content()
		conn.refusedBody = bytes.Clone(came[at:])
	}
	conn.err = err

	if begun := conn.guard.RequestStart(); err == nil && begun > 0 && conn.guard.InBody() {
		conn.buffered = bytes.Clone(p[begun:n])
		n = begun
	}
	return n, err
}

// Content returns the body of a request that was refused for its length, readable until the
// request's deadline. It is nil if a request was refused for another reason or has no length.
func (conn *Conn) Content() io.Reader {
	_, length := conn.guard.Content()
	if length == 0 {
		return nil
	}
	return io.LimitReader(io.MultiReader(bytes.NewReader(conn.refusedBody), conn.Conn), int64(length))
}

// awaitRequest sets the deadline of the next read. A request has its time from its first bytes on,
// the first one of a connection from the start. Between requests a client has about the idle time,
// a fifth less at worst. So the deadline is moved a few times a minute without reading the clock;
// fasthttp would move it twice a request.
func (conn *Conn) awaitRequest() error {
	idle := conn.guard.Idle()

	switch {
	case idle && !conn.requestReadAt.IsZero():
		conn.inRequest = false
		if conn.readBy.Sub(conn.requestReadAt) >= conn.connections.Idle/5*4 {
			return nil
		}
		conn.readBy = conn.requestReadAt.Add(conn.connections.Idle)
	case conn.inRequest || idle && !conn.readBy.IsZero():
		return nil
	default:
		conn.inRequest = !idle
		conn.readBy = time.Now().Add(conn.connections.Timeouts.Read)
	}

	return conn.SetReadDeadline(conn.readBy)
}

// Write writes responses. A client has the write time to read one, a third less at worst. Its time
// begins when the request was complete, so that the clock is not read again. The rest of a response
// that does not fit the buffer gets a new write time.
func (conn *Conn) Write(p []byte) (int, error) {
	now := conn.requestReadAt
	if !conn.clockUsable {
		now = time.Now()
	}
	conn.clockUsable = false

	if conn.writeBy.Sub(now) < conn.connections.Timeouts.Write/3*2 {
		conn.writeBy = now.Add(conn.connections.Timeouts.Write)
		if err := conn.SetWriteDeadline(conn.writeBy); err != nil {
			return 0, err
		}
	}

	n, err := conn.Conn.Write(p)
	if err != nil {
		conn.peerGone.Store(true)
	}
	return n, err
}

// Close closes the connection. If the client may still send, it is closed for writing first, and
// completely once the client has closed it, or after a short while. It does not linger if too many
// connections do.
func (conn *Conn) Close() error {
	conn.connections.Remove(conn)

	// Lingering needs a half close and a client at the other end.
	half, ok := conn.Conn.(interface{ CloseWrite() error })
	if conn.peerGone.Load() || !ok {
		return conn.Conn.Close()
	}

	if conn.connections.lingering.Add(1) > maxLingering || half.CloseWrite() != nil {
		conn.connections.lingering.Add(-1)
		return conn.Conn.Close()
	}

	// In the background: the goroutine that serves the connection is done with it.
	go func() {
		defer conn.connections.lingering.Add(-1)
		defer func() { _ = conn.Conn.Close() }()
		if conn.SetReadDeadline(time.Now().Add(conn.connections.Linger)) == nil {
			_, _ = io.CopyN(io.Discard, conn.Conn, lingerBytes) // until the client closes, the deadline or lingerBytes
		}
	}()
	return nil
}

// RestoreHead copies the valid head of a failed request, which fasthttp drops, to req, so that the
// error uses the right surface. It is false if not even the request line is known.
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

// HeaderReceived is called for each head before the body is read. fasthttp compares an expectation
// with its usual spelling, and would answer it to HTTP/1.0 clients, which do not know interim
// responses (RFC 9110, 10.1.1).
func HeaderReceived(header *fasthttp.RequestHeader) fasthttp.RequestConfig {
	switch {
	case header.ContentLength() == noBody, len(header.Peek(fasthttp.HeaderExpect)) == 0:
	case header.IsHTTP11():
		header.Set(fasthttp.HeaderExpect, "100-continue") // the guard allows no other value
	default:
		header.Del(fasthttp.HeaderExpect)
	}
	return fasthttp.RequestConfig{}
}

// noBody is fasthttp's ContentLength of a request that has neither header.
const noBody = -2
