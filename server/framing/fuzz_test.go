package framing

import (
	"bufio"
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"net/textproto"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var testLimits = Limits{Head: 2048, Fields: 20, Body: 4096}

// verdict is what a guard made of a stream.
type verdict struct {
	passed []byte // without the placeholder
	ends   []int  // of whole requests
	fault  *RequestError
}

// judge gives a stream to a guard in pieces of the sizes that size returns. The ends are known to the last byte of a
// piece only.
func judge(t *testing.T, stream []byte, size func() int) (v verdict) {
	t.Helper()
	g := Guard{Limits: &testLimits}
	for at := 0; at < len(stream) && v.fault == nil; {
		piece := bytes.Clone(stream[at:min(len(stream), at+size())])
		n, fault := g.Check(piece)
		same := 0
		for same < n && piece[same] == stream[at+same] {
			same++
		}

		switch {
		case n > len(piece), fault == nil && n != len(piece), same < n-1, same < n &&
			(fault == nil || piece[same] != placeholder):
			t.Fatalf("of %q passed %d bytes as %q with fault %v", stream[at:at+len(piece)], n, piece, fault)
		case fault != nil && g.state == inHead && n > 0:
			same = n - 1 // a placeholder, even where it is the byte that was there
		}

		v.passed = append(v.passed, piece[:same]...)
		at += len(piece)
		v.fault = fault
		if fault == nil && g.state == inHead && g.request == (request{}) && len(g.pending) == 0 {
			v.ends = append(v.ends, at)
		}
		if head := g.Head(); len(head) > 0 && !bytes.HasSuffix(head, []byte("\r\n")) {
			t.Fatalf("head %q", head)
		}
	}

	if n, again := g.Check([]byte("GET / HTTP/1.1\r\n")); v.fault != nil && (n != 0 || again != v.fault) {
		t.Fatalf("after the fault %v, %d bytes pass", v.fault, n)
	}
	return v
}

// stricter are the errors of net/http over what this package lets pass, and leaves to those who read targets and hosts.
var stricter = regexp.MustCompile(`invalid URL escape|invalid port|in host name|missing ']' in host|bad trailer key|` +
	`invalid host|` +
	`net/url: invalid|invalid userinfo|expected 1\*8\(`)

// agree holds a verdict against net/http's reading of the same bytes.
func (v *verdict) agree(t *testing.T, stream []byte) {
	t.Helper()
	at := 0
	for _, end := range v.ends {
		one := bytes.TrimPrefix(stream[at:end], []byte("\r\n")) // net/http takes no empty line before a request
		source := bytes.NewReader(stream[end-len(one):])
		r := bufio.NewReader(source)
		req, err := http.ReadRequest(r)
		if err != nil {
			if stricter.MatchString(err.Error()) {
				return
			}
			t.Fatalf("%q is a request, but for net/http: %v", one, err)
		}

		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Fatalf("%q has a whole body, but for net/http: %v", one, err)
		}
		if next := len(stream) - source.Len() - r.Buffered(); next != end {
			t.Fatalf("%q ends at %d, for net/http at %d", one, end, next)
		}

		sameHead(t, one, req)
		if len(body) > testLimits.Body {
			t.Fatalf("%d bytes of body", len(body))
		}
		at = end
	}

	// The rest is no whole request to any reader.
	rest := bytes.TrimPrefix(v.passed[at:], []byte("\r\n"))
	if req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(rest))); err == nil {
		if _, err := io.Copy(io.Discard, req.Body); err == nil {
			t.Fatalf("%q is not whole (%v), but for net/http", rest, v.fault)
		}
	}
}

// sameHead compares a request's lines with what net/http read.
func sameHead(t *testing.T, one []byte, req *http.Request) {
	t.Helper()
	head, _, _ := strings.Cut(string(one), "\r\n\r\n")
	lines := strings.Split(head, "\r\n")
	first := strings.Split(lines[0], " ")
	if len(first) != 3 || req.Method != first[0] || req.RequestURI != first[1] || req.Proto != first[2] {
		t.Fatalf("%q is %s %s %s for net/http", lines[0], req.Method, req.RequestURI, req.Proto)
	}

	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ":")
		value = strings.Trim(value, " \t")
		switch name = textproto.CanonicalMIMEHeaderKey(name); name {
		case "Host":
			if !strings.EqualFold(req.Host, value) {
				t.Fatalf("%q names the host %q for net/http", head, req.Host)
			}
		case "Transfer-Encoding", "Trailer": // which net/http takes out
		default:
			if !slices.Contains(req.Header[name], value) {
				t.Fatalf("%q is %q for net/http", line, req.Header[name])
			}
		}
	}
}

// FuzzGuard wants net/http to agree with the guard on the head, the body and the end of every
// request that passes. Cuts of the bytes must not change the guard's result.
func FuzzGuard(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(seed, uint64(1))
	}

	f.Fuzz(func(t *testing.T, stream []byte, seed uint64) {
		if len(stream) > 16<<10 {
			return
		}

		bytewise := judge(t, stream, func() int { return 1 })
		bytewise.agree(t, stream)
		last := 0
		if n := len(bytewise.ends); n > 0 {
			last = bytewise.ends[n-1]
		}

		random := rand.New(rand.NewPCG(seed, 0))
		for _, size := range []func() int{
			func() int { return len(stream) },
			func() int { return 1 + random.IntN(64) },
			func() int { return 1 + random.IntN(max(1, len(stream))) },
		} {
			v := judge(t, stream, size)
			if kindOf(v.fault) != kindOf(bytewise.fault) { // the reason may be another of the same line's
				t.Fatalf("%q: fault %v in pieces, %v in bytes", stream, v.fault, bytewise.fault)
			}
			if len(v.passed) < last || !bytes.Equal(v.passed[:last], stream[:last]) || v.fault == nil &&
				len(v.passed) != len(stream) {
				t.Fatalf("%q: passed %q in pieces", stream, v.passed)
			}
			v.ends = bytewise.ends
			v.agree(t, stream)
		}
	})
}

func kindOf(f *RequestError) Kind {
	if f == nil {
		return 0
	}
	return f.Kind
}

// seeds are the requests of the server's corpus.
func seeds(tb testing.TB) (all [][]byte) {
	tb.Helper()
	text, err := os.ReadFile("../testdata/hostile.txt")
	if err != nil {
		tb.Fatal(err)
	}

	escapes := strings.NewReplacer(`\r`, "\r", `\n`, "\n", `\t`, "\t", `\x00`, "\x00", `\x01`, "\x01", `\x0b`, "\x0b",
		`\x7f`, "\x7f")
	var one []byte
	for line := range strings.Lines(string(text) + "== \n") {
		line = strings.TrimSuffix(line, "\n")
		switch rest, sent := strings.CutPrefix(line, ">"); {
		case strings.HasPrefix(rest, "> "):
			one = append(one, escapes.Replace(rest[2:])...)
		case sent:
			one = append(one, escapes.Replace(strings.TrimPrefix(rest, " "))+"\r\n"...)
		case strings.HasPrefix(line, "== ") && len(one) > 0:
			all = append(all, one)
			one = nil
		}
	}
	return all
}
