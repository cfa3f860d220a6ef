package api

import (
	"ninepocket/engine"
	"ninepocket/engine/cursor"
	"ninepocket/index"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// searchCards handles GET /v1/cards.
func searchCards(r *Request, out *Reply) *wire.APIError {
	q := r.cardQuery()
	limit := int(r.intArg("limit", wire.PageLimit, wire.DefaultPageLimit))
	priced := r.oneOf("include", "", "prices") != ""
	known := summaryFields
	if priced {
		known = pricedSummaryFields
	}
	fields := r.fieldsArg(known)

	// A cursor is bound to the parameters that decide which cards are found and their order, not to
	// the page's size.
	r.text = q.AppendKey(r.text[:0])
	bound := cursor.Hash("cards", string(r.text))
	after := openCursor(r, cursor.Cards, bound, index.ParsePosition)
	if f := r.invalid(); f != nil {
		return f
	}

	page := r.View.CardsInterpreted(r.cards[:0], q, after, limit)
	r.cards = page.Cards
	if after == nil {
		r.interpret(out, &q, &page)
	}
	if len(page.Cards) == 0 {
		out.reportUnknownCards(r.View.Index, &q.Filter)
	}
	out.Body = append(out.Body, `{"data":[`...)
	if priced || fields != nil {
		appendSummaries(r, out, page.Cards, priced, fields)
	} else {
		out.Body = r.View.AppendSummaries(out.Body, page.Cards)
	}
	out.Body = append(out.Body, ']')

	r.appendNext(out, cursor.Cards, bound, page.More, page.Last.AppendBinary)
	return nil
}

// appendSummaries appends the Card summaries of cards, with prices or without, of which only fields are
// wanted.
func appendSummaries(r *Request, out *Reply, cards []uint32, priced bool, fields fieldNames) {
	for i := range cards {
		record := r.View.AppendSummaries(r.text[:0], cards[i:i+1])
		if priced {
			record = append(wire.AppendPrices(record[:len(record)-1], r.View.Catalog, int(cards[i])), '}')
		}
		out.Body = fields.appendRecord(wire.AppendComma(out.Body), record)
		r.text = record
	}
}

// cardQuery reads the parameters of a search. It records problems.
func (r *Request) cardQuery() index.Query {
	q := index.Query{Filter: index.NoFilter}
	q.Words, q.HasWords = r.wordsArg("q", wire.QueryText)
	q.Set, _ = r.wordsArg("set", wire.SetText)
	q.Game, _ = r.textArg("game", wire.GameText)
	q.Number, _ = r.textArg("number", wire.NumberText)
	q.Rarity, _ = r.textArg("rarity", wire.RarityText)
	q.Variant, _ = r.textArg("variant", wire.VariantText)
	q.Identifier = r.identifierArg()

	q.Min = r.intArg("min_price_cents", wire.PriceCents, snapshot.NoCents)
	q.Max = r.intArg("max_price_cents", wire.PriceCents, snapshot.NoCents)
	if wrong := q.PriceProblem(); wrong != "" {
		r.problem("%s (got %d and %d)", wrong, q.Min, q.Max)
	}

	q.ReleasedAfter = r.dayArg("released_after")
	q.ReleasedBefore = r.dayArg("released_before")
	if q.ReleasedBefore != snapshot.NoDay && q.ReleasedAfter > q.ReleasedBefore {
		r.problem("released_after must not be later than released_before (got %s and %s)", q.ReleasedAfter,
			q.ReleasedBefore)
	}
	q.UpdatedSince = r.instantArg("updated_since")

	q.Sort = index.ParseSort(r.oneOf("sort", index.SortNames[0], index.SortNames...))
	_, given := r.Args.Given("sort")
	q.Ordered = given && index.MayHaveModifier(q.Words)
	return q
}

// listSuggestions handles GET /v1/suggest.
func listSuggestions(r *Request, out *Reply) *wire.APIError {
	query := engine.SuggestQuery{Limit: int(r.intArg("limit", wire.Suggestions, wire.DefaultSuggestions))}
	query.Words, _ = r.wordsArg("q", wire.QueryText)
	query.Game, _ = r.textArg("game", wire.GameText)
	r.require("q", "send what was typed so far")
	if f := r.invalid(); f != nil {
		return f
	}

	out.Body = r.View.AppendSuggestions(out.Body, query)
	if string(out.Body) == `{"data":[]}` {
		out.reportValue(r.View.Index, "game", index.GameKind, query.Game)
	}
	return nil
}

// getCard handles GET /v1/cards/{id}.
func getCard(r *Request, out *Reply) *wire.APIError {
	fields := r.fieldsArg(detailFields)
	card, f := r.card()
	if f != nil {
		return f
	}
	if fields != nil {
		r.text = r.View.AppendDetail(r.text[:0], card)
		out.Body = fields.appendRecord(out.Body, r.text)
		return nil
	}

	out.Body = r.View.AppendDetail(out.Body, card)
	out.Tag = r.View.DetailTag(card)
	out.HasETag = true
	return nil
}

// batchCards handles POST /v1/cards/batch.
func batchCards(r *Request, out *Reply) *wire.APIError {
	return r.batch(out, wire.CardIDs, &batchFormat{
		limit: r.Plan.MaxCards, fields: r.fieldsArg(cardEntryFields), header: wire.LanesHeader,
		object: r.View.AppendDetail,
		rows:   r.View.AppendLaneRows,
	})
}

// batchPrices handles POST /v1/prices/batch of the live surface.
func batchPrices(r *Request, out *Reply) *wire.APIError {
	return r.batch(out, wire.PriceIDs, &batchFormat{
		limit: r.Plan.MaxPrices, fields: r.fieldsArg(priceEntryFields), header: wire.PricesHeader,
		object: r.View.AppendPriceEntry,
		rows: func(dst []byte, card int, _ string) []byte {
			return wire.AppendPriceRow(dst, r.View.Catalog, card)
		},
	})
}
