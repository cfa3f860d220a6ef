// Package mcp implements the Model Context Protocol: JSON-RPC messages and six read-only tools over
// a View. It knows neither HTTP nor metering; package server does both.
//
// # Basics
//
// [Read] parses a body into a [Message] or an [RPCError]. [Endpoint.Check] finds the protocol
// version. It compares the message with its headers. [Endpoint.Answer] responds to every
// request that is not metered.
//
// A tool call is metered. For a tool call, Answer only returns the number of the tool, and package
// server decides whether the caller may call it. If so, [Endpoint.Call] runs the tool on a View. If
// not, [Endpoint.AppendToolError] writes the reason into the result.
//
// Each tool is one table, in the file named after the tool. It has the arguments with their
// bounds, the outputSchema, the function that runs the tool, and the layout of its text. The
// arguments are used twice: they become the inputSchema, and they check the arguments of a call.
//
// A tool writes structuredContent, and a layout makes the text from it (layouts.go). Some clients show
// a model only one of the two, so every fact of the text is also a member. Remarks about the result
// itself stand in its member notes (remarks.go).
//
// # Caveats
//
// A message aliases the body that it was read from. The two older protocol versions get equal
// responses, because they do not differ in anything that this server uses. [Modern] has the same
// results, but other members and headers around them (docs/MCP.md, Protocol versions).
package mcp
