package limiter

import (
	"bytes"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"
)

// proxy is a network between a server and Redis that a test can make bad.
type proxy struct {
	t        testing.TB
	listener net.Listener

	mu       sync.Mutex
	target   string
	cut      bool          // nobody gets through
	delay    time.Duration // of what Redis answers
	everyKth int           // answer that is lost, with its connection; 0 = none
	answers  int
	losses   int
	from, to []byte // what is changed in answers
	conns    map[net.Conn]bool
}

// newProxy leads to an address until the test ends.
func newProxy(t testing.TB, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	p := &proxy{t: t, listener: l, target: target, conns: map[net.Conn]bool{}}
	go p.accept()
	t.Cleanup(func() {
		l.Close()
		p.lead("")
	})
	return p
}

func (p *proxy) port() string { return strconv.Itoa(p.listener.Addr().(*net.TCPAddr).Port) }

func (p *proxy) url() string { return "redis://127.0.0.1:" + p.port() + "/0" }

func (p *proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.serve(conn)
	}
}

func (p *proxy) serve(conn net.Conn) {
	p.mu.Lock()
	target := p.target
	if p.cut {
		target = ""
	}
	p.mu.Unlock()
	defer conn.Close()
	if target == "" {
		return
	}
	out, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer out.Close()

	// Connections that were cut or redirected since then stay so.
	p.mu.Lock()
	stays := p.target == target && !p.cut
	if stays {
		p.conns[conn] = true
		p.conns[out] = true
	}
	p.mu.Unlock()
	if !stays {
		return
	}
	go func() {
		defer out.Close()
		p.pass(conn, out, false)
	}()
	p.pass(out, conn, true)
}

// pass copies what one side says to the other.
func (p *proxy) pass(from, to net.Conn, answers bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		p.mu.Lock()
		p.answers++
		lost := answers && p.everyKth > 0 && p.answers%p.everyKth == 0
		if lost {
			p.losses++
		}
		delay := p.delay
		said := buffer[:n]
		if answers && p.from != nil {
			said = bytes.ReplaceAll(said, p.from, p.to)
		}
		p.mu.Unlock()

		if lost {
			return
		}
		if answers && delay > 0 {
			time.Sleep(delay)
		}
		if _, err := to.Write(said); err != nil {
			return
		}
	}
}

// change changes the network.
func (p *proxy) change(how func(*proxy)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	how(p)
}

// lead leads new connections to an address, and ends those there are; "" = nowhere.
func (p *proxy) lead(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
	for conn := range p.conns {
		conn.Close()
		delete(p.conns, conn)
	}
}
