// The client: one method for each job, typed after the API's document.
import createClient, { type Client as Fetcher } from "openapi-fetch";
import type { components, operations, paths } from "./api.js";
import { APIError, NinepocketError, retryAfter } from "./errors.js";
import { type Answer, Asked, type Options, Transport } from "./transport.js";

export type Schemas = components["schemas"];
type Query<Operation extends keyof operations> = operations[Operation] extends { parameters: { query?: infer Q } } ? NonNullable<Q> : never;

/** The request of a batch: `ids` come before `identifiers`. `chunk` is for plans with smaller batches. */
export interface ByIds {
  ids?: readonly string[];
  identifiers?: readonly string[];
  chunk?: number;
}

/** The JSON of an operation's success. */
type Success<Operation extends keyof operations> = operations[Operation] extends { responses: { 200: { content: { "application/json": infer Body } } } } ? Body : never;

interface Page<T> {
  data: T[];
  next_cursor: string | null;
}

// The server's limits of one request.
const sizes = { cards: 200, prices: 100, histories: 50 };
const batchPaths = { cards: "/v1/cards/batch", prices: "/v1/prices/batch", histories: "/v1/prices/history/batch" } as const;
const [selectionsOfChunk, itemsOfChunk, bytesOfBody] = [50, 1000, 250_000];
const restartsOfWalk = 3;
const once: RequestInit = { cache: "no-store" }; // a response that is not cached
const json = { "Content-Type": "application/json" };

/** A client of one server with one key. */
export class Client {
  /** The calls of openapi-fetch with our tries and errors, for operations without a method here. */
  readonly api: Fetcher<paths>;
  /** @internal */
  readonly transport: Transport;

  constructor(baseUrl: string, key: string, options: Options = {}) {
    this.transport = new Transport(baseUrl, key, options);
    this.api = createClient<paths>({
      baseUrl: this.transport.base,
      pathSerializer: (path, params) => path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name]))),
      Request: Asked as unknown as typeof Request,
      fetch: this.transport.fetch as unknown as (request: Request) => Promise<Response>,
    });
  }

  // One response each. Requests are conditional, so that an unchanged response is not sent again.

  /** All games. */
  async games(): Promise<Schemas["Game"][]> {
    return (await this.get<"games_list">("/v1/games")).data;
  }

  /** The values that filters take, with the number of cards of each. */
  facets(): Promise<Schemas["Facets"]> {
    return this.get<"facets_list">("/v1/facets");
  }

  /** Completes typed words. `signal` aborts a request whose words are no longer current. */
  async suggest(query: Query<"suggest_list">, signal: AbortSignal | null = null): Promise<Schemas["Suggestion"][]> {
    return (await this.get<"suggest_list">("/v1/suggest", query, { signal })).data;
  }

  /** One card with its prices. */
  card(id: string, query: Query<"cards_get"> = {}): Promise<Schemas["CardDetail"]> {
    return this.get<"cards_get">(`/v1/cards/${named(id)}`, query);
  }

  /** The prices of one card, day by day. */
  history(id: string, query: Query<"card_prices"> = {}): Promise<Schemas["PriceHistory"]> {
    return this.get<"card_prices">(`/v1/cards/${named(id)}/prices`, query);
  }

  /** Statistics of one card's prices. */
  statistics(id: string, query: Query<"card_price_stats"> = {}): Promise<Schemas["PriceStatistics"]> {
    return this.get<"card_price_stats">(`/v1/cards/${named(id)}/price-stats`, query);
  }

  /** One set with its most expensive cards. */
  set(id: string): Promise<Schemas["SetDetail"]> {
    return this.get<"sets_get">(`/v1/sets/${named(id)}`);
  }

  /** The cards whose price changed most. The API has one page of them. */
  async movers(query: Query<"market_movers">): Promise<Schemas["Mover"][]> {
    return (await this.get<"market_movers">("/v1/market/movers", query)).data;
  }

  /** One product of the preview contract. */
  async product(id: string): Promise<Schemas["Product"]> {
    return (await this.get<"products_get">(`/v1/products/${named(id)}`)).data;
  }

  /** The usage of the plan, and the rest. It is free. */
  usage(): Promise<Schemas["UsageReport"]> {
    return this.get<"usage_get">("/v1/usage", {}, once);
  }

  /** The snapshot that is served now, and its time. It is free to ask. */
  async served(): Promise<{ id: string; at: string }> {
    const answer = await this.ask("/v1/usage", {}, once);
    const { meta } = (await answer.json()) as Schemas["UsageReport"];
    return { id: answer.headers.get("X-Snapshot-Id") ?? "", at: meta.snapshot_at };
  }

  /** The files of the whole catalog, and the seconds to wait if there are none yet. */
  async bulk(): Promise<{ list: Schemas["BulkList"]; wait: number }> {
    const answer = await this.ask("/v1/bulk", {}, once);
    return { list: (await answer.json()) as Schemas["BulkList"], wait: retryAfter(answer.headers) ?? 0 };
  }

  // Pagination over all pages. They are not cached, since each page is requested once.

  /** All cards that the filters find, each once. */
  cards(filters: Query<"cards_search"> = {}): AsyncGenerator<Schemas["CardSummary"], void, void> {
    return walk(filters, (query) => this.get<"cards_search">("/v1/cards", query, once));
  }

  /** All sets that the filters find, each once. */
  sets(filters: Query<"sets_list"> = {}): AsyncGenerator<Schemas["SetSummary"], void, void> {
    return walk(filters, (query) => this.get<"sets_list">("/v1/sets", query, once));
  }

  /** All products of the preview contract, each once. */
  products(filters: Query<"products_list"> = {}): AsyncGenerator<Schemas["Product"], void, void> {
    return walk(filters, async (query) => {
      const { data, pagination } = await this.get<"products_list">("/v1/products", query, once);
      return { data, next_cursor: pagination.next_cursor };
    });
  }

  /** All rows that changed since a snapshot, each once, up to the first page's snapshot, or `upTo`. */
  async *changes(since: string, kind: Query<"changes_list">["kind"], upTo?: string): AsyncGenerator<Schemas["Change"], void, void> {
    for await (const page of this.changePages(since, kind, upTo)) yield* page.data;
  }

  /** These rows in pages, which name the snapshot that they lead to. */
  async *changePages(since: string, kind: Query<"changes_list">["kind"], upTo?: string): AsyncGenerator<Schemas["ChangePage"], void, void> {
    const query: Query<"changes_list"> = { since, kind, limit: kind === "prices" ? 5000 : 1000 };
    const given = new Set<string>();
    for (let restarts = 0; ; ) {
      let page: Schemas["ChangePage"];
      try {
        const headers = upTo === undefined ? {} : { "X-Snapshot-Id": upTo };
        page = await this.get<"changes_list">("/v1/changes", query, { ...once, headers });
      } catch (reason) {
        if (!(reason instanceof APIError && reason.cursorExpired) || ++restarts > restartsOfWalk) throw reason;
        delete query.cursor;
        continue;
      }
      upTo = page.snapshot_id;
      page.data = page.data.filter((row) => fresh(given, `${row.id} ${row.variant} ${row.condition}`));
      yield page;
      if (page.next_cursor === null) return;
      query.cursor = page.next_cursor;
    }
  }

  // Batches of any length, each of one snapshot.

  /** Cards with their prices, in the given order. */
  async cardsBatch(asked: ByIds, query: Query<"cards_batch"> = {}): Promise<Schemas["CardBatch"]> {
    return joined<Schemas["CardBatch"]>(await this.batch("cards", asked, {}, query), { data: [], not_found: [] });
  }

  /** Display prices, in the given order. */
  async pricesBatch(asked: ByIds, query: Query<"prices_batch"> = {}): Promise<Schemas["PriceBatch"]> {
    return joined<Schemas["PriceBatch"]>(await this.batch("prices", asked, {}, query), { data: [], not_found: [] });
  }

  /** Price histories in columns, in the given order. */
  async historiesBatch(asked: ByIds & { days?: number; variant?: string }): Promise<Schemas["HistoryBatch"]> {
    const { days, variant } = asked;
    const none: Schemas["HistoryBatch"] = { days: 0, dates: [], data: [], not_found: [] };
    return joined(await this.batch("histories", asked, { days, variant }, {}), none);
  }

  /** A batch as rows of CSV, its header first. Far cheaper to decode. */
  async batchCSV(kind: keyof typeof sizes, asked: ByIds & { days?: number }): Promise<string[][]> {
    const all = (await this.batch(kind, asked, { days: asked.days }, {}, "text/csv")).map((text) => rowsOf(text as string));
    const rows = all.flatMap((part, number) => (number === 0 ? part : part.slice(1)));
    const missing = (row: string[]) => row.at(-1) === "not_found";
    return [...rows.filter((row) => !missing(row)), ...rows.filter(missing)];
  }

  private batch(kind: keyof typeof sizes, asked: ByIds, more: object, query: object, accept?: string): Promise<unknown[]> {
    const refs = [...new Set(asked.ids)].map((ref) => ["ids", ref] as const);
    const all = [...refs, ...[...new Set(asked.identifiers)].map((ref) => ["identifiers", ref] as const)];
    const bodies = groupsOf(all, asked.chunk ?? sizes[kind]).map((chunk) => {
      const body: Record<string, unknown> = { ...more };
      for (const [name, ref] of chunk) ((body[name] ??= []) as string[]).push(ref);
      return JSON.stringify(body);
    });
    return this.postAll(batchPaths[kind], bodies, query, accept ? { Accept: accept } : {});
  }

  /** The responses to all bodies from one snapshot. If that is gone they start again, once. */
  private async postAll(path: string, bodies: string[], query: object, headers: Record<string, string>): Promise<unknown[]> {
    for (let again = false; ; again = true) {
      const answers: unknown[] = [];
      let pinned = {};
      try {
        for (const body of bodies) {
          const answer = await this.ask(path, query, { method: "POST", body, headers: { ...json, ...headers, ...pinned } });
          answers.push(await (headers["Accept"] ? answer.text() : answer.json()));
          pinned = { "X-Snapshot-Id": answer.headers.get("X-Snapshot-Id") ?? "" };
        }
        return answers;
      } catch (reason) {
        if (again || !(reason instanceof APIError && reason.code === "snapshot_gone")) throw reason;
      }
    }
  }

  // Valuations: `index` counts through the whole list, and the totals cover all of it.

  /** The worth of a list of cards. */
  value(items: readonly Schemas["ValuationItem"][], chunk = itemsOfChunk): Promise<Schemas["Valuation"]> {
    const parts = groupsOf(items.map((item) => JSON.stringify(item)), chunk, 20);
    return this.valueAll(parts.map((part) => `{"items":[${part.join(",")}]}`), {});
  }

  /** The worth of an app's export. Its rows are not changed, and quoted rows may have line ends. */
  valueCSV(text: string, chunk = itemsOfChunk): Promise<Schemas["Valuation"]> {
    const lines: string[] = [];
    for (const line of text.replace(/^\uFEFF/, "").match(/[^\n]*\n|[^\n]+$/g) ?? []) {
      if (((lines.at(-1) ?? "").match(/"/g) ?? []).length % 2) lines.push(lines.pop() + line);
      else if (line.trim()) lines.push(line.endsWith("\n") ? line : line + "\n");
    }
    const head = lines.splice(0, /^sep=/i.test(lines[0] ?? "") ? 2 : 1).join("");
    return this.valueAll(groupsOf(lines, chunk, head.length).map((part) => head + part.join("")), { "Content-Type": "text/csv" });
  }

  private async valueAll(bodies: string[], headers: Record<string, string>): Promise<Schemas["Valuation"]> {
    const [all, ...others] = (await this.postAll("/v1/valuations", bodies, {}, headers)) as Schemas["Valuation"][];
    if (!all) throw new NinepocketError("cannot value a list without entries");
    for (const part of others) {
      const before = all.items.length;
      for (const item of part.items) all.items.push({ ...item, index: before + item.index });
      for (const name of Object.keys(all.totals) as (keyof Schemas["ValuationTotals"])[]) all.totals[name] += part.totals[name];
    }
    return all;
  }

  // The preview contract.

  /**
   * Prices selections for a partner, in their order. A job that is repeated within ten minutes is free.
   * After ten minutes the server has forgotten it: a job that may be resumed later stores its results.
   */
  async *previewPrices(jobId: string, selections: readonly Schemas["PriceSelection"][]): AsyncGenerator<Schemas["PriceResult"], void, void> {
    const distinct = [...new Map(selections.map((selection) => [laneOf(selection), selection]))];
    const results = new Map<string, Schemas["PriceResult"]>();
    let given = 0;
    for (const chunk of groupsOf(distinct, selectionsOfChunk)) {
      const key = await sha256(jobId + "\n" + chunk.map(([lane]) => lane + "\n").join(""));
      const body = JSON.stringify({ items: chunk.map(([, selection]) => selection) });
      const answer = await this.ask("/v1/prices/batch", {}, { method: "POST", body, headers: { ...json, "Idempotency-Key": key } });
      const batch = (await answer.json()) as Schemas["PreviewPriceBatch"];
      chunk.forEach(([lane], index) => results.set(lane, batch.data[index] as Schemas["PriceResult"]));

      for (let result; given < selections.length && (result = results.get(laneOf(selections[given]!))); given++) yield result;
    }
  }

  // openapi-fetch costs 40 microseconds a call, so that only calls without a method here go through it.

  private async get<Operation extends keyof operations>(path: string, query: object = {}, init: RequestInit = {}): Promise<Success<Operation>> {
    return (await (await this.ask(path, query, init)).json()) as Success<Operation>;
  }

  private ask(path: string, query: object, init: RequestInit): Promise<Answer> {
    const given = Object.entries(query).filter(([, value]) => value !== undefined) as [string, string][];
    const search = given.length > 0 ? `?${new URLSearchParams(given)}` : "";
    return this.transport.fetch(new Asked(this.transport.base + path + search, init));
  }
}

/** The rows of all pages. If a cursor expires it starts again, without rows already yielded. */
async function* walk<T extends { id: string }, Q extends { limit?: number; cursor?: string }>(filters: Q, get: (query: Q) => Promise<Page<T>>): AsyncGenerator<T, void, void> {
  const query = { limit: 50, ...filters };
  const given = new Set<string>();
  for (let restarts = 0; ; ) {
    let page: Page<T>;
    try {
      page = await get(query);
    } catch (reason) {
      const old = reason instanceof APIError && (reason.cursorExpired || reason.code === "snapshot_gone");
      if (!old || query.cursor === undefined || ++restarts > restartsOfWalk) throw reason;
      delete query.cursor;
      continue;
    }
    for (const row of page.data) if (fresh(given, row.id)) yield row;
    if (page.next_cursor === null) return;
    query.cursor = page.next_cursor;
  }
}

function fresh(given: Set<string>, name: string): boolean {
  return given.size < given.add(name).size;
}

/** An id as a part of a path; an empty one would name the list. */
function named(id: string): string {
  if (id === "") throw new NinepocketError("cannot ask for an empty id");
  return encodeURIComponent(id);
}

function joined<T extends { data: unknown[]; not_found: string[] }>(parts: unknown[], none: T): T {
  const all = parts as T[];
  return { ...none, ...all[0], data: all.flatMap((part) => part.data), not_found: all.flatMap((part) => part.not_found) };
}

/** Cuts entries into groups, each within the limits of one request by number and bytes. */
function groupsOf<T>(entries: readonly T[], longest: number, around = 0): T[][] {
  const groups: T[][] = [];
  let size = 0;
  for (const entry of entries) {
    const length = typeof entry === "string" ? new TextEncoder().encode(entry).length + 1 : 0;
    if (groups.length === 0 || groups.at(-1)!.length === longest || size + length > bytesOfBody) {
      groups.push([]);
      size = around;
    }
    groups.at(-1)!.push(entry);
    size += length;
  }
  return groups;
}

/** Fields of CSV. Quoted fields may have commas, quotes and line ends. */
function rowsOf(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/g)) {
    if (end === "" && row.length === 0 && !plain && quoted === undefined) break;
    row.push(quoted?.replaceAll('""', '"') ?? plain ?? "");
    if (end !== ",") row = (rows.push(row), []);
  }
  return rows;
}

/** A selection in the form of the Idempotency-Key; the clients of all languages agree on it. */
function laneOf(selection: Schemas["PriceSelection"]): string {
  const lane = selection.kind === "card" ? [selection.variant, selection.condition] : ["", ""];
  return [selection.kind, selection.product_id, ...lane].join("\t");
}

async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
