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
		textField("id", "Card id or slug, or another catalog's id such as tcgplayer:42382. "+
			"It tells the card; what else the line says must be of it.", wire.RefText),
		textField("line", `The line as written: "2x Charizard ex 199/165 NM".`, wire.ValueLine),
		textField("name", "Card name.", wire.QueryText),
		textField("set", "Set name, id, slug or code.", wire.SetText),
		textField("number", "Card number as printed.", wire.NumberText),
		gameField(),
		textField("variant", `Variant, e.g. "holofoil" or "Reverse Holofoil"; default the card's display price.`,
			wire.VariantText),
		textField("condition", `Condition, e.g. "Near Mint"; default the variant's display condition.`,
			wire.VariantText),
		integerField("quantity", "Copies.", wire.Copies, 1),
	}

	counts := object(
		"lines", schemaInteger, "priced", schemaInteger, "unpriced", schemaInteger, "ambiguous", schemaInteger,
		"unmatched", schemaInteger,
	)
	// A concise candidate has the name of its set; a detailed one is a card as in other tools.
	candidate := object(slices.Concat([]string{
		"id", schemaString, "name", schemaString, "number?", nullString, "game", nullString, "game_name", nullString,
		"set?", nullable(`{"anyOf":[` + schemaString + "," + object("id", schemaString, "name", schemaString) + "]}"),
		"url?", nullString,
	}, price, detailMembers)...)
	lines := array(object(
		"line", schemaInteger, "status", oneOf(valuation.StatusNames[:]...), "quantity?", schemaInteger,
		"card?", object(slices.Concat(identity, detailMembers)...), "variant?", nullString, "condition?", nullString,
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
		description: "Total market value of up to 50 cards in one call (counts as one request). Each line names a " +
			"card by id, by line as it was written, or by name with set, number and game as far as known; misspelt " +
			"sets, app suffixes and shop words are understood. A line that fits several cards, or none, is left out " +
			"of the total and comes back with up to 3 candidates and the fields that settle it: add those, or pick " +
			"an id, and call again. Where prices have no conditions, a line that names one has the market price and " +
			"counts into the assumed part of the total.",
		fields: []field{required(listField("cards", "The cards to value.", wire.ValueLines, line...))},
		output: object(
			"currency", schemaUSD, "total_cents", schemaInteger, "assumed_cents", schemaInteger,
			"total_is_partial", schemaBool, "counts", counts, "lines", lines,
		),
		run: valueCards,
	}
}

// maxResult bounds a result: the JSON, the text and the escapes of the text.
const maxResult = 57 << 10

func valueCards(in *request, out *result) toolError {
	lines := in.at("cards").lines

	// The schema has the bound of all plans; the bound of the caller's plan is checked here.
	if limit := in.Limits.Cards; limit > 0 && len(lines) > limit {
		return toolError("Your plan allows " + strconv.Itoa(limit) + " cards in one call " +
			"(got " + strconv.Itoa(len(lines)) + "). Split the list.")
	}

	items := make([]valuation.Item, len(lines))
	for i, l := range lines {
		items[i] = valuation.Item{
			ID: l.text("id"), Line: l.text("line"), Name: l.text("name"), Set: l.text("set"), Number: l.text("number"),
			Game: l.text("game"), Variant: l.text("variant"), Condition: l.text("condition"),
		}
		// Without this member, the quantity comes from the text of the line.
		if l.has("quantity") {
			items[i].Quantity = l.number("quantity")
		}
	}

	list := valuedList{lines: make([]valuation.Line, 0, len(items))}
	list.totals = in.appraiser.ValueList(in.View, items, &list)

	// If the result is too large, every line shows fewer candidates, rather than some lines none.
	for limit := valuation.MaxCandidates; ; limit-- {
		out.data = out.data[:0]
		out.textBuilder = out.textBuilder[:0]
		list.candidates = limit
		list.write(out)
		if len(out.data)+len(out.textBuilder) <= maxResult || limit == 0 {
			return ""
		}
	}
}

// valuedList is a list with the results of its lines. The results are stored, because a response
// that is too long is written again with fewer candidates.
type valuedList struct {
	lines      []valuation.Line
	totals     valuation.Totals
	candidates int // the largest number of a line
}

// Line stores the result of a line.
func (list *valuedList) Line(line *valuation.Line) { list.lines = append(list.lines, *line) }

// write writes the whole result.
func (list *valuedList) write(out *result) {
	totals := &list.totals
	out.json(`{"currency":"USD","total_cents":`, wire.Decimal(totals.Exact+totals.Assumed), `,"assumed_cents":`,
		wire.Decimal(totals.Assumed), `,"total_is_partial":`,
		strconv.FormatBool(totals.Counts[valuation.Priced] < totals.Lines),
		`,"counts":{"lines":`, strconv.Itoa(totals.Lines))
	out.data = totals.AppendCounts(out.data)

	// The total comes first, because a client may truncate a long text.
	list.textTotal(out)
	if list.candidates < valuation.MaxCandidates {
		out.text("; the answer was too long for all candidates, send the unresolved lines again in smaller calls")
	}
	out.text("\n")

	out.json(`},"lines":[`)
	for i := range list.lines {
		out.comma()
		textLine(out, &list.lines[i], list.jsonLine(out, &list.lines[i]))
	}
	out.json("]}")
}

func (list *valuedList) textTotal(out *result) {
	totals := &list.totals
	if totals.Counts[valuation.Priced] > 0 {
		out.text("Total ", money(totals.Exact+totals.Assumed))
	} else {
		out.text("No total")
	}
	out.text(": ", totals.Counts[valuation.Priced], " of ", count{totals.Lines, "line"}, " priced")

	for status := valuation.Unpriced; status < valuation.Statuses; status++ {
		if n := totals.Counts[status]; n > 0 {
			out.text(", ", n, " ", valuation.StatusNames[status])
		}
	}

	if totals.Assumed > 0 {
		out.text("; ", money(totals.Assumed), " of it is assumed")
	}

	out.textAsOf()
}

// maxLine bounds the JSON of a concise line without a price, in bytes. The line has as many
// candidates as fit, and always the first. With a larger bound, a messy list would have over 500
// bytes a line.
const maxLine = 727

// jsonLine writes the JSON of a line and returns the candidates that fit into it. Empty members are
// left out.
func (list *valuedList) jsonLine(out *result, line *valuation.Line) (shown []uint32) {
	begin := len(out.data)

	// If all matching cards are shown, their prices say more than the range.
	all := !out.detailed && line.Card < 0 && line.MatchCount > 0 && line.MatchCount <= list.candidates
	shown = list.jsonLineWith(out, line, !all)
	if all && len(shown) < line.MatchCount {
		out.data = out.data[:begin]
		shown = list.jsonLineWith(out, line, true)
	}
	return shown
}

// jsonLineWith is jsonLine with or without the price range of the matching cards.
func (list *valuedList) jsonLineWith(out *result, line *valuation.Line, ranged bool) (shown []uint32) {
	begin := len(out.data)
	out.json(`{"line":`, strconv.Itoa(line.N+1), `,"status":"`, valuation.StatusNames[line.Status], `"`)
	if line.Quantity > 1 {
		out.json(`,"quantity":`, wire.Decimal(line.Quantity))
	}
	if line.Card >= 0 {
		out.json(`,"card":`)
		out.jsonCard(line.Card)
		out.jsonExtras(line.Card)
		out.json("}")
	}

	if line.Lane >= 0 {
		jsonValue(out, line)
	}
	jsonAmbiguity(out, line, ranged)
	if line.Remark != "" {
		out.data = wire.AppendText(out.data, `,"message":`, line.Remark)
	}

	if line.Card < 0 {
		maxBytes := maxResult
		if !out.detailed {
			maxBytes = maxLine - (len(out.data) - begin)
		}
		shown = jsonCandidates(out, line.Candidates[:min(len(line.Candidates), list.candidates)], maxBytes)
	}
	out.json("}")
	return shown
}

// textLine writes the text of a line. It ends with what a model needs next: the lane and id, or the
// reason why there is no price.
func textLine(out *result, line *valuation.Line, shown []uint32) {
	out.text(line.N+1, ". ", valuation.StatusNames[line.Status], " | ")
	if line.Lane >= 0 {
		textValue(out, line)
	}
	if line.MatchCount > 1 {
		textMatches(out, line, len(shown))
	}

	if line.Card >= 0 {
		out.textCard(line.Card)
		out.text(" | ")
	}
	switch {
	case line.Lane >= 0:
		textLane(out, line)
	case line.Card >= 0:
		out.text(line.Remark, " | ", out.c.Cards.ID.At(line.Card), "\n")
	default:
		out.text(line.Remark, "\n")
	}

	for _, card := range shown {
		out.text("   - ")
		out.textCardPrice(int(card))
		out.textID(int(card))
	}
}

// jsonValue writes the price of a line. An assumed variant or condition is in the member assumed
// only.
func jsonValue(out *result, line *valuation.Line) {
	if !line.Assumes("variant") {
		out.data = wire.AppendText(out.data, `,"variant":`, line.Variant)
	}
	if !line.Assumes("condition") {
		out.json(`,"condition":"`, line.Condition, `"`)
	}
	out.json(`,"unit_price_cents":`, wire.Decimal(line.Cents), `,"line_total_cents":`, wire.Decimal(line.Total))
	out.data = wire.AppendSeconds(out.data, `,"price_updated_at":`, line.UpdatedAt)
	if len(line.Assumed) > 0 {
		out.data = line.AppendAssumed(append(out.data, `,"assumed":`...))
	}
}

// textValue writes the price of a line: "$20.00 = 2 × $10.00 | ".
func textValue(out *result, line *valuation.Line) {
	out.text(money(line.Total))
	if line.Quantity > 1 {
		out.text(" = ", int(line.Quantity), " × ", money(line.Cents))
	}

	// An old price must not look like one of today.
	if !out.detailed && !snapshot.Fresh(line.UpdatedAt, out.c.SnapshotAt) {
		out.text(" of ", snapshot.DayOf(line.UpdatedAt))
	}
	out.text(" | ")
}

// jsonAmbiguity writes what is unresolved about a line: how many cards match, their price range,
// and the field that would decide.
func jsonAmbiguity(out *result, line *valuation.Line, ranged bool) {
	if line.MatchCount > 1 {
		out.json(`,"fitting":`, strconv.Itoa(line.MatchCount))
	}
	if line.From >= 0 && ranged {
		out.data = line.AppendRange(append(out.data, `,"range":`...))
	}
	if ask := line.Needed.First(); ask != "" {
		out.json(`,"ask":"`, ask, `"`)
	}
}

// textMatches writes how many cards match a line, and their price range.
func textMatches(out *result, line *valuation.Line, shown int) {
	out.text(count{line.MatchCount, "card"}, " fit")
	if line.From >= 0 {
		out.text(", ", money(line.From))
	}
	if line.From < line.To {
		out.text("–", money(line.To))
	}

	switch {
	case shown >= line.MatchCount:
	case shown == 1:
		out.text(", 1 of them is a candidate")
	default:
		out.text(", ", shown, " of them are candidates")
	}
	out.text("; ")
}

// textLane ends the text of a line with a price: the lane, and which parts of it were assumed.
func textLane(out *result, line *valuation.Line) {
	out.text(line.Variant, ", ", line.Condition)
	for _, a := range line.Assumed {
		out.text(", assumed for ", readable(a.Given))
	}
	if line.Remark != "" {
		out.text(" | ", line.Remark)
	}
	out.textID(line.Card)
}

// jsonCandidates writes the candidates of a line that fit into maxBytes, and returns them. In the
// concise form, a candidate has only the members that distinguish it.
func jsonCandidates(out *result, cards []uint32, maxBytes int) []uint32 {
	const end = len("]}")
	begin := len(out.data)
	same := jsonShared(out, cards)

	out.json(`,"candidates":[`)
	for i, card := range cards {
		before := len(out.data)
		out.comma()
		jsonCandidate(out, card, same)
		if i > 0 && len(out.data)-begin+end > maxBytes {
			out.data = out.data[:before]
			cards = cards[:i]
			break
		}
	}
	out.json("]")
	return cards
}

// sharedFields are the members that all candidates of a line have in common, which are written
// once.
type sharedFields struct{ number, set bool }

// jsonShared writes the members that several concise candidates have in common.
func jsonShared(out *result, cards []uint32) (same sharedFields) {
	if out.detailed || len(cards) < 2 {
		return same
	}

	c := out.c
	first := cards[0]
	number := c.Cards.Number.At(int(first))
	of := c.Cards.Set[first]
	same = sharedFields{number: number != "", set: of != snapshot.NoSet}
	for _, card := range cards[1:] {
		same.number = same.number && c.Cards.Number.At(int(card)) == number
		same.set = same.set && c.Cards.Set[card] == of
	}

	begin := `,"same":{`
	if same.number {
		out.data = wire.AppendText(out.data, begin+`"number":`, number)
		begin = ","
	}
	if same.set {
		out.data = wire.AppendText(out.data, begin+`"set":`, c.Sets.Name.At(int(of)))
	}
	if same.number || same.set {
		out.json("}")
	}
	return same
}

func jsonCandidate(out *result, card uint32, same sharedFields) {
	if out.detailed {
		out.jsonCard(int(card))
		out.jsonPrice(int(card))
		out.jsonExtras(int(card))
		out.json("}")
		return
	}

	c := out.c
	out.data = wire.AppendText(out.data, `{"id":`, c.Cards.ID.At(int(card)))
	out.data = wire.AppendText(out.data, `,"name":`, c.Cards.Name.At(int(card)))
	if !same.number {
		out.data = wire.AppendNullable(out.data, `,"number":`, c.Cards.Number.At(int(card)))
	}

	out.data = wire.AppendGame(out.data, c, c.Cards.Game[card])
	if !same.set {
		set := ""
		if of := c.Cards.Set[card]; of != snapshot.NoSet {
			set = c.Sets.Name.At(int(of))
		}
		out.data = wire.AppendNullable(out.data, `,"set":`, set)
	}
	out.jsonPrice(int(card))
	out.json("}")
}
