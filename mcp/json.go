package mcp

import (
	"bytes"
	"iter"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"
)

// value is a JSON value that is known to be valid, without space around it: [Read] checked the whole body once, so
// that what follows only needs to find where things end.
type value []byte

// kind is the value's first byte, '0' for any number.
func (v value) kind() byte {
	switch c := v[0]; c {
	case '{', '[', '"', 't', 'f', 'n':
		return c
	}
	return '0'
}

// kindNames are what kinds are called in problems.
var kindNames = map[byte]string{
	'{': "an object", '[': "an array", '"': "a string", 't': "true", 'f': "false", 'n': "null", '0': "a number",
}

// text is the value of a string, without its quotes and escapes.
func (v value) text() string {
	inner := v[1 : len(v)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	out, _ := jsontext.AppendUnquote(nil, []byte(v)) // a valid string unquotes
	return string(out)
}

// is reports whether a string is s.
func (v value) is(s string) bool {
	if len(v) == len(s)+2 && string(v[1:len(v)-1]) == s {
		return true
	}
	return v.text() == s
}

func skipSpace(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t' || b[0] == '\n' || b[0] == '\r') {
		b = b[1:]
	}
	return b
}

// first splits the value at the front of b off, which begins without space.
func first(b []byte) (v value, rest []byte) {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			if depth > 0 || i+1 < len(b) && !endsScalar(b[i+1]) {
				continue
			}
		}
		if depth == 0 {
			return b[:i+1], b[i+1:]
		}
	}
	return b, nil
}

func endsScalar(c byte) bool {
	switch c {
	case ' ', '\t', '\n', '\r', ',', '}', ']', ':':
		return true
	}
	return false
}

// members walks an object's names and values.
func (v value) members() iter.Seq2[value, value] {
	return func(yield func(value, value) bool) {
		for b := skipSpace(v[1:]); b[0] != '}'; {
			var name, member value
			name, b = first(b)
			member, b = first(skipSpace(skipSpace(b)[1:]))
			if !yield(name, member) {
				return
			}
			if b = skipSpace(b); b[0] == ',' {
				b = skipSpace(b[1:])
			}
		}
	}
}

// elements walks an array's values.
func (v value) elements() iter.Seq[value] {
	return func(yield func(value) bool) {
		for b := skipSpace(v[1:]); b[0] != ']'; {
			var element value
			element, b = first(b)
			if !yield(element) {
				return
			}
			if b = skipSpace(b); b[0] == ',' {
				b = skipSpace(b[1:])
			}
		}
	}
}

// deeper reports whether a value is nested more than limit levels deep.
func (v value) deeper(limit int) bool {
	depth := 0
	for i := 0; i < len(v); i++ {
		switch v[i] {
		case '"':
			for i++; v[i] != '"'; i++ {
				if v[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			if depth++; depth > limit {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

// integer reads a number that is mathematically an integer: 10, 10.0 and 1e1 are all ten. One beyond ±10^18 is ±10^18,
// which is beyond every bound of an argument.
func (v value) integer() (n int64, ok bool) {
	const beyond = 1_000_000_000_000_000_000
	s := unsafe.String(unsafe.SliceData([]byte(v)), len(v))
	negative := s[0] == '-'
	if negative {
		s = s[1:]
	}
	var digits []byte
	var buf [64]byte
	digits = buf[:0]
	point, i := -1, 0
	for ; i < len(s) && s[i] != 'e' && s[i] != 'E'; i++ {
		if s[i] == '.' {
			point = len(digits)
			continue
		}
		digits = append(digits, s[i])
	}
	if point < 0 {
		point = len(digits)
	}
	point += exponent(s[i:])
	for len(digits) > 0 && digits[len(digits)-1] == '0' && len(digits) > point {
		digits = digits[:len(digits)-1]
	}
	for len(digits) > 0 && digits[0] == '0' {
		digits = digits[1:]
		point--
	}
	switch {
	case len(digits) == 0:
		return 0, true
	case len(digits) > point:
		return 0, false
	case point > 18:
		n = beyond
	default:
		for k := range point {
			n *= 10
			if k < len(digits) {
				n += int64(digits[k] - '0')
			}
		}
	}
	if negative {
		n = -n
	}
	return n, true
}

// exponent reads "e+12"; one that no argument could need is cut to ±10^6.
func exponent(s string) int {
	if s == "" {
		return 0
	}
	s = s[1:]
	negative := s[0] == '-'
	if s[0] == '-' || s[0] == '+' {
		s = s[1:]
	}
	n := 0
	for i := range len(s) {
		n = min(n*10+int(s[i]-'0'), 1_000_000)
	}
	if negative {
		return -n
	}
	return n
}
