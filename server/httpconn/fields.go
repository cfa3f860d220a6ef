package httpconn

import (
	"bytes"

	"github.com/valyala/fasthttp"
)

// Fields are the request headers that every request needs, found in one pass: the first value of
// each, and which came more than once. They alias the request.
type Fields struct {
	APIKey        []byte
	Authorization []byte
	RequestID     []byte
	Accept        []byte // Accept-Encoding
	NoneMatch     []byte // If-None-Match
	SnapshotID    []byte // X-Snapshot-Id
	Origin        []byte

	Closes   bool  // the client wants the connection to end with the answer
	repeated uint8 // bits of the constants below
}

const (
	repeatedAccept = 1 << iota
	repeatedNoneMatch
)

// read finds the fields in the headers of a request. The names are in canonical form.
func (f *Fields) read(header *fasthttp.RequestHeader) {
	*f = Fields{}
	connection := false

	// Lengths first: most headers have a length that no name here has.

	for name, value := range header.All() {
		switch len(name) {
		case len("Origin"):
			if f.Origin == nil && string(name) == fasthttp.HeaderOrigin {
				f.Origin = value
			}
		case len("X-Api-Key"):
			if string(name) == "X-Api-Key" { // once at most, as Authorization (package framing)
				f.APIKey = value
			}
		case len("Connection"):
			if string(name) == fasthttp.HeaderConnection {
				connection = true
				f.Closes = f.Closes || hasClose(value)
			}
		case len("X-Request-Id"):
			if f.RequestID == nil && string(name) == "X-Request-Id" {
				f.RequestID = value
			}
		case len("X-Snapshot-Id"): // the length of Authorization and If-None-Match as well
			switch string(name) {
			case fasthttp.HeaderAuthorization:
				f.Authorization = value
			case fasthttp.HeaderIfNoneMatch:
				f.set(&f.NoneMatch, value, repeatedNoneMatch)
			case "X-Snapshot-Id":
				f.SnapshotID = value
			}
		case len("Accept-Encoding"):
			if string(name) == fasthttp.HeaderAcceptEncoding {
				f.set(&f.Accept, value, repeatedAccept)
			}
		}
	}

	if connection && !f.Closes {
		f.Closes = closedBefore(header)
	}
}

// closedBefore finds a close in the Connection lines of the request: fasthttp drops a line that
// another line follows.
func closedBefore(header *fasthttp.RequestHeader) bool {
	for name, value := range header.AllInOrder() {
		if string(name) == fasthttp.HeaderConnection && hasClose(value) {
			return true
		}
	}
	return false
}

// hasClose reports whether a value of Connection contains close. It is a list of options in any
// case (RFC 9110, 7.6.1). fasthttp recognises only the exact value.
func hasClose(value []byte) bool {
	for option := range bytes.SplitSeq(value, []byte{','}) {
		if bytes.EqualFold(bytes.Trim(option, " \t"), []byte("close")) {
			return true
		}
	}
	return false
}

func (f *Fields) set(to *[]byte, value []byte, bit uint8) {
	if *to != nil {
		f.repeated |= bit
		return
	}
	*to = value
}
