package front

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
	// youth is how long a connection may take from being opened to its first byte: a client opens
	// one because it has a request, which is on its way. TLS takes two rounds more.
	youth = time.Second
	// lastLook is how long an idle connection is read before it is ended: what its client has sent
	// is answered.
	lastLook = 5 * time.Millisecond
	// lastWords is how long the end waits for clients that still read their last answer.
	lastWords = 250 * time.Millisecond
	// endPoll is how often the end looks what is left.
	endPoll = 2 * time.Millisecond
)

// Listen returns a listener whose connections are checked and can be closed slowly. TLS lies below
// it.
func (o *Connections) Listen(l net.Listener) net.Listener {
	guarded := &guarding{Listener: l, open: o, ended: make(chan struct{})}

	o.mu.Lock()
	defer o.mu.Unlock()
	o.listeners = append(o.listeners, guarded)
	if o.stopped {
		_ = guarded.Close() // so that its Accept ends
	}
	return guarded
}

type guarding struct {
	net.Listener
	open  *Connections
	close sync.Once
	end   sync.Once
	ended chan struct{} // closed when Accept has failed: no connection comes any more
}

// Accept waits for the next connection.
func (l *guarding) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept() // TLS, where there is some, is below
	if err != nil {
		l.end.Do(func() { close(l.ended) })
		return nil, err
	}

	return l.open.Guard(c), nil
}

// Close closes the listener, once.
func (l *guarding) Close() (err error) {
	l.close.Do(func() { err = l.Listener.Close() })
	return err
}

// Stop closes all listeners and waits until what they accepted is in the set.
func (o *Connections) Stop(ctx context.Context) (err error) {
	o.mu.Lock()
	o.stopped = true
	listeners := o.listeners
	o.mu.Unlock()

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

// End ends every connection that has no request in flight, the others once they have none, and
// waits until there is none left. A request is in flight from its first byte to the end of its
// answer.
func (o *Connections) End(ctx context.Context) error {
	o.ending.Store(true)
	o.rouse()

	poll := time.NewTicker(endPoll)
	defer poll.Stop()
	var quiet time.Time // since when there is none left
	for {
		switch {
		case o.count() > 0:
		case o.lingering.Load() == 0:
			return nil
		case quiet.IsZero():
			quiet = time.Now()
		case time.Since(quiet) >= lastWords:
			return nil
		}

		select {
		case <-poll.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// rouse wakes whoever waits for bytes of a client, so that it looks whether it is to end.
func (o *Connections) rouse() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for c := range o.all {
		at := time.Unix(1, 0)
		if !c.begun.Load() {
			at = c.opened.Add(youth)
		}
		_ = c.Conn.SetReadDeadline(at) // one that fails has ended
	}
}

func (o *Connections) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.all)
}

// readOn reads from the client. While the server ends, an idle connection is read a last time and
// then told to be over; a request that has begun keeps the time that it had.
func (c *Conn) readOn(p []byte) (int, error) {
	for {
		ending := c.open.ending.Load()
		idle := c.guard.Idle()
		var last time.Time
		if ending && idle {
			last = c.lastCall()
			if err := c.Conn.SetReadDeadline(last); err != nil {
				return 0, err
			}
		}

		n, err := c.Conn.Read(p)
		if n > 0 {
			c.begun.Store(true)
		}
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || !c.open.ending.Load() {
			return n, err
		}

		switch {
		case idle && ending && !time.Now().Before(last):
			c.over.Store(true)
			return 0, io.EOF
		case idle: // roused: it is read once more
		case !time.Now().Before(c.readBy):
			return 0, err
		default:
			if err := c.Conn.SetReadDeadline(c.readBy); err != nil {
				return 0, err
			}
		}
	}
}

// lastCall is when an idle connection is over, while the server ends.
func (c *Conn) lastCall() time.Time {
	at := time.Now().Add(lastLook)
	if young := c.opened.Add(youth); !c.begun.Load() && young.After(at) {
		return young
	}
	return at
}
