// Package httpconn is what works around fasthttp: connections that are checked and closed slowly,
// header lines in one block, content negotiation, compression. It knows HTTP and nothing of the
// API.
//
// # Basics
//
// [Connections.Listen] wraps a listener: its connections check the framing of requests before
// fasthttp parses them (package strict), keep the deadlines, and end so that the last answer
// arrives.
//
// A [Call] is one request and the answer being made to it. Begin reads the header fields that every
// request is asked for; Head gathers the answer's header lines; the Send methods hand a body to
// fasthttp.
//
// # Caveats
//
// Whatever comes from fasthttp's RequestCtx dies with the handler, and so does what a Call returns
// of it.
package httpconn
