package framing

import (
	"bytes"
	"strconv"
)

// request is the state of a request's head.
type request struct {
	version version // 0 until the request line is valid
	blank   bool    // an empty line came before the request line
	end     int     // where the line after the request line begins
	cached  bool    // the lines after the request line are the cached ones
	fields  int
	seen    onceHeader
	length  int // Content-Length
	// The target's authority and the Host header's value, as positions in the head; empty if
	// missing.
	authority, host span
}

type version uint8

const (
	http10 version = iota + 1
	http11
)

type span struct{ start, end int }

func (s span) of(h []byte) []byte { return h[s.start:s.end] }

// onceHeader is a set of headers that may come once.
type onceHeader uint16

const (
	host onceHeader = 1 << iota
	contentLength
	transferEncoding
	contentType
	authorization
	apiKey
	idempotencyKey
	protocolVersion
	origin
	expect
)

func (r *request) has(s onceHeader) bool { return r.seen&s != 0 }

// onceHeaders are the names of those headers in the order of their bits, in lower case.
var onceHeaders = [...]string{
	"host", "content-length", "transfer-encoding", "content-type", "authorization", "x-api-key", "idempotency-key",
	"mcp-protocol-version", "origin", "expect",
}

// onceHeaderOf returns the header with a name, 0 for one that may come more than once or has no
// meaning here.
func onceHeaderOf(name []byte) onceHeader {
	for bit, one := range onceHeaders {
		if isFold(name, one) {
			return 1 << bit
		}
	}
	return 0
}

// isFold reports whether b, in any case, equals want, which has lower-case letters, digits and
// hyphens. It is called for every header line of a POST, so strings.EqualFold is too slow.
func isFold(b []byte, want string) bool {
	if len(b) != len(want) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != want[i] {
			return false
		}
	}
	return true
}

// checkRequestLine checks a request line, or one empty line before it (RFC 9112, 2.2 and 3).
func (r *request) checkRequestLine(h []byte, start, end int) *RequestError {
	line := h[start:end]
	if len(line) == 0 {
		if r.blank {
			return malformed("more than one empty line precedes the request line")
		}
		r.blank = true
		return nil
	}

	// The parts are separated by one space each, so that all parsers split the line there.
	n := classPrefix(line, inMethod)
	if n == 0 || n == len(line) || line[n] != ' ' {
		return errBadMethod
	}

	target := n + 1
	n = target + classPrefix(line[target:], inTarget)
	switch {
	case n == target || n < len(line) && line[n] != ' ':
		return errBadTarget
	case n == len(line):
		return malformed("the request line must be a method, a target and a version with one space between them")
	}

	switch string(line[n+1:]) {
	case "HTTP/1.1":
		r.version = http11
	case "HTTP/1.0":
		r.version = http10
	default:
		return malformed("the version must be HTTP/1.1 or HTTP/1.0")
	}
	return r.checkTarget(line, target, n, start)
}

// checkTarget checks the form of a request target (RFC 9112, 3.2) in a line that begins at offset
// in the head.
func (r *request) checkTarget(line []byte, start, end, offset int) *RequestError {
	method := line[:start-1]
	target := line[start:end]
	switch {
	case string(method) == "CONNECT":
		return errBadTarget // tunnels are not supported
	case target[0] == '/', string(target) == "*" && string(method) == "OPTIONS":
		return nil
	}

	// The absolute form, which proxies send: its authority must be that of Host (see checkWhole).
	scheme := bytes.Index(target, []byte("://"))
	if scheme < 0 || !isFold(target[:scheme], "http") && !isFold(target[:scheme], "https") {
		return errBadTarget
	}

	n := classPrefix(target[scheme+3:], inHost)
	path := scheme + 3 + n
	if n == 0 || path == len(target) || target[path] != '/' {
		return errBadTarget
	}
	r.authority = span{offset + start + scheme + 3, offset + start + path}
	return nil
}

// checkField checks a header line (RFC 9112, 5).
func (r *request) checkField(h []byte, start, end int) *RequestError {
	line := h[start:end]
	n := classPrefix(line, inName)
	switch {
	case n == 0 && (line[0] == ' ' || line[0] == '\t'):
		return malformed("a header line must not begin with a space")
	case n == 0 || n == len(line) || line[n] != ':':
		return malformed("a header name must be a token that a colon follows at once")
	case !isValue(line[n+1:]):
		return malformed("a header value must not have control characters")
	}

	// Of two such headers some parsers use the first, others the last.
	s := onceHeaderOf(line[:n])
	if s == 0 {
		return nil
	}
	if r.has(s) {
		return errRepeated
	}
	r.seen |= s

	// The value ends with the line, so its position follows from its length.
	value := bytes.TrimLeft(line[n+1:], " \t")
	return r.checkValue(s, bytes.TrimRight(value, " \t"), end-len(value))
}

// checkValue checks the value of a header that decides where a request ends or to which host it
// goes.
func (r *request) checkValue(s onceHeader, value []byte, start int) *RequestError {
	switch s {
	case host:
		if len(value) == 0 || classPrefix(value, inHost) != len(value) {
			return malformed("the Host header must be a host and a port")
		}
		r.host = span{start, start + len(value)}
	case contentLength:
		n, err := strconv.ParseUint(string(value), 10, strconv.IntSize-1) // digits only
		if err != nil {
			return malformed("Content-Length must be one decimal number")
		}
		r.length = int(n)
	case transferEncoding:
		if r.version != http11 || !isFold(value, "chunked") {
			return malformed("Transfer-Encoding must be chunked, and HTTP/1.1")
		}
	case expect:
		if r.version == http11 && !isFold(value, "100-continue") {
			return malformed("the only expectation that can be met is 100-continue")
		}
	case contentType, authorization, apiKey, idempotencyKey, protocolVersion, origin: // any value
	}

	return nil
}

// checkWhole checks a complete head: the headers together.
func (r *request) checkWhole(h []byte) *RequestError {
	switch {
	case r.version == http11 && !r.has(host):
		return malformed("HTTP/1.1 requires a Host header")
	case r.has(contentLength) && r.has(transferEncoding):
		return malformed("Content-Length and Transfer-Encoding exclude each other")
	case r.authority.end > 0 && r.has(host) && !bytes.EqualFold(r.authority.of(h), r.host.of(h)):
		return malformed("the request target names another host than the Host header")
	}
	return nil
}
