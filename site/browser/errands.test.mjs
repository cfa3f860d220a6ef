// The tasks of visitors, done in every way: at three widths, with a pointer in both schemes, with
// the keyboard alone, without script. Each task compares the page with the API. A run does a
// sample, every task once; with TEST_DEPTH=whole it does all and prints them as a table. NAME=real
// asks for cards of the real catalog. See run.sh.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, before, describe, test } from 'node:test'
import { chromium } from 'playwright-core'
import { modes, scrollsSideways, Visitor, ways } from './visitor.mjs'

const { BASE, CHROMIUM, KEY, ONLY, NAME = 'demo', TEST_DEPTH } = process.env
const whole = TEST_DEPTH === 'whole'
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const world = {
  demo: { set: 'Kanto Classic', year: '2000', number: '4/102', box: '251 etb', boxName: /^251 Elite Trainer Box/, unlike: 'chxrxzxrd' },
  real: { set: 'Base Set', year: '1999', number: '004/102', box: 'cheapest evolving skies booster box', boxName: /^Evolving Skies Booster Box/, unlike: 'chxrxzxrd' },
}[NAME]
let browser

const ask = async (path, options = {}) => {
  const answer = await fetch(BASE + path, { ...options, headers: { 'X-API-Key': KEY, ...options.headers } })
  assert.equal(answer.status, 200, path)
  return answer.json()
}
const money = cents => '$' + (cents / 100).toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })
const cents = text => Math.round(Number(/\$([\d,]+\.\d\d)/.exec(text)[1].replaceAll(',', '')) * 100)
const slug = page => new URL(page.url()).pathname.split('/')[2]
const texts = async locator => (await locator.allTextContents()).map(text => text.replace(/\s+/g, ' ').trim())
const tab = (page, name) => page.getByRole('main').getByRole('link', { name, exact: true }).first()
const site = (page, name) => page.getByRole('navigation', { name: 'Site' }).getByRole('link', { name })

// priceOf is the price that a page of a card should show. The highest of its current prices is not
// always the display price, so the price comes from the API's list.
const cardsOf = async query => {
  const all = []
  for (let cursor = ''; ;) {
    const { data, next_cursor } = await ask(`/v1/cards?${query}&limit=50${cursor && '&cursor=' + cursor}`)
    all.push(...data)
    if (!next_cursor) return all
    cursor = next_cursor
  }
}
const theCard = async () => {
  const { data } = await ask(`/v1/cards?limit=50&q=${encodeURIComponent('charizard ' + world.number)}`)
  const found = data.find(card => card.set?.name === world.set && card.number === world.number)
  return { ...found, slug: found.url.split('/').at(-1) }
}
const theSet = async () => {
  const { set } = await theCard()
  const { url, ...rest } = await ask('/v1/sets/' + set.id)
  const cards = await cardsOf('set=' + set.id)
  return { ...rest, slug: url.split('/').at(-1), cards, cents: cards.reduce((sum, card) => sum + (card.price?.market_price_cents ?? 0), 0) }
}

// shows checks that the page is that of a card, at the price of the API.
async function shows(page, card) {
  assert.equal(new URL(page.url()).pathname, new URL(card.url).pathname)
  assert.ok((await page.locator('h1').textContent()).startsWith(card.name.split(' ')[0]))
  assert.equal(await page.locator('.price .amount').textContent(), money(card.price.market_price_cents))
}

const errands = {
  'half a name': async ({ page, mode }, v) => {
    await v.open('/')
    if (mode.noScript) {
      await v.search('chariz')
      await v.follow(page.locator('.pockets a').first(), '**/cards/**')
    } else {
      await v.suggested('chariz', 'Charizard')
    }
    assert.match(await page.locator('h1').textContent(), /Charizard/)
    const { name } = await ask('/v1/cards/' + slug(page))
    const [card] = (await ask('/v1/cards?limit=50&q=' + encodeURIComponent(name))).data.filter(card => card.url === page.url())
    await shows(page, card)
    await page.goBack()
    assert.equal(await page.getByLabel('Search cards').inputValue(), 'chariz', 'Back finds the words again')
  },

  'a number': async ({ page }, v) => {
    const card = await theCard()
    await v.open('/sets')
    await v.search(`${world.set} ${world.number}`)
    await v.follow(page.locator('.pockets a').first(), '**/cards/**')
    await shows(page, card)
    assert.match(await page.locator('.title dl').textContent(), new RegExp('Number\\s*' + world.number))
  },

  'a name in another language': async ({ page }, v) => {
    await v.open('/movers')
    await v.search('Glurak')
    assert.match(await page.locator('.reading').textContent(), /“glurak” is Charizard/i)
    assert.match((await texts(page.locator('.pockets span')))[0], /Charizard/)
    await v.search('リザードン')
    assert.match((await texts(page.locator('.pockets span')))[0], /Charizard/)
  },

  'a word that nothing fits': async ({ page }, v) => {
    await v.open('/')
    await v.search(world.unlike)
    await v.follow(page.getByRole('link', { name: 'Charizard', exact: true }), '**/search?q=Charizard')
    assert.match((await texts(page.locator('.pockets span')))[0], /Charizard/)
    await v.search('qqqq zzzz')
    assert.match(await page.getByRole('main').textContent(), /No card fits/)
  },

  'how a search was read': async ({ page }, v) => {
    const prices = async () => (await texts(page.locator('.pockets b:not(.none)'))).map(cents)
    await v.open('/')
    await v.search('cheapest charizard')
    assert.match(await page.locator('.reading').textContent(), /Sorted by price, cheapest first/)
    const sorted = await prices()
    assert.ok(sorted.length > 3)
    assert.deepEqual(sorted, sorted.toSorted((a, b) => a - b))
    await v.follow(page.locator('.reading a').first(), '**/search?q=charizard')
    const matched = await prices()
    assert.notDeepEqual(matched, matched.toSorted((a, b) => a - b))
  },

  'filters': async ({ page, mode }, v) => {
    await v.open('/search?q=pikachu')
    const count = async () => Number(/([\d,]+) cards?/.exec(await page.locator('.found').textContent())[1].replaceAll(',', ''))
    const before = await count()
    await v.press(page.getByText('Filters', { exact: true }))
    const rarity = page.getByLabel('Rarity')
    const label = await rarity.locator('option').nth(1).evaluate(option => option.label)
    await v.choose(rarity, label)
    await v.write(page.getByLabel('From $'), '1')
    await v.press(page.getByRole('button', { name: 'Apply' }))
    await page.waitForURL('**rarity=**min=1**').catch(() => page.waitForURL('**min=1**rarity=**'))
    const after = await count()
    assert.ok(after > 0 && after < before, `${after} of ${before}`)
    for (const price of await texts(page.locator('.pockets b'))) assert.ok(cents(price) >= 100, price)
    await v.follow(page.getByRole('link', { name: 'Clear' }), url => !url.search.includes('min'))
    assert.equal(await count(), before)
    await v.follow(tab(page, 'List'), '**view=list**')
    assert.ok((await page.locator('.cards a').count()) > 5)
  },

  'compare printings': async ({ page, mode }, v) => {
    const card = await theCard()
    await v.open('/cards/' + card.slug)
    await v.follow(page.getByRole('link', { name: 'All printings side by side' }), '**/printings')
    const row = (await page.locator('.printings .here').first().innerText()).replace(/\s+/g, ' ')
    for (const part of [world.set, world.year, world.number, money(card.price.market_price_cents)]) assert.ok(row.includes(part), `${row} lacks ${part}`)
    assert.match(row, /Holofoil/)
    assert.ok((await page.locator('.printings tbody tr').count()) > 2)
    const lines = await page.locator('.chart path.line').count()
    assert.ok(lines > 1)
    await v.follow(tab(page, '180 days'), '**days=180**')
    assert.equal(await page.locator('.chart svg').getAttribute('viewBox'), '0 0 179 200')
    if (!mode.noScript) {
      await v.press(page.locator('.lines input:enabled').first())
      assert.equal(await page.locator('.chart path.line').count(), lines - 1)
      await page.locator('.chart svg').focus()
      await page.keyboard.press('End')
      await onTheAxis(page, 'path.line', (await page.locator('.reading').textContent()).replace(/^[^:]*: /, '').match(/\$[\d,]+\.\d\d/g))
    } else {
      await onTheAxis(page, 'path.dots', await texts(page.locator('ul.lines li b')))
    }
    await v.follow(page.locator('.printings a').last(), url => /cards\/[^/]+$/.test(url.pathname))
  },

  'half a year ago': async ({ page, mode }, v) => {
    const card = await theCard()
    const { data } = await ask(`/v1/cards/${card.id}/prices?days=180`)
    await v.open('/cards/' + card.slug)
    await v.follow(tab(page, '180 days'), '**days=180**')
    const variant = /history: (.*)$/.exec(await page.locator('#history-title').textContent())[1].split(',')[0]
    const days = data.filter(point => point.variant.replaceAll('_', ' ') === variant.toLowerCase())
    const prices = new Map(days.map(point => [point.date, money(point.market_price_cents)]))
    await v.press(page.getByText('As a table'))
    const rows = (await texts(page.locator('details tbody tr:visible'))).map(row => row.split(' '))
    assert.ok(rows.length > 10)
    for (const [day, price] of rows) assert.equal(price, prices.get(day), day)
    if (mode.noScript) return

    // The first price of the range, under the pointer or by the keys.
    const svg = page.locator('.chart svg'), first = days[0].date, reading = page.locator('.reading')
    if (mode.keys) {
      await v.reach(svg)
      await page.keyboard.press('Home')
    } else {
      await svg.scrollIntoViewIfNeeded()
      const { x, y } = await svg.boundingBox()
      await (mode.width === 360 ? page.touchscreen.tap(x + .2, y + 40) : page.mouse.move(x + .2, y + 40))
    }
    const said = (await reading.textContent()).split(': ')
    assert.equal(new Date(said[0] + ' UTC').toISOString().slice(0, 10), first)
    assert.ok(said[1].includes(prices.get(first)), `${said} should be ${prices.get(first)}`)
  },

  'which variant': async ({ page }, v) => {
    await v.open('/search?q=charizard')
    const links = await page.locator('.pockets a').evaluateAll(all => all.map(a => a.getAttribute('href')))
    let variants
    for (const link of links) {
      await v.open(link)
      variants = page.getByRole('navigation', { name: 'Variant' })
      if (await variants.count()) break
    }
    const { prices } = await ask('/v1/cards/' + slug(page))
    const shown = await page.locator('.price .amount').textContent(), named = await page.locator('.price .lane').textContent()
    const lane = prices.find(lane => money(lane.market_price_cents) === shown && named.toLowerCase().startsWith(lane.variant.replaceAll('_', ' ')))
    assert.ok(lane, `${named} at ${shown} is a price of the card`)
    const rows = await texts(page.locator('.prices tr'))
    for (const price of prices) assert.ok(rows.some(row => row.includes(money(price.market_price_cents))), money(price.market_price_cents))
    // A list says it of a card with more than one.
    const here = new URL(page.url()).pathname, title = await page.locator('h1').textContent()
    await v.open('/search?view=list&q=' + encodeURIComponent(title))
    const row = page.locator('.cards li').filter({ has: page.locator(`a[href$="${here}"]`) })
    assert.ok((await row.textContent()).includes(named.split(',')[0].trim()), `a list says ${named} of ${title}`)
    await v.open(here)
    const other = variants.locator('a:not([aria-current])').first(), name = await other.textContent()
    await v.follow(other, '**variant=**')
    assert.match(await page.locator('#history-title').textContent(), new RegExp('Price history: ' + name.trim()))
  },

  'what a set costs': async ({ page }, v) => {
    const set = await theSet()
    await v.open('/')
    await v.search(world.set)
    await v.follow(page.locator('.named a').first(), '**/sets/' + set.slug)
    assert.match((await texts(page.locator('.worth dl')))[0], new RegExp(`One of each card\\s*${money(set.cents).replace(/[$.]/g, '\\$&')}`))
    await v.follow(tab(page, 'By price'), '**sort=price**')
    const dearest = Math.max(...set.cards.map(card => card.price?.market_price_cents ?? 0))
    assert.equal(cents((await texts(page.locator('.pockets b')))[0]), dearest)
  },

  'what I lack of a set': async ({ page, mode }, v) => {
    const set = await theSet()
    await v.open('/sets/' + set.slug)
    await v.follow(tab(page, 'Checklist'), '**view=checklist**')
    const all = await page.locator('#checklist li').count()
    assert.equal(all, set.cards.length)
    if (mode.noScript) {
      assert.equal(await page.getByRole('checkbox').count(), 0)
      assert.ok(await page.locator('noscript p').isVisible(), 'it says why there is nothing to tick')
      return
    }
    const price = async n => Math.round(await page.locator('#checklist li').nth(n).getAttribute('data-price') * 100)
    const said = page.locator('.ticked [role=status]')
    for (const n of [0, 2]) await v.press(page.getByRole('checkbox').nth(n))
    const lacking = money(set.cents - await price(0) - await price(2))
    assert.ok((await said.textContent()).startsWith(`You have 2 of ${all}. The ${all - 2} missing cost ${lacking}`), await said.textContent())
    await page.reload()
    assert.ok((await said.textContent()).includes(lacking))
    await v.press(page.getByRole('button', { name: 'Show what is missing' }))
    assert.equal(await page.locator('#checklist li:visible').count(), all - 2)
    await v.follow(page.locator('#checklist li:visible a').first(), '**/cards/**')
    await page.goBack()
    assert.equal(await page.locator('#checklist li:visible').count(), all - 2, 'Back shows what is missing still')
  },

  'what moved': async ({ page }, v) => {
    await v.open('/')
    await v.follow(site(page, 'Movers'), '**/movers')
    for (const [days, direction, sign] of [[1, 'Up', '+'], [30, 'Up', '+'], [30, 'Down', '−'], [7, 'Down', '−']]) {
      for (const name of [days === 1 ? '1 day' : days + ' days', direction]) {
        if (await tab(page, name).getAttribute('aria-current')) continue
        await v.press(tab(page, name))
        await tab(page, name).and(page.locator('[aria-current]')).waitFor()
      }
      assert.equal(await page.locator('main h2').count(), 2, 'each game its own')
      const moves = await texts(page.locator('.cost span'))
      if (moves.length) assert.ok(moves.every(move => move.startsWith(sign)), `${moves[0]} in ${page.url()}`)
      else assert.match(await page.getByRole('main').textContent(), /Prices of one day|No prices|No price (rose|fell)/)
    }
    await v.follow(tab(page, 'Pokémon'), '**game=pokemon**')
    const first = page.locator('.cards li').first(), price = cents(await first.textContent())
    await v.follow(first.locator('a'), '**/cards/**')
    assert.equal(cents(await page.locator('.price .amount').textContent()), price)
  },

  'a sealed product': async ({ page }, v) => {
    await v.open('/')
    await v.search(world.box)
    assert.match(await page.locator('.reading').textContent(), /sealed products are listed below/)
    const row = page.locator('.sealed li').first(), price = cents(await row.textContent())
    await v.follow(row.locator('a'), '**/sealed/prd_*')
    assert.match(await page.locator('h1').textContent(), world.boxName)
    assert.equal(cents(await page.locator('.price .amount').textContent()), price)
    await v.follow(tab(page, '180 days'), '**days=180**')
    assert.ok((await page.locator('.chart svg').count()) + (await page.locator('#history .none').count()) === 1)
    await v.follow(page.getByRole('link', { name: /^All cards of/ }), '**/sets/**')
  },

  'a short list': async ({ page, mode }, v) => {
    const card = await theCard()
    await v.open('/')
    await v.follow(site(page, 'Value'), '**/value')
    await v.write(page.getByLabel('One card a line'), `2x Charizard ${world.set} ${world.number}\nUmbreon VMAX\nqqqq zzzz`)
    await v.press(page.getByRole('button', { name: 'Value it' }))
    const amount = page.locator('.total .amount'), sum = card.price.market_price_cents * 2
    await page.getByText('1 line of 3 priced').waitFor()
    assert.equal(cents(await amount.textContent()), sum)
    const button = page.locator('button[name=pick]').first(), picked = cents(await button.textContent())
    await v.press(button)
    await page.getByText('2 lines of 3 priced').waitFor()
    assert.equal(cents(await amount.textContent()), sum + picked)
    const table = readFileSync(await v.download(page.getByRole('button', { name: 'Download as CSV' })), 'utf8').trimEnd().split('\n')
    assert.equal(table.length, 4)
    assert.equal(Math.round(table.slice(1, 3).reduce((all, row) => all + Number(row.split(',').find((_, i) => i === 9)), 0) * 100), sum + picked)
    if (mode.noScript) return
    await v.press(page.getByRole('button', { name: 'Undo this choice' }))
    assert.equal(cents(await amount.textContent()), sum)
  },

  'a collection': async ({ page, mode }, v) => {
    const size = whole ? 5000 : 1200
    const { cards } = await theSet()
    const rows = Array.from({ length: size }, (_, i) => {
      const card = cards[i * 7 % cards.length]
      return i % 50 === 49 ? `1,Umbreon VMAX,,` : `${1 + i % 3},"${card.name}",${world.set},${card.number}`
    })
    const header = 'Quantity,Name,Set,Number\n'
    let total = 0, priced = 0
    for (let i = 0; i < size; i += 1000) {
      const { totals } = await ask('/v1/valuations', { method: 'POST', headers: { 'Content-Type': 'text/csv' }, body: header + rows.slice(i, i + 1000).join('\n') })
      total += totals.exact_cents + totals.assumed_cents
      priced += totals.priced
    }
    const text = header + rows.join('\n')
    await v.open('/value')
    await v.give(page.getByLabel('Or a CSV file'), text)
    await v.press(page.getByRole('button', { name: 'Value it' }))
    await page.getByText(`${priced.toLocaleString('en-US')} lines of ${size.toLocaleString('en-US')} priced`).waitFor()
    assert.equal(cents(await page.locator('.total .amount').textContent()), total)
    assert.equal(await page.locator('.valued > li').count(), mode.noScript ? Math.min(size - priced, 200) : 100)
    if (mode.noScript) {
      await v.give(page.getByLabel('Or a CSV file'), text)
      assert.equal(rowsOf(await v.download(page.getByRole('button', { name: 'Only the table' }))), size)
      return
    }
    await page.locator('.answered:not(.running)').waitFor()
    assert.equal(rowsOf(await v.download(page.getByRole('button', { name: 'Download as CSV' }))), size)
    await v.follow(page.getByRole('link', { name: 'Next →' }).first(), '**#lines-2')
    await page.reload()
    await page.getByText('Lines 101 to 200').first().waitFor()
    assert.equal(cents(await page.locator('.total .amount').textContent()), total)
    await v.press(page.getByRole('button', { name: 'Forget this list' }))
    assert.equal(await page.locator('.total').count(), 0)
  },

  'share a card': async ({ page }, v) => {
    const card = await theCard()
    await v.open('/cards/' + card.slug)
    await v.follow(tab(page, '365 days'), '**days=365**')
    const picture = await fetch(await page.locator('meta[property="og:image"]').getAttribute('content'))
    const head = Buffer.from(await picture.arrayBuffer())
    assert.deepEqual([picture.status, head.readUInt32BE(16), head.readUInt32BE(20)], [200, 1200, 630])
    await v.follow(page.getByRole('link', { name: /\/embed\// }), '**/embed/**')
    assert.equal(await page.locator('.amount').textContent(), money(card.price.market_price_cents))
    await page.goBack()
  },

  'print': async ({ page, mode }, v) => {
    const set = await theSet()
    await v.open('/sets/' + set.slug)
    for (const name of ['Pockets', 'List', 'Checklist']) {
      if (!(await tab(page, name).getAttribute('aria-current'))) await v.press(tab(page, name))
      await tab(page, name).and(page.locator('[aria-current]')).waitFor()
      const sheets = await printed(page)
      const links = new Set(sheets.flatMap(sheet => sheet.match(/\/cards\/[\w-]+/g) ?? []))
      const wanted = await page.locator('#results a').evaluateAll(all => all.map(a => new URL(a.href).pathname))
      assert.ok(wanted.length > 50)
      for (const link of wanted) assert.ok(links.has(link), `${link} is on no sheet of ${name}`)
    }
    await page.emulateMedia({ media: 'print' })
    assert.ok(!(await site(page, 'Movers').isVisible()))
    assert.ok(await page.locator('#results b').first().isVisible(), 'prices are printed')
    const ink = await page.locator('h1').evaluate(heading => getComputedStyle(heading).color)
    assert.equal(ink, 'rgb(27, 29, 33)', 'paper is white, whatever the scheme')
    await page.emulateMedia({ media: 'screen' })
  },

  'a first call from /docs': async ({ page, mode }, v) => {
    await v.open('/')
    await v.follow(site(page, 'API'), '**/docs')
    if (mode.noScript) {
      await v.press(page.locator('#cards_get summary').first())
      const line = await page.locator('#cards_get pre').first().textContent()
      const [, url] = /^curl -H 'X-API-Key: KEY' '([^']*)'$/.exec(line)
      assert.ok(await page.locator('#cards_get pre').first().isVisible())
      assert.equal((await ask(url.replace(BASE, ''))).prices.length > 0, true)
      return
    }
    await v.write(page.getByLabel('Your API key'), KEY)
    const operation = page.locator('#cards_get')
    await v.press(operation.locator('summary').first())
    await v.press(operation.getByRole('button', { name: 'Send' }))
    await operation.locator('.answer pre').waitFor()
    assert.match(await operation.locator('.answer p').textContent(), /^200 /)
    assert.match(await operation.locator('.answer pre').textContent(), /"market_price_cents": \d/)
  },

  'home': async ({ page }, v) => {
    await v.open('/')
    assert.deepEqual(await texts(page.locator('main h2')), ['Pokémon', 'One Piece', 'Newest sets'])
    for (const game of [0, 1]) {
      const part = page.locator('.leafed').nth(game)
      const prices = (await texts(part.locator('.pockets').first().locator('b'))).map(cents)
      assert.equal(prices.length, 9)
      assert.deepEqual(prices, prices.toSorted((a, b) => b - a))
    }
    await v.follow(page.locator('.sets a').first(), '**/sets/**')
    await page.goBack()
    await v.follow(page.getByRole('link', { name: 'All sets' }), '**/sets')
  },

  'a set by its year': async ({ page }, v) => {
    await v.open('/')
    await v.follow(site(page, 'Sets'), '**/sets')
    const year = page.getByRole('navigation', { name: 'Year' }).getByRole('link').nth(3), name = await year.textContent()
    await v.follow(year, '**#*')
    const top = await page.getByRole('heading', { name, exact: true }).evaluate(heading => heading.getBoundingClientRect().top)
    assert.ok(top > -1 && top < 900, `${name} is at ${top}`)
    await v.write(page.getByLabel('Find a set'), world.set)
    await v.press(page.getByRole('button', { name: 'Find' }))
    await page.waitForURL('**q=**')
    await v.follow(page.locator('.sets a').first(), '**/sets/**')
    assert.equal(await page.locator('h1').textContent(), world.set)
  },

  'a page that is not there': async ({ page, complaints }, v) => {
    await v.open('/cards/not-a-card')
    assert.equal(await page.locator('h1').textContent(), 'Page not found')
    for (const complaint of complaints.splice(0)) assert.match(complaint, /404/)
    await v.search('charizard')
    assert.ok((await page.locator('.pockets a').count()) > 3)
    await v.open('/search?q=charizard&page=99')
    assert.match(await page.getByRole('main').textContent(), /There is no page 99\. This is page \d+, the last one\./)
  },
}

// onTheAxis compares the end of each line of a chart with its price, by the labels next to it.
async function onTheAxis(page, paths, prices) {
  const drawn = await page.locator('.chart ' + paths).evaluateAll(all => all.map(path => path.getAttribute('d')))
  const ends = drawn.map(path => Number(/ (-?[\d.]+)(?:h0)?$/.exec(path)[1]))
  const labels = (await texts(page.locator('.chart .axis span'))).map(cents)
  const scale = await page.getByText('ten times the one below').count() ? Math.log10 : price => price
  const top = scale(labels[0]), base = scale(labels.at(-1))
  assert.equal(ends.length, prices.length)
  for (const [i, price] of prices.entries()) {
    const want = 200 * (top - scale(cents(price))) / (top - base)
    assert.ok(Math.abs(ends[i] - want) < 1.5, `${price} is drawn at ${ends[i]}, not ${want}`)
  }
}

// printed returns the contents of the sheets of a printed page.
async function printed(page) {
  const text = (await page.pdf({ format: 'A4' })).toString('latin1')
  return [...text.matchAll(/obj\s([\s\S]*?)endobj/g)].map(([, body]) => body)
}

// rowsOf counts the rows of a table that was taken away; none of these has a cell of two lines.
const rowsOf = path => readFileSync(path, 'utf8').trimEnd().split('\n').length - 1

const results = new Map()
before(async () => {
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update'] })
})
after(async () => {
  await browser?.close()
  if (!whole) return
  const columns = Object.keys(ways).flatMap(way => [360, 820, 1280].map(width => [way, width]))
  console.log('| errand | ' + columns.map(([way, width]) => `${way} ${width}`).join(' | ') + ' |')
  for (const [errand, got] of results) {
    const cell = ([way, width]) => modes.filter(mode => mode.way === way && mode.width === width).map(mode => got.get(mode.name) ?? '').join('/')
    console.log(`| ${errand} | ${columns.map(cell).join(' | ')} |`)
  }
})

// does runs a task in one way, and checks the browser's messages.
function does(name, errand, mode) {
  test(`${name}: ${mode.name}`, async () => {
    const got = results.get(name) ?? new Map()
    results.set(name, got.set(mode.name, 'no'))
    const { width, colorScheme, noScript } = mode
    const context = await browser.newContext({ viewport: { width, height: width === 360 ? 740 : 900 }, colorScheme, javaScriptEnabled: !noScript, hasTouch: width === 360, isMobile: width === 360, reducedMotion: 'reduce' })
    context.setDefaultTimeout(10_000)
    const page = await context.newPage()
    const complaints = []
    page.on('console', message => ['error', 'warning'].includes(message.type()) && complaints.push(message.text()))
    page.on('pageerror', error => complaints.push(String(error)))
    page.on('response', response => response.status() >= 400 && complaints.push(response.status() + ' ' + response.url()))
    context.on('request', request => new URL(request.url()).origin === BASE || complaints.push('request to ' + request.url()))
    const v = new Visitor(page, mode, BASE)
    try {
      await errand({ page, mode, complaints }, v)
      assert.ok(!(await scrollsSideways(page)), page.url() + ' scrolls sideways')
      assert.deepEqual(complaints, [])
      if (!noScript && (whole || mode.way === 'pointer' && colorScheme === 'dark')) {
        await page.evaluate(axe)
        const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }))
        assert.deepEqual(violations.map(bad => `${bad.id}: ${bad.nodes.map(node => node.html.slice(0, 120)).join(' | ')}`), [], page.url())
      }
      got.set(mode.name, 'yes')
    } finally {
      await context.close()
    }
  })
}

const wanted = (ONLY ?? '').split(',').filter(Boolean)
// A sample runs two at a time, each in a separate profile: a task mostly waits.
describe('errands', { concurrency: whole ? 1 : 2 }, () => {
  for (const [i, [name, errand]] of Object.entries(errands).entries()) {
    if (wanted.length && !wanted.some(word => name.includes(word))) continue
    // A sample has every errand once, and every mode about as often as another.
    for (const [j, mode] of modes.entries()) if (whole || j === i * 7 % modes.length) does(name, errand, mode)
  }
})
