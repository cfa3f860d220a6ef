package main

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"ninepocket/internal/redistest"
)

// TestOneMachineToThree goes the way of docs/FLEET.md, Build, while clients hold
// keys and cursors: none of them is lost, and every call is billed once, but a batch of before that is
// repeated after.
func TestOneMachineToThree(t *testing.T) {
	r := redistest.Start(t)
	c := newFleetKit(t)
	c.publishes()
	machine := &fleetServer{state: filepath.Join(t.TempDir(), "state")}
	create := func(surface, plan string) string {
		t.Helper()
		out, _ := c.does(exitOK, "keys", "create", "--state", machine.state, "--tenant", "acme", "--surface", surface,
			"--plan", plan, "--json")
		return c.member(out, "key")
	}
	live := create("live", "pro")
	preview := create("preview", "preview")
	c.begins(machine, "--store", c.store)

	answered := int64(0)
	asks := func(s *fleetServer, path, key string) string {
		t.Helper()
		body := c.answered(s.API+path, key)
		answered++
		return body
	}
	first := asks(machine, "/v1/cards?limit=5", live)
	next := c.member(first, "next_cursor")
	products := asks(machine, "/v1/products?limit=5", preview)
	const body = `{"items":[{"kind":"sealed","product_id":"prd_nothing"}]}`
	const name = "0b1f5a52-6a6e-4b0e-9d3c-000000000007"
	status, batch := c.posts(machine.API+"/v1/prices/batch", preview, name, body)
	if status != http.StatusOK {
		t.Fatalf("a batch: %d %s", status, batch)
	}
	answered++

	// Beside the running server. The other two begin, and get no calls yet.
	c.does(exitOK, "fleet", "import", "--state", machine.state, "--control", c.control)
	c.metering = r.URL()
	c.isOld(r)
	others := []*fleetServer{c.serves(""), c.serves("")}
	asks(machine, "/v1/games", live)
	if code := machine.stop(); code != exitOK {
		t.Fatalf("the machine ended with %d", code)
	}

	servers := append(others, c.serves(machine.state))
	second := ""
	for k, s := range servers {
		page := asks(s, "/v1/cards?limit=5&cursor="+next, live)
		ids := pageIDs(t, page)
		if second == "" {
			second = ids
		}
		if ids != second || ids == pageIDs(t, first) {
			t.Errorf("server %d goes on with %s, another one with %s", k, ids, second)
		}
		status := 0
		again := ""
		c.eventually("a batch is not refused", func() bool {
			status, again = c.posts(s.API+"/v1/prices/batch", preview, name, body)
			return status != http.StatusServiceUnavailable
		})
		if status != http.StatusOK || c.member(again, "data") != c.member(batch, "data") {
			t.Errorf("server %d repeats a batch as %d %s", k, status, again)
		}
	}
	// What the machine answered before, Redis does not know: the page says so.
	answered++

	for _, s := range servers {
		cursor := previewCursor(t, products)
		asks(s, "/v1/products?limit=5&cursor="+cursor, preview)
	}
	c.eventually("all is billed", func() bool { return c.billed("acme") >= answered })
	if got := c.billed("acme"); got != answered {
		t.Errorf("%d calls were answered, %d are billed", answered, got)
	}
}

// pageIDs are the cards of a page.
func pageIDs(t *testing.T, body string) string {
	t.Helper()
	var page struct{ Data []struct{ ID string } }
	if err := json.Unmarshal([]byte(body), &page); err != nil || len(page.Data) == 0 {
		t.Fatalf("%v in %s", err, body)
	}
	var ids []string
	for _, card := range page.Data {
		ids = append(ids, card.ID)
	}
	return strings.Join(ids, " ")
}

// previewCursor leads to the page after a page of products.
func previewCursor(t *testing.T, body string) string {
	t.Helper()
	var page struct {
		Pagination struct {
			Next string `json:"next_cursor"`
		}
	}
	if err := json.Unmarshal([]byte(body), &page); err != nil || page.Pagination.Next == "" {
		t.Fatalf("%v in %s", err, body)
	}
	return page.Pagination.Next
}
