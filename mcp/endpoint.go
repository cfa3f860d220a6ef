package mcp

import (
	"cmp"
	"strings"
	"time"

	"ninepocket/engine"
	"ninepocket/engine/cursor"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// Options configure an Endpoint.
type Options struct {
	Cursors *cursor.Signer
	// Retained returns the View that a cursor belongs to, nil if it is no longer retained; see
	// engine.Engine.Retained.
	Retained func(hash uint64) *engine.View
	// Version is the version of this program, for initialize.
	Version string
}

// Endpoint responds to messages. It is safe for concurrent use.
type Endpoint struct {
	Options
	tools        []*tool
	list         string // the end of the result of tools/list: its member tools
	identity     string // the begin of every result of Modern: the identity of the server
	instructions string
}

// New returns an endpoint with all tools. Their schemas name the games that snapshot.Games has at
// the time of the call.
func New(options Options) *Endpoint { return newEndpoint(options, append(tools(), fixtures()...)) }

func newEndpoint(options Options, tools []*tool) *Endpoint {
	options.Version = cmp.Or(options.Version, "dev")

	var definitions []string
	for _, t := range tools {
		if t.literal == "" {
			t.fields = append(t.fields, formatField())
		}
		definitions = append(definitions, t.definition())
	}
	return &Endpoint{
		Options: options, tools: tools, instructions: instructions(),
		list: `"tools":[` + strings.Join(definitions, ",") + "]}}",
		identity: `"resultType":"complete","_meta":{` + quoted(metaServer) + `:{"name":"ninepocket",` +
			`"title":"Ninepocket","version":` + quoted(options.Version) + `}},`,
	}
}

// Tools returns the names of the tools. The index of a name is the number of the tool, which Answer
// returns and Call takes.
func (e *Endpoint) Tools() []string {
	var all []string
	for _, t := range e.tools {
		all = append(all, t.name)
	}
	return all
}

// Results of Answer other than the number of a tool.
const (
	NoTool   = -1 // the response is complete
	NoMethod = -2 // the response is complete: Modern has no such method; the HTTP status is 404
)

// Answer appends the response to a request that needs no catalog, and returns NoTool or NoMethod.
// For a valid call of a known tool it appends nothing and returns the number of the tool.
func (e *Endpoint) Answer(dst []byte, m *Message) (response []byte, tool int) {
	switch {
	case m.method == "tools/call":
		tool, rpcErr := e.findTool(m)
		if rpcErr != nil {
			return rpcErr.Append(dst), NoTool
		}
		return dst, tool

	case m.method == "tools/list":
		return e.answerList(dst, m, e.list), NoTool
	case m.method == "prompts/list":
		return e.answerList(dst, m, promptList), NoTool
	case m.method == "prompts/get":
		return e.answerPrompt(dst, m), NoTool
	case m.modern:
		return e.answerModern(dst, m)
	case m.method == "initialize":
		return e.answerInitialize(dst, m), NoTool
	case m.method == "ping":
		return append(e.beginResult(dst, m), "}}"...), NoTool
	}

	rpcErr := m.rpcError(methodNotFound,
		"Method not found. This server has initialize, ping, tools/list, tools/call, prompts/list and prompts/get.")
	return rpcErr.Append(dst), NoTool
}

// answerList appends the response to tools/list or prompts/list: a list of one page.
func (e *Endpoint) answerList(dst []byte, m *Message, list string) []byte {
	if after := m.params.Member("cursor").Kind(); after != 0 && after != 'n' {
		return m.rpcError(invalidParams, "Invalid params: there is one page and no cursor.").Append(dst)
	}

	dst = e.beginResult(dst, m)
	if m.modern {
		dst = append(dst, cacheable...)
	}
	return append(dst, list...)
}

// findTool validates a tools/call and returns the number of its tool. It ignores params other than
// name and arguments.
func (e *Endpoint) findTool(m *Message) (int, *RPCError) {
	if m.params.Kind() != '{' {
		return NoTool, m.rpcError(invalidParams, "Invalid params: tools/call needs an object with name and arguments.")
	}

	name := m.params.Member("name")
	if name.Kind() != '"' {
		return NoTool, m.rpcError(invalidParams, "Invalid params: name must be a string.")
	}

	// Null means absent, for the arguments as a whole and for each argument (decision 2108).
	if args := m.params.Member("arguments").Kind(); args != 0 && args != 'n' && args != '{' {
		return NoTool, m.rpcError(invalidParams, "Invalid params: arguments must be an object.")
	}

	// There are six tools, so a map would not be faster.
	for i, t := range e.tools {
		if name.Is(t.name) {
			return i, nil
		}
	}

	return NoTool, m.rpcError(invalidParams, "Unknown tool. Known: "+strings.Join(e.Tools(), ", ")+".")
}

// beginResult appends a response up to the first member that a method or a tool adds to its result.
func (e *Endpoint) beginResult(dst []byte, m *Message) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, m.id...)
	dst = append(dst, `,"result":{`...)
	if m.modern {
		dst = append(dst, e.identity...)
	}

	return dst
}

// capabilities are the server's capabilities, in every protocol version.
const capabilities = `"capabilities":{"tools":{},"prompts":{}}`

// instructions returns the text about the whole server that initialize and server/discover give to
// a model.
func instructions() string {
	return "Catalog and market prices of " + snapshot.GamesInWords() + " trading cards, read-only. " +
		"Prices are integer US cents in structuredContent and dollars in text; no price means unknown, never zero. " +
		"Not here: sealed products, graded or signed copies, cards in other languages, other games. " +
		"Find ids with catalog_search_cards; price a list of cards with one catalog_value_cards call instead of many " +
		"searches. Ids and slugs work wherever an id is asked for. Attribute prices to the service when you show them."
}

// answerInitialize appends the response to initialize.
func (e *Endpoint) answerInitialize(dst []byte, m *Message) []byte {
	requested := m.params.Member("protocolVersion")
	if requested.Kind() != '"' {
		return m.rpcError(invalidParams, "Invalid params: protocolVersion must be a string.").Append(dst)
	}

	// The protocol requires the offer of another version. A client that does not support that one
	// disconnects.
	version := requested.Text()
	if !supportsVersion(version) {
		version = Versions[0]
	}

	dst = append(e.beginResult(dst, m), `"protocolVersion":"`...)
	dst = append(dst, version...)
	dst = append(dst, `",`+capabilities+`,"serverInfo":{"name":"ninepocket","title":"Ninepocket"`...)
	dst = wire.AppendText(dst, `,"version":`, e.Version)
	return append(wire.AppendText(dst, `},"instructions":`, e.instructions), "}}"...)
}

// Limits are the limits of the caller's plan.
type Limits struct {
	HistoryDays int // days of price history; more are clamped
	Cards       int // lines of one catalog_value_cards call
}

// Caller is the environment of a call: the catalog, the time and the limits of the caller's plan.
type Caller struct {
	View   *engine.View
	Now    time.Time
	Limits Limits
}
