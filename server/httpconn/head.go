package httpconn

import "github.com/valyala/fasthttp"

// Head is the header lines of a response. fasthttp takes one header at a time, searches those
// already set for it and cleans its value. For the ten headers of a response that is more work than
// all the rest. So they are encoded in one block and passed as a single header, whose name is
// everything up to the last line's value. That is sound because no value has a line break: ids are
// checked, and values from a client are percent-encoded.
type Head struct {
	block []byte // "Name: value", lines joined by CRLF, the last one without
	value int    // where the last line's value begins
}

// Reset empties the head and reuses its memory.
func (h *Head) Reset() { h.block = h.block[:0] }

// Name begins a line whose value Append adds.
func (h *Head) Name(name string) {
	if len(h.block) > 0 {
		h.block = append(h.block, "\r\n"...)
	}
	h.block = append(h.block, name...)
	h.block = append(h.block, ": "...)
	h.value = len(h.block)
}

// Append calls encode to append to the value of the last line.
func (h *Head) Append(encode func(dst []byte) []byte) { h.block = encode(h.block) }

// Set adds a line.
func (h *Head) Set(name, value string) {
	h.Name(name)
	h.block = append(h.block, value...)
}

// SetBytes is Set of bytes.
func (h *Head) SetBytes(name string, value []byte) {
	h.Name(name)
	h.block = append(h.block, value...)
}

// Send passes the lines to a response and empties the head.
func (h *Head) Send(to *fasthttp.ResponseHeader) {
	if len(h.block) > len(": ") {
		to.SetCanonical(h.block[:h.value-len(": ")], h.block[h.value:])
	}
	h.Reset()
}
