package mcp

import (
	"slices"

	"ninepocket/internal/jsonwalk"
	"ninepocket/wire"
)

// maxDepth bounds the nesting of a message (decision 7).
const maxDepth = 16

// The error codes of JSON-RPC. badVersion is of its implementation-defined range, but below those
// that a client of Modern knows (-32020 to -32022): it stays with an older version.
const (
	parseError     = -32700
	invalidRequest = -32600
	methodNotFound = -32601
	invalidParams  = -32602
	badVersion     = -32000
)

// Versions are the protocol versions that begin with an initialize, newest first. Modern is spoken
// beside them.
var Versions = [...]string{"2025-11-25", "2025-06-18"}

func speaks(version string) bool { return slices.Contains(Versions[:], version) }

// Message is one JSON-RPC message. It aliases the body that it was read from.
type Message struct {
	method string         // "" for a response
	id     jsonwalk.Value // nil without one
	params jsonwalk.Value // nil without any
	modern bool           // it is of Modern; see Check
}

// IsRequest reports whether the message wants an answer: it is neither a notification nor a
// response.
func (m *Message) IsRequest() bool { return m.method != "" && m.id != nil }

// Fault is a JSON-RPC error.
type Fault struct {
	code    int
	message string
	data    string         // JSON, "" for none
	id      jsonwalk.Value // nil when it could not be read
}

// Append appends the fault as a JSON-RPC response.
func (fault *Fault) Append(dst []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0"`...)
	if fault.id != nil {
		dst = append(append(dst, `,"id":`...), fault.id...)
	}
	dst = wire.AppendInt(dst, `,"error":{"code":`, int64(fault.code))
	dst = wire.AppendText(dst, `,"message":`, fault.message)
	if fault.data != "" {
		dst = append(append(dst, `,"data":`...), fault.data...)
	}
	return append(dst, "}}"...)
}

func (m *Message) fault(code int, message string) *Fault {
	return &Fault{code: code, message: message, id: m.id}
}

// Read reads a body as one JSON-RPC message. A fault is the caller's: HTTP status 400.
func Read(body []byte) (Message, *Fault) {
	var m Message
	value, err := jsonwalk.Parse(body)
	if err != nil {
		return Message{}, m.fault(parseError, "Parse error: the body is not valid JSON with unique names.")
	}

	if what := m.read(value); what != "" {
		return Message{}, m.fault(invalidRequest, "Invalid request: "+what)
	}
	return m, nil
}

// read takes a message apart and says what is wrong with it. The fault has its id, if it has one.
func (m *Message) read(value jsonwalk.Value) (wrong string) {
	switch value.Kind() {
	case '{':
	case '[':
		return "batches are not supported; send one message per POST."
	default:
		return "the body must be a JSON object."
	}

	// The id comes first: every other fault is answered with it, and it is echoed as it came.
	if id := value.Member("id"); id != nil {
		if _, isInteger := id.Integer(); id.Kind() != '"' && !isInteger {
			return "id must be a string or an integer."
		}
		m.id = id
	}
	if value.Deeper(maxDepth) {
		return "it is nested more than 16 levels deep."
	}
	if !value.Member("jsonrpc").Is("2.0") {
		return `jsonrpc must be "2.0".`
	}

	// A response to a request that nobody sent is taken and ignored, as the protocol wants it.
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

	// Params by position are allowed by JSON-RPC, but no method of MCP reads them.
	switch params := value.Member("params"); params.Kind() {
	case 0, 'n':
	case '{', '[':
		m.params = params
	default:
		return "params must be an object."
	}
	return ""
}

// checkVersion holds the MCP-Protocol-Version header of a message that is not of Modern, "" when
// absent, against the versions that are spoken. An initialize may name in both places one that is
// not: its answer says which one to use instead.
func (m *Message) checkVersion(header string) *Fault {
	if header == "" || speaks(header) ||
		m.method == "initialize" && m.params.Member("protocolVersion").Is(header) {
		return nil
	}
	return m.fault(badVersion, "Unsupported protocol version. Supported: "+Versions[0]+", "+Versions[1]+".")
}
