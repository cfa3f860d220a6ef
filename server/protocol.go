package server

import (
	"bytes"
	"errors"
	"mime"
	"net"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"ninepocket/api"
	"ninepocket/server/framing"
	"ninepocket/server/httpconn"
	"ninepocket/wire"
)

// protocolFault says what an error of the guard or the HTTP parser is to the client (decision 3).
func protocolFault(err error) *wire.APIError {
	const invalid = "the request is not valid HTTP"
	var fault *framing.RequestError
	var small *fasthttp.ErrSmallBuffer
	var timeout net.Error

	// In this order: what the guard refused first, whatever fasthttp made of it.
	switch {
	case errors.As(err, &fault) && fault.Kind == framing.Malformed:
		return problem(wire.InvalidRequest, invalid+": "+fault.Reason)
	case errors.As(err, &fault) && fault.Kind == framing.BodyTooLarge, errors.Is(err, fasthttp.ErrBodyTooLarge):
		return tooLarge
	case fault != nil && fault.Kind == framing.NoRoom:
		return noRoom
	case fault != nil, errors.As(err, &small):
		return problem(wire.HeadersTooLarge,
			"the request's headers are too large: the request line and headers have at most 16 KiB and 100 lines")
	case errors.As(err, &timeout) && timeout.Timeout():
		return problem(wire.RequestTimeout, "the request did not arrive in time")
	}
	return problem(wire.InvalidRequest, invalid)
}

var tooLarge = problem(wire.PayloadTooLarge, "the body is larger than 256 KiB: send it in several requests")

// noRoom is what a client is told whose body is not read, because others' bodies take all the memory
// that bodies may take: a body is whole or given up within 15 s, most within one.
var noRoom = &wire.APIError{
	Code: wire.TemporarilyUnavailable, RetryAfter: 2,
	Detail: "the server reads as many large bodies as it has memory for; nothing was charged: try again",
}

// checkMediaType wants a JSON body without content encoding (decision 3), or one of CSV where the
// operation takes that.
func (x *exchange) checkMediaType() *wire.APIError {
	// A charset says nothing new of JSON, and other parameters mean nothing here.
	given := string(x.Ctx.Request.Header.ContentType())
	media, params, err := mime.ParseMediaType(given)
	charset, named := params["charset"]
	takesCSV := x.op != nil && x.op.TakesCSV
	x.request.CSV = takesCSV && media == "text/csv"
	if err != nil || media != "application/json" && !x.request.CSV || named && !strings.EqualFold(charset, "utf-8") {
		wanted := "application/json"
		if takesCSV {
			wanted += " or text/csv"
		}
		return problem(wire.UnsupportedMediaType, "Content-Type must be "+wanted+" (got "+api.QuoteInput(given)+
			"): send the body as "+wanted)
	}

	encoding := x.Field(fasthttp.HeaderContentEncoding)
	if len(encoding) > 0 && !bytes.EqualFold(encoding, []byte("identity")) {
		return problem(wire.UnsupportedMediaType,
			"Content-Encoding is not supported (got "+api.QuoteInput(string(encoding))+
				"): send the body as it is")
	}
	return nil
}

// welcomes reports whether the request that a connection is reading may have a body larger than
// front.MaxUnauthenticatedBody: its key authenticates. Without one, 401 is all that a body could
// bring.
func (s *Server) welcomes(conn *httpconn.Conn) bool {
	q := fasthttp.AcquireRequest()
	defer fasthttp.ReleaseRequest(q)
	conn.RestoreHead(q)

	keys := readCredentials(q.Header.Peek("X-Api-Key"), q.Header.Peek(fasthttp.HeaderAuthorization))
	key, ok := keys.key()
	if !ok {
		return false
	}

	_, now := s.instant(time.Now())
	_, err := s.Gate.Authenticate(key, now)
	return err == nil
}
