package mcp_test

import (
	"strings"
	"testing"

	"ninepocket/internal/fixture"
	"ninepocket/internal/testsweep"
)

// TestEveryCardAndPrice calls every tool in both formats and checks the required members of each card,
// set and price. Cards and sets have game, game_name, id and url. Prices have a variant and an instant,
// each or once for the whole result. Members of the whole result stand nowhere else in it.
func TestEveryCardAndPrice(t *testing.T) {
	cards := 0
	sets := 0
	candidates := 0
	prices := 0
	for seed := range uint64(40 / testsweep.Stride(8)) {
		d, w := randomDesk(t, seed, fixture.Small)
		lines := []args{{"name": w.Cards[0].Name}}
		for i := range w.Cards {
			lines = append(lines, args{"id": w.Cards[i].ID}, args{"name": w.Cards[i].Name, "number": "4"},
				args{"name": w.Cards[i].Name + "x"})
		}
		for _, call := range []struct {
			tool      string
			arguments args
		}{
			{"catalog_search_cards", args{"query": "charizard", "limit": 50}},
			{"catalog_search_cards", args{"min_price_cents": 0}},
			{"catalog_browse_sets", args{"top": 5}},
			{"catalog_browse_sets", args{"set": w.Sets[0].ID}},
			{"catalog_get_card", args{"id": w.Cards[0].ID}},
			{"catalog_get_price_history", args{"id": w.Cards[0].ID}},
			{"catalog_get_market_movers", args{"direction": "up", "min_price_cents": 0}},
			{"catalog_value_cards", args{"cards": lines[:min(len(lines), 50)]}},
		} {
			for _, format := range []string{"concise", "detailed"} {
				call.arguments["response_format"] = format
				r := d.ok(t, call.tool, call.arguments)
				var answer any
				r.decode(t, &answer)

				head, _ := answer.(map[string]any)
				eachObject("", answer, func(at string, object map[string]any) {
					want := []string{}
					id, _ := object["id"].(string)
					switch {
					case strings.HasPrefix(id, "card_"):
						want = append(want, "name", "game", "game_name", "url")
						cards++
					case strings.HasPrefix(id, "set_") && !strings.HasSuffix(at, ".set"):
						want = append(want, "name", "game", "game_name", "url")
						sets++
					}
					if strings.HasSuffix(at, ".candidates") {
						candidates++
					}

					updated, own := object["price_updated_at"]
					market, _ := object["market_price_cents"].(float64)
					if market > 0 && object["date"] == nil || object["unit_price_cents"] != nil {
						if object["assumed"] == nil {
							want = append(want, "variant")
						}
						prices++
						if !own && head["price_updated_at"] == nil {
							t.Errorf("%s: a price at %s has no instant: %v", call.tool, at, object)
						}
					}
					if at != "" && (object["currency"] != nil || own && updated == head["price_updated_at"]) {
						t.Errorf("%s: at %s stands what is of the whole answer: %v", call.tool, at, object)
					}
					for _, member := range want {
						if value, has := object[member]; !has || value == "" {
							t.Errorf("%s, %s: %s lacks %s: %v", call.tool, format, "an object at "+at, member, object)
						}
					}
				})
			}
		}
	}
	if cards < 100 || sets < 10 || candidates < 20 || prices < 100 {
		t.Errorf("only %d cards, %d sets, %d candidates and %d prices were looked at", cards, sets, candidates, prices)
	}
}

// eachObject calls each with the objects of a result and their paths.
func eachObject(at string, v any, each func(at string, object map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		each(at, v)
		for name, member := range v {
			eachObject(at+"."+name, member, each)
		}
	case []any:
		for _, one := range v {
			eachObject(at, one, each)
		}
	}
}
