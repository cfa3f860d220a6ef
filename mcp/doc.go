// Package mcp implements the Model Context Protocol: JSON-RPC messages and six read-only tools over
// a View. It knows neither HTTP nor metering; package server does both.
//
// # Basics
//
// [Read] parses a body into a [Message] or an [RPCError]. [Endpoint.Check] finds the protocol
// version of the message, and compares the message with the headers of its request.
// [Endpoint.Answer] answers every request that is not metered.
//
// A tool call is metered. For a tool call, Answer only returns which tool is called, and package
// server decides whether the caller may call it. If so, [Endpoint.Call] runs the tool on a View. If
// not, [Endpoint.AppendToolError] writes the reason into the result.
//
// Each tool is one table, in the file that is named after the tool: the arguments with their
// bounds, the outputSchema, and the function that runs the tool. The arguments are used twice: they
// become the inputSchema, and they check the arguments of a call.
//
// A tool writes its result twice in one pass: as structuredContent and as text. Some clients show a
// model only the first, some only the second, so each has every id, price and cursor.
//
// # Caveats
//
// A message aliases the body that it was read from. The two older protocol versions get the same
// answers, because they do not differ in anything that this server uses. [Modern] has the same
// results, but other members and headers around them (docs/MCP.md, Protocol versions).
package mcp
