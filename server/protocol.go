package server

import (
	"errors"
	"net"

	"github.com/valyala/fasthttp"

	"ninepocket/wire"
)

// protocolFault says what an error of the HTTP parser is to the client (decision 3).
func protocolFault(err error) wire.Fault {
	var small *fasthttp.ErrSmallBuffer
	var timeout net.Error
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		return tooLarge
	case errors.As(err, &small):
		return wire.Fault{Code: wire.HeadersTooLarge, Detail: "The request line and headers are larger than 16 KiB."}
	case errors.As(err, &timeout) && timeout.Timeout():
		return wire.Fault{Code: wire.RequestTimeout, Detail: "The request did not arrive in time."}
	}
	return wire.Fault{Code: wire.InvalidRequest, Detail: "The request is not valid HTTP."}
}

var tooLarge = wire.Fault{Code: wire.PayloadTooLarge, Detail: "The body is larger than 256 KiB."}
