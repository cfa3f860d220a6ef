// Serves a dump of cards from MiniSearch or Orama: node server.mjs minisearch|orama DUMP
import { createReadStream, renameSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createInterface } from 'node:readline'

const [, , engine, dump] = process.argv

// The same folding as the database servers have.
const symbols = { '♀': ' female', '♂': ' male', 'δ': ' delta', '★': ' star', '☆': ' star', '◇': ' prism star' }
const fold = (s) =>
  s.replace(/[♀♂δ★☆◇]/g, (c) => symbols[c]).toLowerCase().normalize('NFKD').replace(/[\p{Mn}'’]/gu, '').replace(/[^\p{L}\p{N}]+/gu, ' ').trim()

const cards = []
for await (const line of createInterface({ input: createReadStream(dump) })) {
  const { slug, set_code, display, prices, ...head } = JSON.parse(line)
  const text = fold(head.name)
  cards.push({
    body: JSON.stringify({ ...head, price: display }),
    name: text, number: fold(head.number ?? ''), set: fold((head.set?.name ?? '') + ' ' + (set_code ?? '') + ' ' + (head.rarity ?? '')), game: head.game,
  })
}

const search = engine === 'orama' ? await orama() : await minisearch()

// Every word must be found, the last as a prefix, with up to two typos in long words; if no card
// has them all, any of them will do. An exact name comes first; among equals the most expensive,
// with which the dump begins.
async function minisearch() {
  const { default: MiniSearch } = await import('minisearch')
  const index = new MiniSearch({ fields: ['name', 'number', 'set'], processTerm: (term) => term, tokenize: (text) => text.split(' ') })
  index.addAll(cards.map((card, id) => ({ id, ...card })))
  return (words, game, limit) => {
    const options = {
      boost: { name: 5, number: 3 }, prefix: (_, i, all) => i === all.length - 1, fuzzy: (term) => (term.length > 3 && !/\d/.test(term) ? 0.2 : false), maxFuzzy: 2,
      boostDocument: (id) => (cards[id].name === words ? 10 : 1),
      filter: game ? (hit) => cards[hit.id].game === game : undefined,
    }
    let found = index.search(words, { ...options, combineWith: 'AND' })
    if (found.length === 0) found = index.search(words, { ...options, combineWith: 'OR' })
    return found.slice(0, limit).map((hit) => cards[hit.id])
  }
}

// Orama allows a number of typos for all words at once: none is tried first, then one, then two. threshold 0 asks for
// every word.
async function orama() {
  const { create, insertMultiple, search } = await import('@orama/orama')
  const db = create({
    schema: { name: 'string', number: 'string', set: 'string', game: 'enum' },
    components: { tokenizer: { language: 'english', normalizationCache: new Map(), tokenize: (text) => [...new Set(fold(text).split(' '))] } },
  })
  await insertMultiple(db, cards.map((card, id) => ({ id: String(id), name: card.name, number: card.number, set: card.set, game: card.game })), 1000)
  return async (words, game, limit) => {
    for (const [tolerance, threshold] of [[0, 0], [1, 0], [2, 0], [1, 1]]) {
      const found = await search(db, {
        term: words, properties: ['name', 'number', 'set'], boost: { name: 5, number: 3 }, tolerance, threshold, limit: Math.max(limit, 50),
        where: game ? { game: { eq: game } } : undefined,
      })
      if (found.count === 0) continue
      const hits = found.hits.map((hit) => cards[Number(hit.id)])
      const exact = hits.filter((card) => card.name === words)
      return [...exact, ...hits.filter((card) => card.name !== words)].slice(0, limit)
    }
    return []
  }
}

const server = createServer(async (request, response) => {
  const url = new URL(request.url, 'http://localhost')
  const words = fold(url.searchParams.get('q') ?? '')
  let status = 200
  let body = 'not found'
  if (request.method !== 'GET' || url.pathname !== '/v1/cards' || !url.searchParams.has('q')) {
    status = 404
    request.resume()
  } else {
    const found = words ? await search(words, url.searchParams.get('game'), Number(url.searchParams.get('limit') ?? 20)) : []
    body = '{"data":[' + found.map((card) => card.body).join(',') + '],"next_cursor":null}'
  }
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) })
  response.end(body)
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => {
  const file = process.env.READY_FILE
  writeFileSync(file + '.draft', JSON.stringify({ api: `http://127.0.0.1:${server.address().port}` }))
  renameSync(file + '.draft', file)
})
process.on('SIGTERM', () => process.exit(0))
