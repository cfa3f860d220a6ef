package mcp

import (
	"strconv"
	"unsafe"

	"ninepocket/snapshot"
	"ninepocket/wire"
)

// appendQuoted appends text as a JSON string.
func appendQuoted(dst, s []byte) []byte {
	return wire.AppendString(dst, unsafe.String(unsafe.SliceData(s), len(s)))
}

// jsonCard appends a card's identity as the beginning of an object: everything but the closing brace.
func (c *call) jsonCard(card int) {
	c.json = wire.AppendIdentity(c.json, c.c, card, c.View.Site())
}

// jsonExtras appends the members that only a detailed card has.
func (c *call) jsonExtras(card int) {
	if !c.detailed {
		return
	}
	c.json = append(c.json, `,"rarity":`...)
	c.json = wire.AppendNullable(c.json, c.c.Cards.Rarity.At(card))
	c.json = c.View.Site().AppendImage(c.json, c.c.Cards.Image.At(card))
}

// jsonPrice appends a card's display price.
func (c *call) jsonPrice(card int) {
	cents, at := wire.DisplayPrice(c.c, card)
	c.json = append(c.json, `,"market_price_cents":`...)
	c.json = wire.AppendCents(c.json, cents)
	c.json = append(c.json, `,"price_updated_at":`...)
	c.json = wire.AppendSeconds(c.json, at)
}

func (c *call) jsonInt(name string, n int) {
	c.json = append(c.json, name...)
	c.json = strconv.AppendInt(c.json, int64(n), 10)
}

// comma appends a comma between the elements of a list.
func (c *call) comma(k int) {
	if k > 0 {
		c.json = append(c.json, ',')
	}
}

// say appends parts to the text.
func (c *call) say(parts ...string) {
	for _, p := range parts {
		c.text = append(c.text, p...)
	}
}

// sayInt appends a number to the text.
func (c *call) sayInt(n int) { c.text = strconv.AppendInt(c.text, int64(n), 10) }

// sayCount appends a number of things: "1 card", "3 cards".
func (c *call) sayCount(n int, what string) {
	c.sayInt(n)
	c.say(" ", what)
	if n != 1 {
		c.say("s")
	}
}

// sayCard appends a card as a line of text begins: name, set and number, game.
func (c *call) sayCard(card int) {
	c.say(c.c.Cards.Name.At(card), " |")
	if set := c.c.Cards.Set[card]; set != snapshot.NoSet {
		c.say(" ", c.c.Sets.Name.At(int(set)))
		if c.detailed {
			c.say(" (", c.c.Sets.ID.At(int(set)), ")")
		}
	}
	if number := c.c.Cards.Number.At(card); number != "" {
		c.say(" #", number)
	}
	c.say(" | ", c.c.Games.Slug.At(int(c.c.Cards.Game[card])))
	if rarity := c.c.Cards.Rarity.At(card); c.detailed && rarity != "" {
		c.say(" | ", rarity)
	}
}

// sayID ends a card's line: when its price is of in the detailed form, its page and its id.
func (c *call) sayID(card int) {
	if c.detailed {
		if cents, at := wire.DisplayPrice(c.c, card); cents >= 0 {
			c.say(" | updated ")
			c.sayTime(at)
		}
		if slug := c.c.Cards.Slug.At(card); slug != "" {
			c.say(" | ", c.View.Site().URL, "/cards/", slug)
		}
	}
	c.say(" | ", c.c.Cards.ID.At(card), "\n")
}

// sayPrice appends a card's display price.
func (c *call) sayPrice(card int) {
	cents, _ := wire.DisplayPrice(c.c, card)
	c.sayMoney(cents)
}

// sayMoney appends cents as dollars, or "no price".
func (c *call) sayMoney(cents int64) {
	if cents < 0 {
		c.say("no price")
		return
	}
	c.text = appendMoney(c.text, cents)
}

// appendMoney appends cents, which are not negative, as dollars.
func appendMoney(dst []byte, cents int64) []byte {
	dst = append(dst, '$')
	dst = strconv.AppendInt(dst, cents/100, 10)
	return append(dst, '.', byte('0'+cents%100/10), byte('0'+cents%10))
}

// sayChange appends a change from base to now: "+$3.00 (+33.33%)".
func (c *call) sayChange(base, now int64) {
	change := now - base
	if change < 0 {
		c.say("-")
		c.text = appendMoney(c.text, -change)
	} else {
		c.say("+")
		c.text = appendMoney(c.text, change)
	}
	if base > 0 {
		c.say(" (")
		c.sayPercent(change, base)
		c.say(")")
	}
}

// sayPercent appends 100·part/whole with its sign.
func (c *call) sayPercent(part, whole int64) {
	if part >= 0 {
		c.say("+")
	}
	c.text = wire.AppendPercent(c.text, part, whole)
	c.say("%")
}

func (c *call) sayTime(ms int64) {
	quoted := len(c.text)
	c.text = wire.AppendSeconds(c.text, ms)
	// The text has it without the quotes.
	c.text = append(c.text[:quoted], c.text[quoted+1:len(c.text)-1]...)
}

func (c *call) sayDay(day snapshot.Day) { c.text = wire.AppendDay(c.text, day) }

// sayAsOf appends what all prices of the text are: "(USD, prices of 2026-11-20)".
func (c *call) sayAsOf() {
	c.say("(USD, prices of ")
	c.sayDay(c.c.Date())
	c.say(")")
}

// noSuch is the refusal of an unknown id, with cards that its words may mean.
func (c *call) noSuchCard(ref string) refusal {
	c.say(`No card has the id or slug "`, readable(ref), `". `)
	c.matches = c.suggest(c.matches[:0], wordsOf(ref))
	if len(c.matches) == 0 {
		c.say("Find ids with catalog_search_cards.")
		return refusal(c.text)
	}
	c.say("Did you mean:\n")
	for _, m := range c.matches {
		c.say("- ")
		c.sayCard(int(m.Card))
		c.say(" | ", c.c.Cards.ID.At(int(m.Card)), "\n")
	}
	c.say("Otherwise find ids with catalog_search_cards.")
	return refusal(c.text)
}
