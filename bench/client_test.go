package bench

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// trickle is a connection that returns few bytes at a time, so that responses arrive in pieces and
// pieces contain several.
type trickle struct {
	net.Conn
	text []byte
	step int
}

func (c *trickle) Read(p []byte) (int, error) {
	if len(c.text) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.text[:min(c.step, len(c.text))])
	c.text = c.text[n:]
	return n, nil
}

func TestRead(t *testing.T) {
	// Larger than a connection's first buffer.
	large := strings.Repeat("x", 200_000)
	text := "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst" +
		"HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\nRetry-After: 1\r\n\r\n" +
		"HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 200000\r\n\r\n" + large

	want := []response{{status: 200, body: []byte("first")}, {status: 429}, {status: 200, body: []byte(large)}}
	for _, step := range []int{1, 3, 7, 40, 4096, len(text)} {
		c := &conn{Conn: &trickle{text: []byte(text), step: step}, buf: make([]byte, 64)}
		for i, w := range want {
			a, err := c.read()
			if err != nil {
				t.Fatalf("%d bytes a read, answer %d: %v", step, i, err)
			}
			if a.status != w.status || !bytes.Equal(a.body, w.body) {
				t.Errorf("%d bytes a read, answer %d: %d %.20q, want %d %.20q", step, i, a.status, a.body, w.status,
					w.body)
			}
		}
		if _, err := c.read(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("after the last answer: %v, want an early end", err)
		}
	}

	c := &conn{
		Conn: &trickle{text: []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), step: 10},
		buf:  make([]byte, 64),
	}

	if _, err := c.read(); !errors.Is(err, errNoLength) {
		t.Errorf("an answer in chunks: %v, want %v", err, errNoLength)
	}
}

func TestNumber(t *testing.T) {
	r := Request{[]byte("key-0000 end"), 4, 4}
	for n, want := range map[uint64]string{7: "key-0007 end", 1234: "key-1234 end", 98765: "key-8765 end"} {
		if r.number(n); string(r.Bytes) != want {
			t.Errorf("%d gives %q, want %q", n, r.Bytes, want)
		}
	}
}

// TestTurns takes two bursts: requests come in turn, and unique parts differ.
func TestTurns(t *testing.T) {
	op := Operation{Depth: 3, Requests: []Request{{Bytes: []byte("a")}, {
		Bytes: []byte("b=0000000000"), At: 2,
		Digits: 10,
	}}}

	turns := newTurns(&op, 0)
	first := string(turns.take())
	second := string(turns.take())
	shape := func(s string) string {
		return strings.Map(func(r rune) rune {
			if '0' <= r && r <= '9' {
				return -1
			}
			return r
		}, s)
	}

	if shape(first) != "ab=a" || shape(second) != "b=ab=" {
		t.Errorf("bursts are %q and %q", first, second)
	}
	if numbers := strings.Split(second, "b="); len(numbers) != 3 || strings.TrimSuffix(numbers[1], "a") == numbers[2] {
		t.Errorf("%q says the same twice", second)
	}
	if string(op.Requests[1].Bytes) != "b=0000000000" {
		t.Error("a connection wrote into the operation's own request")
	}
}

func TestAddressOf(t *testing.T) {
	for url, want := range map[string]string{
		"http://127.0.0.1:8080": "127.0.0.1:8080", "http://host/": "host:80", "https://host": "", "host:1": "",
		"http://host/v1": "",
	} {
		got, err := addressOf(url)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s is %q, %v, want %q", url, got, err, want)
		}
	}
}

// TestCPUTime uses CPU time in this process and expects to measure it, and that of a child.
func TestCPUTime(t *testing.T) {
	before, err := cpuTime(os.Getpid())
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("skipped: the CPU time of processes, because it is read from Linux")
	}
	if err != nil {
		t.Fatal(err)
	}

	n := 0
	// This may take any time on the clock.
	for after := before; after-before < 5*time.Millisecond; n++ {
		after, err = cpuTime(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
	}

	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Skip("skipped: a child's CPU time, because there is no sleep")
	}
	defer child.Wait()
	defer child.Process.Kill()

	if all := processTree(os.Getpid()); len(all) < 2 || all[0] != os.Getpid() {
		t.Errorf("the family of this process is %v, want the child %d among it", all, child.Process.Pid)
	}
	if now, peak := memory(os.Getpid()); now <= 0 || peak < now/2 {
		t.Errorf("this process holds %d bytes, at most %d", now, peak)
	}
}
