package mcp

import (
	"slices"
	"strconv"

	"ninepocket/internal/jsonwalk"
	"ninepocket/wire"
)

// maxDepth bounds the nesting of a message (decision 7).
const maxDepth = 16

// The error codes of JSON-RPC. badVersion is of its implementation-defined range, but below those that mark a newer
// kind of server (-32020 to -32022).
const (
	parseError     = -32700
	invalidRequest = -32600
	methodNotFound = -32601
	invalidParams  = -32602
	badVersion     = -32000
)

// Versions are the protocol versions that are spoken, newest first.
var Versions = [...]string{"2025-11-25", "2025-06-18"}

func speaks(version string) bool { return slices.Contains(Versions[:], version) }

// Message is one JSON-RPC message. It aliases the body that it was read from.
type Message struct {
	method string         // "" for a response
	id     jsonwalk.Value // nil without one
	params jsonwalk.Value // nil without any
}

// IsRequest reports whether the message wants an answer: it is neither a notification nor a response.
func (m *Message) IsRequest() bool { return m.method != "" && m.id != nil }

// Fault is a JSON-RPC error.
type Fault struct {
	code    int
	message string
	id      jsonwalk.Value // nil when it could not be read
}

// Append appends the fault as a JSON-RPC response.
func (f *Fault) Append(dst []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0"`...)
	if f.id != nil {
		dst = append(dst, `,"id":`...)
		dst = append(dst, f.id...)
	}
	dst = append(dst, `,"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(f.code), 10)
	dst = append(dst, `,"message":`...)
	dst = wire.AppendString(dst, f.message)
	return append(dst, '}', '}')
}

func (m *Message) fault(code int, message string) *Fault {
	return &Fault{code: code, message: message, id: m.id}
}

// Read reads a body as one JSON-RPC message. A fault is the caller's: HTTP status 400.
func Read(body []byte) (Message, *Fault) {
	v, err := jsonwalk.Parse(body)
	if err != nil {
		return Message{}, &Fault{code: parseError, message: "Parse error: the body is not valid JSON with unique names."}
	}
	if v.Kind() == '[' {
		return Message{}, &Fault{code: invalidRequest, message: "Invalid request: batches are not supported; send one message per POST."}
	}
	if v.Kind() != '{' {
		return Message{}, &Fault{code: invalidRequest, message: "Invalid request: the body must be a JSON object."}
	}
	return readObject(v)
}

func readObject(v jsonwalk.Value) (m Message, fault *Fault) {
	var version, method, id, params jsonwalk.Value
	isResponse := false
	for name, member := range v.Members() {
		switch name.Text() {
		case "jsonrpc":
			version = member
		case "method":
			method = member
		case "id":
			id = member
		case "params":
			params = member
		case "result", "error":
			isResponse = true
		}
	}
	invalid := func(what string) (Message, *Fault) {
		return Message{}, m.fault(invalidRequest, "Invalid request: "+what)
	}
	if id != nil {
		if !validID(id) {
			return invalid("id must be a string or an integer.")
		}
		m.id = id
	}
	if v.Deeper(maxDepth) {
		return invalid("it is nested more than 16 levels deep.")
	}
	if version == nil || version.Kind() != '"' || !version.Is("2.0") {
		return invalid(`jsonrpc must be "2.0".`)
	}
	if method == nil {
		if isResponse {
			return m, nil
		}
		return invalid("method is missing.")
	}
	if method.Kind() != '"' || method.Is("") {
		return invalid("method must be a string.")
	}
	m.method = method.Text()
	switch {
	case params == nil, params.Kind() == 'n':
	case params.Kind() == '{', params.Kind() == '[':
		m.params = params
	default:
		return invalid("params must be an object.")
	}
	return m, nil
}

// validID wants a string or an integer; it is echoed as it came.
func validID(id jsonwalk.Value) bool {
	switch id.Kind() {
	case '"':
		return true
	case '0':
		_, ok := id.Integer()
		return ok
	}
	return false
}

// param is a member of the params, nil when absent. Params that are not an object have none.
func (m *Message) param(name string) jsonwalk.Value {
	if m.params == nil || m.params.Kind() != '{' {
		return nil
	}
	for have, member := range m.params.Members() {
		if have.Is(name) {
			return member
		}
	}
	return nil
}

// CheckVersion holds the MCP-Protocol-Version header, "" when absent, against the versions that are spoken. An
// initialize may name in both places one that is not: its answer says which one to use instead. A fault is the
// caller's: HTTP status 400.
func (m *Message) CheckVersion(header string) *Fault {
	if header == "" || speaks(header) {
		return nil
	}
	if m.method == "initialize" {
		if asked := m.param("protocolVersion"); asked != nil && asked.Kind() == '"' && asked.Is(header) {
			return nil
		}
	}
	return m.fault(badVersion, "Unsupported protocol version. Supported: "+Versions[0]+", "+Versions[1]+".")
}
