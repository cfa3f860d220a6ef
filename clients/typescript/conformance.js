// Runs one job of the table of faults (../README.md): a JSON object in, a line of JSON out.
import { text } from "node:stream/consumers";
import { APIError, Client } from "./dist/index.js";
import { Mirror } from "./dist/mirror.js";

/** The rows of a job, one by one, so that those before an error are there. */
async function* rowsOf(job, client, missing) {
  switch (job.job) {
    case "walk":
      for await (const card of client.cards({ game: "pokemon", sort: "name" })) yield card.id;
      break;
    case "sets":
      for await (const set of client.sets()) yield set.id;
      break;
    case "products":
      for await (const product of client.products()) yield product.id;
      break;
    case "card":
      for (let time = 0; time < 2; time++) {
        const card = await client.card(job.ids[0]);
        yield row(card.id, card.prices[0]?.market_price_cents ?? null);
      }
      break;
    case "cards": {
      const { data, not_found } = await client.cardsBatch({ ids: job.ids, identifiers: job.identifiers });
      missing.push(...not_found);
      for (const card of data) yield row(card.id, card.prices.length);
      break;
    }
    case "prices": {
      const [, ...rows] = await client.batchCSV("prices", { ids: job.ids, identifiers: job.identifiers });
      missing.push(...rows.filter((cells) => cells[3] !== "ok").map((cells) => cells[0]));
      for (const cells of rows) if (cells[3] === "ok") yield row(cells[0], cells[1]);
      break;
    }
    case "histories": {
      const { data, not_found } = await client.historiesBatch({ ids: job.ids, days: 7 });
      missing.push(...not_found);
      for (const card of data) yield row(card.id, card.lanes.length);
      break;
    }
    case "value":
      for (const item of (await client.value(job.items)).items) yield row(item.index, item.status, item.total_cents);
      break;
    case "partner":
      for await (const { selection, status, price } of client.previewPrices(job.job_id, job.selections)) {
        yield row(selection.product_id, status, price?.amount_cents ?? null);
      }
      break;
    case "movers":
      for (const mover of await client.movers({ direction: "up" })) yield mover.id;
      break;
    case "mirror": {
      const mirror = await Mirror.open(client, job.path);
      await mirror.sync();
      for (const card of mirror.cards()) yield row(card.id, card.prices.length);
      break;
    }
    default:
      throw new Error(`cannot run the job ${job.job}`);
  }
}

const row = (...columns) => columns.map(String).join(" ");

const job = JSON.parse(await text(process.stdin));
const [rows, missing] = [[], []];
let error = null;
try {
  const client = new Client(job.base_url, job.key, {
    deadlineSeconds: job.deadline_seconds,
    tryTimeoutSeconds: job.try_timeout_seconds,
    maxTries: job.max_tries,
  });
  for await (const made of rowsOf(job, client, missing)) {
    rows.push(made);
    if (rows.length === 60 && ["walk", "sets", "products"].includes(job.job)) await new Promise((resolve) => setTimeout(resolve, (job.pause ?? 0) * 1000));
  }
} catch (reason) {
  const refused = reason instanceof APIError ? reason : { status: 0, code: "", requestId: "" };
  error = { kind: reason instanceof APIError ? "refused" : "unreachable", status: refused.status, code: refused.code, request_id: refused.requestId, message: reason.message };
}
console.log(JSON.stringify({ rows, not_found: missing, error }));
