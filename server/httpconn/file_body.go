package httpconn

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// minProgress is how much of a file a client must take in Timeouts.Progress. A whole file has no deadline:
	// an honest client may be slow, and one that takes nothing is not waited for.
	minProgress = 64 << 10
	// record is how much is written at a time where the system cannot send the file by itself: a record of TLS.
	record = 16 << 10
)

// FileBody is a part of a file as a response's body. The system sends it without copying it through this
// process, except over TLS.
type FileBody struct {
	conn *Conn // nil for a request without one
	rest io.LimitedReader
	done func() error
}

// NewFileBody returns the body of n bytes from where a file is. done is called once it was sent, or cannot
// be.
func (c *Call) NewFileBody(file *os.File, n int64, done func() error) *FileBody {
	conn, _ := c.Ctx.Conn().(*Conn)
	return &FileBody{conn: conn, rest: io.LimitedReader{R: file, N: n}, done: done}
}

// Read implements io.Reader.
func (b *FileBody) Read(p []byte) (int, error) { return b.rest.Read(p) }

// Close implements io.Closer.
func (b *FileBody) Close() error { return b.done() }

// WriteTo sends the rest of the part after what w has buffered.
func (b *FileBody) WriteTo(w io.Writer) (int64, error) {
	buffer, ok := w.(interface{ Flush() error })
	if b.conn == nil || !ok {
		return io.Copy(w, &b.rest)
	}
	if err := buffer.Flush(); err != nil {
		return 0, err
	}
	return b.conn.sendFile(&b.rest)
}

// sendFile sends a part of a file while the client makes progress.
func (conn *Conn) sendFile(part *io.LimitedReader) (sent int64, err error) {
	if err := conn.SetWriteDeadline(time.Time{}); err != nil {
		return 0, err
	}
	tcp, secured := conn.tcp()
	var written atomic.Int64
	stop := conn.watchProgress(func() int64 {
		if acknowledged, ok := bytesAcknowledged(tcp); ok {
			return acknowledged
		}
		return written.Load()
	})

	if tcp != nil && !secured {
		sent, err = tcp.ReadFrom(part)
	} else {
		sent, err = conn.copyRecords(part, &written)
	}

	stop()
	conn.writeBy = time.Time{} // the next response gets its own deadline
	if err != nil {
		conn.peerGone.Store(true)
		// What was not taken is dropped with the connection: the system would hold it for minutes.
		if tcp != nil {
			_ = tcp.SetLinger(0)
		}
	}
	return sent, err
}

// tcp returns the TCP connection below, nil for none, and whether TLS is in between.
func (conn *Conn) tcp() (tcp *net.TCPConn, secured bool) {
	inner := conn.Conn
	for {
		switch c := inner.(type) {
		case *net.TCPConn:
			return c, secured
		case *tls.Conn:
			secured = true
			inner = c.NetConn()
		case interface{ NetConn() net.Conn }:
			inner = c.NetConn()
		default:
			return nil, secured
		}
	}
}

// watchProgress ends writing once the client takes less than minProgress in the time that it has for that. The
// returned function ends the watch.
func (conn *Conn) watchProgress(taken func() int64) (stop func()) {
	var mu sync.Mutex
	ended := false
	last := taken()
	var timer *time.Timer
	check := func() {
		mu.Lock()
		defer mu.Unlock()
		now := taken()
		switch {
		case ended:
		case now-last < minProgress:
			_ = conn.SetWriteDeadline(time.Unix(1, 0)) // one that fails has ended already
		default:
			last = now
			timer.Reset(conn.connections.Progress)
		}
	}

	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(conn.connections.Progress, check)
	return func() {
		timer.Stop()
		// A check that runs now must not end the next response.
		mu.Lock()
		defer mu.Unlock()
		ended = true
	}
}

// records are buffers for a record each.
var records = sync.Pool{New: func() any { return new([record]byte) }}

// copyRecords writes a part of a file through memory, a record at a time.
func (conn *Conn) copyRecords(part *io.LimitedReader, written *atomic.Int64) (sent int64, err error) {
	buffer, _ := records.Get().(*[record]byte)
	defer records.Put(buffer)
	for {
		n, err := io.ReadFull(part, buffer[:])
		if n > 0 {
			m, failed := conn.Conn.Write(buffer[:n])
			sent = written.Add(int64(m))
			if failed != nil {
				return sent, failed
			}
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return sent, nil
		case err != nil:
			return sent, err
		}
	}
}
