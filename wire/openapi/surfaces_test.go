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

// shared are the operations of both surfaces; every other operation is marked for one surface.
var shared = []string{"prices_batch", "usage_get"}

// TestScopes compares the operations of each document with the marks of the written document, and
// checks that no part of one surface is in the other's document.
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
			"x-surface", "x-required-on", "AnyPriceBatch", "problem+json", "Bearer", "bearer", "npk_live_",
			"Vary-Accept", "X-Ignored-Params", `"/v1/cards`,
			`"Problem"`, `"Minute"`, `"plan"`, `"no-store"`, "/openapi",
		},
	} {
		for _, text := range foreign {
			if bytes.Contains(documents["openapi-"+scope], []byte(text)) {
				t.Errorf("the document of %s has %q", scope, text)
			}
		}
	}
}

// TestSharedBodiesOfOneSurface checks for the plain object where the whole document has a choice
// between the surfaces. Members that a surface always has must be required.
func TestSharedBodiesOfOneSurface(t *testing.T) {
	const (
		post   = "/paths/~1v1~1prices~1batch/post"
		schema = "/content/application~1json/schema/$ref"
		named  = "#/components/schemas/"
	)
	f := func(scope, pointer, want string) {
		t.Helper()
		document := decode(t, renderings(t)["openapi-"+scope])
		if got, _ := lookup(document, pointer); fmt.Sprint(got) != want {
			t.Errorf("%s of %s is %v, want %s", pointer, scope, got, want)
		}
	}

	f("live", post+"/requestBody"+schema, named+"PriceBatchRequest")
	f("live", post+"/responses/200"+schema, named+"PriceBatch")
	f("preview", post+"/requestBody"+schema, named+"PreviewPriceBatchRequest")
	f("preview", post+"/responses/200"+schema, named+"PreviewPriceBatch")

	f("live", "/components/headers/RateLimit/required", "true")
	f("preview", "/components/headers/RateLimit/required", "true")
	f("preview", "/components/headers/X-Request-Credits-Charged-Preview/required", "true")
	f("preview", "/components/parameters/IdempotencyKey/required", "true")
}

// TestNamesForGenerators checks the needs of client generators. A choice is a named component,
// because an anonymous one has no type to fill. No component has the name of a language's type. A
// header is a shared component, and JSON is the first of several accepted media types.
func TestNamesForGenerators(t *testing.T) {
	taken := strings.Fields("Array BigInt Blob Boolean Cache Class Comment Date Dictionary Document Error Event " +
		"Exception File Float Function Headers Image Int Integer Iterator List Long Map Math Number Object Option " +
		"Promise Proxy Range Record Request Response Selection Set String Symbol Text Tuple Type URL Window")
	body := regexp.MustCompile(`"requestBody": ?\{[^{]*"content": ?\{\s*"([^"]+)"`)
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
				if slices.Contains(taken, component) {
					t.Errorf("%s: a language has a type %s: rename it in %s", name, component, kind)
				}
			}
		}

		for _, media := range body.FindAllSubmatch(text, -1) {
			if string(media[1]) != "application/json" {
				t.Errorf("%s: the first media type of a body is %s", name, media[1])
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
