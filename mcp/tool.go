package mcp

import (
	"sync"

	"ninepocket/index"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// toolCount is how many tools there are.
const toolCount = 6

// tool is one tool.
type tool struct {
	name, title, about string
	fields             []field
	output             string // JSON Schema of structuredContent
	run                func(*call) refusal
	// input and literal replace the schema of the fields and the whole result; only fixtures have them.
	input, literal string
}

// refusal is why a call has no result, in a text that an agent can act on; "" when it has one.
type refusal string

// tools are the six tools in the order of tools/list.
func tools() []*tool {
	return []*tool{&searchCards, &getCard, &getPriceHistory, &valueCards, &browseSets, &getMarketMovers}
}

// appendDefinition appends the tool as tools/list shows it.
func (t *tool) appendDefinition(dst []byte) []byte {
	dst = append(dst, `{"name":`...)
	dst = wire.AppendString(dst, t.name)
	dst = append(dst, `,"title":`...)
	dst = wire.AppendString(dst, t.title)
	dst = append(dst, `,"description":`...)
	dst = wire.AppendString(dst, t.about)
	dst = append(dst, `,"inputSchema":`...)
	if t.input != "" {
		dst = append(dst, t.input...)
	} else {
		dst = appendObjectSchema(dst, t.fields)
	}
	if t.output != "" {
		dst = append(dst, `,"outputSchema":`...)
		dst = append(dst, t.output...)
	}
	dst = append(dst, `,"annotations":{"title":`...)
	dst = wire.AppendString(dst, t.title)
	return append(dst, `,"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}`...)
}

// call is one run of a tool. Its memory is pooled; nothing of it outlives the response.
type call struct {
	Caller
	e        *Endpoint
	tool     *tool
	c        *snapshot.Catalog
	args     args
	problems problems
	detailed bool

	json []byte // structuredContent
	text []byte

	cards    []uint32
	matches  []index.Match
	position []byte
	points   []snapshot.Point
}

var calls = sync.Pool{New: func() any { return new(call) }}

// keepBuffer is the largest buffer that goes back to the pool; larger ones are left to the collector.
const keepBuffer = 64 << 10

// Call runs tool number n on a View and appends the response.
func (e *Endpoint) Call(dst []byte, m *Message, n int, by Caller) []byte {
	t := e.tools[n]
	c, _ := calls.Get().(*call)
	*c = call{
		Caller: by, e: e, tool: t, json: c.json[:0], text: c.text[:0], cards: c.cards[:0], matches: c.matches[:0],
		position: c.position[:0], points: c.points[:0],
	}
	if by.View != nil {
		c.c = by.View.Catalog
	}
	dst = c.answer(dst, m)
	if cap(c.json) <= keepBuffer && cap(c.text) <= keepBuffer {
		c.View, c.c, c.e, c.args = nil, nil, nil, args{}
		calls.Put(c)
	}
	return dst
}

func (c *call) answer(dst []byte, m *Message) []byte {
	t := c.tool
	if t.literal != "" {
		return appendResult(dst, m, []byte(t.literal))
	}
	c.args = bind(t.fields, m.param("arguments"), "", &c.problems)
	refused := c.problems.refusal(t.name)
	if refused == "" {
		c.detailed = c.args.text("response_format") == "detailed"
		refused = t.run(c)
	}
	if refused != "" {
		return AppendRefusal(dst, m, string(refused))
	}
	dst = appendResponse(dst, m)
	dst = append(dst, `{"content":[{"type":"text","text":`...)
	dst = appendQuoted(dst, c.text)
	dst = append(dst, `}],"structuredContent":`...)
	dst = append(dst, c.json...)
	return append(dst, `,"isError":false}}`...)
}
