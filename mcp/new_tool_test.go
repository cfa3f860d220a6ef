package mcp

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"ninepocket/engine"
	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// countSetsTool is a tool as someone would write a new one: one table and one function.
func countSetsTool() *tool {
	return &tool{
		name:        "catalog_count_sets",
		title:       "Count sets",
		description: "How many sets there are.",
		fields: []field{
			required(integerField("at_least", "Fewer are refused.", wire.Range{Min: 0, Max: 1000}, 0)),
		},
		output: object("sets", schemaInteger),
		run:    countSets,
		text:   newLayout("{sets:set}"),
	}
}

func countSets(in *request, out *result) toolError {
	n := out.c.Sets.ID.Len()
	if n < int(in.number("at_least")) {
		return "There are not so many sets."
	}

	out.json(`{"sets":`, strconv.Itoa(n), "}")
	return ""
}

// TestAToolIsOneFile adds a tool, and lists and calls it as a client.
func TestAToolIsOneFile(t *testing.T) {
	v, err := engine.NewView(fixture.Random(1, fixture.Size{Sets: 3, Cards: 5}).Catalog(),
		wire.URLs{ProductPrefix: "prd"})
	if err != nil {
		t.Fatal(err)
	}

	e := newEndpoint(Options{}, append(tools(), countSetsTool()))

	post := func(body string) string {
		t.Helper()
		m, rpcErr := Read([]byte(body))
		if rpcErr != nil {
			t.Fatalf("%s: %s", body, rpcErr.message)
		}
		response, n := e.Answer(nil, &m)
		if n == NoTool {
			return string(response)
		}
		if e.Tools()[n] != "catalog_count_sets" {
			t.Fatalf("%s calls %s", body, e.Tools()[n])
		}
		return string(e.Call(nil, &m, n, Caller{View: v}))
	}

	call := func(arguments string) string {
		t.Helper()
		return post(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"catalog_count_sets","arguments":` +
			arguments + `}}`)
	}

	f := func(got, want string) {
		t.Helper()
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}

	f(post(`{"jsonrpc":"2.0","id":7,"method":"tools/list"}`), `{"name":"catalog_count_sets","title":"Count sets",`+
		`"description":"How many sets there are.","inputSchema":{"type":"object","properties":{`+
		`"at_least":{"type":"integer","description":"Fewer are refused.","minimum":0,"maximum":1000,"default":0},`+
		`"response_format":{"type":"string",`)
	f(call(`{"at_least":3}`), `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"3 sets"}],`+
		`"structuredContent":{"sets":3},"isError":false}}`)
	f(call(`{"at_least":4}`), `"text":"There are not so many sets."}],"isError":true`)
	f(call(`{}`), `at_least is required.`)
	f(call(`{"at_least":1001}`), `at_least must be between 0 and 1000 (got 1001).`)
	f(call(`{"at_least":1,"most":2}`), `most is not an argument: use at_least, response_format.`)
}

// TestGamesOfTools adds a game to the table: every text that names games must have it.
func TestGamesOfTools(t *testing.T) {
	games := snapshot.Games
	t.Cleanup(func() { snapshot.Games = games })
	snapshot.Games = append(slices.Clone(games), snapshot.Game{
		Slug: "tide-pool", Name: "Tide Pool",
		Preview: "tide_pool",
	})

	e := New(Options{})
	if n := strings.Count(e.list, `"enum":["pokemon","one-piece","tide-pool"]`); n != 4 {
		t.Errorf("the game is a choice of %d arguments, want 4", n)
	}
	if !strings.Contains(e.list, "Find trading cards (Pokémon, One Piece, Tide Pool) by name;") {
		t.Error("the search is not of its cards")
	}
	if !strings.Contains(e.instructions, "prices of Pokémon, One Piece and Tide Pool trading cards") {
		t.Errorf("the instructions are %q", e.instructions)
	}
}
