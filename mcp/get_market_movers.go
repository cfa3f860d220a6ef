package mcp

import (
	"slices"

	"ninepocket/index"
	"ninepocket/wire"
)

func getMarketMoversTool() *tool {
	fields := []field{
		required(aChoice("direction", "up for gainers, down for decliners.", none, "up", "down")),
		gameField(),
		aText("set", "Set id, slug, code or exact name.", wire.SetText),
		anInteger("min_price_cents", "Lowest current price in US cents.", wire.PriceCents, wire.MoversMinCents),
		limitField(10),
	}

	mover := object(slices.Concat(identity, []string{
		"currency", schemaUSD, "market_price_cents", nullInteger, "price_change_cents", nullInteger,
		"price_change_percent", nullNumber, "price_updated_at", schemaTime,
	}, extras)...)
	output := object(
		"direction", oneOf("up", "down"), "period_days", `{"type":"integer","const":7}`, "movers", array(mover),
	)

	return &tool{
		name: "catalog_get_market_movers", title: "Get market movers",
		about: "Cards whose price rose or fell most over 7 days (the only period kept). Cards under 5 US dollars are " +
			"left out unless min_price_cents says otherwise.",
		fields: fields, output: output, run: getMarketMovers,
	}
}

func getMarketMovers(in *request, out *reply) refusal {
	direction := in.text("direction")
	filter := index.NoFilter
	filter.Game = in.text("game")
	filter.Set = in.text("set")
	filter.Min = in.number("min_price_cents")
	in.cards = in.View.Index.Movers(in.cards, direction == "down", filter, int(in.number("limit")))

	// An empty list says what to try next.
	switch {
	case len(in.cards) > 0:
		out.sayCount(len(in.cards), "card")
		out.say(", ", direction, " most in 7 days")
		out.sayAsOf()
		out.say("\n")
	case !sayNoSet(in, out, "No card"):
		out.say("No card moved ", direction, " in 7 days within these filters. Try a lower min_price_cents.\n")
	}

	out.put(`{"direction":"`, direction, `","period_days":7,"movers":[`)
	out.each(in.cards, writeMover)
	out.put("]}")
	return ""
}

// writeMover writes a mover; its JSON is the one of REST.
func writeMover(out *reply, card int) {
	out.json = wire.AppendMover(out.json, out.c, card, out.site)
	if out.detailed {
		out.json = out.json[:len(out.json)-1] // the closing brace
		out.putExtras(card)
		out.put("}")
	}

	out.sayPriced(card)
	l := &out.c.Lanes
	if lane := out.c.Cards.Display[card]; lane >= 0 && l.Base7[lane] >= 0 {
		out.say(" | ")
		out.sayChange(l.Base7[lane], l.Cents[lane])
	}
	out.sayID(card)
}
