// A partner's nightly prices: every card product in each lane, into a CSV. If it is run again, it
// resumes.
//
// Each part is stored before the next is requested, and the job id makes a part that was charged but not stored a
// replay. So nothing is charged twice, however often it is interrupted within ten minutes.
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join, parse } from "node:path";
import { Client } from "ninepocket";

const [target = "nightly.csv", job = `nightly-${new Date().toISOString().slice(0, 10)}`] = process.argv.slice(2);
const client = new Client(process.env.API ?? "", process.env.KEY ?? "");

// "fresh" is judged at the instant of the snapshot. A feed that stopped is seen by our own clock alone.
const { at } = await client.served();
if (Date.now() - Date.parse(at) > 36 * 3_600_000) throw new Error(`the newest prices are of ${at}: nothing is priced by them`);

const parts = join(parse(target).dir, `${parse(target).name}.${job}`);
await mkdir(parts, { recursive: true });

/**
 * The content of a file; without a file, the content is made and stored.
 * @template T
 * @param {string} name
 * @param {() => Promise<T[]>} make
 * @returns {Promise<T[]>}
 */
async function stored(name, make) {
  const path = join(parts, name);
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text !== undefined) return JSON.parse(text);
  const made = await make();
  await writeFile(path + ".new", JSON.stringify(made));
  await rename(path + ".new", path);
  return made;
}

// The list is stored, too: the parts of a resumed job must be those of the first run.
const selections = await stored("selections.json", async () => {
  /** @type {import("ninepocket").Schemas["PriceSelection"][]} */
  const found = [];
  for await (const product of client.products({ game: "pokemon" })) {
    if (product.kind !== "card") continue;
    for (const lane of product.price_options) found.push({ kind: "card", product_id: product.id, ...lane });
  }
  return found;
});

const rows = ["product_id,variant,condition,status,cents,as_of"];
for (let start = 0; start < selections.length; start += 50) {
  const some = selections.slice(start, start + 50);
  const results = await stored(`${String(start).padStart(8, "0")}.json`, async () => {
    const prices = [];
    for await (const result of client.previewPrices(job, some)) prices.push(result);
    return prices;
  });
  for (const { selection, status, price, observation } of results) {
    const lane = selection.kind === "card" ? [selection.variant, selection.condition] : ["", ""];
    rows.push([selection.product_id, ...lane, status, price?.amount_cents ?? "", observation?.source_as_of ?? ""].join(","));
  }
}
await writeFile(target, rows.join("\r\n") + "\r\n");
console.log(`${selections.length} prices in ${target}`);
