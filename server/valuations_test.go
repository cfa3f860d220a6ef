package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"ninepocket/internal/contracttest"
)

const valuations = "/v1/valuations"

// csvBody is the header of a body that is an export.
const csvBody = "Content-Type: text/csv"

// valued is an answer, as far as tests read it item by item.
type valued struct {
	Items  []valuedItem
	Totals map[string]int64
}

type valuedItem struct {
	Index, Quantity, Fitting int64
	Status                   string
	Card                     object
	Variant, Condition, Ask  *string
	Unit                     *int64 `json:"unit_price_cents"`
	Total                    *int64 `json:"total_cents"`
	Note                     *string
	Assumed                  []struct{ Field, Given, Used string }
	Candidates, Alternates   []object
}

// value asks for a valuation of items.
func (w *world) value(tb testing.TB, items ...object) (v valued) {
	tb.Helper()
	body, err := json.Marshal(object{"items": items})
	if err != nil {
		tb.Fatal(err)
	}
	w.try(tb, scenario{path: valuations, body: string(body)}).decode(tb, &v)
	return v
}

// TestValuationsAreTrue values cards by id and by identifier and holds card, lane, price and totals against
// the files.
func TestValuationsAreTrue(t *testing.T) {
	w := shared()
	tr := todaysTruth()
	var items []object
	var cards []*trueCard
	for i := 0; len(items) < 100; i += 17 {
		k := tr.cards[i%len(tr.cards)]
		item := object{"id": k.id}
		if len(items)%3 > 0 {
			item["quantity"] = len(items)%9 + 1
		}
		items = append(items, item)
		cards = append(cards, k)
	}

	v := w.value(t, items...)
	want := map[string]int64{"assumed_cents": 0, "ambiguous": 0, "unmatched": 0}
	for i, k := range cards {
		got := v.Items[i]
		if fault := differs(got.Card, tr.summary(k), "/cards/"); fault != "" {
			t.Errorf("%d: %s", i, fault)
		}

		copies := int64(1)
		if n, ok := items[i]["quantity"].(int); ok {
			copies = int64(n)
		}
		if got.Index != int64(i) || got.Quantity != copies || got.Fitting != 1 ||
			len(got.Candidates)+len(got.Alternates) > 0 {
			t.Errorf("%d: %+v", i, got)
		}

		l := k.display()
		if l == nil {
			want["unpriced"]++
			if got.Status != "unpriced" || got.Unit != nil || got.Total != nil || got.Note == nil {
				t.Errorf("%d has no price and is %+v", i, got)
			}
			continue
		}
		want["priced"]++
		want["quantity"] += copies
		want["exact_cents"] += copies * l.now
		if got.Status != "priced" || *got.Unit != l.now || *got.Total != copies*l.now || *got.Variant != l.variant ||
			*got.Condition != conditionOrder[conditionRank(l.condition)].text {
			t.Errorf("%d costs %d %s %s: %+v", i, l.now, l.variant, l.condition, got)
		}
	}

	for name, sum := range want {
		if v.Totals[name] != sum {
			t.Errorf("%s is %d, want %d", name, v.Totals[name], sum)
		}
	}
	if want["priced"] < 50 {
		t.Errorf("only %d items have a price", want["priced"])
	}
}

// TestValuationsAreTheTools sends one list to both surfaces: each item means the same card for the same
// price, or asks for the same.
func TestValuationsAreTheTools(t *testing.T) {
	w := shared()
	tr := todaysTruth()
	var items []object
	for i := 0; len(items) < 48; i += 29 {
		k := tr.cards[i%len(tr.cards)]
		item := object{"name": k.name}
		switch len(items) % 6 {
		case 0:
			item["number"] = k.number
		case 1:
			item["condition"] = "NM"
		case 2:
			item["name"] = k.name[:len(k.name)-1]
		case 3:
			item = object{"line": "3x " + k.name + " " + k.number + " LP"}
		case 4:
			item["variant"] = "reverse holo"
		}
		if item["number"] == "" {
			delete(item, "number")
		}
		items = append(items, item)
	}

	v := w.value(t, items...)
	arguments, _ := json.Marshal(object{"cards": items})
	_, body := w.rpc(t, "bench", toolCall("catalog_value_cards", string(arguments)))
	var answer struct {
		Result struct {
			StructuredContent struct {
				Lines []struct {
					Status  string
					Card    *struct{ ID string }
					Unit    *int64 `json:"unit_price_cents"`
					Total   *int64 `json:"line_total_cents"`
					Ask     *string
					Message *string
				}
			}
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatal(err)
	}

	seen := map[string]int{}
	for i, l := range answer.Result.StructuredContent.Lines {
		got := v.Items[i]
		seen[got.Status]++
		id := ""
		if l.Card != nil {
			id = l.Card.ID
		}
		card, _ := got.Card["id"].(string)
		if l.Total == nil {
			l.Total = l.Unit // of one copy
		}
		if got.Status != l.Status || card != id || !agrees(got.Unit, l.Unit) || !agrees(got.Total, l.Total) ||
			!agrees(got.Ask, l.Ask) || !agrees(got.Note, l.Message) {
			t.Errorf("%v: %+v, the tool says %+v", items[i], got, l)
		}
	}
	if len(seen) < 3 {
		t.Errorf("only these statuses: %v", seen)
	}
}

// agrees reports whether two values are both absent or equal.
func agrees[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// exports are what the apps write of a card, header first.
var exports = map[string]func(k *trueCard, l *trueLane) string{
	"TCGplayer": func(k *trueCard, l *trueLane) string {
		return "Quantity,Name,Simple Name,Set,Card Number,Set Code,Printing,Condition,Language,Rarity," +
			"Product ID,SKU\r\n" +
			fmt.Sprintf("2,%q,%q,%q,%s,,%s,,English,,,\r\n", k.name, k.name, k.set.name, k.number, l.variant)
	},
	"Collectr": func(k *trueCard, l *trueLane) string {
		return "Portfolio Name,Category,Set,Product Name,Card Number,Rarity,Variance,Grade,Card Condition," +
			"Average Cost Paid,Quantity,Market Price (As of 2026-05-01),Price Override,Watchlist,Date Added,Notes\n" +
			fmt.Sprintf("Main,%s,%q,%q,%s,,%s,Ungraded,,0,2,9.99,0,false,2026-05-01,\n", k.game, k.set.name, k.name,
				k.number, l.variant)
	},
	"Dragon Shield": func(k *trueCard, l *trueLane) string {
		return "\"sep=,\"\nFolder Name,Quantity,Trade Quantity,Card Name,Set Code,Set Name,Card Number,Condition," +
			"Printing,Language,Price Bought,Date Bought,LOW,MID,MARKET\n" +
			fmt.Sprintf("Binder,2,0,%q,,%q,%s,,%s,English,0.00,2026-04-06,1.00,2.00,3.00\n\n", k.name, k.set.name,
				k.number, l.variant)
	},
	"Cardmarket": func(k *trueCard, _ *trueLane) string {
		return "\ufeff\"idArticle\";\"idProduct\";\"English Name\";\"Local Name\";\"Exp.\";\"Exp. Name\";\"Price\";" +
			"\"Language\";\"Condition\";\"Foil?\";\"Signed?\";\"Playset?\";\"Altered?\";\"Comments\";" +
			"\"Amount\";\"onSale\"\n" +
			fmt.Sprintf("\"1\";\"2\";%q;%q;\"\";%q;\"0.10\";\"1\";\"\";\"\";\"\";\"\";\"\";\"\";\"2\";\"1\"\n",
				k.name+" ("+k.number+")", k.name, k.set.name)
	},
}

// TestExportsAreValued sends a row of each app for cards whose name, set and number are one card's.
func TestExportsAreValued(t *testing.T) {
	w := shared()
	tr := todaysTruth()
	for app, encode := range exports {
		sent := 0
		for i := 0; sent < 5; i += 101 {
			k := tr.cards[i%len(tr.cards)]
			l := k.display()
			if k.set == nil || k.number == "" || l == nil || strings.ContainsAny(k.name, `"\`) || !isPlain(tr, k) {
				continue
			}

			sent++
			var v valued
			w.try(t, scenario{path: valuations, header: []string{csvBody}, body: encode(k, l)}).decode(t, &v)
			got := v.Items[0]
			if len(v.Items) != 1 || got.Status != "priced" || got.Card["id"] != k.id || got.Quantity != 2 {
				t.Errorf("%s: %s is %+v", app, encode(k, l), got)
			}
		}
	}
}

// isPlain reports whether no other card has a name that begins as a card's does.
func isPlain(tr *truth, k *trueCard) bool {
	return !slices.ContainsFunc(tr.cards, func(other *trueCard) bool {
		return other != k && strings.HasPrefix(other.name, k.name)
	}) && strings.IndexByte(k.name, '(') < 0
}

// TestValuationBodies sends bodies that are wrong: every problem is named, and what is ignored is.
func TestValuationBodies(t *testing.T) {
	w := shared()
	k := todaysTruth().cards[0]
	var all []scenario
	bad := func(body string, parts ...string) {
		all = append(all, scenario{
			name: "bad " + body[:min(60, len(body))], method: http.MethodPost, path: valuations, body: body,
			status: 400, code: "invalid_request", want: []match{has(parts...)},
		})
	}
	export := func(body string, parts ...string) {
		bad(body, parts...)
		all[len(all)-1].header = []string{csvBody}
	}
	list := func(n int) string {
		return `{"items":[` + strings.TrimSuffix(strings.Repeat(`{"name":"x"},`, n), ",") + `]}`
	}

	bad(``, "ends before its JSON does")
	bad(`[]`, "object", `{\"items\":[{\"line\":`)
	bad(`{}`, "items is required: send")
	bad(`{"item":[{"line":"x"}]}`, `items is required (got \"item\"): send`)
	bad(`{"items":[]}`, "between 1 and 1000 entries (got 0)")
	bad(`{"items":null}`, "items must be an array")
	bad(list(1001), "between 1 and 1000 entries (got 1001)")
	bad(`{"items":["x"]}`, "items[0] must be an object")
	bad(`{"items":[{}]}`, "items[0] names no card")
	bad(`{"items":[{"set":"x"}]}`, "items[0] names no card")
	bad(`{"items":[{"name":7}]}`, "items[0].name must be a string (got a number)")
	bad(`{"items":[{"name":null}]}`, "items[0].name must be a string (got null)")
	bad(`{"items":[{"name":""}]}`, "items[0].name is empty")
	bad(`{"items":[{"name":"a\tb"}]}`, "items[0].name has a control character")
	bad(`{"items":[{"name":"`+strings.Repeat("é", 201)+`"}]}`,
		"items[0].name must have between 1 and 200 characters (got 201)")
	bad(`{"items":[{"line":"`+strings.Repeat("x", 401)+`"}]}`, "between 1 and 400 characters (got 401)")
	bad(`{"items":[{"identifier":"42382"}]}`, "items[0].identifier must be NAMESPACE:VALUE")
	for _, quantity := range []string{"0", "10000", "-1", "1.5", `"2"`, "null", "1e9999"} {
		bad(`{"items":[{"name":"x","quantity":`+quantity+`}]}`,
			"items[0].quantity must be a whole number between 1 and 9999")
	}
	bad(`{"items":[{"name":""},{"id":7},{"name":"x","quantity":0}]}`,
		"items[0].name", "items[1].id", "items[2].quantity")

	const header = "Quantity,Name,Simple Name,Set,Card Number,Set Code,Printing\n"
	export(``, "the first row is no header of TCGplayer")
	export("Wing,Feet\nPikachu,2\n", "the first row is no header of TCGplayer")
	export(`{"items":[]}`, "the first row is no header of TCGplayer")
	export(strings.TrimSpace(header)+",Name\n1,Pikachu\n", `the header has a column more than once: \"Name\"`)
	export(header, "between 1 and 1000 rows behind its header (got 0)")
	export(header+strings.Repeat("1,Pikachu\n", 1001), "between 1 and 1000 rows behind its header (got 1001)")
	export(header+"1,Pikachu\n1,"+strings.Repeat("x", 201)+"\n", "row 2.name must have between 1 and 200 characters")
	export(header+"1,Pik\x00achu\n", "row 1.name has a control character")
	export(header+"1,Pik\xffachu\n", "not valid UTF-8")

	good := func(body string, want ...match) {
		all = append(all, scenario{name: "good " + body[:min(60, len(body))], path: valuations, body: body, want: want})
	}
	good(`{"items":[{"id":"`+k.id+`","x":[1,{}]}],"y":null}`, at("items.0.card.id", k.id))
	good(`{"items":[{"quantity":2.0e0,"id":"`+k.id+`"}]}`, at("items.0.quantity", 2))
	good(list(1000), at("items.#", 1000), at("items.999.index", 999))
	good(`{"items":[{"name":"no card is called so"}]}`, at("items.0.status", "unmatched"), at("items.0.card", nil),
		at("items.0.unit_price_cents", nil), at("items.0.ask", "name"), at("totals.unmatched", 1))
	good(`{"items":[{"name":"`+strings.Repeat("é", 200)+`"}]}`, at("items.0.status", "unmatched"))
	w.run(t, all)

	// Other operations take no export.
	for _, path := range []string{"/v1/cards/batch", valuations} {
		for media, status := range map[string]int{
			"text/csv": http.StatusOK, "text/csv; charset=utf-8; header=present": http.StatusOK,
			"text/csv; charset=latin1": http.StatusUnsupportedMediaType, "text/plain": http.StatusUnsupportedMediaType,
		} {
			if path != valuations {
				status = http.StatusUnsupportedMediaType
			}
			s := scenario{
				path: path, body: header + "1,Pikachu\n", header: []string{"Content-Type: " + media}, status: status,
				want: []match{has("")},
			}
			w.try(t, s)
		}
	}
}

// TestValuationsAreCharged wants one unit for a list of any length, none for one that is refused, and
// the plan's cap to be named.
func TestValuationsAreCharged(t *testing.T) {
	w := shared()
	name := only("valuer")
	key := w.tenant(t, name, "free")
	full := `{"items":[` + strings.TrimSuffix(strings.Repeat(`{"name":"pikachu"},`, 100), ",") + `]}`
	w.try(t, scenario{path: valuations, key: key, body: full, want: []match{at("items.#", 100)}})
	w.try(t, scenario{path: valuations, key: key, body: `{"items":[]}`, status: 400, code: "invalid_request"})
	w.try(t, scenario{path: "/v1/usage", key: key, want: []match{
		at("data.request_credits_used", 1), at("data.minute.remaining", 28),
	}})

	w.run(t, []scenario{
		{
			name: "at the cap", path: valuations, key: "capped", body: `{"items":[{"name":"x"},{"name":"y"}]}`,
			want: []match{at("totals.unmatched", 2)},
		},
		{
			name: "above the cap", path: valuations, key: "capped",
			body:   `{"items":[{"name":"x"},{"name":"y"},{"name":"z"}]}`,
			status: 403, code: "plan_limit", want: []match{has("allows 2 items in a valuation (got 3)")},
		},
		{name: "a preview key", path: valuations, key: "preview", body: full, status: 401, code: "unauthorized"},
		{name: "no key", path: valuations, key: "-", body: full, status: 401, code: "unauthorized"},
	})
}

// TestValuationExampleIsAnswered sends the document's own request and wants the first item answered as the
// document's answer has it; the export of the document is the same list.
func TestValuationExampleIsAnswered(t *testing.T) {
	w := shared()
	for _, op := range contracttest.Operations() {
		if op.Path != valuations {
			continue
		}

		r := w.try(t, scenario{path: valuations, body: string(bodies(t, op)[""])})
		for path, want := range map[string]any{
			"items.0.status": "priced", "items.0.card.id": "card_5vfvbdg5zt4y47pl", "items.0.quantity": 2,
			"items.1.status": "unmatched", "items.1.ask": "set", "items.2.status": "priced", "items.2.quantity": 3,
		} {
			at(path, want)(t, r.body)
		}
	}
}
