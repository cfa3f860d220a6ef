// Asks MiniSearch rows in other languages, with the names of the species as a field of each card:
// node languages.mjs DUMP SPECIES_NAMES.tsv ONE_PIECE_NAMES.tsv ROWS.tsv. The rows are those of
// index/testdata/blind. It prints the hits among the first results by category.
import { readFileSync } from 'node:fs'
import MiniSearch from 'minisearch'

const [, , dump, table, onePiece, rows] = process.argv
const lines = (file) => readFileSync(file, 'utf8').trimEnd().split('\n')

const symbols = { '♀': ' female', '♂': ' male', 'δ': ' delta', '★': ' star', '☆': ' star', '◇': ' prism star' }
const katakana = (s) => s.replace(/[ぁ-ゖ]/g, (c) => String.fromCharCode(c.charCodeAt(0) + 0x60))
const fold = (s) =>
  katakana(s.replace(/[♀♂δ★☆◇]/g, (c) => symbols[c]).toLowerCase().normalize('NFKC'))
    .normalize('NFKD').replace(/[\p{Mn}'’]/gu, '')
    // A word ends where its script does.
    .replace(/([\p{sc=Han}\p{sc=Katakana}\p{sc=Hangul}ー])(?=[a-z0-9])|([a-z0-9])(?=[\p{sc=Han}\p{sc=Katakana}\p{sc=Hangul}])/gu, '$1$2 ')
    .replace(/[^\p{L}\p{N}]+/gu, ' ').trim()

// By the folded English name: all other names.
const names = new Map()
for (const line of lines(table).slice(1)) {
  const [, english, ...others] = line.split('\t')
  names.set(fold(english), [...new Set(others.map(fold))].join(' '))
}

// By collector number: the card's names, with their parts apart.
const byNumber = new Map()
for (const line of lines(onePiece).slice(1)) {
  const [number, , ...others] = line.split('\t')
  byNumber.set(number, [...new Set(others.map(fold))].join(' '))
}

const cards = lines(dump).map((line) => JSON.parse(line)).map((card) => {
  const words = fold(card.name).split(' ')
  const other = [byNumber.get(card.number ?? '') ?? '']
  for (let from = 0; from < words.length; from++) {
    for (let til = from + 1; til <= Math.min(words.length, from + 3); til++) {
      other.push(names.get(words.slice(from, til).join(' ')) ?? '')
    }
  }
  return {
    card, name: words.join(' '), names: other.join(' ').trim(), number: fold(card.number ?? ''),
    set: fold((card.set?.name ?? '') + ' ' + (card.set_code ?? '') + ' ' + (card.rarity ?? '')),
  }
})

// The options of server.mjs; the field of other names counts as the name does.
const index = new MiniSearch({ fields: ['name', 'names', 'number', 'set'], processTerm: (term) => term, tokenize: (text) => text.split(' ') })
index.addAll(cards.map((card, id) => ({ id, name: card.name, names: card.names, number: card.number, set: card.set })))

function first(text, game) {
  const words = fold(text)
  const options = {
    boost: { name: 5, names: 5, number: 3 }, prefix: (_, i, all) => i === all.length - 1,
    fuzzy: (term) => (term.length > 3 && !/\d/.test(term) ? 0.2 : false), maxFuzzy: 2,
    boostDocument: (id) => (cards[id].name === words ? 10 : 1),
    filter: game ? (hit) => cards[hit.id].card.game === game : undefined,
  }
  let found = index.search(words, { ...options, combineWith: 'AND' })
  if (found.length === 0) found = index.search(words, { ...options, combineWith: 'OR' })
  return found.length > 0 ? cards[found[0].id].card : undefined
}

const regex = (text) => new RegExp(text.replace('(?i)', ''), 'i')
const number = (text) => (text ?? '').toLowerCase().replace(/(^|[^0-9])0+(?=[0-9])/g, '$1')
const counts = new Map()
for (const line of lines(rows).slice(1)) {
  const [query, game, name, note] = line.split('\t')
  const want = Object.fromEntries(note.split(';').map((part) => part.split(/=(.*)/s)))
  const card = first(query, game)
  const right = card !== undefined && regex(name).test(card.name) &&
    (!want.number || number(want.number) === number(card.number)) &&
    (!want.set || regex(want.set).test(card.set?.name ?? '')) && (!want.rarity || regex(want.rarity).test(card.rarity ?? ''))
  const n = counts.get(want.cat) ?? { first: 0, rows: 0 }
  n.rows++
  if (right) n.first++
  counts.set(want.cat, n)
}
for (const [category, n] of counts) console.log(`${category}\t${n.first}\t${n.rows}`)
