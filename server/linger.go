package server

import (
	"io"
	"net"
	"sync/atomic"
	"time"
)

// How long and how much a refused connection is read after its answer was written.
const (
	lingerTime  = 2 * time.Second
	lingerBytes = 4 << 20
)

// lingering accepts connections that can be closed slowly. A socket that is closed with unread bytes in it is reset,
// and the reset may overtake the answer: a client that is still sending an oversized body would never see the 413.
type lingering struct{ net.Listener }

func (l lingering) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &lingerConn{Conn: c}, nil
}

// lingerConn is a connection that, once told to linger, reads what still comes before it closes.
type lingerConn struct {
	net.Conn
	linger atomic.Bool
}

// Close closes the connection; when it lingers, after the client has read its answer or a short while.
func (c *lingerConn) Close() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !c.linger.Load() || !ok || half.CloseWrite() != nil {
		return c.Conn.Close()
	}
	go func() {
		defer func() { _ = c.Conn.Close() }()
		if c.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
			_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes) // until the client closes, the deadline or the bound
		}
	}()
	return nil
}
