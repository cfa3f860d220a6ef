// Package httpconn works around limits of fasthttp: connections that are checked and closed slowly,
// header lines in one block, content negotiation, compression. It knows HTTP and not the API.
//
// # Basics
//
// [Connections.Listen] wraps a listener: its connections check the framing of requests before
// fasthttp parses them (package framing), set the deadlines, and close so that the last response
// arrives.
//
// A [Call] is one request and its response. Begin reads the header fields that every request needs;
// Head gathers the response's header lines; the Send methods pass a body to fasthttp.
//
// # Caveats
//
// Everything from fasthttp's RequestCtx is invalid after the handler, also through a Call.
package httpconn
