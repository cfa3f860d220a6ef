//go:build !race

package mcp_test

import (
	"encoding/json"
	"testing"

	"ninepocket/mcp"
)

// TestValueAllocations holds a list of fifty ids, from body to response, against its budget.
func TestValueAllocations(t *testing.T) {
	d, w := randomDesk(t, 1, benchSize)
	var cards []args
	for i := range 50 {
		cards = append(cards, args{"id": w.Cards[i].ID})
	}
	raw, err := json.Marshal(args{"cards": cards})
	if err != nil {
		t.Fatal(err)
	}

	body := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call",` +
		`"params":{"name":"catalog_value_cards","arguments":` + string(raw) + `}}`)
	by := mcp.Caller{View: d.view, Now: d.now, Limits: d.limits}
	var out []byte
	n := testing.AllocsPerRun(50, func() {
		m, _ := mcp.Read(body)
		var tool int
		out, tool = d.Answer(out[:0], &m)
		out = d.Call(out, &m, tool, by)
	})
	if n > 160 {
		t.Errorf("%.0f allocations; the budget is 160", n)
	}
	t.Logf("%.0f allocations, %d bytes", n, len(out))
}
