package connlimit

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// scripted is a listener that gives what a test says.
type scripted struct {
	next chan any // net.Conn or error
	done chan struct{}
}

func newScripted() *scripted { return &scripted{make(chan any), make(chan struct{})} }

func (l *scripted) Accept() (net.Conn, error) {
	select {
	case v := <-l.next:
		if c, ok := v.(net.Conn); ok {
			return c, nil
		}
		err, _ := v.(error)
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", err)}
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *scripted) Close() error   { close(l.done); return nil }
func (l *scripted) Addr() net.Addr { return &net.TCPAddr{} }

// remoteConn is a connection from an address.
type remoteConn struct {
	net.Conn
	from string
}

func (v remoteConn) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(v.from), 1))
}

func from(address string) remoteConn {
	ours, theirs := net.Pipe()
	go func() { _, _ = io.Copy(io.Discard, theirs) }()
	return remoteConn{ours, address}
}

// lines counts what is logged.
type lines struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

func (l *lines) count() int { return strings.Count(l.String(), "\n") }

// TestAcceptGoesOn lets the system fail in every way that passes, for a while: each connection that
// comes afterwards is accepted, within the longest pause, and the log has a line a minute.
func TestAcceptGoesOn(t *testing.T) {
	for _, cause := range transientErrors {
		synctest.Test(t, func(t *testing.T) {
			var log lines
			limiter := New(Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
			raw := newScripted()
			l := limiter.Listen(raw)
			defer l.Close()

			begun := time.Now()
			go func() {
				for time.Since(begun) < 150*time.Second {
					raw.next <- cause
				}
				raw.next <- from("192.0.2.1")
			}()
			c, err := l.Accept()
			if err != nil {
				t.Fatalf("%v: %v", cause, err)
			}
			defer c.Close()

			s := limiter.Stats()
			if late := time.Since(begun) - 150*time.Second; late > 2*maxPause {
				t.Errorf("%v: accepted %v after the fault had ended", cause, late)
			}
			// A pause each time, or a processor would be busy with nothing else.
			if s.Failed < 500 || s.Failed > 700 || log.count() != 3 {
				t.Errorf("%v: %d failures in 150 s, %d lines", cause, s.Failed, log.count())
			}
		})
	}
}

// TestAcceptEnds wants an error that does not pass, and a listener that is closed, to end Accept;
// also while it pauses.
func TestAcceptEnds(t *testing.T) {
	raw := newScripted()
	l := New(Options{}).Listen(raw)
	go func() { raw.next <- syscall.EBADF }()
	if _, err := l.Accept(); !errors.Is(err, syscall.EBADF) {
		t.Errorf("a bad descriptor: %v", err)
	}

	go func() {
		raw.next <- syscall.EMFILE
		raw.next <- syscall.EMFILE
		_ = l.Close()
	}()
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a closed listener: %v", err)
	}
}

// TestBounds opens and closes connections of a few addresses at random, and compares who is let in
// with a count of what is open.
func TestBounds(t *testing.T) {
	addresses := []string{
		"192.0.2.1", "192.0.2.2", "::ffff:192.0.2.2", "2001:db8::1", "2001:db8::ffff:1", "2001:db8:0:1::1", "10.0.0.1",
	}
	counted := map[string]string{"::ffff:192.0.2.2": "192.0.2.2", "2001:db8::ffff:1": "2001:db8::1"}
	for seed := range uint64(20) {
		dice := rand.New(rand.NewPCG(seed, 1))
		maxOpen := 1 + dice.IntN(12)
		maxEach := dice.IntN(4)
		proxy := netip.MustParseAddr("10.0.0.1")
		isProxy := func(a netip.Addr) bool { return a == proxy }
		limiter := New(Options{Max: maxOpen, MaxPerAddr: maxEach, Exempt: isProxy})
		raw := newScripted()
		l := limiter.Listen(raw)

		accepted := make(chan net.Conn)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				accepted <- c
			}
		}()

		type clientConn struct {
			net.Conn
			as string
		}
		var open []clientConn
		of := map[string]int{}
		var refused [reasons]uint64
		for range 300 {
			if len(open) > 0 && dice.IntN(3) == 0 {
				k := dice.IntN(len(open))
				_ = open[k].Close()
				_ = open[k].Close() // counts once
				of[open[k].as]--
				open = append(open[:k], open[k+1:]...)
				continue
			}

			address := addresses[dice.IntN(len(addresses))]
			as := address
			if other, ok := counted[address]; ok {
				as = other
			}
			v := from(address)
			raw.next <- v
			switch {
			case len(open) == maxOpen:
				refused[AtMax]++
			case maxEach > 0 && of[as] == maxEach && as != "10.0.0.1":
				refused[AtMaxPerAddr]++
			default:
				open = append(open, clientConn{<-accepted, as})
				of[as]++
				continue
			}

			// A refused connection is closed, by then or in a moment.
			if _, err := v.Read(make([]byte, 1)); !errors.Is(err, io.ErrClosedPipe) {
				t.Fatalf("seed %d: a refused connection reads %v", seed, err)
			}
		}

		if s := limiter.Stats(); s.Open != len(open) || s.Refused != refused {
			t.Errorf("seed %d, most %d, each %d: %+v, want %d open, %v refused", seed, maxOpen, maxEach, s, len(open),
				refused)
		}
		for _, c := range open {
			_ = c.Close()
		}
		if len(limiter.perAddr) != 0 {
			t.Errorf("seed %d: addresses are remembered without a connection: %v", seed, limiter.perAddr)
		}
		_ = l.Close()
	}
}

// TestRefusedAtOnce wants a connection beyond the bound to be reset, a waiting one not to be
// touched, and one line a minute.
func TestRefusedAtOnce(t *testing.T) {
	var log lines
	limiter := New(Options{Max: 3, Log: slog.New(slog.NewTextHandler(&log, nil))})
	raw, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := limiter.Listen(raw)
	defer l.Close()
	go func() {
		var accepted []net.Conn // the collector closes a connection that nobody has
		for {
			c, err := l.Accept()
			if err != nil {
				runtime.KeepAlive(accepted)
				return
			}
			accepted = append(accepted, c)
		}
	}()

	var first []net.Conn
	for range 3 {
		c, err := net.Dial("tcp", raw.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		first = append(first, c)
	}
	for range 50 {
		c, err := net.Dial("tcp", raw.Addr().String())
		if errors.Is(err, syscall.ECONNRESET) {
			continue // at once
		}
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("a connection too many reads %v", err)
		}
	}

	for i, c := range first {
		_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("connection %d of 3 reads %v", i, err)
		}
	}
	if s := limiter.Stats(); s.Open != 3 || s.Refused[AtMax] != 50 || log.count() != 1 {
		t.Errorf("%+v, %d lines: %s", s, log.count(), &log)
	}
}

// TestAbort wants an answer that could not be written to be dropped with the connection. Its client
// learns that at once, instead of reading buffered bytes.
func TestAbort(t *testing.T) {
	raw, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := New(Options{WriteBuffer: 64 << 10}).Listen(raw)
	defer l.Close()

	client, err := net.Dial("tcp", raw.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}

	_ = c.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
	n, err := c.Write(make([]byte, 64<<20))
	if !errors.Is(err, os.ErrDeadlineExceeded) || n > 32<<20 {
		t.Fatalf("%d bytes were taken of a client that reads nothing: %v", n, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, client); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client's end of an aborted answer is %v", err)
	}
}

func TestCapacity(t *testing.T) {
	f := func(limit uint64, want int) {
		t.Helper()
		if got := capacityFor(limit); got != want {
			t.Errorf("room(%d) = %d, want %d", limit, got, want)
		}
	}

	f(1, 1)
	f(20, 10)
	f(128, 64)
	f(129, 65)
	f(1024, 960)
	f(65_536, 65_472)
	f(1<<40, MaxServed)
	f(^uint64(0), MaxServed)
	if got := Capacity(); got < 1 || got > MaxServed {
		t.Errorf("this process has room for %d", got)
	}
}
