package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
)

// wrongRequests is the file of invalid requests that the server's own tests use.
const wrongRequests = "../server/testdata/wrong.txt"

// mistakes sends invalid requests to every operation.
func (a *asker) mistakes(cards []card) {
	text, err := os.ReadFile(wrongRequests)
	if err != nil {
		a.err = err
		return
	}
	for row := range strings.Lines(string(text)) {
		parts := strings.Split(strings.TrimSpace(row), " | ")
		head := strings.Fields(parts[0])
		if len(head) != 3 || strings.HasPrefix(row, "#") || strings.HasPrefix(row, "==") {
			continue
		}

		q := request{key: head[0], method: head[1], target: head[2]}
		for _, part := range parts[1:] {
			if strings.HasPrefix(part, "{") || strings.HasPrefix(part, "[") {
				q.body = part
			} else {
				q.header = append(q.header, part)
			}
		}
		// This client cannot send a URL with a bare percent sign.
		if _, err := url.Parse(q.target); err == nil {
			a.send(q)
		}
	}

	for _, target := range []string{
		"/v1/games", "/v1/cards", "/v1/cards/" + cards[0].ID, "/v1/cards/batch", "/v1/prices/batch", "/v1/sets",
		"/v1/usage", "/v1/valuations", "/v1/facets", "/v1/market/movers", "/v1/products",
		"/v1/products/prd_x", "/mcp", "/openapi.json",
		"/healthz", "/nowhere", "/v1/nowhere", "/v1/cards/", "/v1/cards/nothing", "/v1/sets/nothing",
		"/value", "/errors", "/docs",
	} {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"} {
			for _, key := range []string{"-", "bench", "preview_bench"} {
				a.send(request{key: key, method: method, target: target})
			}
		}
		a.send(request{
			key: "bench", method: "POST", target: target, body: "{",
			header: []string{"Content-Type: application/json"},
		})
		a.send(request{
			key: "bench", method: "POST", target: target, body: "x",
			header: []string{"Content-Type: text/plain"},
		})
		a.send(request{key: "bench", method: "OPTIONS", target: target, header: []string{
			"Origin: https://app.example",
			"Access-Control-Request-Method: GET", "Access-Control-Request-Headers: X-API-Key",
		}})
	}

	// Up to the minute limit and beyond, on each surface.
	for range 70 {
		a.one("free", "/v1/games")
	}
}

// tool calls one tool in the older protocol version.
func (a *asker) tool(name string, arguments map[string]any) {
	body, _ := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 7, "method": "tools/call",
		"params": map[string]any{"name": name, "arguments": arguments},
	})
	a.send(request{
		key: "bench", method: "POST", target: "/mcp", body: string(body),
		header: []string{"Accept: application/json, text/event-stream", "Mcp-Protocol-Version: 2025-11-25"},
	})
}

// meta is the _meta of each request of the newest protocol version.
const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{}}`

func (a *asker) tools(random *rand.Rand, cards []card) {
	for _, version := range []string{"2025-06-18", "2025-11-25", "2024-11-05", "2026-07-28"} {
		for _, message := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + version +
				`","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
			`{"jsonrpc":"2.0","id":3,"method":"ping"}`, `{"jsonrpc":"2.0","id":4,"method":"resources/list"}`,
			`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"none"}}`, `[]`, `{`,
			`{"jsonrpc":"1.0","id":1,"method":"ping"}`,
			`{"jsonrpc":"2.0","id":6,"method":"tools/list","params":{` + meta + `}}`,
			`{"jsonrpc":"2.0","id":7,"method":"server/discover","params":{` + meta + `}}`,
		} {
			for _, key := range []string{"bench", "-", "preview_bench", "sandbox"} {
				a.send(request{key: key, method: "POST", target: "/mcp", body: message, header: []string{
					"Accept: application/json, text/event-stream", "Mcp-Protocol-Version: " + version,
				}})
			}
		}
	}

	for i := range 50 {
		c := cards[random.IntN(len(cards))]
		format := []string{"concise", "detailed"}[i%2]
		a.tool("catalog_search_cards", map[string]any{
			"query": phrasings(random, &c)[i%16],
			"limit": 1 + i%9, "response_format": format,
		})
		a.tool("catalog_search_cards", map[string]any{
			"set": c.Set.Name, "rarity": c.Rarity,
			"sort": "price_desc", "response_format": format,
		})
		a.tool("catalog_get_card", map[string]any{"id": []string{c.ID, c.slug()}[i%2], "response_format": format})
		a.tool("catalog_get_price_history", map[string]any{
			"id": c.ID, "days": []int{7, 30, 90, 365}[i%4],
			"response_format": format,
		})
		a.tool("catalog_browse_sets", map[string]any{"set": c.Set.ID, "top": i % 6, "response_format": format})
		a.tool("catalog_browse_sets", map[string]any{"query": c.Set.Name, "response_format": format})
		a.tool("catalog_get_market_movers", map[string]any{
			"direction": []string{"up", "down"}[i%2],
			"period":    []string{"7d", "30d"}[i/2%2], "limit": 1 + i%20, "response_format": format,
		})
	}
	for _, arguments := range []map[string]any{
		nil,
		{"limit": 0},
		{"limit": 1000},
		{"query": ""},
		{"query": 7},
		{"unknown": true},
		{"min_price_cents": 9, "max_price_cents": 3},
		{"cursor": "x"},
		{"game": "chess"},
		{"sort": "best"},
		{"id": "nothing"},
		{"days": 9999},
		{"cards": []string{}},
		{"cards": "one"},
		{"direction": "sideways"},
		{"released_from": "yesterday"},
		{"response_format": "long"},
	} {
		for _, name := range []string{
			"catalog_search_cards", "catalog_get_card", "catalog_get_price_history", "catalog_value_cards",
			"catalog_browse_sets", "catalog_get_market_movers",
		} {
			a.tool(name, arguments)
		}
	}
	// The same calls in the newest version, whose headers repeat members of the body.
	for i := range 20 {
		c := cards[random.IntN(len(cards))]
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"catalog_get_card",`+
			`"arguments":{"id":%q},%s}}`,
			i, c.ID, meta)
		a.send(request{key: "bench", method: "POST", target: "/mcp", body: body, header: []string{
			"Accept: application/json, text/event-stream", "Mcp-Protocol-Version: 2026-07-28",
			"Mcp-Method: tools/call",
			"Mcp-Name: catalog_get_card",
		}})
	}
}

func (a *asker) sitePages(random *rand.Rand, cards []card) {
	for _, target := range []string{
		"/", "/sets", "/movers", "/movers?direction=down", "/value", "/docs", "/errors", "/llms.txt", "/robots.txt",
		"/sitemap.xml", "/openapi.json", "/healthz", "/nowhere", "/search", "/search?game=pokemon",
		"/search?sort=newest&page=2",
		"/assets/nothing.css", "/favicon.ico", "/sets/251", "/search?page=99&q=pikachu",
	} {
		a.get("-", target)
		a.one("-", target, "Accept: text/html")
	}

	for range 60 {
		c := cards[random.IntN(len(cards))]
		a.get("-", "/cards/"+c.slug())
		a.one("-", "/cards/"+c.ID)
		a.one("-", fmt.Sprintf("/cards/%s?days=%d", c.slug(), []int{7, 30, 90, 365}[random.IntN(4)]))
		_, header := a.one("-", "/sets/"+c.Set.ID)
		if at := strings.Index(header.Get("Location"), "/sets/"); at >= 0 {
			a.one("-", header.Get("Location")[at:])
		}
		a.one("-", "/search?q="+url.QueryEscape(c.Name+" "+c.Set.Name))
	}
}
