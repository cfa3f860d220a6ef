// A scanner at a counter: completes a typed name, then prices the lines that a camera read. Lines
// of the input: `? words` completes words, `name;number;set` prices a card.
import { createInterface } from "node:readline";
import { APIError, Client } from "ninepocket";

const client = new Client(process.env.API ?? "", process.env.KEY ?? "", { deadlineSeconds: 5 });

/** @param {string} words */
async function price(words) {
  for await (const { name, number, prices } of client.cards({ q: words, include: "prices", limit: 1 })) {
    const lanes = (prices ?? []).map((lane) => `${lane.variant} ${lane.condition} ${(lane.market_price_cents / 100).toFixed(2)}`);
    return console.log(name, number ?? "", "/", lanes.join(", ") || "no price");
  }
  console.log("no such card:", words);
}

for await (const line of createInterface({ input: process.stdin })) {
  try {
    if (line.startsWith("?")) {
      const suggestions = await client.suggest({ q: line.slice(1).trim(), limit: 5 });
      for (const { kind, text, cards } of suggestions) console.log(`  ${kind}: ${text} (${cards} cards)`);
    } else {
      await price(line.replaceAll(";", " ").trim());
    }
  } catch (reason) {
    if (!(reason instanceof APIError && reason.status === 400)) throw reason;
    console.log(reason.detail);
  }
}
