package openapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"ninepocket/snapshot"
	"ninepocket/wire/openapi"
)

const (
	baseURL = "https://cards.test"
	version = "v1.2.3-4-gabcdef0"
)

// operationIDs are the operations of docs/API.md, which have the same names in usage records, and
// the others.
var operationIDs = []string{
	"bulk_get", "bulk_list",
	"card_price_stats", "card_prices", "cards_batch", "cards_get", "cards_search",
	"changes_list",
	"facets_list", "games_list", "health_get",
	"market_movers", "openapi_get", "openapi_live_get", "openapi_preview_get",
	"prices_batch", "prices_history_batch", "products_get", "products_list",
	"sets_get", "sets_list", "suggest_list", "usage_get",
	"valuations_create",
}

type object = map[string]any

// renderings returns the document by name: as it is written, and as a server has it in each scope.
func renderings(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{"openapi": openapi.Document()}
	for _, scope := range []openapi.Scope{openapi.Both, openapi.Live, openapi.Preview} {
		text, err := openapi.Render(baseURL, version, scope)
		if err != nil {
			t.Fatalf("Render(%s): %v", scope, err)
		}
		out["openapi-"+string(scope)] = text
	}

	return out
}

func decode(t *testing.T, text []byte) object {
	t.Helper()
	if !jsontext.Value(text).IsValid() { // stricter than encoding/json: no duplicate names, no bad UTF-8
		t.Fatalf("not valid JSON")
	}

	var document object
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}

	return document
}

// walk calls visit for every object of a document, with its JSON pointer.
func walk(at string, value any, visit func(at string, o object)) {
	switch value := value.(type) {
	case object:
		visit(at, value)
		for _, name := range slices.Sorted(maps.Keys(value)) {
			walk(at+"/"+strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1"), value[name], visit)
		}
	case []any:
		for i, element := range value {
			walk(fmt.Sprintf("%s/%d", at, i), element, visit)
		}
	}
}

// lookup resolves a JSON pointer within a document.
func lookup(document any, pointer string) (any, bool) {
	value := document
	for token := range jsontext.Pointer(pointer).Tokens() {
		switch inside := value.(type) {
		case object:
			var found bool
			value, found = inside[token]
			if !found {
				return nil, false
			}

		case []any:
			var i int
			if _, err := fmt.Sscanf(token, "%d", &i); err != nil || i >= len(inside) {
				return nil, false
			}
			value = inside[i]

		default:
			return nil, false
		}
	}

	return value, true
}

func compiler(t *testing.T, text []byte) *jsonschema.Compiler {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}

	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource("openapi.json", document); err != nil {
		t.Fatal(err)
	}

	return c
}

// TestRenderings checks the properties of every rendering of the document. With OPENAPI_OUT it also
// writes the renderings to that folder, for the linters of `make openapi-lint`.
func TestRenderings(t *testing.T) {
	for name, text := range renderings(t) {
		t.Run(name, func(t *testing.T) {
			document := decode(t, text)
			used := map[string]bool{}
			use := func(at, target string) {
				used[target] = true
				pointer, local := strings.CutPrefix(target, "#")
				if _, found := lookup(document, pointer); !local || !found {
					t.Errorf("%s: cannot resolve %q", at, target)
				}
			}

			walk("", document, func(at string, o object) {
				if target, is := o["$ref"].(string); is {
					use(at, target)
				}
				mapping, _ := o["mapping"].(object)
				for _, target := range mapping {
					use(at, target.(string))
				}
			})

			for kind, components := range document["components"].(object) {
				for component := range components.(object) {
					if target := "#/components/" + kind + "/" + component; kind != "securitySchemes" && !used[target] {
						t.Errorf("nothing refers to %s", target)
					}
				}
			}

			if out := os.Getenv("OPENAPI_OUT"); out != "" {
				if err := os.WriteFile(filepath.Join(out, name+".json"), text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func operations(document object) map[string]object {
	out := map[string]object{}
	for path, item := range document["paths"].(object) {
		for method, operation := range item.(object) {
			out["/paths/"+strings.ReplaceAll(path, "/", "~1")+"/"+method] = operation.(object)
		}
	}
	return out
}

func TestOperationIDs(t *testing.T) {
	document := decode(t, openapi.Document())
	var ids []string
	for at, operation := range operations(document) {
		ids = append(ids, operation["operationId"].(string))
		tags := operation["tags"].([]any)
		if len(tags) != 1 {
			t.Errorf("%s has tags %v, want one", at, tags)
		}
		if preview := operation["x-surface"] == "preview"; preview != (tags[0] == "preview") {
			t.Errorf("%s: tag %v does not agree with x-surface %v", at, tags[0], operation["x-surface"])
		}
	}

	slices.Sort(ids)
	if !slices.Equal(ids, operationIDs) {
		t.Errorf("operationIds\n%v, want\n%v", ids, operationIDs)
	}
}

// TestExamples validates every example of a body, a header or a parameter with its schema, and
// checks that every operation, response and error code has one.
func TestExamples(t *testing.T) {
	for name, text := range renderings(t) {
		t.Run(name, func(t *testing.T) {
			document := decode(t, text)
			schemas := compiler(t, text)
			checked := 0
			check := func(at, example string) {
				t.Helper()
				value, found := lookup(document, example)
				if !found {
					t.Fatalf("nothing at %s", example)
				}

				schema, err := schemas.Compile("openapi.json#" + at + "/schema")
				if err != nil {
					t.Fatalf("%s: %v", at, err)
				}
				if err := schema.Validate(value); err != nil {
					t.Errorf("%s: %v", example, err)
				}

				checked++
			}

			walk("", document, func(at string, o object) {
				if _, has := o["schema"]; !has {
					return
				}

				examples, _ := o["examples"].(object)
				for example := range examples {
					check(at, at+"/examples/"+example+"/value")
				}

				_, one := o["example"]
				if one {
					check(at, at+"/example")
				}

				// A reference page fills a form with examples, so an optional parameter has one
				// only if it is valid for every catalog.
				optional := o["in"] != nil && o["required"] != true
				if !one && len(examples) == 0 && !optional {
					t.Errorf("%s has no example", at)
				}
			})

			// The document without preview has fewer operations. Optional parameters lost their
			// examples (decision 2014), but later operations added others.
			minExamples := 150
			switch name {
			case "openapi-live":
				minExamples = 100
			case "openapi-preview":
				minExamples = 50
			}
			if checked < minExamples {
				t.Errorf("only %d examples checked", checked)
			}
		})
	}
}

// TestBodiesOfBatches checks that the document accepts the bodies that the service accepts, and
// each body of prices in one alternative alone: live operations ignore unknown members (decision
// 7).
func TestBodiesOfBatches(t *testing.T) {
	const both = "/paths/~1v1~1prices~1batch/post/requestBody/content/application~1json/schema"
	const cards = "/components/schemas/CardBatchRequest"
	const live = "/components/schemas/PriceBatchRequest"
	schemas := compiler(t, openapi.Document())

	const sealed = `[{"kind":"sealed","product_id":"prd_abc"}]`
	for _, c := range []struct {
		at, body string
		want     bool
	}{
		{cards, `{"ids":["x"],"items":[1]}`, true},
		{cards, `{"ids":[1]}`, false},
		{live, `{"ids":["x"],"items":[1]}`, true},
		{live, `{"identifiers":["x:1"],"items":` + sealed + `}`, true},
		{live, `{"items":[1]}`, false},
		{live, `{"ids":["x"]}`, true},
		{both, `{"ids":["x"]}`, true},
		{both, `{"ids":["x"],"items":` + sealed + `}`, true},
		{both, `{"items":` + sealed + `}`, true},
		{both, `{"items":[1]}`, false},
	} {
		schema, err := schemas.Compile("openapi.json#" + c.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := schema.Validate(decode(t, []byte(c.body))) == nil; got != c.want {
			t.Errorf("%s takes %s: %t, want %t", c.at, c.body, got, c.want)
		}
	}
}

// TestResponsesAreClosed checks that a member that the document does not have fails validation, so
// that drift is found.
func TestResponsesAreClosed(t *testing.T) {
	open := map[string]string{
		"/components/schemas/CardBatchRequest": "live requests ignore " +
			"unknown members",
		"/components/schemas/HistoryBatchRequest": "live requests ignore " +
			"unknown members",
		"/components/schemas/PriceBatchRequest": "live requests ignore " +
			"unknown members",
		"/components/schemas/ValuationItem": "live requests ignore " +
			"unknown members",
		"/components/schemas/ValuationRequest": "live requests ignore " +
			"unknown members",
		"/components/schemas/OpenAPIDocument": "the document itself",
	}

	document := decode(t, openapi.Document())
	walk("", document, func(at string, o object) {
		_, properties := o["properties"]
		kind := fmt.Sprint(o["type"])
		if kind != "object" && kind != "[object null]" || !properties ||
			strings.Contains(at, "/allOf/") || strings.Contains(at, "/examples/") {
			return
		}

		if closed := o["additionalProperties"] == false; closed == (open[at] != "") {
			t.Errorf("%s: closed is %t; %s", at, closed, open[at])
		}
	})
}

func TestRender(t *testing.T) {
	all := renderings(t)
	full := all["openapi-both"]
	live := all["openapi-live"]
	delete(all, "openapi")
	for name, text := range all {
		document := decode(t, text)
		servers := document["servers"].([]any)
		if len(servers) != 1 || servers[0].(object)["url"] != baseURL {
			t.Errorf("%s: servers %v", name, servers)
		}

		if bytes.Contains(text, []byte("{base_url}\"")) {
			t.Errorf("%s: the placeholder of the address is left", name)
		}

		if bytes.Contains(text, []byte(`"x-live-`)) || bytes.Contains(text, []byte(`"x-preview-`)) {
			t.Errorf("%s: a member for the renderer is left", name)
		}
		if got := document["info"].(object)["version"]; got != "1.2.3-4-gabcdef0" {
			t.Errorf("%s: the version is %v", name, got)
		}

		if !bytes.HasPrefix(text, []byte(`{"openapi":"3.1.0","info":`)) {
			t.Errorf("%s: members have lost their order: %.60s", name, text)
		}
	}

	for _, gone := range []string{
		"/v1/products", "insufficient_scope", "Idempotency", `"x-surface":"preview"`,
		`"name":"preview"`, "Proposed", "npk_prev_", "X-Request-Credits",
	} {
		if !bytes.Contains(full, []byte(gone)) {
			t.Errorf("with preview on, %q is missing", gone)
		}
		if bytes.Contains(live, []byte(gone)) {
			t.Errorf("with preview off, %q is left", gone)
		}
	}

	body, found := lookup(decode(t, live),
		"/paths/~1v1~1prices~1batch/post/requestBody/content/application~1json/schema/$ref")
	if !found || body != "#/components/schemas/PriceBatchRequest" {
		t.Errorf("with preview off, the body of prices_batch is %v", body)
	}
}

// TestGamesOfDocument compares the document with the table of games. The written lists equal the
// table, so that rendering does not change them; a third game appears in each place that names
// games.
func TestGamesOfDocument(t *testing.T) {
	const (
		codes    = "/components/schemas/GameCode/enum"
		editions = "/components/schemas/SealedProduct/properties/edition/enum"
	)

	written := decode(t, openapi.Document())
	rendered := decode(t, renderings(t)["openapi-both"])
	for _, at := range []string{codes, editions, "/info/description"} {
		want, found := lookup(written, at)
		if got, _ := lookup(rendered, at); !found || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is rendered as %v, written as %v", at, got, want)
		}
	}

	games := snapshot.Games
	t.Cleanup(func() { snapshot.Games = games })
	snapshot.Games = append(slices.Clone(games), snapshot.Game{
		Slug: "tide-pool", Name: "Tide Pool", Preview: "tide_pool", Editions: []string{"aquarium"},
	})

	rendered = decode(t, renderings(t)["openapi-both"])
	if got, _ := lookup(rendered, codes); !reflect.DeepEqual(got, []any{"pokemon", "one_piece", "tide_pool"}) {
		t.Errorf("with a third game the codes are %v", got)
	}

	if got, _ := lookup(rendered, editions); !reflect.DeepEqual(got, []any{"standard", "pokemon_center", "aquarium"}) {
		t.Errorf("with a third game the editions are %v", got)
	}

	if got, _ := lookup(rendered, "/info/description"); !strings.Contains(got.(string),
		"trading cards: Pokémon, One Piece and Tide Pool.") {
		t.Errorf("with a third game the description begins %.120s", got)
	}
}

func TestRenderIsRepeatable(t *testing.T) {
	first := renderings(t)
	second := renderings(t)
	for name := range first {
		if !bytes.Equal(first[name], second[name]) {
			t.Errorf("%s differs from one rendering to the next", name)
		}
	}
}

func TestWithProductPrefix(t *testing.T) {
	text := openapi.WithProductPrefix(renderings(t)["openapi-both"], "acme")
	if bytes.Contains(text, []byte("prd_")) {
		t.Error("the default prefix is left")
	}

	pattern, _ := lookup(decode(t, text), "/components/schemas/ProductId/pattern")
	if pattern != "^acme_[a-z0-9_]{3,64}$" {
		t.Errorf("pattern %v", pattern)
	}
}
