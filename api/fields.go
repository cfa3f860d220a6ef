package api

import (
	"slices"
	"strings"

	"ninepocket/internal/jsonwalk"
	"ninepocket/wire"
)

// The names that fields takes: the members of records, and those of objects in them.
var (
	cardFields = strings.Fields("id name number game game_name rarity set set.id set.name image_url url")
	laneFields = strings.Fields(`prices prices.variant prices.condition prices.currency prices.market_price_cents
		prices.price_updated_at prices.change_7d_cents prices.change_7d_percent prices.change_30d_cents
		prices.change_30d_percent`)
	summaryFields = append(slices.Clone(cardFields),
		"price", "price.currency", "price.market_price_cents", "price.price_updated_at")
	pricedSummaryFields = slices.Concat(summaryFields, laneFields)

	detailFields = append(slices.Concat(cardFields, laneFields),
		"identifiers", "identifiers.namespace", "identifiers.value", "product_id")
	cardEntryFields  = append(slices.Clone(detailFields), "ref")
	priceEntryFields = strings.Fields("id currency market_price_cents price_updated_at ref")
)

// maxFields is how many names fields takes, as many as a card has members. The document says it by a pattern.
const maxFields = 16

// fieldNames are the members that a client wants of each record; nil means all.
type fieldNames []string

// fieldsArg reads the parameter fields, whose names must be known. It records problems.
func (r *Request) fieldsArg(known []string) fieldNames {
	text, ok := r.Args.Given("fields")
	if !ok {
		return nil
	}
	if r.WantsCSV {
		r.problem("fields is for JSON: leave it out, or do not ask for text/csv")
	}

	names := strings.Split(text, ",")
	if len(names) > maxFields {
		r.problem("fields must have between 1 and %d names (got %d)", maxFields, len(names))
	}

	var unknown []string
	for _, name := range names {
		shown := QuoteInput(name)
		if !slices.Contains(known, name) && !slices.Contains(unknown, shown) && len(unknown) < maxProblems {
			unknown = append(unknown, shown)
		}
	}
	if len(unknown) > 0 {
		r.problem("fields has names that are no member here: %s (there are %s)", joinNames(unknown), joinNames(known))
	}
	return names
}

// appendRecord appends the JSON of a record, of which it leaves the wanted members and the id.
func (f fieldNames) appendRecord(dst, record []byte) []byte {
	if f == nil {
		return append(dst, record...)
	}
	return f.appendPart(dst, record, "")
}

// appendPart appends an object, or a list of objects, with the wanted members; another value as it is. in
// is the name of the member that has it, with a dot, "" for a record.
func (f fieldNames) appendPart(dst []byte, value jsonwalk.Value, in string) []byte {
	switch value.Kind() {
	case '[':
		dst = append(dst, '[')
		for element := range value.Elements() {
			dst = f.appendPart(wire.AppendComma(dst), element, in)
		}
		return append(dst, ']')
	case '{':
	default:
		return append(dst, value...)
	}

	dst = append(dst, '{')
	for key, member := range value.Members() {
		name := in + key.Text()
		whole := name == "id" || slices.Contains(f, name)
		if !whole && !slices.ContainsFunc(f, func(wanted string) bool { return strings.HasPrefix(wanted, name+".") }) {
			continue
		}

		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(append(dst, key...), ':')
		if whole {
			dst = append(dst, member...)
		} else {
			dst = f.appendPart(dst, member, name+".")
		}
	}
	return append(dst, '}')
}
