package api

import (
	"ninepocket/access"
	"ninepocket/wire"
)

// Operations are the operations of both REST surfaces. Their order means nothing.
func Operations() []*Operation {
	return []*Operation{
		&gamesList, &cardsSearch, &cardsGet, &cardsBatch, &cardPrices, &cardPriceStats, &setsList, &setsGet,
		&marketMovers, &pricesBatch, &usageGet,
		&productsList, &productsGet, &pricesSelections, &creditsGet,
	}
}

const (
	get  = "GET"
	post = "POST"
)

// The live surface.
var (
	gamesList = Operation{
		Name: access.GamesList, Method: get, Path: "/v1/games", Surface: access.Live, Cacheable: true, Run: listGames,
	}
	cardsSearch = Operation{
		Name: access.CardsSearch, Method: get, Path: "/v1/cards", Surface: access.Live, Cacheable: true,
		Params: []string{
			"q", "set", "game", "number", "rarity", "min_price_cents", "max_price_cents", "sort", "limit", "cursor",
		},
		Run: searchCards,
	}
	cardsGet = Operation{
		Name: access.CardsGet, Method: get, Path: "/v1/cards/{id}", Surface: access.Live, Cacheable: true, Run: getCard,
	}
	cardsBatch = Operation{
		Name: access.CardsBatch, Method: post, Path: "/v1/cards/batch", Surface: access.Live, Run: batchCards,
	}
	cardPrices = Operation{
		Name: access.CardPrices, Method: get, Path: "/v1/cards/{id}/prices", Surface: access.Live, Cacheable: true,
		Params: []string{"days", "variant"}, Run: getHistory,
	}
	cardPriceStats = Operation{
		Name: access.CardPriceStats, Method: get, Path: "/v1/cards/{id}/price-stats", Surface: access.Live,
		Cacheable: true, Params: []string{"window", "variant"}, Run: getStats,
	}
	setsList = Operation{
		Name: access.SetsList, Method: get, Path: "/v1/sets", Surface: access.Live, Cacheable: true,
		Params: []string{"series", "game", "limit", "cursor"}, Run: listSets,
	}
	setsGet = Operation{
		Name: access.SetsGet, Method: get, Path: "/v1/sets/{id}", Surface: access.Live, Cacheable: true, Run: getSet,
	}
	marketMovers = Operation{
		Name: access.MarketMovers, Method: get, Path: "/v1/market/movers", Surface: access.Live, Cacheable: true,
		Params: []string{"direction", "period", "min_price_cents", "set", "game", "limit"}, Run: listMovers,
	}
	pricesBatch = Operation{
		Name: access.PricesBatch, Method: post, Path: "/v1/prices/batch", Surface: access.Live, Run: batchPrices,
	}
	usageGet = Operation{
		Name: access.UsageGet, Method: get, Path: "/v1/usage", Surface: access.Live, ShowsUsage: true, Meta: true,
		Run: getUsage,
	}
)

// The preview contract.
var (
	productsList = Operation{
		Name: access.ProductsList, Method: get, Path: "/v1/products", Surface: access.Preview,
		Scope: access.CatalogRead, Meta: true, Cacheable: true,
		Params: []string{"limit", "cursor", "game", "kind", "partner_id"}, Run: listProducts,
	}
	productsGet = Operation{
		Name: access.ProductsGet, Method: get, Path: "/v1/products/{id}", Surface: access.Preview,
		Scope: access.CatalogRead, Meta: true, Cacheable: true, Run: getProduct,
	}
	pricesSelections = Operation{
		Name: access.PricesBatch, Method: post, Path: "/v1/prices/batch", Surface: access.Preview,
		Scope: access.PricesRead, Meta: true, Identity: readSelections, Run: priceSelections,
	}
	creditsGet = Operation{
		Name: access.UsageGet, Method: get, Path: "/v1/usage", Surface: access.Preview,
		Scope: access.UsageRead, Meta: true, ShowsUsage: true, Run: getUsage,
	}
)

// listGames answers GET /v1/games.
func listGames(r *Request, out *Reply) *wire.Fault {
	if f := r.invalid(); f != nil {
		return f
	}

	out.Stored = r.View.Games()
	return nil
}

// getUsage answers GET /v1/usage: the credit period on preview, the UTC day on live (decision 15).
func getUsage(r *Request, out *Reply) *wire.Fault {
	if f := r.invalid(); f != nil {
		return f
	}

	u := &r.Usage
	out.SnapshotAt = r.View.Catalog.SnapshotAt
	out.Body = wire.AppendUsage(out.Body, wire.Usage{
		Tenant: u.Tenant, From: u.Period.Start, To: u.Period.End,
		Limit: u.Limit, Used: u.Used, Remaining: u.Remaining, PerMinute: int64(u.PerMinute),
	})
	return nil
}
