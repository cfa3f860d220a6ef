package mcp

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ninepocket/snapshot"
	"ninepocket/wire"
)

// textBuilder is the text for a model. Its methods append to it.
type textBuilder []byte

// Types that the method text formats, in addition to strings, integers and days.
type (
	money   int64    // cents: "$1.00"; negative: "no price"
	instant int64    // in milliseconds since 1970
	count   struct { // of things: "1 card", "3 cards"
		n    int
		what string
	}
	percent struct{ part, whole int64 } // 100·part/whole with its sign: "+33.33%"
	change  struct{ base, now int64 }   // "+$3.00 (+33.33%)"; no percentage if base is 0
)

// text appends strings, integers, days and the types above, formatted for a model. It does not call
// itself: so the compiler sees that no part outlives the call, and allocates none of them.
func (builder *textBuilder) text(parts ...any) {
	dst := *builder

	// A part of another type is an error in a tool, and is ignored.
	for _, part := range parts {
		switch part := part.(type) {
		case string:
			dst = append(dst, part...)
		case int:
			dst = strconv.AppendInt(dst, int64(part), 10)
		case snapshot.Day:
			dst = wire.AppendDay(dst, part)
		case instant:
			dst = time.UnixMilli(int64(part)).UTC().AppendFormat(dst, time.RFC3339)
		case count:
			dst = append(strconv.AppendInt(dst, int64(part.n), 10), ' ')
			dst = append(dst, part.what...)
			if part.n != 1 {
				dst = append(dst, 's')
			}
		case money:
			dst = appendMoney(dst, int64(part))
		case percent:
			dst = appendSignedPercent(dst, part.part, part.whole)
		case change:
			difference := part.now - part.base
			if difference < 0 {
				dst = append(dst, '-')
			} else {
				dst = append(dst, '+')
			}
			dst = appendMoney(dst, max(difference, -difference))
			if part.base > 0 {
				dst = append(appendSignedPercent(append(dst, " ("...), difference, part.base), ')')
			}
		}
	}

	*builder = dst
}

func appendMoney(dst []byte, cents int64) []byte {
	if cents < 0 {
		return append(dst, "no price"...)
	}
	dst = strconv.AppendInt(append(dst, '$'), cents/100, 10)
	return append(dst, '.', byte('0'+cents%100/10), byte('0'+cents%10))
}

// appendSignedPercent appends 100·part/whole with its sign and a percent sign.
func appendSignedPercent(dst []byte, part, whole int64) []byte {
	if part >= 0 {
		dst = append(dst, '+')
	}
	return append(wire.AppendPercent(dst, part, whole), '%')
}

// maxEcho is how many characters of a caller's text a response repeats.
const maxEcho = 60

// readable returns a caller's text so that a response can repeat it: short and without control
// characters.
func readable(s string) string {
	// This bounds the work for a long text. It may split a character, but none of the first
	// maxEcho.
	s = s[:min(len(s), utf8.UTFMax*(maxEcho+1))]
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
