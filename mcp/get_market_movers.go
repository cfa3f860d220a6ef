package mcp

import (
	"slices"
	"strconv"

	"ninepocket/index"
	"ninepocket/snapshot"
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

	mover := object(slices.Concat(identity, price, []string{
		"price_change_cents", nullInteger, "price_change_percent", nullNumber,
	}, detailMembers)...)

	return &tool{
		name: "catalog_get_market_movers", title: "Get market movers",
		description: "Cards whose price rose or fell most over 7 or 30 days. Cards under 5 US dollars are left out " +
			"unless min_price_cents says otherwise.",
		fields: fields, run: getMarketMovers, text: moversLayout,
		output: answerSchema("direction", oneOf("up", "down"), "period_days", `{"type":"integer","enum":[7,30]}`,
			"movers", array(mover)),
	}
}

func getMarketMovers(in *request, out *result) toolError {
	// There is no stored list for the month: its movers are computed on request (decision 2109).
	list := in.View.Index.Movers
	base := in.View.Catalog.Lanes.Price7DaysAgo
	days := 7
	if in.text("period") == "30d" {
		list = in.View.Index.MoversOfMonth
		base = in.View.Catalog.Lanes.Price30DaysAgo
		days = 30
	}

	find := func(limit int) []uint32 {
		filter := index.NoFilter
		filter.Game = in.text("game")
		filter.Set = in.text("set")
		filter.Min = in.number("min_price_cents")
		return list(in.cards[:0], in.text("direction") == "down", filter, limit)
	}
	in.cards = find(int(in.number("limit")))

	remarkSet(in, out, in.text("set"))
	remarkNoEarlierPrice(in, out, base, out.c.Date()-snapshot.Day(days))
	if len(in.cards) == 0 && len(out.remarks) == 0 {
		remarkExcluding(in, out, func() bool { return len(find(1)) > 0 }, "set", "game", "min_price_cents")
	}
	if len(in.cards) == 0 && len(out.remarks) == 0 {
		sides := map[string]string{"up": "above", "down": "below"}
		out.remark("none_moved", sides[in.text("direction")], (out.c.Date() - snapshot.Day(days)).String())
	}

	out.date(in.cards)
	out.jsonHead()
	out.json(`"direction":"`, in.text("direction"), `","period_days":`, strconv.Itoa(days), `,"movers":[`)
	for _, card := range in.cards {
		out.comma()
		out.jsonMover(int(card), base)
	}
	out.json("]}")
	return ""
}

// remarkNoEarlierPrice adds the set, or the games, without any earlier price. base has the earlier
// prices of all lanes, all of one day.
func remarkNoEarlierPrice(in *request, out *result, base []int64, day snapshot.Day) {
	c := out.c
	compared := func(card uint32) bool {
		lane := c.Cards.Display[card]
		return lane >= 0 && base[lane] >= 0
	}

	if ref := in.text("set"); ref != "" {
		sets := in.View.Index.SetNames().Resolve(ref)
		for _, set := range sets {
			if !slices.ContainsFunc(in.View.Index.CardsOfSet(int(set)), compared) {
				out.remark("no_earlier_price", c.Sets.Name.At(int(set)), day.String())
			}
		}
		return
	}

	// Cards are numbered by price, so if any card of a set has an earlier price, the first cards have one.
	lacking := make([]bool, c.Games.Slug.Len())
	for game := range lacking {
		lacking[game] = in.text("game") == "" || in.text("game") == c.Games.Slug.At(game)
	}
	for card, game := range c.Cards.Game {
		lacking[game] = lacking[game] && !compared(uint32(card))
		if !slices.Contains(lacking, true) {
			return
		}
	}
	for game := range lacking {
		if lacking[game] {
			out.remark("no_earlier_price", c.Games.Name.At(game), day.String())
		}
	}
}

// jsonMover appends a mover. base has the earlier prices of all lanes.
func (out *result) jsonMover(card int, base []int64) {
	out.jsonIdentity(card)
	out.jsonPrice(card)
	earlier := snapshot.NoCents
	if lane := out.c.Cards.Display[card]; lane >= 0 {
		earlier = base[lane]
	}
	out.data = wire.AppendChange(out.data, `,"price_change_cents":`, `,"price_change_percent":`, earlier,
		out.c.DisplayCents(card))
	out.json("}")
}
