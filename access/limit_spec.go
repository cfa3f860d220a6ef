package access

import "ninepocket/access/keys"

// Operation is the name of what a call does, as in the ledger and in the OpenAPI operationId. The
// ledger stores the string: it must not alias request memory.
type Operation string

// The operations of both surfaces.
const (
	GamesList      Operation = "games_list"
	CardsSearch    Operation = "cards_search"
	CardsGet       Operation = "cards_get"
	CardsBatch     Operation = "cards_batch"
	CardPrices     Operation = "card_prices"
	CardPriceStats Operation = "card_price_stats"
	SetsList       Operation = "sets_list"
	SetsGet        Operation = "sets_get"
	FacetsList     Operation = "facets_list"
	BulkList       Operation = "bulk_list"
	BulkGet        Operation = "bulk_get"
	MarketMovers   Operation = "market_movers"
	PricesBatch    Operation = "prices_batch"
	HistoryBatch   Operation = "prices_history_batch"
	ChangesList    Operation = "changes_list"
	SuggestList    Operation = "suggest_list"
	UsageGet       Operation = "usage_get"
	ProductsList   Operation = "products_list"
	ProductsGet    Operation = "products_get"
	Valuations     Operation = "valuations_create"
)

// MCPOperation returns the operation of an MCP tool, "mcp:<tool>". Build it once per tool, not per
// call: it allocates.
func MCPOperation(tool string) Operation { return Operation("mcp:" + tool) }

// Window is a minute window that a call passes.
type Window uint8

const (
	// NoWindow means: the call passes no minute window (live GET /v1/usage).
	NoWindow Window = iota
	// KeyWindow means: one window per key (live).
	KeyWindow
	// TenantWindow means: one window per tenant, shared by its keys (preview).
	TenantWindow
	// UsageWindow means: the tenant's window for preview GET /v1/usage.
	UsageWindow
	// SuggestWindow means: one window per key, for suggestions alone. The log does not know it, since an
	// earlier program would refuse the log: after a restart it is open.
	SuggestWindow
)

// QuotaKind is the quota that a success is charged to.
type QuotaKind uint8

const (
	// DayQuota means: the tenant's live requests of the UTC day.
	DayQuota QuotaKind = iota + 1
	// PeriodCredits means: the tenant's preview credits of the subscription period.
	PeriodCredits
)

// usagePerMinute is the limit of preview GET /v1/usage, which has its own window (decision 15).
const usagePerMinute = 10

// suggestionsPerRequest is how many suggestions a request of the day pays, and how many times the plan's
// minute their own window is.
const suggestionsPerRequest = 10

// LimitSpec is the window, quota, cost and durability that apply to one call.
type LimitSpec struct {
	Operation      Operation
	Window         Window
	PerMinute      int       // limit of the window
	Quota          QuotaKind // the caller's quota, reported even if the call is free
	Limit          int64     // of the quota
	Cost           int64     // request credits, or requests of the day, that a success costs: 0 or 1
	ReserveAtBegin bool      // the unit is reserved by Begin, not by Admit: a replay is free even at an exhausted quota
	Durable        bool      // a charge is on disk before Finish returns
}

// SpecFor returns the limits of an operation for a principal.
func SpecFor(p *keys.Principal, op Operation) LimitSpec {
	switch usage := op == UsageGet; {
	case usage && p.Surface == keys.Preview:
		return LimitSpec{
			Operation: op, Window: UsageWindow, PerMinute: usagePerMinute, Quota: PeriodCredits, Limit: p.Credits,
		}
	case p.Surface == keys.Preview:
		return LimitSpec{
			Operation: op, Window: TenantWindow, PerMinute: p.Plan.PerMinute, Quota: PeriodCredits,
			Limit: p.Credits,
			Cost:  1, Durable: true, ReserveAtBegin: op == PricesBatch,
		}
	case usage:
		return LimitSpec{Operation: op, Window: NoWindow, Quota: DayQuota, Limit: p.Plan.PerDay}
	case op == SuggestList:
		return LimitSpec{
			Operation: op, Window: SuggestWindow, PerMinute: suggestionsPerRequest * p.Plan.PerMinute, Quota: DayQuota,
			Limit: p.Plan.PerDay, Cost: 1,
		}
	}

	return LimitSpec{
		Operation: op, Window: KeyWindow, PerMinute: p.Plan.PerMinute, Quota: DayQuota, Limit: p.Plan.PerDay,
		Cost: 1,
	}
}
