package httpconn

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// Times of Drain.
const (
	// firstByteTimeout is how long a connection may take from its start to its first byte: a client
	// opens one because it has a request, which is on its way. TLS takes two round trips more.
	firstByteTimeout = time.Second
	// drainReadTimeout is how long an idle connection is read before it is closed: a request that
	// its client has sent is answered.
	drainReadTimeout = 5 * time.Millisecond
	// drainWriteTimeout is how long Drain waits for clients that still read their last response.
	drainWriteTimeout = 250 * time.Millisecond
	// drainPollInterval is the time between two checks for remaining connections.
	drainPollInterval = 2 * time.Millisecond
)

// Listen returns a listener whose connections are checked and linger. TLS is in inner.
func (open *Connections) Listen(inner net.Listener) net.Listener {
	guarded := &listener{Listener: inner, open: open, close: sync.OnceValue(inner.Close), ended: make(chan struct{})}

	open.mu.Lock()
	defer open.mu.Unlock()
	open.listeners = append(open.listeners, guarded)
	if open.stopped {
		_ = guarded.Close() // so that its Accept returns
	}
	return guarded
}

// listener is a listener whose connections are in the set.
type listener struct {
	net.Listener
	open  *Connections
	close func() error // once
	end   sync.Once
	ended chan struct{} // closed when Accept has failed: no connection follows
}

// Accept waits for the next connection.
func (l *listener) Accept() (net.Conn, error) {
	inner, err := l.Listener.Accept() // of TLS, if there is any
	if err != nil {
		l.end.Do(func() { close(l.ended) })
		return nil, err
	}

	return l.open.Guard(inner), nil
}

// Close closes the listener, once.
func (l *listener) Close() error { return l.close() }

// StopListening closes all listeners and waits until their accepted connections are in the set.
func (open *Connections) StopListening(ctx context.Context) (err error) {
	open.mu.Lock()
	open.stopped = true
	listeners := open.listeners
	open.mu.Unlock()

	for _, l := range listeners {
		err = errors.Join(err, l.Close())
	}
	for _, l := range listeners {
		select {
		case <-l.ended:
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
	return err
}

// Drain ends every connection without a request in flight, the others once they have none, and
// waits until none is left. A request is in flight from its first byte to the end of its response.
func (open *Connections) Drain(ctx context.Context) error {
	open.draining.Store(true)
	open.wakeReaders()

	poll := time.Tick(drainPollInterval)
	var quiet time.Time // since when none is left
	for {
		switch {
		case open.count() > 0:
		case open.lingering.Load() == 0:
			return nil
		case quiet.IsZero():
			quiet = time.Now()
		case time.Since(quiet) >= drainWriteTimeout:
			return nil
		}

		select {
		case <-poll:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// wakeReaders wakes all readers that wait for bytes of a client, so that they check whether to end.
func (open *Connections) wakeReaders() {
	open.mu.Lock()
	defer open.mu.Unlock()
	for conn := range open.all {
		at := time.Unix(1, 0)
		if !conn.firstByteRead.Load() {
			at = conn.opened.Add(firstByteTimeout)
		}
		_ = conn.Conn.SetReadDeadline(at) // one that fails has ended already
	}
}

func (open *Connections) count() int {
	open.mu.Lock()
	defer open.mu.Unlock()
	return len(open.all)
}

// readFromClient reads from the client. During Drain, an idle connection is read a last time and
// then ends; a request that has begun keeps its deadline.
func (conn *Conn) readFromClient(p []byte) (int, error) {
	for {
		ending := conn.connections.draining.Load()
		idle := conn.guard.Idle()
		var last time.Time
		if ending && idle {
			last = conn.drainDeadline()
			if err := conn.Conn.SetReadDeadline(last); err != nil {
				return 0, err
			}
		}

		n, err := conn.Conn.Read(p)
		if n > 0 {
			conn.firstByteRead.Store(true)
		}
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || !conn.connections.draining.Load() {
			return n, err
		}

		switch {
		case idle && ending && !time.Now().Before(last):
			conn.peerGone.Store(true)
			return 0, io.EOF
		case idle: // woken: it is read once more
		case !time.Now().Before(conn.readBy):
			return 0, err
		default:
			if err := conn.Conn.SetReadDeadline(conn.readBy); err != nil {
				return 0, err
			}
		}
	}
}

// drainDeadline returns when an idle connection ends during Drain.
func (conn *Conn) drainDeadline() time.Time {
	at := time.Now().Add(drainReadTimeout)
	if young := conn.opened.Add(firstByteTimeout); !conn.firstByteRead.Load() && young.After(at) {
		return young
	}
	return at
}
