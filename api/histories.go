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

	refs, ids := r.references(body, wire.HistoryIDs)
	days := min(r.daysMember(body.Member("days")), r.Plan.HistoryDays)
	variant := r.variantMember(body.Member("variant"))
	if f := r.invalid(); f != nil {
		return f
	}

	out.Body = wire.AppendInt(out.Body, `{"days":`, int64(days))
	out.Body = r.View.AppendDates(append(out.Body, `,"dates":[`...), days)
	out.Body = append(out.Body, `],"data":[`...)
	return r.appendEntries(out, refs, ids, r.Plan.MaxPrices, func(dst []byte, card int) []byte {
		return r.View.AppendHistoryColumns(dst, card, days, variant)
	})
}

// daysMember reads the range of histories; absent is the default. It records problems.
func (r *Request) daysMember(value jsonwalk.Value) int {
	if value == nil {
		return wire.DefaultDays
	}

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

// variantMember reads the variant of histories; absent is "", for all. It records problems.
func (r *Request) variantMember(value jsonwalk.Value) string {
	if value == nil {
		return ""
	}
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
