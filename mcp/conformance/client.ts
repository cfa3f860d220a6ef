// Calls the tools with the TypeScript SDK of the older protocol versions.
//
//   node client.ts http://127.0.0.1:8080/mcp KEY
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { callAll } from "./calls.ts";

const [url, key] = process.argv.slice(2);
const client = new Client({ name: "ninepocket-client-test", version: "1.0.0" });
const transport = new StreamableHTTPClientTransport(new URL(url), {
  requestInit: { headers: { Authorization: `Bearer ${key}` } },
});
await client.connect(transport);
assert.equal(client.getServerVersion()?.name, "ninepocket");
assert.deepEqual(client.getServerCapabilities(), { tools: {}, prompts: {} });
assert.ok(client.getInstructions());
assert.equal(transport.sessionId, undefined);
await client.ping();
const tools = await callAll(client);
await client.close();
console.log(`sdk 1.x: ${tools} tools called in both formats`);
