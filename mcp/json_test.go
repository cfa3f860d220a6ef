package mcp

import (
	"encoding/json"
	"math/big"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

func TestInteger(t *testing.T) {
	f := func(text string, want int64, wantOK bool) {
		t.Helper()
		if n, ok := value(text).integer(); n != want || ok != wantOK {
			t.Errorf("%s is %d, %t; want %d, %t", text, n, ok, want, wantOK)
		}
	}
	const beyond = 1_000_000_000_000_000_000
	f("0", 0, true)
	f("-0", 0, true)
	f("0.000", 0, true)
	f("10", 10, true)
	f("10.0", 10, true)
	f("1e1", 10, true)
	f("1E+1", 10, true)
	f("100e-1", 10, true)
	f("0.1e2", 10, true)
	f("0.01e3", 10, true)
	f("-25.0", -25, true)
	f("1.5", 0, false)
	f("15e-1", 0, false)
	f("1e-1", 0, false)
	f("999999999999999999", 999999999999999999, true)
	f("1e30", beyond, true)
	f("-1e999999999999", -beyond, true)
	f("1e-999999999999", 0, false)
	f("0e999999999999", 0, true)
	f("123456789012345678901234567890", beyond, true)
	f("123456789012345678901234567890.5", 0, false)
}

func TestIntegerAgreesWithRationals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,8})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "number")
		exact, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Skip()
		}
		n, isInt := value(text).integer()
		if isInt != exact.IsInt() {
			t.Fatalf("%s: integer %t, want %t", text, isInt, exact.IsInt())
		}
		bound := big.NewInt(1_000_000_000_000_000_000)
		switch {
		case !isInt:
		case new(big.Int).Abs(exact.Num()).Cmp(bound) >= 0:
			if n != bound.Int64()*int64(exact.Sign()) {
				t.Fatalf("%s is %d", text, n)
			}
		case n != exact.Num().Int64():
			t.Fatalf("%s is %d", text, n)
		}
	})
}

// TestValuesAreWalked holds the walk of valid JSON against the standard library's.
func TestValuesAreWalked(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `""`, `null`, ` { "a" : 1 , "b":[ 2,{"c":"}]\""} ] } `, `[1 , "x\\" , [] ,{} , true ]`, `{"":{"":{"":[[[]]]}}}`,
		`{"a":"\\","b":-1.5e+3,"c":null}`, "[\n\t1,\r\n2\n]", `{"é\u0022":"\ud83d\ude00"}`,
	} {
		sameWalk(t, []byte(text))
	}
}

func FuzzValues(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.5e3,"\"\\"],"b":{"c":null}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if jsontext.Value(text).IsValid() {
			sameWalk(t, text)
		}
	})
}

func sameWalk(tb testing.TB, text []byte) {
	tb.Helper()
	v, rest := first(skipSpace(text))
	if len(skipSpace(rest)) != 0 {
		tb.Fatalf("%s: left %q", text, rest)
	}
	var want any
	if err := json.Unmarshal(text, &want); err != nil {
		tb.Skip() // beyond what encoding/json reads, such as 1e999
	}
	compareWalk(tb, v, want)
}

func compareWalk(tb testing.TB, v value, want any) {
	tb.Helper()
	switch want := want.(type) {
	case map[string]any:
		n := 0
		for name, member := range v.members() {
			n++
			compareWalk(tb, member, want[name.text()])
		}
		if n != len(want) {
			tb.Fatalf("%s has %d members, want %d", v, n, len(want))
		}
	case []any:
		all := slices.Collect(v.elements())
		if len(all) != len(want) {
			tb.Fatalf("%s has %d elements, want %d", v, len(all), len(want))
		}
		for i := range all {
			compareWalk(tb, all[i], want[i])
		}
	case string:
		if v.text() != want {
			tb.Fatalf("%s is %q, want %q", v, v.text(), want)
		}
	case nil:
		if v.kind() != 'n' {
			tb.Fatalf("%s is not null", v)
		}
	case bool:
		if v.kind() != 't' && v.kind() != 'f' {
			tb.Fatalf("%s is no boolean", v)
		}
	case float64:
		if v.kind() != '0' {
			tb.Fatalf("%s is no number", v)
		}
	}
}
