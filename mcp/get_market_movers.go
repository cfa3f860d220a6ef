package mcp

import (
	"slices"

	"ninepocket/index"
	"ninepocket/wire"
)

func getMarketMoversTool() *tool {
	fields := []field{
		required(aChoice("direction", "up for gainers, down for decliners.", none, "up", "down")),
		aChoice("period", "Change over 7 or 30 days.", 0, "7d", "30d"),
		gameField(),
		aText("set", "Set id, slug, code or name.", wire.SetText),
		anInteger("min_price_cents", "Lowest current price in US cents.", wire.PriceCents, wire.MoversMinCents),
		limitField(10),
	}

	mover := object(slices.Concat(identity, []string{
		"currency", schemaUSD, "market_price_cents", nullInteger, "price_change_cents", nullInteger,
		"price_change_percent", nullNumber, "price_updated_at", schemaTime,
	}, extras)...)
	output := object(
		"direction", oneOf("up", "down"), "period_days", `{"type":"integer","enum":[7,30]}`, "movers", array(mover),
	)

	return &tool{
		name: "catalog_get_market_movers", title: "Get market movers",
		about: "Cards whose price rose or fell most over 7 or 30 days. Cards under 5 US dollars are left out unless " +
			"min_price_cents says otherwise.",
		fields: fields, output: output, run: getMarketMovers,
	}
}

func getMarketMovers(in *request, out *reply) refusal {
	direction := in.text("direction")
	filter := index.NoFilter
	filter.Game = in.text("game")
	filter.Set = in.text("set")
	filter.Min = in.number("min_price_cents")

	// The month has no stored list: its movers are found when they are asked for (decision 2109).
	list := in.View.Index.Movers
	base := in.View.Catalog.Lanes.Price7DaysAgo
	days := "7"
	if in.text("period") == "30d" {
		list = in.View.Index.MoversOfMonth
		base = in.View.Catalog.Lanes.Base30
		days = "30"
	}

	in.cards = list(in.cards, direction == "down", filter, int(in.number("limit")))

	// An empty list says what to try next.
	switch {
	case len(in.cards) > 0:
		out.say(count{len(in.cards), "card"}, ", ", direction, " most in ", days, " days")
		out.sayAsOf()
		out.say("\n")
	case !slices.ContainsFunc(base, func(cents int64) bool { return cents >= 0 }):
		out.say("This catalog has no prices of ", days, " days ago yet.\n")
	case !sayNoSet(in, out, "No card"):
		out.say("No card moved ", direction, " in ", days, " days within these filters. ",
			"Try a lower min_price_cents or the other period.\n")
	}

	out.put(`{"direction":"`, direction, `","period_days":`, days, `,"movers":[`)
	out.each(in.cards, func(out *reply, card int) { writeMover(out, card, base) })
	out.put("]}")
	return ""
}

// writeMover writes a mover. Its JSON begins as in REST. base has the earlier price of every lane.
func writeMover(out *reply, card int, base []int64) {
	out.json = wire.AppendMover(out.json, out.c, card, out.site, base)
	if out.detailed {
		out.json = out.json[:len(out.json)-1] // the closing brace
		out.putExtras(card)
		out.put("}")
	}

	out.sayPriced(card)
	if lane := out.c.Cards.Display[card]; lane >= 0 && base[lane] >= 0 {
		out.say(" | ", change{base[lane], out.c.Lanes.Cents[lane]})
	}

	out.sayID(card)
}
