package mcp

import (
	"encoding/base64"
	"regexp"
	"strings"

	"ninepocket/internal/jsonwalk"
	"ninepocket/wire"
)

// Modern is the newest protocol version that the server supports. It has no handshake. Each request
// names its version in _meta, and its headers repeat members of the message (docs/MCP.md, Protocol
// versions).
const Modern = "2026-07-28"

// The keys of _meta. Every request of Modern has the first two, and every result has the third.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaServer       = "io.modelcontextprotocol/serverInfo"
)

// Error codes that are new in Modern. A client that receives one of them knows that the server
// supports Modern, and does not fall back to an older version.
const (
	headerMismatch     = -32020
	unsupportedVersion = -32022
)

// cacheable is in results that are the same for all clients: a client may cache such a result for
// an hour (decision 2105). Tools change only with the program. If a client calls a tool by an old
// list, the call works or a text explains the error.
const cacheable = `"ttlMs":3600000,"cacheScope":"public",`

// Headers are the header lines of a request that repeat members of its message.
type Headers struct {
	Version string   // MCP-Protocol-Version, "" without one
	Method  []string // lines of Mcp-Method
	Name    []string // lines of Mcp-Name
}

// Check finds the protocol version of a message, and compares the message with the headers of its
// request (decision 2102). An error is the client's, with HTTP status 400.
func (e *Endpoint) Check(m *Message, h Headers) *RPCError {
	if !m.claimsModern(h.Version) {
		return m.checkVersion(h.Version)
	}

	m.modern = true
	if m.method == "" {
		return m.rpcError(invalidRequest, "Invalid request: a client of "+Modern+" sends no responses.")
	}

	if rpcErr := m.checkMeta(h.Version); rpcErr != nil {
		return rpcErr
	}
	return m.checkHeaders(h)
}

// claimsModern reports whether a message claims to be of Modern or newer: by a version in its
// _meta, or by a date in the header. An initialize without a version in its _meta always starts an
// older version (decision 2101).
func (m *Message) claimsModern(header string) bool {
	return m.meta().Member(metaVersion) != nil ||
		m.method != "initialize" && header >= Modern && datePattern.MatchString(header)
}

func (m *Message) meta() jsonwalk.Value { return m.params.Member("_meta") }

// datePattern matches a version that is a date.
var datePattern = regexp.MustCompile(`^\d{4}-\d\d-\d\d$`)

// checkMeta checks the _meta of a message and compares its version with the header. The version is
// checked first, because the rest depends on it (decision 2102). A notification may have no version
// in its _meta, and no header.
func (m *Message) checkMeta(header string) *RPCError {
	version := m.meta().Member(metaVersion)
	switch {
	case version == nil && !m.IsRequest():
		return m.checkModernVersion(header)
	case version == nil && m.meta().Member(metaCapabilities) == nil:
		return m.rpcError(invalidParams, "Invalid params: _meta needs "+metaVersion+" and "+metaCapabilities+".")
	case version == nil:
		return m.rpcError(invalidParams, "Invalid params: _meta needs "+metaVersion+".")
	case version.Kind() != '"':
		return m.rpcError(invalidParams, "Invalid params: "+metaVersion+" must be a string.")
	}

	said := version.Text()
	switch {
	case header == "" && m.IsRequest():
		return m.mismatch("the MCP-Protocol-Version header is missing.")
	case header != "" && header != said:
		return m.mismatch(`the MCP-Protocol-Version header is "` + readable(header) + `", but _meta says "` +
			readable(said) + `".`)
	}

	if rpcErr := m.checkModernVersion(said); rpcErr != nil {
		return rpcErr
	}

	// The protocol requires that a client sends its capabilities. Nothing here depends on them.
	if m.IsRequest() && m.meta().Member(metaCapabilities).Kind() != '{' {
		return m.rpcError(invalidParams, "Invalid params: _meta needs "+metaCapabilities+", an object.")
	}
	return nil
}

// checkModernVersion rejects every version but Modern, and names the supported versions. If a
// client sent an older version in _meta, only Modern is named. Otherwise the client would repeat
// the request, but older versions need an initialize (decision 2103).
func (m *Message) checkModernVersion(version string) *RPCError {
	if version == Modern {
		return nil
	}

	supported := supportedVersions()
	if supportsVersion(version) {
		supported = quotedList([]string{Modern})
	}

	rpcErr := m.rpcError(unsupportedVersion, "Unsupported protocol version. Supported: "+Modern+
		" by _meta, "+strings.Join(Versions[:], " and ")+" by initialize.")
	rpcErr.data = `{"supported":` + supported + string(wire.AppendText(nil, `,"requested":`, readable(version))) + "}"
	return rpcErr
}

// supportedVersions returns all versions that the server supports, as JSON.
func supportedVersions() string { return quotedList(append([]string{Modern}, Versions[:]...)) }

func (m *Message) mismatch(what string) *RPCError {
	return m.rpcError(headerMismatch, "Header mismatch: "+what)
}

// checkHeaders compares Mcp-Method and Mcp-Name with the message. A proxy may route or limit by
// these headers, so they must agree with the call (decision 2104). A notification may lack them,
// but those that it has must agree.
func (m *Message) checkHeaders(h Headers) *RPCError {
	switch {
	case len(h.Method) > 1 || len(h.Name) > 1:
		return m.mismatch("Mcp-Method and Mcp-Name may each come once.")
	case len(h.Method) == 0 && m.IsRequest():
		return m.mismatch("the Mcp-Method header is missing.")
	case len(h.Method) > 0 && h.Method[0] != m.method:
		return m.mismatch(`the Mcp-Method header is "` + readable(h.Method[0]) + `", but the method is "` +
			readable(m.method) + `".`)
	}

	name := m.name()
	if len(h.Name) == 0 {
		if name.Kind() == '"' && m.IsRequest() {
			return m.mismatch("the Mcp-Name header is missing.")
		}
		return nil // findTool rejects a name that is not a string
	}

	decoded, ok := decodeHeader(h.Name[0])
	switch {
	case !ok:
		return m.mismatch("the Mcp-Name header is neither plain ASCII nor =?base64?…?= of UTF-8.")
	case !name.Is(decoded):
		return m.mismatch(`the Mcp-Name header is "` + readable(decoded) + `", but the message names ` +
			quotedName(name) + ".")
	}
	return nil
}

// name returns the member that Mcp-Name repeats. It is nil for a method without one.
func (m *Message) name() jsonwalk.Value {
	switch m.method {
	case "tools/call", "prompts/get":
		return m.params.Member("name")
	case "resources/read":
		return m.params.Member("uri")
	}
	return nil
}

// quotedName returns the name of a message for an error text.
func quotedName(name jsonwalk.Value) string {
	if name.Kind() != '"' {
		return "nothing"
	}
	return `"` + readable(name.Text()) + `"`
}

// decodeHeader returns the text of a header's value. A value between =?base64? and ?= is the text
// in base64. Any other value is the text itself, in plain ASCII.
func decodeHeader(value string) (text string, ok bool) {
	if strings.ContainsFunc(value, func(r rune) bool { return (r < ' ' || r > '~') && r != '\t' }) {
		return "", false
	}

	encoded, begun := strings.CutPrefix(value, "=?base64?")
	encoded, ended := strings.CutSuffix(encoded, "?=")
	if !begun || !ended {
		return value, true
	}

	decoded, err := base64.StdEncoding.Strict().DecodeString(encoded)
	return string(decoded), err == nil
}

// answerModern appends the response to a request of Modern that is not about tools.
func (e *Endpoint) answerModern(dst []byte, m *Message) (response []byte, tool int) {
	if m.method == "server/discover" {
		dst = append(e.beginResult(dst, m), cacheable+`"supportedVersions":`...)
		dst = append(append(dst, supportedVersions()...), `,`+capabilities...)
		return append(wire.AppendText(dst, `,"instructions":`, e.instructions), "}}"...), NoTool
	}

	// A client may send initialize with the _meta of Modern: the error names the versions that have
	// it.
	rpcErr := m.rpcError(methodNotFound, "Method not found. In "+Modern+
		" this server has server/discover, tools/list, tools/call, prompts/list and prompts/get; initialize and ping "+
		"are of "+strings.Join(Versions[:], " and ")+".")
	return rpcErr.Append(dst), NoMethod
}
