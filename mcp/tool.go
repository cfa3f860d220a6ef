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
	run                func(*request, *reply) refusal
	// input and literal replace the schema of the fields and the whole result; only fixtures have
	// them.
	input, literal string
}

// refusal is why a call has no result, in a text that an agent can act on; "" when it has one.
type refusal string

// tools makes the tools in the order of tools/list. They name the games that the program knows when
// they are made.
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
	// Only fixtures have no output schema.
	definition := `{"name":` + quoted(t.name) + `,"title":` + quoted(t.title) + `,"description":` + quoted(t.about) +
		`,"inputSchema":` + input
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

// keepBuffer is the largest buffer that goes back to the pool; larger ones are left to the
// collector.
const keepBuffer = 64 << 10

// Call runs tool number n on a View and appends the response.
func (e *Endpoint) Call(dst []byte, m *Message, n int, by Caller) []byte {
	t := e.tools[n]
	if t.literal != "" {
		return append(append(e.beginResult(dst, m), t.literal[1:]...), '}')
	}

	asked, _ := calls.Get().(*call)
	asked.in.reset(e, t, by)
	asked.out.reset(by.View)

	// Wrong arguments are a result that a model reads, and not an error of the protocol that only
	// its client sees.
	refused := asked.in.bind(m.params.Member("arguments"))
	if refused == "" {
		asked.out.detailed = asked.in.text("response_format") == "detailed"
		refused = t.run(&asked.in, &asked.out)
	}
	if refused != "" {
		dst = e.AppendRefusal(dst, m, string(refused))
	} else {
		dst = asked.out.appendTo(e.beginResult(dst, m))
	}

	// A pooled call must not keep a View alive that was swapped out.
	if cap(asked.out.json) <= keepBuffer && cap(asked.out.prose) <= keepBuffer {
		asked.in.reset(nil, nil, Caller{})
		asked.out.reset(nil)
		calls.Put(asked)
	}
	return dst
}

// AppendRefusal appends the response to a call that did not run, saying why in a text that an agent
// can act on.
func (e *Endpoint) AppendRefusal(dst []byte, m *Message, text string) []byte {
	return append(appendText(e.beginResult(dst, m), text), `,"isError":true}}`...)
}

// appendText appends the text of a call's result.
func appendText(dst []byte, text string) []byte {
	dst = append(dst, `"content":[{"type":"text","text":`...)
	return append(wire.AppendString(dst, text), "}]"...)
}
