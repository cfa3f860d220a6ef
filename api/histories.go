package api

import (
	"strconv"

	"ninepocket/internal/jsonwalk"
	"ninepocket/wire"
)

// batchHistories handles POST /v1/prices/history/batch: the histories of many cards, in columns.
func batchHistories(r *Request, out *Reply) *wire.APIError {
	body := r.object()
	if body == nil {
		return r.invalid()
	}

	// The lists are long, so the body is read once.
	var ids, identifiers jsonwalk.Value
	for name, value := range body.Members() {
		switch name.Text() {
		case "ids":
			ids = value
		case "identifiers":
			identifiers = value
		case "days":
			bodyArg(r, "days", value, '0')
		case "variant":
			bodyArg(r, "variant", value, '"')
		}
	}

	refs, own := r.references(body, ids, identifiers, wire.HistoryIDs)
	days := min(int(r.intArg("days", wire.HistoryDays, wire.DefaultDays)), r.Plan.HistoryDays)
	variant, _ := r.textArg("variant", wire.VariantText)
	if f := r.invalid(); f != nil {
		return f
	}

	out.Body = wire.AppendInt(out.Body, `{"days":`, int64(days))
	out.Body = r.View.AppendDates(append(out.Body, `,"dates":[`...), days)
	out.Body = append(out.Body, `],"data":[`...)
	format := batchFormat{
		limit: r.Plan.MaxPrices, header: wire.HistoryHeader,
		object: func(dst []byte, card int) []byte {
			return r.View.AppendHistoryColumns(dst, card, days, variant)
		},
		rows: func(dst []byte, card int, _ string) []byte {
			return r.View.AppendHistoryRows(dst, card, days, variant)
		},
	}
	return format.append(r, out, refs, own)
}

// bodyArg makes a member of the body a parameter. It records a problem if its value is of another kind.
func bodyArg(r *Request, name string, value jsonwalk.Value, kind byte) {
	if value.Kind() != kind {
		r.problem("%s must be %s (got %s)", name, jsonwalk.KindName(kind), jsonwalk.KindName(value.Kind()))
		return
	}

	text := string(value)
	if kind == '"' {
		text = value.Text()
	} else if n, ok := value.Integer(); ok {
		text = strconv.FormatInt(n, 10)
	}
	r.Args.known = append(r.Args.known, arg{name: name, value: text, count: 1})
}
