package server

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"ninepocket/server/front"
)

// TestSlowRequests wants a request that does not arrive to be told so by the surface that its head
// names, as far as that has come, under the caller's request id; and a connection without a request
// to end in silence.
func TestSlowRequests(t *testing.T) {
	l := newLoopback(t, setup{patience: front.Patience{Read: 150 * time.Millisecond, Write: time.Minute,
		Idle: 150 * time.Millisecond}})
	live := "X-API-Key: " + l.keys["bench"] + "\r\n"
	preview := "X-API-Key: " + l.keys["preview"] + "\r\n"
	const post = "POST /v1/prices/batch HTTP/1.1\r\nHost: x\r\nX-Request-Id: req_slow\r\nContent-Type: " +
		"application/json\r\n"
	f := func(text string, previewEnvelope bool, id string) {
		t.Helper()
		t.Run("", func(t *testing.T) {
			t.Parallel()
			c := l.dial(t)
			defer c.Close()
			if _, err := io.WriteString(c, text); err != nil {
				t.Fatal(err)
			}

			r, err := c.next()
			if err == nil && r.status == http.StatusContinue {
				r, err = c.next()
			}
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			if faults := r.differs(wanted{408, "request_timeout", previewEnvelope}); len(faults) > 0 {
				t.Errorf("%q: %v\n%s", text, faults, r.body)
			}
			if got := r.header.Get("X-Request-Id"); id != "" && got != id || r.header.Get("Connection") != "close" {
				t.Errorf("%q: X-Request-Id %q, want %q, Connection %q", text, got, id, r.header.Get("Connection"))
			}
			if r, err := c.next(); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%q: the connection does not end: %d %v", text, r.status, err)
			}
		})
	}

	f(post+preview+"Content-Length: 10\r\n\r\n{}", true, "req_slow")
	f(post+live+"Content-Length: 10\r\n\r\n{}", false, "req_slow")
	f(post+preview+"Content-Length: 10\r\nExpect: 100-continue\r\n\r\n", true, "req_slow")
	f(post+preview+"Transfer-Encoding: chunked\r\n\r\n5\r\n{}", true, "req_slow")
	f(post+preview+"Transfer-Encoding: chunked\r\n\r\n", true, "req_slow")
	f(post+live+"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", false, "req_slow")
	f(post+preview, true, "req_slow")
	f(post, false, "req_slow") // no key: the default surface
	f(post+"X-API-Key: npk_prev_half", false, "req_slow")
	f("GET /v1/products/prd_x HTTP/1.1\r\nHost: x\r\n", true, "")
	f("GET /v1/products HTTP/1.1\r\n", true, "")
	f("GET /v1/products HTTP/1.1\r", false, "")
	f("GET /v1/nothing HTTP/1.1\r\n", false, "")
	f("GET", false, "")
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		c := l.dial(t)
		defer c.Close()

		honest, id := probe()
		if _, err := io.WriteString(c, honest); err != nil {
			t.Fatal(err)
		}
		if r, err := c.next(); err != nil || r.header.Get("X-Request-Id") != id {
			t.Fatalf("%v %v", err, r.header)
		}
		if r, err := c.next(); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("an idle connection was told %d %s (%v)", r.status, r.body, err)
		}
	})
}
