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

// protocolProblem translates an error of the guard or the HTTP parser for the client (decision 3).
func protocolProblem(err error) *wire.APIError {
	const invalid = "the request is not valid HTTP"
	var fault *framing.RequestError
	var small *fasthttp.ErrSmallBuffer
	var timeout net.Error

	// In this order: an error of the guard first, even if fasthttp returns another one.
	switch {
	case errors.As(err, &fault) && fault.Kind == framing.Malformed:
		return problem(wire.InvalidRequest, invalid+": "+fault.Reason)
	case errors.As(err, &fault) && fault.Kind == framing.BodyTooLarge, errors.Is(err, fasthttp.ErrBodyTooLarge):
		return bodyTooLarge
	case fault != nil && fault.Kind == framing.BudgetExceeded:
		return bodyBudgetFull
	case fault != nil, errors.As(err, &small):
		return problem(wire.HeadersTooLarge,
			"the request's headers are too large: the request line and headers have at most 16 KiB and 100 lines")
	case errors.As(err, &timeout) && timeout.Timeout():
		return problem(wire.RequestTimeout, "the request did not arrive in time")
	}
	return problem(wire.InvalidRequest, invalid)
}

var bodyTooLarge = problem(wire.PayloadTooLarge, "the body is larger than 256 KiB: send it in several requests")

// bodyBudgetFull refuses a body because other bodies use the whole memory for bodies. Each is
// complete or given up within 15 s, most within one.
var bodyBudgetFull = &wire.APIError{
	Code: wire.TemporarilyUnavailable, RetryAfter: 2,
	Detail: "the server reads as many large bodies as it has memory for; nothing was charged: try again",
}

// checkMediaType requires a JSON body without content encoding (decision 3), or a CSV body if the
// operation takes that.
func (x *exchange) checkMediaType() *wire.APIError {
	// A charset is redundant for JSON, and other parameters have no meaning here.
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

// allowsLargeBody reports whether the request that a connection is reading may have a body larger
// than httpconn.MaxUnauthenticatedBody: only if its key authenticates. Else its answer is 401,
// whatever the body.
func (s *Server) allowsLargeBody(conn *httpconn.Conn) bool {
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
