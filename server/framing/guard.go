// Package framing checks the framing of HTTP/1 requests before an HTTP library parses them.
//
// Two readers of one connection, a proxy and a server, must agree where each request ends. They
// disagree over things that RFC 9112 forbids and parsers tolerate: bare LF, folded headers, spaces
// before a colon, two lengths, odd chunks. A Guard checks the bytes of a connection between the
// socket and the parser, and passes only requests that can be read in one way. Of a request that
// came in one piece, it copies only the header lines, if they are new. It does not know what is
// served.
package framing

import "bytes"

// Limits are the limits of a request.
type Limits struct {
	Head   int // bytes of the request line and the header lines, with their ends and the empty line
	Fields int // header lines
	Body   int // bytes of content, without the chunks' own lines
	// Unauthenticated is how much content is accepted before Guard.AllowLargeBody is called.
	Unauthenticated int
}

// Kind is the rule that a request broke.
type Kind uint8

// The kinds of errors.
const (
	Malformed    Kind = iota + 1
	HeadTooLarge      // the head has too many bytes or lines
	BodyTooLarge
	Unauthenticated // a large body without a valid key; the head is valid
	BudgetExceeded  // a large body while others use the whole budget; the head is valid
)

// RequestError is the reason why a request was refused. Its text is fixed: it contains nothing of
// the request.
type RequestError struct {
	Kind   Kind
	Reason string
}

func (f *RequestError) Error() string { return f.Reason }

// Guard checks the requests of one connection, on one goroutine. It is ready once it has Limits.
type Guard struct {
	Limits *Limits
	// AllowLargeBody reports whether the request of Head may have a body larger than
	// Limits.Unauthenticated. It is called once a request at most. Nil allows all.
	AllowLargeBody func() bool
	// ReserveBody reserves memory for an allowed body of n bytes, and reports whether there was
	// enough. Nil has enough for all.
	ReserveBody func(n int) bool

	state        state
	requestStart int // see RequestStart
	contentStart int // see Content
	fault        *RequestError
	request      request // the current request, or the last one
	body         body
	allowed      int // content that is accepted without asking AllowLargeBody

	// pending are the bytes from earlier calls of the head that is being read, or the head of a
	// body that is being read; its first checked bytes are whole valid lines.
	pending []byte
	checked int

	// cachedHead is the header lines, with the empty line, of the last head that came in one piece
	// and has no body. Clients mostly send the same lines again: their validity depends only on
	// them and the version.
	cachedHead    []byte
	cachedVersion version
}

// maxCachedHead is the largest buffer that a connection retains between requests.
const maxCachedHead = 1 << 10

// placeholder replaces a refused head. A parser that has one byte of a request waits for the rest
// and reports the error that comes instead; without any byte, it would assume that the connection
// ended between two requests.
const placeholder = '?'

// Check checks the bytes p that follow those of earlier calls, and returns how many of them the
// parser may read. An error ends the connection's requests: earlier requests are complete, the
// refused one never will be, and every later call returns the same error. A refused head is
// replaced by one byte, which is written to p.
func (g *Guard) Check(p []byte) (int, *RequestError) {
	if g.fault != nil {
		return 0, g.fault
	}

	at := 0
	begun := 0 // where the current request's head begins in p, if it is complete there
	defer func() { g.requestStart = begun }()
	for at < len(p) {
		if g.state == inHead {
			begun = at
			at += g.checkHead(p[at:])
			if g.fault != nil {
				g.contentStart = at
				p[begun] = placeholder
				return begun + 1, g.fault
			}
			continue
		}

		var n int
		n, g.state, g.fault = g.body.read(g.state, p[at:], g.allowed)
		at += n
		if g.fault == errBodyTooLarge {
			g.fault = g.allow(g.body.total, p[begun:])
			if g.fault == nil {
				at++ // the end of the size line
			}
		}
		if g.fault != nil {
			g.retain(p[begun:])
			return at, g.fault
		}
		if g.state == inHead {
			g.reset()
		}
	}

	// A body continues in the next piece, and Head may be called until then.
	if g.state != inHead {
		g.retain(p[begun:])
	}
	return at, nil
}

// RequestStart returns where the current request begins in the bytes of the last Check; 0 if it
// began in earlier ones.
func (g *Guard) RequestStart() int { return g.requestStart }

// Content returns where the body of a request that was refused for its length begins in the last
// Check, and that length. Both are 0 if it was refused for another reason.
func (g *Guard) Content() (at, length int) {
	if g.fault == nil || g.state != inContent {
		return 0, 0
	}
	return g.contentStart, g.request.length
}

// Idle reports whether the connection is between two requests, with no byte of the next one.
func (g *Guard) Idle() bool { return g.state == inHead && len(g.pending) == 0 }

// Fault returns the error of the connection's last request; nil if there is none.
func (g *Guard) Fault() *RequestError { return g.fault }

// Head returns the valid part of the current request's head: its request line and header lines up
// to the first invalid one. It is nil before a valid request line.
func (g *Guard) Head() []byte {
	if g.request.version == 0 {
		return nil
	}
	return bytes.TrimPrefix(g.pending[:g.checked], []byte("\r\n")) // one empty line may come first
}

// IsHead reports whether the current or refused request has the method HEAD, even if it is invalid:
// its response has no content (RFC 9110, 9.3.2). The method is known once the space after it has
// come.
func (g *Guard) IsHead() bool {
	return bytes.HasPrefix(bytes.TrimPrefix(g.pending, []byte("\r\n")), headMethod)
}

var headMethod = []byte("HEAD ")

// retain copies to pending the checked lines that h begins with, or at least the method, unless
// pending has them already.
func (g *Guard) retain(h []byte) {
	if len(g.pending) == 0 {
		g.pending = append(g.pending, h[:max(g.checked, min(len(h), len("\r\n")+len(headMethod)))]...)
	}
}

// reset prepares for the next request.
func (g *Guard) reset() {
	g.state = inHead
	g.request = request{}
	g.checked = 0

	g.pending = g.pending[:0]
	if cap(g.pending) > maxCachedHead {
		g.pending = nil
	}
}

// checkHead checks the part of a head in p, and returns how many bytes that is.
func (g *Guard) checkHead(p []byte) int {
	before := len(g.pending)
	h := p[:min(len(p), g.Limits.Head-before)]
	if before > 0 {
		g.pending = append(g.pending, h...)
		h = g.pending
	}

	if g.checkLines(h, before) {
		if before > 0 {
			g.pending = h[:g.checked]
		} else {
			g.cacheHead(h)
		}

		// afterHead may reset for the next request, with the number of checked bytes.
		n := g.checked - before
		g.afterHead(h)
		return n
	}

	// Incomplete: the part is retained until the rest comes, unless it is too large.
	switch {
	case g.fault == nil && len(h) == g.Limits.Head:
		g.fault = &RequestError{HeadTooLarge, "the request line and headers are too large"}
	case g.fault == nil && before == 0:
		g.pending = append(g.pending, p...)
	}
	if g.fault != nil {
		g.retain(h)
	}
	return len(p)
}

// checkLines checks the complete lines of h, which has no line end between checked and before, and
// reports whether the head is complete.
func (g *Guard) checkLines(h []byte, before int) bool {
	r := &g.request
	for {
		from := max(g.checked, before)
		n := bytes.IndexByte(h[from:], '\n')
		if n < 0 {
			// Bytes that are not HTTP at all, such as those of TLS, may never have a line end.
			line := h[g.checked:]
			if r.version == 0 && len(line) > 0 && classes[line[0]]&inMethod == 0 && line[0] != '\r' {
				g.fault = errBadMethod
			}
			return false
		}

		// The first line is the request line, an empty line ends the head.
		start := g.checked
		end := from + n - 1
		switch {
		case end < start || h[end] != '\r':
			g.fault = malformed("a line must end with CR LF")
		case r.version == 0:
			g.fault = r.checkRequestLine(h, start, end)
			r.end = end + 2
			if g.fault == nil && before == 0 && g.matchesCached(h[r.end:]) {
				g.checked = r.end + len(g.cachedHead)
				r.cached = true
				return true
			}
		case start == end:
			g.fault = r.checkWhole(h)
		case r.fields == g.Limits.Fields:
			g.fault = &RequestError{HeadTooLarge, "there are too many header lines"}
		default:
			r.fields++
			g.fault = r.checkField(h, start, end)
		}
		if g.fault == errRepeated {
			g.checkRest(h, end+2)
		}
		if g.fault != nil {
			return false
		}

		g.checked = end + 2
		if start == end && r.version != 0 {
			return true
		}
	}
}

// checkRest counts the valid lines of h from at on as checked, including the repeated header before
// them: the key among them decides the surface of the error (decision 39).
func (g *Guard) checkRest(h []byte, at int) {
	for range g.Limits.Fields {
		n := bytes.IndexByte(h[at:], '\n')
		if n < 2 || h[at+n-1] != '\r' {
			return
		}

		line := h[at : at+n-1]
		name := classPrefix(line, inName)
		if name == 0 || name == len(line) || line[name] != ':' || !isValue(line[name+1:]) {
			return
		}
		at += n + 1
		g.checked = at
	}
}

// matchesCached reports whether the lines after a request line are the cached ones.
func (g *Guard) matchesCached(lines []byte) bool {
	r := &g.request
	return r.version == g.cachedVersion && r.authority.end == 0 && len(g.cachedHead) > 0 &&
		bytes.HasPrefix(lines, g.cachedHead)
}

// cacheHead caches the header lines of a valid head that came in one piece.
func (g *Guard) cacheHead(h []byte) {
	r := &g.request
	lines := h[r.end:g.checked]
	if r.cached || r.length > 0 || r.has(transferEncoding) || len(lines) > maxCachedHead {
		return
	}

	// A copy, because p belongs to the parser.
	g.cachedHead = append(g.cachedHead[:0], lines...)
	g.cachedVersion = r.version
}

// afterHead decides what follows a valid head (RFC 9112, 6.3).
func (g *Guard) afterHead(h []byte) {
	switch r := &g.request; {
	case r.has(transferEncoding):
		g.state = inSize
		g.body = body{}
		g.allowed = min(g.Limits.Unauthenticated, g.Limits.Body)
	case r.length == 0:
		g.reset()
	default:
		g.state = inContent
		g.body = body{left: r.length}
		g.allowed = g.Limits.Body
		if r.length > g.Limits.Unauthenticated {
			g.fault = g.allow(r.length, h)
		}
	}
}

// InBody reports whether the head has come and the rest of the body is missing.
func (g *Guard) InBody() bool { return g.state != inHead }

// allow decides about a body of at least n bytes, more than an unauthenticated request may have. h
// begins with the head, unless pending has it.
func (g *Guard) allow(n int, h []byte) *RequestError {
	g.retain(h)

	// The number of chunks is unknown. The parser reads a chunk with its line end.
	limit := g.request.length
	if g.request.has(transferEncoding) {
		limit = g.Limits.Body + len("\r\n")
	}
	switch {
	case n > g.Limits.Body:
		return errBodyTooLarge
	case g.AllowLargeBody != nil && !g.AllowLargeBody():
		return &RequestError{Unauthenticated, "so large a body is read of known clients only"}
	case g.ReserveBody != nil && !g.ReserveBody(limit):
		return &RequestError{BudgetExceeded, "other bodies take all the memory that bodies may take"}
	}

	g.allowed = g.Limits.Body
	return nil
}
