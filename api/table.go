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
	return []*Operation{
		liveOp(get, "/v1/games", access.GamesList, storedBody((*engine.View).Games)),
		liveOp(get, searchPath, access.CardsSearch, searchCards,
			"q", "set", "game", "number", "rarity", "identifier", "variant", "min_price_cents", "max_price_cents",
			"released_after", "released_before", "updated_since", "sort", "limit", "cursor",
			"include", "fields"),
		liveOp(get, "/v1/cards/{id}", access.CardsGet, getCard, "fields"),
		givingCSV(liveOp(post, "/v1/cards/batch", access.CardsBatch, batchCards, "fields")),
		givingCSV(liveOp(get, "/v1/cards/{id}/prices", access.CardPrices, getHistory, "days", "variant")),
		liveOp(get, "/v1/cards/{id}/price-stats", access.CardPriceStats, getStats, "window", "variant"),
		liveOp(get, "/v1/facets", access.FacetsList, storedBody((*engine.View).Facets)),
		liveOp(get, "/v1/suggest", access.SuggestList, listSuggestions, "q", "game", "limit"),
		finding(liveOp(get, "/v1/changes", access.ChangesList, listChanges, "since", "kind", "limit", "cursor")),
		liveOp(get, "/v1/sets", access.SetsList, listSets, "q", "series", "game", "limit", "cursor"),
		liveOp(get, "/v1/sets/{id}", access.SetsGet, getSet),
		finding(liveOp(get, bulkPath, access.BulkList, listBulk)),
		finding(liveOp(get, bulkPath+"/{id}/{name}", access.BulkGet, getBulk)),
		liveOp(get, "/v1/market/movers", access.MarketMovers, listMovers,
			"direction", "period", "min_price_cents", "set", "game", "limit"),
		givingCSV(liveOp(post, pricesPath, access.PricesBatch, batchPrices, "fields")),
		givingCSV(liveOp(post, historiesPath, access.HistoryBatch, batchHistories)),
		withCSV(liveOp(post, valuationsPath, access.Valuations, createValuation)),
		withUsage(liveOp(get, "/v1/usage", access.UsageGet, getUsage)),

		previewOp(get, "/v1/products", access.ProductsList, keys.CatalogRead, listProducts,
			"limit", "cursor", "game", "kind", "partner_id"),
		previewOp(get, "/v1/products/{id}", access.ProductsGet, keys.CatalogRead, getProduct),
		idempotent(hashSelections, restorePrices,
			previewOp(post, pricesPath, access.PricesBatch, keys.PricesRead, priceSelections)),
		withUsage(previewOp(get, "/v1/usage", access.UsageGet, keys.UsageRead, getUsage)),
	}
}

const (
	searchPath = "/v1/cards"
	pricesPath = "/v1/prices/batch" // of both surfaces

	bulkPath       = "/v1/bulk"
	historiesPath  = "/v1/prices/history/batch"
	valuationsPath = "/v1/valuations"
)

// liveOp returns an operation of the live surface.
func liveOp(method, path string, name access.Operation, run runner, params ...string) *Operation {
	return &Operation{
		Name: name, Method: method, Path: path, Surface: keys.Live, Cacheable: method == get,
		Params: params, Run: run,
	}
}

// previewOp returns an operation of the preview contract, whose responses all have a meta member.
func previewOp(
	method, path string, name access.Operation, scope keys.Scope, run runner, params ...string,
) *Operation {
	op := liveOp(method, path, name, run, params...)
	op.Surface = keys.Preview
	op.Scope = scope
	op.Meta = true
	return op
}

// withUsage makes an operation show the caller's usage, which differs every time.
func withUsage(op *Operation) *Operation {
	op.ShowsUsage = true
	op.Meta = true
	op.Cacheable = false
	return op
}

// withCSV makes an operation accept an app's export as its body.
func withCSV(op *Operation) *Operation {
	op.TakesCSV = true
	return op
}

// givingCSV makes an operation answer with CSV to a client that prefers it.
func givingCSV(op *Operation) *Operation {
	op.GivesCSV = true
	return op
}

// finding makes an operation find the snapshot of a request itself.
func finding(op *Operation) *Operation {
	op.FindsSnapshot = true
	return op
}

// idempotent makes an operation idempotent.
func idempotent(
	identity func(*Request) (access.BodyHash, *wire.APIError),
	restore func(*Request, *Reply, []byte) bool,
	op *Operation,
) *Operation {
	op.RequestHash = identity
	op.Restore = restore
	return op
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
