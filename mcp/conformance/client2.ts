// Calls the tools with the TypeScript client of both kinds of protocol versions, in each of its
// three modes. It counts the requests before the first call.
//
//   node client2.ts http://127.0.0.1:8080/mcp KEY
import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { callAll } from "./calls.ts";

const [url, key] = process.argv.slice(2);
const newest = "2026-07-28";

const modes = [
  { name: "legacy", mode: "legacy" as const, version: "2025-11-25", connecting: ["initialize", "notifications/initialized", "GET"] },
  { name: "auto", mode: "auto" as const, version: newest, connecting: ["server/discover"] },
  { name: "pin", mode: { pin: newest }, version: newest, connecting: ["server/discover"] },
];

for (const { name, mode, version, connecting } of modes) {
  const sent: string[] = [];
  const client = new Client({ name: "ninepocket-client-test", version: "1.0.0" }, { versionNegotiation: { mode } });
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { Authorization: `Bearer ${key}` } },
    fetch: (to, init) => {
      sent.push(init?.method === "POST" ? JSON.parse(String(init.body)).method : (init?.method ?? "GET"));
      return fetch(to, init);
    },
  });

  await client.connect(transport);
  // An older client also asks for a stream at some time.
  for (let waited = 0; sent.length < connecting.length && waited < 60_000; waited += 10) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.deepEqual(sent.toSorted(), connecting.toSorted(), name);
  assert.equal(client.getNegotiatedProtocolVersion(), version, name);
  assert.equal(client.getServerVersion()?.name, "ninepocket");
  assert.deepEqual(client.getServerCapabilities(), { tools: {}, prompts: {} });
  assert.ok(client.getInstructions());

  const tools = await callAll(client);
  if (version === newest) {
    assert.ok(client.getDiscoverResult()?.supportedVersions.includes("2025-06-18"));
    const lists = () => sent.filter((method) => method === "tools/list").length;
    const before = lists();
    await client.listTools(); // ttlMs says that the list may be kept
    assert.equal(lists(), before, "the list is asked for again");
  } else {
    await client.ping();
  }
  await client.close();
  console.log(`client 2.x, ${name}: ${version} by ${connecting.length} requests, ${tools} tools called in both formats`);
}
