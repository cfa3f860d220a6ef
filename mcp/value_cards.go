package mcp

import (
	"slices"
	"strconv"
	"strings"

	"ninepocket/internal/jsonwalk"
	"ninepocket/valuation"
	"ninepocket/wire"
)

// listText bounds a list that is given as one text.
var listText = wire.Range{Min: 1, Max: 40_000}

func valueCardsTool() *tool {
	line := []field{
		textField("id", "Card id or slug, or another catalog's id such as tcgplayer:42382.", wire.RefText),
		textField("line", `The line as written: "2x Charizard ex 199/165 NM".`, wire.ValueLine),
		textField("name", "Card name.", wire.QueryText),
		orInteger(textField("set", "Set name, id, slug or code.", wire.SetText)),
		orInteger(textField("number", "Card number as printed.", wire.NumberText)),
		gameField(),
		textField("variant", `E.g. "holofoil"; default the card's display price.`, wire.VariantText),
		textField("condition", `E.g. "Near Mint"; default the variant's display condition.`, wire.VariantText),
		integerField("quantity", "Copies.", wire.Copies, 1),
	}

	counts := object(
		"lines", schemaInteger, "priced", schemaInteger, "unpriced", schemaInteger, "ambiguous", schemaInteger,
		"unmatched", schemaInteger,
	)
	// A concise candidate has the name of its set; a detailed one is a card as in other tools.
	candidate := object(slices.Concat(identityInSet, []string{
		"set", nullable(`{"anyOf":[` + schemaString + "," + object("id", schemaString, "name", schemaString) + "]}"),
	}, price, detailMembers)...)
	lines := array(object(
		"line", schemaInteger, "status", oneOf(valuation.StatusNames[:]...), "quantity?", schemaInteger,
		"card?", object(slices.Concat(identity, detailMembers)...), "variant?", nullString, "condition?", nullString,
		"unit_price_cents?", nullInteger,
		"line_total_cents?", described(nullInteger, "Of more than one copy."), "price_updated_at?", schemaTime,
		"assumed?", array(object("field", schemaString, "given", schemaString, "used", schemaString)),
		"fitting?", schemaInteger, "ask?", nullable(oneOf("name", "number", "set", "variant")),
		"message?", schemaString, "ignored?", array(schemaString),
		"candidates?", arrayTo(valuation.MaxCandidates, candidate),
		"range?", described(object("from_cents", schemaInteger, "to_cents", schemaInteger),
			"Of all that fit, where not all are candidates."),
	))

	return &tool{
		name: "catalog_value_cards", title: "Value a list of cards",
		description: "Total market value of up to 50 cards in one call (counts as one request), from cards, text or " +
			"both. Misspelt sets, app suffixes and shop words are understood. A line that fits several cards, or " +
			"none, is left out of the total and comes back with up to 3 candidates and the fields that settle it: " +
			"add those, or pick an id, and call again. Where prices have no conditions, a line that names one has " +
			"the market price and counts into the assumed part of the total.",
		fields: []field{
			listField("cards", "The cards, each as written or in fields, as far as known.", wire.ValueLines, line...),
			textField("text", "The list as written, one card a line.", listText),
		},
		output: answerSchema(
			"total_cents", schemaInteger, "assumed_cents", schemaInteger, "total_is_partial", schemaBool,
			"counts", counts, "left_out?", described(schemaInteger, "Lines of text that were too many."),
			"lines", lines,
		),
		run: valueCards, text: valuedLayout,
	}
}

// maxData bounds the JSON of a result. The text has less than half as many bytes, so the response
// stays within 60,000.
const maxData = 39 << 10

func valueCards(in *request, out *result) toolError {
	lines := in.at("cards").lines
	if len(lines) == 0 && in.text("text") == "" {
		in.problems.add("give cards or text, with 1 to 50 lines together.")
		return in.toolError()
	}

	// The schema has the bound of all plans; the bound of the caller's plan is checked here.
	limit := int(wire.ValueLines.Max)
	if in.Limits.Cards > 0 {
		limit = min(limit, in.Limits.Cards)
	}
	if len(lines) > limit {
		return toolError("Your plan allows " + strconv.Itoa(limit) + " cards in one call " +
			"(got " + strconv.Itoa(len(lines)) + "). Split the list.")
	}

	list := valuedList{
		items: make([]valuation.Item, 0, limit), problems: make([]string, 0, limit),
		lines: make([]valuation.Line, 0, limit),
	}
	for _, line := range lines {
		list.add(line)
	}
	for text := range strings.FieldsFuncSeq(in.text("text"), isLineEnd) {
		text = strings.ReplaceAll(text, "\t", " | ") // cells of a table
		switch {
		case strings.TrimSpace(text) == "":
		case len(list.items) == limit:
			list.leftOut++
		default:
			list.add(bindElement(in.fields[in.indexOf("cards")].of, jsonwalk.Value(quoted(text))))
		}
	}

	list.totals = in.appraiser.ValueList(in.View, list.items, &list)
	list.date(out)

	// If the result is too large, every line shows fewer candidates, rather than some lines none.
	for limit := valuation.MaxCandidates; ; limit-- {
		if limit == valuation.MaxCandidates-1 {
			out.remark("fewer_candidates", "", "")
		}
		out.data = out.data[:0]
		list.candidates = limit
		list.write(out)
		if len(out.data) <= maxData || limit == 0 {
			return ""
		}
	}
}

func isLineEnd(r rune) bool { return r == '\n' || r == '\r' }

// valuedList is a list with the results of its lines. The results are stored, because a response
// that is too long is written again with fewer candidates.
type valuedList struct {
	items      []valuation.Item
	problems   []string // by item: why it could not be read, "" if it could
	lines      []valuation.Line
	totals     valuation.Totals
	candidates int // the largest number of a line
	leftOut    int // lines of the text
}

// add adds a line of the request. A wrong line is valued as an empty line with the reason.
func (list *valuedList) add(line args) {
	item := valuation.Item{}
	if line.problem == "" {
		item = valuation.Item{
			ID: line.text("id"), Line: line.text("line"), Name: line.text("name"), Set: line.text("set"),
			Number: line.text("number"), Game: line.text("game"), Variant: line.text("variant"),
			Condition: line.text("condition"),
		}

		// Without this member, the quantity comes from the text of the line.
		if line.has("quantity") {
			item.Quantity = line.number("quantity")
		}
	}
	list.items = append(list.items, item)
	list.problems = append(list.problems, line.problem)
}

// Line stores the result of a line.
func (list *valuedList) Line(line *valuation.Line) {
	if problem := list.problems[line.N]; problem != "" {
		line.Needed = 0
		line.Remark = "not read: " + problem
	}
	list.lines = append(list.lines, *line)
}

// date dates all prices of the list, those of candidates too, by the newest price.
func (list *valuedList) date(out *result) {
	for i := range list.lines {
		line := &list.lines[i]
		out.dateLane(line.Lane)
		out.variant = line.AskedVariant
		if line.Card < 0 {
			out.date(line.Candidates)
		}
	}
}

// write writes the whole result.
func (list *valuedList) write(out *result) {
	totals := &list.totals
	out.jsonHead()
	out.json(`"total_cents":`, wire.Decimal(totals.Exact+totals.Assumed), `,"assumed_cents":`,
		wire.Decimal(totals.Assumed), `,"total_is_partial":`,
		strconv.FormatBool(totals.Counts[valuation.Priced] < totals.Lines || list.leftOut > 0),
		`,"counts":{"lines":`, strconv.Itoa(totals.Lines))
	out.data = append(totals.AppendCounts(out.data), '}')
	if list.leftOut > 0 {
		out.json(`,"left_out":`, strconv.Itoa(list.leftOut))
	}

	out.json(`,"lines":[`)
	for i := range list.lines {
		out.comma()
		list.jsonLine(out, &list.lines[i])
	}
	out.json("]}")
}

// maxLine bounds the JSON of a concise line without a price, in bytes. The line has as many
// candidates as fit, but at least one. With a larger bound, a messy list would have over 800
// bytes a line.
const maxLine = 1100

// jsonLine writes the JSON of a line. Empty members are left out.
func (list *valuedList) jsonLine(out *result, line *valuation.Line) {
	begin := len(out.data)
	out.json(`{"line":`, strconv.Itoa(line.N+1), `,"status":"`, valuation.StatusNames[line.Status], `"`)
	if line.Quantity > 1 {
		out.json(`,"quantity":`, wire.Decimal(line.Quantity))
	}
	if line.Card >= 0 {
		out.json(`,"card":`)
		out.jsonIdentity(line.Card)
		out.jsonExtras(line.Card)
		out.json("}")
	}

	if line.Lane >= 0 {
		jsonValue(out, line)
	}
	if line.MatchCount > 1 {
		out.json(`,"fitting":`, strconv.Itoa(line.MatchCount))
	}
	if ask := line.Needed.First(); ask != "" {
		out.json(`,"ask":"`, ask, `"`)
	}
	if line.Remark != "" {
		out.data = wire.AppendText(out.data, `,"message":`, line.Remark)
	}
	if len(line.Ignored) > 0 {
		out.data = line.AppendIgnored(append(out.data, `,"ignored":`...))
	}

	shown := 0
	if line.Card < 0 {
		maxBytes := maxData
		if !out.detailed {
			maxBytes = maxLine - len(`,"range":{"from_cents":1234567,"to_cents":1234567}}`)
		}
		out.variant = line.AskedVariant
		shown = jsonCandidates(out, line.Candidates[:min(len(line.Candidates), list.candidates)], begin+maxBytes)
	}

	// If all matching cards are shown, their prices say more than the range.
	if line.From >= 0 && (line.Card >= 0 || shown < line.MatchCount) {
		out.data = line.AppendRange(append(out.data, `,"range":`...))
	}
	out.json("}")
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

	out.json(`,"unit_price_cents":`, wire.Decimal(line.Cents))
	if line.Quantity > 1 {
		out.json(`,"line_total_cents":`, wire.Decimal(line.Total))
	}
	out.jsonUpdated(line.Lane)
	if len(line.Assumed) > 0 {
		out.data = line.AppendAssumed(append(out.data, `,"assumed":`...))
	}
}

// jsonCandidates writes the candidates of a line up to a length of the JSON, at least one, and returns
// how many.
func jsonCandidates(out *result, cards []uint32, maxBytes int) (shown int) {
	out.json(`,"candidates":[`)
	for _, card := range cards {
		before := len(out.data)
		out.comma()
		if out.detailed {
			out.jsonIdentity(int(card))
			out.jsonPrice(int(card))
			out.json("}")
		} else {
			out.jsonCard(int(card), true)
		}

		if shown > 0 && len(out.data)+len("]") > maxBytes {
			out.data = out.data[:before]
			break
		}
		shown++
	}
	out.json("]")
	return shown
}
