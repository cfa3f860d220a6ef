// Calls a server with two clients of the Pokémon TCG API, with nothing changed but the host.
//
//   node calls.cjs URL KEY
//
// The server has the made files of the tests: five sets of sixty cards.
const assert = require('node:assert/strict');
const [url, key] = process.argv.slice(2);
process.env.POKEMONTCG_API_KEY = key;

/** ids that a walk over pages must have, each once. */
function walked(cards, count) {
  assert.equal(cards.length, count);
  assert.equal(new Set(cards.map((card) => card.id)).size, count);
}

async function first() {
  const configure = require('pokemontcgsdk/lib/configure');
  configure.host = url;
  configure.apiKey = key;
  const sdk = require('pokemontcgsdk');

  const card = await sdk.card.find('base1-4');
  assert.equal(card.number, '4');
  assert.equal(card.set.id, 'base1');
  const some = await sdk.card.where({ q: 'set.id:base1 name:char*', pageSize: 3, page: 1 });
  assert.ok(some.totalCount >= some.count && some.count === some.data.length && some.count > 0);
  assert.ok(some.data.every((each) => /char/i.test(each.name) && each.set.id === 'base1'));
  // It goes from page to page until the list ends.
  walked(await sdk.card.all({ q: 'set.id:base1', pageSize: 25 }), 60);

  assert.equal((await sdk.set.find('sv4a')).id, 'sv4a');
  assert.equal((await sdk.set.where({ q: 'series:scarlet' })).data.length, 5);
  assert.ok((await sdk.set.all()).length >= 5);
  assert.deepEqual(await sdk.type.all(), ['Fire', 'Grass', 'Water']);
  assert.deepEqual(await sdk.subtype.all(), ['V-UNION']);
  assert.deepEqual(await sdk.supertype.all(), ['Pokémon', 'Trainer']);
  assert.ok((await sdk.rarity.all()).includes('Rare Holo VMAX'));

  await assert.rejects(sdk.card.find('nope'), (e) => e.response.status === 404 && e.response.data.error.code === 404);
  await assert.rejects(sdk.card.where({ q: 'charizard' }), (e) =>
    e.response.status === 400 && /character 1/.test(e.response.data.error.message));
  configure.apiKey = 'no-such-key';
  await assert.rejects(sdk.card.find('base1-4'), (e) => e.response.status === 403);
}

async function second() {
  const { Client } = require('pokemon-tcg-sdk-typescript/dist/client');
  Client.getInstance().POKEMONTCG_API_URL = url;
  const { PokemonTCG: sdk } = require('pokemon-tcg-sdk-typescript');

  assert.equal((await sdk.findCardByID('base1-4')).number, '4');
  const some = await sdk.findCardsByQueries({ q: 'set.id:base1 number:[1 TO 10]', pageSize: 5, page: 1 });
  assert.equal(some.length, 5);
  walked(await sdk.findCardsByQueries({ q: 'set.id:base2' }), 60);
  walked(await sdk.getAllCards(), 300);

  assert.equal((await sdk.findSetByID('sv4a')).id, 'sv4a');
  assert.equal((await sdk.findSetsByQueries({ q: 'id:base1' })).length, 1);
  assert.ok((await sdk.getAllSets()).length >= 5);
  assert.deepEqual(await sdk.getTypes(), ['Fire', 'Grass', 'Water']);
  assert.deepEqual(await sdk.getSubtypes(), ['V-UNION']);
  assert.deepEqual(await sdk.getSupertypes(), ['Pokémon', 'Trainer']);
  assert.ok((await sdk.getRarities()).includes('Rare Holo VMAX'));
  await assert.rejects(sdk.findCardByID('nope'), (e) => /404/.test(String(e.message ?? e)));
}

first().then(second).catch((e) => {
  console.error(e);
  process.exit(1);
});
