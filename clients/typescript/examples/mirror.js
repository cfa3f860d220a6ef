// Keeps a local copy of the catalog in a folder, and shows its most expensive cards. Run it once a
// day.
import { Client } from "ninepocket";
import { Mirror } from "ninepocket/mirror";

const client = new Client(process.env.API ?? "", process.env.KEY ?? "", { deadlineSeconds: 300 });
const mirror = await Mirror.open(client, process.argv[2] ?? "mirror");
console.log((await mirror.sync()) ? "something was new" : "nothing was new", "in", mirror.snapshotId);

const cards = [...mirror.cards()].map((card) => ({ card, cents: card.prices.map((price) => price.market_price_cents) }));
cards.sort((a, b) => Math.max(0, ...b.cents) - Math.max(0, ...a.cents));
for (const { card, cents } of cards.slice(0, 5)) console.log(card.name, card.number, cents.map((price) => price / 100).join(", "));
