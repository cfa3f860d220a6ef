package main

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// cable is a network between two processes that a test can make bad.
type cable struct {
	listener net.Listener

	mu      sync.Mutex
	changed *sync.Cond
	target  string
	cableState
	answers int
	conns   map[net.Conn]bool
}

// cableState is how bad a network is.
type cableState struct {
	cut      bool          // who is connected is not any more, and nobody connects
	held     bool          // bytes wait, both ways
	deaf     bool          // answers wait, and questions pass
	delay    time.Duration // of answers
	everyKth int           // answer that is lost, with its connection; 0 = none
}

// newCable leads to an address until the test ends.
func newCable(t *testing.T, target string) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	c := &cable{listener: l, target: target, conns: map[net.Conn]bool{}}
	c.changed = sync.NewCond(&c.mu)
	go c.accept()
	t.Cleanup(func() {
		l.Close()
		c.becomes(cableState{cut: true})
	})
	return c
}

func (c *cable) address() string { return c.listener.Addr().String() }

func (c *cable) accept() {
	for {
		conn, err := c.listener.Accept()
		if err != nil {
			return
		}
		go c.serve(conn)
	}
}

func (c *cable) serve(conn net.Conn) {
	defer conn.Close()
	c.mu.Lock()
	target := c.target
	c.mu.Unlock()
	out, err := net.DialTimeout("tcp", target, time.Second)
	if err != nil {
		return
	}
	defer out.Close()

	// What was cut or led elsewhere since then stays so.
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
func (c *cable) pass(from io.Reader, to io.Writer, answers bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}

		c.mu.Lock()
		for !c.cut && (c.held || c.deaf && answers) {
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
func (c *cable) becomes(state cableState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cableState = state
	if state.cut {
		c.end()
	}
	c.changed.Broadcast()
}

// leads leads new connections to an address, and ends those there are.
func (c *cable) leads(target string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.target = target
	c.end()
	c.changed.Broadcast()
}

// end ends all connections. The caller holds the wire.
func (c *cable) end() {
	for conn := range c.conns {
		conn.Close()
		delete(c.conns, conn)
	}
}
