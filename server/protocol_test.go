package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"ninepocket/wire"
)

// raw sends bytes as they are and returns all answers until the server closes, and whether it did.
func (w *world) raw(tb testing.TB, text string) (replies []reply, closed bool) {
	tb.Helper()
	conn, err := w.listener.Dial()
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		tb.Fatal(err)
	}

	r := bufio.NewReader(conn)
	for {
		if err := conn.SetReadDeadline(time.Now().Add(maxTest)); err != nil {
			tb.Fatal(err)
		}

		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			return replies, errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			tb.Fatal(err)
		}
		replies = append(replies, reply{status: resp.StatusCode, header: resp.Header, wire: body, body: body})
		if resp.Close {
			return replies, true
		}
	}
}

// TestHostileRequests wants what is not HTTP to be refused in the envelope, without an echo, and
// the connection closed.
func TestHostileRequests(t *testing.T) {
	w := shared()
	key := "X-API-Key: " + w.keys["bench"] + "\r\n"
	const secret = "hunter2hunter2"
	f := func(text string, status int) {
		t.Helper()
		replies, closed := w.raw(t, text)
		if len(replies) != 1 || replies[0].status != status || !closed {
			got := []int{}
			for _, r := range replies {
				got = append(got, r.status)
			}
			t.Errorf("%.80q: answers %v, closed %v, want one %d", text, got, closed, status)
			return
		}

		r := replies[0]
		if faults := r.envelopeFaults(r.header.Get("X-Request-Id")); len(faults) > 0 {
			t.Errorf("%.80q: %v", text, faults)
		}
		if strings.Contains(fmt.Sprint(r.header)+string(r.body), secret) {
			t.Errorf("%.80q is echoed: %s", text, r.body)
		}
	}

	f("GET /v1/games HTTP/1.1\r\nHost: x\r\n"+key+"X-Pad: "+strings.Repeat(secret, 2000)+"\r\n\r\n",
		http.StatusRequestHeaderFieldsTooLarge)
	f("GET /"+strings.Repeat(secret, 2000)+" HTTP/1.1\r\nHost: x\r\n\r\n", http.StatusRequestHeaderFieldsTooLarge)
	f(secret+"\r\n\r\n", http.StatusBadRequest)
	f("GET\r\n\r\n", http.StatusBadRequest)
	smuggled := "0\r\n\r\nGET /v1/games HTTP/1.1\r\nHost: x\r\n" + key + "\r\n"
	f("POST /v1/cards/batch HTTP/1.1\r\nHost: x\r\n"+key+"Content-Length: 100\r\nTransfer-Encoding: chunked\r\n\r\n"+
		smuggled, http.StatusBadRequest)
	f("GET /v1/games HTTP/1.1\r\nHost: x\r\n"+key+"transfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n"+smuggled,
		http.StatusBadRequest)
	f("\x16\x03\x01\x02\x00"+secret+"\r\n\r\n", http.StatusBadRequest)
	f("GET /v1/games HTTP/1.1\r\n"+secret+"\r\n\r\n", http.StatusBadRequest)
	f("POST /v1/cards/batch HTTP/1.1\r\nHost: x\r\n"+key+"Content-Length: "+secret+"\r\n\r\n", http.StatusBadRequest)
	f("POST /v1/cards/batch HTTP/1.1\r\nHost: x\r\n"+key+"Content-Length: -1\r\n\r\n", http.StatusBadRequest)
	f("POST /v1/cards/batch HTTP/1.1\r\nHost: x\r\n"+key+"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
		http.StatusBadRequest)
}

// TestProtocolFaults says what errors of the parser are to a client.
func TestProtocolFaults(t *testing.T) {
	f := func(err error, want wire.Code) {
		t.Helper()
		if got := protocolProblem(err); got.Code != want || strings.Contains(got.Detail, err.Error()) {
			t.Errorf("%v is %+v, want %s", err, got, want)
		}
	}

	f(fasthttp.ErrBodyTooLarge, wire.PayloadTooLarge)
	f(fmt.Errorf("reading: %w", fasthttp.ErrBodyTooLarge), wire.PayloadTooLarge)
	f(os.ErrDeadlineExceeded, wire.RequestTimeout)
	f(errors.New("nonsense"), wire.InvalidRequest)
}

// TestRefusedHeadHasNoBody wants a HEAD that is no good request to be answered with the headers of
// the refusal alone.
func TestRefusedHeadHasNoBody(t *testing.T) {
	w := shared()
	f := func(rest string, status int) {
		t.Helper()
		get := w.rawText(t, "GET"+rest)
		head := w.rawText(t, "HEAD"+rest)
		lines, body, _ := strings.Cut(head, "\r\n\r\n")
		of, text, _ := strings.Cut(get, "\r\n\r\n")
		length := fmt.Sprintf("\r\nContent-Length: %d\r\n", len(text))
		if !strings.HasPrefix(head, fmt.Sprintf("HTTP/1.1 %d ", status)) || body != "" || text == "" ||
			!strings.Contains(lines+"\r\n", length) ||
			strings.Count(lines, "\r\n") != strings.Count(of, "\r\n") {
			t.Errorf("%.60q: HEAD is answered with %q, GET with %q", rest, head, get)
		}
	}

	const line = " /v1/games HTTP/1.1\r\n"
	f(line+"Host: a\r\nHost: b\r\n\r\n", http.StatusBadRequest)
	f(line+"Host: a\r\nX Y: b\r\n\r\n", http.StatusBadRequest)
	f(line+"Host: a\r\nX-Pad: "+strings.Repeat("a", 20<<10)+"\r\n\r\n", http.StatusRequestHeaderFieldsTooLarge)
	f(line+"Host: a\r\nContent-Length: 999999\r\n\r\n", http.StatusRequestEntityTooLarge)
	f(" /v1/games of two HTTP/1.1\r\nHost: a\r\n\r\n", http.StatusBadRequest)
	f(" /v1/games HTTP/3.0\r\nHost: a\r\n\r\n", http.StatusBadRequest)
	f(" /v1/games\r\n\r\n", http.StatusBadRequest)
	f(" /v1/games\n", http.StatusBadRequest)
	f(" /"+strings.Repeat("a", 20<<10), http.StatusRequestHeaderFieldsTooLarge)
}

// rawText sends bytes as they are and returns those that come back until the server closes.
func (w *world) rawText(tb testing.TB, text string) string {
	tb.Helper()
	conn, err := w.listener.Dial()
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close()

	if _, err := io.WriteString(conn, text); err != nil {
		tb.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(maxTest)); err != nil {
		tb.Fatal(err)
	}

	b, err := io.ReadAll(conn)
	if err != nil && len(b) == 0 {
		tb.Fatal(err)
	}
	return string(b)
}
