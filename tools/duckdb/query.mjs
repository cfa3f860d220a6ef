// Reads each bulk file of a running server with DuckDB unchanged, and compares the guide's query
// with the API: for each set, the biggest move of a year of a price that exists today. Arguments:
// the ready file, and the query's file.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { DuckDBInstance } from "@duckdb/node-api";

const [readyFile, queryFile] = process.argv.slice(2);
const ready = JSON.parse(readFileSync(readyFile, "utf8"));
const headers = { "X-API-Key": ready.keys.bench };
const json = async (path) => {
  const answer = await fetch(ready.api + path, { headers });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
};

let list = await json("/v1/bulk");
while (list.files.length === 0) {
  await new Promise((done) => setTimeout(done, 200));
  list = await json("/v1/bulk");
}
for (const file of list.files) {
  const body = Buffer.from(await (await fetch(file.url, { headers })).arrayBuffer());
  const sum = createHash("sha256").update(body).digest("hex");
  if (sum !== file.sha256 || body.length !== file.bytes) throw new Error(`${file.name} is not what the list says`);
  writeFileSync(file.name, body);
}

const duckdb = await (await DuckDBInstance.create(":memory:")).connect();
const rows = async (sql) => (await duckdb.runAndReadAll(sql)).getRowsJson();
for (const file of list.files) {
  const [[n]] = await rows(`SELECT count(*) FROM '${file.name}'`);
  if (Number(n) !== file.rows) throw new Error(`${file.name} has ${n} rows for DuckDB, ${file.rows} in the list`);
}
const got = await rows(readFileSync(queryFile, "utf8"));

// The same from the API alone, page by page.
const moves = new Map();
for (let next = ""; next !== null; ) {
  const page = await json(`/v1/cards?limit=50&include=prices${next}`);
  next = page.next_cursor && `&cursor=${page.next_cursor}`;
  for (const card of page.data) {
    // The history of a variant is that of its first condition with a price.
    const near = new Set();
    const seen = new Set();
    for (const price of card.prices) {
      if (!seen.has(price.variant) && ["Near Mint", "Ungraded"].includes(price.condition)) near.add(price.variant);
      seen.add(price.variant);
    }
    if (near.size === 0 || card.set === null) continue;
    const first = new Map();
    const last = new Map();
    for (const point of (await json(`/v1/cards/${card.id}/prices?days=365`)).data) {
      if (!first.has(point.variant)) first.set(point.variant, point.market_price_cents);
      last.set(point.variant, point.market_price_cents);
    }
    for (const variant of near) {
      if (!first.has(variant)) continue;
      const moved = last.get(variant) - first.get(variant);
      const set = moves.get(card.set.id) ?? { name: card.set.name, size: -1, of: new Set() };
      if (Math.abs(moved) > set.size) {
        set.size = Math.abs(moved);
        set.of = new Set();
      }
      if (Math.abs(moved) === set.size) set.of.add(JSON.stringify([card.name, variant, moved]));
      moves.set(card.set.id, set);
    }
  }
}

const want = [...moves.values()].sort((a, b) => b.size - a.size || (a.name < b.name ? -1 : 1)).slice(0, 20);
got.forEach(([set, card, variant, moved], i) => {
  if (set !== want[i]?.name || !want[i].of.has(JSON.stringify([card, variant, Number(moved)])))
    throw new Error(`row ${i}: ${[set, card, variant, moved]}, the API has ${want[i]?.name} ${[...(want[i]?.of ?? [])]}`);
});
if (got.length !== want.length || got.length < 5) throw new Error(`${got.length} rows, the API has ${want.length}`);
console.log(`DuckDB reads ${list.files.length} files, and ${got.length} rows of the guide's query are those of the API`);
