// Prices a collection: a CSV that an app exported, or one with the columns Name, Set, Number and Qty.
import { readFile } from "node:fs/promises";
import { Client } from "ninepocket";

const client = new Client(process.env.API ?? "", process.env.KEY ?? "");
const worth = await client.valueCSV(await readFile(process.argv[2] ?? "collection.csv", "utf8"));

const dollars = (/** @type {number} */ cents) => (cents / 100).toFixed(2).padStart(10);
for (const { index, status, note, card, quantity, variant, total_cents } of worth.items) {
  if (card === null || total_cents === null) console.log(`row ${index + 1}: ${status}: ${note}`);
  else console.log(`${dollars(total_cents)}  ${quantity} x ${card.name} ${card.number}, ${variant}`);
}
console.log(`${dollars(worth.totals.exact_cents + worth.totals.assumed_cents)}  in all, at ${worth.snapshot_at}`);
