package main

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// tcpProxy is a network between two processes that a test can make bad.
type tcpProxy struct {
	listener net.Listener

	mu      sync.Mutex
	changed *sync.Cond
	target  string
	proxyState
	answers int
	conns   map[net.Conn]bool
}

// proxyState is how bad a network is.
type proxyState struct {
	cut      bool          // who is connected is not any more, and nobody connects
	stalled  bool          // bytes wait, both ways
	deaf     bool          // answers wait, and questions pass
	delay    time.Duration // of answers
	everyKth int           // answer that is lost, with its connection; 0 = none
}

// newTCPProxy leads to an address until the test ends.
func newTCPProxy(t *testing.T, target string) *tcpProxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	c := &tcpProxy{listener: l, target: target, conns: map[net.Conn]bool{}}
	c.changed = sync.NewCond(&c.mu)
	go c.accept()
	t.Cleanup(func() {
		l.Close()
		c.becomes(proxyState{cut: true})
	})
	return c
}

func (c *tcpProxy) address() string { return c.listener.Addr().String() }

func (c *tcpProxy) accept() {
	for {
		conn, err := c.listener.Accept()
		if err != nil {
			return
		}
		go c.serve(conn)
	}
}

func (c *tcpProxy) serve(conn net.Conn) {
	defer conn.Close()
	c.mu.Lock()
	target := c.target
	c.mu.Unlock()
	out, err := net.DialTimeout("tcp", target, time.Second)
	if err != nil {
		return
	}
	defer out.Close()

	// Connections that were cut or redirected since then stay so.
	c.mu.Lock()
	stays := c.target == target && !c.cut
	if stays {
		c.conns[conn] = true
		c.conns[out] = true
	}
	c.mu.Unlock()
	if !stays {
		return
	}

	go func() {
		defer out.Close()
		c.pass(conn, out, false)
	}()
	c.pass(out, conn, true)
	c.mu.Lock()
	delete(c.conns, conn)
	delete(c.conns, out)
	c.mu.Unlock()
}

// pass copies what one side says to the other.
func (c *tcpProxy) pass(from io.Reader, to io.Writer, answers bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}

		c.mu.Lock()
		for !c.cut && (c.stalled || c.deaf && answers) {
			c.changed.Wait()
		}
		lost := c.cut
		delay := time.Duration(0)
		if answers {
			c.answers++
			lost = lost || c.everyKth > 0 && c.answers%c.everyKth == 0
			delay = c.delay
		}
		c.mu.Unlock()
		if lost {
			return
		}
		time.Sleep(delay)
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// becomes changes the network.
func (c *tcpProxy) becomes(state proxyState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.proxyState = state
	if state.cut {
		c.end()
	}
	c.changed.Broadcast()
}

// leads leads new connections to an address, and ends those there are.
func (c *tcpProxy) leads(target string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.target = target
	c.end()
	c.changed.Broadcast()
}

// end ends all connections. The caller holds the wire.
func (c *tcpProxy) end() {
	for conn := range c.conns {
		conn.Close()
		delete(c.conns, conn)
	}
}
