// A local copy of the catalog that is updated by changes. For Node; a page has no folder.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, readdir, readFile, rename, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import * as zlib from "node:zlib";
import type { Client, Schemas } from "./client.js";
import { APIError, NinepocketError, Unreachable } from "./errors.js";

/** A card in the API's form; variant and condition of its prices are codes, and changes may be null. */
export type MirrorCard = Omit<Schemas["CardDetail"], "ref">;

interface State {
  version: number;
  snapshot_id: string;
  cards: string;
  sets: string;
  made_by?: string;
  snapshot_at?: string;
  use_until?: string;
  attribution?: string;
}
type Records = Record<"cards" | "sets", Map<string, string>>;

const attempts = 3; // how often a copy starts again because a release came between
const zstd = (zlib as { createZstdDecompress?: () => NodeJS.ReadWriteStream & Readable }).createZstdDecompress;
const moving = { change_7d_cents: null, change_7d_percent: null, change_30d_cents: null, change_30d_percent: null };

/**
 * A folder with all cards, prices and sets of one snapshot. One process at a time may `sync` it.
 *
 * The first copy comes from the bulk files if the plan has them and zstd can be read here: by Node 22.15,
 * or by the program `zstd`. Otherwise it is pagination through the catalog, in some 900 requests, and `madeBy`
 * says so. A later day takes up to seven requests. All is held in memory, about 1 kB a card.
 */
export class Mirror {
  private constructor(
    private readonly client: Client,
    private readonly folder: string,
    private state: State | undefined,
    private records: Records,
  ) {}

  /** Opens the folder, which is made if there is none. */
  static async open(client: Client, folder: string): Promise<Mirror> {
    await mkdir(folder, { recursive: true });
    const records: Records = { cards: new Map(), sets: new Map() };
    let text: string;
    try {
      text = await readFile(join(folder, "mirror.json"), "utf8");
    } catch (reason) {
      if ((reason as NodeJS.ErrnoException).code !== "ENOENT") throw reason;
      return new Mirror(client, folder, undefined, records);
    }
    const state = JSON.parse(text) as State;
    if (state.version !== 1) throw new NinepocketError(`cannot read ${folder}/mirror.json: its version is ${state.version}, and 1 is known`);
    for (const name of ["cards", "sets"] as const) records[name] = await byId(createReadStream(join(folder, state[name])));
    return new Mirror(client, folder, state, records);
  }

  /** The snapshot that the mirror is complete for, or undefined before the first copy. */
  get snapshotId(): string | undefined {
    return this.state?.snapshot_id;
  }

  /** `bulk` or `walk` (pagination): the source of the last whole copy. */
  get madeBy(): string | undefined {
    return this.state?.made_by;
  }

  /** A card with its prices, or undefined if there is no such card. */
  card(id: string): MirrorCard | undefined {
    const record = this.records.cards.get(id);
    return record === undefined ? undefined : (JSON.parse(record) as MirrorCard);
  }

  /** The current prices of a card. */
  prices(id: string): Schemas["VariantPrice"][] {
    return this.card(id)?.prices ?? [];
  }

  /** A set, or undefined if there is no such set. */
  set(id: string): Schemas["SetSummary"] | undefined {
    const record = this.records.sets.get(id);
    return record === undefined ? undefined : (JSON.parse(record) as Schemas["SetSummary"]);
  }

  /** All cards, by id. */
  *cards(): Generator<MirrorCard, void, void> {
    for (const [, record] of sorted(this.records.cards)) yield JSON.parse(record) as MirrorCard;
  }

  /** All sets, by id. */
  *sets(): Generator<Schemas["SetSummary"], void, void> {
    for (const [, record] of sorted(this.records.sets)) yield JSON.parse(record) as Schemas["SetSummary"];
  }

  /**
   * Brings the mirror up to the served snapshot, and returns whether anything was new.
   * The folder is always whole: of the old snapshot or of the new snapshot.
   */
  async sync(): Promise<boolean> {
    if (this.state !== undefined) {
      if (this.state.snapshot_id === (await this.client.served()).id) return false; // which is free
      try {
        await this.follow(this.state.snapshot_id, this.records, {});
        return true;
      } catch (reason) {
        if (!gone(reason)) throw reason;
      }
    }
    for (let attempt = 1; ; attempt++) {
      try {
        const list = (await zstdReadable()) ? await this.listed() : undefined;
        await (list ? this.take(list) : this.walk());
        return true;
      } catch (reason) {
        if (!gone(reason) || attempt === attempts) throw reason;
      }
    }
  }

  /** The list of files once they are made, or undefined if the plan or the server has none. */
  private async listed(): Promise<Schemas["BulkList"] | undefined> {
    const end = performance.now() + this.client.transport.deadline * 1000;
    for (;;) {
      try {
        const { list, wait } = await this.client.bulk();
        if (list.files.length > 0) return list;
        if (wait === 0) return undefined; // there is nothing to wait for: the operator may not pass the catalog on
        if (performance.now() + wait * 1000 > end) break;
        await new Promise((resolve) => setTimeout(resolve, wait * 1000));
      } catch (reason) {
        if (reason instanceof APIError && [403, 404].includes(reason.status)) return undefined;
        throw reason;
      }
    }
    throw new NinepocketError("cannot copy: the bulk files are still being made; try again in a minute");
  }

  /** Downloads cards and sets, and replaces the earlier ones. */
  private async take(list: Schemas["BulkList"]): Promise<void> {
    const records: Partial<Records> = {};
    for (const name of ["cards", "sets"] as const) {
      const file = list.files.find((file) => file.name === `${name}.jsonl.zst`);
      if (!file) throw new NinepocketError(`cannot copy: the server lists no ${name}.jsonl.zst`);
      const part = join(this.folder, `${file.name}-${list.snapshot_id}.part`);
      await this.download(`/v1/bulk/${list.snapshot_id}/${file.name}`, part, file);
      records[name] = await byId(unpacked(part));
    }
    for (const [id, record] of records.cards ?? []) records.cards?.set(id, coded(JSON.parse(record) as Schemas["CardDetail"]));
    this.records = records as Records;
    const { snapshot_at, use_until, attribution } = list;
    await this.store(list.snapshot_id, { snapshot_at, use_until, attribution, made_by: "bulk" });
  }

  /** Gets the rest of one file, after the bytes of an earlier run. Only tries without progress count. */
  private async download(path: string, part: string, file: Schemas["BulkFile"]): Promise<void> {
    const { transport } = this.client;
    const have = async () => (await stat(part).catch(() => ({ size: 0 }))).size;
    for (const last of [false, true]) {
      for (let before = -1, size = await have(); size < file.bytes; size = await have()) {
        try {
          // The deadline of a try is by progress here, so that the whole may take any time.
          await transport.repeat(`GET ${path}`, transport.deadline, null, () => this.rest(path, part));
        } catch (reason) {
          if (!(reason instanceof Unreachable) || size <= before) throw reason;
        }
        before = size;
      }
      const hash = createHash("sha256");
      for await (const block of createReadStream(part)) hash.update(block as Buffer);
      if (hash.digest("hex") === file.sha256) return;
      await unlink(part);
      if (last) throw new NinepocketError(`cannot copy ${file.name}: it differs from its sha256, twice`);
    }
  }

  private async rest(path: string, part: string): Promise<void> {
    const control = new AbortController();
    const cut = () => control.abort(new Error("no byte came for too long"));
    let timer = setTimeout(cut, this.client.transport.tryTimeout * 1000);
    const into = await open(part, "a");
    try {
      const { size } = await into.stat();
      // The sum shows in the end whether the parts belong together.
      const range: Record<string, string> = size > 0 ? { Range: `bytes=${size}-` } : {};
      const response = await this.client.transport.open(path, { ...range, "Accept-Encoding": "identity" }, control.signal);
      if (response.status === 200) await into.truncate(0); // the whole file comes, so that earlier bytes are useless
      for await (const block of response.body as unknown as AsyncIterable<Uint8Array>) {
        clearTimeout(timer);
        timer = setTimeout(cut, this.client.transport.tryTimeout * 1000);
        await into.write(block);
      }
    } finally {
      clearTimeout(timer);
      await into.close();
    }
  }

  /**
   * Takes ids by pagination, cards in batches, and then the changes since it began. A row of the changes
   * has the present values, so that it does not matter between which releases a batch was answered.
   */
  private async walk(): Promise<void> {
    const { id: began } = await this.client.served();
    const ids: string[] = [];
    for await (const card of this.client.cards({ fields: "id", sort: "name" })) ids.push(card.id);
    const records: Records = { cards: new Map(), sets: new Map() };
    for (let start = 0; start < ids.length; start += 200) {
      const { data } = await this.client.cardsBatch({ ids: ids.slice(start, start + 200) });
      for (const card of data) records.cards.set(card.id, coded(card));
    }
    for await (const set of this.client.sets()) records.sets.set(set.id, JSON.stringify(set));
    await this.follow(began, records, { made_by: "walk" });
  }

  /** Applies the changes of all three kinds since a snapshot, up to the snapshot of the first kind. */
  private async follow(since: string, base: Records, about: Partial<State>): Promise<void> {
    let upTo: string | undefined;
    const changes: Record<"cards" | "sets" | "prices", Schemas["Change"][]> = { cards: [], sets: [], prices: [] };
    for (const kind of ["cards", "sets", "prices"] as const) {
      for await (const page of this.client.changePages(since, kind, upTo)) {
        upTo = page.snapshot_id;
        changes[kind].push(...page.data);
      }
    }

    // Nothing is changed before everything is here. Prices come last, because their cards must be
    // there.
    this.records = base;
    for (const row of changes.sets) put(base.sets, row.id, row.set);
    for (const row of changes.cards) put(base.cards, row.id, row.card && { ...row.card, prices: this.prices(row.id) });
    const lanes = new Map<string, Schemas["Change"][]>();
    for (const row of changes.prices) lanes.set(row.id, [...(lanes.get(row.id) ?? []), row]);
    for (const [id, rows] of lanes) this.changePrices(id, rows);

    const served = await this.client.served();
    if (served.id === upTo) {
      const until = new Date(Date.parse(served.at) + 86_400_000).toISOString().replace(".000Z", "Z");
      about = { ...about, snapshot_at: served.at, use_until: until };
    }
    await this.store(upTo as string, about);
  }

  private changePrices(id: string, rows: Schemas["Change"][]): void {
    const card = this.card(id);
    if (card === undefined) return;
    const prices = new Map(card.prices.map((price) => [`${price.variant} ${price.condition}`, price]));
    for (const { variant, condition, price } of rows) {
      const lane = `${variant} ${condition}`;
      if (!price) prices.delete(lane);
      else prices.set(lane, { variant: variant as string, condition: condition as never, currency: "USD", ...price, ...moving });
    }
    put(this.records.cards, id, { ...card, prices: [...prices.values()] });
  }

  /** Writes the files, and last the state that names them; then removes all other files. */
  private async store(snapshot: string, about: Partial<State>): Promise<void> {
    const names = { cards: `cards-${snapshot}.jsonl`, sets: `sets-${snapshot}.jsonl` };
    for (const name of ["cards", "sets"] as const) {
      await replace(join(this.folder, names[name]), sorted(this.records[name]).map(([, record]) => record + "\n"));
    }
    const state: State = { ...this.state, ...about, version: 1, snapshot_id: snapshot, ...names };
    await replace(join(this.folder, "mirror.json"), [JSON.stringify(state, null, 2)]);
    this.state = state;
    for (const name of await readdir(this.folder)) {
      if (/\.(jsonl|part|new)$/.test(name) && name !== state.cards && name !== state.sets) await unlink(join(this.folder, name));
    }
  }
}

function gone(reason: unknown): boolean {
  return reason instanceof APIError && (reason.code === "snapshot_gone" || reason.cursorExpired);
}

function put(records: Map<string, string>, id: string, record: object | null | undefined): void {
  if (record) records.set(id, JSON.stringify(record));
  else records.delete(id);
}

/** A card of a batch or a file in the mirror's form: its conditions are codes, as in changes. */
function coded(card: Schemas["CardDetail"]): string {
  const prices = card.prices.map((price) => ({ ...price, condition: price.condition.toLowerCase().replace(" ", "_") }));
  return JSON.stringify({ ...card, prices });
}

function sorted(records: Map<string, string>): [string, string][] {
  return [...records].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Records, each a line of JSON, by their ids. */
async function byId(lines: Readable): Promise<Map<string, string>> {
  const records = new Map<string, string>();
  const decoder = new TextDecoder();
  let rest = "";
  for await (const block of lines) {
    const parts = (rest + decoder.decode(block as Buffer, { stream: true })).split("\n");
    rest = parts.pop() as string;
    for (const line of parts) records.set((JSON.parse(line) as { id: string }).id, line);
  }
  return records;
}

/** Writes a file so that a crash leaves the old one or the new one, never a part. */
async function replace(path: string, parts: string[]): Promise<void> {
  const file = await open(path + ".new", "w");
  try {
    await file.writeFile(parts.join(""));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(path + ".new", path);
}

/** Whether this Node, or a program next to it, reads zstd. */
export async function zstdReadable(): Promise<boolean> {
  if (zstd) return true;
  return new Promise((resolve) => {
    const program = spawn("zstd", ["--version"], { stdio: "ignore" });
    program.on("error", () => resolve(false)).on("exit", (status) => resolve(status === 0));
  });
}

function unpacked(path: string): Readable {
  if (zstd) return createReadStream(path).pipe(zstd());
  const program = spawn("zstd", ["-dcq", "--", path], { stdio: ["ignore", "pipe", "ignore"] });
  program.on("exit", (status) => status && program.stdout.destroy(new NinepocketError(`cannot read ${path}: zstd ended with ${status}`)));
  return program.stdout;
}
