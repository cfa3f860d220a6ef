package server

import (
	"io"
	"strings"
	"testing"
	"time"

	"ninepocket/server/httpconn"
)

// TestRoomForBodies lets bodies take all their memory. The next large body must be sent again, and
// small requests are served. There is room again once a body is whole or its client has gone
// (decision 1711).
func TestRoomForBodies(t *testing.T) {
	t.Parallel()
	const limit = 2 * httpconn.MaxBody // of a chunked one, whose last line is read with it
	const small = 32 << 10             // of what is larger than 16 KiB and not than this
	l := newLoopback(t, setup{
		options: func(o *Options) { o.BodyBudget = limit + small },
		// Bodies stay in memory for as long as it takes.
		timeouts: httpconn.Timeouts{Read: time.Hour, Write: time.Hour, Idle: time.Hour, Linger: time.Minute},
	})
	begin := func(size, sent int, chunked bool) *client {
		t.Helper()
		c := l.dial(t)
		t.Cleanup(func() { _ = c.Close() })
		s := stranger{path: "/v1/cards/batch", key: "bench", size: size, sent: sent, chunked: chunked}
		if _, err := io.WriteString(c, s.head(l.world, "req_room")+s.body()); err != nil {
			t.Fatal(err)
		}
		return c
	}
	answer := func(c *client, status int, lives bool) {
		t.Helper()
		r, err := c.next()
		if err != nil || r.status != status || (r.header.Get("Connection") == "close") == lives {
			t.Fatalf("%d %v, Connection %q, want %d: %s", r.status, err, r.header.Get("Connection"), status, r.body)
		}
		if status == 503 && (r.header.Get("Retry-After") != "2" || r.code() != "temporarily_unavailable") {
			t.Fatalf("Retry-After %q: %s", r.header.Get("Retry-After"), r.body)
		}
	}

	// Bytes that bodies may come to: the announced bytes, not the received ones.
	taken := func(want int64) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); l.connections.BodyBytes() != want; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d bytes are taken, want %d", l.connections.BodyBytes(), want)
			}
		}
	}

	for _, chunked := range []bool{false, true} {
		// A chunked one takes as much as two whose length is known.
		waiting := []*client{begin(httpconn.MaxBody, httpconn.MaxUnauthenticatedBody+1000, chunked)}
		if !chunked {
			waiting = append(waiting, begin(httpconn.MaxBody, httpconn.MaxUnauthenticatedBody+1000, false))
		}
		taken(limit)
		for _, also := range []bool{false, true} {
			answer(begin(httpconn.MaxBody, httpconn.MaxUnauthenticatedBody+1000, also), 503, false)
		}
		answer(begin(httpconn.MaxUnauthenticatedBody, httpconn.MaxUnauthenticatedBody, false), 400, true)
		last := begin(20_000, 20_000, false) // there is room for one of this size
		answer(last, 400, true)
		taken(limit)

		honest, _ := probe()
		if _, err := io.WriteString(last, honest); err != nil {
			t.Fatal(err)
		}
		answer(last, 200, true)

		for _, c := range waiting {
			_ = c.Close() // it has gone
		}
		taken(0)
	}

	// Two bodies and the beginning of a third in a row, as they come from a client that waits for
	// nothing.
	c := l.dial(t)
	t.Cleanup(func() { _ = c.Close() })
	whole := stranger{path: "/v1/cards/batch", key: "bench", size: 10_000, sent: 10_000}
	text := whole.head(l.world, "req_room") + whole.body()
	part := stranger{path: "/v1/cards/batch", key: "bench", size: 11_000, sent: 500}
	if _, err := io.WriteString(c, text+text+part.head(l.world, "req_room")+part.body()); err != nil {
		t.Fatal(err)
	}
	taken(small / 2)
	if _, err := io.WriteString(c, strings.Repeat("x", 10_500)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		answer(c, 400, true)
	}
	taken(0)
	if n := l.Stats().ParseErrors[503]; n != 4 {
		t.Errorf("%d refusals are counted, want 4", n)
	}
}
