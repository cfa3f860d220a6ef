package mcp

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"ninepocket/snapshot"
	"ninepocket/wire"
)

// prose is a text for a model. Its methods append to it.
type prose []byte

func (text *prose) say(parts ...string) {
	for _, part := range parts {
		*text = append(*text, part...)
	}
}

func (text *prose) sayInt(n int) { *text = strconv.AppendInt(*text, int64(n), 10) }

// sayItem begins the k-th line of a list.
func (text *prose) sayItem(k int) {
	text.sayInt(k + 1)
	text.say(". ")
}

// sayCount appends a number of things: "1 card", "3 cards".
func (text *prose) sayCount(n int, what string) {
	text.sayInt(n)
	text.say(" ", what)
	if n != 1 {
		text.say("s")
	}
}

// sayMoney appends cents as dollars, or "no price".
func (text *prose) sayMoney(cents int64) {
	if cents < 0 {
		text.say("no price")
		return
	}

	*text = append(*text, '$')
	*text = strconv.AppendInt(*text, cents/100, 10)
	*text = append(*text, '.', byte('0'+cents%100/10), byte('0'+cents%10))
}

// sayChange appends a change from base to now: "+$3.00 (+33.33%)".
func (text *prose) sayChange(base, now int64) {
	change := now - base
	if change < 0 {
		text.say("-")
	} else {
		text.say("+")
	}
	text.sayMoney(max(change, -change))

	if base > 0 {
		text.say(" (")
		text.sayPercent(change, base)
		text.say(")")
	}
}

// sayPercent appends 100·part/whole with its sign.
func (text *prose) sayPercent(part, whole int64) {
	if part >= 0 {
		text.say("+")
	}
	*text = wire.AppendPercent(*text, part, whole)
	text.say("%")
}

// sayTime appends an instant in milliseconds since 1970.
func (text *prose) sayTime(ms int64) {
	from := len(*text)
	*text = wire.AppendSeconds(*text, "", ms)

	// wire spells a time as JSON: the text has no quotes.
	*text = slices.Delete((*text)[:len(*text)-1], from, from+1)
}

func (text *prose) sayDay(day snapshot.Day) { *text = wire.AppendDay(*text, day) }

// sayPriceOn appends the price of a day: " first $1.00 on 2026-11-20".
func (text *prose) sayPriceOn(label string, day snapshot.Day, cents int64) {
	text.say(label)
	text.sayMoney(cents)
	text.say(" on ")
	text.sayDay(day)
}

// longestEcho is how many characters of a caller's own text an answer repeats.
const longestEcho = 60

// readable is a caller's text as an answer can repeat it: short and without control characters.
func readable(s string) string {
	// This cut may split a character, but none of the first longestEcho. It bounds the work for a
	// long text.
	s = s[:min(len(s), utf8.UTFMax*(longestEcho+1))]
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)

	if runes := []rune(s); len(runes) > longestEcho {
		return string(runes[:longestEcho]) + "…"
	}
	return s
}
