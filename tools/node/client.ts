// A sample client that only has to compile. It uses the generated types like a caller, so that a
// change of the document that breaks callers breaks this file.
import type { components, operations, paths } from "./generated/openapi";

type Schemas = components["schemas"];
type Card = Schemas["CardDetail"];
type Search = NonNullable<paths["/v1/cards"]["get"]["parameters"]["query"]>;
type Page = operations["cards_search"]["responses"][200]["content"]["application/json"];
type Batch = operations["prices_batch"]["responses"][200]["content"]["application/json"];

export class ApiProblem extends Error {
  constructor(readonly problem: Schemas["Problem"] | Schemas["RetryProblem"]) {
    super(problem.detail);
  }

  /** Seconds to wait before the next attempt, where waiting helps. */
  get wait(): number | undefined {
    return "retry_after_seconds" in this.problem ? this.problem.retry_after_seconds : undefined;
  }
}

export class Client {
  constructor(
    private readonly base: string,
    private readonly key: string,
  ) {}

  private async call<T>(path: string, init: RequestInit = {}): Promise<T> {
    const response = await fetch(this.base + path, { ...init, headers: { ...init.headers, Authorization: `Bearer ${this.key}` } });
    if (!response.ok) throw new ApiProblem((await response.json()) as Schemas["Problem"]);
    return (await response.json()) as T;
  }

  /** Walks every page of a search. */
  async *search(query: Search): AsyncGenerator<Schemas["CardSummary"]> {
    let cursor: string | null | undefined = query.cursor;
    do {
      const given = Object.entries({ ...query, ...(cursor ? { cursor } : {}) }).map(([name, value]): [string, string] => [name, String(value)]);
      const page: Page = await this.call<Page>(`/v1/cards?${new URLSearchParams(given)}`);
      yield* page.data;
      cursor = page.next_cursor;
    } while (cursor !== null);
  }

  card(ref: string): Promise<Card> {
    return this.call<Card>(`/v1/cards/${encodeURIComponent(ref)}`);
  }

  prices(ids: string[]): Promise<Batch> {
    const body: Schemas["PriceBatchRequest"] = { ids };
    return this.call<Batch>("/v1/prices/batch", { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });
  }
}

/** A price of null is no price, and the compiler says so. */
export function cheapest(card: Card): number | undefined {
  const cents = card.prices.map((price): number => price.market_price_cents);
  return cents.length > 0 ? Math.min(...cents) : undefined;
}

export function display(price: Schemas["CurrentPrice"]): string {
  return price.market_price_cents === null ? "no price" : `$${(price.market_price_cents / 100).toFixed(2)}`;
}

/** Unions are told apart by their discriminator, and every case is there. */
export function describe(product: Schemas["Product"]): string {
  switch (product.kind) {
    case "card":
      return `${product.name} ${product.collector_number} (${product.printing})`;
    case "sealed":
      return `${product.name}, ${product.units_per_package} × ${product.unit_kind}`;
  }
}

export function cents(result: Schemas["PriceResult"]): number | Schemas["MissingPriceResult"]["missing_reason"] {
  switch (result.status) {
    case "fresh":
    case "stale": {
      const asOf: string = result.observation.source_as_of;
      return asOf === "" ? 0 : result.price.amount_cents;
    }
    case "unknown": {
      const asOf: null = result.observation.source_as_of;
      return asOf ?? result.price.amount_cents;
    }
    case "missing":
      return result.missing_reason;
  }
}

export function isPreview(batch: Batch): batch is Schemas["PreviewPriceBatch"] {
  return "meta" in batch;
}

// @ts-expect-error a sort that the document does not have
export const badSort: Search = { sort: "best" };
// @ts-expect-error a card selection needs variant and condition
export const badSelection: Schemas["PriceSelection"] = { kind: "card", product_id: "prd_4k2m7qd5xw3hnz6a" };
// @ts-expect-error movers need a direction
export const badMovers: operations["market_movers"]["parameters"]["query"] = { limit: 5 };
