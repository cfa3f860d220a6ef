package framing

import "strings"

// state says what the next byte belongs to.
type state uint8

const (
	inHead    state = iota
	inContent       // content of a request with Content-Length
	inSize          // a chunk's size
	afterSize       // the LF of its line
	inChunk         // a chunk's data
	afterData       // the CR after it
	afterDataCR
	inEnd // the empty line after the last chunk
	inEndCR
)

// maxSizeDigits limits a chunk's size, with leading zeros: more than any accepted content, less
// than an overflow.
const maxSizeDigits = 8

// body is the state of a body that is being read.
type body struct {
	left   int // bytes of content, or of the chunk's data, that are missing
	size   int // the chunk's size
	digits int // of the chunk's size
	total  int // bytes of all chunks
}

// read reads the part of a body in p, and returns its length and the next state: inHead after the
// body's last byte.
//
// Chunks must not have extensions and trailer fields, which clients of this kind do not send and
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

		// The body ends here: the next request follows.
		if state == inEndCR && p[n] == '\n' {
			return n + 1, inHead, nil
		}
		next, fault := b.frameByte(state, p[n], limit)
		if fault != nil {
			return n, next, fault
		}
		state = next
		n++
	}
	return n, state, nil
}

// frameByte reads one byte around a chunk's data, and returns the next state.
func (b *body) frameByte(state state, c byte, limit int) (state, *RequestError) {
	switch state {
	case inSize:
		return b.sizeByte(c)
	case afterSize:
		return b.beginChunk(c, limit)
	case afterData:
		return afterDataCR, errUnless(c == '\r', errBadChunk)
	case afterDataCR:
		return inSize, errUnless(c == '\n', errBadChunk)
	case inEnd:
		return inEndCR, errUnless(c == '\r', errTrailers)
	default: // inEndCR, whose LF read handles; the other states have no such bytes
		return state, errBadChunk
	}
}

// beginChunk reads the LF after a chunk's size: the chunk's data follows, or the end after an empty
// chunk.
func (b *body) beginChunk(c byte, limit int) (state, *RequestError) {
	// Counted before it is read: a body that is too large is refused at the chunk's size line.
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

// sizeByte reads one byte of a line with a chunk's size and nothing else.
func (b *body) sizeByte(c byte) (state, *RequestError) {
	const digits = "0123456789abcdefABCDEF"

	// No sign, no space and no 0x, which only some parsers accept.
	switch digit := strings.IndexByte(digits, c); {
	case c == '\r' && b.digits > 0:
		return afterSize, nil
	case c == ';' && b.digits > 0:
		return inSize, malformed("chunks must not have extensions")
	case digit < 0 || b.digits == maxSizeDigits:
		return inSize, errBadChunk
	default:
		if digit > 0xf {
			digit -= 6 // an upper-case letter
		}
		b.size = b.size<<4 | digit
		b.digits++
		return inSize, nil
	}
}

// errUnless returns nil if ok, else f.
func errUnless(ok bool, f *RequestError) *RequestError {
	if ok {
		return nil
	}
	return f
}
