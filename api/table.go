package api

import (
	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/engine"
	"ninepocket/engine/bulk"
	"ninepocket/wire"
)

const (
	get  = "GET"
	post = "POST"
)

// Operations returns the operations of both REST surfaces, in no particular order.
func Operations() []*Operation {
	live := Operation{Surface: keys.Live}
	takingCSV := Operation{Surface: keys.Live, TakesCSV: true}
	givingCSV := Operation{Surface: keys.Live, GivesCSV: true}
	finding := Operation{Surface: keys.Live, FindsSnapshot: true}
	usage := Operation{Surface: keys.Live, ShowsUsage: true}

	catalog := Operation{Surface: keys.Preview, Scope: keys.CatalogRead}
	prices := Operation{
		Surface: keys.Preview, Scope: keys.PricesRead, RequestHash: hashSelections, Restore: restorePrices,
	}
	previewUsage := Operation{Surface: keys.Preview, Scope: keys.UsageRead, ShowsUsage: true}

	return []*Operation{
		live.with(get, "/v1/games", access.GamesList, storedBody((*engine.View).Games)),
		live.with(get, searchPath, access.CardsSearch, searchCards,
			"q", "set", "game", "number", "rarity", "identifier", "variant", "min_price_cents", "max_price_cents",
			"released_after", "released_before", "updated_since", "sort", "limit", "cursor",
			"include", "fields"),
		live.with(get, "/v1/cards/{id}", access.CardsGet, getCard, "fields"),
		givingCSV.with(post, "/v1/cards/batch", access.CardsBatch, batchCards, "fields"),
		givingCSV.with(get, "/v1/cards/{id}/prices", access.CardPrices, getHistory, "days", "variant"),
		live.with(get, "/v1/cards/{id}/price-stats", access.CardPriceStats, getStats, "window", "variant"),
		live.with(get, "/v1/facets", access.FacetsList, storedBody((*engine.View).Facets)),
		live.with(get, "/v1/suggest", access.SuggestList, listSuggestions, "q", "game", "limit"),
		finding.with(get, "/v1/changes", access.ChangesList, listChanges, "since", "kind", "limit", "cursor"),
		live.with(get, "/v1/sets", access.SetsList, listSets, "q", "series", "game", "limit", "cursor"),
		live.with(get, "/v1/sets/{id}", access.SetsGet, getSet),
		finding.with(get, bulkPath, access.BulkList, listBulk),
		finding.with(get, bulkPath+"/{id}/{name}", access.BulkGet, getBulk),
		live.with(get, "/v1/market/movers", access.MarketMovers, listMovers,
			"direction", "period", "min_price_cents", "set", "game", "limit"),
		givingCSV.with(post, pricesPath, access.PricesBatch, batchPrices, "fields"),
		givingCSV.with(post, historiesPath, access.HistoryBatch, batchHistories),
		takingCSV.with(post, valuationsPath, access.Valuations, createValuation),
		usage.with(get, "/v1/usage", access.UsageGet, getUsage),

		catalog.with(get, "/v1/products", access.ProductsList, listProducts,
			"limit", "cursor", "game", "kind", "partner_id"),
		catalog.with(get, "/v1/products/{id}", access.ProductsGet, getProduct),
		prices.with(post, pricesPath, access.PricesBatch, priceSelections),
		previewUsage.with(get, "/v1/usage", access.UsageGet, getUsage),
	}
}

const (
	searchPath = "/v1/cards"
	pricesPath = "/v1/prices/batch" // of both surfaces

	bulkPath       = "/v1/bulk"
	historiesPath  = "/v1/prices/history/batch"
	valuationsPath = "/v1/valuations"
)

// with returns an operation like another one, at a path. All responses of the preview contract have a meta
// member. The caller's usage differs every time.
func (op Operation) with(method, path string, name access.Operation, run runner, params ...string) *Operation {
	op.Name = name
	op.Method = method
	op.Path = path
	op.Params = params
	op.Run = run
	op.Meta = op.ShowsUsage || op.Surface == keys.Preview
	op.Cacheable = method == get && !op.ShowsUsage
	return &op
}

// storedBody returns an operation whose response every View has.
func storedBody(of func(*engine.View) []byte) runner {
	return func(r *Request, out *Reply) *wire.APIError {
		if f := r.invalid(); f != nil {
			return f
		}
		out.Shared = of(r.View)
		return nil
	}
}

// getUsage handles GET /v1/usage: the credit period on preview, the UTC day on live (decision 15).
func getUsage(r *Request, out *Reply) *wire.APIError {
	if f := r.invalid(); f != nil {
		return f
	}

	usage := &r.Usage
	out.SnapshotAt = r.View.Catalog.SnapshotAt
	shown := wire.Usage{
		Tenant: r.Tenant, From: usage.Period.Start, To: usage.Period.End,
		Limit: usage.Limit, Used: usage.Used, Remaining: usage.Remaining(), PerMinute: int64(r.Plan.PerMinute),
	}

	// The preview contract allows no further members.
	if r.Op.Surface == keys.Live {
		shown.Plan = r.Plan.Name
		shown.Minute.Limit = usage.Minute.Limit
		shown.Minute.Remaining = usage.Minute.Remaining
		shown.Minute.ResetAt = 1000 * usage.Minute.Reset
		about := bulk.Describe(r.View)
		shown.Attribution = about.Attribution
		shown.UseUntil = about.UseUntil.UnixMilli()
		if !r.NextPublication.IsZero() {
			shown.NextPublication = r.NextPublication.UnixMilli()
		}
	}
	out.Body = wire.AppendUsage(out.Body, shown)
	return nil
}
