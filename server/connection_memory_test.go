package server

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"ninepocket/access"
	"ninepocket/server/httpconn"
)

// TestIdleConnectionsAreSmall has clients bring a large body, take a large answer, and stay. Their
// connections then take the memory of any idle connection, and the room for bodies is free.
func TestIdleConnectionsAreSmall(t *testing.T) { // not parallel: it measures memory
	const clients = 60
	l := newLoopback(t, setup{options: func(o *Options) { o.BodyBudget = 64 << 20 }})
	key := l.world.named("bench")
	list := fmt.Sprintf("GET /v1/cards?limit=50 HTTP/1.1\r\nHost: cards.test\r\nX-API-Key: %s\r\n\r\n", key)
	large := stranger{path: "/v1/cards/batch", key: "bench", size: httpconn.MaxBody, sent: httpconn.MaxBody}

	all := make([]*client, clients)
	asks := func(c *client, request string, status int) int {
		t.Helper()
		_, err := io.WriteString(c, request)
		var r reply
		if err == nil {
			r, err = c.next()
		}
		if err != nil || r.status != status {
			t.Fatalf("%d %v, want %d: %.200s", r.status, err, status, r.body)
		}
		return len(r.body)
	}
	for i := range all {
		all[i] = l.dial(t)
		defer all[i].Close()
		small, _ := probe()
		asks(all[i], small, 200)
	}
	asks(all[0], list, 200) // what is made once is made

	before := memory()
	size := 0
	for _, c := range all {
		asks(c, large.head(l.world, "req_large")+large.body(), 400)
		size = asks(c, list, 200)
	}
	each := (memory() - before) / clients
	t.Logf("%d bytes more a connection, after a body of %d and an answer of %d", each, large.size, size)
	if size < 17_000 || each > 30_000 {
		t.Errorf("an idle connection takes %d bytes more after an answer of %d", each, size)
	}
	if n := l.connections.BodyBytes(); n != 0 {
		t.Errorf("%d bytes of bodies are taken by nobody", n)
	}
}

// slowStore waits before it finishes a call.
type slowStore struct {
	access.Store
	begun, end chan struct{}
}

func (s slowStore) Finish(t access.Reservation, success bool) (access.Charge, error) {
	s.begun <- struct{}{}
	<-s.end
	return s.Store.Finish(t, success)
}

// TestRoomUntilTheAnswer lets the meter take its time with a call whose body is whole: for as long as
// the body is in memory it counts, by the buffer that it was read into, and others are refused.
func TestRoomUntilTheAnswer(t *testing.T) {
	t.Parallel()
	store := slowStore{access.NewMemory(access.MemoryOptions{}), make(chan struct{}), make(chan struct{})}
	const buffer = 64 << 10
	l := newLoopback(t, setup{store: store, options: func(o *Options) { o.BodyBudget = buffer + 1 }})
	c := l.dial(t)
	defer c.Close()
	s := stranger{path: "/v1/cards/batch", key: "bench", size: buffer/2 + 1}
	body := `{"ids":["none"]}` + strings.Repeat(" ", s.size)
	if _, err := io.WriteString(c, s.head(l.world, "req_slow")+body[:s.size]); err != nil {
		t.Fatal(err)
	}

	<-store.begun
	if n := l.connections.BodyBytes(); n != buffer {
		t.Errorf("%d bytes are taken while the call is dealt with, want %d", n, buffer)
	}
	other := l.dial(t)
	defer other.Close()
	if _, err := io.WriteString(other, s.head(l.world, "req_other")); err != nil {
		t.Fatal(err)
	}
	if r, err := other.next(); err != nil || r.status != 503 || r.header.Get("Retry-After") != "2" {
		t.Errorf("another body: %d %v", r.status, err)
	}

	store.end <- struct{}{}
	if r, err := c.next(); err != nil || r.status != 200 {
		t.Fatalf("%d %v: %s", r.status, err, r.body)
	}
	if n := l.connections.BodyBytes(); n != 0 {
		t.Errorf("%d bytes are taken after the answer", n)
	}
}
