package server

import (
	"bytes"
	"strconv"

	"github.com/valyala/fasthttp"
)

// head is the header lines of an answer. fasthttp takes one header at a time, searches those already set for it and
// cleans its value: for the ten headers of an answer that is more work than all the rest. So they are spelt into one
// block and handed over as a single header, whose name is everything up to the last line's value. That is sound
// because names and values are this package's own: no value holds a line break (ids are checked, what comes from a
// client is percent-encoded).
type head struct {
	block []byte // "Name: value", lines joined by CRLF, the last one open
	value int    // where the last line's value begins
}

func (h *head) name(name string) {
	if len(h.block) > 0 {
		h.block = append(h.block, "\r\n"...)
	}
	h.block = append(h.block, name...)
	h.block = append(h.block, ": "...)
	h.value = len(h.block)
}

func (h *head) set(name, value string) {
	h.name(name)
	h.block = append(h.block, value...)
}

func (h *head) setBytes(name string, value []byte) {
	h.name(name)
	h.block = append(h.block, value...)
}

func (h *head) setInt(name string, v int64) {
	h.name(name)
	h.block = strconv.AppendInt(h.block, v, 10)
}

// send hands the lines to a response and begins anew.
func (h *head) send(r *fasthttp.ResponseHeader) {
	if len(h.block) > len(": ") {
		r.SetCanonical(h.block[:h.value-len(": ")], h.block[h.value:])
	}
	h.block = h.block[:0]
}

// fields are the request headers that every request is asked for, found in one pass: the first value of each, and
// which came more than once.
type fields struct {
	apiKey, authorization, requestID, accept, noneMatch, origin []byte
	repeated                                                    uint8 // bits of the enumeration below
	closes                                                      bool  // the client wants the connection to end with the answer
}

const (
	repeatedAccept = 1 << iota
	repeatedNoneMatch
)

// read finds the fields among the headers of a request. The names are in canonical form.
func (f *fields) read(h *fasthttp.RequestHeader) {
	*f = fields{}
	connection := false
	for name, value := range h.All() {
		switch len(name) {
		case len("Origin"):
			if f.origin == nil && string(name) == fasthttp.HeaderOrigin {
				f.origin = value
			}
		case len("X-Api-Key"):
			if string(name) == "X-Api-Key" { // once at most, as Authorization (package strict)
				f.apiKey = value
			}
		case len("Connection"):
			if string(name) == fasthttp.HeaderConnection {
				connection, f.closes = true, f.closes || hasClose(value)
			}
		case len("X-Request-Id"):
			if f.requestID == nil && string(name) == "X-Request-Id" {
				f.requestID = value
			}
		case len("Authorization"): // and of If-None-Match
			switch string(name) {
			case fasthttp.HeaderAuthorization:
				f.authorization = value
			case fasthttp.HeaderIfNoneMatch:
				f.keep(&f.noneMatch, value, repeatedNoneMatch)
			}
		case len("Accept-Encoding"):
			if string(name) == fasthttp.HeaderAcceptEncoding {
				f.keep(&f.accept, value, repeatedAccept)
			}
		}
	}
	if connection && !f.closes {
		f.closes = closedBefore(h)
	}
}

// closedBefore finds a close among the Connection lines as they were sent: fasthttp forgets one that another line follows.
func closedBefore(h *fasthttp.RequestHeader) bool {
	for name, value := range h.AllInOrder() {
		if string(name) == fasthttp.HeaderConnection && hasClose(value) {
			return true
		}
	}
	return false
}

// hasClose reports whether a value of Connection, a list of options in any letters (RFC 9110, 7.6.1), holds close.
// fasthttp knows only the value that is exactly that.
func hasClose(value []byte) bool {
	for len(value) > 0 {
		var option []byte
		option, value, _ = bytes.Cut(value, []byte{','})
		if bytes.EqualFold(bytes.Trim(option, " \t"), []byte("close")) {
			return true
		}
	}
	return false
}

func (f *fields) keep(to *[]byte, value []byte, bit uint8) {
	if *to != nil {
		f.repeated |= bit
		return
	}
	*to = value
}
