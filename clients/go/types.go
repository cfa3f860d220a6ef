// Code generated from the OpenAPI document by "make generate". DO NOT EDIT.

package ninepocket

import (
	"context"
	"iter"
	"net/url"
	"strconv"
)

// ValueOf returns what a field has that may be null, and the zero of its type for null.
func ValueOf[T any](field *T) T {
	if field == nil {
		return *new(T)
	}
	return *field
}

// Game is one of the API's records:
// One trading-card game.
type Game struct {
	Slug      string `json:"slug"`       // Stable slug, the value of every `game` parameter
	Name      string `json:"name"`       // Display name
	SetCount  int64  `json:"set_count"`  // Sets in the game's catalog
	CardCount int64  `json:"card_count"` // Cards in the game's catalog
}

// GameList is one of the API's records.
type GameList struct {
	Data []Game `json:"data"`
}

// SetRef is one of the API's records:
// The set that a card belongs to.
type SetRef struct {
	ID   string `json:"id"` // Opaque, stable set id
	Name string `json:"name"`
}

// CurrentPrice is one of the API's records:
// The price to show for a card: its first variant that has one, in the best condition that has
// one. Without a price, `price_updated_at` is the time of the snapshot.
type CurrentPrice struct {
	Currency         string `json:"currency"`
	MarketPriceCents *int64 `json:"market_price_cents"`
	PriceUpdatedAt   string `json:"price_updated_at"`
}

// VariantPrice is one of the API's records:
// The current price of one variant in one condition, with its change against the latest price at
// least 7 or 30 days old (and at most 7 days older than that).
type VariantPrice struct {
	Variant          string   `json:"variant"`
	Condition        string   `json:"condition"`
	Currency         string   `json:"currency"`
	MarketPriceCents int64    `json:"market_price_cents"`
	PriceUpdatedAt   string   `json:"price_updated_at"`
	Change7dCents    *int64   `json:"change_7d_cents"`
	Change7dPercent  *float64 `json:"change_7d_percent"`
	Change30dCents   *int64   `json:"change_30d_cents"`
	Change30dPercent *float64 `json:"change_30d_percent"`
}

// CardSummary is one of the API's records:
// A card as search lists it.
type CardSummary struct {
	ID       string         `json:"id"` // Opaque, stable card id
	Name     string         `json:"name"`
	Number   *string        `json:"number"` // Card number as printed, such as `4/102` or `OP05-119`
	Game     *string        `json:"game"`
	GameName *string        `json:"game_name"`
	Rarity   *string        `json:"rarity"`
	Set      *SetRef        `json:"set"`
	ImageURL *string        `json:"image_url"` // URL of its picture on this service; null where there is none
	URL      *string        `json:"url"`       // Public card page
	Price    CurrentPrice   `json:"price"`
	Prices   []VariantPrice `json:"prices,omitempty"` // With `include=prices` only: every variant and condition that has a …
}

// CardPage is one of the API's records.
type CardPage struct {
	Data       []CardSummary `json:"data"`
	NextCursor *string       `json:"next_cursor"`
}

func (r *CardPage) rows() ([]CardSummary, *string) { return r.Data, r.NextCursor }

func (r *CardSummary) identity() string { return r.ID }

// Identifier is one of the API's records:
// The name of a card or product in another catalog. Namespaces are `tcgplayer` (product ids),
// `pokemon-tcg-data`, `punk-records`, and those of the operator's sources. Two cards may share an
// identifier.
type Identifier struct {
	Namespace string `json:"namespace"`
	Value     string `json:"value"`
}

// CardDetail is one of the API's records:
// A card with its current prices.
type CardDetail struct {
	ID          string         `json:"id"` // Opaque, stable card id
	Name        string         `json:"name"`
	Number      *string        `json:"number"` // Card number as printed, such as `4/102` or `OP05-119`
	Game        *string        `json:"game"`
	GameName    *string        `json:"game_name"`
	Rarity      *string        `json:"rarity"`
	Set         *SetRef        `json:"set"`
	ImageURL    *string        `json:"image_url"`     // URL of its picture on this service; null where there is none
	URL         *string        `json:"url"`           // Public card page
	Prices      []VariantPrice `json:"prices"`        // Every variant and condition that has a price
	Identifiers []Identifier   `json:"identifiers"`   // The names of the card in other catalogs
	ProductID   *string        `json:"product_id"`    // Id of the card as a product; null when it is no verified product
	Ref         string         `json:"ref,omitempty"` // In batches: the identifier that asked for this entry
}

// NamedFacet is one of the API's records:
// A value and how it is shown.
type NamedFacet struct {
	Value string `json:"value"`
	Name  string `json:"name"`
	Cards int64  `json:"cards"` // Cards that have it
}

// Facet is one of the API's records:
// A value that cards of a game have.
type Facet struct {
	Value string `json:"value"`
	Game  string `json:"game"`  // Slug of the game
	Cards int64  `json:"cards"` // Cards of the game that have it: of a series, cards of its sets; of a …
}

// Facets is one of the API's records.
type Facets struct {
	SnapshotID string       `json:"snapshot_id"` // The snapshot that was counted
	Games      []NamedFacet `json:"games"`
	Series     []Facet      `json:"series"`
	Rarities   []Facet      `json:"rarities"`
	Variants   []Facet      `json:"variants"`
	Conditions []NamedFacet `json:"conditions"` // Cards with a price in each, in the order in which a price is chosen
}

// ChangedCard is one of the API's records:
// A card without its prices, as it is now; null when it is removed.
type ChangedCard struct {
	ID          string       `json:"id"` // Opaque, stable card id
	Name        string       `json:"name"`
	Number      *string      `json:"number"` // Card number as printed, such as `4/102` or `OP05-119`
	Game        *string      `json:"game"`
	GameName    *string      `json:"game_name"`
	Rarity      *string      `json:"rarity"`
	Set         *SetRef      `json:"set"`
	ImageURL    *string      `json:"image_url"`   // URL of its picture on this service; null where there is none
	URL         *string      `json:"url"`         // Public card page
	Identifiers []Identifier `json:"identifiers"` // The names of the card in other catalogs
	ProductID   *string      `json:"product_id"`  // Id of the card as a product; null when it is no verified product
}

// ChangedSet is one of the API's records:
// A set as it is now; null when it is removed.
type ChangedSet struct {
	ID          string  `json:"id"` // Opaque, stable set id
	Name        string  `json:"name"`
	Series      *string `json:"series"`
	ReleaseDate *string `json:"release_date"`
	CardCount   *int64  `json:"card_count"`
	Game        *string `json:"game"`
	GameName    *string `json:"game_name"`
}

// ChangedPrice is one of the API's records:
// A price as it is now; null when it is removed.
type ChangedPrice struct {
	MarketPriceCents int64  `json:"market_price_cents"`
	PriceUpdatedAt   string `json:"price_updated_at"`
}

// Change is one of the API's records:
// A row that changed. With `kind=cards` it has `card`, with `kind=sets` `set`, and with
// `kind=prices` `variant`, `condition` and `price`; it never has the others.
type Change struct {
	ID        string        `json:"id"` // Id of the card, or of the set
	Variant   string        `json:"variant,omitempty"`
	Condition string        `json:"condition,omitempty"`
	Change    string        `json:"change"`
	Card      *ChangedCard  `json:"card,omitempty"`
	Set       *ChangedSet   `json:"set,omitempty"`
	Price     *ChangedPrice `json:"price,omitempty"`
}

// ChangePage is one of the API's records.
type ChangePage struct {
	FromSnapshotID string   `json:"from_snapshot_id"` // The snapshot of `since`
	SnapshotID     string   `json:"snapshot_id"`      // The snapshot to which the rows lead, on all pages
	Data           []Change `json:"data"`
	NextCursor     *string  `json:"next_cursor"`
}

func (r *ChangePage) rows() ([]Change, *string) { return r.Data, r.NextCursor }

func (r *Change) identity() string { return r.ID + " " + r.Variant + " " + r.Condition }

// BulkFile is one of the API's records:
// A file of the whole catalog.
type BulkFile struct {
	Name      string `json:"name"`
	MediaType string `json:"media_type"` // Media type of the content, unpacked
	Encoding  string `json:"encoding"`   // How the file is compressed
	Bytes     int64  `json:"bytes"`      // Length of the file
	Rows      int64  `json:"rows"`       // Lines of the content, without a header line
	SHA256    string `json:"sha256"`     // SHA-256 of the file
	URL       string `json:"url"`        // Where the file is
}

// BulkList is one of the API's records.
type BulkList struct {
	SnapshotID  string     `json:"snapshot_id"` // The snapshot of the files
	SnapshotAt  string     `json:"snapshot_at"`
	UseUntil    string     `json:"use_until"`   // Until when the prices may be used: 24 hours after `snapshot_at`
	Attribution string     `json:"attribution"` // The source to name next to the data
	Files       []BulkFile `json:"files"`       // Empty until they are made, and where the operator may not pass the …
}

// Suggestion is one of the API's records.
type Suggestion struct {
	Kind  string  `json:"kind"`
	Text  string  `json:"text"`  // A name without what stands in brackets behind it, a set's name, or a …
	Game  string  `json:"game"`  // Slug of the game
	Cards int64   `json:"cards"` // How many cards it means
	URL   *string `json:"url"`   // Public page: of the set, of the card where there is one alone, else of …
}

// SuggestionList is one of the API's records.
type SuggestionList struct {
	Data []Suggestion `json:"data"`
}

// CardBatchRequest is one of the API's records:
// Cards by our ids, by those of other catalogs, or by both: at least one of the two lists, and 200
// entries in both together. Unknown members are ignored.
type CardBatchRequest struct {
	IDs         []string `json:"ids,omitempty"`         // Card ids or slugs
	Identifiers []string `json:"identifiers,omitempty"` // The names of cards in other catalogs, as `NAMESPACE:VALUE`
}

// CardBatch is one of the API's records.
type CardBatch struct {
	Data     []CardDetail `json:"data"`      // In the order of the request, ids before identifiers
	NotFound []string     `json:"not_found"` // The requested ids and identifiers that match no card, unchanged
}

// HistoryBatchRequest is one of the API's records:
// Cards by our ids, by those of other catalogs, or by both: at least one of the two lists, and 50
// entries in both together. Unknown members are ignored.
type HistoryBatchRequest struct {
	IDs         []string `json:"ids,omitempty"`         // Card ids or slugs
	Identifiers []string `json:"identifiers,omitempty"` // The names of cards in other catalogs, as `NAMESPACE:VALUE`
	Days        int64    `json:"days,omitempty"`        // Days up to the date of the snapshot
	Variant     string   `json:"variant,omitempty"`     // One variant only: its code, or the words that people write for the …
}

// PriceColumn is one of the API's records:
// The display prices of a variant, one for each date.
type PriceColumn struct {
	Variant          string   `json:"variant"`
	MarketPriceCents []*int64 `json:"market_price_cents"` // As long as `dates`; null where the history has no point
}

// CardColumns is one of the API's records.
type CardColumns struct {
	ID    string        `json:"id"`            // Card id
	Lanes []PriceColumn `json:"lanes"`         // The variants with a price in the window
	Ref   string        `json:"ref,omitempty"` // The identifier that asked for this entry
}

// HistoryBatch is one of the API's records.
type HistoryBatch struct {
	Days     int64         `json:"days"`      // Days covered: those asked for, or fewer where the plan's history range …
	Dates    []string      `json:"dates"`     // All days of the window, ascending
	Data     []CardColumns `json:"data"`      // In the order of the request, ids before identifiers
	NotFound []string      `json:"not_found"` // The requested ids and identifiers that match no card, unchanged
}

// PricePoint is one of the API's records:
// The display price of a variant on one day. A day without an observation has no point; nothing is
// filled in.
type PricePoint struct {
	Date             string `json:"date"`
	Variant          string `json:"variant"`
	MarketPriceCents int64  `json:"market_price_cents"`
	Currency         string `json:"currency"`
}

// PriceHistory is one of the API's records.
type PriceHistory struct {
	ID   string       `json:"id"` // Card id
	Name string       `json:"name"`
	URL  *string      `json:"url"`
	Days int64        `json:"days"` // Days covered: those asked for, or fewer where the plan's history range …
	Data []PricePoint `json:"data"` // By date, then variant
}

// DatedPrice is one of the API's records.
type DatedPrice struct {
	Date       string `json:"date"`
	PriceCents int64  `json:"price_cents"`
}

// VariantStatistics is one of the API's records:
// Statistics of one variant. Variants are never blended.
type VariantStatistics struct {
	Variant           string      `json:"variant"`
	MinPriceCents     *int64      `json:"min_price_cents"`
	MaxPriceCents     *int64      `json:"max_price_cents"`
	AveragePriceCents *int64      `json:"average_price_cents"` // Mean over the days with a price, rounded half away from zero
	First             *DatedPrice `json:"first"`               // The first price in the window
	Last              *DatedPrice `json:"last"`                // The last price in the window
	ChangeCents       *int64      `json:"change_cents"`
	ChangePercent     *float64    `json:"change_percent"`
	DataPoints        int64       `json:"data_points"` // Days in the window that have a price
}

// PriceStatisticsData is one of the API's records.
type PriceStatisticsData struct {
	Variants []VariantStatistics `json:"variants"` // Empty when no price falls in the window
}

// PriceStatistics is one of the API's records.
type PriceStatistics struct {
	Currency    string              `json:"currency"`
	ID          string              `json:"id"`      // Card id
	Variant     *string             `json:"variant"` // The variant asked for; null when all are listed
	Window      string              `json:"window"`
	WindowStart string              `json:"window_start"`
	WindowEnd   string              `json:"window_end"`
	Data        PriceStatisticsData `json:"data"`
}

// SetSummary is one of the API's records.
type SetSummary struct {
	ID          string  `json:"id"` // Opaque, stable set id
	Name        string  `json:"name"`
	Series      *string `json:"series"`
	ReleaseDate *string `json:"release_date"`
	CardCount   *int64  `json:"card_count"`
	Game        *string `json:"game"`
	GameName    *string `json:"game_name"`
}

// SetPage is one of the API's records.
type SetPage struct {
	Data       []SetSummary `json:"data"`
	NextCursor *string      `json:"next_cursor"`
}

func (r *SetPage) rows() ([]SetSummary, *string) { return r.Data, r.NextCursor }

func (r *SetSummary) identity() string { return r.ID }

// TopCard is one of the API's records.
type TopCard struct {
	ID               string  `json:"id"` // Card id
	Name             string  `json:"name"`
	Number           *string `json:"number"`
	URL              *string `json:"url"`
	Currency         string  `json:"currency"`
	MarketPriceCents *int64  `json:"market_price_cents"`
}

// SetDetail is one of the API's records.
type SetDetail struct {
	ID          string    `json:"id"` // Opaque, stable set id
	Name        string    `json:"name"`
	Series      *string   `json:"series"`
	ReleaseDate *string   `json:"release_date"`
	CardCount   *int64    `json:"card_count"`
	Game        *string   `json:"game"`
	GameName    *string   `json:"game_name"`
	URL         *string   `json:"url"`       // Public set page
	TopCards    []TopCard `json:"top_cards"` // The ten cards of the highest current price
}

// Mover is one of the API's records.
type Mover struct {
	ID                 string   `json:"id"` // Card id
	Name               string   `json:"name"`
	Number             *string  `json:"number"`
	Game               *string  `json:"game"`
	GameName           *string  `json:"game_name"`
	Set                *SetRef  `json:"set"`
	URL                *string  `json:"url"`
	Currency           string   `json:"currency"`
	MarketPriceCents   *int64   `json:"market_price_cents"`
	PriceChangeCents   *int64   `json:"price_change_cents"`
	PriceChangePercent *float64 `json:"price_change_percent"`
	PriceUpdatedAt     string   `json:"price_updated_at"`
}

// MoverList is one of the API's records.
type MoverList struct {
	Data       []Mover `json:"data"`
	Direction  string  `json:"direction"`
	PeriodDays int64   `json:"period_days"` // Always 7: only the 7-day change is kept
}

// PriceBatchRequest is one of the API's records:
// Cards by our ids, by those of other catalogs, or by both: at least one of the two lists, and 100
// entries in both together. Unknown members are ignored.
type PriceBatchRequest struct {
	IDs         []string `json:"ids,omitempty"`         // Card ids or slugs
	Identifiers []string `json:"identifiers,omitempty"` // The names of cards in other catalogs, as `NAMESPACE:VALUE`
}

// PriceEntry is one of the API's records.
type PriceEntry struct {
	ID               string `json:"id"` // Card id
	Currency         string `json:"currency"`
	MarketPriceCents *int64 `json:"market_price_cents"`
	PriceUpdatedAt   string `json:"price_updated_at"`
	Ref              string `json:"ref,omitempty"` // In batches: the identifier that asked for this entry
}

// PriceBatch is one of the API's records.
type PriceBatch struct {
	Data     []PriceEntry `json:"data"`      // In the order of the request, ids before identifiers
	NotFound []string     `json:"not_found"` // The requested ids and identifiers that match no card, unchanged
}

// ValuationItem is one of the API's records:
// A line of a list. It names a card by an id, a whole line, a name, or set and number. It may
// describe the copy. Repeated facts must agree. Unknown members are ignored.
type ValuationItem struct {
	ID         string `json:"id,omitempty"`         // Card id or slug
	Identifier string `json:"identifier,omitempty"` // The name of the card in another catalog, as `NAMESPACE:VALUE`
	Line       string `json:"line,omitempty"`       // The whole line as written: a message, an order, a row of an app's …
	Name       string `json:"name,omitempty"`       // Card name
	Set        string `json:"set,omitempty"`        // Set id, slug, code, or its name as people write it
	Number     string `json:"number,omitempty"`     // Card number as printed
	Game       string `json:"game,omitempty"`       // Game slug
	Variant    string `json:"variant,omitempty"`    // Finish or edition as people write it; the card's display price when …
	Condition  string `json:"condition,omitempty"`  // Condition as text, code or shop's word (`NM`); the variant's display …
	Quantity   int64  `json:"quantity,omitempty"`   // Copies; those that the line says when absent, else one
}

// ValuationRequest is one of the API's records:
// A list to value. Unknown members are ignored.
type ValuationRequest struct {
	Items []ValuationItem `json:"items"`
}

// Assumption is one of the API's records:
// A field that the price does not follow.
type Assumption struct {
	Field string `json:"field"`
	Given string `json:"given"` // The value of the item
	Used  string `json:"used"`  // The value of the price, as in `variant` and `condition`
}

// CentsRange is one of the API's records:
// The least and the greatest of some prices.
type CentsRange struct {
	FromCents int64 `json:"from_cents"`
	ToCents   int64 `json:"to_cents"`
}

// ValuedItem is one of the API's records:
// The card and the price of an item.
type ValuedItem struct {
	Index          int64         `json:"index"`     // Which item of the request it is, from 0
	Status         string        `json:"status"`    // `priced`: it means one card, which has a price for it
	Card           *CardSummary  `json:"card"`      // The card, of priced and unpriced items
	Variant        *string       `json:"variant"`   // Which price it is, as a code
	Condition      *string       `json:"condition"` // Which price it is, as display text
	Quantity       int64         `json:"quantity"`
	UnitPriceCents *int64        `json:"unit_price_cents"`
	TotalCents     *int64        `json:"total_cents"`
	PriceUpdatedAt *string       `json:"price_updated_at"` // When the price was updated; null without one
	Assumed        []Assumption  `json:"assumed"`          // The differences between a priced item and its price
	Candidates     []CardSummary `json:"candidates"`       // Cards that may be meant, likeliest first, of ambiguous and unmatched …
	Alternates     []CardSummary `json:"alternates"`       // Other prints that fit an item with a `card` as well, likeliest first …
	Fitting        int64         `json:"fitting"`          // How many cards have all that the item says, those of `alternates` …
	Range          *CentsRange   `json:"range"`            // The prices of the fitting cards, or for an unpriced item the prices of …
	Ask            any           `json:"ask"`              // The first of the fields that settle an open item when they are given …
	Ignored        []string      `json:"ignored"`          // Words next to the `id` that are not of the card and change nothing
	Note           *string       `json:"note"`             // A sentence: the fields that would settle the item, the reason for a …
}

// ValuationTotals is one of the API's records:
// The sums of priced items, and how many items have each status.
type ValuationTotals struct {
	ExactCents   int64 `json:"exact_cents"`   // Of items whose price is just what they say
	AssumedCents int64 `json:"assumed_cents"` // Of items with something in `assumed`; not part of `exact_cents`
	Quantity     int64 `json:"quantity"`      // Copies of priced items
	Priced       int64 `json:"priced"`
	Unpriced     int64 `json:"unpriced"`
	Ambiguous    int64 `json:"ambiguous"`
	Unmatched    int64 `json:"unmatched"`
}

// Valuation is one of the API's records.
type Valuation struct {
	Items      []ValuedItem    `json:"items"` // In the order of the request
	Totals     ValuationTotals `json:"totals"`
	Currency   string          `json:"currency"`
	SnapshotID string          `json:"snapshot_id"` // The snapshot that all prices are of
	SnapshotAt string          `json:"snapshot_at"`
}

// Meta is one of the API's records.
type Meta struct {
	RequestID        string `json:"request_id"`
	SnapshotAt       string `json:"snapshot_at"`       // The instant that the served data describes
	BillableUnits    int64  `json:"billable_units"`    // The credits of this response: 1 for a data call, 0 for usage and …
	IdempotentReplay bool   `json:"idempotent_replay"` // True when this repeats an earlier response
}

// Minute is one of the API's records:
// The rest of the key's minute. Usage takes nothing from it. On live keys only.
type Minute struct {
	Limit     int64  `json:"limit"`     // Requests admitted in any 60 seconds
	Remaining int64  `json:"remaining"` // Requests left
	ResetAt   string `json:"reset_at"`  // When the next request frees; now, when none is taken
}

// Usage is one of the API's records:
// The caller's allowance. It is organization-wide and shared by all keys.
type Usage struct {
	TenantID                string  `json:"tenant_id"` // The organization the key belongs to
	PeriodStart             string  `json:"period_start"`
	PeriodEnd               string  `json:"period_end"`                // First instant after the period: it covers [start, end)
	RequestCreditsLimit     int64   `json:"request_credits_limit"`     // Requests the period allows
	RequestCreditsUsed      int64   `json:"request_credits_used"`      // Requests charged so far
	RequestCreditsRemaining int64   `json:"request_credits_remaining"` // Requests left
	RateLimitPerMinute      int64   `json:"rate_limit_per_minute"`     // Requests admitted in any 60 seconds
	Plan                    string  `json:"plan,omitempty"`            // The key's plan
	Minute                  *Minute `json:"minute,omitempty"`
	NextPublicationAt       string  `json:"next_publication_at,omitempty"` // When the operator means to publish the next snapshot; absent where …
	Attribution             *string `json:"attribution,omitempty"`         // Whose prices are served: show it with them
	UseUntil                string  `json:"use_until,omitempty"`           // Until when the prices that are served may be used: 24 hours after …
}

// UsageReport is one of the API's records.
type UsageReport struct {
	Data Usage `json:"data"`
	Meta Meta  `json:"meta"`
}

// OpenAPIDocument is one of the API's records:
// A document of OpenAPI 3.1.
type OpenAPIDocument struct {
	Openapi string `json:"openapi"`
	Info    any    `json:"info"`
	Paths   any    `json:"paths"`
}

// Health is one of the API's records.
type Health struct {
	Status     string `json:"status"`
	SnapshotID string `json:"snapshot_id"` // The snapshot that is served
}

// Unfit is one of the API's records:
// Why the service should not be chosen.
type Unfit struct {
	Status     string  `json:"status"`      // `loading`: there is no snapshot yet
	SnapshotID *string `json:"snapshot_id"` // The snapshot that is served; null when there is none
}

// Problem is one of the API's records:
// An error of the live surface (RFC 9457). Branch on `code`; show or log `detail`.
type Problem struct {
	Type      string `json:"type"`  // `{base_url}/errors/<code>`
	Title     string `json:"title"` // The code in words
	Status    int64  `json:"status"`
	Detail    string `json:"detail"` // The problems of this request, all at once, and the next step
	Code      string `json:"code"`
	RequestID string `json:"request_id"`
}

// RetryProblem is one of the API's records:
// An error of the live surface that says when to try again.
type RetryProblem struct {
	Type              string `json:"type"`  // `{base_url}/errors/<code>`
	Title             string `json:"title"` // The code in words
	Status            int64  `json:"status"`
	Detail            string `json:"detail"` // The problems of this request, all at once, and the next step
	Code              string `json:"code"`
	RequestID         string `json:"request_id"`
	RetryAfterSeconds int64  `json:"retry_after_seconds"` // Seconds to wait; the same as `Retry-After`
}

// PreviewErrorError is one of the API's records.
type PreviewErrorError struct {
	Code              string `json:"code"`
	Message           string `json:"message"`
	RequestID         string `json:"request_id"`
	RetryAfterSeconds any    `json:"retry_after_seconds"` // Waiting does not help
}

// PreviewError is one of the API's records:
// An error of the preview contract.
type PreviewError struct {
	Error PreviewErrorError `json:"error"`
}

// PreviewRetryErrorError is one of the API's records.
type PreviewRetryErrorError struct {
	Code              string `json:"code"`
	Message           string `json:"message"`
	RequestID         string `json:"request_id"`
	RetryAfterSeconds int64  `json:"retry_after_seconds"` // Seconds to wait; the same as `Retry-After`
}

// PreviewRetryError is one of the API's records:
// An error of the preview contract that says when to try again.
type PreviewRetryError struct {
	Error PreviewRetryErrorError `json:"error"`
}

// PriceOption is one of the API's records:
// A lane observed for the card, not a promise that it has a price now.
type PriceOption struct {
	Variant   string `json:"variant"`
	Condition string `json:"condition"`
}

// CardProductSet is one of the API's records.
type CardProductSet struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// CardProduct is one of the API's records:
// A verified single card. Variant and condition belong to the price selection, not to the product.
type CardProduct struct {
	ID               string         `json:"id"`
	Kind             string         `json:"kind"`
	Name             string         `json:"name"`
	Game             string         `json:"game"`
	Language         string         `json:"language"`
	Market           string         `json:"market"`
	Identifiers      []Identifier   `json:"identifiers"`
	CatalogUpdatedAt string         `json:"catalog_updated_at"`
	Set              CardProductSet `json:"set"`
	CollectorNumber  string         `json:"collector_number"` // Not an identity by itself
	Printing         string         `json:"printing"`         // The exact art or edition
	PriceOptions     []PriceOption  `json:"price_options"`
}

// SealedProduct is one of the API's records:
// A verified sealed product.
type SealedProduct struct {
	ID               string       `json:"id"`
	Kind             string       `json:"kind"`
	Name             string       `json:"name"`
	Game             string       `json:"game"`
	Language         string       `json:"language"`
	Market           string       `json:"market"`
	Identifiers      []Identifier `json:"identifiers"`
	CatalogUpdatedAt string       `json:"catalog_updated_at"`
	PackageType      string       `json:"package_type"`
	UnitsPerPackage  int64        `json:"units_per_package"`
	UnitKind         string       `json:"unit_kind"`
	Edition          string       `json:"edition"` // `pokemon_center` occurs only with the game `pokemon`
	Condition        string       `json:"condition"`
}

// Product is one of the API's records:
// A product. Its `kind` decides the form.
type Product struct {
	ID               string          `json:"id"`
	Kind             string          `json:"kind"`
	Name             string          `json:"name"`
	Game             string          `json:"game"`
	Language         string          `json:"language"`
	Market           string          `json:"market"`
	Identifiers      []Identifier    `json:"identifiers"`
	CatalogUpdatedAt string          `json:"catalog_updated_at"`
	Set              *CardProductSet `json:"set,omitempty"`
	CollectorNumber  string          `json:"collector_number,omitempty"` // Not an identity by itself
	Printing         string          `json:"printing,omitempty"`         // The exact art or edition
	PriceOptions     []PriceOption   `json:"price_options,omitempty"`
	PackageType      string          `json:"package_type,omitempty"`
	UnitsPerPackage  int64           `json:"units_per_package,omitempty"`
	UnitKind         string          `json:"unit_kind,omitempty"`
	Edition          string          `json:"edition,omitempty"` // `pokemon_center` occurs only with the game `pokemon`
	Condition        string          `json:"condition,omitempty"`
}

// ProductPagePagination is one of the API's records.
type ProductPagePagination struct {
	NextCursor *string `json:"next_cursor"` // Null on the last page
}

// ProductPage is one of the API's records.
type ProductPage struct {
	Data       []Product             `json:"data"` // By id, ascending
	Pagination ProductPagePagination `json:"pagination"`
	Meta       Meta                  `json:"meta"`
}

func (r *ProductPage) rows() ([]Product, *string) { return r.Data, r.Pagination.NextCursor }

func (r *Product) identity() string { return r.ID }

// ProductReport is one of the API's records.
type ProductReport struct {
	Data Product `json:"data"`
	Meta Meta    `json:"meta"`
}

// CardSelection is one of the API's records:
// One card in one variant and condition. Nothing is inferred.
type CardSelection struct {
	Kind      string `json:"kind"`
	ProductID string `json:"product_id"`
	Variant   string `json:"variant"`
	Condition string `json:"condition"`
}

// SealedSelection is one of the API's records:
// One sealed product.
type SealedSelection struct {
	Kind      string `json:"kind"`
	ProductID string `json:"product_id"`
}

// PriceSelection is one of the API's records:
// A selection. Its `kind` decides the form.
type PriceSelection struct {
	Kind      string `json:"kind"`
	ProductID string `json:"product_id"`
	Variant   string `json:"variant,omitempty"`
	Condition string `json:"condition,omitempty"`
}

// PreviewPriceBatchRequest is one of the API's records:
// The preview form of the request. Unknown members are refused.
type PreviewPriceBatchRequest struct {
	Items []PriceSelection `json:"items"`
}

// Money is one of the API's records.
type Money struct {
	AmountCents int64  `json:"amount_cents"` // Zero is a valid amount
	Currency    string `json:"currency"`
}

// DatedObservation is one of the API's records.
type DatedObservation struct {
	Source      string `json:"source"`       // Always this text until public v1
	SourceAsOf  string `json:"source_as_of"` // When the provider observed the price, never when it was imported
	CollectedAt string `json:"collected_at"` // When the price was collected: not before `source_as_of`, not after …
	Basis       string `json:"basis"`
	Attribution string `json:"attribution"` // Show it next to the price
}

// UndatedObservation is one of the API's records.
type UndatedObservation struct {
	Source      string `json:"source"`       // Always this text until public v1
	SourceAsOf  any    `json:"source_as_of"` // The provider did not say when it observed the price
	CollectedAt string `json:"collected_at"` // When the price was collected: not before `source_as_of`, not after …
	Basis       string `json:"basis"`
	Attribution string `json:"attribution"` // Show it next to the price
}

// DatedPriceResult is one of the API's records:
// A price whose age is known.
type DatedPriceResult struct {
	Selection     PriceSelection   `json:"selection"`
	Status        string           `json:"status"` // `fresh` when `source_as_of` is at most 36 hours before …
	Price         Money            `json:"price"`
	Observation   DatedObservation `json:"observation"`
	MissingReason any              `json:"missing_reason"`
}

// UndatedPriceResult is one of the API's records:
// A price whose age is not known, however recently it was collected.
type UndatedPriceResult struct {
	Selection     PriceSelection     `json:"selection"`
	Status        string             `json:"status"`
	Price         Money              `json:"price"`
	Observation   UndatedObservation `json:"observation"`
	MissingReason any                `json:"missing_reason"`
}

// MissingPriceResult is one of the API's records:
// No distributable price. It is charged like any other result of the call.
type MissingPriceResult struct {
	Selection     PriceSelection `json:"selection"`
	Status        string         `json:"status"`
	Price         any            `json:"price"`
	Observation   any            `json:"observation"`
	MissingReason string         `json:"missing_reason"` // `not_found`: no such product
}

// PriceResult is one of the API's records:
// The result of one selection. Its `status` decides the form.
type PriceResult struct {
	Selection     PriceSelection          `json:"selection"`
	Status        string                  `json:"status"` // `fresh` when `source_as_of` is at most 36 hours before …
	Price         *Money                  `json:"price"`
	Observation   *PriceResultObservation `json:"observation"`
	MissingReason *string                 `json:"missing_reason"`
}

// PreviewPriceBatch is one of the API's records:
// The preview form of the response.
type PreviewPriceBatch struct {
	Data []PriceResult `json:"data"` // One per selection, in the order of the request
	Meta Meta          `json:"meta"`
}

// CardsSearchParams is one of the API's records:
// The query of `cards_search`.
type CardsSearchParams struct {
	Q              string `json:"q,omitempty"`               // Words as people type them
	Set            string `json:"set,omitempty"`             // Set id or slug; its code and its name work as well, also as people …
	Game           string `json:"game,omitempty"`            // Slug of a game from `GET /v1/games`; case, accents, hyphens and …
	Number         string `json:"number,omitempty"`          // Card number as printed
	Rarity         string `json:"rarity,omitempty"`          // Rarity, as `GET /v1/facets` lists them
	Identifier     string `json:"identifier,omitempty"`      // The name of the card in another catalog, as `NAMESPACE:VALUE`, such as …
	Variant        string `json:"variant,omitempty"`         // Cards with a price in this variant: a code, as `GET /v1/facets` lists …
	MinPriceCents  *int64 `json:"min_price_cents,omitempty"` // Lowest current price
	MaxPriceCents  *int64 `json:"max_price_cents,omitempty"` // Highest current price, not below `min_price_cents`
	ReleasedAfter  string `json:"released_after,omitempty"`  // First release date of the card's set, inclusive
	ReleasedBefore string `json:"released_before,omitempty"` // Last release date of the card's set, inclusive
	UpdatedSince   string `json:"updated_since,omitempty"`   // Cards whose entry, or the value of any price, changed at this instant …
	Sort           string `json:"sort,omitempty"`            // Order of the list
	Limit          int64  `json:"limit,omitempty"`           // Items on a page
	Cursor         string `json:"cursor,omitempty"`          // The `next_cursor` of the page before, with the same filters and sort
	Include        string `json:"include,omitempty"`         // `prices` adds to each card its `prices`, as the card's detail has them
	Fields         string `json:"fields,omitempty"`          // The members that are wanted, 16 at most, with commas between them
}

func (p CardsSearchParams) query() url.Values {
	q := url.Values{}
	if p.Q != "" {
		q.Set("q", p.Q)
	}
	if p.Set != "" {
		q.Set("set", p.Set)
	}
	if p.Game != "" {
		q.Set("game", p.Game)
	}
	if p.Number != "" {
		q.Set("number", p.Number)
	}
	if p.Rarity != "" {
		q.Set("rarity", p.Rarity)
	}
	if p.Identifier != "" {
		q.Set("identifier", p.Identifier)
	}
	if p.Variant != "" {
		q.Set("variant", p.Variant)
	}
	if p.MinPriceCents != nil {
		q.Set("min_price_cents", strconv.FormatInt(*p.MinPriceCents, 10))
	}
	if p.MaxPriceCents != nil {
		q.Set("max_price_cents", strconv.FormatInt(*p.MaxPriceCents, 10))
	}
	if p.ReleasedAfter != "" {
		q.Set("released_after", p.ReleasedAfter)
	}
	if p.ReleasedBefore != "" {
		q.Set("released_before", p.ReleasedBefore)
	}
	if p.UpdatedSince != "" {
		q.Set("updated_since", p.UpdatedSince)
	}
	if p.Sort != "" {
		q.Set("sort", p.Sort)
	}
	if p.Limit != 0 {
		q.Set("limit", strconv.FormatInt(p.Limit, 10))
	}
	if p.Cursor != "" {
		q.Set("cursor", p.Cursor)
	}
	if p.Include != "" {
		q.Set("include", p.Include)
	}
	if p.Fields != "" {
		q.Set("fields", p.Fields)
	}
	return q
}

// CardsGetParams is one of the API's records:
// The query of `cards_get`.
type CardsGetParams struct {
	Fields string `json:"fields,omitempty"` // The members that are wanted, 16 at most, with commas between them
}

func (p CardsGetParams) query() url.Values {
	q := url.Values{}
	if p.Fields != "" {
		q.Set("fields", p.Fields)
	}
	return q
}

// CardPricesParams is one of the API's records:
// The query of `card_prices`.
type CardPricesParams struct {
	Days    int64  `json:"days,omitempty"`    // Days up to the date of the snapshot
	Variant string `json:"variant,omitempty"` // One variant only: its code, or the words that people write for the …
}

func (p CardPricesParams) query() url.Values {
	q := url.Values{}
	if p.Days != 0 {
		q.Set("days", strconv.FormatInt(p.Days, 10))
	}
	if p.Variant != "" {
		q.Set("variant", p.Variant)
	}
	return q
}

// CardPriceStatsParams is one of the API's records:
// The query of `card_price_stats`.
type CardPriceStatsParams struct {
	Window  string `json:"window,omitempty"`  // Days up to the date of the snapshot
	Variant string `json:"variant,omitempty"` // One variant only: its code, or the words that people write for the …
}

func (p CardPriceStatsParams) query() url.Values {
	q := url.Values{}
	if p.Window != "" {
		q.Set("window", p.Window)
	}
	if p.Variant != "" {
		q.Set("variant", p.Variant)
	}
	return q
}

// SuggestListParams is one of the API's records:
// The query of `suggest_list`.
type SuggestListParams struct {
	Q     string `json:"q"`               // The words typed so far
	Game  string `json:"game,omitempty"`  // Slug of a game from `GET /v1/games`; case, accents, hyphens and …
	Limit int64  `json:"limit,omitempty"` // Suggestions in the answer
}

func (p SuggestListParams) query() url.Values {
	q := url.Values{}
	if p.Q != "" {
		q.Set("q", p.Q)
	}
	if p.Game != "" {
		q.Set("game", p.Game)
	}
	if p.Limit != 0 {
		q.Set("limit", strconv.FormatInt(p.Limit, 10))
	}
	return q
}

// ChangesListParams is one of the API's records:
// The query of `changes_list`.
type ChangesListParams struct {
	Since  string `json:"since"`            // Id of the snapshot that the caller's copy is of
	Kind   string `json:"kind"`             // The compared records: cards without their prices, prices of cards, or …
	Limit  int64  `json:"limit,omitempty"`  // Rows on a page: to 5,000 of prices, and to 1,000 of cards and of sets
	Cursor string `json:"cursor,omitempty"` // The `next_cursor` of the page before, with the same filters and sort
}

func (p ChangesListParams) query() url.Values {
	q := url.Values{}
	if p.Since != "" {
		q.Set("since", p.Since)
	}
	if p.Kind != "" {
		q.Set("kind", p.Kind)
	}
	if p.Limit != 0 {
		q.Set("limit", strconv.FormatInt(p.Limit, 10))
	}
	if p.Cursor != "" {
		q.Set("cursor", p.Cursor)
	}
	return q
}

// SetsListParams is one of the API's records:
// The query of `sets_list`.
type SetsListParams struct {
	Q      string `json:"q,omitempty"`      // Words of the set's name, its code, or the name as people write it …
	Series string `json:"series,omitempty"` // Series
	Game   string `json:"game,omitempty"`   // Slug of a game from `GET /v1/games`; case, accents, hyphens and …
	Limit  int64  `json:"limit,omitempty"`  // Items on a page
	Cursor string `json:"cursor,omitempty"` // The `next_cursor` of the page before, with the same filters and sort
}

func (p SetsListParams) query() url.Values {
	q := url.Values{}
	if p.Q != "" {
		q.Set("q", p.Q)
	}
	if p.Series != "" {
		q.Set("series", p.Series)
	}
	if p.Game != "" {
		q.Set("game", p.Game)
	}
	if p.Limit != 0 {
		q.Set("limit", strconv.FormatInt(p.Limit, 10))
	}
	if p.Cursor != "" {
		q.Set("cursor", p.Cursor)
	}
	return q
}

// MarketMoversParams is one of the API's records:
// The query of `market_movers`.
type MarketMoversParams struct {
	Direction     string  `json:"direction"`                 // `up` for gainers, `down` for decliners
	Period        float64 `json:"period,omitempty"`          // Accepted for the sake of clients that send it: only the 7-day change …
	MinPriceCents *int64  `json:"min_price_cents,omitempty"` // Leaves out cards now below this price
	Set           string  `json:"set,omitempty"`             // Set id or slug; its code and its name work as well, also as people …
	Game          string  `json:"game,omitempty"`            // Slug of a game from `GET /v1/games`; case, accents, hyphens and …
	Limit         int64   `json:"limit,omitempty"`           // Items on a page
}

func (p MarketMoversParams) query() url.Values {
	q := url.Values{}
	if p.Direction != "" {
		q.Set("direction", p.Direction)
	}
	if p.Period != 0 {
		q.Set("period", strconv.FormatFloat(p.Period, 'f', -1, 64))
	}
	if p.MinPriceCents != nil {
		q.Set("min_price_cents", strconv.FormatInt(*p.MinPriceCents, 10))
	}
	if p.Set != "" {
		q.Set("set", p.Set)
	}
	if p.Game != "" {
		q.Set("game", p.Game)
	}
	if p.Limit != 0 {
		q.Set("limit", strconv.FormatInt(p.Limit, 10))
	}
	return q
}

// ProductsListParams is one of the API's records:
// The query of `products_list`.
type ProductsListParams struct {
	Limit     int64  `json:"limit,omitempty"`      // Items on a page
	Cursor    string `json:"cursor,omitempty"`     // The `next_cursor` of the page before, with the same parameters
	Game      string `json:"game,omitempty"`       // One game only; both when left out
	Kind      string `json:"kind,omitempty"`       // One kind only; both when left out
	PartnerID string `json:"partner_id,omitempty"` // Exact lookup by partner alias
}

func (p ProductsListParams) query() url.Values {
	q := url.Values{}
	if p.Limit != 0 {
		q.Set("limit", strconv.FormatInt(p.Limit, 10))
	}
	if p.Cursor != "" {
		q.Set("cursor", p.Cursor)
	}
	if p.Game != "" {
		q.Set("game", p.Game)
	}
	if p.Kind != "" {
		q.Set("kind", p.Kind)
	}
	if p.PartnerID != "" {
		q.Set("partner_id", p.PartnerID)
	}
	return q
}

// PriceResultObservation is one of the API's records.
type PriceResultObservation struct {
	Source      string  `json:"source"`       // Always this text until public v1
	SourceAsOf  *string `json:"source_as_of"` // When the provider observed the price, never when it was imported
	CollectedAt string  `json:"collected_at"` // When the price was collected: not before `source_as_of`, not after …
	Basis       string  `json:"basis"`
	Attribution string  `json:"attribution"` // Show it next to the price
}

func (r *CardDetail) identity() string { return r.ID }

func (r *ValuationTotals) add(other *ValuationTotals) {
	r.ExactCents += other.ExactCents
	r.AssumedCents += other.AssumedCents
	r.Quantity += other.Quantity
	r.Priced += other.Priced
	r.Unpriced += other.Unpriced
	r.Ambiguous += other.Ambiguous
	r.Unmatched += other.Unmatched
}

// Games calls the operation games_list: list games.
func (c *Client) Games(ctx context.Context) (*GameList, error) {
	return fetch[GameList](ctx, c, "games_list", "/v1/games", nil)
}

// Cards calls the operation cards_search: search cards.
func (c *Client) Cards(ctx context.Context, p CardsSearchParams) iter.Seq2[CardSummary, error] {
	return walk[CardPage, CardSummary](ctx, c, call{operation: "cards_search", path: "/v1/cards", query: p.query()})
}

// Card calls the operation cards_get: get a card.
func (c *Client) Card(ctx context.Context, id string, p CardsGetParams) (*CardDetail, error) {
	return fetchOne[CardDetail](ctx, c, "cards_get", "/v1/cards/", id, "", p.query())
}

// CardsBatch calls the operation cards_batch: get many cards.
func (c *Client) CardsBatch(ctx context.Context, b Batch) (*CardBatch, error) {
	return joined(ctx, c, call{operation: "cards_batch", path: "/v1/cards/batch"}, b, 200, func(all, got *CardBatch) {
		got.Data = append(all.Data, got.Data...)
		got.NotFound = append(all.NotFound, got.NotFound...)
		*all = *got
	})
}

// History calls the operation card_prices: get a card's price history.
func (c *Client) History(ctx context.Context, id string, p CardPricesParams) (*PriceHistory, error) {
	return fetchOne[PriceHistory](ctx, c, "card_prices", "/v1/cards/", id, "/prices", p.query())
}

// PriceStats calls the operation card_price_stats: get a card's price statistics.
func (c *Client) PriceStats(ctx context.Context, id string, p CardPriceStatsParams) (*PriceStatistics, error) {
	return fetchOne[PriceStatistics](ctx, c, "card_price_stats", "/v1/cards/", id, "/price-stats", p.query())
}

// Facets calls the operation facets_list: list values and how many cards have each.
func (c *Client) Facets(ctx context.Context) (*Facets, error) {
	return fetch[Facets](ctx, c, "facets_list", "/v1/facets", nil)
}

// Suggest calls the operation suggest_list: suggest what is being typed.
func (c *Client) Suggest(ctx context.Context, p SuggestListParams) (*SuggestionList, error) {
	return fetch[SuggestionList](ctx, c, "suggest_list", "/v1/suggest", p.query())
}

// Sets calls the operation sets_list: list sets.
func (c *Client) Sets(ctx context.Context, p SetsListParams) iter.Seq2[SetSummary, error] {
	return walk[SetPage, SetSummary](ctx, c, call{operation: "sets_list", path: "/v1/sets", query: p.query()})
}

// Set calls the operation sets_get: get a set.
func (c *Client) Set(ctx context.Context, id string) (*SetDetail, error) {
	return fetchOne[SetDetail](ctx, c, "sets_get", "/v1/sets/", id, "", nil)
}

// Movers calls the operation market_movers: list market movers.
func (c *Client) Movers(ctx context.Context, p MarketMoversParams) (*MoverList, error) {
	return fetch[MoverList](ctx, c, "market_movers", "/v1/market/movers", p.query())
}

// PricesBatch calls the operation prices_batch: price many cards.
func (c *Client) PricesBatch(ctx context.Context, b Batch) (*PriceBatch, error) {
	return joined(ctx, c, call{operation: "prices_batch", path: "/v1/prices/batch"}, b, 100, func(all, got *PriceBatch) {
		got.Data = append(all.Data, got.Data...)
		got.NotFound = append(all.NotFound, got.NotFound...)
		*all = *got
	})
}

// HistoriesBatch calls the operation prices_history_batch: get many price histories.
func (c *Client) HistoriesBatch(ctx context.Context, b Batch) (*HistoryBatch, error) {
	return joined(ctx, c, call{operation: "prices_history_batch", path: "/v1/prices/history/batch"}, b, 50, func(all, got *HistoryBatch) {
		got.Data = append(all.Data, got.Data...)
		got.NotFound = append(all.NotFound, got.NotFound...)
		*all = *got
	})
}

// Bulk calls the operation bulk_list: list the files of the whole catalog.
func (c *Client) Bulk(ctx context.Context) (*BulkList, error) {
	return fetch[BulkList](ctx, c, "bulk_list", "/v1/bulk", nil)
}

// Usage calls the operation usage_get: get the caller's allowance.
func (c *Client) Usage(ctx context.Context) (*UsageReport, error) {
	return fetch[UsageReport](ctx, c, "usage_get", "/v1/usage", nil)
}

// Products calls the operation products_list: list products (Proposed).
func (c *Client) Products(ctx context.Context, p ProductsListParams) iter.Seq2[Product, error] {
	return walk[ProductPage, Product](ctx, c, call{operation: "products_list", path: "/v1/products", query: p.query()})
}

// Product calls the operation products_get: get a product (Proposed).
func (c *Client) Product(ctx context.Context, id string) (*ProductReport, error) {
	return fetchOne[ProductReport](ctx, c, "products_get", "/v1/products/", id, "", nil)
}
