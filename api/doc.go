// Package api holds the operations of the service as functions of a request and a reply: the two
// REST surfaces and the tools of MCP. It knows neither HTTP's library nor the meter.
//
// # Basics
//
// An [Operation] says where it stands (method, path, surface), what it knows (query parameters,
// scope), what the pipeline has to do around it (an idempotency key, the caller's usage, a closing
// meta) and how it runs. [Operations] is the list of all; package server makes its route table of
// it.
//
// A [Request] holds the View, the instant, the plan, the arguments and the body. Run reads them and
// either appends its answer to the [Reply] or returns the fault that the caller is told. Whatever
// is wrong with the arguments is gathered and told at once (decision 5).
//
// # Caveats
//
// Text that an operation reads from parameters or a body lives in the request's memory and dies
// with it: what is to be kept is copied. Requests and replies are used again: Reset begins one
// anew.
package api
