// Package mcp answers the Model Context Protocol: JSON-RPC messages and six read-only tools over a
// View. It knows neither HTTP nor money; package server is its gate.
//
// # Basics
//
// [Read] takes a body apart into a [Message] or a [Fault]. [Endpoint.Check] decides of which protocol
// version it is and holds it against its request's headers. [Endpoint.Answer] answers everything
// that is free. For a well-formed call of a known tool it answers nothing and names the tool
// instead, so that the gate can admit the call first; then [Endpoint.Call] runs it on a View, or
// [Endpoint.AppendRefusal] says in the result why it did not run.
//
// A tool is one table (see the files named after the tools): its arguments with their bounds, from
// which both the inputSchema is rendered and the arguments of a call are bound, its outputSchema,
// and the function that runs it.
//
// A result is written twice in one pass, as structuredContent and as text, because some clients
// show a model only the one and some only the other. Either suffices alone: every id, price and
// cursor is in both.
//
// # Caveats
//
// Messages alias the body they were read from. The two older protocol versions get the same answers:
// they differ in nothing that this server uses. [Modern] differs in what is around the answers.
package mcp
