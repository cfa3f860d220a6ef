package mcp

import (
	"encoding/base64"
	"strings"

	"ninepocket/internal/jsonwalk"
	"ninepocket/wire"
)

// Modern is the newest protocol version that is spoken. It knows no handshake: each request says in
// its _meta which version it is of, and headers repeat what the message says (docs/MCP.md, Protocol
// versions).
const Modern = "2026-07-28"

// The keys of _meta that every request of Modern has, and the one that every result has.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaServer       = "io.modelcontextprotocol/serverInfo"
)

// Error codes that the protocol defines from Modern on. A client that reads one of them knows that
// it need not fall back to an older version.
const (
	headerMismatch     = -32020
	unsupportedVersion = -32022
)

// cacheable is what a result tells its client that is the same for everybody: it may be kept for an
// hour. Tools change with the program only, and what a client asks by an older list is read or
// refused in words.
const cacheable = `"ttlMs":3600000,"cacheScope":"public",`

// Headers are the lines of a request's header that repeat what its message says.
type Headers struct {
	Version string   // MCP-Protocol-Version, "" without one
	Method  []string // lines of Mcp-Method
	Name    []string // lines of Mcp-Name
}

// Check decides of which protocol version a message is, and holds it against the headers of its
// request. A fault is the caller's: HTTP status 400.
func (e *Endpoint) Check(m *Message, h Headers) *Fault {
	if !m.claims(h.Version) {
		return m.checkVersion(h.Version)
	}

	m.modern = true
	if m.method == "" {
		return m.fault(invalidRequest, "Invalid request: a client of "+Modern+" sends no responses.")
	}

	if fault := m.checkMeta(h.Version); fault != nil {
		return fault
	}
	return m.checkHeaders(h)
}

// claims reports whether a message is of Modern or newer: by the version in its _meta, or by a
// header with such a date. An initialize without that key opens an older version, whatever its
// header says.
func (m *Message) claims(header string) bool {
	if m.meta().Member(metaVersion) != nil {
		return true
	}

	return m.method != "initialize" && isDate(header) && header >= Modern
}

func (m *Message) meta() jsonwalk.Value { return m.params.Member("_meta") }

// isDate reports whether a version has the form of a date.
func isDate(version string) bool {
	const form = "0000-00-00"
	if len(version) != len(form) {
		return false
	}

	for i := range len(form) {
		c := version[i]
		if form[i] == '-' && c != '-' || form[i] == '0' && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// checkMeta holds the _meta of a message against its header: the version first, since what else
// must be there depends on it. A notification may do without either.
func (m *Message) checkMeta(header string) *Fault {
	version := m.meta().Member(metaVersion)
	switch {
	case version == nil && !m.IsRequest():
		return m.speaksModern(header)
	case version == nil && m.meta().Member(metaCapabilities) == nil:
		return m.fault(invalidParams, "Invalid params: _meta needs "+metaVersion+" and "+metaCapabilities+".")
	case version == nil:
		return m.fault(invalidParams, "Invalid params: _meta needs "+metaVersion+".")
	case version.Kind() != '"':
		return m.fault(invalidParams, "Invalid params: "+metaVersion+" must be a string.")
	}

	said := version.Text()
	switch {
	case header == "" && m.IsRequest():
		return m.mismatch("the MCP-Protocol-Version header is missing.")
	case header != "" && header != said:
		return m.mismatch(`the MCP-Protocol-Version header is "` + readable(header) + `", but _meta says "` +
			readable(said) + `".`)
	}

	if fault := m.speaksModern(said); fault != nil {
		return fault
	}

	// Nothing here depends on what a client can do; that it says so belongs to the form.
	if m.IsRequest() && m.meta().Member(metaCapabilities).Kind() != '{' {
		return m.fault(invalidParams, "Invalid params: _meta needs "+metaCapabilities+", an object.")
	}
	return nil
}

// speaksModern refuses a version that is not Modern and says which ones are spoken. To a client that
// sent an older one in _meta only Modern is named: the others begin with an initialize.
func (m *Message) speaksModern(version string) *Fault {
	if version == Modern {
		return nil
	}

	supported := supportedVersions()
	if speaks(version) {
		supported = quotedList([]string{Modern})
	}

	fault := m.fault(unsupportedVersion, "Unsupported protocol version. Supported: "+Modern+
		" by _meta, "+strings.Join(Versions[:], " and ")+" by initialize.")
	fault.data = `{"supported":` + supported + string(wire.AppendText(nil, `,"requested":`, readable(version))) + "}"
	return fault
}

// supportedVersions are all versions that are spoken, as JSON.
func supportedVersions() string { return quotedList(append([]string{Modern}, Versions[:]...)) }

func (m *Message) mismatch(what string) *Fault {
	return m.fault(headerMismatch, "Header mismatch: "+what)
}

// checkHeaders holds Mcp-Method and Mcp-Name against the message. Who routes or limits by them must
// see what is run. A notification may go without them; where they are, they agree.
func (m *Message) checkHeaders(h Headers) *Fault {
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
		return nil // a name that is no string is refused with the call
	}

	told, ok := decodeHeader(h.Name[0])
	switch {
	case !ok:
		return m.mismatch("the Mcp-Name header is neither plain ASCII nor =?base64?…?= of UTF-8.")
	case !name.Is(told):
		return m.mismatch(`the Mcp-Name header is "` + readable(told) + `", but the message names ` + named(name) + ".")
	}
	return nil
}

// name is what Mcp-Name repeats, nil for a method that names nothing.
func (m *Message) name() jsonwalk.Value {
	switch m.method {
	case "tools/call", "prompts/get":
		return m.params.Member("name")
	case "resources/read":
		return m.params.Member("uri")
	}
	return nil
}

// named is a message's name as a fault says it.
func named(name jsonwalk.Value) string {
	if name.Kind() != '"' {
		return "nothing"
	}
	return `"` + readable(name.Text()) + `"`
}

// decodeHeader is the text that a header's value carries: plain ASCII as it is, and anything between
// =?base64? and ?= as the UTF-8 that it encodes.
func decodeHeader(value string) (text string, ok bool) {
	for i := range len(value) {
		if c := value[i]; (c < ' ' || c > '~') && c != '\t' {
			return "", false
		}
	}

	encoded, begun := strings.CutPrefix(value, "=?base64?")
	encoded, ended := strings.CutSuffix(encoded, "?=")
	if !begun || !ended {
		return value, true
	}
	decoded, err := base64.StdEncoding.Strict().DecodeString(encoded)
	return string(decoded), err == nil
}

// answerModern appends the response to a request of Modern that is no call.
func (e *Endpoint) answerModern(dst []byte, m *Message) (response []byte, tool int) {
	switch m.method {
	case "server/discover":
		dst = append(e.beginResult(dst, m), cacheable+`"supportedVersions":`...)
		dst = append(append(dst, supportedVersions()...), `,"capabilities":{"tools":{}}`...)
		return append(wire.AppendText(dst, `,"instructions":`, e.instructions), "}}"...), NoTool

	case "tools/list":
		return e.answerList(dst, m), NoTool
	}

	// The older versions are named to who sends an initialize with a _meta of this one.
	fault := m.fault(methodNotFound, "Method not found. In "+Modern+
		" this server has server/discover, tools/list and tools/call; initialize and ping are of "+
		strings.Join(Versions[:], " and ")+".")
	return fault.Append(dst), NoMethod
}
