// Code of callers of one surface against the types of its document: the plain object is there, and
// no part of the other surface.
import type * as live from "./generated/openapi-live";
import type * as preview from "./generated/openapi-preview";

type Body<O> = O extends { requestBody: { content: { "application/json": infer B } } } ? B : never;
type Answer<O> = O extends { responses: { 200: { content: { "application/json": infer A } } } } ? A : never;

export const asked: Body<live.operations["prices_batch"]> = { ids: ["x"], identifiers: ["tcgplayer:1"] };
export const selected: Body<preview.operations["prices_batch"]> = { items: [{ kind: "sealed", product_id: "prd_abc" }] };
export const key: preview.operations["prices_batch"]["parameters"]["header"] = { "Idempotency-Key": "x" };

export function first(batch: Answer<live.operations["prices_batch"]>): number | null | undefined {
  return batch.data[0]?.market_price_cents;
}

export function units(batch: Answer<preview.operations["prices_batch"]>): 0 | 1 {
  return batch.meta.billable_units;
}

export function setName(card: live.components["schemas"]["CardSummary"]): string {
  return card.set === null ? "no set" : card.set.name;
}

export function valued(item: live.components["schemas"]["ValuedItem"]): string {
  return `${item.card?.name ?? "nothing"} ${item.price_updated_at ?? ""}`;
}

export const item: live.components["schemas"]["ValuationItem"] = { name: "Charizard", quantity: 2 };

// @ts-expect-error a selection is of the other surface
export const badBody: Body<live.operations["prices_batch"]>["ids"] = [{ kind: "card" }];
// @ts-expect-error an operation of the other surface
export type NoProducts = live.operations["products_list"];
// @ts-expect-error an operation of the other surface
export type NoCards = preview.operations["cards_search"];
