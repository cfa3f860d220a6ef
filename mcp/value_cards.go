package mcp

import (
	"slices"
	"strconv"

	"ninepocket/snapshot"
	"ninepocket/wire"
)

func valueCardsTool() *tool {
	line := []field{
		aText("id", "Card id or slug, or another catalog's id such as tcgplayer:42382. "+
			"When given, name, set, number and game are not needed.", wire.RefText),
		aText("name", "Card name.", wire.QueryText),
		aText("set", "Set name, id, slug or code.", wire.SetText),
		aText("number", "Card number as printed.", wire.NumberText),
		gameField(),
		aText("variant", `Variant, e.g. "holofoil" or "Reverse Holofoil"; default the card's display price.`,
			wire.VariantText),
		aText("condition", `Condition, e.g. "Near Mint"; default the variant's display condition.`, wire.VariantText),
		anInteger("quantity", "Copies.", wire.Range{Min: 1, Max: 9999}, 1),
	}

	counts := object(
		"lines", schemaInteger, "priced", schemaInteger, "unpriced", schemaInteger, "ambiguous", schemaInteger,
		"unmatched", schemaInteger,
	)
	candidate := object(slices.Concat(identity, price, extras)...)
	lines := array(object(
		"line", schemaInteger, "status", oneOf(statusNames[:]...), "quantity", schemaInteger,
		"card", nullable(object(slices.Concat(identity, extras)...)), "variant?", nullString, "condition?", nullString,
		"unit_price_cents", nullInteger, "line_total_cents", nullInteger, "price_updated_at", nullable(schemaTime),
		"message?", schemaString, "candidates?", arrayTo(maxCandidates, candidate),
	))

	return &tool{
		name: "catalog_value_cards", title: "Value a list of cards",
		about: "Total market value of up to 50 cards in one call (counts as one request). Each line names a card by " +
			"id, or by name with set, number and game as far as known. A line that fits several cards, or none, is " +
			"left out of the total and comes back with up to 3 candidates: pick one and call again with its id.",
		fields: []field{required(aList("cards", "The cards to value.", wire.ValueLines, line...))},
		output: object(
			"currency", schemaUSD, "total_cents", schemaInteger, "total_is_partial", schemaBool,
			"counts", counts, "lines", lines,
		),
		run: valueCards,
	}
}

// status is what became of a line of a list.
type status uint8

const (
	priced status = iota
	unpriced
	ambiguous
	unmatched
	statuses
)

var statusNames = [statuses]string{"priced", "unpriced", "ambiguous", "unmatched"}

// valued is a line with what became of it.
type valued struct {
	finding
	status   status
	lane     int // -1 without a price
	quantity int
	total    int64
}

// maxResult bounds a result: the JSON, the text and the escapes of the text.
const maxResult = 57 << 10

func valueCards(in *request, out *reply) refusal {
	lines := in.at("cards").lines
	if most := in.Limits.Cards; most > 0 && len(lines) > most {
		return refusal("Your plan allows " + strconv.Itoa(most) + " cards in one call " +
			"(got " + strconv.Itoa(len(lines)) + "). Split the list.")
	}

	all := make([]valued, len(lines))
	for i, l := range lines {
		all[i] = value(in, l)
	}

	// What does not fit a result shows fewer candidates, rather than none of some lines.
	for most := maxCandidates; ; most-- {
		out.json = out.json[:0]
		out.prose = out.prose[:0]
		writeValuation(out, all, most)
		if len(out.json)+len(out.prose) <= maxResult || most == 0 {
			return ""
		}
	}
}

// value finds out what a line means and costs.
func value(in *request, l args) valued {
	v := valued{lane: -1, quantity: int(l.number("quantity"))}
	v.finding = finder{in}.identify(wanted{
		id: l.text("id"), name: l.text("name"), set: l.text("set"), number: l.text("number"), game: l.text("game"),
	})

	// A line that is not certain has no price: a guess would make the total wrong unseen.
	switch {
	case v.card < 0 && v.fits > 1:
		v.status = ambiguous
		v.why = tellApart(v.fits, l)
	case v.card < 0:
		v.status = unmatched
		if len(v.candidates) > 0 {
			v.why += "; the nearest are candidates"
		}
	default:
		v.lane, v.why = chooseLane(in.View.Catalog, v.card, l.text("variant"), l.text("condition"))
		v.multiply(in.View.Catalog)
	}
	return v
}

// tellApart says how many cards fit a line, and what else would tell them apart.
func tellApart(fits int, l args) string {
	why := strconv.Itoa(fits)
	if fits >= manyMatches {
		why += " or more"
	}
	why += " cards fit"
	if fits > maxCandidates {
		why += ", " + strconv.Itoa(maxCandidates) + " of them are candidates"
	}
	why += "; choose one's id, or give "

	// What the line has already did not tell them apart.
	switch {
	case !l.has("set") && !l.has("number"):
		return why + "set and number"
	case !l.has("set"):
		return why + "the set"
	case !l.has("number"):
		return why + "the number"
	}
	return why + "the whole name"
}

// multiply prices a line by its lane. A total that would leave the bounds of money is no price.
func (v *valued) multiply(c *snapshot.Catalog) {
	v.status = unpriced
	if v.lane < 0 {
		return
	}

	// A price can be as large as money may be, and a quantity makes more of it.
	cents := c.Lanes.Cents[v.lane]
	quantity := int64(v.quantity)
	if cents > snapshot.MaxCents/quantity {
		v.lane = -1
		v.why = "the line's total is more than can be told exactly"
		return
	}
	v.status = priced
	v.total = cents * quantity
}

// writeValuation writes the whole result with at most so many candidates a line.
func writeValuation(out *reply, all []valued, candidates int) {
	var counts [statuses]int
	total := int64(0) // at most 50 times MaxCents
	for i := range all {
		counts[all[i].status]++
		total += all[i].total
	}

	out.put(`{"currency":"USD","total_cents":`, wire.Decimal(total), `,"total_is_partial":`,
		strconv.FormatBool(counts[priced] < len(all)), `,"counts":{"lines":`, strconv.Itoa(len(all)))
	for s, n := range counts {
		out.put(`,"`, statusNames[s], `":`, strconv.Itoa(n))
	}

	// The total comes first: it is what was asked for, and a long text may be cut by a client.
	sayTotal(out, total, len(all), counts)
	if candidates < maxCandidates {
		out.say("; the answer was too long for all candidates, send the unresolved lines again in smaller calls")
	}
	out.say("\n")

	out.put(`},"lines":[`)
	for i := range all {
		out.comma()
		all[i].write(out, i, candidates)
	}
	out.put("]}")
}

func sayTotal(out *reply, total int64, lines int, counts [statuses]int) {
	if counts[priced] > 0 {
		out.say("Total ")
		out.sayMoney(total)
	} else {
		out.say("No total")
	}
	out.say(": ", strconv.Itoa(counts[priced]), " of ")
	out.sayCount(lines, "line")
	out.say(" priced")

	for s := unpriced; s < statuses; s++ {
		if counts[s] > 0 {
			out.say(", ", strconv.Itoa(counts[s]), " ", statusNames[s])
		}
	}
	out.sayAsOf()
}

// write writes the k-th line.
func (v *valued) write(out *reply, k, candidates int) {
	out.put(`{"line":`, strconv.Itoa(k+1), `,"status":"`, statusNames[v.status], `","quantity":`,
		strconv.Itoa(v.quantity), `,"card":`)
	if v.card >= 0 {
		out.putCard(v.card)
		out.putExtras(v.card)
		out.put("}")
	} else {
		out.put("null")
	}

	out.sayItem(k)
	out.say(statusNames[v.status], " | ")
	if v.lane >= 0 {
		v.writePrice(out)
	} else {
		out.put(`,"unit_price_cents":null,"line_total_cents":null,"price_updated_at":null`)
	}

	// The text ends with what a model needs next: the lane and id, or why there is no price.
	if v.card >= 0 {
		out.sayCard(v.card)
		out.say(" | ")
	}
	switch {
	case v.lane >= 0:
		out.say(variantOf(out.c, v.lane), ", ", conditionOf(out.c, v.lane))
		out.sayID(v.card)
	case v.card >= 0:
		out.say(v.why, " | ", out.c.Cards.ID.At(v.card), "\n")
	default:
		out.say(v.why, "\n")
	}

	// The JSON has the same in members of their own.
	if v.why != "" {
		out.json = wire.AppendText(out.json, `,"message":`, v.why)
	}
	if v.card < 0 {
		writeCandidates(out, v.candidates[:min(len(v.candidates), candidates)])
	}
	out.put("}")
}

// writePrice writes what a line with a price costs; the text is "$20.00 = 2 × $10.00 | ".
func (v *valued) writePrice(out *reply) {
	cents := out.c.Lanes.Cents[v.lane]
	out.json = wire.AppendText(out.json, `,"variant":`, variantOf(out.c, v.lane))
	out.put(`,"condition":"`, conditionOf(out.c, v.lane), `","unit_price_cents":`, wire.Decimal(cents))
	out.put(`,"line_total_cents":`, wire.Decimal(v.total))
	out.json = wire.AppendSeconds(out.json, `,"price_updated_at":`, out.c.UpdatedAt(v.lane))

	out.sayMoney(v.total)
	if v.quantity > 1 {
		out.say(" = ", strconv.Itoa(v.quantity), " × ")
		out.sayMoney(cents)
	}
	out.say(" | ")
}

// writeCandidates writes the cards that a line may mean.
func writeCandidates(out *reply, cards []uint32) {
	out.put(`,"candidates":[`)
	for _, card := range cards {
		out.comma()
		out.putCard(int(card))
		out.putPrice(int(card))
		out.putExtras(int(card))
		out.put("}")

		out.say("   - ")
		out.sayPriced(int(card))
		out.sayID(int(card))
	}
	out.put("]")
}
