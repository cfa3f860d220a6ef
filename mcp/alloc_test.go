//go:build !race

package mcp_test

import (
	"testing"

	"ninepocket/mcp"
)

// TestSearchAllocations holds a search of ten cards, from body to response, against its budget.
func TestSearchAllocations(t *testing.T) {
	d, _ := randomDesk(t, 1, benchSize)
	body := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call",` +
		`"params":{"name":"catalog_search_cards","arguments":{"query":"charizard"}}}`)

	by := mcp.Caller{View: d.view, Now: d.now, Limits: d.limits}
	var out []byte
	n := testing.AllocsPerRun(200, func() {
		m, _ := mcp.Read(body)
		var tool int
		out, tool = d.Answer(out[:0], &m)
		out = d.Call(out, &m, tool, by)
	})
	if n > 40 {
		t.Errorf("%.0f allocations; the budget is 120, and 40 is what it should take", n)
	}
	t.Logf("%.0f allocations, %d bytes", n, len(out))
}
