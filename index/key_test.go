package index

import (
	"reflect"
	"slices"
	"testing"
)

// TestKeysDistinguishQueries changes one field after the other. A field missing from the key
// would let a query use the cursor or the cached page of another query.
func TestKeysDistinguishQueries(t *testing.T) {
	t.Run("query", func(t *testing.T) { keysDiffer(t, (*Query).AppendKey) })
	t.Run("sets", func(t *testing.T) { keysDiffer(t, (*SetFilter).AppendKey) })
	t.Run("products", func(t *testing.T) { keysDiffer(t, (*ProductFilter).AppendKey) })
}

func keysDiffer[T any](t *testing.T, appendKey func(*T, []byte) []byte) {
	var plain T
	keys := map[string]string{string(appendKey(&plain, nil)): "no field"}

	eachField(t, reflect.TypeFor[T](), nil, "", func(name string, path []int) {
		var changed T
		field := reflect.ValueOf(&changed).Elem().FieldByIndex(path)
		for _, v := range valuesOf(t, name, field.Type()) {
			field.Set(v)
			key := string(appendKey(&changed, []byte("before "))[len("before "):])
			if other, taken := keys[key]; taken {
				t.Errorf("%s = %v has the key of %s", name, v, other)
			}
			keys[key] = name
		}
	})
}

// eachField visits the fields of a struct and of the structs in it.
func eachField(t *testing.T, of reflect.Type, path []int, in string, visit func(name string, path []int)) {
	t.Helper()

	for i := range of.NumField() {
		f := of.Field(i)
		here := append(slices.Clip(path), i)
		if f.Type.Kind() == reflect.Struct {
			eachField(t, f.Type, here, in+f.Name+".", visit)
		} else {
			visit(in+f.Name, here)
		}
	}
}

// valuesOf are values of a field that are not its zero value, and not each other.
func valuesOf(t *testing.T, name string, of reflect.Type) []reflect.Value {
	t.Helper()

	var all []any
	switch of.Kind() {
	case reflect.String:
		all = []any{"a", "ab", "\x01a", string(make([]byte, 300))}
	case reflect.Bool:
		all = []any{true}
	case reflect.Uint8:
		all = []any{1, 2, 255}
	case reflect.Int32, reflect.Int64:
		all = []any{-1, 1, 256, 1 << 20}
	default:
		t.Fatalf("%s is a %s: say here which values of it are different, and in AppendKey how it is spelt", name, of)
	}

	values := make([]reflect.Value, len(all))
	for i, v := range all {
		values[i] = reflect.ValueOf(v).Convert(of)
	}

	return values
}

// TestTextsOfAKeyDoNotRunTogether moves a byte from one text to the next.
func TestTextsOfAKeyDoNotRunTogether(t *testing.T) {
	queries := []Query{
		{Words: "ab", Filter: Filter{Game: "c"}},
		{Words: "a", Filter: Filter{Game: "bc"}},
		{Words: "abc"},
		{Filter: Filter{Game: "abc"}},
		{Filter: Filter{Game: "ab", Set: "c"}},
		{Filter: Filter{Set: "ab", Number: "c"}},
		{Filter: Filter{Number: "ab", Rarity: "c"}},
	}

	keys := map[string]Query{}
	for _, q := range queries {
		key := string(q.AppendKey(nil))
		if other, taken := keys[key]; taken {
			t.Errorf("%+v has the key of %+v", q, other)
		}
		keys[key] = q
	}
}
