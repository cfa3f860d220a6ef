package mcp

import (
	"slices"

	"ninepocket/internal/jsonwalk"
	"ninepocket/wire"
)

// maxDepth bounds the nesting of a message (decision 7).
const maxDepth = 16

// The error codes of JSON-RPC. badVersion is our own, from the range that JSON-RPC leaves to
// implementations. It is none of the codes that a client of Modern knows (-32020 to -32022), so
// that such a client continues with an older version (decision 2101).
const (
	parseError     = -32700
	invalidRequest = -32600
	methodNotFound = -32601
	invalidParams  = -32602
	badVersion     = -32000
)

// Versions are the protocol versions in which a client begins with initialize, newest first. The
// server also supports Modern.
var Versions = [...]string{"2025-11-25", "2025-06-18"}

func supportsVersion(version string) bool { return slices.Contains(Versions[:], version) }

// Message is one JSON-RPC message. It aliases the body that it was read from.
type Message struct {
	method string         // "" for a response
	id     jsonwalk.Value // nil without one
	params jsonwalk.Value // nil without any
	modern bool           // the message is of Modern; set by Check
}

// IsRequest reports whether the message needs a response: it is neither a notification nor a
// response itself.
func (m *Message) IsRequest() bool { return m.method != "" && m.id != nil }

// RPCError is a JSON-RPC error.
type RPCError struct {
	code    int
	message string
	data    string         // JSON, "" for none
	id      jsonwalk.Value // nil if it could not be read
}

// Append appends the error as a JSON-RPC response.
func (rpcErr *RPCError) Append(dst []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0"`...)
	if rpcErr.id != nil {
		dst = append(append(dst, `,"id":`...), rpcErr.id...)
	}
	dst = wire.AppendInt(dst, `,"error":{"code":`, int64(rpcErr.code))
	dst = wire.AppendText(dst, `,"message":`, rpcErr.message)
	if rpcErr.data != "" {
		dst = append(append(dst, `,"data":`...), rpcErr.data...)
	}
	return append(dst, "}}"...)
}

func (m *Message) rpcError(code int, message string) *RPCError {
	return &RPCError{code: code, message: message, id: m.id}
}

// Read parses a body as one JSON-RPC message. An error is the client's, with HTTP status 400.
func Read(body []byte) (Message, *RPCError) {
	var m Message
	value, err := jsonwalk.Parse(body)
	if err != nil {
		return Message{}, m.rpcError(parseError, "Parse error: the body is not valid JSON with unique names.")
	}

	if what := m.read(value); what != "" {
		return Message{}, m.rpcError(invalidRequest, "Invalid request: "+what)
	}
	return m, nil
}

// read parses a message and returns its fault, "" if it is valid. It sets the id first, so that an
// error response can have it.
func (m *Message) read(value jsonwalk.Value) (wrong string) {
	switch value.Kind() {
	case '{':
	case '[':
		return "batches are not supported; send one message per POST."
	default:
		return "the body must be a JSON object."
	}

	// Every error from here on has the id, byte for byte as the client sent it.
	if id := value.Member("id"); id != nil {
		if _, isInteger := id.Integer(); id.Kind() != '"' && !isInteger {
			return "id must be a string or an integer."
		}
		m.id = id
	}

	if value.DeeperThan(maxDepth) {
		return "it is nested more than 16 levels deep."
	}
	if !value.Member("jsonrpc").Is("2.0") {
		return `jsonrpc must be "2.0".`
	}

	// A response is not for any request of the server, because it sends none. The protocol
	// requires that it is accepted and ignored.
	method := value.Member("method")
	if method == nil {
		if value.Member("result") != nil || value.Member("error") != nil {
			return "" // a response
		}
		return "method is missing."
	}

	if method.Kind() != '"' || method.Is("") {
		return "method must be a string."
	}

	m.method = method.Text()

	// JSON-RPC allows a list of params, but no method of MCP has one: findTool rejects it, with
	// another code (decision 81).
	switch params := value.Member("params"); params.Kind() {
	case 0, 'n':
	case '{', '[':
		m.params = params
	default:
		return "params must be an object."
	}

	return ""
}

// checkVersion rejects a message of an older version whose MCP-Protocol-Version header names an
// unsupported version. header is "" if there is none. An initialize may name such a version if its
// header and its params agree: the response names the version to use.
func (m *Message) checkVersion(header string) *RPCError {
	if header == "" || supportsVersion(header) ||
		m.method == "initialize" && m.params.Member("protocolVersion").Is(header) {
		return nil
	}
	return m.rpcError(badVersion, "Unsupported protocol version. Supported: "+Versions[0]+", "+Versions[1]+".")
}
