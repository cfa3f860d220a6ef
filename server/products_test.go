package server

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ninepocket/internal/testsweep"
)

// trueProducts are the public ids of the verified products, ascending, with what each is (decision
// 27).
func (tr *truth) trueProducts() (ids []string, cards map[string]*trueCard, sealed map[string]*trueSealed) {
	cards = map[string]*trueCard{}
	sealed = map[string]*trueSealed{}
	for _, k := range tr.cards {
		if k.set != nil && k.number != "" {
			cards["prd_"+strings.TrimPrefix(k.id, "card_")] = k
		}
	}

	for _, s := range tr.sealed {
		_, tail, _ := strings.Cut(s.id, "_")
		sealed["prd_"+tail] = s
	}
	ids = slices.Sorted(maps.Keys(cards))
	ids = append(ids, slices.Sorted(maps.Keys(sealed))...)
	slices.Sort(ids)
	return ids, cards, sealed
}

// walkProducts follows cursors to the end and returns the products.
func (w *world) walkProducts(tb testing.TB, key string, query url.Values, between func(page int)) []object {
	tb.Helper()
	var all []object
	for n := 0; ; n++ {
		r := w.try(tb, scenario{path: "/v1/products?" + query.Encode(), key: key})
		var p struct {
			Data       []object
			Pagination struct {
				Next *string `json:"next_cursor"`
			}
		}
		r.decode(tb, &p)
		all = append(all, p.Data...)
		if p.Pagination.Next == nil {
			if len(p.Data) == 0 && n > 0 {
				tb.Error("an empty page follows the last")
			}
			return all
		}
		if r.header.Get("Link") != "" || r.header.Get("ETag") != "" || r.header.Get("RateLimit") == "" {
			tb.Errorf("a preview page has %v", r.header)
		}

		query.Set("cursor", *p.Pagination.Next)
		if between != nil {
			between(n)
		}
	}
}

// TestProductsAreTrue walks all products under every filter and compares them with the files.
func TestProductsAreTrue(t *testing.T) {
	w := shared()
	tr := todaysTruth()
	ids, cards, sealed := tr.trueProducts()
	for _, game := range []string{"", "pokemon", "one_piece"} {
		for _, kind := range []string{"", "card", "sealed"} {
			if game != "" && kind != "" && !testsweep.Full() {
				continue // each filter is walked alone
			}

			query := url.Values{"limit": {"50"}}
			if game != "" {
				query.Set("game", game)
			}
			if kind != "" {
				query.Set("kind", kind)
			}

			var want []string
			for _, id := range ids {
				k := cards[id]
				s := sealed[id]
				if k != nil && kind != "sealed" && (game == "" || k.game == strings.ReplaceAll(game, "_", "-")) ||
					s != nil && kind != "card" && (game == "" || s.game == strings.ReplaceAll(game, "_", "-")) {
					want = append(want, id)
				}
			}

			var got []string
			for _, p := range w.walkProducts(t, "preview", query, nil) {
				id, _ := p["id"].(string)
				got = append(got, id)
				if game == "" && kind == "" {
					checkProduct(t, p, cards[id], sealed[id])
				}
			}

			if !slices.Equal(got, want) {
				t.Errorf("game %q, kind %q: %s", game, kind, unequal(got, want))
			}
		}
	}

	for i := 0; i < len(ids); i += 97 {
		r := w.try(t, scenario{
			path: "/v1/products/" + ids[i], key: "preview",
			want: []match{at("data.id", ids[i]), at("meta.billable_units", 1), at("meta.idempotent_replay", false)},
		})
		if r.header.Get("X-Request-Credits-Charged") != "1" || r.header.Get("Cache-Control") != "private, no-store" {
			t.Errorf("headers %v", r.header)
		}
	}
}

func checkProduct(t *testing.T, got object, k *trueCard, s *trueSealed) {
	t.Helper()
	if k == nil {
		if got["name"] != s.name || got["kind"] != "sealed" {
			t.Errorf("sealed %s: %v", s.ref, got)
		}
		return
	}

	options := []any{}
	for _, l := range k.lanes {
		options = append(options, object{"variant": l.variant, "condition": l.condition})
	}

	_, bracket, _ := strings.Cut(k.name, " (")
	printing := cmp.Or(k.printing, strings.TrimSuffix(bracket, ")"), "standard")
	listed, _ := got["price_options"].([]any)
	if got["name"] != k.name || got["kind"] != "card" || got["collector_number"] != k.number ||
		got["printing"] != printing ||
		got["game"] != strings.ReplaceAll(k.game, "-", "_") || !reflect.DeepEqual(got["set"], k.setJSON()) ||
		!reflect.DeepEqual(append([]any{}, listed...), options) {
		t.Errorf("card %s: %v\nwant options %v, printing %s", k.ref, got, options, printing)
	}
}

// TestPartnerIDs wants every card and product of a partner's number, and none of others.
func TestPartnerIDs(t *testing.T) {
	w := shared()
	tr := todaysTruth()
	ids, cards, sealed := tr.trueProducts()
	byPartner := map[string][]string{}
	for _, id := range ids {
		var values []string
		if k := cards[id]; k != nil {
			values = k.partner
		} else {
			values = sealed[id].partner
		}

		for _, v := range values {
			if strings.Trim(v, "0123456789") == "" {
				byPartner[v] = append(byPartner[v], id)
			}
		}
	}

	n := 0
	shared := 0
	for _, v := range slices.Sorted(maps.Keys(byPartner)) {
		if len(byPartner[v]) == 1 && n > 100 {
			continue
		}
		n++
		if len(byPartner[v]) > 1 {
			shared++
		}

		var got []string
		for _, p := range w.walkProducts(t, "preview", url.Values{"partner_id": {v}, "limit": {"1"}}, nil) {
			id, _ := p["id"].(string)
			got = append(got, id)
		}
		if !slices.Equal(got, byPartner[v]) {
			t.Errorf("partner %s: %v, want %v", v, got, byPartner[v])
		}
	}
	if shared == 0 {
		t.Error("no partner number is shared")
	}

	for _, v := range []string{"0", "00000000000000000000000000000000000001", strings.Repeat("9", 300)} {
		w.try(t, scenario{
			path: "/v1/products?partner_id=" + v, key: "preview",
			want: []match{at("data.#", 0), at("pagination.next_cursor", nil)},
		})
	}
}

// TestProductIDs encodes product ids in every way: those that violate the pattern are 400, unknown
// ones 404.
func TestProductIDs(t *testing.T) {
	w := shared()
	ids, cards, _ := todaysTruth().trueProducts()
	tail := strings.TrimPrefix(ids[0], "prd_")
	var bare *trueCard
	for _, k := range todaysTruth().cards {
		if k.set == nil {
			bare = k
		}
	}

	slug, _ := dig(t, w.get(t, "/v1/cards/"+cards[slices.Sorted(maps.Keys(cards))[0]].id).body, "url")
	name, _ := slug.(string)
	f := func(id string, status int, code string) {
		t.Helper()
		s := scenario{path: "/v1/products/" + id, key: "preview", status: status, code: code}
		if code == "" {
			s.want = []match{at("data.id", ids[0])}
		}

		r := w.try(t, s)
		if charged := r.header.Get("X-Request-Credits-Charged"); code != "" && charged != "0" {
			t.Errorf("%s: an error is charged %s", id, charged)
		}
	}

	f(ids[0], 200, "")
	f(ids[0]+"/", 200, "")
	f(percentAll(ids[0]), 200, "")
	f("prd_abc", 404, "not_found")
	f("prd___0", 404, "not_found")
	f("prd_"+strings.Repeat("a", 64), 404, "not_found")
	f("prd_"+strings.TrimPrefix(bare.id, "card_"), 404, "not_found") // a card that is no verified product
	for _, bad := range []string{
		"prd_ab", "prd_" + strings.Repeat("a", 65), "prd_", "prd", "x", "PRD_" + tail, "prd_" + strings.ToUpper(tail),
		"prd-" + tail, cards[slices.Sorted(maps.Keys(cards))[0]].id,
		name[strings.LastIndexByte(name,
			'/')+1:], "prd_a-b", "prd_a.b", "prd_%C3%A9%C3%A9%C3%A9", "prd_abc%00", "prd_abc%20", "%20prd_abc",
		"prd_abc%2F", "prd_%zz", "prdx_abc", "abc_prd_abc",
	} {
		f(bad, 400, "invalid_request")
	}
}

// TestProductCursors holds what binds a preview cursor: tenant, parameters, limit and catalog
// (decision 29).
func TestProductCursors(t *testing.T) {
	w := shared()
	first := w.try(t, scenario{path: "/v1/products?limit=5", key: "preview"})
	token, _ := dig(t, first.body, "pagination.next_cursor")
	f := func(key, query string, status int, parts ...string) {
		t.Helper()
		s := scenario{path: fmt.Sprintf("/v1/products?cursor=%s&%s", token, query), key: key, status: status}
		if s.status == 200 {
			parts = append(parts, `"next_cursor"`)
		} else {
			s.code = "invalid_request"
		}
		s.want = []match{has(parts...)}
		w.try(t, s)
	}

	f("preview", "limit=5", 200)
	f("preview_catalog", "limit=5", 200) // another key of the tenant
	f("preview_rival", "limit=5", 400, "start again from the first page")
	for _, query := range []string{
		"limit=6", "", "limit=20", "limit=5&game=pokemon", "limit=5&kind=card",
		"limit=5&partner_id=1",
	} {
		f("preview", query, 400, "other parameters")
	}
	w.try(t, scenario{path: fmt.Sprintf("/v1/cards?cursor=%s", token), status: 400, code: "invalid_request"})
}

// TestProductWalksAcrossASwap publishes in the middle of a pagination. The fixed catalog is shown
// to the end, or the cursor is refused once the catalog is gone and the products have changed.
func TestProductWalksAcrossASwap(t *testing.T) {
	ids, _, _ := todaysTruth().trueProducts()
	w := newWorld(t, setup{})
	var got []string
	for _, p := range w.walkProducts(t, "preview", url.Values{"limit": {"50"}}, func(n int) {
		if n == 7 {
			w.Engine.Swap(tomorrow().view, time.Now())
		}
	}) {
		id, _ := p["id"].(string)
		got = append(got, id)
	}

	if !slices.Equal(got, ids) {
		t.Errorf("retained: %s", unequal(got, ids))
	}
	gone := newWorld(t, setup{retired: -1})
	token, _ := dig(t, gone.try(t, scenario{path: "/v1/products", key: "preview"}).body, "pagination.next_cursor")
	gone.Engine.Swap(tomorrow().view, time.Now())
	gone.try(t, scenario{
		path: fmt.Sprint("/v1/products?cursor=", token), key: "preview", status: 400,
		code: "invalid_request", want: []match{has("start again")},
	})
}
