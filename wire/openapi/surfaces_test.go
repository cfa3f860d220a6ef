package openapi_test

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ninepocket/wire/openapi"
)

// shared are the operations that both surfaces have; every other one is marked as one surface's.
var shared = []string{"prices_batch", "usage_get"}

// TestScopes compares the operations of each document with the marks of the written one, and wants
// nothing of a surface in the document of the other.
func TestScopes(t *testing.T) {
	documents := renderings(t)
	want := map[string][]string{}
	for at, operation := range operations(decode(t, openapi.Document())) {
		mark, _ := operation["x-surface"].(string)
		id := operation["operationId"].(string)
		if (mark == "") != slices.Contains(shared, id) {
			t.Errorf("%s has x-surface %q: an operation of one surface has its mark, a shared one has none", at, mark)
		}

		want["both"] = append(want["both"], id)
		if mark != "preview" && mark != "both" {
			want["live"] = append(want["live"], id)
		}
		if mark != "live" && mark != "both" {
			want["preview"] = append(want["preview"], id)
		}
	}

	for scope, ids := range want {
		var got []string
		for _, operation := range operations(decode(t, documents["openapi-"+scope])) {
			got = append(got, operation["operationId"].(string))
		}
		slices.Sort(got)
		slices.Sort(ids)
		if !slices.Equal(got, ids) {
			t.Errorf("the document of %s has the operations %v, want %v", scope, got, ids)
		}
	}

	for scope, foreign := range map[string][]string{
		"live": {"x-surface", "x-required-on", "AnyPriceBatch", "PreviewError", `ApiKey realm`, "private, no-store"},
		"preview": {
			"x-surface", "x-required-on", "AnyPriceBatch", "problem+json", "Bearer", "bearer", "npk_live_", "RateLimit",
			"X-Ignored-Params", `"/v1/cards`, `"Problem"`, `"Minute"`, `"plan"`, `"no-store"`, "/openapi",
		},
	} {
		for _, text := range foreign {
			if bytes.Contains(documents["openapi-"+scope], []byte(text)) {
				t.Errorf("the document of %s has %q", scope, text)
			}
		}
	}
}

// TestSharedBodiesOfOneSurface wants the plain object where the whole document has a choice between
// the surfaces, and required what a surface always has.
func TestSharedBodiesOfOneSurface(t *testing.T) {
	documents := renderings(t)
	const post = "/paths/~1v1~1prices~1batch/post"
	const schema = "/content/application~1json/schema/$ref"
	for at, want := range map[string]string{
		"live" + post + "/requestBody" + schema:                                 "#/components/schemas/PriceBatchRequest",
		"live" + post + "/responses/200" + schema:                               "#/components/schemas/PriceBatch",
		"preview" + post + "/requestBody" + schema:                              "#/components/schemas/PreviewPriceBatchRequest",
		"preview" + post + "/responses/200" + schema:                            "#/components/schemas/PreviewPriceBatch",
		"preview/components/parameters/IdempotencyKey/required":                 "true",
		"preview/components/headers/X-Request-Credits-Charged-Preview/required": "true",
		"live/components/headers/RateLimit-Live/required":                       "true",
	} {
		scope, pointer, _ := strings.Cut(at, "/")
		got, _ := lookup(decode(t, documents["openapi-"+scope]), "/"+pointer)
		if fmt.Sprint(got) != want {
			t.Errorf("%s is %v, want %s", at, got, want)
		}
	}
}

// TestNamesForGenerators checks what generators of clients need: a choice is a named component, as
// an anonymous one has no type to fill; a component is not called as a type that a language has; a
// header is a shared component; JSON is the first of several media types that are taken.
func TestNamesForGenerators(t *testing.T) {
	taken := strings.Fields("Array Boolean BigInt Blob Cache Class Comment Document Error Event Exception File Float " +
		"Function Headers Image Int Integer InternalError Iterator Date Dictionary List Long Map Math Number Object Option " +
		"Promise Proxy Range Record Request Response Selection Set String Symbol Text Tuple Type URL Window")
	named := regexp.MustCompile(`^/components/schemas/[^/]+$`)
	for name, text := range renderings(t) {
		document := decode(t, text)
		walk("", document, func(at string, o object) {
			_, one := o["oneOf"]
			_, some := o["anyOf"]
			if (one || some) && !named.MatchString(at) {
				t.Errorf("%s: %s is a choice without a name", name, at)
			}

			headers, _ := o["headers"].(object)
			for header, value := range headers {
				if _, ref := value.(object)["$ref"]; !ref && at != "/components" {
					t.Errorf("%s: %s/headers/%s is no shared component", name, at, header)
				}
			}
		})

		for kind, components := range document["components"].(object) {
			for component := range components.(object) {
				if slices.Contains(taken, component) && kind != "responses" {
					t.Errorf("%s: a language has a type %s: rename it in %s", name, component, kind)
				}
			}
		}
		if first := regexp.MustCompile(`"requestBody": ?\{[^{]*"content": ?\{\s*"([^"]+)"`); true {
			for _, media := range first.FindAllSubmatch(text, -1) {
				if string(media[1]) != "application/json" {
					t.Errorf("%s: the first media type of a body is %s", name, media[1])
				}
			}
		}
	}
}

// TestVersionOfDocument renders the versions that programs have.
func TestVersionOfDocument(t *testing.T) {
	for program, want := range map[string]string{
		"v1.4.0": "1.4.0", "1.4.0": "1.4.0", "v1.4.0-3-gf574e60-dirty": "1.4.0-3-gf574e60-dirty",
		"dev": "0.0.0-dev", "": "0.0.0-dev", "f574e605-dirty": "0.0.0-dev+f574e605-dirty", "a b": "0.0.0-dev+a-b",
	} {
		text, err := openapi.Render(baseURL, program, openapi.Live)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := lookup(decode(t, text), "/info/version"); got != want {
			t.Errorf("the version of program %q is %v, want %s", program, got, want)
		}
	}
}

// TestBodiesOfValuations checks that an item without anything that names a card is not valid.
func TestBodiesOfValuations(t *testing.T) {
	schema, err := compiler(t, openapi.Document()).Compile("openapi.json#/components/schemas/ValuationItem")
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]bool{
		`{"id":"x"}`: true, `{"identifier":"a:1"}`: true, `{"line":"x"}`: true, `{"name":"x"}`: true,
		`{"set":"x","number":"1"}`: true, `{"name":"x","set":"x","quantity":2}`: true,
		`{"set":"x"}`: false, `{"number":"1","quantity":2}`: false, `{}`: false,
	} {
		if got := schema.Validate(decode(t, []byte(body))) == nil; got != want {
			t.Errorf("an item %s is valid: %t, want %t", body, got, want)
		}
	}
}
