// Calls every operation of a document (whole, live, preview) of a running server with the generated
// clients, and expects 200 and data from each. Arguments are the document's examples, with the
// server's ids.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const name = process.argv[2];
const { api, keys } = JSON.parse(readFileSync("generated/ready.json", "utf8"));
const document = JSON.parse(readFileSync(`generated/${name}.json`, "utf8"));
const compiled = (file) => require(`./generated/js/${name}/${file}.js`);
const camel = (id) => id.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
const resolve = (value) => (value.$ref ? value.$ref.slice(2).split("/").reduce((at, token) => at[token], document) : value);

/** The calls of an operation: one a surface that has it, each with a key and the example body of that surface. */
function calls(path, method, operation) {
  const parameters = (operation.parameters ?? []).map(resolve);
  const surfaces = name !== "whole" ? [name] : !operation["x-surface"] ? ["live", "preview"] : operation["x-surface"] === "preview" ? ["preview"] : ["live"];
  return surfaces.map((surface) => {
    const one = { id: operation.operationId, path, method, key: surface === "preview" ? keys.preview : keys.pro, query: {}, header: {}, pathParameters: {} };
    for (const p of parameters) {
      if (p.in === "path") one.pathParameters[p.name] = undefined;
      else if (p.example !== undefined && (p["x-surface"] ?? surface) === surface) one[p.in][p.name] = p.example;
    }
    one.isFile = !Object.keys(operation.responses["200"]?.content ?? { "application/json": 0 }).some((type) => type.includes("json"));
    one.hasQuery = parameters.some((p) => p.in === "query");
    const media = operation.requestBody?.content ?? {};
    one.medias = Object.keys(media);
    const examples = Object.values(media["application/json"]?.examples ?? {});
    one.body = (examples.find((e) => (e["x-surface"] ?? surface) === surface) ?? examples[0])?.value;
    return one;
  });
}

/** The first id of the list that a path is in; of the bulk a file's name, or the snapshot that is served. */
async function idOf(call, name) {
  if (name === "name") return "sets.jsonl.zst";
  const response = await fetch(api + call.path.replace(/\/\{.*/, ""), { headers: { "X-API-Key": call.key } });
  const list = await response.json();
  return list.snapshot_id ?? list.data[0].id;
}

const generators = {
  "openapi-fetch": async (call) => {
    const client = compiled("fetch").connect(api, { "X-API-Key": call.key });
    const params = { path: call.pathParameters, query: call.query, header: call.header };
    const parseAs = call.isFile ? "arrayBuffer" : "json";
    const { data, response } = await client.request(call.method, call.path, { params, body: call.body, parseAs });
    return { status: response.status, data };
  },
  "hey-api": async (call) => {
    const { client } = compiled("hey/client.gen");
    client.setConfig({ baseUrl: api, headers: { "X-API-Key": call.key } });
    const options = { path: call.pathParameters, query: call.query, headers: call.header, body: call.body };
    const { data, response } = await compiled("hey/sdk.gen")[camel(call.id)](options);
    return { status: response.status, data };
  },
  orval: async (call) => {
    const given = [...Object.values(call.pathParameters)];
    if (call.body !== undefined) given.push(call.body);
    if (call.hasQuery) given.push(call.query);
    // With two media types it sends none: https://github.com/orval-labs/orval/issues/2812
    const type = call.medias.length > 1 ? { "Content-Type": "application/json" } : {};
    return compiled("orval")[camel(call.id)](...given, { headers: { "X-API-Key": call.key, ...call.header, ...type } });
  },
};
// The code of orval has addresses without a server.
const plain = globalThis.fetch;
globalThis.fetch = (input, init) => plain(typeof input === "string" && input.startsWith("/") ? api + input : input, init);

let failed = 0;
for (const [generator, invoke] of Object.entries(generators)) {
  let called = 0;
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      for (const call of calls(path, method, operation)) {
        for (const p of Object.keys(call.pathParameters)) call.pathParameters[p] = await idOf(call, p);
        // Changes are requested since a snapshot that the server has.
        if (call.query.since) call.query.since = await idOf({ ...call, path: "/v1/bulk" });
        if (generator === "orval" && call.isFile) continue; // its code reads every response as text
        try {
          const { status, data } = await invoke(call);
          if (status !== 200 || !data || (!call.isFile && Object.keys(data).length === 0)) throw new Error(`${status} ${JSON.stringify(data)}`);
          called++;
        } catch (error) {
          failed++;
          console.error(`${name}: ${generator}: ${call.id}: ${error.message}`);
        }
      }
    }
  }
  console.log(`${name}: ${generator}: ${called} calls`);
}
process.exit(failed ? 1 : 0);
