package bench

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"time"
)

// Request is the bytes of an HTTP request. When Digits is not 0, so many decimal digits from At on
// are to be different in every request that is sent: they make an idempotency key or a search new.
type Request struct {
	Bytes      []byte
	At, Digits int
}

// number writes n into the request's digits.
func (r *Request) number(n uint64) {
	for i := r.At + r.Digits - 1; i >= r.At; i-- {
		r.Bytes[i] = byte('0' + n%10)
		n /= 10
	}
}

// answer is one response. Its slices are the connection's buffer and last until the next one is
// read.
type answer struct {
	status       int
	header, body []byte
}

// conn is a keep-alive connection that sends finished bytes and reads only what it must know of an
// answer: the status and where it ends. net/http's client costs several times what the server under
// measurement does.
type conn struct {
	net.Conn
	buf        []byte
	start, end int // of what was read and not yet taken
}

// answerTimeout bounds every wait for an answer, so that a server that hangs ends a measurement as
// an error.
const answerTimeout = 30 * time.Second

func dial(address string) (*conn, error) {
	// A server that does not answer must not hold up the whole measurement.
	c, err := net.DialTimeout("tcp", address, answerTimeout)
	if err != nil {
		return nil, fmt.Errorf("cannot reach the server at %s: %w", address, err)
	}
	return &conn{Conn: c, buf: make([]byte, 64<<10)}, nil
}

// addressOf is the host and port of an http URL.
func addressOf(base string) (string, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" || u.Host == "" || u.Path != "" && u.Path != "/" {
		return "", fmt.Errorf("cannot drive %q: want http://HOST:PORT", base)
	}
	if u.Port() == "" {
		return u.Host + ":80", nil
	}
	return u.Host, nil
}

var (
	errNoLength = errors.New("the answer has no Content-Length")
	headerEnd   = []byte("\r\n\r\n")
	lengthName  = []byte("Content-Length:")
)

// read takes the next answer from the connection.
func (c *conn) read() (answer, error) {
	if c.start == c.end {
		c.start = 0
		c.end = 0
	}

	scanned := 0
	for {
		have := c.buf[c.start:c.end]
		from := max(scanned-len(headerEnd), 0)
		if i := bytes.Index(have[from:], headerEnd); i >= 0 {
			return c.whole(from + i + len(headerEnd))
		}

		scanned = len(have)
		if err := c.fill(len(have) + 1); err != nil {
			return answer{}, err
		}
	}
}

// whole takes the answer whose header has head bytes, once all of it is there.
func (c *conn) whole(head int) (answer, error) {
	header := c.buf[c.start : c.start+head]
	if len(header) < len("HTTP/1.1 200") {
		return answer{}, fmt.Errorf("cannot read the answer %q", header)
	}

	status, err := strconv.Atoi(string(header[9:12]))
	if err != nil {
		return answer{}, fmt.Errorf("cannot read the status of %q", header)
	}

	length, err := contentLength(header)
	if err != nil {
		return answer{}, fmt.Errorf("cannot read the answer %q: %w", header, err)
	}
	if err := c.fill(head + length); err != nil {
		return answer{}, err
	}
	all := c.buf[c.start : c.start+head+length]
	c.start += len(all)
	return answer{status: status, header: all[:head], body: all[head:]}, nil
}

// contentLength finds the length of a body. Servers spell the name as here or in lower case.
func contentLength(header []byte) (int, error) {
	i := bytes.Index(header, lengthName)
	if i < 0 {
		i = bytes.Index(header, bytes.ToLower(lengthName))
	}
	if i < 0 {
		return 0, errNoLength
	}

	rest := header[i+len(lengthName):]
	line := rest[:bytes.IndexByte(rest, '\r')]
	return strconv.Atoi(string(bytes.TrimSpace(line)))
}

// fill reads on until n bytes are there that were not taken.
func (c *conn) fill(n int) error {
	if n <= c.end-c.start {
		return nil
	}
	if c.start+n > len(c.buf) {
		grown := c.buf
		if n > len(c.buf) {
			grown = make([]byte, 2*n)
		}

		c.end = copy(grown, c.buf[c.start:c.end])
		c.buf = grown
		c.start = 0
	}

	for c.end-c.start < n {
		got, err := c.Read(c.buf[c.end:])
		c.end += got
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("cannot read an answer: %w", err)
		}
	}
	return nil
}

// ask sends one request and waits for its answer.
func (c *conn) ask(request []byte) (answer, error) {
	if err := c.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return answer{}, err
	}
	if _, err := c.Write(request); err != nil {
		return answer{}, fmt.Errorf("cannot send a request: %w", err)
	}
	return c.read()
}

// askOnce asks over a connection of its own and returns an answer that stays.
func askOnce(address string, request []byte) (answer, error) {
	conn, err := dial(address)
	if err != nil {
		return answer{}, err
	}

	// The answer is there or the error is told.
	defer func() { _ = conn.Close() }()
	a, err := conn.ask(request)
	if err != nil {
		return answer{}, err
	}
	return answer{a.status, bytes.Clone(a.header), bytes.Clone(a.body)}, nil
}
