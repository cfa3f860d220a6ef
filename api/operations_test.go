package api

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/engine"
	"ninepocket/engine/bulk"
	"ninepocket/engine/cursor"
	"ninepocket/internal/contracttest"
	"ninepocket/internal/fixture"
	"ninepocket/mcp"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// testView is the View of a random small world.
func testView(tb testing.TB) *engine.View {
	tb.Helper()
	world := fixture.Random(7, fixture.Small)
	view, err := engine.NewView(world.Catalog(), wire.URLs{URL: "https://cards.test", ProductPrefix: "prd"})
	if err != nil {
		tb.Fatal(err)
	}
	return view
}

// testService is what operations over a View need.
func testService(tb testing.TB, view *engine.View) *Service {
	tb.Helper()
	signer, err := cursor.NewSigner(cursor.Key{ID: 1, Secret: [cursor.KeyLen]byte{1}})
	if err != nil {
		tb.Fatal(err)
	}

	retained := func(hash uint64) *engine.View {
		if hash == view.Hash {
			return view
		}
		return nil
	}
	files := bulk.New(bulk.Options{Dir: tb.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err := files.Make(context.Background(), view, func() {}); err != nil {
		tb.Fatal(err)
	}
	return &Service{
		Bulk:    files,
		Cursors: signer, Retained: retained, BaseURL: "https://cards.test",
		Tools: mcp.New(mcp.Options{Cursors: signer, Retained: retained}),
	}
}

// ask is one request of an operation, as a client would make it.
type ask struct {
	ref, query, body, key string
}

// run takes an operation through the steps that the pipeline has for it, without a connection and without a meter.
func run(service *Service, view *engine.View, op *Operation, a ask) (*Reply, *wire.APIError) {
	plan := keys.Plan{Name: "pro", PerMinute: 30, MaxCards: 200, MaxPrices: 100, HistoryDays: 365, StatsWindow: 90}
	r := &Request{
		Service: service, Op: op, View: view, Now: time.UnixMilli(1_800_000_000_000), Tenant: "tenant",
		Plan: &plan, Ref: a.ref, Key: a.key, Body: []byte(a.body),
		Strict: op.Surface == keys.Preview,
		Usage:  access.Usage{Limit: 10, Used: 3},
	}
	r.ReadQuery([]byte(a.query))

	out := &Reply{}
	if op.RequestHash != nil {
		if _, f := op.RequestHash(r); f != nil {
			return nil, f
		}
	}
	if f := op.Run(r, out); f != nil {
		return nil, f
	}
	if op.Meta {
		out.Close([]byte("req_1"), 1)
	}
	return out, nil
}

// goodAsks are requests that succeed, and what their answers contain, by surface and name of the
// operation.
func goodAsks(view *engine.View) map[string]struct {
	ask
	contains string
} {
	c := view.Catalog
	card := c.Cards.ID.At(0)
	set := c.Sets.ID.At(0)
	product := "prd_" + strings.TrimPrefix(card, "card_")
	sealed := `{"items":[{"kind":"sealed","product_id":"prd_none"}]}`

	type good = struct {
		ask
		contains string
	}
	return map[string]good{
		"live games_list":       {ask{}, `"slug":"pokemon"`},
		"live cards_search":     {ask{query: "limit=2&sort=price_desc"}, `"next_cursor":"`},
		"live cards_get":        {ask{ref: card}, `"id":"` + card},
		"live cards_batch":      {ask{body: `{"ids":["` + card + `","none"]}`}, `"not_found":["none"]`},
		"live card_prices":      {ask{ref: card, query: "days=30"}, `"days":30`},
		"live card_price_stats": {ask{ref: card, query: "window=7d"}, `"window":"7d"`},
		"live suggest_list":     {ask{query: "q=" + url.QueryEscape(c.Cards.Name.At(0))}, `{"data":[{"kind":"`},
		"live changes_list":     {ask{query: "kind=prices&since=" + c.ID}, `"data":[]`},
		"live facets_list":      {ask{}, `"rarities":[`},
		"live sets_list":        {ask{query: "limit=1"}, `"next_cursor":"`},
		"live sets_get":         {ask{ref: set}, `"top_cards":[`},
		"live bulk_list":        {ask{}, `/cards.jsonl.zst"}`},
		"live market_movers":    {ask{query: "direction=up&min_price_cents=0"}, `"direction":"up"`},
		"live prices_batch":     {ask{body: `{"ids":["` + card + `"]}`}, `"id":"` + card},
		"live prices_history_batch": {
			ask{body: `{"ids":["` + card + `"],"days":3,"variant":"normal"}`}, `"days":3,"dates":["`,
		},
		"live valuations_create": {
			ask{body: `{"items":[{"id":"` + card + `"},{"name":"nothing of this name"}]}`}, `"totals":{"exact_cents":`,
		},
		"live usage_get":        {ask{}, `"request_credits_remaining":7`},
		"preview products_list": {ask{query: "limit=1"}, `"pagination":{"next_cursor":`},
		"preview products_get":  {ask{ref: product}, `"id":"` + product},
		"preview prices_batch":  {ask{body: sealed, key: "k"}, `"missing_reason":"not_found"`},
		"preview usage_get":     {ask{}, `"billable_units":1`},
	}
}

// searchOperation is GET /v1/cards.
func searchOperation() *Operation {
	all := Operations()
	return all[slices.IndexFunc(all, func(op *Operation) bool { return op.Path == searchPath })]
}

func surfaceOf(op *Operation) string {
	if op.Surface == keys.Preview {
		return "preview "
	}
	return "live "
}

// productView is a View whose first card is a product, so that one can be asked for.
func productView(tb testing.TB) *engine.View {
	tb.Helper()
	for seed := range uint64(50) {
		catalog := fixture.Random(seed, fixture.Small).Catalog()
		catalog.ID = "20260822T200000Z-4023415c5a390657"
		view, err := engine.NewView(catalog, wire.URLs{URL: "https://cards.test", ProductPrefix: "prd"})
		if err != nil {
			tb.Fatal(err)
		}
		if _, ok := view.AppendProduct(nil, "prd_"+strings.TrimPrefix(view.Catalog.Cards.ID.At(0), "card_")); ok {
			return view
		}
	}

	tb.Fatal("no world's first card is a product")
	return nil
}

// TestOperations runs every operation and every tool without a listener.
func TestOperations(t *testing.T) {
	view := productView(t)
	service := testService(t, view)
	asks := goodAsks(view)
	for _, op := range Operations() {
		if op.Name == access.BulkGet {
			continue // it answers with a file: TestBulkGet
		}
		name := surfaceOf(op) + string(op.Name)
		good, ok := asks[name]
		if !ok {
			t.Errorf("no request of %s is tried: add it to goodAsks", name)
			continue
		}

		out, f := run(service, view, op, good.ask)
		if f != nil {
			t.Errorf("%s: %s", name, f.Detail)
			continue
		}

		content := out.Content()
		if !json.Valid(content) || !bytes.Contains(content, []byte(good.contains)) {
			t.Errorf("%s: want %s in %.300s", name, good.contains, content)
		}
		keepable := op.Meta && bytes.HasPrefix(content, []byte(`{"data":`))
		if op.RequestHash != nil && !keepable {
			t.Errorf("%s is idempotent, and its answer has no data and meta: %.100s", name, content)
		}
		if out.VaryingFrom > len(content) {
			t.Errorf("%s: the tail begins at %d of %d bytes", name, out.VaryingFrom, len(content))
		}
		delete(asks, name)
	}

	for name := range asks {
		t.Errorf("%s is no operation", name)
	}
}

// TestTools calls every tool as an operation.
func TestTools(t *testing.T) {
	view := testView(t)
	service := testService(t, view)
	card := view.Catalog.Cards.ID.At(0)
	arguments := map[access.Operation]string{
		"mcp:catalog_search_cards":      `{"query":"a"}`,
		"mcp:catalog_get_card":          `{"id":"` + card + `"}`,
		"mcp:catalog_get_price_history": `{"id":"` + card + `"}`,
		"mcp:catalog_value_cards":       `{"cards":[{"id":"` + card + `"}]}`,
		"mcp:catalog_browse_sets":       `{}`,
		"mcp:catalog_get_market_movers": `{"direction":"up"}`,
	}

	for number, op := range Tools(service.Tools) {
		tool := strings.TrimPrefix(string(op.Name), "mcp:")
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` +
			arguments[op.Name] + `}}`

		m, fault := mcp.Read([]byte(body))
		if fault != nil {
			t.Fatal(body)
		}
		if _, n := service.Tools.Answer(nil, &m); n != number {
			t.Fatalf("%s is tool %d, not %d", tool, n, number)
		}

		plan := keys.Plan{MaxPrices: 100, HistoryDays: 365}
		out := &Reply{}
		f := op.Run(&Request{Service: service, Op: op, View: view, Plan: &plan, Now: time.Now(), Message: &m},
			out)
		if f != nil || !json.Valid(out.Body) || !bytes.Contains(out.Body, []byte(`"isError":false`)) {
			t.Errorf("%s: %v %.300s", tool, f, out.Body)
		}
	}
}

// TestPagesAreWalked walks a list by its cursors and wants every row once, and the Link header to name the same page.
func TestPagesAreWalked(t *testing.T) {
	view := testView(t)
	service := testService(t, view)
	seen := map[string]int{}
	query := "sort=price_asc&limit=7"
	for range 100 {
		out, f := run(service, view, searchOperation(), ask{query: query})
		if f != nil {
			t.Fatal(f.Detail)
		}

		var page struct {
			Data []struct{ ID string } `json:"data"`
			Next *string               `json:"next_cursor"`
		}
		if err := json.Unmarshal(out.Body, &page); err != nil {
			t.Fatal(err)
		}

		for _, card := range page.Data {
			seen[card.ID]++
		}
		if page.Next == nil {
			if len(out.Link) > 0 {
				t.Errorf("the last page links to %s", out.Link)
			}
			break
		}
		query = "sort=price_asc&limit=7&cursor=" + *page.Next
		if want := `<https://cards.test/v1/cards?` + query + `>; rel="next"`; string(out.Link) != want {
			t.Errorf("Link is %s, want %s", out.Link, want)
		}
	}
	if n := view.Catalog.Cards.ID.Len(); len(seen) != n {
		t.Errorf("%d of %d cards were seen", len(seen), n)
	}

	for id, times := range seen {
		if times != 1 {
			t.Errorf("%s was seen %d times", id, times)
		}
	}
}

// TestParamsAreTheDocuments holds what operations know against the document.
func TestParamsAreTheDocuments(t *testing.T) {
	documented := map[string]contracttest.Operation{}
	for _, op := range contracttest.Operations() {
		documented[op.ID] = op
	}

	for _, op := range Operations() {
		declared, ok := documented[string(op.Name)]
		path := strings.NewReplacer("{product_id}", "{id}", "{snapshot_id}", "{id}").Replace(declared.Path)
		if !ok || path != op.Path || declared.Method != op.Method {
			t.Errorf("operation %s is not the document's at %s %s", op.Name, op.Method, op.Path)
		}
	}
}

// TestFiltersReachTheQuery gives every parameter of a search a value and wants each to change the query's identity, so
// that none is read and forgotten: the search cache and the cursors go by the identity.
func TestFiltersReachTheQuery(t *testing.T) {
	values := map[string]string{
		"q": "a", "set": "a", "game": "a", "number": "1", "rarity": "a", "min_price_cents": "1",
		"max_price_cents": "9", "sort": "newest", "identifier": "a:1", "variant": "a",
		"released_after": "2020-01-01", "released_before": "2020-01-01", "updated_since": "2020-01-01T00:00:00Z",
	}

	identity := func(query string) string {
		r := &Request{Op: searchOperation()}
		r.ReadQuery([]byte(query))
		q := r.cardQuery()
		if f := r.invalid(); f != nil {
			t.Fatalf("%s: %s", query, f.Detail)
		}
		return string(q.AppendKey(nil))
	}

	paging := []string{"limit", "cursor", "include", "fields"} // which do not change the hits
	for _, name := range searchOperation().Params {
		value, ok := values[name]
		switch {
		case slices.Contains(paging, name):
		case !ok:
			t.Errorf("no value of %s is tried", name)
		case identity(name+"="+value) == identity(""):
			t.Errorf("%s does not change the identity of the query", name)
		}
	}
}

// TestInstants reads instants as RFC 3339 lets them be written.
func TestInstants(t *testing.T) {
	const at = 1787184000000 // 2026-08-20T00:00:00Z
	for query, want := range map[string]int64{
		"2026-08-20T00:00:00Z": at, "2026-08-20t00:00:00z": at, "2026-08-20T02:00:00%2B02:00": at,
		"2026-08-19t22:00:00.250-02:00": at + 250,
		"2026-08-20T02:00:00+02:00":     snapshot.NoTime,
		"2026-08-20":                    snapshot.NoTime, "2026-08-20T00:00:00": snapshot.NoTime,
	} {
		r := &Request{Op: searchOperation()}
		r.ReadQuery([]byte("updated_since=" + query))
		if got := r.cardQuery().UpdatedSince; got != want || (r.problems.count > 0) == (want != snapshot.NoTime) {
			t.Errorf("%s is read as %d, %q; want %d", query, got, r.problems.listed, want)
		}
	}
}

// TestSelectionsFitTheirTable wants the length of an array that Go needs as a constant to be the table's.
func TestSelectionsFitTheirTable(t *testing.T) {
	if wire.MaxSelections != wire.Selections.Max || len(statWindows) != len(snapshot.StatWindows) {
		t.Error("a constant differs from the table that it stands for")
	}
}

// TestBulkGet opens each file of the list, and wants the length that the list says.
func TestBulkGet(t *testing.T) {
	view := productView(t)
	service := testService(t, view)
	op := Operations()[slices.IndexFunc(Operations(), func(op *Operation) bool { return op.Name == access.BulkGet })]

	for _, name := range bulk.Names {
		out := &Reply{}
		r := &Request{
			Service: service, Op: op, View: view, Plan: keys.DefaultPlans()["pro"], Ref: view.ID, FileName: name,
		}
		if f := op.Run(r, out); f != nil {
			t.Fatal(f.Detail)
		}
		info, err := out.File.Stat()
		if err != nil || info.Size() != out.File.About.Bytes || out.File.About.Name != name || !out.HasETag {
			t.Errorf("%s: %v, %+v", name, err, out.File.About)
		}
		out.Reset()
	}
}
