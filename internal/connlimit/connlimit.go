// Package connlimit accepts TCP connections within bounds. When the system cannot give another one,
// it waits and goes on: what ends by itself must not end the server.
package connlimit

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Options are the bounds of a Limiter.
type Options struct {
	// Max is how many connections may be open at a time; 0 is no bound.
	Max int
	// MaxPerAddr is how many of them one address may have; 0 is no bound. An IPv6 network of 64
	// bits is one address.
	MaxPerAddr int
	// Exempt reports whether Each does not hold for an address; nil exempts none.
	Exempt func(netip.Addr) bool
	// WriteBuffer is what the system may buffer of answers that a client does not take, in bytes. 0
	// leaves it to the system, which takes megabytes.
	WriteBuffer int
	// Log receives refusals and accept errors, at most once a minute; nil disables it.
	Log *slog.Logger
}

// Reasons to refuse a connection.
const (
	AtMax        = iota // Most connections are open
	AtMaxPerAddr        // Each of them are the address's
	reasons
)

// Stats are a Limiter's figures.
type Stats struct {
	Open    int
	Refused [reasons]uint64 // by reason
	Failed  uint64          // tries to accept that the system could not serve
}

// Limiter counts the connections of its listeners, from being accepted to being closed.
type Limiter struct {
	Options
	mu     sync.Mutex
	open   int
	from   map[netip.Addr]int
	stats  Stats
	logged struct {
		at time.Time
		Stats
	}
}

// New returns a Limiter.
func New(o Options) *Limiter {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Limiter{Options: o, from: map[netip.Addr]int{}}
}

// Stats returns the figures so far.
func (d *Limiter) Stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()

	s := d.stats
	s.Open = d.open
	return s
}

// Listen returns a listener that takes the connections of l through the door.
func (d *Limiter) Listen(l net.Listener) net.Listener {
	closed, stop := context.WithCancel(context.Background())
	return &listener{Listener: l, limiter: d, closed: closed, stop: stop}
}

type listener struct {
	net.Listener
	limiter *Limiter
	closed  context.Context //nolint:containedctx // it ends the pause of an Accept when the listener is closed
	stop    context.CancelFunc
}

// Close ends Accept, also while it pauses.
func (l *listener) Close() error {
	l.stop()
	return l.Listener.Close()
}

// How long Accept pauses when the system cannot give a connection: longer each time, and short
// enough that a client hardly notices that it was over.
const (
	minPause = 5 * time.Millisecond
	maxPause = 250 * time.Millisecond
)

// Accept waits for the next connection that is within the bounds.
func (l *listener) Accept() (net.Conn, error) {
	pause := minPause
	for {
		c, err := l.Listener.Accept()
		if err == nil {
			if admitted := l.limiter.admit(c); admitted != nil {
				return admitted, nil
			}
			pause = minPause
			continue
		}
		if !slices.ContainsFunc(transientErrors, func(one error) bool { return errors.Is(err, one) }) {
			return nil, err
		}

		l.limiter.failed(err)
		select {
		case <-l.closed.Done():
			return nil, net.ErrClosed
		case <-time.After(pause):
		}
		pause = min(2*pause, maxPause)
	}
}

// transientErrors are the failures of accept(2) that pass: there are no descriptors or no memory at
// the moment, or what failed is the one connection.
var transientErrors = []error{
	syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
	syscall.ECONNABORTED, syscall.EPROTO, syscall.EPERM, syscall.ENETDOWN, syscall.ENETUNREACH, syscall.EHOSTDOWN,
	syscall.EHOSTUNREACH, syscall.ENOPROTOOPT, syscall.EOPNOTSUPP, syscall.ETIMEDOUT,
}

// failed counts a failure of accept.
func (d *Limiter) failed(cause error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stats.Failed++
	d.report(slog.Any("cause", cause))
}

// admit takes a connection in, or closes it and returns nil.
func (d *Limiter) admit(c net.Conn) net.Conn {
	from := addressOf(c)
	tcp, _ := c.(*net.TCPConn)
	if !d.acquire(from) {
		// At once, and without anything of it being left: a flood is the last to be waited for.
		if tcp != nil {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
		return nil
	}

	// A connection that has no such buffer is served with the one it has.
	if tcp != nil && d.WriteBuffer > 0 {
		_ = tcp.SetWriteBuffer(d.WriteBuffer)
	}
	return &Conn{Conn: c, tcp: tcp, limiter: d, from: from}
}

// addressOf is what a connection counts as; invalid for one without an IP address.
func addressOf(c net.Conn) netip.Addr {
	remote, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}

	a := remote.AddrPort().Addr().Unmap().WithZone("")
	if a.Is6() {
		prefix, _ := a.Prefix(64) // 64 is a valid length
		a = prefix.Addr()
	}
	return a
}

// acquire counts a connection in, unless a bound is reached.
func (d *Limiter) acquire(from netip.Addr) bool {
	d.mu.Lock()
	defer d.mu.Unlock()

	full := d.Max > 0 && d.open >= d.Max
	busy := d.MaxPerAddr > 0 && from.IsValid() && d.from[from] >= d.MaxPerAddr && (d.Exempt == nil || !d.Exempt(from))
	switch {
	case full:
		d.stats.Refused[AtMax]++
		d.report()
		return false
	case busy:
		d.stats.Refused[AtMaxPerAddr]++
		d.report(slog.String("address", from.String()))
		return false
	}

	d.open++
	d.from[from]++
	return true
}

// release counts a connection out.
func (d *Limiter) release(from netip.Addr) {
	d.mu.Lock()
	defer d.mu.Unlock()

	d.open--
	d.from[from]--
	if d.from[from] == 0 {
		delete(d.from, from)
	}
}

// logInterval is how long the log is not told again.
const logInterval = time.Minute

// report logs what was refused and what failed since the last line. The door is locked.
func (d *Limiter) report(what ...slog.Attr) {
	now := time.Now()
	if !d.logged.at.IsZero() && now.Sub(d.logged.at) < logInterval {
		return
	}

	last := d.logged.Stats
	d.logged.at = now
	d.logged.Stats = d.stats
	what = append(what, slog.Int("open", d.open), slog.Int("most", d.Max), slog.Int("most_of_an_address", d.MaxPerAddr),
		slog.Uint64("refused_full", d.stats.Refused[AtMax]-last.Refused[AtMax]),
		slog.Uint64("refused_by_address", d.stats.Refused[AtMaxPerAddr]-last.Refused[AtMaxPerAddr]),
		slog.Uint64("failed", d.stats.Failed-last.Failed))
	d.Log.LogAttrs(context.Background(), slog.LevelWarn, "connections are refused or cannot be accepted", what...)
}

// Conn is a connection that came through a door.
type Conn struct {
	net.Conn
	tcp      *net.TCPConn // nil when it is something else
	limiter  *Limiter
	from     netip.Addr
	released atomic.Bool
}

// Write writes. When that fails, closing the connection throws away what was not taken: the system
// would keep it for a client that is not reading, for minutes.
func (c *Conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if err != nil && c.tcp != nil {
		_ = c.tcp.SetLinger(0)
	}
	return n, err
}

// CloseWrite ends what is sent, and leaves open what is received.
func (c *Conn) CloseWrite() error {
	if c.tcp == nil {
		return errors.ErrUnsupported
	}
	return c.tcp.CloseWrite()
}

// Close closes the connection, which then counts no more.
func (c *Conn) Close() error {
	err := c.Conn.Close()
	if !c.released.Swap(true) {
		c.limiter.release(c.from)
	}
	return err
}
