// Code generated from types.go of version 0.1.0, once. DO NOT EDIT.

package ninepocket_test

// This is a program of version 0.1.0. It uses each field and each method of that version, so that it
// compiles only while types change by additions alone. It is never made again: a version adds its own.

import (
	"context"
	"iter"

	ninepocket "ninepocket/clients/go"
)

func _(v ninepocket.Game) {
	var _ string = v.Slug
	var _ string = v.Name
	var _ int64 = v.SetCount
	var _ int64 = v.CardCount
}

func _(v ninepocket.GameList) {
	var _ []ninepocket.Game = v.Data
}

func _(v ninepocket.SetRef) {
	var _ string = v.ID
	var _ string = v.Name
}

func _(v ninepocket.CurrentPrice) {
	var _ string = v.Currency
	var _ *int64 = v.MarketPriceCents
	var _ string = v.PriceUpdatedAt
}

func _(v ninepocket.VariantPrice) {
	var _ string = v.Variant
	var _ string = v.Condition
	var _ string = v.Currency
	var _ int64 = v.MarketPriceCents
	var _ string = v.PriceUpdatedAt
	var _ *int64 = v.Change7dCents
	var _ *float64 = v.Change7dPercent
	var _ *int64 = v.Change30dCents
	var _ *float64 = v.Change30dPercent
}

func _(v ninepocket.CardSummary) {
	var _ string = v.ID
	var _ string = v.Name
	var _ *string = v.Number
	var _ *string = v.Game
	var _ *string = v.GameName
	var _ *string = v.Rarity
	var _ *ninepocket.SetRef = v.Set
	var _ *string = v.ImageURL
	var _ *string = v.URL
	var _ ninepocket.CurrentPrice = v.Price
	var _ []ninepocket.VariantPrice = v.Prices
}

func _(v ninepocket.CardPage) {
	var _ []ninepocket.CardSummary = v.Data
	var _ *string = v.NextCursor
}

func _(v ninepocket.Identifier) {
	var _ string = v.Namespace
	var _ string = v.Value
}

func _(v ninepocket.CardDetail) {
	var _ string = v.ID
	var _ string = v.Name
	var _ *string = v.Number
	var _ *string = v.Game
	var _ *string = v.GameName
	var _ *string = v.Rarity
	var _ *ninepocket.SetRef = v.Set
	var _ *string = v.ImageURL
	var _ *string = v.URL
	var _ []ninepocket.VariantPrice = v.Prices
	var _ []ninepocket.Identifier = v.Identifiers
	var _ *string = v.ProductID
	var _ string = v.Ref
}

func _(v ninepocket.NamedFacet) {
	var _ string = v.Value
	var _ string = v.Name
	var _ int64 = v.Cards
}

func _(v ninepocket.Facet) {
	var _ string = v.Value
	var _ string = v.Game
	var _ int64 = v.Cards
}

func _(v ninepocket.Facets) {
	var _ string = v.SnapshotID
	var _ []ninepocket.NamedFacet = v.Games
	var _ []ninepocket.Facet = v.Series
	var _ []ninepocket.Facet = v.Rarities
	var _ []ninepocket.Facet = v.Variants
	var _ []ninepocket.NamedFacet = v.Conditions
}

func _(v ninepocket.ChangedCard) {
	var _ string = v.ID
	var _ string = v.Name
	var _ *string = v.Number
	var _ *string = v.Game
	var _ *string = v.GameName
	var _ *string = v.Rarity
	var _ *ninepocket.SetRef = v.Set
	var _ *string = v.ImageURL
	var _ *string = v.URL
	var _ []ninepocket.Identifier = v.Identifiers
	var _ *string = v.ProductID
}

func _(v ninepocket.ChangedSet) {
	var _ string = v.ID
	var _ string = v.Name
	var _ *string = v.Series
	var _ *string = v.ReleaseDate
	var _ *int64 = v.CardCount
	var _ *string = v.Game
	var _ *string = v.GameName
}

func _(v ninepocket.ChangedPrice) {
	var _ int64 = v.MarketPriceCents
	var _ string = v.PriceUpdatedAt
}

func _(v ninepocket.Change) {
	var _ string = v.ID
	var _ string = v.Variant
	var _ string = v.Condition
	var _ string = v.Change
	var _ *ninepocket.ChangedCard = v.Card
	var _ *ninepocket.ChangedSet = v.Set
	var _ *ninepocket.ChangedPrice = v.Price
}

func _(v ninepocket.ChangePage) {
	var _ string = v.FromSnapshotID
	var _ string = v.SnapshotID
	var _ []ninepocket.Change = v.Data
	var _ *string = v.NextCursor
}

func _(v ninepocket.BulkFile) {
	var _ string = v.Name
	var _ string = v.MediaType
	var _ string = v.Encoding
	var _ int64 = v.Bytes
	var _ int64 = v.Rows
	var _ string = v.SHA256
	var _ string = v.URL
}

func _(v ninepocket.BulkList) {
	var _ string = v.SnapshotID
	var _ string = v.SnapshotAt
	var _ string = v.UseUntil
	var _ string = v.Attribution
	var _ []ninepocket.BulkFile = v.Files
}

func _(v ninepocket.Suggestion) {
	var _ string = v.Kind
	var _ string = v.Text
	var _ string = v.Game
	var _ int64 = v.Cards
	var _ *string = v.URL
}

func _(v ninepocket.SuggestionList) {
	var _ []ninepocket.Suggestion = v.Data
}

func _(v ninepocket.CardBatchRequest) {
	var _ []string = v.IDs
	var _ []string = v.Identifiers
}

func _(v ninepocket.CardBatch) {
	var _ []ninepocket.CardDetail = v.Data
	var _ []string = v.NotFound
}

func _(v ninepocket.HistoryBatchRequest) {
	var _ []string = v.IDs
	var _ []string = v.Identifiers
	var _ int64 = v.Days
	var _ string = v.Variant
}

func _(v ninepocket.PriceColumn) {
	var _ string = v.Variant
	var _ []*int64 = v.MarketPriceCents
}

func _(v ninepocket.CardColumns) {
	var _ string = v.ID
	var _ []ninepocket.PriceColumn = v.Lanes
	var _ string = v.Ref
}

func _(v ninepocket.HistoryBatch) {
	var _ int64 = v.Days
	var _ []string = v.Dates
	var _ []ninepocket.CardColumns = v.Data
	var _ []string = v.NotFound
}

func _(v ninepocket.PricePoint) {
	var _ string = v.Date
	var _ string = v.Variant
	var _ int64 = v.MarketPriceCents
	var _ string = v.Currency
}

func _(v ninepocket.PriceHistory) {
	var _ string = v.ID
	var _ string = v.Name
	var _ *string = v.URL
	var _ int64 = v.Days
	var _ []ninepocket.PricePoint = v.Data
}

func _(v ninepocket.DatedPrice) {
	var _ string = v.Date
	var _ int64 = v.PriceCents
}

func _(v ninepocket.VariantStatistics) {
	var _ string = v.Variant
	var _ *int64 = v.MinPriceCents
	var _ *int64 = v.MaxPriceCents
	var _ *int64 = v.AveragePriceCents
	var _ *ninepocket.DatedPrice = v.First
	var _ *ninepocket.DatedPrice = v.Last
	var _ *int64 = v.ChangeCents
	var _ *float64 = v.ChangePercent
	var _ int64 = v.DataPoints
}

func _(v ninepocket.PriceStatisticsData) {
	var _ []ninepocket.VariantStatistics = v.Variants
}

func _(v ninepocket.PriceStatistics) {
	var _ string = v.Currency
	var _ string = v.ID
	var _ *string = v.Variant
	var _ string = v.Window
	var _ string = v.WindowStart
	var _ string = v.WindowEnd
	var _ ninepocket.PriceStatisticsData = v.Data
}

func _(v ninepocket.SetSummary) {
	var _ string = v.ID
	var _ string = v.Name
	var _ *string = v.Series
	var _ *string = v.ReleaseDate
	var _ *int64 = v.CardCount
	var _ *string = v.Game
	var _ *string = v.GameName
}

func _(v ninepocket.SetPage) {
	var _ []ninepocket.SetSummary = v.Data
	var _ *string = v.NextCursor
}

func _(v ninepocket.TopCard) {
	var _ string = v.ID
	var _ string = v.Name
	var _ *string = v.Number
	var _ *string = v.URL
	var _ string = v.Currency
	var _ *int64 = v.MarketPriceCents
}

func _(v ninepocket.SetDetail) {
	var _ string = v.ID
	var _ string = v.Name
	var _ *string = v.Series
	var _ *string = v.ReleaseDate
	var _ *int64 = v.CardCount
	var _ *string = v.Game
	var _ *string = v.GameName
	var _ *string = v.URL
	var _ []ninepocket.TopCard = v.TopCards
}

func _(v ninepocket.Mover) {
	var _ string = v.ID
	var _ string = v.Name
	var _ *string = v.Number
	var _ *string = v.Game
	var _ *string = v.GameName
	var _ *ninepocket.SetRef = v.Set
	var _ *string = v.URL
	var _ string = v.Currency
	var _ *int64 = v.MarketPriceCents
	var _ *int64 = v.PriceChangeCents
	var _ *float64 = v.PriceChangePercent
	var _ string = v.PriceUpdatedAt
}

func _(v ninepocket.MoverList) {
	var _ []ninepocket.Mover = v.Data
	var _ string = v.Direction
	var _ int64 = v.PeriodDays
}

func _(v ninepocket.PriceBatchRequest) {
	var _ []string = v.IDs
	var _ []string = v.Identifiers
}

func _(v ninepocket.PriceEntry) {
	var _ string = v.ID
	var _ string = v.Currency
	var _ *int64 = v.MarketPriceCents
	var _ string = v.PriceUpdatedAt
	var _ string = v.Ref
}

func _(v ninepocket.PriceBatch) {
	var _ []ninepocket.PriceEntry = v.Data
	var _ []string = v.NotFound
}

func _(v ninepocket.ValuationItem) {
	var _ string = v.ID
	var _ string = v.Identifier
	var _ string = v.Line
	var _ string = v.Name
	var _ string = v.Set
	var _ string = v.Number
	var _ string = v.Game
	var _ string = v.Variant
	var _ string = v.Condition
	var _ int64 = v.Quantity
}

func _(v ninepocket.ValuationRequest) {
	var _ []ninepocket.ValuationItem = v.Items
}

func _(v ninepocket.Assumption) {
	var _ string = v.Field
	var _ string = v.Given
	var _ string = v.Used
}

func _(v ninepocket.CentsRange) {
	var _ int64 = v.FromCents
	var _ int64 = v.ToCents
}

func _(v ninepocket.ValuedItem) {
	var _ int64 = v.Index
	var _ string = v.Status
	var _ *ninepocket.CardSummary = v.Card
	var _ *string = v.Variant
	var _ *string = v.Condition
	var _ int64 = v.Quantity
	var _ *int64 = v.UnitPriceCents
	var _ *int64 = v.TotalCents
	var _ *string = v.PriceUpdatedAt
	var _ []ninepocket.Assumption = v.Assumed
	var _ []ninepocket.CardSummary = v.Candidates
	var _ []ninepocket.CardSummary = v.Alternates
	var _ int64 = v.Fitting
	var _ *ninepocket.CentsRange = v.Range
	var _ any = v.Ask
	var _ []string = v.Ignored
	var _ *string = v.Note
}

func _(v ninepocket.ValuationTotals) {
	var _ int64 = v.ExactCents
	var _ int64 = v.AssumedCents
	var _ int64 = v.Quantity
	var _ int64 = v.Priced
	var _ int64 = v.Unpriced
	var _ int64 = v.Ambiguous
	var _ int64 = v.Unmatched
}

func _(v ninepocket.Valuation) {
	var _ []ninepocket.ValuedItem = v.Items
	var _ ninepocket.ValuationTotals = v.Totals
	var _ string = v.Currency
	var _ string = v.SnapshotID
	var _ string = v.SnapshotAt
}

func _(v ninepocket.Meta) {
	var _ string = v.RequestID
	var _ string = v.SnapshotAt
	var _ int64 = v.BillableUnits
	var _ bool = v.IdempotentReplay
}

func _(v ninepocket.Minute) {
	var _ int64 = v.Limit
	var _ int64 = v.Remaining
	var _ string = v.ResetAt
}

func _(v ninepocket.Usage) {
	var _ string = v.TenantID
	var _ string = v.PeriodStart
	var _ string = v.PeriodEnd
	var _ int64 = v.RequestCreditsLimit
	var _ int64 = v.RequestCreditsUsed
	var _ int64 = v.RequestCreditsRemaining
	var _ int64 = v.RateLimitPerMinute
	var _ string = v.Plan
	var _ *ninepocket.Minute = v.Minute
	var _ string = v.NextPublicationAt
}

func _(v ninepocket.UsageReport) {
	var _ ninepocket.Usage = v.Data
	var _ ninepocket.Meta = v.Meta
}

func _(v ninepocket.OpenAPIDocument) {
	var _ string = v.Openapi
	var _ any = v.Info
	var _ any = v.Paths
}

func _(v ninepocket.Health) {
	var _ string = v.Status
	var _ string = v.SnapshotID
}

func _(v ninepocket.Unfit) {
	var _ string = v.Status
	var _ *string = v.SnapshotID
}

func _(v ninepocket.Problem) {
	var _ string = v.Type
	var _ string = v.Title
	var _ int64 = v.Status
	var _ string = v.Detail
	var _ string = v.Code
	var _ string = v.RequestID
}

func _(v ninepocket.RetryProblem) {
	var _ string = v.Type
	var _ string = v.Title
	var _ int64 = v.Status
	var _ string = v.Detail
	var _ string = v.Code
	var _ string = v.RequestID
	var _ int64 = v.RetryAfterSeconds
}

func _(v ninepocket.PreviewErrorError) {
	var _ string = v.Code
	var _ string = v.Message
	var _ string = v.RequestID
	var _ any = v.RetryAfterSeconds
}

func _(v ninepocket.PreviewError) {
	var _ ninepocket.PreviewErrorError = v.Error
}

func _(v ninepocket.PreviewRetryErrorError) {
	var _ string = v.Code
	var _ string = v.Message
	var _ string = v.RequestID
	var _ int64 = v.RetryAfterSeconds
}

func _(v ninepocket.PreviewRetryError) {
	var _ ninepocket.PreviewRetryErrorError = v.Error
}

func _(v ninepocket.PriceOption) {
	var _ string = v.Variant
	var _ string = v.Condition
}

func _(v ninepocket.CardProductSet) {
	var _ string = v.ID
	var _ string = v.Name
}

func _(v ninepocket.CardProduct) {
	var _ string = v.ID
	var _ string = v.Kind
	var _ string = v.Name
	var _ string = v.Game
	var _ string = v.Language
	var _ string = v.Market
	var _ []ninepocket.Identifier = v.Identifiers
	var _ string = v.CatalogUpdatedAt
	var _ ninepocket.CardProductSet = v.Set
	var _ string = v.CollectorNumber
	var _ string = v.Printing
	var _ []ninepocket.PriceOption = v.PriceOptions
}

func _(v ninepocket.SealedProduct) {
	var _ string = v.ID
	var _ string = v.Kind
	var _ string = v.Name
	var _ string = v.Game
	var _ string = v.Language
	var _ string = v.Market
	var _ []ninepocket.Identifier = v.Identifiers
	var _ string = v.CatalogUpdatedAt
	var _ string = v.PackageType
	var _ int64 = v.UnitsPerPackage
	var _ string = v.UnitKind
	var _ string = v.Edition
	var _ string = v.Condition
}

func _(v ninepocket.Product) {
	var _ string = v.ID
	var _ string = v.Kind
	var _ string = v.Name
	var _ string = v.Game
	var _ string = v.Language
	var _ string = v.Market
	var _ []ninepocket.Identifier = v.Identifiers
	var _ string = v.CatalogUpdatedAt
	var _ *ninepocket.CardProductSet = v.Set
	var _ string = v.CollectorNumber
	var _ string = v.Printing
	var _ []ninepocket.PriceOption = v.PriceOptions
	var _ string = v.PackageType
	var _ int64 = v.UnitsPerPackage
	var _ string = v.UnitKind
	var _ string = v.Edition
	var _ string = v.Condition
}

func _(v ninepocket.ProductPagePagination) {
	var _ *string = v.NextCursor
}

func _(v ninepocket.ProductPage) {
	var _ []ninepocket.Product = v.Data
	var _ ninepocket.ProductPagePagination = v.Pagination
	var _ ninepocket.Meta = v.Meta
}

func _(v ninepocket.ProductReport) {
	var _ ninepocket.Product = v.Data
	var _ ninepocket.Meta = v.Meta
}

func _(v ninepocket.CardSelection) {
	var _ string = v.Kind
	var _ string = v.ProductID
	var _ string = v.Variant
	var _ string = v.Condition
}

func _(v ninepocket.SealedSelection) {
	var _ string = v.Kind
	var _ string = v.ProductID
}

func _(v ninepocket.PriceSelection) {
	var _ string = v.Kind
	var _ string = v.ProductID
	var _ string = v.Variant
	var _ string = v.Condition
}

func _(v ninepocket.PreviewPriceBatchRequest) {
	var _ []ninepocket.PriceSelection = v.Items
}

func _(v ninepocket.Money) {
	var _ int64 = v.AmountCents
	var _ string = v.Currency
}

func _(v ninepocket.DatedObservation) {
	var _ string = v.Source
	var _ string = v.SourceAsOf
	var _ string = v.CollectedAt
	var _ string = v.Basis
	var _ string = v.Attribution
}

func _(v ninepocket.UndatedObservation) {
	var _ string = v.Source
	var _ any = v.SourceAsOf
	var _ string = v.CollectedAt
	var _ string = v.Basis
	var _ string = v.Attribution
}

func _(v ninepocket.DatedPriceResult) {
	var _ ninepocket.PriceSelection = v.Selection
	var _ string = v.Status
	var _ ninepocket.Money = v.Price
	var _ ninepocket.DatedObservation = v.Observation
	var _ any = v.MissingReason
}

func _(v ninepocket.UndatedPriceResult) {
	var _ ninepocket.PriceSelection = v.Selection
	var _ string = v.Status
	var _ ninepocket.Money = v.Price
	var _ ninepocket.UndatedObservation = v.Observation
	var _ any = v.MissingReason
}

func _(v ninepocket.MissingPriceResult) {
	var _ ninepocket.PriceSelection = v.Selection
	var _ string = v.Status
	var _ any = v.Price
	var _ any = v.Observation
	var _ string = v.MissingReason
}

func _(v ninepocket.PriceResult) {
	var _ ninepocket.PriceSelection = v.Selection
	var _ string = v.Status
	var _ *ninepocket.Money = v.Price
	var _ *ninepocket.PriceResultObservation = v.Observation
	var _ *string = v.MissingReason
}

func _(v ninepocket.PreviewPriceBatch) {
	var _ []ninepocket.PriceResult = v.Data
	var _ ninepocket.Meta = v.Meta
}

func _(v ninepocket.CardsSearchParams) {
	var _ string = v.Q
	var _ string = v.Set
	var _ string = v.Game
	var _ string = v.Number
	var _ string = v.Rarity
	var _ string = v.Identifier
	var _ string = v.Variant
	var _ *int64 = v.MinPriceCents
	var _ *int64 = v.MaxPriceCents
	var _ string = v.ReleasedAfter
	var _ string = v.ReleasedBefore
	var _ string = v.UpdatedSince
	var _ string = v.Sort
	var _ int64 = v.Limit
	var _ string = v.Cursor
	var _ string = v.Include
	var _ string = v.Fields
}

func _(v ninepocket.CardsGetParams) {
	var _ string = v.Fields
}

func _(v ninepocket.CardPricesParams) {
	var _ int64 = v.Days
	var _ string = v.Variant
}

func _(v ninepocket.CardPriceStatsParams) {
	var _ string = v.Window
	var _ string = v.Variant
}

func _(v ninepocket.SuggestListParams) {
	var _ string = v.Q
	var _ string = v.Game
	var _ int64 = v.Limit
}

func _(v ninepocket.ChangesListParams) {
	var _ string = v.Since
	var _ string = v.Kind
	var _ int64 = v.Limit
	var _ string = v.Cursor
}

func _(v ninepocket.SetsListParams) {
	var _ string = v.Q
	var _ string = v.Series
	var _ string = v.Game
	var _ int64 = v.Limit
	var _ string = v.Cursor
}

func _(v ninepocket.MarketMoversParams) {
	var _ string = v.Direction
	var _ float64 = v.Period
	var _ *int64 = v.MinPriceCents
	var _ string = v.Set
	var _ string = v.Game
	var _ int64 = v.Limit
}

func _(v ninepocket.ProductsListParams) {
	var _ int64 = v.Limit
	var _ string = v.Cursor
	var _ string = v.Game
	var _ string = v.Kind
	var _ string = v.PartnerID
}

func _(v ninepocket.PriceResultObservation) {
	var _ string = v.Source
	var _ *string = v.SourceAsOf
	var _ string = v.CollectedAt
	var _ string = v.Basis
	var _ string = v.Attribution
}

// methods is the set of methods that a client had.
type methods interface {
	Games(ctx context.Context) (*ninepocket.GameList, error)
	Cards(ctx context.Context, p ninepocket.CardsSearchParams) iter.Seq2[ninepocket.CardSummary, error]
	Card(ctx context.Context, id string, p ninepocket.CardsGetParams) (*ninepocket.CardDetail, error)
	CardsBatch(ctx context.Context, b ninepocket.Batch) (*ninepocket.CardBatch, error)
	History(ctx context.Context, id string, p ninepocket.CardPricesParams) (*ninepocket.PriceHistory, error)
	PriceStats(ctx context.Context, id string, p ninepocket.CardPriceStatsParams) (*ninepocket.PriceStatistics, error)
	Facets(ctx context.Context) (*ninepocket.Facets, error)
	Suggest(ctx context.Context, p ninepocket.SuggestListParams) (*ninepocket.SuggestionList, error)
	Sets(ctx context.Context, p ninepocket.SetsListParams) iter.Seq2[ninepocket.SetSummary, error]
	Set(ctx context.Context, id string) (*ninepocket.SetDetail, error)
	Movers(ctx context.Context, p ninepocket.MarketMoversParams) (*ninepocket.MoverList, error)
	PricesBatch(ctx context.Context, b ninepocket.Batch) (*ninepocket.PriceBatch, error)
	HistoriesBatch(ctx context.Context, b ninepocket.Batch) (*ninepocket.HistoryBatch, error)
	Bulk(ctx context.Context) (*ninepocket.BulkList, error)
	Usage(ctx context.Context) (*ninepocket.UsageReport, error)
	Products(ctx context.Context, p ninepocket.ProductsListParams) iter.Seq2[ninepocket.Product, error]
	Product(ctx context.Context, id string) (*ninepocket.ProductReport, error)
	Changes(ctx context.Context, p ninepocket.ChangesListParams) iter.Seq2[ninepocket.Change, error]
	PriceRows(ctx context.Context, b ninepocket.Batch) (*ninepocket.PriceBatch, error)
	Value(ctx context.Context, items []ninepocket.ValuationItem) (*ninepocket.Valuation, error)
	ValueCSV(ctx context.Context, table []byte) (*ninepocket.Valuation, error)
	PreviewPrices(ctx context.Context, job string, selections []ninepocket.PriceSelection) ([]ninepocket.PriceResult, error)
	At(snapshot string) *ninepocket.Client
}

var _ methods = (*ninepocket.Client)(nil)
