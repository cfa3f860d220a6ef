package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Operation is one kind of request to measure. Its requests differ in their card or set. Every
// connection sends them in turn, so that the result does not depend on one card in the processor's
// caches.
type Operation struct {
	Name     string
	About    string
	Depth    int // requests that are sent before a response is awaited
	Requests []Request
}

// subjects is the number of different requests of an operation.
const subjects = 64

// operationNames are the names of all operations, in the order of measurement.
var operationNames = []string{
	"get_card", "get_card_pipelined", "cards_batch_200", "cards_csv_200", "prices_batch_100", "preview_prices_50",
	"preview_prices_50_replay",
	"history_365", "history_90", "histories_50", "price_stats",
	"search_exact", "search_typo", "search_distance2", "search_prefix", "search_new",
	"filter_price", "suggest", "sets", "set", "movers", "products", "mcp_search_10", "mcp_value_50",
}

// OperationNames returns the names of all operations.
func OperationNames() []string { return slices.Clone(operationNames) }

// operations makes the requests of all operations that are possible with the sample.
func (s *sample) operations() []Operation {
	live := s.keys.Live
	all := []Operation{
		s.each("get_card", "one card", func(i int) []byte {
			return encode(http.MethodGet, "/v1/cards/"+s.card(i), live, "")
		}),
		s.each("get_card_pipelined", "one card, 16 requests a write", func(i int) []byte {
			return encode(http.MethodGet, "/v1/cards/"+s.card(i), live, "")
		}),
		s.each("cards_batch_200", "200 card details", func(i int) []byte {
			return encode(http.MethodPost, "/v1/cards/batch", live, s.ids(200, i))
		}),
		s.each("cards_csv_200", "200 cards as CSV", func(i int) []byte {
			request := encode(http.MethodPost, "/v1/cards/batch", live, s.ids(200, i))
			return bytes.Replace(request, []byte("*/*"), []byte("text/csv"), 1)
		}),
		s.each("prices_batch_100", "100 prices, live", func(i int) []byte {
			return encode(http.MethodPost, "/v1/prices/batch", live, s.ids(100, i))
		}),
		s.each("history_365", "a year of one card's history", func(i int) []byte {
			return encode(http.MethodGet, "/v1/cards/"+s.card(i)+"/prices?days=365", live, "")
		}),
		s.everyCard("history_90", "90 days of one card's history", func(card string) []byte {
			return encode(http.MethodGet, "/v1/cards/"+card+"/prices?days=90", live, "")
		}),
		s.each("histories_50", "90 days of 50 cards' histories, in columns", func(i int) []byte {
			return encode(http.MethodPost, "/v1/prices/history/batch", live, s.ids(50, i))
		}),
		s.each("price_stats", "one card's statistics", func(i int) []byte {
			return encode(http.MethodGet, "/v1/cards/"+s.card(i)+"/price-stats", live, "")
		}),
		s.each("filter_price", "a page of 50 within a price range, by price", func(i int) []byte {
			const page = "/v1/cards?min_price_cents=%d&max_price_cents=%d&sort=price_asc&limit=50"
			return encode(http.MethodGet, fmt.Sprintf(page, 5*i, 5*i+2000), live, "")
		}),
		s.each("sets", "a page of 50 sets", func(int) []byte {
			return encode(http.MethodGet, "/v1/sets?limit=50", live, "")
		}),
		s.each("set", "one set with its top cards", func(i int) []byte {
			return encode(http.MethodGet, "/v1/sets/"+s.sets[i%len(s.sets)], live, "")
		}),
		s.each("movers", "50 market movers", func(i int) []byte {
			return encode(http.MethodGet, "/v1/market/movers?limit=50&direction="+[]string{"up", "down"}[i%2], live, "")
		}),
		s.each("mcp_search_10", "MCP: search of 10", func(i int) []byte {
			return s.call("catalog_search_cards", map[string]any{"query": s.words(4)[i%len(s.words(4))]})
		}),
		s.each("mcp_value_50", "MCP: value of 50 ids", func(i int) []byte {
			var lines []map[string]any
			for k := range 50 {
				lines = append(lines, map[string]any{"id": s.card(i + k)})
			}
			return s.call("catalog_value_cards", map[string]any{"cards": lines})
		}),
	}

	all[1].Depth = 16
	all = append(all, s.searches()...)
	all = append(all, s.previews()...)
	slices.SortFunc(all, func(a, b Operation) int {
		return slices.Index(operationNames, a.Name) - slices.Index(operationNames, b.Name)
	})
	return all
}

func (s *sample) each(name, about string, request func(i int) []byte) Operation {
	op := Operation{Name: name, About: about, Depth: 1}
	for i := range subjects {
		op.Requests = append(op.Requests, Request{Bytes: request(i)})
	}
	return op
}

// everyCard makes a request for each card of the sample. Batches read all cards, so that a
// card's cost outside a batch is not measured with fewer cards in warmer caches.
func (s *sample) everyCard(name, about string, request func(card string) []byte) Operation {
	op := Operation{Name: name, About: about, Depth: 1}
	for _, card := range s.cards {
		op.Requests = append(op.Requests, Request{Bytes: request(card.ID)})
	}
	return op
}

func (s *sample) card(i int) string { return s.cards[i%len(s.cards)].ID }

// searches returns searches for words of card names. The engine caches pages. After the first round
// all but search_new come from the cache, like the popular searches of a real service. search_new
// has a different price bound each time, so it is never cached.
func (s *sample) searches() []Operation {
	find := func(word, more string) []byte {
		return encode(http.MethodGet, "/v1/cards?q="+url.QueryEscape(word)+"&limit=20"+more, s.keys.Live, "")
	}

	six := s.words(6)
	seven := s.words(7)
	if len(six) == 0 || len(seven) == 0 {
		return nil
	}

	exact := func(i int) string { return six[i%len(six)] }
	fresh := s.each("search_new", "an exact search that nothing remembers", func(i int) []byte {
		return find(exact(i), "&max_price_cents=90000000")
	})
	for i := range fresh.Requests {
		r := &fresh.Requests[i]
		r.At = bytes.Index(r.Bytes, []byte("=90000000")) + 2
		r.Digits = 7
	}

	typed := func(i int) string {
		const letters = 3
		return "/v1/suggest?q=" + exact(i)[:letters+i%(len(exact(i))-letters)]
	}
	return []Operation{
		s.each("suggest", "suggestions for the prefix of a word",
			func(i int) []byte { return encode(http.MethodGet, typed(i), s.keys.Live, "") }),
		s.each("search_exact", "a search for one word", func(i int) []byte { return find(exact(i), "") }),
		s.each("search_typo", "a search with one letter missing",
			func(i int) []byte { return find(without(exact(i), 3), "") }),
		s.each("search_distance2", "a search with two letters missing", func(i int) []byte {
			return find(without(seven[i%len(seven)], 2, 4), "")
		}),
		s.each("search_prefix", "a search for the prefix of a word",
			func(i int) []byte { return find(exact(i)[:4], "") }),
		fresh,
	}
}

// previews returns the operations of the preview contract.
func (s *sample) previews() []Operation {
	if len(s.selections) < sampleSelections {
		return nil
	}

	body, err := json.Marshal(map[string]any{"items": s.selections})
	if err != nil {
		// Strings do not fail.
		panic(err)
	}

	batch := func(name, about, key string) Operation {
		return s.each(name, about, func(int) []byte {
			return encode(http.MethodPost, "/v1/prices/batch", s.keys.Preview, string(body), "Idempotency-Key: "+key)
		})
	}

	const key = "bench-0000000000000000"
	fresh := batch("preview_prices_50", "50 typed prices, a fresh idempotency key each time", key)
	for i := range fresh.Requests {
		r := &fresh.Requests[i]
		r.At = bytes.Index(r.Bytes, []byte(key)) + len("bench-")
		r.Digits = len(key) - len("bench-")
	}
	return []Operation{
		fresh,
		batch("preview_prices_50_replay", "50 typed prices, replayed", "bench-replay"),
		s.each("products", "a page of 50 products", func(int) []byte {
			return encode(http.MethodGet, "/v1/products?limit=50", s.keys.Preview, "")
		}),
	}
}

// call returns an MCP tools/call request.
func (s *sample) call(tool string, arguments map[string]any) []byte {
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{
			"name":      tool,
			"arguments": arguments,
		},
	})
	if err != nil {
		// Strings and numbers do not fail.
		panic(err)
	}
	return encode(http.MethodPost, "/mcp", s.keys.Live, string(body),
		"Accept: application/json, text/event-stream", "MCP-Protocol-Version: 2025-06-18")
}

// chosen returns the operations with the given names, all if names is empty.
func chosen(all []Operation, names []string) ([]Operation, error) {
	if len(names) == 0 {
		return all, nil
	}

	var out []Operation
	for _, name := range names {
		i := slices.IndexFunc(all, func(op Operation) bool { return op.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("cannot measure operation %q: want one of %s", name, strings.Join(operationNames,
				", "))
		}
		out = append(out, all[i])
	}
	return out, nil
}
