package httpconn

import (
	"crypto/tls"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// minProgress is how much of a file a client must take in Timeouts.Progress. A whole file has no deadline:
// an honest client may be slow, and one that takes nothing is not waited for.
const minProgress = 64 << 10

// FileBody is a part of a file as a response's body. The system sends it without copying it through this
// process, except over TLS.
type FileBody struct {
	conn *Conn // nil for a request without one
	rest io.LimitedReader
	done func() error
}

// NewFileBody returns the body of n bytes from where a file is, for a client's connection. done is called once it
// was sent, or cannot be.
func NewFileBody(client net.Conn, file *os.File, n int64, done func() error) *FileBody {
	conn, _ := client.(*Conn) // a test may have another
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
	to := io.Writer(conn.Conn)
	if tcp != nil && !secured {
		to = tcp // the system sends the file
	}

	if _, known := bytesAcknowledged(tcp); known {
		stop := conn.watchProgress(tcp)
		sent, err = io.Copy(to, part)
		stop()
	}
	// If the system does not report the acknowledged bytes, each written piece has a deadline.
	for err == nil && part.N > 0 {
		_ = conn.SetWriteDeadline(time.Now().Add(conn.connections.Progress)) // one that fails has ended already
		var n int64
		n, err = io.CopyN(to, part, min(part.N, minProgress))
		sent += n
	}
	conn.writeBy = time.Time{} // the next response gets its own deadline
	if err != nil {
		conn.peerGone.Store(true)
		// Bytes that were not taken are dropped with the connection: the system would hold them for
		// minutes.
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
func (conn *Conn) watchProgress(tcp *net.TCPConn) (stop func()) {
	ending := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		for last, _ := bytesAcknowledged(tcp); ; {
			select {
			case <-ending:
				return
			case <-time.After(conn.connections.Progress):
			}
			now, _ := bytesAcknowledged(tcp)
			if now-last < minProgress {
				_ = conn.SetWriteDeadline(time.Unix(1, 0)) // one that fails has ended already
				return
			}
			last = now
		}
	})

	// A look at the client that is under way must not end the next response.
	return func() { close(ending); watch.Wait() }
}
