package jsonwalk

import (
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

func TestInteger(t *testing.T) {
	f := func(text string, want int64, wantOK bool) {
		t.Helper()
		if n, ok := Value(text).Integer(); n != want || ok != wantOK {
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
	f("{}", 0, false)
	f(`"7"`, 0, false)
	f("null", 0, false)
}

// TestParseNamesTheProblem checks the errors that callers distinguish.
func TestParseNamesTheProblem(t *testing.T) {
	f := func(body string, want error, offset int64) {
		t.Helper()

		v, err := Parse([]byte(body))
		if v != nil || err == nil {
			t.Fatalf("%q is %s, %v; want an error", body, v, err)
		}

		if want != nil && !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", body, err, want)
		}

		syntax, ok := errors.AsType[*jsontext.SyntacticError](err)
		switch {
		case offset < 0:
		case !ok:
			t.Errorf("%q: %v has no place", body, err)
		case syntax.ByteOffset != offset:
			t.Errorf("%q: wrong at byte %d, want %d", body, syntax.ByteOffset, offset)
		}
	}

	const nowhere = -1

	f("", io.EOF, nowhere)
	f("  ", io.EOF, nowhere)
	f(`{"a":`, io.ErrUnexpectedEOF, nowhere)
	f(`"open`, io.ErrUnexpectedEOF, nowhere)
	f(`{"a":1,"a":2}`, jsontext.ErrDuplicateName, nowhere)
	f(`{"a":{"b":1,"\u0062":2}}`, jsontext.ErrDuplicateName, nowhere)
	f(`{} {}`, ErrTrailing, nowhere)
	f(`1 "more"`, ErrTrailing, nowhere)
	f(`{"a" 1}`, nil, 5)
	f(`[1,]`, nil, 3)
	f("\"\xff\"", nil, 1)
	f(`{} x`, nil, 3)
}

func TestParseTakesTheSpaceAway(t *testing.T) {
	v, err := Parse([]byte("\n\t [1, 2] \r\n"))
	if err != nil || string(v) != "[1, 2]" {
		t.Errorf("%q, %v; want the array alone", v, err)
	}
}

func TestDeeper(t *testing.T) {
	f := func(text string, limit int, want bool) {
		t.Helper()

		if got := Value(text).DeeperThan(limit); got != want {
			t.Errorf("%s deeper than %d: %t, want %t", text, limit, got, want)
		}
	}
	f(`1`, 0, false)
	f(`[]`, 0, true)
	f(`{"a":[{}],"b":[]}`, 3, false)
	f(`{"a":[{}],"b":[]}`, 2, true)
	f(`["[[[[","\"[["]`, 1, false)
}

func TestMember(t *testing.T) {
	v := Value(`{"a":{"b":1},"\u0062":"two","":[]}`)
	f := func(got Value, want string) {
		t.Helper()
		if string(got) != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}

	f(v.Member("a").Member("b"), "1")
	f(v.Member("b"), `"two"`)
	f(v.Member(""), "[]")
	f(v.Member("c"), "")
	f(v.Member("c").Member("d"), "")
	f(v.Member("b").Member("d"), "")
	if v.Member("c").Kind() != 0 || v.Member("c").Is("") || v.Member("a").Is("b") || !v.Member("b").Is("two") {
		t.Error("what is not there has a kind or a text")
	}
}

// TestTextAliasesTheBody checks that Text makes no copy without an escape.
func TestTextAliasesTheBody(t *testing.T) {
	plain := Value(`"no escape in it"`)
	escaped := Value(`"an \u0065scape"`)
	if n := testing.AllocsPerRun(100, func() { _ = plain.Text() }); n != 0 {
		t.Errorf("a text without escapes takes %v allocations", n)
	}
	if !escaped.Is("an escape") || plain.Is("no escape in i") {
		t.Errorf("Is does not compare texts")
	}
}

func TestIntegerAgreesWithRationals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,8})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "number")
		exact, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Skip()
		}

		n, isInt := Value(text).Integer()
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

// TestValuesAreWalked compares the members and elements of valid JSON with the standard library's.
func TestValuesAreWalked(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `""`, `null`, ` { "a" : 1 , "b":[ 2,{"c":"}]\""} ] } `, `[1 , "x\\" , [] ,{} , true ]`,
		`{"":{"":{"":[[[]]]}}}`,
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
		} else if v, err := Parse(text); err == nil {
			t.Fatalf("%q is %s, want an error", text, v)
		}
	})
}

func sameWalk(tb testing.TB, text []byte) {
	tb.Helper()
	v, err := Parse(text)
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}

	var want any
	if err := json.Unmarshal(text, &want); err != nil {
		tb.Skip() // beyond what encoding/json reads, such as 1e999
	}
	compareWalk(tb, v, want)
}

func compareWalk(tb testing.TB, v Value, want any) {
	tb.Helper()
	switch want := want.(type) {
	case map[string]any:
		n := 0
		for name, member := range v.Members() {
			n++
			compareWalk(tb, member, want[name.Text()])
		}
		if n != len(want) {
			tb.Fatalf("%s has %d members, want %d", v, n, len(want))
		}

	case []any:
		all := slices.Collect(v.Elements())
		if len(all) != len(want) {
			tb.Fatalf("%s has %d elements, want %d", v, len(all), len(want))
		}
		for i := range all {
			compareWalk(tb, all[i], want[i])
		}

	case string:
		if v.Text() != want {
			tb.Fatalf("%s is %q, want %q", v, v.Text(), want)
		}
	case nil:
		if v.Kind() != 'n' {
			tb.Fatalf("%s is not null", v)
		}
	case bool:
		if v.Kind() != 't' && v.Kind() != 'f' {
			tb.Fatalf("%s is no boolean", v)
		}
	case float64:
		if v.Kind() != '0' {
			tb.Fatalf("%s is no number", v)
		}
	}
}
