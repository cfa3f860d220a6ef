package wire_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"

	"ninepocket/wire"
	"ninepocket/wire/openapi"
)

// documented is a bound in the OpenAPI document: at is the JSON pointer of a schema.
type documented struct {
	at    string
	name  string
	bound wire.Range
	// preset is the default of the schema, 0 for none.
	preset int64
	// noMin is true if only the description in the document has the lower bound.
	noMin bool
}

const (
	parameters = "/components/parameters/"
	schemas    = "/components/schemas/"
)

var allDocumented = []documented{
	{at: parameters + "CardRef/schema", name: "RefText", bound: wire.RefText},
	{at: parameters + "SetPath/schema", name: "RefText", bound: wire.RefText},
	{at: parameters + "SetFilter/schema", name: "SetText", bound: wire.SetText},
	{at: parameters + "SetQuery/schema", name: "SetText", bound: wire.SetText},
	{at: parameters + "GameFilter/schema", name: "GameText", bound: wire.GameText},
	{at: parameters + "Limit/schema", name: "PageLimit", bound: wire.PageLimit, preset: wire.DefaultPageLimit},
	{at: parameters + "Cursor/schema", name: "CursorText", bound: wire.CursorText},
	{at: parameters + "MinPrice/schema", name: "PriceCents", bound: wire.PriceCents},
	{at: parameters + "MaxPrice/schema", name: "PriceCents", bound: wire.PriceCents},
	{at: parameters + "Query/schema", name: "QueryText", bound: wire.QueryText},
	{at: parameters + "NumberFilter/schema", name: "NumberText", bound: wire.NumberText},
	{at: parameters + "Rarity/schema", name: "RarityText", bound: wire.RarityText},
	{at: parameters + "VariantFilter/schema", name: "VariantText", bound: wire.VariantText},
	{at: parameters + "CardVariant/schema", name: "VariantText", bound: wire.VariantText},
	{at: parameters + "IdentifierFilter/schema", name: "IdentifierText", bound: wire.IdentifierText},
	{at: parameters + "ReleasedAfter/schema", name: "DateText", bound: wire.DateText},
	{at: parameters + "ReleasedBefore/schema", name: "DateText", bound: wire.DateText},
	{at: parameters + "UpdatedSince/schema", name: "InstantText", bound: wire.InstantText},
	{at: parameters + "Days/schema", name: "HistoryDays", bound: wire.HistoryDays, preset: wire.DefaultDays},
	{at: parameters + "Series/schema", name: "SeriesText", bound: wire.SeriesText},
	{at: parameters + "MoverMinPrice/schema", name: "PriceCents", bound: wire.PriceCents, preset: wire.MoversMinCents},
	{at: parameters + "ProductCursor/schema", name: "PreviewCursorText", bound: wire.PreviewCursorText},
	{at: schemas + "CardBatchRequest/properties/ids", name: "CardIDs", bound: wire.CardIDs, noMin: true},
	{at: schemas + "CardBatchRequest/properties/identifiers", name: "CardIDs", bound: wire.CardIDs, noMin: true},
	{at: schemas + "PriceBatchRequest/properties/ids", name: "PriceIDs", bound: wire.PriceIDs, noMin: true},
	{at: schemas + "PriceBatchRequest/properties/identifiers", name: "PriceIDs", bound: wire.PriceIDs, noMin: true},
	{at: schemas + "HistoryBatchRequest/properties/ids", name: "HistoryIDs", bound: wire.HistoryIDs, noMin: true},
	{
		at: schemas + "HistoryBatchRequest/properties/identifiers", name: "HistoryIDs", bound: wire.HistoryIDs,
		noMin: true,
	},
	{
		at: schemas + "HistoryBatchRequest/properties/days", name: "HistoryDays", bound: wire.HistoryDays,
		preset: wire.DefaultDays,
	},
	{at: schemas + "HistoryBatchRequest/properties/variant", name: "VariantText", bound: wire.VariantText},
	{at: parameters + "TypedWords/schema", name: "QueryText", bound: wire.QueryText},
	{
		at: parameters + "SuggestionLimit/schema", name: "Suggestions", bound: wire.Suggestions,
		preset: wire.DefaultSuggestions,
	},
	{at: parameters + "ChangesSince/schema", name: "SnapshotText", bound: wire.SnapshotText},
	{
		at: parameters + "ChangesLimit/schema", name: "ChangeLimit", bound: wire.ChangeLimit,
		preset: wire.DefaultChangeLimit,
	},
	{at: schemas + "PreviewPriceBatchRequest/properties/items", name: "Selections", bound: wire.Selections},
	{at: schemas + "CardSelection/properties/variant", name: "PriceVariantText", bound: wire.PriceVariantText},
	{at: schemas + "ValuationRequest/properties/items", name: "ValueItems", bound: wire.ValueItems},
	{at: schemas + "ValuationItem/properties/id", name: "RefText", bound: wire.RefText},
	{at: schemas + "ValuationItem/properties/identifier", name: "IdentifierText", bound: wire.IdentifierText},
	{at: schemas + "ValuationItem/properties/line", name: "ValueLine", bound: wire.ValueLine},
	{at: schemas + "ValuationItem/properties/name", name: "QueryText", bound: wire.QueryText},
	{at: schemas + "ValuationItem/properties/set", name: "SetText", bound: wire.SetText},
	{at: schemas + "ValuationItem/properties/number", name: "NumberText", bound: wire.NumberText},
	{at: schemas + "ValuationItem/properties/game", name: "GameText", bound: wire.GameText},
	{at: schemas + "ValuationItem/properties/variant", name: "VariantText", bound: wire.VariantText},
	{at: schemas + "ValuationItem/properties/condition", name: "VariantText", bound: wire.VariantText},
	{at: schemas + "ValuationItem/properties/quantity", name: "Copies", bound: wire.Copies},
}

// withoutRange are bounds of the document without a Range, with the reason.
var withoutRange = map[string]string{
	parameters + "Sort/schema":   "a default of a choice",
	parameters + "Period/schema": "accepted and not used",
}

type object = map[string]any

// bounding are the schema keywords that bound a client's input: lower, upper, and others.
var (
	lower = []string{"minLength", "minimum", "minItems"}
	upper = []string{"maxLength", "maximum", "maxItems"}
	other = []string{"default", "exclusiveMinimum", "exclusiveMaximum", "minProperties", "maxProperties", "multipleOf"}
)

// TestBoundsAreTheDocuments compares the table of bounds with the parameters and bodies of the
// document, both ways.
func TestBoundsAreTheDocuments(t *testing.T) {
	var document object
	if err := json.Unmarshal(openapi.Document(), &document); err != nil {
		t.Fatal(err)
	}

	found := map[string]object{}
	for path, item := range document["paths"].(object) {
		sent(document, "/paths/"+path, item.(object), found)
	}

	for _, d := range allDocumented {
		schema := found[d.at]
		if schema == nil {
			t.Errorf("%s: %s is no bound of a parameter or body of the document", d.at, d.name)
			continue
		}
		compare(t, d, schema)
		delete(found, d.at)
	}

	for at := range withoutRange {
		if found[at] == nil {
			t.Errorf("%s is excepted and bounds nothing", at)
		}
		delete(found, at)
	}

	for _, at := range slices.Sorted(maps.Keys(found)) {
		t.Errorf("%s: no Range stands for %v", at, found[at])
	}

	tail := resolve(document, schemas+"ProductId")["pattern"]
	if want := fmt.Sprintf("^prd_[a-z0-9_]{%d,%d}$", wire.ProductTail.Min, wire.ProductTail.Max); tail != want {
		t.Errorf("the pattern of product ids is %s, want %s", tail, want)
	}
}

// compare compares the keywords of one schema with a bound.
func compare(t *testing.T, d documented, schema object) {
	t.Helper()

	want := map[string]float64{}
	for i := range lower {
		if schema["type"] == []any{"string", "integer", "array"}[i] {
			want[upper[i]] = float64(d.bound.Max)
			if !d.noMin {
				want[lower[i]] = float64(d.bound.Min)
			}
		}
	}

	if d.preset != 0 {
		want["default"] = float64(d.preset)
	}

	have := map[string]float64{}
	for _, word := range slices.Concat(lower, upper, other) {
		if n, ok := schema[word].(float64); ok {
			have[word] = n
		}
	}

	if len(want) == 0 || !maps.Equal(have, want) {
		t.Errorf("%s: the document says %v, %s says %v", d.at, have, d.name, want)
	}
}

// sent collects the schemas with bounds of everything that a client may send to a path: parameters
// and bodies.
func sent(document object, at string, item object, found map[string]object) {
	for name, part := range item {
		switch part := part.(type) {
		case object:
			switch name {
			case "requestBody":
				bounded(document, at+"/requestBody", part, found)
			case "responses":
			default:
				sent(document, at+"/"+name, part, found)
			}

		case []any:
			if name != "parameters" {
				continue
			}

			for i, parameter := range part {
				bounded(document, fmt.Sprintf("%s/parameters/%d", at, i), parameter.(object), found)
			}
		}
	}
}

// bounded collects the schemas with bounds below o, following references.
func bounded(document object, at string, o object, found map[string]object) {
	if ref, ok := o["$ref"].(string); ok {
		pointer := strings.TrimPrefix(ref, "#")
		bounded(document, pointer, resolve(document, pointer), found)
		return
	}

	for _, word := range slices.Concat(lower, upper, other) {
		if _, ok := o[word]; ok {
			found[at] = o
		}
	}

	for name, inner := range o {
		switch inner := inner.(type) {
		case object:
			if name != "examples" && name != "example" && name != "discriminator" {
				bounded(document, at+"/"+name, inner, found)
			}
		case []any:
			for i, element := range inner {
				if element, ok := element.(object); ok {
					bounded(document, fmt.Sprintf("%s/%s/%d", at, name, i), element, found)
				}
			}
		}
	}
}

// resolve returns the object at a pointer without escapes.
func resolve(o object, pointer string) object {
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		o, _ = o[name].(object)
	}
	return o
}

// TestBoundsAreUsed fails for a bound of bounds.go that the table above does not compare with the
// document.
func TestBoundsAreUsed(t *testing.T) {
	used := map[string]bool{
		"ProductTail": true, // by its pattern
		"ValueLines":  true, // of MCP alone
	}
	for _, d := range allDocumented {
		used[d.name] = true
	}

	file, err := parser.ParseFile(token.NewFileSet(), "bounds.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}

	named := 0
	for _, decl := range file.Decls {
		decl, ok := decl.(*ast.GenDecl)
		if !ok || decl.Tok != token.VAR {
			continue
		}

		for _, spec := range decl.Specs {
			for _, name := range spec.(*ast.ValueSpec).Names {
				named++
				if !used[name.Name] {
					t.Errorf("no test holds %s against the document", name.Name)
				}
			}
		}
	}

	if named != len(used) {
		t.Errorf("bounds.go has %d bounds, and %d are held", named, len(used))
	}
}
