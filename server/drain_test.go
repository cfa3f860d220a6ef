package server

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// drained shuts a server down and returns how long that took.
func drained(t *testing.T, w *world) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	begun := time.Now()
	if err := w.Shutdown(ctx); err != nil {
		t.Errorf("shutting down: %v", err)
	}
	return time.Since(begun)
}

// momentary is how long a shutdown takes that waits for nobody.
const momentary = 50 * time.Millisecond

// TestNobodyBlocksTheDrain opens connections that never sent anything and such as have had their
// answers: they end with the server, in silence, and it does not wait for them.
func TestNobodyBlocksTheDrain(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, w *world, l *pipes) {
		var all []*client
		for range 5 {
			all = append(all, l.dial())
			answered := l.dial()
			honest, _ := probe()
			if _, err := io.WriteString(answered, honest); err != nil {
				t.Fatal(err)
			}
			if r, err := answered.next(); err != nil || r.status != 200 {
				t.Fatal(r.status, err)
			}
			all = append(all, answered)
		}

		time.Sleep(2 * time.Second) // the ones that never sent are not young any more
		if took := drained(t, w); took > momentary {
			t.Errorf("the shutdown took %v", took)
		}
		for i, c := range all {
			if b, err := io.ReadAll(c); err != nil || len(b) > 0 {
				t.Errorf("connection %d was told %q, %v", i, b, err)
			}
		}
	})
}

// TestYoungConnections opens connections right before the end: one that sends within a second is
// answered, the others are not waited for any longer.
func TestYoungConnections(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, w *world, l *pipes) {
		silent := l.dial()
		sends := l.dial()
		answered := make(chan reply, 1)
		go func() {
			time.Sleep(900 * time.Millisecond)
			honest, _ := probe()
			_, _ = io.WriteString(sends, honest)
			r, err := sends.next()
			if err != nil {
				t.Errorf("a request on its way: %v", err)
			}
			answered <- r
		}()

		if took := drained(t, w); took < 900*time.Millisecond || took > time.Second+momentary {
			t.Errorf("the shutdown took %v", took)
		}
		if r := <-answered; r.status != 503 || r.header.Get("Connection") != "close" ||
			!strings.Contains(string(r.body), "draining") {
			t.Errorf("a request on its way gets %d, Connection %q: %s", r.status, r.header.Get("Connection"), r.body)
		}
		if b, err := io.ReadAll(silent); err != nil || len(b) > 0 {
			t.Errorf("a silent connection was told %q, %v", b, err)
		}
	})
}

// TestRequestsInFlightAreWaitedFor sends a request in three pieces, the last of them when the server
// has been ending for five seconds: it is answered, and the server ends then.
func TestRequestsInFlightAreWaitedFor(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, w *world, l *pipes) {
		first := l.dial() // half a head
		second := l.dial()
		third := l.dial() // an answer that is not read
		post := "POST /v1/cards/batch HTTP/1.1\r\nHost: x\r\nX-API-Key: " + w.keys["bench"] +
			"\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n"
		honest, _ := probe()
		for c, text := range map[*client]string{first: post[:40], second: honest, third: honest} {
			if _, err := io.WriteString(c, text); err != nil {
				t.Fatal(err)
			}
		}
		if r, err := second.next(); err != nil || r.status != 200 {
			t.Fatal(r.status, err)
		}
		if _, err := io.WriteString(second, post+`{"i`); err != nil { // half a body
			t.Fatal(err)
		}
		synctest.Wait() // until the server has all of it

		done := make(chan struct{})
		go func() {
			defer close(done)
			time.Sleep(5 * time.Second)
			if _, err := io.WriteString(first, post[40:]+`{"ids":["`); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second)
			for c, rest := range map[*client]string{first: `x"]}`, second: `ds":["x"]}`} {
				if _, err := io.WriteString(c, rest); err != nil {
					t.Error(err)
				}
				if r, err := c.next(); err != nil || r.status != 200 || r.header.Get("Connection") != "close" {
					t.Errorf("%d %v Connection %q: %s", r.status, err, r.header.Get("Connection"), r.body)
				}
			}
			time.Sleep(time.Second)
			if r, err := third.next(); err != nil || r.status != 200 {
				t.Error(r.status, err)
			}
		}()

		if took := drained(t, w); took < 7*time.Second || took > 7*time.Second+momentary {
			t.Errorf("the shutdown took %v, want 7 s", took)
		}
		<-done
	})
}

// TestRefusedAfterStop wants nobody to be accepted once a server has stopped, also by a listener
// that it is given then.
func TestRefusedAfterStop(t *testing.T) {
	t.Parallel()
	l := newLoopback(t, setup{})
	c := l.dial(t)
	defer c.Close()
	honest, _ := probe()
	if _, err := io.WriteString(c, honest); err != nil {
		t.Fatal(err)
	}
	if r, err := c.next(); err != nil || r.status != 200 {
		t.Fatal(r.status, err)
	}

	// The connection would be cut after a minute and a half, and end as idle a little before.
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	begun := time.Now()
	if err := l.Shutdown(ctx); err != nil {
		t.Errorf("shutting down: %v", err)
	}
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("with one idle connection the shutdown took %v", took)
	}
	if c, err := net.Dial("tcp", l.addr); err == nil {
		_ = c.Close()
		t.Error("a stopped server was reached")
	}

	late, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Serve(late); err != nil {
		t.Errorf("a server that has stopped serves: %v", err)
	}
}
