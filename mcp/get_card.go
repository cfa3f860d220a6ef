package mcp

import (
	"slices"

	"ninepocket/snapshot"
	"ninepocket/wire"
)

func getCardTool() *tool {
	lane := object(
		"variant", schemaString, "condition", schemaString, "currency", schemaUSD, "market_price_cents", schemaInteger,
		"price_updated_at", schemaTime, "change_7d_percent", nullNumber, "change_30d_percent", nullNumber,
		"change_7d_cents?", nullInteger, "change_30d_cents?", nullInteger,
	)
	card := slices.Concat(identity, []string{"rarity", nullString, "prices", array(lane), "image_url?", nullString})

	return &tool{
		name: "catalog_get_card", title: "Get one card",
		description: "One card by id, slug or identifier: identity and the current market price of every tracked " +
			"variant and condition, with 7-day and 30-day changes. Use catalog_search_cards first when the id is not " +
			"known.",
		fields: []field{cardField()}, output: object("card", object(card...)), run: getCard,
	}
}

func getCard(in *request, out *result) toolError {
	card, toolErr := findCard(in, out)
	if toolErr != "" {
		return toolErr
	}

	// A single card has its rarity also in the concise form.
	out.json(`{"card":`)
	out.jsonCard(card)
	out.jsonRarity(card)
	if out.detailed {
		out.jsonImage(card)
	}

	out.textCard(card)
	if rarity := out.c.Cards.Rarity.At(card); rarity != "" && !out.detailed {
		out.text(" | ", rarity)
	}
	out.textPage("/cards/", out.c.Cards.Slug.At(card))
	out.text(" | ", out.c.Cards.ID.At(card), "\n")

	out.json(`,"prices":[`)
	writePrices(out, card)
	out.json("]}}")
	return ""
}

// writePrices writes every lane with a current price, in the order of REST.
func writePrices(out *result, card int) {
	// A lane that has a history but no current price is left out.
	lanes := &out.c.Lanes
	var current []int
	for lane, to := lanes.Of.Range(card); lane < to; lane++ {
		if lanes.Cents[lane] >= 0 {
			current = append(current, lane)
		}
	}

	if current == nil {
		out.text("no price\n")
		return
	}

	out.text(count{len(current), "price"})
	out.textAsOf()
	out.text(":\n")
	for _, lane := range current {
		out.comma()
		out.data = appendLane(out.data, out.c, lane, out.detailed)

		out.text("- ", out.c.Variants.At(int(lanes.Variant[lane])), ", ", conditionOf(out.c, lane), " | ")
		out.textPrice(lanes.Cents[lane], out.c.UpdatedAt(lane))
		textTrend(out, " | 7d ", lanes.Price7DaysAgo[lane], lanes.Cents[lane])
		textTrend(out, " | 30d ", lanes.Price30DaysAgo[lane], lanes.Cents[lane])
		if out.detailed {
			out.text(" | updated ", instant(out.c.UpdatedAt(lane)))
		}
		out.text("\n")
	}
}

// textTrend appends a change in percent, in the detailed form also in money. It appends nothing if
// the change is unknown.
func textTrend(out *result, label string, base, now int64) {
	switch {
	case base < 0:
	case out.detailed:
		out.text(label, change{base, now})
	case base > 0:
		out.text(label, percent{now - base, base})
	}
}

func conditionOf(c *snapshot.Catalog, lane int) string {
	return snapshot.Condition(c.Lanes.Condition[lane]).Text()
}

// appendLane appends the price of a lane. The detailed form is that of REST.
func appendLane(dst []byte, c *snapshot.Catalog, lane int, detailed bool) []byte {
	if detailed {
		return wire.AppendLanePrice(dst, c, lane)
	}

	lanes := &c.Lanes
	dst = wire.AppendLane(dst, c, lane)
	dst = wire.AppendChangePercent(dst, `,"change_7d_percent":`, lanes.Price7DaysAgo[lane], lanes.Cents[lane])
	dst = wire.AppendChangePercent(dst, `,"change_30d_percent":`, lanes.Price30DaysAgo[lane], lanes.Cents[lane])
	return append(dst, '}')
}
