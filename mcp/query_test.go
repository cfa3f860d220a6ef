package mcp

import (
	"reflect"
	"testing"

	"ninepocket/index"
	"ninepocket/internal/jsonwalk"
)

// notAsked are fields of a query that no argument of catalog_search_cards sets, with the reason.
var notAsked = map[string]string{
	"Ordered":      "sort sets it, where words may ask for another order",
	"Identifier":   "every id argument takes one",
	"Variant":      "an agent reads variants of a card's prices (decision 2004)",
	"UpdatedSince": "mirrors ask by time, agents by words (decision 2004)",
}

// notOfQuery are arguments of catalog_search_cards that set no field, with the reason.
var notOfQuery = map[string]string{
	"limit":           "which page of the answer",
	"cursor":          "which page of the answer",
	"response_format": "how the answer is written",
}

// TestEveryFilterIsAnArgument sets one argument after the other and checks which fields of the
// query change. It finds a filter of index.Query that GET /v1/cards has and catalog_search_cards
// lacks.
func TestEveryFilterIsAnArgument(t *testing.T) {
	fields := append(searchCardsTool().fields, formatField())
	ask := func(object string) index.Query {
		t.Helper()
		arguments, err := jsonwalk.Parse([]byte(object))
		if err != nil {
			t.Fatal(err)
		}
		var p problems
		a := bind(fields, arguments, &p)
		if p.n > 0 {
			t.Fatalf("%s: %s", object, p.list)
		}
		return cardQuery(a)
	}

	fed := map[string]bool{}
	plain := ask("{}")
	for i := range fields {
		f := &fields[i]
		changed := differing(reflect.ValueOf(plain), reflect.ValueOf(ask(`{"`+f.name+`":`+another(t, f)+`}`)))
		if _, excepted := notOfQuery[f.name]; excepted == (len(changed) > 0) {
			t.Errorf("%s changes %v", f.name, changed)
		}

		for _, name := range changed {
			fed[name] = true
		}
	}

	for _, name := range differing(reflect.ValueOf(index.Query{}), reflect.Value{}) {
		if _, excepted := notAsked[name]; excepted == fed[name] {
			t.Errorf("index.Query.%s: fed by an argument %t, excepted %t", name, fed[name], excepted)
		}
	}
}

// another returns a value of an argument that is not its default.
func another(t *testing.T, f *field) string {
	t.Helper()
	switch f.kind {
	case textKind:
		return `"x"`
	case integerKind:
		return "7"
	case choiceKind:
		return quoted(f.choices[len(f.choices)-1])
	case dateKind:
		return `"2024-02-29"`
	case listKind:
	}

	t.Fatalf("%s: say here what is another value of it", f.name)
	return ""
}

// differing returns the names of the fields, also of inner structs, in which two structs differ;
// all if b is no struct.
func differing(a, b reflect.Value) []string {
	var names []string
	for i := range a.NumField() {
		f := a.Type().Field(i)
		var other reflect.Value
		if b.IsValid() {
			other = b.Field(i)
		}

		switch {
		case f.Type.Kind() == reflect.Struct:
			names = append(names, differing(a.Field(i), other)...)
		case !other.IsValid() || !reflect.DeepEqual(a.Field(i).Interface(), other.Interface()):
			names = append(names, f.Name)
		}
	}
	return names
}
