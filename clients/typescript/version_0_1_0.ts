// A program of version 0.1.0, which is never changed: it must compile with every later version. See check-languages.sh.
import { APIError, Client, NinepocketError, type Options, type Schemas, Unreachable, version } from "ninepocket";
import { Mirror } from "ninepocket/mirror";

const options: Options = { deadlineSeconds: 60, tryTimeoutSeconds: 20, maxTries: 8, userAgent: `shop/1 ninepocket/${version}` };

export async function reads(base: string, key: string): Promise<string[]> {
  const client = new Client(base, key, options);
  const said: string[] = [];
  for await (const card of client.cards({ q: "charizard", sort: "price_desc", include: "prices", limit: 50 })) {
    const cents: number | null = card.price.market_price_cents;
    said.push(card.id, card.name, card.number ?? "", card.set?.name ?? "", card.url ?? "", String(cents), ...(card.prices ?? []).map(lane));
  }
  for await (const set of client.sets({ game: "pokemon" })) said.push(set.id, set.name, set.release_date ?? "", String(set.card_count));
  for (const mover of await client.movers({ direction: "down", limit: 5 })) said.push(mover.id, String(mover.price_change_percent));
  for (const suggestion of await client.suggest({ q: "chari" })) said.push(suggestion.kind, suggestion.text);
  const card = await client.card("card_5vfvbdg5zt4y47pl");
  said.push(...card.prices.map(lane), ...card.identifiers.map(({ namespace, value }) => `${namespace}:${value}`));
  const batch = await client.cardsBatch({ ids: ["a"], identifiers: ["tcgplayer:1"] }, { fields: "name" });
  said.push(...batch.data.map(({ ref }) => ref ?? ""), ...batch.not_found);
  const histories = await client.historiesBatch({ ids: ["a"], days: 7 });
  said.push(...histories.dates, ...histories.data.flatMap(({ lanes }) => lanes.map(({ market_price_cents }) => String(market_price_cents[0]))));
  const rows: string[][] = await client.batchCSV("prices", { ids: ["a"] });
  const worth = await client.value([{ line: "2x Charizard 4/102" }, { name: "Pikachu", quantity: 3 }]);
  const usage = await client.usage();
  said.push(...rows.flat(), String(worth.totals.exact_cents), worth.items[0]?.status ?? "", String(usage.data.request_credits_remaining));
  for await (const row of client.changes("snapshot", "prices")) said.push(row.id, row.change, String(row.price?.market_price_cents));
  return said;
}

function lane(price: Schemas["VariantPrice"]): string {
  return `${price.variant} ${price.condition} ${price.market_price_cents} ${price.currency}`;
}

export async function pays(client: Client, selections: Schemas["PriceSelection"][]): Promise<number> {
  let cents = 0;
  for await (const product of client.products({ kind: "card" })) {
    if (product.kind === "card") for (const { variant, condition } of product.price_options) selections.push({ kind: "card", product_id: product.id, variant, condition });
    else selections.push({ kind: "sealed", product_id: product.id });
  }
  for await (const result of client.previewPrices("night-1", selections)) {
    if (result.status === "missing") console.log(result.missing_reason);
    else cents += result.price.amount_cents;
  }
  return cents;
}

export async function keeps(client: Client): Promise<string | undefined> {
  try {
    const mirror = await Mirror.open(client, "folder");
    await mirror.sync();
    for (const card of mirror.cards()) console.log(card.name, mirror.prices(card.id).length, mirror.set("set_1")?.name);
    return mirror.snapshotId;
  } catch (reason) {
    if (reason instanceof APIError) console.log(reason.code, reason.status, reason.detail, reason.requestId, reason.retryAfter, reason.advice);
    else if (reason instanceof Unreachable || reason instanceof NinepocketError) console.log(reason.message);
    return undefined;
  }
}
