// Package jsonwalk walks JSON that is known to be valid.
//
// [Parse] checks a whole body once. What follows only has to find where things end: [Value.Members] and
// [Value.Elements] step from one value to the next, and nothing is copied or decoded that nobody asks for. A value
// aliases the body that it was parsed from.
package jsonwalk

import (
	"bytes"
	"errors"
	"iter"
	"math"
	"strconv"
	"strings"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"
)

// Value is a valid JSON value without space around it.
type Value []byte

// ErrTrailing says that a body goes on after its JSON value.
var ErrTrailing = errors.New("there is data after the JSON value")

// Parse checks that a body is one JSON value of RFC 8259 in UTF-8, with unique names in every
// object, and returns it. The error of another body tells what is wrong: it is [ErrTrailing], or
// jsontext's, which wraps a *jsontext.SyntacticError with the place, jsontext.ErrDuplicateName, or
// io.EOF and io.ErrUnexpectedEOF where the body ends too early.
func Parse(body []byte) (Value, error) {
	if !jsontext.Value(body).IsValid() {
		return nil, syntaxError(body)
	}
	return bytes.Trim(body, " \t\n\r"), nil
}

// syntaxError says what is wrong with a body that is not valid: only such a body is read a second
// time.
func syntaxError(body []byte) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(body))

	// A good value must be all there is.
	_, err := d.ReadValue()
	if err == nil {
		_, err = d.ReadToken()
	}
	if err == nil {
		err = ErrTrailing
	}
	return err
}

// Kind is the value's first byte, '0' for any number, and 0 for no value at all.
func (v Value) Kind() byte {
	if v == nil {
		return 0
	}
	if v[0] == '-' || '0' <= v[0] && v[0] <= '9' {
		return '0'
	}
	return v[0]
}

// KindName is what values of a kind are called in a problem: "an object", "null".
func KindName(kind byte) string { return kindNames[kind] }

var kindNames = map[byte]string{
	'{': "an object", '[': "an array", '"': "a string", 't': "true", 'f': "false", 'n': "null", '0': "a number",
}

// Text is the text of a string. It aliases the body where the string has no escapes, as most have
// none: who keeps it longer than the body clones it.
func (v Value) Text() string {
	inner := v[1 : len(v)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return unsafe.String(unsafe.SliceData(inner), len(inner))
	}

	out, _ := jsontext.AppendUnquote(nil, []byte(v)) // a valid string unquotes
	return string(out)
}

// Is reports whether a value is the string s.
func (v Value) Is(s string) bool { return v.Kind() == '"' && v.Text() == s }

// Member is an object's member of a name, nil where there is none and for what is not an object.
func (v Value) Member(name string) Value {
	for have, member := range v.Members() {
		if have.Is(name) {
			return member
		}
	}
	return nil
}

// Members walks an object's names and values, in their order. What is not an object has none.
func (v Value) Members() iter.Seq2[Value, Value] {
	return func(yield func(Value, Value) bool) {
		if v.Kind() != '{' {
			return
		}

		rest := skipSpace(v[1:])
		for rest[0] != '}' {
			var name, member Value
			name, rest = first(rest)
			rest = skipSpace(rest)
			member, rest = first(skipSpace(rest[1:])) // behind the colon
			if !yield(name, member) {
				return
			}

			rest = skipComma(rest)
		}
	}
}

// Elements walks an array's values. What is not an array has none.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != '[' {
			return
		}

		rest := skipSpace(v[1:])
		for rest[0] != ']' {
			var element Value
			element, rest = first(rest)
			if !yield(element) {
				return
			}

			rest = skipComma(rest)
		}
	}
}

func skipSpace(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t' || b[0] == '\n' || b[0] == '\r') {
		b = b[1:]
	}
	return b
}

// skipComma goes to the next value of a list, or to the bracket that ends it.
func skipComma(b []byte) []byte {
	b = skipSpace(b)
	if b[0] == ',' {
		b = skipSpace(b[1:])
	}
	return b
}

// first splits off the value that b begins with.
func first(b []byte) (v Value, rest []byte) {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i = stringEnd(b, i)
		case '{', '[':
			depth++ // and the value ends no earlier than its bracket
			continue
		case '}', ']':
			depth--
		default:
			// The last byte of a scalar is the one before what cannot be part of it.
			if depth > 0 || i+1 < len(b) && strings.IndexByte(" \t\n\r,}]:", b[i+1]) < 0 {
				continue
			}
		}

		if depth == 0 {
			return b[:i+1], b[i+1:]
		}
	}
	return b, nil
}

// stringEnd is the place of the quote that ends the string which begins at place i.
func stringEnd(b []byte, i int) int {
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i
}

// Deeper reports whether a value is nested more than limit levels deep.
func (v Value) Deeper(limit int) bool {
	depth := 0

	// Brackets count, but for those in strings.
	for i := 0; i < len(v); i++ {
		switch v[i] {
		case '"':
			i = stringEnd(v, i)
		case '{', '[':
			depth++
			if depth > limit {
				return true
			}
		case '}', ']':
			depth--
		}
	}

	return false
}

// MaxInteger is the largest integer that Integer tells from a larger one: far beyond every bound of
// a parameter.
const MaxInteger = 1_000_000_000_000_000_000

// Integer reads a number that is mathematically an integer: 10, 10.0 and 1e1 are all ten. It is
// exact up to ±MaxInteger, and a larger one is ±MaxInteger.
func (v Value) Integer() (n int64, ok bool) {
	if v.Kind() != '0' {
		return 0, false
	}

	// Exactly, and not as a float, which has 53 bits.
	mantissa := unsafe.String(unsafe.SliceData(v), len(v))
	power := 0
	if i := strings.IndexAny(mantissa, "eE"); i >= 0 {
		power, _ = strconv.Atoi(mantissa[i+1:]) // the largest int where it is out of range
		mantissa = mantissa[:i]
	}
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")

	// The number is digits times ten to the power, and digits end in no zero.
	all := whole + fraction
	digits := strings.TrimRight(all, "0")
	power = min(max(power, -math.MaxInt32), math.MaxInt32) - len(fraction) + len(all) - len(digits)
	digits = strings.TrimLeft(digits, "0")

	switch {
	case digits == "":
		return 0, true
	case power < 0:
		return 0, false
	case len(digits)+power > 18:
		n = MaxInteger
	default:
		n, _ = strconv.ParseInt(digits+strings.Repeat("0", power), 10, 64) // 18 digits fit
	}

	if negative {
		n = -n
	}
	return n, true
}
