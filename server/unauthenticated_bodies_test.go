package server

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"ninepocket/server/httpconn"
)

// stranger is a POST with a body of so many bytes, of which so many are sent.
type stranger struct {
	path, key, more string
	size, sent      int
	chunked         bool
}

// head begins the request; the body follows.
func (s stranger) head(w *world, id string) string {
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: cards.test\r\nContent-Type: application/json\r\n"+
		"X-Request-Id: %s\r\n%s", s.path, id, s.more)
	if s.key != "" {
		head += "X-API-Key: " + w.named(s.key) + "\r\n"
	}
	if s.chunked {
		return head + "Transfer-Encoding: chunked\r\n\r\n"
	}
	return head + fmt.Sprintf("Content-Length: %d\r\n\r\n", s.size)
}

// body is the part that is sent.
func (s stranger) body() string {
	if !s.chunked {
		return strings.Repeat("x", s.sent)
	}

	const piece = 1000
	text := strings.Repeat(fmt.Sprintf("%x\r\n%s\r\n", piece, strings.Repeat("x", piece)), s.sent/piece)
	if rest := s.sent % piece; rest > 0 {
		text += fmt.Sprintf("%x\r\n%s\r\n", rest, strings.Repeat("x", rest))
	}
	if s.sent == s.size {
		text += "0\r\n\r\n"
	}
	return text
}

// TestBodiesOfStrangers sends bodies without a valid key. Up to 8 KiB is read, and the connection
// lives. A larger body is not read, is answered as if there were no body, and ends the connection.
// A good key may send 256 KiB (decision 1703).
func TestBodiesOfStrangers(t *testing.T) {
	t.Parallel()
	l := newLoopback(t, setup{})
	f := func(s stranger, status int, code string, lives bool) {
		t.Helper()
		c := l.dial(t)
		defer c.Close()

		const id = "req_stranger"
		if _, err := io.WriteString(c, s.head(l.world, id)+s.body()); err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		r, err := c.next()
		if err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		if r.status != status || r.status >= 400 && r.code() != code || r.header.Get("X-Request-Id") != id {
			t.Errorf("%+v: %d %s %q", s, r.status, r.code(), r.header.Get("X-Request-Id"))
		}

		closes := r.header.Get("Connection") == "close"
		honest, other := probe()
		_, err = io.WriteString(c, honest)
		if err == nil {
			r, err = c.next()
		}
		if answered := err == nil && r.header.Get("X-Request-Id") == other; answered != lives || closes == lives {
			t.Errorf("%+v: the next request is answered: %t; Connection: close: %t", s, answered, closes)
		}
	}

	const free, limit = httpconn.MaxUnauthenticatedBody, httpconn.MaxBody
	for _, chunked := range []bool{false, true} {
		whole := func(path, key string, n int) stranger {
			return stranger{path: path, key: key, size: n, sent: n, chunked: chunked}
		}
		// Only a part is sent, so that an answer shows that the rest is not waited for. The chunk
		// that passes the limit ends the connection.
		part := func(path, key string) stranger {
			return stranger{path: path, key: key, size: limit, sent: free + 1000, chunked: chunked}
		}

		for _, path := range []string{"/v1/cards/batch", "/v1/prices/batch", "/mcp"} {
			f(whole(path, "", 0), 401, "unauthorized", true)
			f(whole(path, "", free), 401, "unauthorized", true)
			f(part(path, ""), 401, "unauthorized", false)
			f(part(path, "npk_live_0000000000000000000000AAAAAA"), 401, "unauthorized", false)
			f(part(path, "revoked"), 401, "unauthorized", false)
			f(part(path, "sandbox"), 403, "sandbox_key", false)
		}

		f(part("/v1/prices/batch", "preview_revoked"), 401, "invalid_api_key", false)

		// An error that precedes the check of the key precedes it here, too (decision 2).
		f(whole("/v1/nothing", "", free), 404, "not_found", true)
		f(part("/v1/nothing", ""), 404, "not_found", false)
		f(part("/v1/games", ""), 405, "method_not_allowed", false)

		// Known clients have the whole bound, whether or not the request is good.
		f(whole("/v1/cards/batch", "bench", free+1), 400, "invalid_request", true)
		f(whole("/v1/cards/batch", "bench", limit), 400, "invalid_request", true)
		f(whole("/v1/cards/batch", "preview", limit), 401, "unauthorized", true)
	}

	// A length alone suffices; nothing of the body needs to come.
	f(stranger{path: "/v1/cards/batch", size: free + 1}, 401, "unauthorized", false)
	f(stranger{path: "/v1/cards/batch", size: free + 1, more: "Expect: 100-continue\r\n"}, 401, "unauthorized", false)
	f(stranger{path: "/v1/cards/batch", size: limit + 1}, 413, "payload_too_large", false)
	if n := l.Stats().ParseErrors[http.StatusUnauthorized]; n != 0 {
		t.Errorf("%d requests without a key count as broken", n)
	}
}
