package api

import (
	"strings"
	"unicode/utf8"
	"unsafe"

	"ninepocket/engine"
	"ninepocket/internal/jsonwalk"
	"ninepocket/snapshot"
	"ninepocket/valuation"
	"ninepocket/wire"
)

// createValuation handles POST /v1/valuations: what each item means and costs. It stores nothing.
func createValuation(r *Request, out *Reply) *wire.APIError {
	items := readItems(r)
	if f := r.invalid(); f != nil {
		return f
	}
	// A plan without a bound of its own may send several requests in one.
	limit := r.Plan.MaxPrices
	if limit == int(wire.PriceIDs.Max) {
		limit = int(wire.ValueItems.Max)
	}
	if len(items) > limit {
		return refuse(wire.PlanLimit,
			"the plan %q allows %d items in a valuation (got %d): send them in several requests",
			r.Plan.Name, limit, len(items))
	}

	if further := (len(items) - 1) / valuation.Piece; further > 0 {
		if f := r.Quota.Reserve(further); f != nil {
			return f
		}
	}

	if r.appraiser == nil {
		r.appraiser = &valuation.Appraiser{}
	}
	out.Body = append(out.Body, `{"items":[`...)
	totals := r.appraiser.ValueList(r.View, items, valuationWriter{r.View, out})
	out.Body = append(out.Body, ']')
	out.Body = wire.AppendInt(out.Body, `,"totals":{"exact_cents":`, totals.Exact)
	out.Body = wire.AppendInt(out.Body, `,"assumed_cents":`, totals.Assumed)
	out.Body = wire.AppendInt(out.Body, `,"quantity":`, totals.Quantity)
	out.Body = append(totals.AppendCounts(out.Body), '}')

	c := r.View.Catalog
	out.Body = wire.AppendText(out.Body, `,"currency":"USD","snapshot_id":`, c.ID)
	out.Body = append(wire.AppendSeconds(out.Body, `,"snapshot_at":`, c.SnapshotAt), '}')
	return nil
}

// valuationWriter writes the lines of a valuation as the items of a response: each has every member
// (decision 2215).
type valuationWriter struct {
	view *engine.View
	out  *Reply
}

// Line appends the item of a line.
func (v valuationWriter) Line(line *valuation.Line) {
	dst := wire.AppendInt(wire.AppendComma(v.out.Body), `{"index":`, int64(line.N))
	dst = wire.AppendText(dst, `,"status":`, valuation.StatusNames[line.Status])
	dst = append(dst, `,"card":`...)
	candidates := line.Candidates
	fitting := line.MatchCount
	total := snapshot.NoCents
	if line.Card >= 0 {
		dst = v.view.AppendSummaries(dst, []uint32{uint32(line.Card)})
		candidates = nil
		fitting = 1 + line.AlternateCount
	} else {
		dst = append(dst, "null"...)
	}
	if line.Lane >= 0 {
		total = line.Total
	}

	dst = wire.AppendNullable(dst, `,"variant":`, line.Variant)
	dst = wire.AppendNullable(dst, `,"condition":`, line.Condition)
	dst = wire.AppendInt(dst, `,"quantity":`, line.Quantity)
	dst = wire.AppendCents(dst, `,"unit_price_cents":`, line.Cents)
	dst = wire.AppendCents(dst, `,"total_cents":`, total)
	if line.Lane >= 0 {
		dst = wire.AppendSeconds(dst, `,"price_updated_at":`, line.UpdatedAt)
	} else {
		dst = append(dst, `,"price_updated_at":null`...)
	}

	dst = line.AppendAssumed(append(dst, `,"assumed":`...))
	dst = v.view.AppendSummaries(append(dst, `,"candidates":[`...), candidates)
	dst = v.view.AppendSummaries(append(dst, `],"alternates":[`...), line.Alternates)
	dst = wire.AppendInt(append(dst, ']'), `,"fitting":`, int64(fitting))
	if line.From >= 0 {
		dst = line.AppendRange(append(dst, `,"range":`...))
	} else {
		dst = append(dst, `,"range":null`...)
	}
	dst = wire.AppendNullable(dst, `,"ask":`, line.Needed.First())
	dst = line.AppendIgnored(append(dst, `,"ignored":`...))
	v.out.Body = append(wire.AppendNullable(dst, `,"note":`, line.Remark), '}')
}

// readItems reads a JSON object with a list of items, or an app's export. It records problems. The
// items alias the body.
func readItems(r *Request) (items []valuation.Item) {
	if r.CSV {
		return readExport(r)
	}

	r.readArray("items", wire.ValueItems, func(value jsonwalk.Value, n int) {
		// Items beyond the limit are only counted.
		if int64(n) < wire.ValueItems.Max {
			items = append(items, decodeItem(r, value, n))
		}
	})
	return items
}

// itemTexts are the texts of an item, their bounds, and their fields.
var itemTexts = []struct {
	name   string
	bounds *wire.Range
	of     func(*valuation.Item) *string
}{
	{"id", &wire.RefText, func(item *valuation.Item) *string { return &item.ID }},
	{"identifier", &wire.IdentifierText, func(item *valuation.Item) *string { return &item.Identifier }},
	{"line", &wire.ValueLine, func(item *valuation.Item) *string { return &item.Line }},
	{"name", &wire.QueryText, func(item *valuation.Item) *string { return &item.Name }},
	{"set", &wire.SetText, func(item *valuation.Item) *string { return &item.Set }},
	{"number", &wire.NumberText, func(item *valuation.Item) *string { return &item.Number }},
	{"game", &wire.GameText, func(item *valuation.Item) *string { return &item.Game }},
	{"variant", &wire.VariantText, func(item *valuation.Item) *string { return &item.Variant }},
	{"condition", &wire.VariantText, func(item *valuation.Item) *string { return &item.Condition }},
}

// decodeItem reads one item. Unknown members are ignored (decision 7).
func decodeItem(r *Request, value jsonwalk.Value, n int) (item valuation.Item) {
	if value.Kind() != '{' {
		r.addItemError(n, " must be an object with a line, a name or an id (got %s)", jsonwalk.KindName(value.Kind()))
		return item
	}

	wrong := r.problems.count
	for name, value := range value.Members() {
		if name.Is("quantity") {
			item.Quantity = itemQuantity(r, value, n)
			continue
		}
		for i := range itemTexts {
			if name.Is(itemTexts[i].name) {
				*itemTexts[i].of(&item) = itemText(r, value, n, itemTexts[i].name)
			}
		}
	}

	// The invalid member may be the one that names the card.
	if r.problems.count == wrong {
		validateItem(r, &item, "items[%d]", n)
	}
	return item
}

func itemText(r *Request, value jsonwalk.Value, n int, name string) string {
	if value.Kind() != '"' {
		r.addItemError(n, ".%s must be a string (got %s): leave it out when there is none", name,
			jsonwalk.KindName(value.Kind()))
		return ""
	}
	if value.Text() == "" {
		r.addItemError(n, ".%s is empty: leave it out when there is none", name)
	}
	return value.Text()
}

func itemQuantity(r *Request, value jsonwalk.Value, n int) int64 {
	count, ok := value.Integer()
	if !ok || !wire.Copies.Has(count) {
		r.addItemError(n, ".quantity must be a whole number between %d and %d (got %s)", wire.Copies.Min,
			wire.Copies.Max, QuoteInput(string(value)))
		return 0
	}
	return count
}

// validateItem records what is wrong with an item, which format and n name.
func validateItem(r *Request, item *valuation.Item, format string, n int) {
	for i := range itemTexts {
		t := &itemTexts[i]
		text := *t.of(item)
		if text == "" {
			continue
		}

		if length := int64(utf8.RuneCountInString(text)); !t.bounds.Has(length) {
			r.problem(format+".%s must have between %d and %d characters (got %d)", n, t.name, t.bounds.Min,
				t.bounds.Max, length)
		} else if wrong := textProblem(text); wrong != "" {
			r.problem(format+".%s %s", n, t.name, wrong)
		}
	}

	if namespace, value, _ := strings.Cut(item.Identifier, ":"); item.Identifier != "" &&
		(namespace == "" || value == "") {
		r.problem(format+".identifier must be NAMESPACE:VALUE, such as tcgplayer:42382 (got %s)", n,
			QuoteInput(item.Identifier))
	}
	if item.ID+item.Identifier+item.Line+item.Name == "" && (item.Set == "" || item.Number == "") {
		r.problem(format+" names no card: give a line, a name, an id, an identifier, or a set and a number", n)
	}
}

// readExport reads a body that is an app's export.
func readExport(r *Request) []valuation.Item {
	text := unsafe.String(unsafe.SliceData(r.Body), len(r.Body))
	if !utf8.ValidString(text) {
		r.problem("the body is not valid UTF-8: save the export as UTF-8")
		return nil
	}

	items, rows, err := valuation.ReadExport(text, int(wire.ValueItems.Max))
	switch {
	case err != nil:
		r.problem("%s: send the file as the app wrote it, or the lines as JSON %s", err.Error(), r.sample())
	case !wire.ValueItems.Has(int64(rows)):
		r.problem("the export must have between %d and %d rows behind its header (got %d)", wire.ValueItems.Min,
			wire.ValueItems.Max, rows)
	}
	for i := range items {
		validateItem(r, &items[i], "row %d", i+1)
	}
	return items
}
