import { type Client as Fetcher } from "openapi-fetch";
import type { components, operations, paths } from "./api.js";
import { type Options, Transport } from "./transport.js";
export type Schemas = components["schemas"];
type Query<Operation extends keyof operations> = operations[Operation] extends {
    parameters: {
        query?: infer Q;
    };
} ? NonNullable<Q> : never;
/** What a batch asks for: `ids` come before `identifiers`. `chunk` is for plans with smaller batches. */
export interface ByIds {
    ids?: readonly string[];
    identifiers?: readonly string[];
    chunk?: number;
}
declare const sizes: {
    cards: number;
    prices: number;
    histories: number;
};
/** A client of one server with one key. */
export declare class Client {
    /** The calls of openapi-fetch with our tries and errors, for what has no method here. */
    readonly api: Fetcher<paths>;
    /** @internal */
    readonly transport: Transport;
    constructor(baseUrl: string, key: string, options?: Options);
    /** All games. */
    games(): Promise<Schemas["Game"][]>;
    /** The values that filters take, with the number of cards of each. */
    facets(): Promise<Schemas["Facets"]>;
    /** Completes what somebody types. `signal` gives a request up whose words are not current any more. */
    suggest(query: Query<"suggest_list">, signal?: AbortSignal | null): Promise<Schemas["Suggestion"][]>;
    /** One card with its prices. */
    card(id: string, query?: Query<"cards_get">): Promise<Schemas["CardDetail"]>;
    /** The prices of one card, day by day. */
    history(id: string, query?: Query<"card_prices">): Promise<Schemas["PriceHistory"]>;
    /** Statistics of one card's prices. */
    statistics(id: string, query?: Query<"card_price_stats">): Promise<Schemas["PriceStatistics"]>;
    /** One set with its most expensive cards. */
    set(id: string): Promise<Schemas["SetDetail"]>;
    /** The cards whose price changed most. The API has one page of them. */
    movers(query: Query<"market_movers">): Promise<Schemas["Mover"][]>;
    /** One product of the preview contract. */
    product(id: string): Promise<Schemas["Product"]>;
    /** What was used, and what is left. It is free. */
    usage(): Promise<Schemas["UsageReport"]>;
    /** The snapshot that is served now, and its time. It is free to ask. */
    served(): Promise<{
        id: string;
        at: string;
    }>;
    /** The files of the whole catalog, and the seconds to wait for them where there are none yet. */
    bulk(): Promise<{
        list: Schemas["BulkList"];
        wait: number;
    }>;
    /** All cards that the filters find, each once. */
    cards(filters?: Query<"cards_search">): AsyncGenerator<Schemas["CardSummary"], void, void>;
    /** All sets that the filters find, each once. */
    sets(filters?: Query<"sets_list">): AsyncGenerator<Schemas["SetSummary"], void, void>;
    /** All products of the preview contract, each once. */
    products(filters?: Query<"products_list">): AsyncGenerator<Schemas["Product"], void, void>;
    /** All rows that changed since a snapshot, each once, up to the one of the first page, or `upTo`. */
    changes(since: string, kind: Query<"changes_list">["kind"], upTo?: string): AsyncGenerator<Schemas["Change"], void, void>;
    /** The same in pages, which name the snapshot that they lead to. */
    changePages(since: string, kind: Query<"changes_list">["kind"], upTo?: string): AsyncGenerator<Schemas["ChangePage"], void, void>;
    /** Cards with their prices, in the order asked for. */
    cardsBatch(asked: ByIds, query?: Query<"cards_batch">): Promise<Schemas["CardBatch"]>;
    /** Display prices, in the order asked for. */
    pricesBatch(asked: ByIds, query?: Query<"prices_batch">): Promise<Schemas["PriceBatch"]>;
    /** Price histories in columns, in the order asked for. */
    historiesBatch(asked: ByIds & {
        days?: number;
        variant?: string;
    }): Promise<Schemas["HistoryBatch"]>;
    /** A batch as rows of CSV, its header first. Far cheaper to decode. */
    batchCSV(kind: keyof typeof sizes, asked: ByIds & {
        days?: number;
    }): Promise<string[][]>;
    private batch;
    /** The answers to all bodies from one snapshot. When that is gone they begin again, once. */
    private postAll;
    /** What a list of cards is worth. */
    value(items: readonly Schemas["ValuationItem"][], chunk?: number): Promise<Schemas["Valuation"]>;
    /** What the export of an app is worth. Its rows are not changed, and quoted ones may have line ends. */
    valueCSV(text: string, chunk?: number): Promise<Schemas["Valuation"]>;
    private valueAll;
    /**
     * Prices selections for a partner, in their order. A job that is repeated within ten minutes is free.
     * After ten minutes the server has forgotten: a job that may be resumed later stores what it has.
     */
    previewPrices(jobId: string, selections: readonly Schemas["PriceSelection"][]): AsyncGenerator<Schemas["PriceResult"], void, void>;
}
export {};
