// Package server speaks HTTP: the two surfaces of the API over one route table, on fasthttp.
//
// # Basics
//
// A request is an [exchange] that goes through one pipeline: route, credentials, surface,
// admission, parameters, operation, charge, response. A surface is a value (surface.go):
// how it takes a key, encodes an error and shows limits. A route has the operation of each surface;
// nothing else knows both.
//
// # Caveats
//
// Everything from fasthttp's RequestCtx is invalid after the handler. Text that an operation reads
// from parameters is in the exchange's scratch memory and invalid then too: copy what must live
// longer.
package server
