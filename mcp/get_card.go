package mcp

import (
	"ninepocket/wire"
)

var lanePrice = object(
	"variant", schemaString, "condition", schemaString, "currency", schemaUSD, "market_price_cents", schemaInteger,
	"price_updated_at", schemaTime, "change_7d_percent", nullNumber, "change_30d_percent", nullNumber,
	"change_7d_cents?", nullInteger, "change_30d_cents?", nullInteger,
)

var getCard = tool{
	name:  "catalog_get_card",
	title: "Get one card",
	about: "One card by id or slug: identity and the current market price of every tracked variant and condition, with 7-day and " +
		"30-day changes. Use catalog_search_cards first when the id is not known.",
	fields: []field{
		{name: "id", about: "Card id or slug.", kind: aText, lo: 1, hi: 200, required: true},
		formatField,
	},
	output: object("card", object(join(identity, []string{"rarity", nullString, "prices", array(lanePrice), "image_url?", nullString})...)),
	run:    (*call).getCard,
}

func (c *call) getCard() refusal {
	ref := c.args.text("id")
	card, ok := c.View.Index.Card(ref)
	if !ok {
		return c.noSuchCard(ref)
	}
	c.json = append(c.json, `{"card":`...)
	c.jsonCard(card)
	c.json = append(c.json, `,"rarity":`...)
	c.json = wire.AppendNullable(c.json, c.c.Cards.Rarity.At(card))
	if c.detailed {
		c.json = c.View.Site().AppendImage(c.json, c.c.Cards.Image.At(card))
	}
	c.json = append(c.json, `,"prices":[`...)
	c.sayCard(card)
	if rarity := c.c.Cards.Rarity.At(card); rarity != "" && !c.detailed {
		c.say(" | ", rarity)
	}
	c.say(" | ", c.View.Site().URL, "/cards/", c.c.Cards.Slug.At(card), " | ", c.c.Cards.ID.At(card), "\n")
	c.prices(card)
	c.json = append(c.json, `]}}`...)
	return ""
}

// prices writes every lane with a current price, in the order of REST.
func (c *call) prices(card int) {
	l := &c.c.Lanes
	from, to := l.Of.Range(card)
	n := 0
	for lane := from; lane < to; lane++ {
		if l.Cents[lane] >= 0 {
			n++
		}
	}
	if n == 0 {
		c.say("no price\n")
		return
	}
	c.sayCount(n, "price")
	c.say(" ")
	c.sayAsOf()
	c.say(":\n")
	n = 0
	for lane := from; lane < to; lane++ {
		if l.Cents[lane] < 0 {
			continue
		}
		c.comma(n)
		n++
		c.jsonLane(lane)
		c.say("- ")
		c.sayLane(lane)
		c.say(" | ")
		c.sayMoney(l.Cents[lane])
		c.sayTrend(" | 7d ", l.Base7[lane], l.Cents[lane])
		c.sayTrend(" | 30d ", l.Base30[lane], l.Cents[lane])
		if c.detailed {
			c.say(" | updated ")
			c.sayTime(c.c.UpdatedAt(lane))
		}
		c.say("\n")
	}
}

// sayTrend appends a change in percent, and in money too in the detailed form; nothing when it is not known.
func (c *call) sayTrend(label string, base, now int64) {
	switch {
	case base < 0:
	case c.detailed:
		c.say(label)
		c.sayChange(base, now)
	case base > 0:
		c.say(label)
		c.sayPercent(now-base, base)
	}
}

// sayLane appends a lane's variant and condition.
func (c *call) sayLane(lane int) { c.say(c.variantOf(lane), ", ", c.conditionOf(lane)) }

func (c *call) jsonLane(lane int) {
	l := &c.c.Lanes
	if c.detailed {
		c.json = wire.AppendLanePrice(c.json, c.c, lane)
		return
	}
	c.json = append(c.json, `{"variant":`...)
	c.json = wire.AppendString(c.json, c.variantOf(lane))
	c.json = append(c.json, `,"condition":"`...)
	c.json = append(c.json, c.conditionOf(lane)...)
	c.json = append(c.json, `","currency":"USD","market_price_cents":`...)
	c.json = wire.AppendCents(c.json, l.Cents[lane])
	c.json = append(c.json, `,"price_updated_at":`...)
	c.json = wire.AppendSeconds(c.json, c.c.UpdatedAt(lane))
	c.jsonPercent(`,"change_7d_percent":`, l.Base7[lane], l.Cents[lane])
	c.jsonPercent(`,"change_30d_percent":`, l.Base30[lane], l.Cents[lane])
	c.json = append(c.json, '}')
}

// jsonPercent appends the change from base to now in percent, null when it has none.
func (c *call) jsonPercent(name string, base, now int64) {
	c.json = append(c.json, name...)
	if base <= 0 || now < 0 {
		c.json = append(c.json, "null"...)
		return
	}
	c.json = wire.AppendPercent(c.json, now-base, base)
}
