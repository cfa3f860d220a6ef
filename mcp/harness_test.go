package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"ninepocket/engine"
	"ninepocket/engine/cursor"
	"ninepocket/internal/fixture"
	"ninepocket/loader"
	"ninepocket/mcp"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

const site = "https://cards.example"

// desk is an endpoint with a catalog, as in package server.
type desk struct {
	*mcp.Endpoint
	view   *engine.View
	now    time.Time
	limits mcp.Limits
}

func newView(tb testing.TB, c *snapshot.Catalog) *engine.View {
	tb.Helper()
	if c.ID == "" {
		c.ID = "20260314-fixture"
	}

	v, err := engine.NewView(c, wire.URLs{URL: site, Images: site + "/images/", ProductPrefix: "prd"})
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func newDesk(tb testing.TB, view *engine.View) *desk {
	tb.Helper()
	signer, err := cursor.NewSigner(cursor.Key{ID: 1, Secret: [cursor.KeyLen]byte{7}})
	if err != nil {
		tb.Fatal(err)
	}

	retained := func(hash uint64) *engine.View {
		if hash == view.Hash {
			return view
		}
		return nil
	}

	return &desk{
		Endpoint: mcp.New(mcp.Options{Cursors: signer, Retained: retained, Version: "1.0.0"}),
		view:     view, now: time.Date(2026, 3, 14, 21, 0, 0, 0, time.UTC),
		limits: mcp.Limits{HistoryDays: 365, Cards: 100},
	}
}

// randomDesk returns a desk with a random world.
func randomDesk(tb testing.TB, seed uint64, size fixture.Size) (*desk, *fixture.World) {
	tb.Helper()
	w := fixture.Random(seed, size)
	return newDesk(tb, newView(tb, w.Catalog())), w
}

// post handles a valid body like package server, without metering.
func (d *desk) post(body []byte, version string) (status int, response []byte) {
	return d.postWith(body, mcp.Headers{Version: version})
}

func (d *desk) postWith(body []byte, headers mcp.Headers) (status int, response []byte) {
	m, rpcErr := mcp.Read(body)
	if rpcErr == nil {
		rpcErr = d.Check(&m, headers)
	}
	if rpcErr != nil {
		return 400, rpcErr.Append(nil)
	}
	if !m.IsRequest() {
		return 202, nil
	}

	response, tool := d.Answer(nil, &m)
	switch tool {
	case mcp.NoTool:
	case mcp.NoMethod:
		return 404, response
	default:
		response = d.Call(response, &m, tool, mcp.Caller{View: d.view, Now: d.now, Limits: d.limits})
	}
	return 200, response
}

// result is the result of a tools/call.
type result struct {
	Content []struct {
		Type, Text string
	}
	StructuredContent json.RawMessage
	IsError           bool
	size              int
}

func (r *result) text() string { return r.Content[0].Text }

// decode reads the structured content into v.
func (r *result) decode(tb testing.TB, v any) {
	tb.Helper()
	if err := json.Unmarshal(r.StructuredContent, v); err != nil {
		tb.Fatalf("%v in %.300s", err, r.StructuredContent)
	}
}

// args are the arguments of a call.
type args = map[string]any

// call calls a tool and checks the properties of every result: its size, its schema, and the format
// of its text.
func (d *desk) call(tb testing.TB, tool string, arguments any) result {
	tb.Helper()
	raw, err := json.Marshal(arguments)
	if err != nil {
		tb.Fatal(err)
	}
	return d.callRaw(tb, tool, string(raw))
}

func (d *desk) callRaw(tb testing.TB, tool, arguments string) result {
	tb.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` +
		`{"name":"` + tool + `","arguments":` + arguments + `}}`
	status, response := d.post([]byte(body), "")
	var envelope struct {
		Result *result
	}

	if err := json.Unmarshal(response, &envelope); err != nil || status != 200 || envelope.Result == nil {
		tb.Fatalf("%s(%s) answered %d: %v\n%.500s", tool, arguments, status, err, response)
	}

	r := *envelope.Result
	r.size = len(response)
	if r.size > anyBudget {
		tb.Errorf("%s(%.200s) answered %d bytes", tool, arguments, r.size)
	}

	if len(r.Content) != 1 || r.Content[0].Type != "text" || r.text() == "" {
		tb.Fatalf("%s: content is %v", tool, r.Content)
	}

	for _, c := range r.text() {
		if c < 0x20 && c != '\n' {
			tb.Errorf("%s: the text holds %U", tool, c)
		}
	}

	switch {
	case r.IsError && r.StructuredContent != nil:
		tb.Errorf("%s: an error has structured content", tool)
	case !r.IsError:
		checkSchema(tb, outputSchema(tb, tool), r.StructuredContent)
		checkText(tb, tool, &r)
	}

	return r
}

// checkText makes the text of a result from its structured content alone. The content is decoded and
// encoded again, so that the text can have no other source.
func checkText(tb testing.TB, tool string, r *result) {
	tb.Helper()
	decoder := json.NewDecoder(bytes.NewReader(r.StructuredContent))
	decoder.UseNumber()
	var answer any
	if err := decoder.Decode(&answer); err != nil {
		tb.Fatal(err)
	}

	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answer); err != nil {
		tb.Fatal(err)
	}
	if made := mcp.TextOf(tool, bytes.TrimSpace(encoded.Bytes())); made != r.text() {
		tb.Errorf("%s: the text says\n%s\nbut the structured content\n%s", tool, r.text(), made)
	}
}

// ok calls a tool and expects a result.
func (d *desk) ok(tb testing.TB, tool string, arguments any) result {
	tb.Helper()
	r := d.call(tb, tool, arguments)
	if r.IsError {
		tb.Fatalf("%s(%v) refused: %s", tool, arguments, r.text())
	}
	return r
}

// definition is a tool in the result of tools/list.
type definition struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  map[string]any  `json:"annotations"`
}

// definitions are the tools of tools/list.
var definitions = sync.OnceValue(func() []definition {
	d := desk{Endpoint: mcp.New(mcp.Options{})}
	_, response := d.post([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), "")
	var list struct {
		Result struct{ Tools []definition }
	}
	if err := json.Unmarshal(response, &list); err != nil {
		panic(err)
	}
	return list.Result.Tools
})

func define(tb testing.TB, tool string) definition {
	tb.Helper()
	for _, d := range definitions() {
		if d.Name == tool {
			return d
		}
	}

	tb.Fatalf("no tool %q", tool)
	panic("unreachable")
}

var compiled sync.Map

func compile(tb testing.TB, name string, schema []byte) *jsonschema.Schema {
	tb.Helper()
	if s, ok := compiled.Load(name); ok {
		return s.(*jsonschema.Schema)
	}

	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		tb.Fatal(err)
	}

	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(name, doc); err != nil {
		tb.Fatal(err)
	}

	s, err := c.Compile(name)
	if err != nil {
		tb.Fatal(err)
	}

	compiled.Store(name, s)
	return s
}

func outputSchema(tb testing.TB, tool string) *jsonschema.Schema {
	tb.Helper()
	return compile(tb, tool+"/output.json", define(tb, tool).OutputSchema)
}

func inputSchema(tb testing.TB, tool string) *jsonschema.Schema {
	tb.Helper()
	return compile(tb, tool+"/input.json", define(tb, tool).InputSchema)
}

func checkSchema(tb testing.TB, s *jsonschema.Schema, raw []byte) {
	tb.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err == nil {
		err = s.Validate(v)
	}
	if err != nil {
		tb.Errorf("%v in %.500s", err, raw)
	}
}

// realView is the View of the real catalogs of both games, which are not part of the repository.
var realView = sync.OnceValues(func() (*engine.View, error) {
	dir := os.Getenv("DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "data")
	}

	in := func(kind string, path ...string) loader.Input {
		return loader.Input{Kind: kind, Path: filepath.Join(append([]string{dir}, path...)...)}
	}

	tree := in("tcgcsv", "tcgcsv", "tcgplayer-current.tar.zst")
	if _, err := os.Stat(tree.Path); err != nil {
		return nil, err
	}

	built, err := loader.Build(context.Background(), loader.Options{
		Sources: []loader.Input{tree},
		Prices: []loader.Input{
			in("tcgcsv", "price-history", "pokemon-daily-250d-by-productId.csv.zst"),
			in("tcgcsv", "price-history", "onepiece-daily-366d-by-productId.csv.zst"),
		},
		CollectedAt: time.Date(2026, 8, 22, 20, 0, 0, 0, time.UTC),
	})
	if err != nil {
		return nil, err
	}

	built.Catalog.ID = "20260822-real"
	return engine.NewView(built.Catalog, wire.URLs{URL: site, ProductPrefix: "prd"})
})

// realDesk returns a desk with the real catalogs, or skips the test.
func realDesk(tb testing.TB) *desk {
	tb.Helper()
	view, err := realView()
	if os.IsNotExist(err) {
		tb.Skip("skipped: the real catalogs are not beside the clone")
	}
	if err != nil {
		tb.Fatal(err)
	}
	return newDesk(tb, view)
}

// firstLines truncates a text for a message.
func firstLines(s string, n int) string {
	lines := strings.SplitAfterN(s, "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "")
}

// benchSize is a world with enough cards for a page.
var benchSize = fixture.Size{Sets: 40, Cards: 2000, Sealed: 10}
