// Package connlimit accepts TCP connections within bounds. If the system has no resources for another
// one, it waits and tries again: a temporary failure must not end the server.
package connlimit

import (
	"cmp"
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
	// Max is how many connections may be open at a time; 0 = no bound.
	Max int
	// MaxPerAddr is how many of them one address may have; 0 = no bound. An IPv6 network of 64 bits
	// counts as one address.
	MaxPerAddr int
	// Exempt reports whether MaxPerAddr does not apply to an address; nil exempts none.
	Exempt func(netip.Addr) bool
	// WriteBuffer is the size of the system's buffer for responses that a client does not read, in
	// bytes. 0 leaves it to the system, which uses megabytes.
	WriteBuffer int
	// Log receives refusals and accept errors, at most once a minute; nil disables it.
	Log *slog.Logger
}

// Reasons to refuse a connection.
const (
	AtMax        = iota // Max connections are open
	AtMaxPerAddr        // MaxPerAddr connections of the address are open
	reasons
)

// Stats are a Limiter's figures.
type Stats struct {
	Open    int
	Refused [reasons]uint64 // by reason
	Failed  uint64          // accepts that failed for lack of resources
}

// Limiter counts the connections of its listeners, from accept to close.
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
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
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

// Listen returns a listener that accepts the connections of l within the bounds.
func (limiter *Limiter) Listen(l net.Listener) net.Listener {
	closed, stop := context.WithCancel(context.Background())
	return &listener{Listener: l, limiter: limiter, closed: closed, stop: stop}
}

type listener struct {
	net.Listener
	limiter *Limiter
	closed  context.Context //nolint:containedctx // ends the pause of an Accept when the listener is closed
	stop    context.CancelFunc
}

// Close ends Accept, also while it pauses.
func (l *listener) Close() error {
	l.stop()
	return l.Listener.Close()
}

// How long Accept pauses after a failure of the system: longer each time, and short enough that a
// client hardly notices.
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

// transientErrors are the temporary failures of accept(2): there are no descriptors or no memory at
// present, or only the one connection failed.
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

// admit returns a counted connection, or closes it and returns nil.
func (limiter *Limiter) admit(c net.Conn) net.Conn {
	from := addressOf(c)
	tcp, _ := c.(*net.TCPConn)
	if !limiter.acquire(from) {
		// It is reset at once, without lingering: a flood must cost nothing.
		if tcp != nil {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
		return nil
	}

	// If setting the buffer fails, the connection is served with the one it has.
	if tcp != nil && limiter.WriteBuffer > 0 {
		_ = tcp.SetWriteBuffer(limiter.WriteBuffer)
	}
	return &Conn{Conn: c, tcp: tcp, limiter: limiter, addr: from}
}

// addressOf returns the address that a connection counts for; invalid for one without an IP address.
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

// acquire counts an opened connection, unless a bound is reached.
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

// release counts a closed connection.
func (limiter *Limiter) release(from netip.Addr) {
	limiter.mu.Lock()
	defer limiter.mu.Unlock()

	limiter.open--
	limiter.perAddr[from]--
	if limiter.perAddr[from] == 0 {
		delete(limiter.perAddr, from)
	}
}

// logInterval is the minimum time between two log lines.
const logInterval = time.Minute

// report logs refusals and failures since the last line. The caller holds mu.
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

// Conn is a connection that a Limiter counts.
type Conn struct {
	net.Conn
	tcp      *net.TCPConn // nil when it is something else
	limiter  *Limiter
	addr     netip.Addr
	released atomic.Bool
}

// Write writes. After an error, closing the connection drops the data that was not sent: the system
// would buffer it for minutes for a client that does not read.
func (c *Conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if err != nil && c.tcp != nil {
		_ = c.tcp.SetLinger(0)
	}
	return n, err
}

// NetConn returns the connection below, which sends files by itself.
func (c *Conn) NetConn() net.Conn { return c.Conn }

// CloseWrite closes the sending side, and leaves the receiving side open.
func (c *Conn) CloseWrite() error {
	if c.tcp == nil {
		return errors.ErrUnsupported
	}
	return c.tcp.CloseWrite()
}

// Close closes the connection, which then does not count any more.
func (c *Conn) Close() error {
	err := c.Conn.Close()
	if !c.released.Swap(true) {
		c.limiter.release(c.addr)
	}
	return err
}
