package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ninepocket/server/httpconn"
)

// tight accepts connections with a small buffer for what is sent, so that a client that does not
// read is noticed at once.
type tight struct{ net.Listener }

func (l tight) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok {
		err = errors.Join(err, tcp.SetWriteBuffer(4<<10))
	}
	return c, err
}

// slowClient is a connection that sends what it has to say a byte at a time, and never reads.
type slowClient struct {
	net.Conn
	rest string
}

// slowClients opens n connections: heads that come byte by byte, bodies of which half has come, and
// readers that asked for much and take nothing.
func slowClients(t *testing.T, l *loopback, n int) []*slowClient {
	t.Helper()
	all := make([]*slowClient, n)
	for i := range all {
		conn, err := net.Dial("tcp", l.addr)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}

		c := &slowClient{Conn: conn}
		now := "GET /healthz HTTP/1.1\r\nHost: x\r\n"
		switch i % 3 {
		case 0:
			c.rest = strings.Repeat("X-Slow: loris\r\n", 60)
		case 1:
			body := strings.Repeat("x", 2000)
			now = fmt.Sprintf("POST /v1/cards/batch HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\nContent-Length: "+
				"%d\r\n\r\n%s", l.keys["bench"], 2*len(body), body)
			c.rest = body[:len(body)-1]
		case 2:
			dialled := conn.(*net.TCPConn) //nolint:forcetypeassert // it was dialled as TCP
			if err := dialled.SetReadBuffer(4 << 10); err != nil {
				t.Fatal(err)
			}
			now = strings.Repeat("GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n", 20)
		}

		if _, err := io.WriteString(c, now); err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		all[i] = c
	}
	return all
}

// TestSlowClients wants honest clients to be answered while many others send and read as slowly as
// they can. The limit of a connection bounds the memory, and Shutdown ends in time although they
// continue. NINEPOCKET_TORTURE makes it 5,000 of them.
func TestSlowClients(t *testing.T) {
	n := 500
	if os.Getenv("NINEPOCKET_TORTURE") != "" {
		n = 5000
	}

	// The highest cost of a connection with the client's half in this process: fasthttp's two
	// buffers, the request and the stack take about 60 KiB.
	const maxBytes = 128 << 10
	l := newLoopback(t, setup{
		wrap: func(l net.Listener) net.Listener { return tight{l} },
		// Nobody is freed while the test runs.
		timeouts: httpconn.Timeouts{Read: time.Hour, Write: time.Hour, Idle: time.Hour, Linger: time.Minute},
	})

	before := memory()
	routines := runtime.NumGoroutine()
	slow := slowClients(t, l, n)
	defer func() {
		for _, c := range slow {
			_ = c.Close()
		}
	}()

	stop := make(chan struct{})
	var dripping, honest sync.WaitGroup
	var dripped atomic.Int64
	dripping.Go(func() {
		for at := 0; ; at++ {
			for _, c := range slow {
				select {
				case <-stop:
					return
				default:
				}
				if at < len(c.rest) {
					if _, err := io.WriteString(c, c.rest[at:at+1]); err == nil {
						dripped.Add(1)
					}
				}
			}
			time.Sleep(5 * time.Millisecond)
		}
	})

	for range 4 {
		honest.Go(func() {
			idle := l.dial(t)
			defer idle.Close()
			for i := range 50 {
				c := idle
				if i%2 == 0 {
					c = l.dial(t)
				}
				request, id := probe()
				if _, err := io.WriteString(c, request); err != nil {
					t.Errorf("honest request %d: %v", i, err)
					return
				}
				if r, err := c.next(); err != nil || r.status != 200 || r.header.Get("X-Request-Id") != id {
					t.Errorf("honest request %d: %d %v", i, r.status, err)
					return
				}
				if i%2 == 0 {
					_ = c.Close()
				}
			}
		})
	}

	honest.Wait()
	each := (memory() - before) / int64(n)
	more := runtime.NumGoroutine() - routines
	t.Logf("%d slow connections: %d bytes each, %d goroutines more, %d bytes dripped", n, each, more, dripped.Load())
	if each > maxBytes {
		t.Errorf("a slow connection takes %d bytes, want at most %d", each, maxBytes)
	}
	if more > n+50 {
		t.Errorf("%d goroutines for %d connections", more, n)
	}
	if open := l.http.GetOpenConnectionsCount(); int(open) < n {
		t.Errorf("only %d of %d slow connections are still there", open, n)
	}

	// They are cut soon; the rest is for a busy machine.
	l.cutAfter = time.Second
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := l.Shutdown(ctx); err != nil {
		t.Errorf("shutting down under slow clients: %v", err)
	}

	close(stop)
	dripping.Wait()
}

// memory is what lives in the heap and on stacks.
func memory() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
