// Watches which prices move: prints each card once that rose more than 10 percent. Ends after ROUNDS looks.
import { setTimeout } from "node:timers/promises";
import { Client } from "ninepocket";

const rounds = Number(process.env.ROUNDS ?? 0);
const pause = Number(process.env.PAUSE ?? 300);
const client = new Client(process.env.API ?? "", process.env.KEY ?? "");
const seen = new Set();
for (let done = 1; ; done++) {
  // Until the next release the response is a 304, which does not count against the day.
  for (const { id, name, number, url, market_price_cents, price_change_percent } of await client.movers({ direction: "up", limit: 50 })) {
    const percent = price_change_percent ?? 0;
    if (percent <= 10 || seen.has(`${id} ${market_price_cents}`)) continue;
    seen.add(`${id} ${market_price_cents}`);
    console.log(`+${percent.toFixed(2)} %`.padStart(10), "", name, number ?? "", "", url);
  }
  if (done === rounds) break;
  await setTimeout(pause * 1000);
}
