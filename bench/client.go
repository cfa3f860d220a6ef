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

// Request is the bytes of an HTTP request. If Digits is not 0, that many decimal digits from At on
// differ in every request that is sent, which makes an idempotency key or a search unique.
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

// response is one HTTP response. Its slices alias the connection's buffer and are valid until the
// next response is read.
type response struct {
	status       int
	header, body []byte
}

// conn is a keep-alive connection that sends prepared bytes and parses only the status and length
// of a response. The client of net/http would cost several times as much as the measured server.
type conn struct {
	net.Conn
	buf        []byte
	start, end int // of the bytes that are read and not yet returned
}

// answerTimeout bounds every wait for a response, so that a measurement fails if a server hangs.
const answerTimeout = 30 * time.Second

func dial(address string) (*conn, error) {
	// A server that does not respond must not stop the whole measurement.
	c, err := net.DialTimeout("tcp", address, answerTimeout)
	if err != nil {
		return nil, fmt.Errorf("cannot reach the server at %s: %w", address, err)
	}
	return &conn{Conn: c, buf: make([]byte, 64<<10)}, nil
}

// addressOf returns the host and port of an http URL.
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

// read returns the next response of the connection.
func (c *conn) read() (response, error) {
	if c.start == c.end {
		c.start = 0
		c.end = 0
	}

	scanned := 0
	for {
		have := c.buf[c.start:c.end]
		from := max(scanned-len(headerEnd), 0)
		if i := bytes.Index(have[from:], headerEnd); i >= 0 {
			return c.takeResponse(from + i + len(headerEnd))
		}

		scanned = len(have)
		if err := c.fill(len(have) + 1); err != nil {
			return response{}, err
		}
	}
}

// takeResponse returns the response whose header has head bytes, once all of it is received.
func (c *conn) takeResponse(head int) (response, error) {
	header := c.buf[c.start : c.start+head]
	if len(header) < len("HTTP/1.1 200") {
		return response{}, fmt.Errorf("cannot read the answer %q", header)
	}

	status, err := strconv.Atoi(string(header[9:12]))
	if err != nil {
		return response{}, fmt.Errorf("cannot read the status of %q", header)
	}

	length, err := contentLength(header)
	if err != nil {
		return response{}, fmt.Errorf("cannot read the answer %q: %w", header, err)
	}
	if err := c.fill(head + length); err != nil {
		return response{}, err
	}
	all := c.buf[c.start : c.start+head+length]
	c.start += len(all)
	return response{status: status, header: all[:head], body: all[head:]}, nil
}

// contentLength returns the length of a body. Servers write the header name as here or in lower
// case.
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

// fill reads until n unreturned bytes are in the buffer.
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

// roundTrip sends one request and waits for its response.
func (c *conn) roundTrip(request []byte) (response, error) {
	if err := c.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return response{}, err
	}
	if _, err := c.Write(request); err != nil {
		return response{}, fmt.Errorf("cannot send a request: %w", err)
	}
	return c.read()
}

// requestOnce sends a request over a new connection and returns a response that stays valid.
func requestOnce(address string, request []byte) (response, error) {
	conn, err := dial(address)
	if err != nil {
		return response{}, err
	}

	// The response is complete, or its error is returned.
	defer func() { _ = conn.Close() }()
	a, err := conn.roundTrip(request)
	if err != nil {
		return response{}, err
	}
	return response{a.status, bytes.Clone(a.header), bytes.Clone(a.body)}, nil
}
