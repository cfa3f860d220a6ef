package mcp

import (
	"cmp"
	"sync"
	"unsafe"

	"ninepocket/wire"
)

// tool is the definition of an MCP tool.
type tool struct {
	name, title, description string
	fields                   []field
	output                   string // JSON Schema of structuredContent
	run                      func(*request, *result) toolError
	text                     layout // of a result
	// input replaces the schema of the fields, and literal replaces the whole result. Only fixtures
	// use these two.
	input, literal string
}

// toolError is a text for an agent: the reason of a failed call, and its remedy. It is "" if
// the call succeeded.
type toolError string

// tools returns the tools in the order of tools/list. Their schemas name the games that
// snapshot.Games has at the time of the call.
func tools() []*tool {
	return []*tool{
		searchCardsTool(), getCardTool(), getPriceHistoryTool(),
		valueCardsTool(), browseSetsTool(), getMarketMoversTool(),
	}
}

// definition returns the tool as an element of the result of tools/list.
func (t *tool) definition() string {
	definition := `{"name":` + quoted(t.name) + `,"title":` + quoted(t.title) + `,"description":` +
		quoted(t.description) + `,"inputSchema":` + cmp.Or(t.input, inputSchema(t.fields))

	// Only fixtures lack an output schema.
	if t.output != "" {
		definition += `,"outputSchema":` + t.output
	}

	return definition + `,"annotations":{"title":` + quoted(t.title) +
		`,"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}`
}

// call is one run of a tool. It is pooled, and keeps nothing after the response.
type call struct {
	in   request
	out  result
	text layoutWriter
}

var calls = sync.Pool{New: func() any {
	run := new(call)
	run.out.reset()
	return run
}}

// maxPooledBuffer is the largest buffer that is returned to the pool. Larger ones are left to the
// garbage collector.
const maxPooledBuffer = 64 << 10

// Call runs tool number n on a View and appends the response.
func (e *Endpoint) Call(dst []byte, m *Message, n int, by Caller) []byte {
	t := e.tools[n]
	if t.literal != "" {
		return append(append(e.beginResult(dst, m), t.literal[1:]...), '}')
	}

	run, _ := calls.Get().(*call)
	run.in.reset(e, t, by)
	run.out.setView(by.View)
	run.out.now = by.Now

	// Wrong arguments are reported in a result, which a model reads. A protocol error would be seen
	// by its client alone.
	run.in.args = bind(t.fields, m.params.Member("arguments"), &run.in.problems)
	toolErr := run.in.toolError()
	if toolErr == "" {
		run.out.detailed = run.in.text("response_format") == "detailed"
		toolErr = t.run(&run.in, &run.out)
	}

	if toolErr != "" {
		dst = e.AppendToolError(dst, m, string(toolErr))
	} else {
		run.text.write(t.text, run.out.data)
		dst = appendText(e.beginResult(dst, m), unsafe.String(unsafe.SliceData(run.text.text), len(run.text.text)))
		dst = append(append(dst, `,"structuredContent":`...), run.out.data...)
		dst = append(dst, `,"isError":false}}`...)
	}

	// A pooled call must not hold a View in memory that was replaced.
	if cap(run.out.data) <= maxPooledBuffer && cap(run.text.text) <= maxPooledBuffer {
		run.in.reset(nil, nil, Caller{})
		run.out.reset()
		run.text.reset()
		calls.Put(run)
	}

	return dst
}

// AppendToolError appends the response to a call that failed or was refused. text gives an agent
// the reason and the remedy.
func (e *Endpoint) AppendToolError(dst []byte, m *Message, text string) []byte {
	return append(appendText(e.beginResult(dst, m), text), `,"isError":true}}`...)
}

// appendText appends the text of a call's result.
func appendText(dst []byte, text string) []byte {
	dst = append(dst, `"content":[{"type":"text","text":`...)
	return append(wire.AppendString(dst, text), "}]"...)
}
