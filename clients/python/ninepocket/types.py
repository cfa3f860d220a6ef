# Code generated from the OpenAPI document by "make generate". DO NOT EDIT.
"""The records of the API, as typed dictionaries. Members that a server adds later stay in them."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict


class Game(TypedDict):
    """One trading-card game."""
    slug: str
    """Stable slug, the value of every `game` parameter."""
    name: str
    """Display name."""
    set_count: int
    """Sets in the game's catalog."""
    card_count: int
    """Cards in the game's catalog."""


class GameList(TypedDict):
    data: list[Game]


class SetRef(TypedDict):
    """The set that a card belongs to."""
    id: str
    """Opaque, stable set id."""
    name: str


class CurrentPrice(TypedDict):
    """The price to show for a card: its first variant that has one, in the best condition that
    has one. Without a price, `price_updated_at` is the time of the snapshot.
    """
    currency: str
    market_price_cents: int | None
    price_updated_at: str


class VariantPrice(TypedDict):
    """The current price of one variant in one condition, with its change against the latest
    price at least 7 or 30 days old (and at most 7 days older than that).
    """
    variant: str
    condition: str
    currency: str
    market_price_cents: int
    price_updated_at: str
    change_7d_cents: int | None
    change_7d_percent: float | None
    change_30d_cents: int | None
    change_30d_percent: float | None


class CardSummary(TypedDict):
    """A card as search lists it."""
    id: str
    """Opaque, stable card id."""
    name: str
    number: str | None
    """Card number as printed, such as `4/102` or `OP05-119`."""
    game: str | None
    game_name: str | None
    rarity: str | None
    set: SetRef | None
    image_url: str | None
    """URL of its picture on this service; null where there is none."""
    url: str | None
    """Public card page. Its last segment is the card's slug."""
    price: CurrentPrice
    prices: NotRequired[list[VariantPrice]]
    """With `include=prices` only: every variant and condition that has a price."""


class CardPage(TypedDict):
    data: list[CardSummary]
    next_cursor: str | None


class Identifier(TypedDict):
    """The name of a card or product in another catalog. Namespaces are `tcgplayer` (product
    ids), `pokemon-tcg-data`, `punk-records`, and those of the operator's sources. Two cards
    may share an identifier.
    """
    namespace: str
    value: str


class CardDetail(TypedDict):
    """A card with its current prices."""
    id: str
    """Opaque, stable card id."""
    name: str
    number: str | None
    """Card number as printed, such as `4/102` or `OP05-119`."""
    game: str | None
    game_name: str | None
    rarity: str | None
    set: SetRef | None
    image_url: str | None
    """URL of its picture on this service; null where there is none."""
    url: str | None
    """Public card page. Its last segment is the card's slug."""
    prices: list[VariantPrice]
    """Every variant and condition that has a price."""
    identifiers: list[Identifier]
    """The names of the card in other catalogs."""
    product_id: str | None
    """Id of the card as a product; null when it is no verified product."""
    ref: NotRequired[str]
    """In batches: the identifier that asked for this entry. Absent where an id did."""


class NamedFacet(TypedDict):
    """A value and how it is shown."""
    value: str
    name: str
    cards: int
    """Cards that have it."""


class Facet(TypedDict):
    """A value that cards of a game have."""
    value: str
    game: str
    """Slug of the game."""
    cards: int
    """Cards of the game that have it: of a series, cards of its sets; of a variant, cards with a
    price in it.
    """


class Facets(TypedDict):
    snapshot_id: str
    """The snapshot that was counted."""
    games: list[NamedFacet]
    series: list[Facet]
    rarities: list[Facet]
    variants: list[Facet]
    conditions: list[NamedFacet]
    """Cards with a price in each, in the order in which a price is chosen. No filter takes a
    condition.
    """


class ChangedCard(TypedDict):
    """A card without its prices, as it is now; null when it is removed."""
    id: str
    """Opaque, stable card id."""
    name: str
    number: str | None
    """Card number as printed, such as `4/102` or `OP05-119`."""
    game: str | None
    game_name: str | None
    rarity: str | None
    set: SetRef | None
    image_url: str | None
    """URL of its picture on this service; null where there is none."""
    url: str | None
    """Public card page. Its last segment is the card's slug."""
    identifiers: list[Identifier]
    """The names of the card in other catalogs."""
    product_id: str | None
    """Id of the card as a product; null when it is no verified product."""


class ChangedSet(TypedDict):
    """A set as it is now; null when it is removed."""
    id: str
    """Opaque, stable set id."""
    name: str
    series: str | None
    release_date: str | None
    card_count: int | None
    game: str | None
    game_name: str | None


class ChangedPrice(TypedDict):
    """A price as it is now; null when it is removed."""
    market_price_cents: int
    price_updated_at: str


class Change(TypedDict):
    """A row that changed. With `kind=cards` it has `card`, with `kind=sets` `set`, and with
    `kind=prices` `variant`, `condition` and `price`; it never has the others.
    """
    id: str
    """Id of the card, or of the set."""
    variant: NotRequired[str]
    condition: NotRequired[str]
    change: str
    card: NotRequired[ChangedCard | None]
    set: NotRequired[ChangedSet | None]
    price: NotRequired[ChangedPrice | None]


class ChangePage(TypedDict):
    from_snapshot_id: str
    """The snapshot of `since`."""
    snapshot_id: str
    """The snapshot to which the rows lead, on all pages. It is `since` of the next time."""
    data: list[Change]
    next_cursor: str | None


class BulkFile(TypedDict):
    """A file of the whole catalog."""
    name: str
    media_type: str
    """Media type of the content, unpacked."""
    encoding: str
    """How the file is compressed."""
    bytes: int
    """Length of the file."""
    rows: int
    """Lines of the content, without a header line."""
    sha256: str
    """SHA-256 of the file."""
    url: str
    """Where the file is. It needs the key, too."""


class BulkList(TypedDict):
    snapshot_id: str
    """The snapshot of the files."""
    snapshot_at: str
    use_until: str
    """Until when the prices may be used: 24 hours after `snapshot_at`."""
    attribution: str
    """The source to name next to the data."""
    files: list[BulkFile]
    """Empty until they are made, and where the operator may not pass the catalog on."""


class Suggestion(TypedDict):
    kind: str
    text: str
    """A name without what stands in brackets behind it, a set's name, or a collector number."""
    game: str
    """Slug of the game."""
    cards: int
    """How many cards it means."""
    url: str | None
    """Public page: of the set, of the card where there is one alone, else of a search."""


class SuggestionList(TypedDict):
    data: list[Suggestion]


class CardBatchRequest(TypedDict):
    """Cards by our ids, by those of other catalogs, or by both: at least one of the two lists,
    and 200 entries in both together. Unknown members are ignored.
    """
    ids: NotRequired[list[str]]
    """Card ids or slugs. Equal strings count once; the order is kept."""
    identifiers: NotRequired[list[str]]
    """The names of cards in other catalogs, as `NAMESPACE:VALUE`. Their entries follow those of
    `ids`. An identifier of several cards gives each of them, ten at most.
    """


class CardBatch(TypedDict):
    data: list[CardDetail]
    """In the order of the request, ids before identifiers."""
    not_found: list[str]
    """The requested ids and identifiers that match no card, unchanged."""


class HistoryBatchRequest(TypedDict):
    """Cards by our ids, by those of other catalogs, or by both: at least one of the two lists,
    and 50 entries in both together. Unknown members are ignored.
    """
    ids: NotRequired[list[str]]
    """Card ids or slugs. Equal strings count once; the order is kept."""
    identifiers: NotRequired[list[str]]
    """The names of cards in other catalogs, as `NAMESPACE:VALUE`. Their entries follow those of
    `ids`. An identifier of several cards gives each of them, ten at most.
    """
    days: NotRequired[int]
    """Days up to the date of the snapshot. A longer range than the plan's is shortened, and
    `days` in the response says so.
    """
    variant: NotRequired[str]
    """One variant only: its code, or the words that people write for the finish and edition. All
    without it.
    """


class PriceColumn(TypedDict):
    """The display prices of a variant, one for each date."""
    variant: str
    market_price_cents: list[int | None]
    """As long as `dates`; null where the history has no point."""


class CardColumns(TypedDict):
    id: str
    """Card id."""
    lanes: list[PriceColumn]
    """The variants with a price in the window."""
    ref: NotRequired[str]
    """The identifier that asked for this entry. Absent where an id did."""


class HistoryBatch(TypedDict):
    days: int
    """Days covered: those asked for, or fewer where the plan's history range is shorter."""
    dates: list[str]
    """All days of the window, ascending."""
    data: list[CardColumns]
    """In the order of the request, ids before identifiers."""
    not_found: list[str]
    """The requested ids and identifiers that match no card, unchanged."""


class PricePoint(TypedDict):
    """The display price of a variant on one day. A day without an observation has no point;
    nothing is filled in.
    """
    date: str
    variant: str
    market_price_cents: int
    currency: str


class PriceHistory(TypedDict):
    id: str
    """Card id."""
    name: str
    url: str | None
    days: int
    """Days covered: those asked for, or fewer where the plan's history range is shorter."""
    data: list[PricePoint]
    """By date, then variant."""


class DatedPrice(TypedDict):
    date: str
    price_cents: int


class VariantStatistics(TypedDict):
    """Statistics of one variant. Variants are never blended."""
    variant: str
    min_price_cents: int | None
    max_price_cents: int | None
    average_price_cents: int | None
    """Mean over the days with a price, rounded half away from zero."""
    first: DatedPrice | None
    """The first price in the window."""
    last: DatedPrice | None
    """The last price in the window."""
    change_cents: int | None
    change_percent: float | None
    data_points: int
    """Days in the window that have a price."""


class PriceStatisticsData(TypedDict):
    variants: list[VariantStatistics]
    """Empty when no price falls in the window."""


class PriceStatistics(TypedDict):
    currency: str
    id: str
    """Card id."""
    variant: str | None
    """The variant asked for; null when all are listed."""
    window: str
    window_start: str
    window_end: str
    data: PriceStatisticsData


class SetSummary(TypedDict):
    id: str
    """Opaque, stable set id."""
    name: str
    series: str | None
    release_date: str | None
    card_count: int | None
    game: str | None
    game_name: str | None


class SetPage(TypedDict):
    data: list[SetSummary]
    next_cursor: str | None


class TopCard(TypedDict):
    id: str
    """Card id."""
    name: str
    number: str | None
    url: str | None
    currency: str
    market_price_cents: int | None


class SetDetail(TypedDict):
    id: str
    """Opaque, stable set id."""
    name: str
    series: str | None
    release_date: str | None
    card_count: int | None
    game: str | None
    game_name: str | None
    url: str | None
    """Public set page. Its last segment is the set's slug."""
    top_cards: list[TopCard]
    """The ten cards of the highest current price."""


class Mover(TypedDict):
    id: str
    """Card id."""
    name: str
    number: str | None
    game: str | None
    game_name: str | None
    set: SetRef | None
    url: str | None
    currency: str
    market_price_cents: int | None
    price_change_cents: int | None
    price_change_percent: float | None
    price_updated_at: str


class MoverList(TypedDict):
    data: list[Mover]
    direction: str
    period_days: int
    """Always 7: only the 7-day change is kept."""


class PriceBatchRequest(TypedDict):
    """Cards by our ids, by those of other catalogs, or by both: at least one of the two lists,
    and 100 entries in both together. Unknown members are ignored.
    """
    ids: NotRequired[list[str]]
    """Card ids or slugs. Equal strings count once; the order is kept."""
    identifiers: NotRequired[list[str]]
    """The names of cards in other catalogs, as `NAMESPACE:VALUE`. Their entries follow those of
    `ids`. An identifier of several cards gives each of them, ten at most.
    """


class PriceEntry(TypedDict):
    id: str
    """Card id."""
    currency: str
    market_price_cents: int | None
    price_updated_at: str
    ref: NotRequired[str]
    """In batches: the identifier that asked for this entry. Absent where an id did."""


class PriceBatch(TypedDict):
    data: list[PriceEntry]
    """In the order of the request, ids before identifiers."""
    not_found: list[str]
    """The requested ids and identifiers that match no card, unchanged."""


class ValuationItem(TypedDict):
    """A line of a list. It names a card by an id, a whole line, a name, or set and number. It
    may describe the copy. Repeated facts must agree. Unknown members are ignored.
    """
    id: NotRequired[str]
    """Card id or slug."""
    identifier: NotRequired[str]
    """The name of the card in another catalog, as `NAMESPACE:VALUE`."""
    line: NotRequired[str]
    """The whole line as written: a message, an order, a row of an app's export."""
    name: NotRequired[str]
    """Card name."""
    set: NotRequired[str]
    """Set id, slug, code, or its name as people write it."""
    number: NotRequired[str]
    """Card number as printed."""
    game: NotRequired[str]
    """Game slug."""
    variant: NotRequired[str]
    """Finish or edition as people write it; the card's display price when absent."""
    condition: NotRequired[str]
    """Condition as text, code or shop's word (`NM`); the variant's display condition when
    absent.
    """
    quantity: NotRequired[int]
    """Copies; those that the line says when absent, else one."""


class ValuationRequest(TypedDict):
    """A list to value. Unknown members are ignored."""
    items: list[ValuationItem]


class Assumption(TypedDict):
    """A field that the price does not follow."""
    field: str
    given: str
    """The value of the item."""
    used: str
    """The value of the price, as in `variant` and `condition`."""


class CentsRange(TypedDict):
    """The least and the greatest of some prices."""
    from_cents: int
    to_cents: int


class ValuedItem(TypedDict):
    """The card and the price of an item."""
    index: int
    """Which item of the request it is, from 0."""
    status: str
    """`priced`: it means one card, which has a price for it. `unpriced`: it means one card, and
    `note` says why there is no price. `ambiguous`: several cards fit. `unmatched`: none does.
    """
    card: CardSummary | None
    """The card, of priced and unpriced items."""
    variant: str | None
    """Which price it is, as a code."""
    condition: str | None
    """Which price it is, as display text."""
    quantity: int
    unit_price_cents: int | None
    total_cents: int | None
    price_updated_at: str | None
    """When the price was updated; null without one."""
    assumed: list[Assumption]
    """The differences between a priced item and its price. Such an item counts into
    `assumed_cents`.
    """
    candidates: list[CardSummary]
    """Cards that may be meant, likeliest first, of ambiguous and unmatched items."""
    alternates: list[CardSummary]
    """Other prints that fit an item with a `card` as well, likeliest first: the plain card is
    taken, and the copy may be one of these. An id settles it.
    """
    fitting: int
    """How many cards have all that the item says, those of `alternates` included."""
    range: CentsRange | None
    """The prices of the fitting cards, or for an unpriced item the prices of its card. Null if
    nothing has a price.
    """
    ask: Any
    """The first of the fields that settle an open item when they are given as they are printed;
    `note` names all. A candidate's id settles it as well.
    """
    ignored: list[str]
    """Words next to the `id` that are not of the card and change nothing."""
    note: str | None
    """A sentence: the fields that would settle the item, the reason for a missing price, or
    other prints.
    """


class ValuationTotals(TypedDict):
    """The sums of priced items, and how many items have each status."""
    exact_cents: int
    """Of items whose price is just what they say."""
    assumed_cents: int
    """Of items with something in `assumed`; not part of `exact_cents`."""
    quantity: int
    """Copies of priced items."""
    priced: int
    unpriced: int
    ambiguous: int
    unmatched: int


class Valuation(TypedDict):
    items: list[ValuedItem]
    """In the order of the request."""
    totals: ValuationTotals
    currency: str
    snapshot_id: str
    """The snapshot that all prices are of."""
    snapshot_at: str


class Meta(TypedDict):
    request_id: str
    snapshot_at: str
    """The instant that the served data describes. Freshness is judged at it; an idempotent
    replay keeps the original value.
    """
    billable_units: int
    """The credits of this response: 1 for a data call, 0 for usage and replays."""
    idempotent_replay: bool
    """True when this repeats an earlier response."""


class Minute(TypedDict):
    """The rest of the key's minute. Usage takes nothing from it. On live keys only."""
    limit: int
    """Requests admitted in any 60 seconds."""
    remaining: int
    """Requests left."""
    reset_at: str
    """When the next request frees; now, when none is taken."""


class Usage(TypedDict):
    """The caller's allowance. It is organization-wide and shared by all keys."""
    tenant_id: str
    """The organization the key belongs to."""
    period_start: str
    period_end: str
    """First instant after the period: it covers [start, end)."""
    request_credits_limit: int
    """Requests the period allows."""
    request_credits_used: int
    """Requests charged so far."""
    request_credits_remaining: int
    """Requests left."""
    rate_limit_per_minute: int
    """Requests admitted in any 60 seconds."""
    plan: NotRequired[str]
    """The key's plan. On live keys only."""
    minute: NotRequired[Minute]
    next_publication_at: NotRequired[str]
    """When the operator means to publish the next snapshot; absent where nobody said it. On live
    keys only.
    """
    attribution: NotRequired[str]
    """Whose prices are served: show it with them. Empty where the operator names nobody. On live
    keys only.
    """
    use_until: NotRequired[str]
    """Until when the prices that are served may be used: 24 hours after `meta.snapshot_at`. On
    live keys only.
    """


class UsageReport(TypedDict):
    data: Usage
    meta: Meta


class OpenAPIDocument(TypedDict):
    """A document of OpenAPI 3.1."""
    openapi: str
    info: Any
    paths: Any


class Health(TypedDict):
    status: str
    snapshot_id: str
    """The snapshot that is served."""


class Unfit(TypedDict):
    """Why the service should not be chosen."""
    status: str
    """`loading`: there is no snapshot yet. `draining`: the server is about to end. `unmetered`:
    calls cannot be metered and are answered 503.
    """
    snapshot_id: str | None
    """The snapshot that is served; null when there is none."""


class Problem(TypedDict):
    """An error of the live surface (RFC 9457). Branch on `code`; show or log `detail`."""
    type: str
    """`{base_url}/errors/<code>`."""
    title: str
    """The code in words."""
    status: int
    detail: str
    """The problems of this request, all at once, and the next step."""
    code: str
    request_id: str


class RetryProblem(TypedDict):
    """An error of the live surface that says when to try again."""
    type: str
    """`{base_url}/errors/<code>`."""
    title: str
    """The code in words."""
    status: int
    detail: str
    """The problems of this request, all at once, and the next step."""
    code: str
    request_id: str
    retry_after_seconds: int
    """Seconds to wait; the same as `Retry-After`."""


class PreviewErrorError(TypedDict):
    code: str
    message: str
    request_id: str
    retry_after_seconds: None
    """Waiting does not help."""


class PreviewError(TypedDict):
    """An error of the preview contract."""
    error: PreviewErrorError


class PreviewRetryErrorError(TypedDict):
    code: str
    message: str
    request_id: str
    retry_after_seconds: int
    """Seconds to wait; the same as `Retry-After`."""


class PreviewRetryError(TypedDict):
    """An error of the preview contract that says when to try again."""
    error: PreviewRetryErrorError


class PriceOption(TypedDict):
    """A lane observed for the card, not a promise that it has a price now."""
    variant: str
    condition: str


class CardProductSet(TypedDict):
    id: str
    name: str


class CardProduct(TypedDict):
    """A verified single card. Variant and condition belong to the price selection, not to the
    product.
    """
    id: str
    kind: Literal["card"]
    name: str
    game: Literal["pokemon", "one_piece"]
    language: Literal["en"]
    market: Literal["US"]
    identifiers: list[Identifier]
    catalog_updated_at: str
    set: CardProductSet
    collector_number: str
    """Not an identity by itself."""
    printing: str
    """The exact art or edition."""
    price_options: list[PriceOption]


class SealedProduct(TypedDict):
    """A verified sealed product."""
    id: str
    kind: Literal["sealed"]
    name: str
    game: Literal["pokemon", "one_piece"]
    language: Literal["en"]
    market: Literal["US"]
    identifiers: list[Identifier]
    catalog_updated_at: str
    package_type: str
    units_per_package: int
    unit_kind: str
    edition: str
    """`pokemon_center` occurs only with the game `pokemon`."""
    condition: str


Product: TypeAlias = "CardProduct | SealedProduct"
"""A product. Its `kind` decides the form."""


class ProductPagePagination(TypedDict):
    next_cursor: str | None
    """Null on the last page."""


class ProductPage(TypedDict):
    data: list[Product]
    """By id, ascending."""
    pagination: ProductPagePagination
    meta: Meta


class ProductReport(TypedDict):
    data: Product
    meta: Meta


class CardSelection(TypedDict):
    """One card in one variant and condition. Nothing is inferred."""
    kind: Literal["card"]
    product_id: str
    variant: str
    condition: str


class SealedSelection(TypedDict):
    """One sealed product."""
    kind: Literal["sealed"]
    product_id: str


PriceSelection: TypeAlias = "CardSelection | SealedSelection"
"""A selection. Its `kind` decides the form."""


class PreviewPriceBatchRequest(TypedDict):
    """The preview form of the request. Unknown members are refused."""
    items: list[PriceSelection]


class Money(TypedDict):
    amount_cents: int
    """Zero is a valid amount."""
    currency: str


class DatedObservation(TypedDict):
    source: str
    """Always this text until public v1."""
    source_as_of: str
    """When the provider observed the price, never when it was imported."""
    collected_at: str
    """When the price was collected: not before `source_as_of`, not after `meta.snapshot_at`."""
    basis: str
    attribution: str
    """Show it next to the price."""


class UndatedObservation(TypedDict):
    source: str
    """Always this text until public v1."""
    source_as_of: None
    """The provider did not say when it observed the price."""
    collected_at: str
    """When the price was collected: not before `source_as_of`, not after `meta.snapshot_at`."""
    basis: str
    attribution: str
    """Show it next to the price."""


class DatedPriceResult(TypedDict):
    """A price whose age is known."""
    selection: PriceSelection
    status: Literal["fresh", "stale"]
    """`fresh` when `source_as_of` is at most 36 hours before `meta.snapshot_at`, else `stale`."""
    price: Money
    observation: DatedObservation
    missing_reason: None


class UndatedPriceResult(TypedDict):
    """A price whose age is not known, however recently it was collected."""
    selection: PriceSelection
    status: Literal["unknown"]
    price: Money
    observation: UndatedObservation
    missing_reason: None


class MissingPriceResult(TypedDict):
    """No distributable price. It is charged like any other result of the call."""
    selection: PriceSelection
    status: Literal["missing"]
    price: None
    observation: None
    missing_reason: str
    """`not_found`: no such product. `unsupported_selection`: other kind, or a lane the product
    does not have. `not_licensed`: a price exists but may not be distributed.
    `no_observation`: no current price.
    """


PriceResult: TypeAlias = "DatedPriceResult | UndatedPriceResult | MissingPriceResult"
"""The result of one selection. Its `status` decides the form."""


class PreviewPriceBatch(TypedDict):
    """The preview form of the response."""
    data: list[PriceResult]
    """One per selection, in the order of the request."""
    meta: Meta


class CardsSearchParams(TypedDict):
    """The query of `cards_search`."""
    q: NotRequired[str]
    """Words as people type them. Spelling, accents, punctuation and the order of words do not
    matter. A set, a number, a rarity, a finish or a game may be among the words. Stop words
    are left out. Words may ask for an order, bounds of the price or an era: `cheapest
    charizard under $50`, `wotc gyarados`. They count without `sort` and bounds. A card id
    finds that card. At least one character that is not a space.
    """
    set: NotRequired[str]
    """Set id or slug; its code and its name work as well, also as people write them (`151`,
    `SV08`, `evolving skys`). A set that does not exist gives an empty list, and
    `X-Search-Interpretation` names the nearest.
    """
    game: NotRequired[str]
    """Slug of a game from `GET /v1/games`; case, accents, hyphens and underscores do not matter.
    A game that does not exist gives an empty list, and `X-Unknown-Values` names the nearest.
    """
    number: NotRequired[str]
    """Card number as printed. Case, padding zeros and `/total` do not matter; a One Piece base
    number matches its parallels.
    """
    rarity: NotRequired[str]
    """Rarity, as `GET /v1/facets` lists them. Only letters and digits are compared, in any case."""
    identifier: NotRequired[str]
    """The name of the card in another catalog, as `NAMESPACE:VALUE`, such as `tcgplayer:42382`
    or `pokemon-tcg-data:base1-4`. `identifiers` of a card detail has them. Several cards may
    share one.
    """
    variant: NotRequired[str]
    """Cards with a price in this variant: a code, as `GET /v1/facets` lists them, or the words
    that people write for the finish and edition (`rev holo`, `1st ed`). Case, spaces, hyphens
    and underscores do not matter.
    """
    min_price_cents: NotRequired[int]
    """Lowest current price. Any bound, even 0, leaves out cards without a price."""
    max_price_cents: NotRequired[int]
    """Highest current price, not below `min_price_cents`. Any bound leaves out cards without a
    price.
    """
    released_after: NotRequired[str]
    """First release date of the card's set, inclusive. Cards without a date are left out."""
    released_before: NotRequired[str]
    """Last release date of the card's set, inclusive. Cards without a date are left out."""
    updated_since: NotRequired[str]
    """Cards whose entry, or the value of any price, changed at this instant or later; a price
    collected again unchanged does not count. The plus sign of an offset is written `%2B`.
    """
    sort: NotRequired[str]
    """Order of the list. `relevance` without `q` is `price_desc`. `name` goes by the letters and
    digits of names, without accents and upper case; ties are in the order of ids. `number`
    has the newest set first, and within a set its numbers in natural order. Cards that lack
    what is sorted by come last.
    """
    limit: NotRequired[int]
    """Items on a page."""
    cursor: NotRequired[str]
    """The `next_cursor` of the page before, with the same filters and sort. It expires 15
    minutes after issue.
    """
    include: NotRequired[str]
    """`prices` adds to each card its `prices`, as the card's detail has them."""
    fields: NotRequired[str]
    """The members that are wanted, 16 at most, with commas between them. A dot names a member of
    a member: `set.name`, `prices.market_price_cents`. `id` is always there, and in batches
    `ref`. Others are left out, whatever `required` of the schema says. A name that is no
    member is 400. JSON alone has it.
    """


class CardsGetParams(TypedDict):
    """The query of `cards_get`."""
    fields: NotRequired[str]
    """The members that are wanted, 16 at most, with commas between them. A dot names a member of
    a member: `set.name`, `prices.market_price_cents`. `id` is always there, and in batches
    `ref`. Others are left out, whatever `required` of the schema says. A name that is no
    member is 400. JSON alone has it.
    """


class CardPricesParams(TypedDict):
    """The query of `card_prices`."""
    days: NotRequired[int]
    """Days up to the date of the snapshot. A longer range than the plan's is shortened, and
    `days` in the response says so.
    """
    variant: NotRequired[str]
    """One variant only: its code, or the words that people write for the finish and edition
    (`rev holo`, `1st ed`). Case, spaces, hyphens and underscores do not matter. One that is
    not tracked gives an empty list.
    """


class CardPriceStatsParams(TypedDict):
    """The query of `card_price_stats`."""
    window: NotRequired[str]
    """Days up to the date of the snapshot. Left out, it is 30d, or the longest that the plan has
    where that is shorter. One longer than the plan's is 403 `plan_limit`.
    """
    variant: NotRequired[str]
    """One variant only: its code, or the words that people write for the finish and edition
    (`rev holo`, `1st ed`). Case, spaces, hyphens and underscores do not matter. One that is
    not tracked gives an empty list.
    """


class SuggestListParams(TypedDict):
    """The query of `suggest_list`."""
    q: str
    """The words typed so far. At least one character that is not a space."""
    game: NotRequired[str]
    """Slug of a game from `GET /v1/games`; case, accents, hyphens and underscores do not matter.
    A game that does not exist gives an empty list, and `X-Unknown-Values` names the nearest.
    """
    limit: NotRequired[int]
    """Suggestions in the answer."""


class ChangesListParams(TypedDict):
    """The query of `changes_list`."""
    since: str
    """Id of the snapshot that the caller's copy is of. The current id is an empty page."""
    kind: str
    """The compared records: cards without their prices, prices of cards, or sets."""
    limit: NotRequired[int]
    """Rows on a page: to 5,000 of prices, and to 1,000 of cards and of sets."""
    cursor: NotRequired[str]
    """The `next_cursor` of the page before, with the same filters and sort. It expires 15
    minutes after issue.
    """


class SetsListParams(TypedDict):
    """The query of `sets_list`."""
    q: NotRequired[str]
    """Words of the set's name, its code, or the name as people write it: `151`, `SV08`,
    `evolving skys`. Sets that are called so come first. Where none fits,
    `X-Search-Interpretation` names the nearest.
    """
    series: NotRequired[str]
    """Series. Only letters and digits are compared, in any case."""
    game: NotRequired[str]
    """Slug of a game from `GET /v1/games`; case, accents, hyphens and underscores do not matter.
    A game that does not exist gives an empty list, and `X-Unknown-Values` names the nearest.
    """
    limit: NotRequired[int]
    """Items on a page."""
    cursor: NotRequired[str]
    """The `next_cursor` of the page before, with the same filters and sort. It expires 15
    minutes after issue.
    """


class MarketMoversParams(TypedDict):
    """The query of `market_movers`."""
    direction: str
    """`up` for gainers, `down` for decliners."""
    period: NotRequired[float]
    """Accepted for the sake of clients that send it: only the 7-day change is kept, so that
    every value gives the 7-day figures.
    """
    min_price_cents: NotRequired[int]
    """Leaves out cards now below this price."""
    set: NotRequired[str]
    """Set id or slug; its code and its name work as well, also as people write them (`151`,
    `SV08`, `evolving skys`). A set that does not exist gives an empty list, and
    `X-Search-Interpretation` names the nearest.
    """
    game: NotRequired[str]
    """Slug of a game from `GET /v1/games`; case, accents, hyphens and underscores do not matter.
    A game that does not exist gives an empty list, and `X-Unknown-Values` names the nearest.
    """
    limit: NotRequired[int]
    """Items on a page."""


class ProductsListParams(TypedDict):
    """The query of `products_list`."""
    limit: NotRequired[int]
    """Items on a page."""
    cursor: NotRequired[str]
    """The `next_cursor` of the page before, with the same parameters. It is bound to the
    organization and expires in 15 minutes.
    """
    game: NotRequired[str]
    """One game only; both when left out."""
    kind: NotRequired[str]
    """One kind only; both when left out."""
    partner_id: NotRequired[str]
    """Exact lookup by partner alias. It may match none or several: never take the first of
    several.
    """
