package ninepocket_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/engine"
	"ninepocket/engine/cursor"
	"ninepocket/index"
	"ninepocket/loader"
	"ninepocket/mcp"
	"ninepocket/server"
	"ninepocket/site"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// tidePool is a game that the program does not have: one more row of the table, and nothing else.
var tidePool = snapshot.Game{Slug: "tide-pool", Name: "Tide Pool", Preview: "tide_pool", Editions: []string{"aquarium"}}

// tideSource is a native source with a card and a sealed product of the third game, and a card of
// the first. The baron's price rose within a week.
var tideSource = map[string]string{
	"source.toml": `namespace = "reef-shop"
attribution = "Prices by Reef Shop"
`,
	"sets.jsonl": `{"ref":"low","game":"tide-pool","name":"Low Tide","release_date":"2026-01-09"}
{"ref":"base","game":"pokemon","name":"Base","release_date":"1999-01-09"}
`,
	"cards.jsonl": `{"ref":"low-1","game":"tide-pool","set":"low","name":"Barnacle Baron","number":"1/20"}
{"ref":"base-4","game":"pokemon","set":"base","name":"Charizard","number":"4/102"}
`,
	"sealed.jsonl": `{"ref":"low-box","game":"tide-pool","name":"Low Tide Booster Box",` +
		`"package_type":"booster_box","units_per_package":24,"unit_kind":"booster_pack","edition":"aquarium"}` + "\n",
	"prices/2026-03-03.csv": `ref,variant,condition,cents,source_as_of,collected_at,licensed
low-1,foil,near_mint,1000,,2026-03-03T20:00:00Z,true
base-4,normal,near_mint,30000,,2026-03-03T20:00:00Z,true
`,
	"prices/2026-03-10.csv": `ref,variant,condition,cents,source_as_of,collected_at,licensed
low-1,foil,near_mint,1234,,2026-03-10T20:00:00Z,true
low-box,,,9900,,2026-03-10T20:00:00Z,true
base-4,normal,near_mint,31000,,2026-03-10T20:00:00Z,true
`,
}

// reef is the whole program with tideSource: built, published, loaded and served.
type reef struct {
	view    *engine.View
	client  http.Client
	live    string // keys
	preview string
	card    string // ids
	slug    string
	product string
	box     string
}

const reefURL = "http://cards.test"

// TestThirdGame adds a game to the table and checks it in the whole program: the name of a game and
// its differences are in that row alone.
func TestThirdGame(t *testing.T) {
	games := snapshot.Games
	t.Cleanup(func() { snapshot.Games = games })
	snapshot.Games = append(slices.Clone(games), tidePool)

	r := newReef(t)
	t.Run("engine", r.testEngine)
	t.Run("REST", r.testREST)
	t.Run("preview", r.testPreview)
	t.Run("document", r.testDocument)
	t.Run("MCP", r.testMCP)
	t.Run("pages", r.testPages)
}

func must[T any](t *testing.T) func(v T, err error) T {
	t.Helper()

	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}

		return v
	}
}

// buildTide builds a catalog from the source.
func buildTide(t *testing.T) *loader.Result {
	t.Helper()
	dir := t.TempDir()
	for name, text := range tideSource {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	sources := []loader.Input{{Kind: "native", Path: dir}}

	return must[*loader.Result](t)(loader.Build(t.Context(), loader.Options{Sources: sources}))
}

// newReef builds, publishes, loads and serves the source.
func newReef(t *testing.T) *reef {
	t.Helper()
	built := buildTide(t)
	if len(built.Quarantine) > 0 {
		t.Fatalf("the build refuses %s", built.Quarantine)
	}

	now := time.Now()
	urls := wire.URLs{URL: reefURL, ProductPrefix: "prd"}
	store := snapshot.OpenStore(filepath.Join(t.TempDir(), "store"))
	stored, _, err := store.Write(built.Catalog, snapshot.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}

	answers := func(c *snapshot.Catalog) error {
		v, err := engine.NewView(c, urls)
		if err != nil {
			return err
		}

		_, err = v.Smoke()
		return err
	}

	must[snapshot.Current](t)(store.Publish(stored.ID, snapshot.PublishOptions{Now: now, Check: answers}))

	follower := engine.New(store, engine.Options{Site: urls})
	t.Cleanup(follower.Close)
	if err := follower.Open(now); err != nil {
		t.Fatal(err)
	}

	r := &reef{view: follower.View()}
	r.serve(t, follower)
	r.find(t)

	return r
}

// serve starts a server, with a key of either kind.
func (r *reef) serve(t *testing.T, follower *engine.Engine) {
	t.Helper()
	now := time.Now()
	file := keys.NewFile()
	var err error
	_, r.live, err = file.Create(keys.NewKey{Name: "live", Tenant: "diver", Surface: keys.Live, Plan: "unlimited"},
		now)
	if err != nil {
		t.Fatal(err)
	}

	_, r.preview, err = file.Create(keys.NewKey{
		Name: "preview", Tenant: "partner", Surface: keys.Preview,
		Plan: "unlimited",
	}, now)
	if err != nil {
		t.Fatal(err)
	}

	ring := must[*keys.Ring](t)(keys.FixedRing(file, keys.DefaultPlans()))
	signer := must[*cursor.Signer](t)(cursor.NewSigner(cursor.Key{ID: 1, Secret: [cursor.KeyLen]byte{1}}))

	s := must[*server.Server](t)(server.New(server.Options{
		Engine: follower, Gate: access.NewGate(ring,
			access.NewMemory(access.MemoryOptions{})), Clock: access.StartClock(now),
		Cursors: signer, BaseURL: reefURL, Preview: true,
		Pages: must[*site.Pages](t)(site.New(site.Options{BaseURL: reefURL})),
	}))

	listener := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	r.client.Transport = &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var d net.Dialer

			return d.DialContext(ctx, network, listener.Addr().String())
		},
	}

	t.Cleanup(func() {
		r.client.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		<-served
	})
}

// find stores the public ids of the third game's card and box.
func (r *reef) find(t *testing.T) {
	t.Helper()
	c := r.view.Catalog
	for card := range c.Cards.ID.Len() {
		if c.Cards.Name.At(card) == "Barnacle Baron" {
			r.card = c.Cards.ID.At(card)
			r.slug = c.Cards.Slug.At(card)
			r.product = "prd_" + index.ProductTail(c, card)
		}
	}

	if c.Sealed.Tail.Len() != 1 || r.card == "" {
		t.Fatalf("the catalog has card %q and %d boxes", r.card, c.Sealed.Tail.Len())
	}

	r.box = "prd_" + c.Sealed.Tail.At(0)
}

// ask sends a request and returns the decoded body, if it is JSON, and its text.
func (r *reef) ask(t *testing.T, key, method, target, body string, want int) (decoded any, text string) {
	t.Helper()
	q := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), method, reefURL+target,
		strings.NewReader(body)))
	q.Header.Set("X-API-Key", key)
	if body != "" {
		q.Header.Set("Content-Type", "application/json")
		q.Header.Set("Accept", "application/json, text/event-stream")
		q.Header.Set("Idempotency-Key", "low-tide-0000000001")
		q.Header.Set("MCP-Protocol-Version", mcp.Versions[0])
	}

	if key == "" {
		q.Header.Del("X-API-Key")
	}

	a := must[*http.Response](t)(r.client.Do(q))
	defer a.Body.Close()
	b := must[[]byte](t)(io.ReadAll(a.Body))
	if a.StatusCode != want {
		t.Fatalf("%s %s answers %d, want %d: %.500s", method, target, a.StatusCode, want, b)
	}

	if json.Valid(b) {
		if err := json.Unmarshal(b, &decoded); err != nil {
			t.Fatal(err)
		}
	}

	return decoded, string(b)
}

// at follows names and indexes into a decoded body. It returns nil if there is nothing.
func at(value any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, _ := value.(map[string]any)
			value = object[step]
		case int:
			list, _ := value.([]any)
			if step >= len(list) {
				return nil
			}
			value = list[step]
		}
	}

	return value
}

// wantIDs checks that a member of a body is a list of objects with these ids or slugs.
func wantIDs(t *testing.T, what string, body any, member, name string, want ...string) {
	t.Helper()
	list, _ := at(body, member).([]any)
	got := []string{}
	for _, one := range list {
		got = append(got, fmt.Sprint(at(one, name)))
	}

	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func (r *reef) testEngine(t *testing.T) {
	f := func(words, game string, want ...string) {
		t.Helper()
		q := index.Query{Filter: index.NoFilter, Words: words, HasWords: true}
		q.Game = game
		got := []string{}
		for _, card := range r.view.Index.Cards(nil, q, nil, 10).Cards {
			got = append(got, r.view.Catalog.Cards.ID.At(int(card)))
		}

		if !slices.Equal(got, want) {
			t.Errorf("%q in game %q finds %q, want %q", words, game, got, want)
		}
	}

	f("barnacle baron", "", r.card)
	f("barnakle baron", "tide-pool", r.card)
	f("barnacle baron 1/20", "tide-pool", r.card)
	f("barnacle baron", "pokemon", []string{}...)

	if card, ok := r.view.Index.Card(r.card); !ok || r.view.Catalog.DisplayCents(card) != 1234 {
		t.Errorf("card %q is found: %t", r.card, ok)
	}
}

func (r *reef) testREST(t *testing.T) {
	games, _ := r.ask(t, r.live, "GET", "/v1/games", "", 200)
	wantIDs(t, "games", games, "data", "slug", "pokemon", "tide-pool")
	if name := at(games, "data", 1, "name"); name != "Tide Pool" {
		t.Errorf("the third game is called %q", name)
	}

	for target, want := range map[string][]string{
		"/v1/cards?q=barnacle+baron":                    {r.card},
		"/v1/cards?q=barnakle+baron&game=tide-pool":     {r.card},
		"/v1/cards?q=barnacle+baron&game=pokemon":       {},
		"/v1/cards?game=tide-pool":                      {r.card},
		"/v1/market/movers?direction=up&game=tide-pool": {r.card},
		"/v1/market/movers?direction=up&game=one-piece": {},
	} {
		list, _ := r.ask(t, r.live, "GET", target, "", 200)
		wantIDs(t, target, list, "data", "id", want...)
	}

	sets, _ := r.ask(t, r.live, "GET", "/v1/sets?game=tide-pool", "", 200)
	wantIDs(t, "sets", sets, "data", "name", "Low Tide")

	card, _ := r.ask(t, r.live, "GET", "/v1/cards/"+r.slug, "", 200)
	if cents := at(card, "prices", 0, "market_price_cents"); cents != 1234.0 || at(card, "game") != "tide-pool" ||
		at(card, "game_name") != "Tide Pool" {
		t.Errorf("the card is %v", card)
	}

	prices, _ := r.ask(t, r.live, "POST", "/v1/prices/batch", `{"ids":["`+r.card+`"]}`, 200)
	if cents := at(prices, "data", 0, "market_price_cents"); cents != 1234.0 {
		t.Errorf("the batch answers %v", prices)
	}
}

func (r *reef) testPreview(t *testing.T) {
	both := []string{r.product, r.box}
	slices.Sort(both)
	products, _ := r.ask(t, r.preview, "GET", "/v1/products?game=tide_pool", "", 200)
	wantIDs(t, "products", products, "data", "id", both...)
	wantIDs(t, "products", products, "data", "game", "tide_pool", "tide_pool")
	sealed, _ := r.ask(t, r.preview, "GET", "/v1/products?game=tide_pool&kind=sealed", "", 200)
	wantIDs(t, "sealed products", sealed, "data", "edition", "aquarium")
	r.ask(t, r.preview, "GET", "/v1/products?game=tide-pool", "", 400)

	results, _ := r.ask(t, r.preview, "POST", "/v1/prices/batch", `{"items":[
		{"kind":"card","product_id":"`+r.product+`","variant":"foil","condition":"near_mint"},
		{"kind":"sealed","product_id":"`+r.box+`"}]}`, 200)

	card := at(results, "data", 0, "price", "amount_cents")
	box := at(results, "data", 1, "price", "amount_cents")
	if card != 1234.0 || box != 9900.0 {
		t.Errorf("the batch answers %v", results)
	}
}

func (r *reef) testDocument(t *testing.T) {
	document, _ := r.ask(t, "", "GET", "/openapi.json", "", 200)
	codes := at(document, "components", "schemas", "GameCode", "enum")
	if fmt.Sprint(codes) != "[pokemon one_piece tide_pool]" {
		t.Errorf("the document's games are %v", codes)
	}

	editions := at(document, "components", "schemas", "SealedProduct", "properties", "edition", "enum")
	if fmt.Sprint(editions) != "[standard pokemon_center aquarium]" {
		t.Errorf("the document's editions are %v", editions)
	}
}

func (r *reef) testMCP(t *testing.T) {
	call := func(method, params string) string {
		t.Helper()
		_, text := r.ask(t, r.live, "POST", "/mcp",
			`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`, 200)

		return text
	}

	if text := call("tools/list", "{}"); !strings.Contains(text, `"tide-pool"`) ||
		!strings.Contains(text, "Tide Pool") {
		t.Errorf("no tool knows the game: %.300s", text)
	}

	tool := func(name, arguments string) string {
		t.Helper()

		return call("tools/call", `{"name":"`+name+`","arguments":`+arguments+`}`)
	}

	for name, arguments := range map[string]string{
		"catalog_search_cards":      `{"query":"barnakle baron","game":"tide-pool"}`,
		"catalog_get_card":          `{"id":"` + r.card + `"}`,
		"catalog_get_market_movers": `{"direction":"up","game":"tide-pool"}`,
	} {
		if text := tool(name, arguments); !strings.Contains(text, "Barnacle Baron") ||
			!strings.Contains(text, "12.34") || strings.Contains(text, "Charizard") {
			t.Errorf("%s of %s: %.500s", name, arguments, text)
		}
	}

	if text := tool("catalog_browse_sets", `{"game":"tide-pool"}`); !strings.Contains(text, "Low Tide") ||
		strings.Contains(text, `"Base"`) {
		t.Errorf("the sets are %.500s", text)
	}
}

func (r *reef) testPages(t *testing.T) {
	_, page := r.ask(t, "", "GET", "/cards/"+r.slug, "", 200)
	for _, want := range []string{"Barnacle Baron", "Tide Pool", "$12.34"} {
		if !strings.Contains(page, want) {
			t.Errorf("the card's page does not say %q", want)
		}
	}

	_, guide := r.ask(t, "", "GET", "/llms.txt", "", 200)
	if !strings.Contains(guide, "Pokémon, One Piece and Tide Pool") {
		t.Errorf("the guide does not name the game: %.300s", guide)
	}
}

// TestUnknownGame removes the third game's row: then nothing of it may be built, under any name.
func TestUnknownGame(t *testing.T) {
	built := buildTide(t)
	c := built.Catalog
	if c.Games.Slug.Len() != 1 || c.Cards.ID.Len() != 1 || c.Cards.Name.At(0) != "Charizard" ||
		c.Sealed.Tail.Len() != 0 {
		t.Errorf("the catalog has %d games and %d cards", c.Games.Slug.Len(), c.Cards.ID.Len())
	}

	if n := bytes.Count(built.Quarantine, []byte(`"tide-pool"`)); n < 3 {
		t.Errorf("the quarantine names the game %d times:\n%s", n, built.Quarantine)
	}
}
