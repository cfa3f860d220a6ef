package framing

import "strings"

// state is what the next byte belongs to.
type state uint8

const (
	inHead    state = iota
	inContent       // of a request with Content-Length
	inSize          // a chunk's size
	afterSize       // the LF of its line
	inChunk         // a chunk's data
	afterData       // the CR after it
	afterDataCR
	inEnd // the empty line after the last chunk
	inEndCR
)

// maxSizeDigits bounds a chunk's size, with leading zeros: more than any content that is taken,
// less than overflows.
const maxSizeDigits = 8

// body is how far a body was read.
type body struct {
	left   int // bytes of content, or of the chunk's data, that are still to come
	size   int // of the chunk
	digits int // of its size
	total  int // bytes of all chunks
}

// read takes what p has of a body and returns how much that is, and what comes next: inHead after
// the body's last byte.
//
// Chunks have no extensions and no trailer fields here, which no client of this kind sends and
// parsers read differently.
func (b *body) read(state state, p []byte, limit int) (n int, _ state, _ *RequestError) {
	for n < len(p) {
		if state == inContent || state == inChunk {
			step := min(b.left, len(p)-n)
			n += step
			b.left -= step
			if b.left > 0 {
				break
			}
			if state == inContent {
				return n, inHead, nil
			}
			state = afterData
			continue
		}

		// The body is over: what follows is the next request's.
		if state == inEndCR && p[n] == '\n' {
			return n + 1, inHead, nil
		}
		next, fault := b.frame(state, p[n], limit)
		if fault != nil {
			return n, next, fault
		}
		state = next
		n++
	}
	return n, state, nil
}

// frame takes one byte of what stands around a chunk's data, and returns what comes next.
func (b *body) frame(state state, c byte, limit int) (state, *RequestError) {
	switch state {
	case inSize:
		return b.sizeByte(c)
	case afterSize:
		return b.begin(c, limit)
	case afterData:
		return afterDataCR, unless(c == '\r', errBadChunk)
	case afterDataCR:
		return inSize, unless(c == '\n', errBadChunk)
	case inEnd:
		return inEndCR, unless(c == '\r', errTrailers)
	default: // inEndCR, whose LF ends the body; the others have no bytes of their own
		return state, errBadChunk
	}
}

// begin takes the LF of a size's line: the chunk's data comes next, or the end after an empty one.
func (b *body) begin(c byte, limit int) (state, *RequestError) {
	// Counted before it is read: a body that is too large is refused at the chunk's size.
	b.left = b.size
	b.total += b.size
	b.size = 0
	b.digits = 0

	switch {
	case c != '\n':
		return inChunk, errBadChunk
	case b.total > limit:
		return inChunk, errBodyTooLarge
	case b.left == 0:
		return inEnd, nil
	}
	return inChunk, nil
}

// sizeByte takes one byte of a line that has a chunk's size and nothing else.
func (b *body) sizeByte(c byte) (state, *RequestError) {
	const digits = "0123456789abcdefABCDEF"

	// No sign, no space and no 0x, which some parsers take and others do not.
	switch digit := strings.IndexByte(digits, c); {
	case c == '\r' && b.digits > 0:
		return afterSize, nil
	case c == ';' && b.digits > 0:
		return inSize, malformed("chunks must not have extensions")
	case digit < 0 || b.digits == maxSizeDigits:
		return inSize, errBadChunk
	default:
		if digit > 0xf {
			digit -= 6 // a capital
		}
		b.size = b.size<<4 | digit
		b.digits++
		return inSize, nil
	}
}

func unless(ok bool, f *RequestError) *RequestError {
	if ok {
		return nil
	}
	return f
}
