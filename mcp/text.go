package mcp

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"ninepocket/internal/jsonwalk"
	"ninepocket/wire"
)

// textBuilder is the text of an error. Its method appends to it.
type textBuilder []byte

// text appends strings and integers. Only errors have texts of their own.
func (builder *textBuilder) text(parts ...any) { *builder = fmt.Append(*builder, parts...) }

// appendMoney appends cents: "$1.00", and "no price" for a negative amount.
func appendMoney(dst []byte, cents int64) []byte {
	if cents < 0 {
		return append(dst, "no price"...)
	}
	dst = strconv.AppendInt(append(dst, '$'), cents/100, 10)
	return append(dst, '.', byte('0'+cents%100/10), byte('0'+cents%10))
}

// appendSigned appends a change in cents or in percent, "+$3.00" or "+33.33%", and nothing for no value.
func appendSigned(dst []byte, number jsonwalk.Value, isMoney bool) []byte {
	if number.Kind() != '0' {
		return dst
	}

	sign := byte('+')
	if number[0] == '-' {
		sign = '-'
		number = number[1:]
	}
	dst = append(dst, sign)
	if isMoney {
		return appendMoney(dst, intOf(number))
	}
	return append(append(dst, number...), '%')
}

// appendCount appends a number of things, "1 card" or "3 cards", or the number alone for the noun #.
func appendCount(dst []byte, n int64, noun string) []byte {
	dst = strconv.AppendInt(dst, n, 10)
	if noun != "#" {
		dst = append(append(dst, ' '), noun...)
	}
	if noun != "#" && n != 1 {
		dst = append(dst, 's')
	}
	return dst
}

// maxEcho is how many characters of a caller's text a response repeats.
const maxEcho = 60

// readable returns a caller's text so that a response can repeat it: short, without control characters
// and without a key.
func readable(s string) string {
	// This bounds the work for a long text. It may split a character, but none of the first
	// maxEcho.
	s = wire.RedactKey(s[:min(len(s), utf8.UTFMax*(maxEcho+1))])
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)

	if runes := []rune(s); len(runes) > maxEcho {
		return string(runes[:maxEcho]) + "…"
	}
	return s
}
