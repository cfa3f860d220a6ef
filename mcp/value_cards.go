package mcp

import (
	"math/bits"
	"strconv"

	"ninepocket/snapshot"
	"ninepocket/wire"
)

// maxLines is how many cards one call values (specification, Limits).
const maxLines = 50

var valueCards = tool{
	name:  "catalog_value_cards",
	title: "Value a list of cards",
	about: "Total market value of up to 50 cards in one call (counts as one request). Each line names a card by id, or by name with " +
		"set, number and game as far as known. A line that fits several cards, or none, is left out of the total and comes back with " +
		"up to 3 candidates: pick one and call again with its id.",
	fields: []field{
		{
			name: "cards", about: "The cards to value.", kind: aList, lo: 1, hi: maxLines, required: true,
			of: []field{
				refField("id", "Card id or slug. When given, name, set, number and game are not needed."),
				{name: "name", about: "Card name.", kind: aText, lo: 1, hi: 200},
				refField("set", "Set name, id, slug or code."),
				{name: "number", about: "Card number as printed.", kind: aText, lo: 1, hi: 32},
				gameField,
				{name: "variant", about: `Variant, e.g. "holofoil" or "Reverse Holofoil"; default the card's display price.`, kind: aText, lo: 1, hi: 64},
				{name: "condition", about: `Condition, e.g. "Near Mint"; default the variant's display condition.`, kind: aText, lo: 1, hi: 64},
				{name: "quantity", about: "Copies.", kind: anInteger, lo: 1, hi: 9999, preset: 1},
			},
		},
		formatField,
	},
	output: object(
		"currency", schemaUSD, "total_cents", schemaInteger, "total_is_partial", schemaBool,
		"counts", object("lines", schemaInteger, "priced", schemaInteger, "unpriced", schemaInteger, "ambiguous", schemaInteger, "unmatched", schemaInteger),
		"lines", array(object(
			"line", schemaInteger, "status", oneOf(statusNames[:]...), "quantity", schemaInteger,
			"card", nullable(object(join(identity, extras)...)),
			"variant?", nullString, "condition?", nullString,
			"unit_price_cents", nullInteger, "line_total_cents", nullInteger, "price_updated_at", nullable(schemaTime),
			"message?", schemaString,
			"candidates?", arrayTo(maxCandidates, object(join(identity, price, extras)...)),
		)),
	),
	run: (*call).valueCards,
}

// valued is a line with what became of it.
type valued struct {
	finding
	status   status
	lane     int
	quantity int
	total    int64
}

func (c *call) valueCards() refusal {
	lines := c.args.at("cards").lines
	if most := c.Limits.Cards; most > 0 && len(lines) > most {
		return refusal("Your plan allows " + strconv.Itoa(most) + " cards in one call (got " + strconv.Itoa(len(lines)) + "). Split the list.")
	}
	all := make([]valued, len(lines))
	for i, l := range lines {
		all[i] = c.value(l)
	}
	// What does not fit a result shows fewer candidates, rather than none of some lines.
	for most := maxCandidates; ; most-- {
		c.json, c.text = c.json[:0], c.text[:0]
		c.valuation(all, most)
		if len(c.json)+len(c.text) <= maxResult || most == 0 {
			return ""
		}
	}
}

// maxResult bounds a result: the JSON, the text and the escapes of the text.
const maxResult = 57 << 10

// value finds out what a line means and costs.
func (c *call) value(l args) valued {
	v := valued{lane: -1, quantity: int(l.number("quantity"))}
	v.finding = c.identify(wanted{
		id: l.text("id"), name: l.text("name"), set: l.text("set"), number: l.text("number"), game: l.text("game"),
	})
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
		v.lane, v.why = c.choose(v.card, l.text("variant"), l.text("condition"))
		c.multiply(&v)
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
	switch set, number := l.has("set"), l.has("number"); {
	case !set && !number:
		return why + "; choose one's id, or give set and number"
	case !set:
		return why + "; choose one's id, or give the set"
	case !number:
		return why + "; choose one's id, or give the number"
	}
	return why + "; choose one's id, or give the whole name"
}

// multiply prices a line by its lane. A total that would leave the bounds of money is no price.
func (c *call) multiply(v *valued) {
	v.status = unpriced
	if v.lane < 0 {
		return
	}
	hi, lo := bits.Mul64(uint64(c.c.Lanes.Cents[v.lane]), uint64(v.quantity))
	if hi != 0 || lo > snapshot.MaxCents {
		v.lane, v.why = -1, "the line's total is more than can be told exactly"
		return
	}
	v.status, v.total = priced, int64(lo)
}

// valuation writes the whole result with at most so many candidates a line.
func (c *call) valuation(all []valued, candidates int) {
	var counts [statuses]int
	total := int64(0) // at most 50 times MaxCents
	for i := range all {
		counts[all[i].status]++
		total += all[i].total
	}
	partial := counts[priced] < len(all)
	c.json = append(c.json, `{"currency":"USD","total_cents":`...)
	c.json = strconv.AppendInt(c.json, total, 10)
	c.json = append(c.json, `,"total_is_partial":`...)
	c.json = strconv.AppendBool(c.json, partial)
	c.jsonInt(`,"counts":{"lines":`, len(all))
	for s, n := range counts {
		c.json = append(c.json, `,"`...)
		c.json = append(c.json, statusNames[s]...)
		c.jsonInt(`":`, n)
	}
	c.json = append(c.json, `},"lines":[`...)
	c.sayTotal(total, len(all), counts, candidates)
	for i := range all {
		c.comma(i)
		c.valuedLine(i+1, &all[i], candidates)
	}
	c.json = append(c.json, `]}`...)
}

func (c *call) sayTotal(total int64, lines int, counts [statuses]int, candidates int) {
	if counts[priced] > 0 {
		c.say("Total ")
		c.sayMoney(total)
		c.say(": ")
	} else {
		c.say("No total: ")
	}
	c.sayInt(counts[priced])
	c.say(" of ")
	c.sayCount(lines, "line")
	c.say(" priced")
	for s := unpriced; s < statuses; s++ {
		if counts[s] > 0 {
			c.say(", ")
			c.sayInt(counts[s])
			c.say(" ", statusNames[s])
		}
	}
	c.say(" ")
	c.sayAsOf()
	if candidates < maxCandidates {
		c.say("; the answer was too long for all candidates, send the unresolved lines again in smaller calls")
	}
	c.say("\n")
}

// valuedLine writes line n.
func (c *call) valuedLine(n int, v *valued, candidates int) {
	c.jsonInt(`{"line":`, n)
	c.json = append(c.json, `,"status":"`...)
	c.json = append(c.json, statusNames[v.status]...)
	c.jsonInt(`","quantity":`, v.quantity)
	c.json = append(c.json, `,"card":`...)
	if v.card >= 0 {
		c.jsonCard(v.card)
		c.jsonExtras(v.card)
		c.json = append(c.json, '}')
	} else {
		c.json = append(c.json, "null"...)
	}
	c.sayInt(n)
	c.say(". ", statusNames[v.status], " | ")
	if v.lane >= 0 {
		c.jsonLinePrice(v)
		c.sayLinePrice(v)
	} else {
		c.json = append(c.json, `,"unit_price_cents":null,"line_total_cents":null,"price_updated_at":null`...)
	}
	if v.card >= 0 {
		c.sayCard(v.card)
		c.say(" | ")
	}
	switch {
	case v.lane >= 0:
		c.sayLane(v.lane)
		c.sayID(v.card)
	case v.card >= 0:
		c.say(v.why, " | ", c.c.Cards.ID.At(v.card), "\n")
	default:
		c.say(v.why, "\n")
	}
	if v.why != "" {
		c.json = append(c.json, `,"message":`...)
		c.json = wire.AppendString(c.json, v.why)
	}
	if v.card < 0 {
		c.candidates(v.finding.candidates[:min(len(v.finding.candidates), candidates)])
	}
	c.json = append(c.json, '}')
}

func (c *call) jsonLinePrice(v *valued) {
	c.json = append(c.json, `,"variant":`...)
	c.json = wire.AppendString(c.json, c.variantOf(v.lane))
	c.json = append(c.json, `,"condition":"`...)
	c.json = append(c.json, c.conditionOf(v.lane)...)
	c.json = append(c.json, `","unit_price_cents":`...)
	c.json = wire.AppendCents(c.json, c.c.Lanes.Cents[v.lane])
	c.json = append(c.json, `,"line_total_cents":`...)
	c.json = wire.AppendCents(c.json, v.total)
	c.json = append(c.json, `,"price_updated_at":`...)
	c.json = wire.AppendSeconds(c.json, c.c.UpdatedAt(v.lane))
}

// sayLinePrice appends "$20.00 = 2 × $10.00 | ".
func (c *call) sayLinePrice(v *valued) {
	c.sayMoney(v.total)
	if v.quantity > 1 {
		c.say(" = ")
		c.sayInt(v.quantity)
		c.say(" × ")
		c.sayMoney(c.c.Lanes.Cents[v.lane])
	}
	c.say(" | ")
}

// candidates writes the cards that a line may mean.
func (c *call) candidates(cards []uint32) {
	c.json = append(c.json, `,"candidates":[`...)
	for k, card := range cards {
		c.comma(k)
		c.jsonCard(int(card))
		c.jsonPrice(int(card))
		c.jsonExtras(int(card))
		c.json = append(c.json, '}')
		c.say("   - ")
		c.sayCard(int(card))
		c.say(" | ")
		c.sayPrice(int(card))
		c.sayID(int(card))
	}
	c.json = append(c.json, ']')
}
