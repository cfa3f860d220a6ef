// Package api has the operations of the service as functions of a request and a reply: the two REST
// surfaces and the tools of MCP. It knows neither the HTTP library nor the metering.
//
// # Basics
//
// An [Operation] describes its route (method, path, surface), its inputs (query parameters, scope)
// and how it runs. It also selects the work of the pipeline: an idempotency key, the caller's
// usage, a final meta member. [Operations] lists all of them; package server makes its route table
// from the list.
//
// A [Request] has the View, the instant, the plan, the arguments and the body. Run reads them and
// either appends its response to the [Reply] or returns an error for the client. All problems of
// the arguments are collected and reported together (decision 5).
//
// # Caveats
//
// Text that an operation reads from parameters or a body is in the request's memory and valid as
// long as the request: copy it to retain it. Requests and replies are reused: Reset clears one.
package api
