// The client: one method for each job, typed after the API's document.
import createClient, {} from "openapi-fetch";
import { APIError, NinepocketError, retryAfter } from "./errors.js";
import { Asked, Transport } from "./transport.js";
// What the server takes in one request.
const sizes = { cards: 200, prices: 100, histories: 50 };
const batchPaths = { cards: "/v1/cards/batch", prices: "/v1/prices/batch", histories: "/v1/prices/history/batch" };
const [selectionsOfChunk, itemsOfChunk, bytesOfBody] = [50, 1000, 250_000];
const restartsOfWalk = 3;
/** A client of one server with one key. */
export class Client {
    /** The calls of openapi-fetch with our tries and errors, for what has no method here. */
    api;
    /** @internal */
    transport;
    constructor(baseUrl, key, options = {}) {
        this.transport = new Transport(baseUrl, key, options);
        this.api = createClient({
            baseUrl: this.transport.base,
            Request: Asked,
            fetch: this.transport.fetch,
        });
    }
    // One answer each. They are asked for conditionally, so that an unchanged one is not sent again.
    /** All games. */
    async games() {
        return (await had(this.api.GET("/v1/games"))).data;
    }
    /** The values that filters take, with the number of cards of each. */
    facets() {
        return had(this.api.GET("/v1/facets"));
    }
    /** Completes what somebody types. `signal` gives a request up whose words are not current any more. */
    async suggest(query, signal = null) {
        return (await had(this.api.GET("/v1/suggest", { params: { query }, signal }))).data;
    }
    /** One card with its prices. */
    card(id, query = {}) {
        return had(this.api.GET("/v1/cards/{id}", { params: { path: named(id), query } }));
    }
    /** The prices of one card, day by day. */
    history(id, query = {}) {
        return had(this.api.GET("/v1/cards/{id}/prices", { params: { path: named(id), query } }));
    }
    /** Statistics of one card's prices. */
    statistics(id, query = {}) {
        return had(this.api.GET("/v1/cards/{id}/price-stats", { params: { path: named(id), query } }));
    }
    /** One set with its most expensive cards. */
    set(id) {
        return had(this.api.GET("/v1/sets/{id}", { params: { path: named(id) } }));
    }
    /** The cards whose price changed most. The API has one page of them. */
    async movers(query) {
        return (await had(this.api.GET("/v1/market/movers", { params: { query } }))).data;
    }
    /** One product of the preview contract. */
    async product(id) {
        return (await had(this.api.GET("/v1/products/{product_id}", { params: { path: { product_id: named(id).id } } }))).data;
    }
    /** What was used, and what is left. It is free. */
    usage() {
        return had(this.api.GET("/v1/usage", { cache: "no-store" }));
    }
    /** The snapshot that is served now, and its time. It is free to ask. */
    async served() {
        const { data, response } = await this.api.GET("/v1/usage", { cache: "no-store" });
        return { id: response.headers.get("X-Snapshot-Id") ?? "", at: data?.meta.snapshot_at ?? "" };
    }
    /** The files of the whole catalog, and the seconds to wait for them where there are none yet. */
    async bulk() {
        const answer = this.api.GET("/v1/bulk", { cache: "no-store" });
        return { list: await had(answer), wait: retryAfter((await answer).response.headers) ?? 0 };
    }
    // Walks over all pages. They are not remembered, since each page is asked for once.
    /** All cards that the filters find, each once. */
    cards(filters = {}) {
        return walk(filters, (query) => had(this.api.GET("/v1/cards", { params: { query }, cache: "no-store" })));
    }
    /** All sets that the filters find, each once. */
    sets(filters = {}) {
        return walk(filters, (query) => had(this.api.GET("/v1/sets", { params: { query }, cache: "no-store" })));
    }
    /** All products of the preview contract, each once. */
    products(filters = {}) {
        return walk(filters, async (query) => {
            const { data, pagination } = await had(this.api.GET("/v1/products", { params: { query }, cache: "no-store" }));
            return { data, next_cursor: pagination.next_cursor };
        });
    }
    /** All rows that changed since a snapshot, each once, up to the one of the first page, or `upTo`. */
    async *changes(since, kind, upTo) {
        for await (const page of this.changePages(since, kind, upTo))
            yield* page.data;
    }
    /** The same in pages, which name the snapshot that they lead to. */
    async *changePages(since, kind, upTo) {
        const query = { since, kind, limit: kind === "prices" ? 5000 : 1000 };
        const given = new Set();
        for (let restarts = 0;;) {
            let page;
            try {
                const header = upTo === undefined ? {} : { "X-Snapshot-Id": upTo };
                page = await had(this.api.GET("/v1/changes", { params: { query, header }, cache: "no-store" }));
            }
            catch (reason) {
                if (!(reason instanceof APIError && reason.cursorExpired) || ++restarts > restartsOfWalk)
                    throw reason;
                delete query.cursor;
                continue;
            }
            upTo = page.snapshot_id;
            page.data = page.data.filter((row) => fresh(given, `${row.id} ${row.variant} ${row.condition}`));
            yield page;
            if (page.next_cursor === null)
                return;
            query.cursor = page.next_cursor;
        }
    }
    // Batches of any length, each of one snapshot.
    /** Cards with their prices, in the order asked for. */
    async cardsBatch(asked, query = {}) {
        return joined(await this.batch("cards", asked, {}, query), { data: [], not_found: [] });
    }
    /** Display prices, in the order asked for. */
    async pricesBatch(asked, query = {}) {
        return joined(await this.batch("prices", asked, {}, query), { data: [], not_found: [] });
    }
    /** Price histories in columns, in the order asked for. */
    async historiesBatch(asked) {
        const { days, variant } = asked;
        const none = { days: 0, dates: [], data: [], not_found: [] };
        return joined(await this.batch("histories", asked, { days, variant }, {}), none);
    }
    /** A batch as rows of CSV, its header first. Far cheaper to decode. */
    async batchCSV(kind, asked) {
        const all = (await this.batch(kind, asked, { days: asked.days }, {}, "text/csv")).map((text) => rowsOf(text));
        const rows = all.flatMap((part, number) => (number === 0 ? part : part.slice(1)));
        const missing = (row) => row.at(-1) === "not_found";
        return [...rows.filter((row) => !missing(row)), ...rows.filter(missing)];
    }
    batch(kind, asked, more, query, accept) {
        const refs = [...new Set(asked.ids)].map((ref) => ["ids", ref]);
        const all = [...refs, ...[...new Set(asked.identifiers)].map((ref) => ["identifiers", ref])];
        const bodies = groupsOf(all, asked.chunk ?? sizes[kind]).map((chunk) => {
            const body = { ...more };
            for (const [name, ref] of chunk)
                (body[name] ??= []).push(ref);
            return JSON.stringify(body);
        });
        return this.postAll(batchPaths[kind], bodies, query, accept ? { Accept: accept } : {});
    }
    /** The answers to all bodies from one snapshot. When that is gone they begin again, once. */
    async postAll(path, bodies, query, headers) {
        for (let again = false;; again = true) {
            const answers = [];
            let pinned = {};
            try {
                for (const body of bodies) {
                    const answer = await this.api.POST(path, {
                        params: { query },
                        body: body,
                        bodySerializer: (text) => text,
                        headers: { ...headers, ...pinned },
                        parseAs: headers["Accept"] ? "text" : "json",
                    });
                    answers.push(answer.data);
                    pinned = { "X-Snapshot-Id": answer.response.headers.get("X-Snapshot-Id") ?? "" };
                }
                return answers;
            }
            catch (reason) {
                if (again || !(reason instanceof APIError && reason.code === "snapshot_gone"))
                    throw reason;
            }
        }
    }
    // Valuations: `index` counts through the whole list, and the totals are of all of it.
    /** What a list of cards is worth. */
    value(items, chunk = itemsOfChunk) {
        const parts = groupsOf(items.map((item) => JSON.stringify(item)), chunk, 20);
        return this.valueAll(parts.map((part) => `{"items":[${part.join(",")}]}`), {});
    }
    /** What the export of an app is worth. Its rows are not changed, and quoted ones may have line ends. */
    valueCSV(text, chunk = itemsOfChunk) {
        const lines = [];
        for (const line of text.replace(/^\uFEFF/, "").match(/[^\n]*\n|[^\n]+$/g) ?? []) {
            if (((lines.at(-1) ?? "").match(/"/g) ?? []).length % 2)
                lines.push(lines.pop() + line);
            else if (line.trim())
                lines.push(line.endsWith("\n") ? line : line + "\n");
        }
        const head = lines.splice(0, /^sep=/i.test(lines[0] ?? "") ? 2 : 1).join("");
        return this.valueAll(groupsOf(lines, chunk, head.length).map((part) => head + part.join("")), { "Content-Type": "text/csv" });
    }
    async valueAll(bodies, headers) {
        const [all, ...others] = (await this.postAll("/v1/valuations", bodies, {}, headers));
        if (!all)
            throw new NinepocketError("cannot value a list without entries");
        for (const part of others) {
            const before = all.items.length;
            for (const item of part.items)
                all.items.push({ ...item, index: before + item.index });
            for (const name of Object.keys(all.totals))
                all.totals[name] += part.totals[name];
        }
        return all;
    }
    // The preview contract.
    /**
     * Prices selections for a partner, in their order. A job that is repeated within ten minutes is free.
     * After ten minutes the server has forgotten: a job that may be resumed later stores what it has.
     */
    async *previewPrices(jobId, selections) {
        const distinct = [...new Map(selections.map((selection) => [laneOf(selection), selection]))];
        const results = new Map();
        let given = 0;
        for (const chunk of groupsOf(distinct, selectionsOfChunk)) {
            const key = await sha256(jobId + "\n" + chunk.map(([lane]) => lane + "\n").join(""));
            const body = { items: chunk.map(([, selection]) => selection) };
            const batch = (await had(this.api.POST("/v1/prices/batch", { params: { header: { "Idempotency-Key": key } }, body })));
            chunk.forEach(([lane], index) => results.set(lane, batch.data[index]));
            for (let result; given < selections.length && (result = results.get(laneOf(selections[given]))); given++)
                yield result;
        }
    }
}
/** What an answer has. Errors were thrown before. */
async function had(answer) {
    return (await answer).data;
}
/** The rows of all pages. When a cursor expires it begins again, without the rows that it gave. */
async function* walk(filters, get) {
    const query = { limit: 50, ...filters };
    const given = new Set();
    for (let restarts = 0;;) {
        let page;
        try {
            page = await get(query);
        }
        catch (reason) {
            const old = reason instanceof APIError && (reason.cursorExpired || reason.code === "snapshot_gone");
            if (!old || query.cursor === undefined || ++restarts > restartsOfWalk)
                throw reason;
            delete query.cursor;
            continue;
        }
        for (const row of page.data)
            if (fresh(given, row.id))
                yield row;
        if (page.next_cursor === null)
            return;
        query.cursor = page.next_cursor;
    }
}
function fresh(given, name) {
    return given.size < given.add(name).size;
}
/** An id as a part of a path; an empty one would name the list. */
function named(id) {
    if (id === "")
        throw new NinepocketError("cannot ask for an empty id");
    return { id };
}
function joined(parts, none) {
    const all = parts;
    return { ...none, ...all[0], data: all.flatMap((part) => part.data), not_found: all.flatMap((part) => part.not_found) };
}
/** Cuts entries into groups that each fit one request by number and bytes. */
function groupsOf(entries, longest, around = 0) {
    const groups = [];
    let size = 0;
    for (const entry of entries) {
        const length = typeof entry === "string" ? new TextEncoder().encode(entry).length + 1 : 0;
        if (groups.length === 0 || groups.at(-1).length === longest || size + length > bytesOfBody) {
            groups.push([]);
            size = around;
        }
        groups.at(-1).push(entry);
        size += length;
    }
    return groups;
}
/** Fields of CSV, of which those in quotes may have commas, quotes and line ends. */
function rowsOf(text) {
    const rows = [];
    let row = [];
    for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/g)) {
        if (end === "" && row.length === 0 && !plain && quoted === undefined)
            break;
        row.push(quoted?.replaceAll('""', '"') ?? plain ?? "");
        if (end !== ",")
            row = (rows.push(row), []);
    }
    return rows;
}
/** A selection as the Idempotency-Key has it; the clients of all languages agree on it. */
function laneOf(selection) {
    const lane = selection.kind === "card" ? [selection.variant, selection.condition] : ["", ""];
    return [selection.kind, selection.product_id, ...lane].join("\t");
}
async function sha256(text) {
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
    return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
