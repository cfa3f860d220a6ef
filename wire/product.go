package wire

import (
	"strings"

	"ninepocket/snapshot"
)

// previewGame returns the preview contract's code of a game. A catalog built by a newer program
// may have a game that the table lacks. Then the code is made from the slug, as all codes of the
// contract are.
func previewGame(slug string) string {
	if game, known := snapshot.GameBySlug(slug); known {
		return game.Preview
	}
	return strings.ReplaceAll(slug, "-", "_")
}

// AppendProduct appends a Product: a card or a sealed product, by item number.
func AppendProduct(dst []byte, c *snapshot.Catalog, item int, tail string, urls *URLs) []byte {
	cards := c.Cards.ID.Len()
	dst = append(dst, `{"id":"`...)
	dst = append(dst, urls.ProductPrefix...)
	dst = append(dst, '_')
	dst = append(dst, tail...)
	if item < cards {
		dst = AppendText(dst, `","kind":"card","name":`, c.Cards.Name.At(item))
		dst = appendProductCommon(dst, c, item, c.Cards.Game[item], c.Cards.UpdatedAt[item])
		dst = appendSetOf(dst, c, item)
		dst = AppendText(dst, `,"collector_number":`, c.Cards.Number.At(item))
		dst = AppendText(dst, `,"printing":`, c.Cards.Printing.At(item))
		return append(appendOptions(dst, c, item), '}')
	}

	i := item - cards
	// A sealed product is one selection: it has neither variants nor a condition to choose.
	sealed := &c.Sealed
	dst = AppendText(dst, `","kind":"sealed","name":`, sealed.Name.At(i))
	dst = appendProductCommon(dst, c, item, sealed.Game[i], sealed.UpdatedAt[i])
	dst = AppendText(dst, `,"package_type":`, sealed.PackageType.At(i))
	dst = AppendInt(dst, `,"units_per_package":`, int64(sealed.Units[i]))
	dst = AppendText(dst, `,"unit_kind":`, sealed.UnitKind.At(i))
	dst = AppendText(dst, `,"edition":`, sealed.Edition.At(i))
	return append(dst, `,"condition":"factory_sealed"}`...)
}

// appendProductCommon appends the members that both kinds of product have after their name.
func appendProductCommon(dst []byte, c *snapshot.Catalog, item int, game uint8, updatedAt int64) []byte {
	dst = AppendText(dst, `,"game":`, previewGame(c.Games.Slug.At(int(game))))

	dst = append(dst, `,"language":"en","market":"US","identifiers":[`...)
	dst = appendIdentifiers(dst, c, item)
	if item < c.Cards.ID.Len() {
		dst = appendIdentifier(dst, snapshot.OwnNamespace, c.Cards.ID.At(item))
	}

	return AppendMillis(dst, `],"catalog_updated_at":`, updatedAt)
}

// appendOptions appends a card product's price options: every lane observed now or in retained
// history, licensed or not (decision 27).
func appendOptions(dst []byte, c *snapshot.Catalog, item int) []byte {
	dst = append(dst, `,"price_options":[`...)
	for lane, to := c.Lanes.Of.Range(item); lane < to; lane++ {
		dst = AppendText(AppendComma(dst), `{"variant":`, c.Variants.At(int(c.Lanes.Variant[lane])))
		dst = append(AppendText(dst, `,"condition":`, snapshot.Condition(c.Lanes.Condition[lane]).Code()), '}')
	}

	return append(dst, ']')
}

// Selection is a price selection of the preview contract; Variant and Condition are empty for
// sealed products.
type Selection struct{ Kind, ProductID, Variant, Condition string }

// PriceResult is what a price selection led to: a price, or the reason why there is none. A stored
// response has results in place of their text.
type PriceResult struct {
	Missing     MissingReason // HasPrice: the other fields are set
	Cents       int64
	AsOf        int64 // when the source observed the price, ms, or snapshot.NoTime
	CollectedAt int64 // ms
	Attribution string
}

// MissingReason says why a selection has no distributable price (decision 27). Stored responses have
// the numbers.
type MissingReason uint8

// The reasons, in the order of [MissingReasons].
const (
	HasPrice MissingReason = iota
	ReasonNotFound
	ReasonUnsupported
	ReasonNotLicensed
	ReasonNoObservation
)

// MissingReasons are the texts of the reasons in responses; the first one is no reason.
var MissingReasons = [...]string{"", "not_found", "unsupported_selection", "not_licensed", "no_observation"}

// appendSelection appends a selection that was checked: of its texts, only a variant may need escapes.
func appendSelection(dst []byte, s *Selection) []byte {
	dst = append(append(dst, `{"selection":{"kind":"`...), s.Kind...)
	dst = append(append(dst, `","product_id":"`...), s.ProductID...)
	dst = append(dst, '"')
	if s.Kind == "card" {
		dst = AppendText(dst, `,"variant":`, s.Variant)
		dst = append(append(dst, `,"condition":"`...), s.Condition...)
		dst = append(dst, '"')
	}
	return append(dst, '}')
}

// AppendPriceResults appends the results of checked selections as a list. The status of a price is
// computed at the snapshot's instant, at, and not at the request's (decision 28).
func AppendPriceResults(dst []byte, selections []Selection, results []PriceResult, at int64) []byte {
	dst = append(dst, '[')
	var last *PriceResult // whose text ends with end
	var end []byte

	for i := range results {
		dst = appendSelection(AppendComma(dst), &selections[i])
		result := &results[i]
		if result.Missing != HasPrice {
			const missing = `,"status":"missing","price":null,"observation":null,"missing_reason":`
			dst = append(AppendText(dst, missing, MissingReasons[result.Missing]), '}')
			continue
		}

		dst = append(append(dst, `,"status":"`...), priceStatus(result.AsOf, at)...)
		dst = AppendCents(dst, `","price":{"amount_cents":`, result.Cents)

		const observed = `,"currency":"USD"},"observation":{"source":"licensed_reference","source_as_of":`
		dst = AppendMillis(dst, observed, result.AsOf)

		// Most prices of a request were collected together, and end with the same text.
		if last != nil && result.CollectedAt == last.CollectedAt && result.Attribution == last.Attribution {
			dst = append(dst, end...)
			continue
		}
		from := len(dst)
		dst = AppendMillis(dst, `,"collected_at":`, result.CollectedAt)
		dst = AppendText(dst, `,"basis":"market_reference","attribution":`, result.Attribution)
		dst = append(dst, `},"missing_reason":null}`...)
		end = dst[from:]
		last = result
	}
	return append(dst, ']')
}

// priceStatus returns the status of a price that the source observed at asOf.
func priceStatus(asOf, at int64) string {
	switch {
	case asOf == snapshot.NoTime:
		return "unknown"
	case !snapshot.Fresh(asOf, at):
		return "stale"
	}
	return "fresh"
}
