package mcp

import (
	"ninepocket/index"
	"ninepocket/wire"
)

var getMarketMovers = tool{
	name:  "catalog_get_market_movers",
	title: "Get market movers",
	about: "Cards whose price rose or fell most over 7 days (the only period kept). Cards under 5 US dollars are left out unless " +
		"min_price_cents says otherwise.",
	fields: []field{
		{
			name: "direction", about: "up for gainers, down for decliners.", kind: aChoice,
			choices: []string{"up", "down"}, preset: none, required: true,
		},
		gameField,
		refField("set", "Set id, slug, code or exact name."),
		priceField("min_price_cents", "Lowest current price in US cents.", 500),
		limitField(10),
		formatField,
	},
	output: object(
		"direction", oneOf("up", "down"), "period_days", `{"type":"integer","const":7}`,
		"movers", array(object(join(identity, []string{
			"currency", schemaUSD, "market_price_cents", nullInteger, "price_change_cents", nullInteger,
			"price_change_percent", nullNumber, "price_updated_at", schemaTime,
		}, extras)...)),
	),
	run: (*call).getMarketMovers,
}

func (c *call) getMarketMovers() refusal {
	a := &c.args
	f := index.NoFilter
	f.Game, f.Set, f.Min = a.text("game"), a.text("set"), a.number("min_price_cents")
	down := a.text("direction") == "down"
	c.cards = c.View.Index.Movers(c.cards, down, f, int(a.number("limit")))
	c.json = append(c.json, `{"direction":"`...)
	c.json = append(c.json, a.text("direction")...)
	c.json = append(c.json, `","period_days":7,"movers":[`...)
	switch {
	case len(c.cards) > 0:
		c.sayCount(len(c.cards), "card")
		c.say(", ", map[bool]string{false: "up", true: "down"}[down], " most in 7 days ")
		c.sayAsOf()
		c.say("\n")
	case f.Set != "" && len(c.View.Index.SetsNamed(f.Set)) == 0:
		c.say(`No card: no set is called "`, readable(f.Set), `". Find sets with catalog_browse_sets, or leave set out.`, "\n")
	default:
		c.say("No card moved ", a.text("direction"), " in 7 days within these filters. Try a lower min_price_cents.\n")
	}
	for k, card := range c.cards {
		c.comma(k)
		c.mover(k, int(card))
	}
	c.json = append(c.json, `]}`...)
	return ""
}

// mover writes the k-th mover; its JSON is the one of REST.
func (c *call) mover(k, card int) {
	c.json = wire.AppendMover(c.json, c.c, card, c.View.Site())
	if c.detailed {
		c.json = c.json[:len(c.json)-1]
		c.jsonExtras(card)
		c.json = append(c.json, '}')
	}
	c.sayInt(k + 1)
	c.say(". ")
	c.sayCard(card)
	c.say(" | ")
	c.sayPrice(card)
	if lane := c.c.Cards.Display[card]; lane >= 0 && c.c.Lanes.Base7[lane] >= 0 {
		c.say(" | ")
		c.sayChange(c.c.Lanes.Base7[lane], c.c.Lanes.Cents[lane])
	}
	c.sayID(card)
}
