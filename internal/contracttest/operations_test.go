package contracttest

import (
	"slices"
	"testing"
)

func TestOperations(t *testing.T) {
	surfaces := map[string]int{}
	for _, op := range Operations() {
		surfaces[op.Surface]++
		if op.ID == "" || len(op.Statuses) == 0 || !slices.IsSorted(op.Statuses) {
			t.Errorf("%s %s: id %q, statuses %v", op.Method, op.Path, op.ID, op.Statuses)
		}
		if (op.Surface == Preview) != (op.Scope != "") {
			t.Errorf("%s on the %s surface has the scope %q", op.ID, op.Surface, op.Scope)
		}
	}

	want := map[string]int{Live: 16, Shared: 2, Preview: 2, Service: 4}
	for surface, n := range want {
		if surfaces[surface] != n {
			t.Errorf("%d %s operations, want %d", surfaces[surface], surface, n)
		}
	}
}

func TestParameters(t *testing.T) {
	all := Operations()
	find := func(id, name string) Parameter {
		t.Helper()
		for _, op := range all {
			for _, p := range op.Parameters {
				if op.ID == id && p.Name == name {
					return p
				}
			}
		}

		t.Fatalf("%s has no parameter %s", id, name)
		return Parameter{}
	}

	if p := find("cards_search", "limit"); *p.Minimum != 1 || *p.Maximum != 50 || p.Default != "20" ||
		p.Type != "integer" || p.In != "query" {
		t.Errorf("limit: %+v", p)
	}
	if p := find("cards_search", "q"); *p.MinLength != 1 || *p.MaxLength != 200 || p.Required {
		t.Errorf("q: %+v", p)
	}
	if p := find("market_movers", "direction"); !p.Required || !slices.Equal(p.Enum, []string{"up", "down"}) {
		t.Errorf("direction: %+v", p)
	}
	if p := find("market_movers", "period"); !slices.Equal(p.Enum, []string{"1", "7", "30"}) || p.Default != "7" {
		t.Errorf("period: %+v", p)
	}
	if p := find("products_list", "game"); !slices.Equal(p.Enum, []string{"pokemon", "one_piece"}) ||
		p.Surface != Preview {
		t.Errorf("game: %+v", p)
	}
}

func TestCodes(t *testing.T) {
	f := func(surface, code string, want int) {
		t.Helper()
		if got := Codes(surface)[code]; got != want {
			t.Errorf("%s %s is %d, want %d", surface, code, got, want)
		}
	}

	f(Live, "unauthorized", 401)
	f(Live, "plan_limit", 403)
	f(Live, "request_header_fields_too_large", 431)
	f(Live, "invalid_api_key", 0)
	f(Live, "idempotency_conflict", 0)
	f(Preview, "invalid_api_key", 401)
	f(Preview, "idempotency_conflict", 409)
	f(Preview, "payload_too_large", 413)
	f(Preview, "unauthorized", 0)
	f(Preview, "ok", 0)
}
