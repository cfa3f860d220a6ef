package framing

import (
	"strconv"
	"strings"
	"testing"
)

// TestHead says what is known of a request that failed or has not come: its good lines.
func TestHead(t *testing.T) {
	const line, host, key = "GET /x HTTP/1.1\r\n", "Host: a\r\n", "X-API-Key: k\r\n"
	const chunked = "Transfer-Encoding: chunked\r\n\r\n"
	f := func(sent, want string, kind Kind) {
		t.Helper()
		for size := 1; size <= len(sent); size++ {
			g := Guard{Limits: &testLimits}
			var fault *RequestError
			for rest := sent; rest != "" && fault == nil; {
				n := min(size, len(rest))
				_, fault = g.Check([]byte(rest[:n]))
				rest = rest[n:]
			}

			if got := string(g.Head()); got != want || kindOf(fault) != kind || fault != g.Fault() {
				t.Errorf("%q, %d bytes at a time: head %q with fault %v, want %q with %d", sent, size, got, fault,
					want, kind)
			}
		}
	}

	f("", "", 0)
	f("GET /x HT", "", 0)
	f(line, line, 0)
	f(line+host+"X-A", line+host, 0)
	f("\r\n"+line+host, line+host, 0)
	f(line+host+"\r\n", "", 0) // it is whole, and another begins
	f(line+host+"\r\nGET", "", 0)
	f(line+host+key+"Content-Length: 5\r\n\r\nab", line+host+key+"Content-Length: 5\r\n\r\n", 0)
	f(line+host+key+"Content-Length: 2\r\n\r\nab", "", 0)
	f(line+host+key+chunked+"x", line+host+key+chunked, Malformed)
	f(line+host+key+chunked+"1001\r\n", line+host+key+chunked, BodyTooLarge)
	f(line+host+chunked+"800\r\n"+strings.Repeat("x", 0x800)+"\r\n801\r\n", line+host+chunked, BodyTooLarge)
	f(line+host+chunked+"800\r\n"+strings.Repeat("x", 0x800)+"\r\n800\r\n", line+host+chunked, 0)
	f(line+host+key+"Content-Length: 4097\r\n\r\n", line+host+key+"Content-Length: 4097\r\n\r\n", BodyTooLarge)
	f(line+host+key+key, line+host+key, Malformed)
	f(line+key+"\r\n", line+key, Malformed)
	f(line+host+" folded\r\n", line+host, Malformed)
	f("get /x HTTP/1.1\r\n", "", Malformed)
	f("\r\n"+line+host+"\r\n\r\n\r\n", "", Malformed)
	f(line+host+"A: "+strings.Repeat("a", 3000)+"\r\n\r\n", line+host, HeadTooLarge)
	f(line+host+strings.Repeat("A:\r\n", 20)+"\r\n", line+host+strings.Repeat("A:\r\n", 19), HeadTooLarge)
}

// TestIsHead knows a HEAD by its method, whatever is wrong behind it and in however many pieces it comes.
func TestIsHead(t *testing.T) {
	f := func(sent string, want bool) {
		t.Helper()
		for size := 1; size <= len(sent); size++ {
			g := Guard{Limits: &testLimits}
			var fault *RequestError
			for rest := sent; rest != "" && fault == nil; {
				n := min(size, len(rest))
				_, fault = g.Check([]byte(rest[:n]))
				rest = rest[n:]
			}

			if got := g.IsHead(); got != want {
				t.Errorf("%q, %d bytes at a time (fault %v): %t, want %t", sent, size, fault, got, want)
			}
		}
	}

	f("HEAD", false)
	f("HEAD ", true)
	f("HEAD /x", true)
	f("\r\nHEAD /x y HTTP/1.1\r\n", true)
	f("HEAD /x y HTTP/1.1\r\n", true)
	f("HEAD /x HTTP/2.0\r\n", true)
	f("HEAD /x\n", true)
	f("HEAD /"+strings.Repeat("x", 3000), true)
	f("HEAD /x HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", true)
	f("HEAD /x HTTP/1.1\r\nHost: a\r\nContent-Length: 4097\r\n\r\n", true)
	f("HEAD /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx", true)
	f("HEAD /x HTTP/1.1\r\nHost: a\r\n\r\n", false) // it is whole
	f("HEAD /x HTTP/1.1\r\nHost: a\r\n\r\nGET /x y HTTP/1.1\r\n", false)
	f("GET /x HTTP/1.1\r\nHost: a\r\n\r\nHEAD /x y HTTP/1.1\r\n", true)
	f("head /x HTTP/1.1\r\n", false)
	f("GET /HEAD y HTTP/1.1\r\n", false)
	f("HEADS /x y HTTP/1.1\r\n", false)
}

// TestHeadOfExactly holds the bounds of a head to the byte.
func TestHeadOfExactly(t *testing.T) {
	for _, extra := range []int{-1, 0, 1} {
		head := "GET / HTTP/1.1\r\nHost: a\r\nA: "
		head += strings.Repeat("a", testLimits.Head+extra-len(head)-4) + "\r\n\r\n"
		g := Guard{Limits: &testLimits}
		if _, fault := g.Check([]byte(head)); kindOf(fault) == HeadTooLarge != (extra > 0) {
			t.Errorf("%d bytes: %v", len(head), fault)
		}
	}
}

// TestCheckAllocs wants a request that comes in one piece to cost no allocation, with a body or without.
func TestCheckAllocs(t *testing.T) {
	for _, request := range []string{
		"GET /v1/cards/x HTTP/1.1\r\nHost: a\r\nX-API-Key: k\r\n\r\n",
		"POST /v1/cards/batch HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}",
		"POST /v1/cards/batch HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
	} {
		g := Guard{Limits: &testLimits}
		p := []byte(request)
		if n := testing.AllocsPerRun(100, func() {
			if _, fault := g.Check(p); fault != nil {
				t.Fatal(fault)
			}
		}); n != 0 {
			t.Errorf("%q takes %.0f allocations", request, n)
		}
	}
}

// TestKnownLines sends two heads on one connection, each in one piece. The second head is judged as
// on a new connection.
func TestKnownLines(t *testing.T) {
	lines := []string{
		"\r\n", "Host: a\r\n\r\n", "Host: a\r\nX-API-Key: k\r\n\r\n", "Host: a\r\nX-API-Key: l\r\n\r\n",
		"Host: b\r\n\r\n", "X-API-Key: k\r\n\r\n",
		"Host: a\r\nContent-Length: 0\r\n\r\n", "Host: a\r\nContent-Length: 2\r\n\r\n{}",
		"Host: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"Host: a\r\nHost: a\r\n\r\n", "Host: a\r\nExpect: 200-ok\r\n\r\n", "Host: a\r\nExpect: 100-continue\r\n\r\n",
		"Host: a\n\r\n", "Host: a\r\n folded\r\n\r\n",
		"Host: a\r\nA: " + strings.Repeat("a", testLimits.Head-40) + "\r\n\r\n", "Host: a\r\n" +
			strings.Repeat("A: b\r\n", 19) + "\r\n",
	}

	begins := []string{
		"GET /x HTTP/1.1\r\n", "\r\nGET /x HTTP/1.1\r\n", "GET /x HTTP/1.0\r\n", "POST /y HTTP/1.1\r\n",
		"GET http://a/x HTTP/1.1\r\n", "GET http://b/x HTTP/1.1\r\n",
		"OPTIONS * HTTP/1.1\r\n", "get /x HTTP/1.1\r\n", "GET /x HTTP/2.0\r\n", "CONNECT a:1 HTTP/1.1\r\n", "GET /" +
			strings.Repeat("x", 60) + " HTTP/1.1\r\n",
	}

	var heads []string
	for _, b := range begins {
		for _, l := range lines {
			heads = append(heads, b+l)
		}
	}

	check := func(g *Guard, head string) (string, *RequestError) {
		p := []byte(head)
		n, fault := g.Check(p)
		return string(p[:n]), fault
	}
	known := 0
	for _, first := range heads {
		for _, second := range heads {
			g := Guard{Limits: &testLimits}
			if _, fault := check(&g, first); fault != nil || !g.Idle() {
				break // the connection ends, or waits for more
			}
			got, fault := check(&g, second)
			alone := Guard{Limits: &testLimits}
			want, wanted := check(&alone, second)
			if got != want || kindOf(fault) != kindOf(wanted) || g.Idle() != alone.Idle() ||
				string(g.Head()) != string(alone.Head()) {
				t.Fatalf("%q after %q: %q with %v, alone %q with %v", second, first, got, fault, want, wanted)
			}
			if n, fault := g.Check([]byte("GET / HTTP/1.1\r\nHo")); fault == nil && wanted == nil && g.Idle() {
				t.Fatalf("after %q and %q the beginning of a third is forgotten: %d", first, second, n)
			}
			if len(g.cachedHead) > 0 && strings.HasSuffix(second, string(g.cachedHead)) {
				known++
			}
		}
	}

	if known < len(heads) {
		t.Errorf("only %d of the second heads were known", known)
	}
}

// TestLargeBodies asks about a client once its body exceeds the limit for unknown clients, in any
// encoding and in any number of pieces.
func TestLargeBodies(t *testing.T) {
	const head = "POST /x HTTP/1.1\r\nHost: a\r\n"
	limits := Limits{Head: 2048, Fields: 20, Body: 400, Unauthenticated: 100}
	f := func(sent, wantHead string, welcome bool, wantAsked int, want Kind) {
		t.Helper()
		for size := 1; size <= len(sent); size++ {
			asked := 0
			g := Guard{Limits: &limits}
			g.AllowLargeBody = func() bool {
				asked++
				if got := string(g.Head()); got != wantHead {
					t.Errorf("%d bytes at a time: asked about %q, want %q", size, got, wantHead)
				}
				return welcome
			}

			var fault *RequestError
			passed := 0
			for rest := sent; rest != "" && fault == nil; {
				var n int
				piece := []byte(rest[:min(size, len(rest))])
				n, fault = g.Check(piece)
				passed += n
				rest = rest[len(piece):]
			}

			if kindOf(fault) != want || asked != wantAsked || fault == nil && (passed != len(sent) || !g.Idle()) {
				t.Errorf("%q, %d bytes at a time: %v, asked %d times, %d of %d bytes passed; want %d, asked %d times",
					sent[:60], size, fault, asked, passed, len(sent), want, wantAsked)
			}
		}
	}

	length := func(n int) (sent, whole string) {
		whole = head + "Content-Length: " + strconv.Itoa(n) + "\r\n\r\n"
		return whole + strings.Repeat("x", n), whole
	}
	chunks := func(sizes ...int) (sent, whole string) {
		whole = head + "Transfer-Encoding: chunked\r\n\r\n"
		sent = whole
		for _, n := range sizes {
			sent += strconv.FormatInt(int64(n), 16) + "\r\n" + strings.Repeat("x", n) + "\r\n"
		}
		return sent + "0\r\n\r\n", whole
	}

	for _, welcome := range []bool{false, true} {
		refused := Unauthenticated
		if welcome {
			refused = 0
		}
		try := func(sent, whole string, asked int, want Kind) {
			t.Helper()
			f(sent, whole, welcome, asked, want)
		}

		sent, whole := length(100)
		try(sent, whole, 0, 0)
		sent, whole = length(101)
		try(sent, whole, 1, refused)
		sent, whole = length(400)
		try(sent, whole, 1, refused)
		sent, whole = length(401)
		try(sent, whole, 0, BodyTooLarge)

		sent, whole = chunks(50, 50)
		try(sent, whole, 0, 0)
		sent, whole = chunks(101)
		try(sent, whole, 1, refused)
		sent, whole = chunks(50, 51, 100, 199)
		try(sent, whole, 1, refused)
		sent, whole = chunks(401)
		try(sent, whole, 0, BodyTooLarge)
		sent, whole = chunks(90, 311)
		try(sent, whole, 0, BodyTooLarge)
	}

	sent, whole := chunks(101, 200, 100)
	f(sent, whole, true, 1, BodyTooLarge)
}
