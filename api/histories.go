package api

import (
	"unicode/utf8"

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
	days := wire.DefaultDays
	variant := ""
	for name, value := range body.Members() {
		switch name.Text() {
		case "ids":
			ids = value
		case "identifiers":
			identifiers = value
		case "days":
			days = daysMember(r, value)
		case "variant":
			variant = variantMember(r, value)
		}
	}

	refs, own := r.references(body, ids, identifiers, wire.HistoryIDs)
	if f := r.invalid(); f != nil {
		return f
	}

	days = min(days, r.Plan.HistoryDays)
	out.Body = wire.AppendInt(out.Body, `{"days":`, int64(days))
	out.Body = r.View.AppendDates(append(out.Body, `,"dates":[`...), days)
	out.Body = append(out.Body, `],"data":[`...)
	format := batchFormat{
		limit: r.Plan.MaxPrices, header: wire.HistoryHeader,
		object: func(dst []byte, card int) []byte { return r.View.AppendHistoryColumns(dst, card, days, variant) },
		rows: func(dst []byte, card int, _ string) []byte {
			return r.View.AppendHistoryRows(dst, card, days, variant)
		},
	}
	return format.append(r, out, refs, own)
}

// daysMember reads the range of histories. It records problems.
func daysMember(r *Request, value jsonwalk.Value) int {
	n, ok := value.Integer()
	bounds := wire.HistoryDays
	switch {
	case !ok:
		r.problem("days must be a whole number between %d and %d (got %s)", bounds.Min, bounds.Max,
			jsonwalk.KindName(value.Kind()))
	case !bounds.Has(n):
		r.problem("days must be between %d and %d (got %d)", bounds.Min, bounds.Max, n)
	default:
		return int(n)
	}
	return wire.DefaultDays
}

// variantMember reads the variant of histories. It records problems.
func variantMember(r *Request, value jsonwalk.Value) string {
	if value.Kind() != '"' {
		r.problem("variant must be a string (got %s)", jsonwalk.KindName(value.Kind()))
		return ""
	}

	bounds := wire.VariantText
	n := int64(utf8.RuneCountInString(value.Text()))
	if !bounds.Has(n) {
		r.problem("variant must have between %d and %d characters (got %d)", bounds.Min, bounds.Max, n)
	}
	return value.Text()
}
