// The client in a page of another origin, in Chromium: modules as the package has them, an import map, no bundler.
// NINEPOCKET is the program, CHROMIUM the browser. See ../check-languages.sh.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";

const { NINEPOCKET, CHROMIUM } = process.env;
const { chromium } = createRequire(new URL("../../site/browser/package.json", import.meta.url))("playwright-core");
const page = `<!doctype html><script type="importmap">{"imports": {"ninepocket": "/dist/index.js",
  "openapi-fetch": "/node_modules/openapi-fetch/dist/index.mjs"}}</script>`;

test("a page of an allowed origin searches, values, follows a walk, and reads an error", async () => {
  const pages = createServer((request, response) => {
    const file = new URL("." + request.url, import.meta.url);
    const script = /\.m?js$/.test(request.url) && existsSync(file);
    response.writeHead(200, { "Content-Type": script ? "text/javascript" : "text/html" }).end(script ? readFileSync(file) : page);
  }).listen(0, "127.0.0.1");
  await once(pages, "listening");
  const origin = `http://127.0.0.1:${pages.address().port}`;

  const folder = mkdtempSync(join(tmpdir(), "page-"));
  const [store, state, ready] = ["store", "state", "ready.json"].map((name) => join(folder, name));
  const native = new URL("../../docs/examples/native", import.meta.url).pathname;
  execFileSync(NINEPOCKET, ["snapshot", "build", "--store", store, "--source", "native:" + native, "--publish"], { stdio: "pipe" });
  const key = execFileSync(NINEPOCKET, ["keys", "create", "--state", state, "--tenant", "page", "--plan", "pro"], { stdio: "pipe" }).toString().trim();
  const addresses = ["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--ready-file", ready];
  const server = spawn(NINEPOCKET, ["serve", "--store", store, "--state", state, ...addresses], { stdio: "ignore", env: { ...process.env, NINEPOCKET_CORS_ORIGINS: origin } });
  let browser;
  try {
    while (!existsSync(ready)) {
      assert.equal(server.exitCode, null);
      await setTimeout(50);
    }
    const base = JSON.parse(readFileSync(ready, "utf8")).api;
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu", "--disable-quic"] });
    const tab = await browser.newPage();
    await tab.goto(origin);
    const said = await tab.evaluate(
      async ([base, key]) => {
        const { APIError, Client } = await import("ninepocket");
        const client = new Client(base, key);
        const ids = [];
        for await (const { id } of client.cards({ limit: 3 })) ids.push(id);
        const [card, again] = [await client.card(ids[0]), await client.card(ids[0])]; // the second is a 304
        const { data, not_found } = await client.pricesBatch({ ids: [...ids, "nope"] });
        const { totals } = await client.value([{ id: ids[0] }]);
        const refused = await client.card("nope").catch((reason) => reason);
        return {
          ids, same: JSON.stringify(card) === JSON.stringify(again), prices: data.length, not_found, totals,
          refused: refused instanceof APIError && [refused.status, refused.code, /^req_/.test(refused.requestId)],
        };
      },
      [base, key],
    );
    assert.equal(said.ids.length, 8);
    assert.equal(new Set(said.ids).size, 8);
    assert.equal(said.same, true);
    assert.equal(said.prices, 8);
    assert.deepEqual(said.not_found, ["nope"]);
    assert.equal(said.totals.priced + said.totals.unpriced, 1);
    assert.deepEqual(said.refused, [404, "not_found", true]);
  } finally {
    await browser?.close();
    server.kill();
    if (server.exitCode === null) await once(server, "exit");
    pages.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
