package mcp

import (
	"sync"

	"ninepocket/wire"
)

// tool is one tool.
type tool struct {
	name, title, about string
	fields             []field
	output             string // JSON Schema of structuredContent
	run                func(*request, *reply) toolError
	// input replaces the schema of the fields, and literal the whole result. Only fixtures have
	// them.
	input, literal string
}

// toolError is a text that tells an agent why its call has no result, and what to do. It is "" when
// the call has a result.
type toolError string

// tools makes the tools, in the order of tools/list. Their schemas name the games that
// snapshot.Games has at that time.
func tools() []*tool {
	return []*tool{
		searchCardsTool(), getCardTool(), getPriceHistoryTool(),
		valueCardsTool(), browseSetsTool(), getMarketMoversTool(),
	}
}

// definition is the tool as tools/list shows it.
func (t *tool) definition() string {
	input := t.input
	if input == "" {
		input = inputSchema(t.fields)
	}

	definition := `{"name":` + quoted(t.name) + `,"title":` + quoted(t.title) + `,"description":` + quoted(t.about) +
		`,"inputSchema":` + input

	// Only fixtures have no output schema.
	if t.output != "" {
		definition += `,"outputSchema":` + t.output
	}

	return definition + `,"annotations":{"title":` + quoted(t.title) +
		`,"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}`
}

// call is one run of a tool. Its memory is pooled; nothing of it outlives the response.
type call struct {
	in  request
	out reply
}

var calls = sync.Pool{New: func() any { return new(call) }}

// maxPooledBuffer is the largest buffer that goes back to the pool. The garbage collector takes
// larger ones.
const maxPooledBuffer = 64 << 10

// Call runs tool number n on a View and appends the response.
func (e *Endpoint) Call(dst []byte, m *Message, n int, by Caller) []byte {
	t := e.tools[n]
	if t.literal != "" {
		return append(append(e.beginResult(dst, m), t.literal[1:]...), '}')
	}

	asked, _ := calls.Get().(*call)
	asked.in.reset(e, t, by)
	asked.out.reset(by.View)

	// Wrong arguments are told in a result, which a model reads. Only its client would see an error
	// of the protocol.
	asked.in.args = bind(t.fields, m.params.Member("arguments"), "", &asked.in.problems)
	toolErr := asked.in.toolError()
	if toolErr == "" {
		asked.out.detailed = asked.in.text("response_format") == "detailed"
		toolErr = t.run(&asked.in, &asked.out)
	}

	if toolErr != "" {
		dst = e.AppendToolError(dst, m, string(toolErr))
	} else {
		dst = asked.out.appendTo(e.beginResult(dst, m))
	}

	// A call in the pool must not keep a View alive that was swapped out.
	if cap(asked.out.data) <= maxPooledBuffer && cap(asked.out.textBuilder) <= maxPooledBuffer {
		asked.in.reset(nil, nil, Caller{})
		asked.out.reset(nil)
		calls.Put(asked)
	}

	return dst
}

// AppendToolError appends the response to a call that did not run. text tells an agent why, and
// what to do.
func (e *Endpoint) AppendToolError(dst []byte, m *Message, text string) []byte {
	return append(appendText(e.beginResult(dst, m), text), `,"isError":true}}`...)
}

// appendText appends the text of a call's result.
func appendText(dst []byte, text string) []byte {
	dst = append(dst, `"content":[{"type":"text","text":`...)
	return append(wire.AppendString(dst, text), "}]"...)
}
