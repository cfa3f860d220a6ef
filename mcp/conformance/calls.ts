// The calls that each client makes: all six tools in both formats, a cursor followed, wrong arguments and an unknown tool.
// A client that has listed the tools checks every structuredContent against the tool's outputSchema.
import assert from "node:assert/strict";

type Result = { content: { type: string; text: string }[]; structuredContent?: any; isError?: boolean };

// The methods that clients of both generations have.
export interface Caller {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
}

export async function callAll(client: Caller): Promise<number> {
  const { tools } = await client.listTools(); // also lets the client check results against outputSchema
  const ours = tools.filter((tool) => tool.name.startsWith("catalog_"));
  assert.equal(ours.length, 6);

  async function call(name: string, args: Record<string, unknown> = {}): Promise<Result> {
    for (const format of ["detailed", "concise"]) {
      const result = (await client.callTool({ name, arguments: { ...args, response_format: format } })) as Result;
      assert.equal(result.isError, false, `${name}: ${result.content[0]?.text}`);
      assert.equal(result.content.length, 1);
      assert.ok(result.content[0].text.length > 0);
      if (format === "concise") return result;
    }
    throw new Error("unreachable");
  }

  const found = (await call("catalog_search_cards", { query: "pikachu" })).structuredContent;
  assert.ok(found.cards.length > 0);
  const { id } = found.cards[0];
  const more = (await call("catalog_search_cards", { query: "pikachu", limit: 1 })).structuredContent;
  assert.ok(more.next_cursor);
  const next = (await call("catalog_search_cards", { query: "pikachu", limit: 1, cursor: more.next_cursor })).structuredContent;
  assert.notEqual(next.cards[0].id, more.cards[0].id);

  assert.equal((await call("catalog_get_card", { id })).structuredContent.card.id, id);
  assert.equal((await call("catalog_get_price_history", { id, days: 30 })).structuredContent.days, 30);
  const value = (await call("catalog_value_cards", { cards: [{ id, quantity: 2 }, { name: "pikachu" }] })).structuredContent;
  assert.equal(value.counts.lines, 2);
  const { sets } = (await call("catalog_browse_sets")).structuredContent;
  assert.ok(sets.length > 0);
  assert.equal((await call("catalog_browse_sets", { set: sets[0].id })).structuredContent.sets[0].id, sets[0].id);
  assert.equal((await call("catalog_get_market_movers", { direction: "up" })).structuredContent.period_days, 7);

  const wrong = (await client.callTool({ name: "catalog_search_cards", arguments: { query: "x", limit: 51 } })) as Result;
  assert.equal(wrong.isError, true);
  assert.match(wrong.content[0].text, /limit must be between 1 and 50 \(got 51\)/);
  await assert.rejects(client.callTool({ name: "catalog_nothing", arguments: {} }), /Unknown tool/);
  return ours.length;
}
