package api

import (
	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/engine"
	"ninepocket/wire"
)

const (
	get  = "GET"
	post = "POST"
)

// Operations are the operations of both REST surfaces. Their order means nothing.
func Operations() []*Operation {
	return []*Operation{
		live(get, "/v1/games", access.GamesList, stored((*engine.View).Games)),
		live(get, searchPath, access.CardsSearch, searchCards,
			"q", "set", "game", "number", "rarity", "identifier", "variant", "min_price_cents", "max_price_cents",
			"released_after", "released_before", "updated_since", "sort", "limit", "cursor"),
		live(get, "/v1/cards/{id}", access.CardsGet, getCard),
		live(post, "/v1/cards/batch", access.CardsBatch, batchCards),
		live(get, "/v1/cards/{id}/prices", access.CardPrices, getHistory, "days", "variant"),
		live(get, "/v1/cards/{id}/price-stats", access.CardPriceStats, getStats, "window", "variant"),
		live(get, "/v1/facets", access.FacetsList, stored((*engine.View).Facets)),
		live(get, "/v1/sets", access.SetsList, listSets, "q", "series", "game", "limit", "cursor"),
		live(get, "/v1/sets/{id}", access.SetsGet, getSet),
		live(get, "/v1/market/movers", access.MarketMovers, listMovers,
			"direction", "period", "min_price_cents", "set", "game", "limit"),
		live(post, pricesPath, access.PricesBatch, batchPrices),
		csvOf(live(post, valuationsPath, access.Valuations, createValuation)),
		usageOf(live(get, "/v1/usage", access.UsageGet, getUsage)),

		preview(get, "/v1/products", access.ProductsList, keys.CatalogRead, listProducts,
			"limit", "cursor", "game", "kind", "partner_id"),
		preview(get, "/v1/products/{id}", access.ProductsGet, keys.CatalogRead, getProduct),
		onceOf(readSelections,
			preview(post, pricesPath, access.PricesBatch, keys.PricesRead, priceSelections)),
		usageOf(preview(get, "/v1/usage", access.UsageGet, keys.UsageRead, getUsage)),
	}
}

const (
	searchPath = "/v1/cards"
	pricesPath = "/v1/prices/batch" // of both surfaces

	valuationsPath = "/v1/valuations"
)

// live is an operation of the live surface.
func live(method, path string, name access.Operation, run runner, params ...string) *Operation {
	return &Operation{
		Name: name, Method: method, Path: path, Surface: keys.Live, Cacheable: method == get,
		Params: params, Run: run,
	}
}

// preview is an operation of the preview contract, whose answers all have a meta member.
func preview(
	method, path string, name access.Operation, scope keys.Scope, run runner, params ...string,
) *Operation {
	op := live(method, path, name, run, params...)
	op.Surface = keys.Preview
	op.Scope = scope
	op.Meta = true
	return op
}

// usageOf makes an operation one that shows the caller's usage, which is different each time.
func usageOf(op *Operation) *Operation {
	op.ShowsUsage = true
	op.Meta = true
	op.Cacheable = false
	return op
}

// csvOf makes an operation one whose body may be an app's export.
func csvOf(op *Operation) *Operation {
	op.TakesCSV = true
	return op
}

// onceOf makes an operation idempotent.
func onceOf(identity func(*Request) (access.BodyHash, *wire.Fault), op *Operation) *Operation {
	op.Identity = identity
	return op
}

// stored is an operation whose answer every View has.
func stored(of func(*engine.View) []byte) runner {
	return func(r *Request, out *Reply) *wire.Fault {
		if f := r.invalid(); f != nil {
			return f
		}
		out.Stored = of(r.View)
		return nil
	}
}

// getUsage answers GET /v1/usage: the credit period on preview, the UTC day on live (decision 15).
func getUsage(r *Request, out *Reply) *wire.Fault {
	if f := r.invalid(); f != nil {
		return f
	}

	usage := &r.Usage
	out.SnapshotAt = r.View.Catalog.SnapshotAt
	shown := wire.Usage{
		Tenant: usage.Tenant, From: usage.Period.Start, To: usage.Period.End,
		Limit: usage.Limit, Used: usage.Used, Remaining: usage.Remaining, PerMinute: int64(usage.PerMinute),
	}

	// The preview contract's shape is closed.
	if r.Op.Surface == keys.Live {
		shown.Plan = r.Plan.Name
		shown.Minute.Limit = usage.Minute.Limit
		shown.Minute.Remaining = usage.Minute.Remaining
		shown.Minute.ResetAt = 1000 * usage.Minute.Reset
	}
	out.Body = wire.AppendUsage(out.Body, shown)
	return nil
}
