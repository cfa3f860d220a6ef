// Package mcp answers the Model Context Protocol: JSON-RPC messages and six read-only tools over a
// View. It knows neither HTTP nor money; package server is its gate.
//
// # Basics
//
// [Read] takes a body apart into a [Message] or a [RPCError]. [Endpoint.Check] decides which
// protocol version the message is of, and compares the message with the headers of its request.
// [Endpoint.Answer] answers everything that is free.
//
// A call of a tool is not free. For it, Answer only returns which tool is called, and the gate
// decides whether the caller may call it. If so, [Endpoint.Call] runs the tool on a View. If not,
// [Endpoint.AppendToolError] says in the result why.
//
// A tool is one table, in the file that is named after the tool. It has the arguments with their
// bounds, the outputSchema, and the function that runs the tool. The rows of the arguments serve
// twice: they become the inputSchema, and they check the arguments of a call.
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
