package mcp

import (
	"slices"

	"ninepocket/snapshot"
	"ninepocket/wire"
)

func getCardTool() *tool {
	lane := object(
		"variant", schemaString, "condition", schemaString, "market_price_cents", schemaInteger,
		"price_updated_at?", schemaTime, "change_7d_percent", nullNumber, "change_30d_percent", nullNumber,
		"change_7d_cents?", nullInteger, "change_30d_cents?", nullInteger,
	)
	card := slices.Concat(identity, []string{"rarity", nullString, "prices", array(lane), "image_url?", nullString})

	return &tool{
		name: "catalog_get_card", title: "Get one card",
		description: "One card by id, slug or identifier: identity and the current market price of every tracked " +
			"variant and condition, with 7-day and 30-day changes. Use catalog_search_cards first when the id is not " +
			"known.",
		fields: []field{cardField()}, output: answerSchema("card", object(card...)), run: getCard, text: cardLayout,
	}
}

func getCard(in *request, out *result) toolError {
	card, toolErr := findCard(in)
	if toolErr != "" {
		return toolErr
	}

	lanes := &out.c.Lanes
	from, to := lanes.Of.Range(card)
	for lane := from; lane < to; lane++ {
		out.dateLane(lane)
	}

	// A single card has its rarity also in the concise form.
	out.jsonHead()
	out.json(`"card":`)
	out.jsonIdentity(card)
	out.jsonRarity(card)
	if out.detailed {
		out.jsonImage(card)
	}

	// The lanes are in the order of REST. One that has a history but no current price is left out.
	out.json(`,"prices":[`)
	for lane := from; lane < to; lane++ {
		if lanes.Cents[lane] >= 0 {
			out.comma()
			out.jsonLane(lane)
		}
	}
	out.json("]}}")
	return ""
}

// jsonLane appends the price of a lane, with its changes.
func (out *result) jsonLane(lane int) {
	lanes := &out.c.Lanes
	now := lanes.Cents[lane]
	out.data = wire.AppendText(out.data, `{"variant":`, out.c.Variants.At(int(lanes.Variant[lane])))
	out.data = wire.AppendText(out.data, `,"condition":`, conditionOf(out.c, lane))
	out.data = wire.AppendCents(out.data, `,"market_price_cents":`, now)
	out.jsonUpdated(lane)

	week := lanes.Price7DaysAgo[lane]
	month := lanes.Price30DaysAgo[lane]
	if out.detailed {
		out.data = wire.AppendChange(out.data, `,"change_7d_cents":`, `,"change_7d_percent":`, week, now)
		out.data = wire.AppendChange(out.data, `,"change_30d_cents":`, `,"change_30d_percent":`, month, now)
	} else {
		out.data = wire.AppendChangePercent(out.data, `,"change_7d_percent":`, week, now)
		out.data = wire.AppendChangePercent(out.data, `,"change_30d_percent":`, month, now)
	}
	out.json("}")
}

func conditionOf(c *snapshot.Catalog, lane int) string {
	return snapshot.Condition(c.Lanes.Condition[lane]).Text()
}
