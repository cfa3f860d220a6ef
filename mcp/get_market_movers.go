package mcp

import (
	"slices"

	"ninepocket/index"
	"ninepocket/wire"
)

func getMarketMoversTool() *tool {
	fields := []field{
		required(choiceField("direction", "up for gainers, down for decliners.", noDefault, "up", "down")),
		choiceField("period", "Change over 7 or 30 days.", 0, "7d", "30d"),
		gameField(),
		textField("set", "Set id, slug, code or name.", wire.SetText),
		integerField("min_price_cents", "Lowest current price in US cents.", wire.PriceCents, wire.MoversMinCents),
		limitField(10),
	}

	mover := object(slices.Concat(identity, []string{
		"currency", schemaUSD, "market_price_cents", nullInteger, "price_change_cents", nullInteger,
		"price_change_percent", nullNumber, "price_updated_at", schemaTime,
	}, detailMembers)...)
	output := object(
		"direction", oneOf("up", "down"), "period_days", `{"type":"integer","enum":[7,30]}`, "movers", array(mover),
	)

	return &tool{
		name: "catalog_get_market_movers", title: "Get market movers",
		description: "Cards whose price rose or fell most over 7 or 30 days. Cards under 5 US dollars are left out " +
			"unless min_price_cents says otherwise.",
		fields: fields, output: output, run: getMarketMovers,
	}
}

func getMarketMovers(in *request, out *result) toolError {
	direction := in.text("direction")
	filter := index.NoFilter
	filter.Game = in.text("game")
	filter.Set = in.text("set")
	filter.Min = in.number("min_price_cents")

	// There is no stored list for the month: its movers are computed on request (decision 2109).
	list := in.View.Index.Movers
	base := in.View.Catalog.Lanes.Price7DaysAgo
	days := "7"
	if in.text("period") == "30d" {
		list = in.View.Index.MoversOfMonth
		base = in.View.Catalog.Lanes.Price30DaysAgo
		days = "30"
	}

	in.cards = list(in.cards, direction == "down", filter, int(in.number("limit")))

	// With an empty list, the text says what to try next.
	switch {
	case len(in.cards) > 0:
		out.text(count{len(in.cards), "card"}, ", ", direction, " most in ", days, " days")
		out.textAsOf()
		out.text("\n")
	case !slices.ContainsFunc(base, func(cents int64) bool { return cents >= 0 }):
		out.text("This catalog has no prices of ", days, " days ago yet.\n")
	case !textNoSet(in, out, "No card"):
		out.text("No card moved ", direction, " in ", days, " days within these filters. ",
			"Try a lower min_price_cents or the other period.\n")
	}

	out.json(`{"direction":"`, direction, `","period_days":`, days, `,"movers":[`)
	out.each(in.cards, func(out *result, card int) { writeMover(out, card, base) })
	out.json("]}")
	return ""
}

// writeMover writes a mover. Its JSON begins as in REST. base has the earlier prices of all lanes.
func writeMover(out *result, card int, base []int64) {
	out.data = wire.AppendMover(out.data, out.c, card, out.urls, base)
	if out.detailed {
		out.data = out.data[:len(out.data)-1] // the closing brace
		out.jsonExtras(card)
		out.json("}")
	}

	out.textCardPrice(card)
	if lane := out.c.Cards.Display[card]; lane >= 0 && base[lane] >= 0 {
		out.text(" | ", change{base[lane], out.c.Lanes.Cents[lane]})
	}

	out.textID(card)
}
