//go:build !race

package mcp_test

import (
	"encoding/json"
	"testing"

	"ninepocket/mcp"
)

// TestAllocations compares the allocations of calls, from body to response, with their budgets.
func TestAllocations(t *testing.T) {
	d, w := randomDesk(t, 1, benchSize)
	var ids []args
	for i := range 50 {
		ids = append(ids, args{"id": w.Cards[i].ID})
	}

	for _, call := range []struct {
		name, tool string
		arguments  args
		limit      float64
	}{
		// The budget of a search is 120; it should need 40.
		{"a search of ten cards", "catalog_search_cards", args{"query": "charizard"}, 40},
		{"a list of fifty ids", "catalog_value_cards", args{"cards": ids}, 160},
	} {
		raw, err := json.Marshal(call.arguments)
		if err != nil {
			t.Fatal(err)
		}

		body := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call",` +
			`"params":{"name":"` + call.tool + `","arguments":` + string(raw) + `}}`)
		by := mcp.Caller{View: d.view, Now: d.now, Limits: d.limits}
		var out []byte
		n := testing.AllocsPerRun(100, func() {
			m, _ := mcp.Read(body)
			var tool int
			out, tool = d.Answer(out[:0], &m)
			out = d.Call(out, &m, tool, by)
		})

		if n > call.limit {
			t.Errorf("%s: %.0f allocations; at most %.0f are right", call.name, n, call.limit)
		}
		t.Logf("%s: %.0f allocations, %d bytes", call.name, n, len(out))
	}
}
