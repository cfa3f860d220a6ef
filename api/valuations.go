package api

import (
	"strings"
	"unicode/utf8"
	"unsafe"

	"ninepocket/internal/jsonwalk"
	"ninepocket/snapshot"
	"ninepocket/valuation"
	"ninepocket/wire"
)

// createValuation answers POST /v1/valuations: what each item means and costs. Nothing is kept of it.
func createValuation(r *Request, out *Reply) *wire.Fault {
	items := itemReader{r}.read()
	if f := r.invalid(); f != nil {
		return f
	}
	if most := r.Plan.MaxPrices; len(items) > most {
		return refuse(wire.PlanLimit,
			"the plan %q allows %d items in a valuation (got %d): send them in several requests",
			r.Plan.Name, most, len(items))
	}

	if r.appraiser == nil {
		r.appraiser = &valuation.Appraiser{}
	}
	r.appraiser.Reset(r.View)
	var totals valuation.Totals
	out.Body = append(out.Body, `{"items":[`...)
	for i := range items {
		result := r.appraiser.Value(items[i])
		totals.Add(&result)
		out.Body = appendValued(wire.Comma(out.Body), r, i, &result)
	}

	// What is kept for the next request must not keep a View in memory.
	r.appraiser.Reset(nil)
	c := r.View.Catalog
	out.Body = appendTotals(append(out.Body, ']'), &totals)
	out.Body = wire.AppendText(out.Body, `,"currency":"USD","snapshot_id":`, c.ID)
	out.Body = append(wire.AppendSeconds(out.Body, `,"snapshot_at":`, c.SnapshotAt), '}')
	return nil
}

// appendValued appends what became of the n-th item.
func appendValued(dst []byte, r *Request, n int, result *valuation.Result) []byte {
	c := r.View.Catalog
	dst = wire.AppendInt(dst, `{"index":`, int64(n))
	dst = wire.AppendText(dst, `,"status":`, valuation.StatusNames[result.Status])
	dst = append(dst, `,"card":`...)
	if result.Card >= 0 {
		dst = r.View.AppendSummaries(dst, []uint32{uint32(result.Card)})
	} else {
		dst = append(dst, "null"...)
	}

	variant := ""
	condition := ""
	total := snapshot.NoCents
	at := snapshot.NoTime
	if result.Lane >= 0 {
		variant = c.Variants.At(int(c.Lanes.Variant[result.Lane]))
		condition = snapshot.Condition(c.Lanes.Condition[result.Lane]).Text()
		total = result.Total
		at = c.UpdatedAt(result.Lane)
	}
	dst = wire.AppendNullable(dst, `,"variant":`, variant)
	dst = wire.AppendNullable(dst, `,"condition":`, condition)
	dst = wire.AppendInt(dst, `,"quantity":`, result.Quantity)
	dst = wire.AppendCents(dst, `,"unit_price_cents":`, result.Cents)
	dst = wire.AppendCents(dst, `,"total_cents":`, total)
	dst = appendInstant(dst, `,"price_updated_at":`, at)

	dst = append(dst, `,"assumed":[`...)
	for _, a := range result.Assumed {
		dst = wire.AppendText(wire.Comma(dst), `{"field":`, a.Field)
		dst = wire.AppendText(dst, `,"given":`, a.Given)
		dst = append(wire.AppendText(dst, `,"used":`, a.Used), '}')
	}
	return append(appendQuestion(append(dst, ']'), r, result), '}')
}

// appendInstant appends an instant in ms, null for NoTime.
func appendInstant(dst []byte, name string, at int64) []byte {
	if at == snapshot.NoTime {
		return append(append(dst, name...), "null"...)
	}
	return wire.AppendSeconds(dst, name, at)
}

// appendQuestion appends what of an item is open: which cards it may mean, and what would tell.
func appendQuestion(dst []byte, r *Request, result *valuation.Result) []byte {
	dst = append(dst, `,"candidates":[`...)
	fitting := result.Fitting
	if result.Card < 0 {
		dst = r.View.AppendSummaries(dst, result.Candidates)
	} else {
		fitting = 1
	}

	dst = wire.AppendInt(append(dst, ']'), `,"fitting":`, int64(fitting))
	if result.From >= 0 {
		dst = wire.AppendInt(dst, `,"range":{"from_cents":`, result.From)
		dst = append(wire.AppendInt(dst, `,"to_cents":`, result.To), '}')
	} else {
		dst = append(dst, `,"range":null`...)
	}
	dst = wire.AppendNullable(dst, `,"ask":`, result.Ask.First())
	return wire.AppendNullable(dst, `,"note":`, result.Note)
}

func appendTotals(dst []byte, totals *valuation.Totals) []byte {
	dst = wire.AppendInt(dst, `,"totals":{"exact_cents":`, totals.Exact)
	dst = wire.AppendInt(dst, `,"assumed_cents":`, totals.Assumed)
	dst = wire.AppendInt(dst, `,"quantity":`, totals.Quantity)
	for status, name := range valuation.StatusNames {
		dst = append(append(append(dst, `,"`...), name...), '"')
		dst = wire.AppendInt(dst, ":", int64(totals.Counts[status]))
	}
	return append(dst, '}')
}

// itemReader reads the items of a valuation. Problems are noted in the request.
type itemReader struct{ *Request }

// read reads a JSON object with a list of items, or an app's export. The items alias the body.
func (r itemReader) read() (items []valuation.Item) {
	if r.CSV {
		return r.export()
	}

	r.readArray("items", wire.ValueItems, func(value jsonwalk.Value, n int) {
		// What is too much is only counted.
		if int64(n) < wire.ValueItems.Max {
			items = append(items, r.item(value, n))
		}
	})
	return items
}

// itemTexts are the texts of an item, their bounds, and where they go.
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

// item reads one item. Members that it does not know are ignored (decision 7).
func (r itemReader) item(value jsonwalk.Value, n int) (item valuation.Item) {
	if value.Kind() != '{' {
		r.itemProblem(n, " must be an object with a line, a name or an id (got %s)", jsonwalk.KindName(value.Kind()))
		return item
	}

	wrong := r.problems.count()
	for name, value := range value.Members() {
		if name.Is("quantity") {
			item.Quantity = r.quantity(value, n)
			continue
		}
		for i := range itemTexts {
			if name.Is(itemTexts[i].name) {
				*itemTexts[i].of(&item) = r.text(value, n, itemTexts[i].name)
			}
		}
	}

	// A member that is wrong may be the one that names the card.
	if r.problems.count() == wrong {
		r.check(&item, "items[%d]", n)
	}
	return item
}

func (r itemReader) text(value jsonwalk.Value, n int, name string) string {
	if value.Kind() != '"' {
		r.itemProblem(n, ".%s must be a string (got %s): leave it out when there is none", name,
			jsonwalk.KindName(value.Kind()))
		return ""
	}
	if value.Text() == "" {
		r.itemProblem(n, ".%s is empty: leave it out when there is none", name)
	}
	return value.Text()
}

func (r itemReader) quantity(value jsonwalk.Value, n int) int64 {
	count, ok := value.Integer()
	if !ok || !wire.Copies.Has(count) {
		r.itemProblem(n, ".quantity must be a whole number between %d and %d (got %s)", wire.Copies.Min,
			wire.Copies.Max, Quote(string(value)))
		return 0
	}
	return count
}

// check notes what is wrong with an item, which a format and a number name.
func (r itemReader) check(item *valuation.Item, format string, n int) {
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
			Quote(item.Identifier))
	}
	if item.ID+item.Identifier+item.Line+item.Name == "" && (item.Set == "" || item.Number == "") {
		r.problem(format+" names no card: give a line, a name, an id, an identifier, or a set and a number", n)
	}
}

// export reads a body that is an app's export.
func (r itemReader) export() []valuation.Item {
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
		r.check(&items[i], "row %d", i+1)
	}
	return items
}
