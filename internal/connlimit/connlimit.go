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
	mu      sync.Mutex
	open    int
	perAddr map[netip.Addr]int
	stats   Stats
	logged  struct {
		at time.Time
		Stats
	}
}

// New returns a Limiter.
func New(o Options) *Limiter {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Limiter{Options: o, perAddr: map[netip.Addr]int{}}
}

// Stats returns the figures so far.
func (limiter *Limiter) Stats() Stats {
	limiter.mu.Lock()
	defer limiter.mu.Unlock()

	s := limiter.stats
	s.Open = limiter.open
	return s
}

// Listen returns a listener that takes the connections of l through the door.
func (limiter *Limiter) Listen(l net.Listener) net.Listener {
	closed, stop := context.WithCancel(context.Background())
	return &listener{Listener: l, limiter: limiter, closed: closed, stop: stop}
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
func (limiter *Limiter) failed(cause error) {
	limiter.mu.Lock()
	defer limiter.mu.Unlock()
	limiter.stats.Failed++
	limiter.report(slog.Any("cause", cause))
}

// admit takes a connection in, or closes it and returns nil.
func (limiter *Limiter) admit(c net.Conn) net.Conn {
	from := addressOf(c)
	tcp, _ := c.(*net.TCPConn)
	if !limiter.acquire(from) {
		// At once, and without anything of it being left: a flood is the last to be waited for.
		if tcp != nil {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
		return nil
	}

	// A connection that has no such buffer is served with the one it has.
	if tcp != nil && limiter.WriteBuffer > 0 {
		_ = tcp.SetWriteBuffer(limiter.WriteBuffer)
	}
	return &Conn{Conn: c, tcp: tcp, limiter: limiter, addr: from}
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
func (limiter *Limiter) acquire(from netip.Addr) bool {
	limiter.mu.Lock()
	defer limiter.mu.Unlock()

	full := limiter.Max > 0 && limiter.open >= limiter.Max
	busy := limiter.MaxPerAddr > 0 && from.IsValid() && limiter.perAddr[from] >= limiter.MaxPerAddr &&
		(limiter.Exempt == nil || !limiter.Exempt(from))
	switch {
	case full:
		limiter.stats.Refused[AtMax]++
		limiter.report()
		return false
	case busy:
		limiter.stats.Refused[AtMaxPerAddr]++
		limiter.report(slog.String("address", from.String()))
		return false
	}

	limiter.open++
	limiter.perAddr[from]++
	return true
}

// release counts a connection out.
func (limiter *Limiter) release(from netip.Addr) {
	limiter.mu.Lock()
	defer limiter.mu.Unlock()

	limiter.open--
	limiter.perAddr[from]--
	if limiter.perAddr[from] == 0 {
		delete(limiter.perAddr, from)
	}
}

// logInterval is how long the log is not told again.
const logInterval = time.Minute

// report logs what was refused and what failed since the last line. The door is locked.
func (limiter *Limiter) report(what ...slog.Attr) {
	now := time.Now()
	if !limiter.logged.at.IsZero() && now.Sub(limiter.logged.at) < logInterval {
		return
	}

	last := limiter.logged.Stats
	limiter.logged.at = now
	limiter.logged.Stats = limiter.stats
	what = append(what, slog.Int("open", limiter.open), slog.Int("most", limiter.Max),
		slog.Int("most_of_an_address", limiter.MaxPerAddr),
		slog.Uint64("refused_full", limiter.stats.Refused[AtMax]-last.Refused[AtMax]),
		slog.Uint64("refused_by_address", limiter.stats.Refused[AtMaxPerAddr]-last.Refused[AtMaxPerAddr]),
		slog.Uint64("failed", limiter.stats.Failed-last.Failed))
	limiter.Log.LogAttrs(context.Background(), slog.LevelWarn, "connections are refused or cannot be accepted", what...)
}

// Conn is a connection that came through a door.
type Conn struct {
	net.Conn
	tcp      *net.TCPConn // nil when it is something else
	limiter  *Limiter
	addr     netip.Addr
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
		c.limiter.release(c.addr)
	}
	return err
}
