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

// How connections end when the server does.
const (
	// firstByteTimeout is how long a connection may take from being opened to its first byte: a
	// client opens one because it has a request, which is on its way. TLS takes two rounds more.
	firstByteTimeout = time.Second
	// drainReadTimeout is how long an idle connection is read before it is ended: what its client
	// has sent is answered.
	drainReadTimeout = 5 * time.Millisecond
	// drainWriteTimeout is how long the end waits for clients that still read their last answer.
	drainWriteTimeout = 250 * time.Millisecond
	// endPoll is how often the end looks what is left.
	endPoll = 2 * time.Millisecond
)

// Listen returns a listener whose connections are checked and can be closed slowly. TLS lies below
// it.
func (open *Connections) Listen(inner net.Listener) net.Listener {
	guarded := &guarding{Listener: inner, open: open, close: sync.OnceValue(inner.Close), ended: make(chan struct{})}

	open.mu.Lock()
	defer open.mu.Unlock()
	open.listeners = append(open.listeners, guarded)
	if open.stopped {
		_ = guarded.Close() // so that its Accept ends
	}
	return guarded
}

type guarding struct {
	net.Listener
	open  *Connections
	close func() error // once
	end   sync.Once
	ended chan struct{} // closed when Accept has failed: no connection comes any more
}

// Accept waits for the next connection.
func (l *guarding) Accept() (net.Conn, error) {
	inner, err := l.Listener.Accept() // TLS, where there is some, is below
	if err != nil {
		l.end.Do(func() { close(l.ended) })
		return nil, err
	}

	return l.open.Guard(inner), nil
}

// Close closes the listener, once.
func (l *guarding) Close() error { return l.close() }

// StopListening closes all listeners and waits until what they accepted is in the set.
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

// Drain ends every connection that has no request in flight, the others once they have none, and
// waits until there is none left. A request is in flight from its first byte to the end of its
// answer.
func (open *Connections) Drain(ctx context.Context) error {
	open.ending.Store(true)
	open.wakeReaders()

	poll := time.NewTicker(endPoll)
	defer poll.Stop()
	var quiet time.Time // since when there is none left
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
		case <-poll.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// wakeReaders wakes whoever waits for bytes of a client, so that it looks whether it is to end.
func (open *Connections) wakeReaders() {
	open.mu.Lock()
	defer open.mu.Unlock()
	for conn := range open.all {
		at := time.Unix(1, 0)
		if !conn.begun.Load() {
			at = conn.opened.Add(firstByteTimeout)
		}
		_ = conn.Conn.SetReadDeadline(at) // one that fails has ended
	}
}

func (open *Connections) count() int {
	open.mu.Lock()
	defer open.mu.Unlock()
	return len(open.all)
}

// readOn reads from the client. While the server ends, an idle connection is read a last time and
// then told to be over; a request that has begun keeps the time that it had.
func (conn *Conn) readOn(p []byte) (int, error) {
	for {
		ending := conn.open.ending.Load()
		idle := conn.guard.Idle()
		var last time.Time
		if ending && idle {
			last = conn.lastCall()
			if err := conn.Conn.SetReadDeadline(last); err != nil {
				return 0, err
			}
		}

		n, err := conn.Conn.Read(p)
		if n > 0 {
			conn.begun.Store(true)
		}
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || !conn.open.ending.Load() {
			return n, err
		}

		switch {
		case idle && ending && !time.Now().Before(last):
			conn.over.Store(true)
			return 0, io.EOF
		case idle: // roused: it is read once more
		case !time.Now().Before(conn.readBy):
			return 0, err
		default:
			if err := conn.Conn.SetReadDeadline(conn.readBy); err != nil {
				return 0, err
			}
		}
	}
}

// lastCall is when an idle connection is over, while the server ends.
func (conn *Conn) lastCall() time.Time {
	at := time.Now().Add(drainReadTimeout)
	if young := conn.opened.Add(firstByteTimeout); !conn.begun.Load() && young.After(at) {
		return young
	}
	return at
}
