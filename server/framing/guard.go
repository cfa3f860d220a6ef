// Package framing checks the framing of HTTP/1 requests before an HTTP library parses them.
//
// Two readers of one connection, a proxy and a server, must agree where each request ends. They
// disagree over what RFC 9112 forbids and parsers forgive: bare LF, folded headers, spaces before a
// colon, two lengths, odd chunks. A Guard sees the bytes of a connection on their way from the
// socket to the parser and lets only requests pass that can be read in one way. It copies nothing
// of a request that came in one piece but its header lines, when they are new, and knows nothing of
// what is served.
package framing

import "bytes"

// Limits bound a request.
type Limits struct {
	Head   int // bytes of the request line and the header lines, with their ends and the empty line
	Fields int // header lines
	Body   int // bytes of content, without the chunks' own lines
	// Unasked is how much content is taken before a Guard's Welcome is asked.
	Unauthenticated int
}

// Kind says which rule a request broke.
type Kind uint8

// The kinds of faults.
const (
	Malformed    Kind = iota + 1
	HeadTooLarge      // the head, or its number of lines
	BodyTooLarge
	Unwelcome // a large body of a client that is not known; the head is good
	NoRoom    // a large body while others take all that may be taken; the head is good
)

// RequestError is why a request was refused. Its text is fixed: nothing of the request is in it.
type RequestError struct {
	Kind   Kind
	Reason string
}

func (f *RequestError) Error() string { return f.Reason }

// Guard checks the requests of one connection, on one goroutine. It is ready once it has Limits.
type Guard struct {
	Limits *Limits
	// Welcome reports whether the request, whose Head is known, may have a body that is larger than
	// Unasked. It is asked once a request at most. Nil welcomes all.
	Welcome func() bool
	// Room reports whether there is room for a body of so many bytes, which is larger than Unasked and
	// welcome, and takes it. Nil has room for all.
	Room func(n int) bool

	state   state
	begun   int // see Begun
	content int // see Content
	fault   *RequestError
	request request // whose head is being read, or was read last
	body    body
	allowed int // content that may come without another question

	// pending is what earlier calls saw of the head that is being read, or the head of a body that
	// is being read; the first checked bytes of the head are whole lines that were found good.
	pending []byte
	checked int

	// cachedHead is the header lines, with the empty line, of the last head that came in one piece
	// and has no body. Clients mostly send the same ones again: whether they are good depends on
	// nothing but them and the version.
	cachedHead   []byte
	knownVersion version
}

// maxCachedHead is the largest buffer that a connection holds on to between requests.
const maxCachedHead = 1 << 10

// placeholder stands for a head that is refused. A parser that has one byte of a request waits for
// the rest of it, and reports the error that comes instead; with none, it would take the connection
// to have ended between two requests.
const placeholder = '?'

// Check takes the bytes p that follow those of earlier calls and returns how many of them the
// parser may see. A fault ends the connection's requests: those before the faulty one are whole,
// the faulty one is not and never will be, and every later call returns the fault again. A refused
// head is replaced by one byte, which is written to p.
func (g *Guard) Check(p []byte) (int, *RequestError) {
	if g.fault != nil {
		return 0, g.fault
	}

	at := 0
	begun := 0 // where the current request's head lies in p, if it is whole there
	defer func() { g.begun = begun }()
	for at < len(p) {
		if g.state == inHead {
			begun = at
			at += g.head(p[at:])
			if g.fault != nil {
				g.content = at
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
				at++ // the end of the line with the chunk's size
			}
		}
		if g.fault != nil {
			g.retain(p[begun:])
			return at, g.fault
		}
		if g.state == inHead {
			g.next()
		}
	}

	// A body goes on in the next piece, and its head may be asked for until then.
	if g.state != inHead {
		g.retain(p[begun:])
	}
	return at, nil
}

// Begun is where in the bytes of the last Check the request begins that is being read; 0 when it began
// in earlier ones.
func (g *Guard) Begun() int { return g.begun }

// Content returns where the body of a request that was refused for its length begins in the last
// Check, and that length. Both are 0 for requests that were refused for something else.
func (g *Guard) Content() (at, length int) {
	if g.fault == nil || g.state != inContent {
		return 0, 0
	}
	return g.content, g.request.length
}

// Idle reports whether the connection is between two requests: nothing of another one has come.
func (g *Guard) Idle() bool { return g.state == inHead && len(g.pending) == 0 }

// Fault is why the connection's last request was refused; nil while all is well.
func (g *Guard) Fault() *RequestError { return g.fault }

// Head returns the valid part of the current request's head: its request line and header lines up
// to the first invalid one. It is nil before the request line was found good.
func (g *Guard) Head() []byte {
	if g.request.version == 0 {
		return nil
	}
	return bytes.TrimPrefix(g.pending[:g.checked], []byte("\r\n")) // the empty line that may come first
}

// IsHead reports whether the request that is being read or was refused asks by HEAD, good or not.
// Its answer has no content (RFC 9110, 9.3.2). The method is known once the space behind it has
// come.
func (g *Guard) IsHead() bool {
	return bytes.HasPrefix(bytes.TrimPrefix(g.pending, []byte("\r\n")), headMethod)
}

var headMethod = []byte("HEAD ")

// retain notes the checked lines that h begins with, or the method of a request line that was not
// good, unless h came in pieces and is kept already.
func (g *Guard) retain(h []byte) {
	if len(g.pending) == 0 {
		g.pending = append(g.pending, h[:max(g.checked, min(len(h), len("\r\n")+len(headMethod)))]...)
	}
}

// next waits for another request.
func (g *Guard) next() {
	g.state = inHead
	g.request = request{}
	g.checked = 0

	g.pending = g.pending[:0]
	if cap(g.pending) > maxCachedHead {
		g.pending = nil
	}
}

// head takes what p has of a head and returns how much that is.
func (g *Guard) head(p []byte) int {
	before := len(g.pending)
	h := p[:min(len(p), g.Limits.Head-before)]
	if before > 0 {
		g.pending = append(g.pending, h...)
		h = g.pending
	}

	if g.lines(h, before) {
		if before > 0 {
			g.pending = h[:g.checked]
		} else {
			g.cacheHead(h)
		}

		// afterHead may begin another request, which forgets how far this one was checked.
		n := g.checked - before
		g.afterHead(h)
		return n
	}

	// Not whole: what was seen is kept until the rest comes, unless it has grown too large.
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

// lines checks the whole lines of h, which has no line end between those checked and before, and
// reports whether the head is whole.
func (g *Guard) lines(h []byte, before int) bool {
	r := &g.request
	for {
		from := max(g.checked, before)
		n := bytes.IndexByte(h[from:], '\n')
		if n < 0 {
			if r.version == 0 {
				g.fault = beginning(h[g.checked:])
			}
			return false
		}

		// A line is judged by where it stands: the first is the request line, an empty one the end.
		start := g.checked
		end := from + n - 1
		switch {
		case end < start || h[end] != '\r':
			g.fault = malformed("a line must end with CR LF")
		case r.version == 0:
			g.fault = r.line(h, start, end)
			r.end = end + 2
			if g.fault == nil && before == 0 && g.matchesCached(h[r.end:]) {
				g.checked = r.end + len(g.cachedHead)
				r.known = true
				return true
			}
		case start == end:
			g.fault = r.check(h)
		case r.fields == g.Limits.Fields:
			g.fault = &RequestError{HeadTooLarge, "there are too many header lines"}
		default:
			r.fields++
			g.fault = r.field(h, start, end)
		}
		if g.fault == errRepeated {
			g.readOn(h, end+2)
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

// readOn counts the good lines of h from at on as checked, and with them the header before them that
// was there already: the key among them says in whose words a client is told (decision 39).
func (g *Guard) readOn(h []byte, at int) {
	for range g.Limits.Fields {
		n := bytes.IndexByte(h[at:], '\n')
		if n < 2 || h[at+n-1] != '\r' {
			return
		}

		line := h[at : at+n-1]
		name := run(line, inName)
		if name == 0 || name == len(line) || line[name] != ':' || !isValue(line[name+1:]) {
			return
		}
		at += n + 1
		g.checked = at
	}
}

// matchesCached reports whether the lines that follow a request line are those of an earlier head,
// whole and good.
func (g *Guard) matchesCached(lines []byte) bool {
	r := &g.request
	return r.version == g.knownVersion && r.authority.end == 0 && len(g.cachedHead) > 0 &&
		bytes.HasPrefix(lines, g.cachedHead)
}

// cacheHead notes the header lines of a good head that came in one piece.
func (g *Guard) cacheHead(h []byte) {
	r := &g.request
	lines := h[r.end:g.checked]
	if r.known || r.length > 0 || r.has(transferEncoding) || len(lines) > maxCachedHead {
		return
	}

	// A copy, for p belongs to the parser.
	g.cachedHead = append(g.cachedHead[:0], lines...)
	g.knownVersion = r.version
}

// afterHead decides what follows a good head (RFC 9112, 6.3).
func (g *Guard) afterHead(h []byte) {
	switch r := &g.request; {
	case r.has(transferEncoding):
		g.state = inSize
		g.body = body{}
		g.allowed = min(g.Limits.Unauthenticated, g.Limits.Body)
	case r.length == 0:
		g.next()
	default:
		g.state = inContent
		g.body = body{left: r.length}
		g.allowed = g.Limits.Body
		if r.length > g.Limits.Unauthenticated {
			g.fault = g.allow(r.length, h)
		}
	}
}

// InBody reports whether a part of a body has come, and its rest is awaited.
func (g *Guard) InBody() bool { return g.state != inHead }

// allow decides about a body of at least n bytes, which is more than may come unasked. h begins
// with the head, unless that is kept.
func (g *Guard) allow(n int, h []byte) *RequestError {
	g.retain(h)

	// Of chunks nobody knows how many will come. The parser reads the end of a chunk's line with it.
	limit := g.request.length
	if g.request.has(transferEncoding) {
		limit = g.Limits.Body + len("\r\n")
	}
	switch {
	case n > g.Limits.Body:
		return errBodyTooLarge
	case g.Welcome != nil && !g.Welcome():
		return &RequestError{Unwelcome, "so large a body is read of known clients only"}
	case g.Room != nil && !g.Room(limit):
		return &RequestError{NoRoom, "other bodies take all the memory that bodies may take"}
	}

	g.allowed = g.Limits.Body
	return nil
}
