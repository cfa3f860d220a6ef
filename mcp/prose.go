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

// prose is text for a model to read, as it grows.
type prose []byte

func (p *prose) say(parts ...string) {
	for _, part := range parts {
		*p = append(*p, part...)
	}
}

func (p *prose) sayInt(n int) { *p = strconv.AppendInt(*p, int64(n), 10) }

// sayItem begins the k-th line of a list.
func (p *prose) sayItem(k int) {
	p.sayInt(k + 1)
	p.say(". ")
}

// sayCount appends a number of things: "1 card", "3 cards".
func (p *prose) sayCount(n int, what string) {
	p.sayInt(n)
	p.say(" ", what)
	if n != 1 {
		p.say("s")
	}
}

// sayMoney appends cents as dollars, or "no price".
func (p *prose) sayMoney(cents int64) {
	if cents < 0 {
		p.say("no price")
		return
	}
	*p = append(*p, '$')
	*p = strconv.AppendInt(*p, cents/100, 10)
	*p = append(*p, '.', byte('0'+cents%100/10), byte('0'+cents%10))
}

// sayChange appends a change from base to now: "+$3.00 (+33.33%)".
func (p *prose) sayChange(base, now int64) {
	change := now - base
	if change < 0 {
		p.say("-")
	} else {
		p.say("+")
	}
	p.sayMoney(max(change, -change))

	if base > 0 {
		p.say(" (")
		p.sayPercent(change, base)
		p.say(")")
	}
}

// sayPercent appends 100·part/whole with its sign.
func (p *prose) sayPercent(part, whole int64) {
	if part >= 0 {
		p.say("+")
	}
	*p = wire.AppendPercent(*p, part, whole)
	p.say("%")
}

func (p *prose) sayTime(ms int64) {
	from := len(*p)
	*p = wire.AppendSeconds(*p, "", ms)
	// The text has the time without its quotes.
	*p = slices.Delete((*p)[:len(*p)-1], from, from+1)
}

func (p *prose) sayDay(day snapshot.Day) { *p = wire.AppendDay(*p, day) }

// sayPriceOn appends the price of a day: " first $1.00 on 2026-11-20".
func (p *prose) sayPriceOn(label string, day snapshot.Day, cents int64) {
	p.say(label)
	p.sayMoney(cents)
	p.say(" on ")
	p.sayDay(day)
}

// longestEcho is how much of a caller's own text is said back, in characters.
const longestEcho = 60

// readable is a caller's text as it can be said back: short and without control characters.
func readable(s string) string {
	// The cut may split a character, but only one behind those that are kept.
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
