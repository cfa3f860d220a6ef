// Package jsonwalk reads members and elements of valid JSON without decoding it.
//
// [Parse] checks a whole body once. After that, only the ends of values have to be found:
// [Value.Members] and [Value.Elements] step from one value to the next. Only a requested value is
// copied or decoded. A value aliases the body that it was parsed from.
package jsonwalk

import (
	"bytes"
	"cmp"
	"errors"
	"iter"
	"math"
	"strconv"
	"strings"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"
)

// Value is a valid JSON value without white space around it.
type Value []byte

// ErrTrailing reports data after the JSON value of a body.
var ErrTrailing = errors.New("there is data after the JSON value")

// Parse checks that a body is one JSON value of RFC 8259 in UTF-8, with unique names in every
// object, and returns it. The error is [ErrTrailing] or one of jsontext, which wraps a
// *jsontext.SyntacticError with the position, jsontext.ErrDuplicateName, or io.EOF and
// io.ErrUnexpectedEOF if the body ends too early.
func Parse(body []byte) (Value, error) {
	if !jsontext.Value(body).IsValid() {
		return nil, syntaxError(body)
	}
	return bytes.Trim(body, " \t\n\r"), nil
}

// syntaxError returns the error of an invalid body. Only such a body is read a second time.
func syntaxError(body []byte) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(body))

	// If the value is valid, there must be data after it.
	_, err := d.ReadValue()
	if err == nil {
		_, err = d.ReadToken()
	}
	err = cmp.Or(err, ErrTrailing)
	return err
}

// Kind returns the value's first byte: '0' for every number, and 0 for no value.
func (v Value) Kind() byte {
	if v == nil {
		return 0
	}
	if v[0] == '-' || '0' <= v[0] && v[0] <= '9' {
		return '0'
	}
	return v[0]
}

// KindName returns the name of a kind of value for error messages: "an object", "null".
func KindName(kind byte) string { return kindNames[kind] }

var kindNames = map[byte]string{
	'{': "an object", '[': "an array", '"': "a string", 't': "true", 'f': "false", 'n': "null", '0': "a number",
}

// Text returns the text of a string. The text aliases the body if the string has no escapes, as
// most have none; clone it to use it longer than the body.
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

// Member returns the value of an object's member. It returns nil if there is none, or if the value
// is no object.
func (v Value) Member(name string) Value {
	for have, member := range v.Members() {
		if have.Is(name) {
			return member
		}
	}
	return nil
}

// Members yields an object's names and values in their order. Another kind of value has none.
func (v Value) Members() iter.Seq2[Value, Value] {
	return func(yield func(Value, Value) bool) {
		if v.Kind() != '{' {
			return
		}

		rest := skipSpace(v[1:])
		for rest[0] != '}' {
			var name, member Value
			name, rest = splitFirst(rest)
			rest = skipSpace(rest)
			member, rest = splitFirst(skipSpace(rest[1:])) // after the colon
			if !yield(name, member) {
				return
			}

			rest = skipComma(rest)
		}
	}
}

// Elements yields an array's values. Another kind of value has none.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != '[' {
			return
		}

		rest := skipSpace(v[1:])
		for rest[0] != ']' {
			var element Value
			element, rest = splitFirst(rest)
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

// skipComma skips to the next value of a list, or to the bracket that ends the list.
func skipComma(b []byte) []byte {
	b = skipSpace(b)
	if b[0] == ',' {
		b = skipSpace(b[1:])
	}
	return b
}

// splitFirst splits off the first value of b.
func splitFirst(b []byte) (v Value, rest []byte) {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i = stringEnd(b, i)
		case '{', '[':
			depth++ // the value ends with its closing bracket
			continue
		case '}', ']':
			depth--
		default:
			// A scalar ends before the first byte that cannot be part of it.
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

// stringEnd returns the index of the closing quote of the string that begins at index i.
func stringEnd(b []byte, i int) int {
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i
}

// DeeperThan reports whether a value is nested more than limit levels deep.
func (v Value) DeeperThan(limit int) bool {
	depth := 0

	// Brackets within strings do not count.
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

// MaxInteger is the largest integer that Integer reads exactly. Every bound of a parameter is far
// below it.
const MaxInteger = 1_000_000_000_000_000_000

// Integer reads a number that is mathematically an integer: 10, 10.0 and 1e1 are all ten. It is
// exact up to ±MaxInteger, and a larger one is ±MaxInteger.
func (v Value) Integer() (n int64, ok bool) {
	if v.Kind() != '0' {
		return 0, false
	}

	// A float would not be exact: it has 53 bits.
	mantissa := unsafe.String(unsafe.SliceData(v), len(v))
	power := 0
	if i := strings.IndexAny(mantissa, "eE"); i >= 0 {
		power, _ = strconv.Atoi(mantissa[i+1:]) // Atoi returns the largest int if it is out of range
		mantissa = mantissa[:i]
	}
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")

	// The number is digits · 10^power, and digits has no zero at its end.
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
