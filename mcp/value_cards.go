package mcp

import (
	"slices"
	"strconv"

	"ninepocket/snapshot"
	"ninepocket/valuation"
	"ninepocket/wire"
)

func valueCardsTool() *tool {
	line := []field{
		aText("id", "Card id or slug, or another catalog's id such as tcgplayer:42382. "+
			"It tells the card; what else the line says must be of it.", wire.RefText),
		aText("line", `The line as written: "2x Charizard ex 199/165 NM".`, wire.ValueLine),
		aText("name", "Card name.", wire.QueryText),
		aText("set", "Set name, id, slug or code.", wire.SetText),
		aText("number", "Card number as printed.", wire.NumberText),
		gameField(),
		aText("variant", `Variant, e.g. "holofoil" or "Reverse Holofoil"; default the card's display price.`,
			wire.VariantText),
		aText("condition", `Condition, e.g. "Near Mint"; default the variant's display condition.`, wire.VariantText),
		anInteger("quantity", "Copies.", wire.Copies, 1),
	}

	counts := object(
		"lines", schemaInteger, "priced", schemaInteger, "unpriced", schemaInteger, "ambiguous", schemaInteger,
		"unmatched", schemaInteger,
	)
	// A concise candidate names its set; a detailed one is a card as everywhere.
	candidate := object(slices.Concat([]string{
		"id", schemaString, "name", schemaString, "number?", nullString, "game", nullString, "game_name", nullString,
		"set?", nullable(`{"anyOf":[` + schemaString + "," + object("id", schemaString, "name", schemaString) + "]}"),
		"url?", nullString,
	}, price, extras)...)
	lines := array(object(
		"line", schemaInteger, "status", oneOf(valuation.StatusNames[:]...), "quantity?", schemaInteger,
		"card?", object(slices.Concat(identity, extras)...), "variant?", nullString, "condition?", nullString,
		"unit_price_cents?", nullInteger, "line_total_cents?", nullInteger, "price_updated_at?", nullable(schemaTime),
		"assumed?", array(object("field", schemaString, "given", schemaString, "used", schemaString)),
		"fitting?", schemaInteger, "range?", object("from_cents", schemaInteger, "to_cents", schemaInteger),
		"ask?", nullable(oneOf("name", "number", "set", "variant")), "message?", schemaString,
		"same?", described(object("number?", schemaString, "set?", schemaString),
			"What all candidates have, which then do not have it by themselves."),
		"candidates?", arrayTo(valuation.MaxCandidates, candidate),
	))

	return &tool{
		name: "catalog_value_cards", title: "Value a list of cards",
		about: "Total market value of up to 50 cards in one call (counts as one request). Each line names a card by " +
			"id, by line as it was written, or by name with set, number and game as far as known; misspelt sets, " +
			"app suffixes and shop words are understood. A line that fits several cards, or none, is left out of the " +
			"total and comes back with up to 3 candidates and the fields that settle it: add those, or pick an id, " +
			"and call again. Where prices have no conditions, a line that names one has the market price and counts " +
			"into the assumed part of the total.",
		fields: []field{required(aList("cards", "The cards to value.", wire.ValueLines, line...))},
		output: object(
			"currency", schemaUSD, "total_cents", schemaInteger, "assumed_cents", schemaInteger,
			"total_is_partial", schemaBool, "counts", counts, "lines", lines,
		),
		run: valueCards,
	}
}

// maxResult bounds a result: the JSON, the text and the escapes of the text.
const maxResult = 57 << 10

func valueCards(in *request, out *reply) refusal {
	lines := in.at("cards").lines

	// The schema has the bound of all plans: this one's is known here alone.
	if limit := in.Limits.Cards; limit > 0 && len(lines) > limit {
		return refusal("Your plan allows " + strconv.Itoa(limit) + " cards in one call " +
			"(got " + strconv.Itoa(len(lines)) + "). Split the list.")
	}

	items := make([]valuation.Item, len(lines))
	for i, l := range lines {
		items[i] = valuation.Item{
			ID: l.text("id"), Line: l.text("line"), Name: l.text("name"), Set: l.text("set"), Number: l.text("number"),
			Game: l.text("game"), Variant: l.text("variant"), Condition: l.text("condition"),
		}
		// Without a member of its own, the text of the line says how many copies there are.
		if l.has("quantity") {
			items[i].Quantity = l.number("quantity")
		}
	}

	list := valuedList{lines: make([]valuation.Line, 0, len(items))}
	list.totals = in.appraiser.Walk(in.View, items, &list)

	// What does not fit a result shows fewer candidates, rather than none of some lines.
	for limit := valuation.MaxCandidates; ; limit-- {
		out.json = out.json[:0]
		out.prose = out.prose[:0]
		list.candidates = limit
		list.write(out)
		if len(out.json)+len(out.prose) <= maxResult || limit == 0 {
			return ""
		}
	}
}

// valuedList is a list with what became of its lines. They are kept, for a long answer is written again
// with fewer candidates.
type valuedList struct {
	lines      []valuation.Line
	totals     valuation.Totals
	candidates int // the most of a line
}

// Line keeps a line.
func (list *valuedList) Line(line *valuation.Line) { list.lines = append(list.lines, *line) }

// write writes the whole result.
func (list *valuedList) write(out *reply) {
	totals := &list.totals
	out.put(`{"currency":"USD","total_cents":`, wire.Decimal(totals.Exact+totals.Assumed), `,"assumed_cents":`,
		wire.Decimal(totals.Assumed), `,"total_is_partial":`,
		strconv.FormatBool(totals.Counts[valuation.Priced] < totals.Lines),
		`,"counts":{"lines":`, strconv.Itoa(totals.Lines))
	out.json = totals.AppendCounts(out.json)

	// The total comes first: it is what was asked for, and a long text may be cut by a client.
	list.sayTotal(out)
	if list.candidates < valuation.MaxCandidates {
		out.say("; the answer was too long for all candidates, send the unresolved lines again in smaller calls")
	}
	out.say("\n")

	out.put(`},"lines":[`)
	for i := range list.lines {
		out.comma()
		sayLine(out, &list.lines[i], list.putLine(out, &list.lines[i]))
	}
	out.put("]}")
}

func (list *valuedList) sayTotal(out *reply) {
	totals := &list.totals
	if totals.Counts[valuation.Priced] > 0 {
		out.say("Total ", money(totals.Exact+totals.Assumed))
	} else {
		out.say("No total")
	}
	out.say(": ", totals.Counts[valuation.Priced], " of ", count{totals.Lines, "line"}, " priced")

	for status := valuation.Unpriced; status < valuation.Statuses; status++ {
		if n := totals.Counts[status]; n > 0 {
			out.say(", ", n, " ", valuation.StatusNames[status])
		}
	}

	if totals.Assumed > 0 {
		out.say("; ", money(totals.Assumed), " of it is assumed")
	}

	out.sayAsOf()
}

// maxLine is how long the JSON of a concise line without a price may be: it has the candidates that
// there is room for, and the first in any case. More of it would take a messy list beyond 500 bytes
// a line.
const maxLine = 727

// putLine writes the JSON of a line and returns the candidates that it has room for. There is no member
// that says nothing.
func (list *valuedList) putLine(out *reply, line *valuation.Line) (shown []uint32) {
	begin := len(out.json)

	// The prices of all cards that fit say more than their range.
	all := !out.detailed && line.Card < 0 && line.MatchCount > 0 && line.MatchCount <= list.candidates
	shown = list.putLineWith(out, line, !all)
	if all && len(shown) < line.MatchCount {
		out.json = out.json[:begin]
		shown = list.putLineWith(out, line, true)
	}
	return shown
}

// putLineWith is putLine with the range of what fits or without.
func (list *valuedList) putLineWith(out *reply, line *valuation.Line, ranged bool) (shown []uint32) {
	begin := len(out.json)
	out.put(`{"line":`, strconv.Itoa(line.N+1), `,"status":"`, valuation.StatusNames[line.Status], `"`)
	if line.Quantity > 1 {
		out.put(`,"quantity":`, wire.Decimal(line.Quantity))
	}
	if line.Card >= 0 {
		out.put(`,"card":`)
		out.putCard(line.Card)
		out.putExtras(line.Card)
		out.put("}")
	}

	if line.Lane >= 0 {
		putValue(out, line)
	}
	putQuestion(out, line, ranged)
	if line.Remark != "" {
		out.json = wire.AppendText(out.json, `,"message":`, line.Remark)
	}

	if line.Card < 0 {
		room := maxResult
		if !out.detailed {
			room = maxLine - (len(out.json) - begin)
		}
		shown = putCandidates(out, line.Candidates[:min(len(line.Candidates), list.candidates)], room)
	}
	out.put("}")
	return shown
}

// sayLine writes the text of a line. It ends with what a model needs next: the lane and id, or why there
// is no price.
func sayLine(out *reply, line *valuation.Line, shown []uint32) {
	out.say(line.N+1, ". ", valuation.StatusNames[line.Status], " | ")
	if line.Lane >= 0 {
		sayValue(out, line)
	}
	if line.MatchCount > 1 {
		sayFitting(out, line, len(shown))
	}

	if line.Card >= 0 {
		out.sayCard(line.Card)
		out.say(" | ")
	}
	switch {
	case line.Lane >= 0:
		sayLane(out, line)
	case line.Card >= 0:
		out.say(line.Remark, " | ", out.c.Cards.ID.At(line.Card), "\n")
	default:
		out.say(line.Remark, "\n")
	}

	for _, card := range shown {
		out.say("   - ")
		out.sayPriced(int(card))
		out.sayID(int(card))
	}
}

// putValue writes what a line with a price costs. What was assumed stands there alone.
func putValue(out *reply, line *valuation.Line) {
	if !line.Assumes("variant") {
		out.json = wire.AppendText(out.json, `,"variant":`, line.Variant)
	}
	if !line.Assumes("condition") {
		out.put(`,"condition":"`, line.Condition, `"`)
	}
	out.put(`,"unit_price_cents":`, wire.Decimal(line.Cents), `,"line_total_cents":`, wire.Decimal(line.Total))
	out.json = wire.AppendSeconds(out.json, `,"price_updated_at":`, line.UpdatedAt)
	if len(line.Assumed) > 0 {
		out.json = line.AppendAssumed(append(out.json, `,"assumed":`...))
	}
}

// sayValue says what a line with a price costs: "$20.00 = 2 × $10.00 | ".
func sayValue(out *reply, line *valuation.Line) {
	out.say(money(line.Total))
	if line.Quantity > 1 {
		out.say(" = ", int(line.Quantity), " × ", money(line.Cents))
	}

	// An old price must not pass for one of today.
	if !out.detailed && !snapshot.Fresh(line.UpdatedAt, out.c.SnapshotAt) {
		out.say(" of ", snapshot.DayOf(line.UpdatedAt))
	}
	out.say(" | ")
}

// putQuestion writes what of a line is open: how many cards fit, what they cost, and what would tell
// them apart.
func putQuestion(out *reply, line *valuation.Line, ranged bool) {
	if line.MatchCount > 1 {
		out.put(`,"fitting":`, strconv.Itoa(line.MatchCount))
	}
	if line.From >= 0 && ranged {
		out.json = line.AppendRange(append(out.json, `,"range":`...))
	}
	if ask := line.Needed.First(); ask != "" {
		out.put(`,"ask":"`, ask, `"`)
	}
}

// sayFitting says how many cards fit a line and what they cost.
func sayFitting(out *reply, line *valuation.Line, shown int) {
	out.say(count{line.MatchCount, "card"}, " fit")
	if line.From >= 0 {
		out.say(", ", money(line.From))
	}
	if line.From < line.To {
		out.say("–", money(line.To))
	}

	switch {
	case shown >= line.MatchCount:
	case shown == 1:
		out.say(", 1 of them is a candidate")
	default:
		out.say(", ", shown, " of them are candidates")
	}
	out.say("; ")
}

// sayLane ends the text of a line with a price: which lane, and what of it was assumed.
func sayLane(out *reply, line *valuation.Line) {
	out.say(line.Variant, ", ", line.Condition)
	for _, a := range line.Assumed {
		out.say(", assumed for ", readable(a.Given))
	}
	if line.Remark != "" {
		out.say(" | ", line.Remark)
	}
	out.sayID(line.Card)
}

// putCandidates writes the cards that a line may mean, as many as there is room for, and returns these.
// Each has what tells it from others and no more, but for the detailed form.
func putCandidates(out *reply, cards []uint32, room int) []uint32 {
	const end = len("]}")
	begin := len(out.json)
	same := putSame(out, cards)

	out.put(`,"candidates":[`)
	for i, card := range cards {
		before := len(out.json)
		out.comma()
		putCandidate(out, card, same)
		if i > 0 && len(out.json)-begin+end > room {
			out.json = out.json[:before]
			cards = cards[:i]
			break
		}
	}
	out.put("]")
	return cards
}

// shared says what all candidates of a line have, which stands there once.
type shared struct{ number, set bool }

// putSame writes what all of several concise candidates have.
func putSame(out *reply, cards []uint32) (same shared) {
	if out.detailed || len(cards) < 2 {
		return same
	}

	c := out.c
	first := cards[0]
	number := c.Cards.Number.At(int(first))
	of := c.Cards.Set[first]
	same = shared{number: number != "", set: of != snapshot.NoSet}
	for _, card := range cards[1:] {
		same.number = same.number && c.Cards.Number.At(int(card)) == number
		same.set = same.set && c.Cards.Set[card] == of
	}

	begin := `,"same":{`
	if same.number {
		out.json = wire.AppendText(out.json, begin+`"number":`, number)
		begin = ","
	}
	if same.set {
		out.json = wire.AppendText(out.json, begin+`"set":`, c.Sets.Name.At(int(of)))
	}
	if same.number || same.set {
		out.put("}")
	}
	return same
}

func putCandidate(out *reply, card uint32, same shared) {
	if out.detailed {
		out.putCard(int(card))
		out.putPrice(int(card))
		out.putExtras(int(card))
		out.put("}")
		return
	}

	c := out.c
	out.json = wire.AppendText(out.json, `{"id":`, c.Cards.ID.At(int(card)))
	out.json = wire.AppendText(out.json, `,"name":`, c.Cards.Name.At(int(card)))
	if !same.number {
		out.json = wire.AppendNullable(out.json, `,"number":`, c.Cards.Number.At(int(card)))
	}

	out.json = wire.AppendGame(out.json, c, c.Cards.Game[card])
	if !same.set {
		set := ""
		if of := c.Cards.Set[card]; of != snapshot.NoSet {
			set = c.Sets.Name.At(int(of))
		}
		out.json = wire.AppendNullable(out.json, `,"set":`, set)
	}
	out.putPrice(int(card))
	out.put("}")
}
