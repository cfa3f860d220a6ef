// Visitors' actions in a real browser. Every test also checks for no error in the console, no
// request to another host and no page that scrolls sideways. See run.sh.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'
import { chromium } from 'playwright-core'

const { BASE, CHROMIUM, KEY } = process.env
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
let browser

before(async () => {
  browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  })
})
after(() => browser?.close())

// visit runs a test in a separate browser profile and checks the browser's messages.
function visit(name, options, steps) {
  test(name, async () => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
    const page = await context.newPage()
    const complaints = []
    page.on('console', message => ['error', 'warning'].includes(message.type()) && complaints.push(message.text()))
    page.on('pageerror', error => complaints.push(String(error)))
    context.on('request', request => new URL(request.url()).origin === BASE || complaints.push('request to ' + request.url()))
    page.on('response', response => response.status() >= 400 && complaints.push(response.status() + ' ' + response.url()))
    try {
      await steps(page, complaints)
      assert.ok(!(await scrollsSideways(page)), page.url() + ' scrolls sideways')
      assert.deepEqual(complaints, [])
    } finally {
      await context.close()
    }
  })
}

const open = (page, path) => page.goto(BASE + path)
const scrollsSideways = page => page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)
const focused = page => page.evaluate(() => document.activeElement.textContent.trim() || document.activeElement.id)

// suggests types a term and waits for its options. On a slow machine the first letters of a term
// would be requested, too, and their options replaced while they are used: here they have none.
async function suggests(page, term, type) {
  const asks = url => url.searchParams.has('q') && url.searchParams.get('q') !== term
  await page.route(asks, route => route.request().resourceType() === 'fetch' ? route.fulfill({ status: 204 }) : route.continue())
  await type()
  await page.getByRole('option').first().waitFor()
  await page.unroute(asks)
}

// aCard is the address of a card with several variants, found as a visitor finds it.
async function aCard(page) {
  await open(page, '/search?q=charizard')
  const links = await page.locator('.pockets a').evaluateAll(all => all.map(a => a.getAttribute('href')))
  for (const link of links) {
    await open(page, link)
    if (await page.getByRole('navigation', { name: 'Variant' }).count()) return link
  }
  return links[0]
}

visit('search with a typo, choose with the mouse, switch range and variant, open the set', {}, async page => {
  await open(page, '/')
  await suggests(page, 'charizrd', () => page.getByLabel('Search cards').pressSequentially('charizrd', { delay: 20 }))
  const options = page.getByRole('option')
  await page.locator('#options a:first-child', { hasText: 'Charizard' }).waitFor()
  await options.first().click()
  await page.waitForURL('**/cards/**')
  assert.match(await page.locator('h1').textContent(), /Charizard/)
  assert.match(await page.locator('.amount').textContent(), /^\$[\d,]+\.\d\d$|No current price/)

  await open(page, await aCard(page))
  const ranges = page.getByRole('navigation', { name: 'Range' })
  for (const days of [7, 30, 90, 180, 365]) {
    await ranges.getByRole('link', { name: days + ' days', exact: true }).click()
    await page.waitForURL('**days=' + days + '**')
    assert.equal(await ranges.locator('[aria-current]').textContent(), days + ' days')
    assert.equal(await page.locator('.chart svg').getAttribute('viewBox'), `0 0 ${days - 1} 200`)
    const drawn = await page.locator('.chart .line').evaluate(line => line.getTotalLength())
    assert.ok(drawn > 5, `the line of ${days} days is ${drawn} long`)
  }
  const low = () => page.locator('.sums dd').first().textContent()
  const one = await low()
  const variants = page.getByRole('navigation', { name: 'Variant' })
  await variants.locator('a:not([aria-current])').first().click()
  await page.waitForURL('**variant=**')
  assert.notEqual(await low(), one)
  assert.match(page.url(), /days=365/)
  await page.getByText('As a table').click()
  assert.ok(await page.locator('details tbody tr').first().isVisible())

  const set = await page.locator('.trail a:last-child').first().textContent()
  await page.locator('.trail a:last-child').first().click()
  await page.waitForURL('**/sets/**')
  assert.equal(await page.locator('h1').textContent(), set)
  await page.getByRole('link', { name: 'By price' }).click()
  await page.waitForURL('**sort=price**')
  const prices = (await page.locator('.pockets b:not(.none)').allTextContents()).map(text => Number(text.replace(/[$,]/g, '')))
  assert.deepEqual(prices, prices.toSorted((a, b) => b - a))
})

visit('nine pockets or a list, kept in the address', {}, async page => {
  await open(page, '/sets/kanto-classic')
  assert.equal(await page.locator('.pockets').first().locator('li').count(), 9)
  const cards = await page.locator('.pockets li').count()
  const row = (leaf, n) => page.locator('.pockets').nth(leaf).locator('li').nth(n).boundingBox()
  for (const n of [0, 3, 6]) assert.equal((await row(0, n)).y, (await row(1, n)).y, 'pages side by side have their rows at one height')
  assert.ok((await row(0, 0)).width > 140, 'a card is large enough to know it')
  const price = page.locator('.pockets b').first()
  await price.scrollIntoViewIfNeeded()
  assert.ok(await price.evaluate(price => {
    const box = price.getBoundingClientRect()
    return document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2).closest('a') !== null
  }), 'a price leads to its card')
  await page.getByRole('link', { name: 'List', exact: true }).click()
  await page.waitForURL('**view=list**')
  assert.equal(await page.locator('.cards li').count(), cards)
  await page.getByRole('link', { name: 'By price' }).click()
  await page.waitForURL('**sort=price**')
  assert.match(page.url(), /view=list/)
  assert.match(await page.locator('.worth').textContent(), /One of each card\s*\$[\d,]+\.\d\d/)
  await page.setViewportSize({ width: 390, height: 844 })
  await open(page, '/sets/kanto-classic')
  const tops = await page.locator('.pockets').first().locator('li').evaluateAll(all => all.map(li => li.getBoundingClientRect().top))
  assert.ok(tops[0] === tops[2] && tops[3] > tops[2], 'three across on a phone')
})

visit('the price, its change and the small chart are seen first on a phone', { viewport: { width: 390, height: 844 } }, async page => {
  await open(page, '/cards/kanto-classic-charizard-4-102')
  for (const part of ['.amount', '.week', '.spark']) {
    const box = await page.locator(part).boundingBox()
    assert.ok(box && box.y + box.height < 600, `${part} ends at ${box && box.y + box.height}`)
  }
  assert.match(await page.locator('.week').textContent(), /[+−]\$[\d,.]+.*in 7 days/)
  assert.equal(await page.locator('.warn').count(), 0)
  const table = await page.locator('.prices table').evaluate(table => [table.scrollWidth, table.parentElement.clientWidth])
  assert.ok(table[0] <= table[1], `the table is ${table}`)
})

visit('a chart answers the pointer, the arrow keys and a finger, and compares variants', { hasTouch: true, viewport: { width: 390, height: 844 } }, async page => {
  await open(page, '/cards/kanto-classic-charizard-4-102?days=90')
  const reading = page.locator('.reading'), svg = page.locator('.chart svg')
  await svg.scrollIntoViewIfNeeded()
  const box = await svg.boundingBox()
  await page.mouse.move(box.x + box.width - 1, box.y + 20)
  const newest = await reading.textContent()
  assert.match(newest, /Unlimited Holofoil \$450\.00$/)
  await page.mouse.move(box.x + 1, box.y + 20)
  assert.notEqual(await reading.textContent(), newest)
  await page.touchscreen.tap(box.x + box.width / 2, box.y + 40)
  assert.match(await reading.textContent(), /\d{4}: Unlimited Holofoil \$\d/)
  await svg.focus()
  await page.keyboard.press('End')
  assert.equal(await reading.textContent(), newest)
  await page.keyboard.press('ArrowLeft')
  assert.notEqual(await reading.textContent(), newest)
  await page.getByLabel('1st Edition Holofoil').check()
  assert.equal(await page.locator('.chart path.line').count(), 2)
  await svg.focus()
  await page.keyboard.press('End')
  assert.match(await reading.textContent(), /Unlimited Holofoil \$450\.00, 1st Edition Holofoil \$6,200\.00/)
  await check(page, 'a chart with two lines')
})

// reads returns a chart's text for the first, the middle and the last row of its table, and at its
// ends by the keys, with the expected text: a day and a price.
const reads = page => page.evaluate(() => {
  const chart = document.getElementById('chart')
  if (!chart) return []
  const svg = chart.querySelector('svg'), reading = chart.querySelector('.reading')
  const days = +chart.dataset.days, first = +chart.dataset.first, box = svg.getBoundingClientRect()
  const said = () => {
    const [, day, price] = /^(\d+ \w+ \d{4}): .*?(\$[\d,.]+)$/.exec(reading.textContent) ?? []
    return new Date(day + ' UTC').toISOString().slice(0, 10) + ' ' + price
  }
  const rows = [...document.querySelectorAll('details tbody tr')].map(row => [...row.cells].map(cell => cell.textContent.trim()))
  const all = []
  for (const row of [rows[0], rows[rows.length >> 1], rows.at(-1)]) {
    const day = Date.parse(row[0]) / 864e5 - first
    svg.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + day / (days - 1) * box.width }))
    all.push([row.join(' '), said()])
  }
  const key = key => svg.dispatchEvent(new KeyboardEvent('keydown', { key }))
  key('End')
  all.push([rows[0].join(' '), said()])
  if (days <= 30) { // the table has every day
    key('Home')
    all.push([rows.at(-1).join(' '), said()])
  }
  return all
})

// A run does a sample; TEST_DEPTH=whole does all.
const charts = process.env.TEST_DEPTH === 'whole' ? 60 : 15
visit(`a chart tells each day its own price, on ${charts} cards, in every range, and so do lines that are switched on`, {}, async page => {
  const cards = new Set()
  for (let n = 1; cards.size < charts; n++) {
    await open(page, '/search?sort=price&view=list&page=' + n)
    for (const link of await page.locator('.cards a').evaluateAll(all => all.map(a => a.getAttribute('href')))) cards.add(link)
  }
  let readings = 0, lines = 0
  for (const card of [...cards].slice(0, charts)) {
    for (const days of [7, 30, 90, 180, 365]) {
      await page.goto(BASE + card + '?days=' + days, { waitUntil: 'domcontentloaded' })
      for (const [want, got] of await reads(page)) {
        assert.equal(got, want, page.url())
        readings++
      }
    }

    // The line of another variant agrees with the table of that variant's page.
    const others = page.locator('.lines label:not(:has(:checked)):not(:has(:disabled))')
    if (lines >= 20 || !(await others.count())) continue
    const variant = (await others.first().textContent()).trim()
    const url = page.url()
    await page.locator('.lines :checked').uncheck()
    await page.getByLabel(variant, { exact: true }).check()
    assert.ok(await page.locator('.chart path.line').evaluate(path => path.getBBox().x >= 0), url + ' is drawn out of the axis')
    await page.locator('.chart svg').focus()
    await page.keyboard.press('End')
    const last = await page.locator('.reading').textContent()
    await page.getByRole('navigation', { name: 'Variant' }).getByRole('link', { name: variant, exact: true }).click()
    await page.waitForURL('**variant=**')
    const row = await page.locator('details tbody tr').first().locator('td').allTextContents()
    const day = new Date(row[0]).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' })
    assert.equal(last, `${day}: ${variant} ${row[1].trim()}`, url)
    lines++
  }
  assert.ok(readings > 500 * charts / 60 && lines > 5 * charts / 60, `${readings} readings and ${lines} lines were held against tables`)
})

visit('suggestions: sets and cards as links, all of them, another word, the slash', {}, async (page, complaints) => {
  await open(page, '/sets')
  await page.keyboard.press('/')
  assert.equal(await focused(page), 'q')
  await suggests(page, 'kanto', () => page.keyboard.type('kanto', { delay: 20 }))
  const options = page.getByRole('option')
  await page.locator('#options a:first-child[href$="/sets/kanto-classic"]').waitFor()
  assert.match(await options.last().textContent(), /See all .*cards/)
  const [beside] = await Promise.all([page.context().waitForEvent('page'), options.nth(1).click({ button: 'middle' })])
  await beside.waitForURL('**/cards/**')
  await beside.close()
  await page.getByRole('combobox').fill('chxrxzxrd')
  await page.getByRole('option', { name: /Did you mean Charizard/ }).click()
  await page.waitForURL('**/search?q=Charizard')
  assert.deepEqual(complaints, [])
})

for (const javaScriptEnabled of [true, false]) {
  visit(`filters and sets by year, ${javaScriptEnabled ? 'with' : 'without'} script`, { javaScriptEnabled }, async page => {
    await page.goto(BASE + '/search?q=pikachu')
    await page.getByText('Filters').click()
    const before = await page.locator('.pockets li').count()
    await page.getByLabel('Rarity').selectOption({ index: 1 })
    await page.getByLabel('From $').fill('1')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.waitForURL('**rarity=**')
    assert.match(page.url(), /min=1/)
    assert.ok((await page.locator('.pockets li').count()) < before)
    await page.getByRole('link', { name: 'Clear' }).click()
    assert.equal(await page.locator('.pockets li').count(), before)
    await page.goto(BASE + '/sets')
    const years = (await page.locator('main h2').allTextContents()).filter(text => /^\d+$/.test(text)).map(Number)
    assert.deepEqual(years, years.toSorted((a, b) => b - a))
    await page.getByLabel('Find a set').fill('kanto')
    await page.getByRole('button', { name: 'Find' }).click()
    await page.waitForURL('**q=kanto**')
    assert.match(await page.locator('.sets a').first().textContent(), /Kanto/)
  })

  visit(`a list is valued, asked about and taken away, ${javaScriptEnabled ? 'with' : 'without'} script`, { javaScriptEnabled }, async page => {
    await page.goto(BASE + '/value')
    await page.getByLabel('One card a line').fill('2x Charizard Kanto Classic 4/102\nUmbreon VMAX\nqqqq zzzz')
    await page.getByRole('button', { name: 'Value it' }).click()
    await page.locator('.valued').waitFor()
    assert.equal(page.url(), BASE + '/value')
    assert.equal(await page.locator('.total .amount').textContent(), 'So far $900.00')
    if (javaScriptEnabled) await check(page, '/value with an answer')
    await page.getByRole('button', { name: /Umbreon VMAX 215\/203/ }).click()
    await page.getByText('2 lines of 3 priced').waitFor()
    assert.equal(await page.locator('.total .amount').textContent(), 'So far $1,850.00')
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download as CSV' }).click()])
    const table = readFileSync(await download.path(), 'utf8')
    assert.match(table, /^line,status,/)
    assert.match(table, /2,priced,1,Umbreon VMAX,Kanto Classic,215\/203/)
    await page.getByLabel('Or a CSV file').setInputFiles({ name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from('Charizard Kanto Classic 4/102') })
    await page.getByRole('button', { name: 'Value it' }).click()
    await page.getByText('1 line of 1 priced').waitFor()
  })
}

visit('back from a card to the list that was valued', {}, async page => {
  await open(page, '/value')
  await page.getByLabel('One card a line').fill('2x Charizard Kanto Classic 4/102\n'.repeat(100))
  await page.getByRole('button', { name: 'Value it' }).click()
  await page.locator('.valued a').first().click()
  await page.waitForURL('**/cards/**')
  await page.goBack()
  assert.equal(page.url(), BASE + '/value')
  assert.equal(await page.locator('.total .amount').textContent(), '$90,000.00')
})

visit('a list that is too long is refused with its size', {}, async (page, complaints) => {
  await open(page, '/value')
  const rows = 'Charizard,1,Kanto Classic,4/102,a long note of the owner of this card\r\n'.repeat(21_000)
  await page.getByLabel('Or a CSV file').setInputFiles({ name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from(rows) })
  await page.getByRole('button', { name: 'Value it' }).click()
  await page.getByText(`This list has 21,000 rows and ${rows.length.toLocaleString('en-US')} bytes.`).waitFor()
  await check(page, '/value that is refused')
  for (const complaint of complaints.splice(0)) assert.match(complaint, /413/)
})

// aCollection is an export of cards of the demo catalog, with cells of several lines, blank lines and names alone.
async function aCollection(rows) {
  const cards = []
  for (let cursor = ''; cards.length < 600;) {
    const { data, next_cursor } = await ask(`/v1/cards?limit=50${cursor && '&cursor=' + cursor}`)
    cards.push(...data)
    cursor = next_cursor
  }
  const quoted = cell => `"${String(cell).replaceAll('"', '""')}"`
  const lines = Array.from({ length: rows }, (_, i) => {
    const { name, set, number } = cards[i * 7 % cards.length]
    const alone = i % 250 === 60
    return [1 + i % 3, i % 20 ? name : '\n' + name, alone ? '' : set?.name ?? '', alone ? '' : number ?? ''].map(quoted).join(',') + (i % 90 ? '' : '\r\n')
  })
  return 'Quantity,Name,Set,Number\r\n' + lines.join('\r\n') + '\r\n'
}
const ask = async (path, options = {}) => (await fetch(BASE + path, { ...options, headers: { 'X-API-Key': KEY, ...options.headers } })).json()

// worth is the API's value of an export, in parts of 1,000 rows.
async function worth(text) {
  const header = text.slice(0, text.indexOf('\n') + 1), sums = { exact_cents: 0, assumed_cents: 0, priced: 0, quantity: 0 }
  const rows = text.slice(header.length).match(/(?:"(?:[^"]|"")*"|[^"\n])+\n/g).filter(row => row.trim())
  for (let i = 0; i < rows.length; i += 1000) {
    const { totals } = await ask('/v1/valuations', { method: 'POST', headers: { 'Content-Type': 'text/csv' }, body: header + rows.slice(i, i + 1000).join('') })
    for (const name in sums) sums[name] += totals[name]
  }
  return { ...sums, rows: rows.length, cents: sums.exact_cents + sums.assumed_cents }
}
const money = cents => '$' + (cents / 100).toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })

visit('a collection of 5,000 rows: its total, choices, undo, reload, Back, a table and a sheet', {}, async page => {
  const text = await aCollection(5000), api = await worth(text)
  assert.equal(api.rows, 5000)
  await open(page, '/value')
  const posts = []
  page.on('request', request => request.method() === 'POST' && posts.push(request.url()))
  await page.getByLabel('Or a CSV file').setInputFiles({ name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from(text) })
  await page.getByRole('button', { name: 'Value it' }).click()
  const amount = page.locator('.total .amount'), of = page.locator('.total p').nth(1)
  await page.locator('.answered:not(.running)').waitFor()
  assert.equal(await amount.textContent(), 'So far ' + money(api.cents))
  assert.equal(await of.textContent(), `${api.priced.toLocaleString('en-US')} lines of 5,000 priced, ${api.quantity.toLocaleString('en-US')} copies`)
  assert.equal(page.url(), BASE + '/value')
  assert.ok(posts.length >= 10 && posts.every(url => url === BASE + '/value/rows'), posts.length + ' posts')
  await check(page, '/value with a collection')
  assert.ok(!(await scrollsSideways(page)))

  // Open lines come first, and a settled line stays in its place, on the screen as well.
  const lines = page.locator('.valued > li')
  assert.equal(await lines.count(), 100)
  assert.equal(await lines.first().locator('.none, .ask').count() > 0, true)
  const third = lines.nth(2), number = await third.locator('.n').textContent()
  const button = third.locator('button[name=pick]').first()
  await button.scrollIntoViewIfNeeded()
  const place = (await third.boundingBox()).y
  await button.click()
  await third.getByRole('button', { name: 'Undo this choice' }).waitFor()
  assert.equal(await third.locator('.n').textContent(), number)
  assert.equal((await third.boundingBox()).y, place)
  assert.equal(await focused(page), 'Undo this choice')
  const after = await amount.textContent()
  assert.notEqual(after, 'So far ' + money(api.cents))
  await third.getByRole('button', { name: 'Undo this choice' }).click()
  assert.equal(await amount.textContent(), 'So far ' + money(api.cents))
  await third.locator('button[name=pick]').first().click()
  await third.getByRole('button', { name: 'Undo this choice' }).waitFor()
  assert.equal(await amount.textContent(), after)

  // A reload requests nothing from the server again, and Back does not either.
  posts.length = 0
  await page.reload()
  await page.locator('.answered').waitFor()
  assert.equal(await amount.textContent(), after)
  await third.getByRole('button', { name: 'Undo this choice' }).waitFor()
  await page.getByRole('link', { name: 'Next →' }).first().click()
  await page.waitForURL('**/value#lines-2')
  await page.getByText('Lines 101 to 200 of 5,000').first().waitFor()
  await lines.locator('.what a').first().click()
  await page.waitForURL('**/cards/**')
  await page.goBack()
  await page.getByText('Lines 101 to 200 of 5,000').first().waitFor()
  assert.equal(await amount.textContent(), after)
  await page.goBack()
  await page.getByText('Lines 1 to 100 of 5,000').first().waitFor()
  assert.deepEqual(posts, [])

  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download as CSV' }).click()])
  const table = readFileSync(await download.path(), 'utf8').trimEnd().split(/\n(?=\d+,(?:priced|unpriced|ambiguous|unmatched),)/)
  assert.equal(table.length, 5001)
  const priced = table.filter(row => row.split(',')[1] === 'priced')
  assert.equal(priced.length, api.priced + 1)

  const sheets = await page.evaluate(() => {
    dispatchEvent(new Event('beforeprint'))
    const rows = document.querySelectorAll('.sheet tbody tr').length
    dispatchEvent(new Event('afterprint'))
    return [rows, document.querySelectorAll('.sheet tr').length]
  })
  assert.deepEqual(sheets, [5000, 0])
  const pdf = (await page.pdf({ format: 'A4' })).toString('latin1')
  assert.ok(pdf.match(/\/Type \/Page\b/g).length > 60, 'the sheet has every line')

  await page.getByRole('button', { name: 'Forget this list' }).click()
  await page.reload()
  assert.equal(await page.locator('.total').count(), 0)
})

visit('a collection waits when the server asks for it, and goes on', {}, async (page, complaints) => {
  await open(page, '/value')
  let posts = 0
  await page.route('**/value/rows', route => {
    posts++
    if (posts === 2) route.fulfill({ status: 503, headers: { 'Retry-After': '1' }, contentType: 'application/problem+json', body: '{"detail":"Too many lists."}' })
    else if (posts === 4) route.abort()
    else if (posts === 6) route.fulfill({ status: 400, contentType: 'application/problem+json', body: '{"detail":"No more."}' })
    else route.continue()
  })
  await page.getByLabel('One card a line').fill('2x Charizard Kanto Classic 4/102\n'.repeat(2000))
  await page.getByRole('button', { name: 'Value it' }).click()
  await page.getByText('Too many lists. Trying again in').waitFor()
  await page.getByText('No more. The total is of the lines so far.').waitFor()
  assert.match(await page.locator('.total .amount').textContent(), /^So far /)
  await page.getByRole('button', { name: 'Go on' }).click()
  await page.locator('.answered:not(.running)').waitFor()
  assert.equal(await page.locator('.total .amount').textContent(), money(2000 * 90_000))
  assert.equal(await page.locator('.said').textContent(), '')
  for (const complaint of complaints.splice(0)) assert.match(complaint, /503|400|ERR_FAILED/)
})

visit('a header that says nothing, and a quote that does not end, are told', {}, async page => {
  await open(page, '/value')
  await page.getByLabel('One card a line').fill('Quantity,Name,Colour\n1,Charizard,red\n')
  await page.getByRole('button', { name: 'Value it' }).click()
  await page.getByText('The header has columns that are not known: "Colour"').waitFor()
  const list = 'Quantity,Name,Set\n1,"Charizard,Kanto Classic\n' + '1,Umbreon,Kanto Classic\n'.repeat(9000)
  await page.getByLabel('Or a CSV file').setInputFiles({ name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from(list) })
  await page.getByRole('button', { name: 'Value it' }).click()
  await page.getByText('Row 1 is longer than 96 KiB.').waitFor()
})

visit('a collection without script', { javaScriptEnabled: false }, async page => {
  const text = await aCollection(3000), api = await worth(text)
  const send = async button => {
    await page.getByLabel('Or a CSV file').setInputFiles({ name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from(text) })
    await page.getByRole('button', { name: button }).click()
  }
  await page.goto(BASE + '/value')
  await send('Value it')
  await page.getByText(`${api.priced.toLocaleString('en-US')} lines of 3,000 priced`).waitFor()
  assert.equal(await page.locator('.total .amount').textContent(), 'So far ' + money(api.cents))
  assert.equal(await page.locator('.valued li').count(), Math.min(3000 - api.priced, 200))
  const [download] = await Promise.all([page.waitForEvent('download'), send('Only the table')])
  const table = readFileSync(await download.path(), 'utf8').trimEnd().split(/\n(?=\d+,(?:priced|unpriced|ambiguous|unmatched),)/)
  assert.equal(table.length, 3001)
})

// links are those of a PDF, with the sheet that each is on and its place there.
function links(pdf) {
  const text = pdf.toString('latin1')
  const objects = new Map([...text.matchAll(/(\d+) 0 obj\s([\s\S]*?)endobj/g)].map(([, n, body]) => [n, body]))
  const sheets = [...objects.values()].filter(body => /\/Type \/Page\b/.test(body))
  return sheets.flatMap((body, sheet) => {
    const annotations = /\/Annots (\[[^\]]*\])/.exec(body)?.[1] ?? ''
    return [...annotations.matchAll(/(\d+) 0 R/g)].map(([, n]) => {
      const link = objects.get(n)
      const [left, bottom, right, top] = /\/Rect\s*\[([^\]]*)\]/.exec(link)[1].trim().split(/\s+/).map(Number)
      return { sheet, left, bottom, right, top, to: /\/URI \(([^)]*)\)/.exec(link)?.[1] ?? '' }
    })
  })
}

visit('a binder is printed with no pocket cut and none over another', {}, async page => {
  await open(page, '/sets/kanto-classic')
  const wanted = await page.locator('.pockets a').evaluateAll(all => all.map(a => a.href))
  const above = await page.locator('main a[href*="/cards/"]:not(.pockets a)').count()
  const printed = links(await page.pdf({ format: 'A4' })).filter(link => link.to.includes('/cards/')).slice(above)
  assert.deepEqual(printed.map(link => link.to), wanted, 'every pocket is on one sheet')
  const tall = Math.max(...printed.map(link => link.top - link.bottom))
  for (const [i, one] of printed.entries()) {
    assert.ok(one.bottom >= 0 && one.top - one.bottom > tall * .8, `${one.to} is cut on sheet ${one.sheet + 1}`)
    for (const other of printed.slice(0, i)) {
      const apart = one.sheet !== other.sheet || one.left >= other.right || other.left >= one.right || one.bottom >= other.top || other.bottom >= one.top
      assert.ok(apart, `${one.to} is printed over ${other.to} on sheet ${one.sheet + 1}`)
    }
  }
})

visit('a small card in a frame of another page', {}, async page => {
  await open(page, '/embed/kanto-classic-charizard-4-102')
  assert.equal(await page.locator('.amount').textContent(), '$450.00')
  await check(page, '/embed')
})

visit('another word leaves no option marked', {}, async page => {
  await open(page, '/')
  const box = page.getByRole('combobox')
  await suggests(page, 'pika', () => box.pressSequentially('pika', { delay: 20 }))
  await page.keyboard.press('ArrowDown')
  assert.notEqual(await box.getAttribute('aria-activedescendant'), '')
  await page.keyboard.type('c')
  await page.waitForFunction(() => !document.querySelector('#options [aria-selected]'))
  assert.equal(await box.getAttribute('aria-activedescendant'), '')
})

visit('search by keyboard alone', {}, async page => {
  await open(page, '/')
  await page.keyboard.press('Tab')
  assert.equal(await focused(page), 'Skip to the content')
  for (const want of ['ninepocket', 'Movers', 'Sets', 'Value', 'API', 'q']) {
    await page.keyboard.press('Tab')
    assert.equal(await focused(page), want)
  }
  const box = page.getByRole('combobox')
  await suggests(page, 'pikachu', () => page.keyboard.type('pikachu', { delay: 20 }))
  assert.equal(await box.getAttribute('aria-expanded'), 'true')
  await page.keyboard.press('ArrowUp')
  const last = (await page.getByRole('option').count()) - 1
  assert.equal(await page.getByRole('option', { selected: true }).getAttribute('id'), 'o' + last)
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  const chosen = page.getByRole('option', { selected: true })
  assert.equal(await chosen.getAttribute('id'), 'o1')
  assert.equal(await box.getAttribute('aria-activedescendant'), 'o1')
  await page.keyboard.press('Escape')
  assert.equal(await box.getAttribute('aria-expanded'), 'false')
  assert.equal(await box.inputValue(), 'pikachu')
  await page.keyboard.press('ArrowDown')
  assert.match(await page.getByRole('option', { selected: true }).getAttribute('href'), /\/cards\//)
  const name = await page.getByRole('option', { selected: true }).locator('span').textContent()
  await page.keyboard.press('Enter')
  await page.waitForURL('**/cards/**')
  assert.equal(await page.locator('h1').textContent(), name)

  await page.getByLabel('Search cards').focus()
  await page.keyboard.type('zzzzqqqq')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/search?q=zzzzqqqq')
  assert.match(await page.locator('main').textContent(), /No card fits/)
})

visit('a checklist: ticks survive a reload and stay apart from other sets', {}, async page => {
  await open(page, '/sets/kanto-classic?view=checklist')
  const boxes = page.getByRole('checkbox'), said = page.getByRole('status')
  const all = await boxes.count()
  const price = async n => Math.round(await page.locator('#checklist li').nth(n).getAttribute('data-price') * 100)
  const cost = async () => Math.round(Number((/cost \$([\d,.]+\d)/.exec(await said.textContent())[1]).replaceAll(',', '')) * 100)
  assert.match(await said.textContent(), new RegExp(`^You have 0 of ${all}\\. The ${all} missing cost \\$`))
  const whole = await cost()
  await page.getByText('Skip to the results').focus()
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Space')
  assert.ok(await boxes.nth(0).isChecked(), 'the first box is ticked by the keyboard alone')
  await boxes.nth(3).check()
  assert.equal(await cost(), whole - await price(0) - await price(3))
  await page.reload()
  assert.deepEqual(await boxes.evaluateAll(all => all.flatMap((box, i) => box.checked ? [i] : [])), [0, 3])
  assert.match(await said.textContent(), new RegExp(`^You have 2 of ${all}`))
  await page.getByRole('button', { name: 'Show what is missing' }).click()
  assert.equal(await page.locator('#checklist li:visible').count(), all - 2)
  await check(page, 'a checklist with ticks')

  // Another order has the same ticks, another tab too, another set none.
  await page.getByRole('link', { name: 'By price' }).click()
  await page.waitForURL('**sort=price**')
  assert.equal(await page.locator('#checklist .owned').count(), 2)
  const second = await page.context().newPage()
  await open(second, '/sets/kanto-classic?view=checklist')
  await second.getByRole('checkbox').nth(0).uncheck()
  await page.waitForFunction(() => document.querySelectorAll('#checklist .owned').length === 1)
  await open(page, '/sets/lost-forces?view=checklist')
  assert.equal(await page.locator('#checklist .owned').count(), 0)
  assert.ok((await boxes.count()) > 20)
})

visit('a checklist without script is a list', { javaScriptEnabled: false }, async page => {
  await open(page, '/sets/kanto-classic?view=checklist')
  assert.ok((await page.locator('#checklist a').count()) > 50)
  assert.equal(await page.getByRole('checkbox').count(), 0)
  await page.locator('#checklist a').first().click()
  await page.waitForURL('**/cards/**')
})

visit('the first link of a search leads to its results', {}, async page => {
  await open(page, '/search?q=pikachu')
  await page.keyboard.press('Tab')
  assert.equal(await focused(page), 'Skip to the results')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  assert.ok(await page.evaluate(() => document.activeElement.matches('.pockets a')), 'the next stop is the first card')
})

visit('movers of three periods, each game its own', {}, async page => {
  await open(page, '/movers')
  const periods = page.getByRole('navigation', { name: 'Period' })
  for (const [name, days] of [['1 day', 1], ['30 days', 30], ['7 days', 7]]) {
    await periods.getByRole('link', { name, exact: true }).click()
    await page.waitForURL(url => (url.searchParams.get('days') ?? '7') === String(days))
    assert.equal(await page.locator('h1').textContent(), 'Biggest gains in ' + name)
    assert.deepEqual(await page.locator('main h2').allTextContents(), ['Pokémon', 'One Piece'])
    assert.ok((await page.locator('.cost .up').count()) > 10)
  }
})

visit('the printings of a card side by side, with a line for each that can be switched', {}, async page => {
  await open(page, '/cards/kanto-classic-charizard-4-102')
  await page.getByRole('link', { name: 'All printings side by side' }).click()
  await page.waitForURL('**/printings')
  const lines = await page.locator('.chart path.line').count()
  assert.equal(lines, 3)
  await page.getByRole('link', { name: '180 days' }).click()
  await page.waitForURL('**days=180**')
  await page.locator('.lines input').nth(0).uncheck()
  assert.equal(await page.locator('.chart path.line').count(), lines - 1)
  await page.locator('.lines input').nth(0).check()
  assert.equal(await page.locator('.chart path.line').count(), lines)
  await page.locator('.chart svg').focus()
  await page.keyboard.press('End')
  assert.match(await page.locator('.reading').textContent(), /2026: Kanto Classic 4\/102 \$450\.00, /)
  await check(page, 'printings')
})

visit('sealed products by the word that people use', {}, async page => {
  await open(page, '/search?q=251+etb')
  await page.locator('.sealed a', { hasText: '251 Elite Trainer Box' }).first().click()
  await page.waitForURL('**/sealed/prd_*')
  assert.match(await page.locator('h1').textContent(), /^251 Elite Trainer Box/)
  assert.match(await page.locator('.amount').textContent(), /^\$[\d,]+\.\d\d$/)
  assert.equal(await page.locator('.chart svg').count(), 1)
  await check(page, '/sealed')
})

for (const width of [390, 768, 1440]) {
  visit(`the home page is full at ${width} pixels, and nothing of /docs moves while it loads`, { viewport: { width, height: 900 } }, async page => {
    await open(page, '/')
    const binders = await page.locator('.leafed').evaluateAll(all => all.map(game => {
      const width = game.getBoundingClientRect().width
      const row = [...game.querySelectorAll('.pockets, .moved')].map(part => part.getBoundingClientRect()).filter(box => box.width)
      const first = row.filter(box => box.top < row[0].top + 80)
      return first.reduce((sum, box) => sum + box.width, 0) / width
    }))
    assert.equal(binders.length, 2)
    for (const share of binders) assert.ok(share > .93, `a row covers ${share} of the width`)
    await page.addInitScript(() => {
      window.moved = 0
      new PerformanceObserver(list => { for (const entry of list.getEntries()) window.moved += entry.value }).observe({ type: 'layout-shift', buffered: true })
    })
    await open(page, '/docs')
    await page.waitForTimeout(300)
    assert.ok((await page.evaluate(() => window.moved)) < .01, 'a part of /docs moves')
  })
}

visit('everything without script', { javaScriptEnabled: false }, async page => {
  await page.goto(BASE + '/')
  await page.getByLabel('Search cards').fill('charizrd')
  await page.getByRole('button', { name: 'Search' }).click()
  await page.waitForURL('**/search?q=charizrd')
  await page.locator('.pockets a').first().click()
  await page.waitForURL('**/cards/**')
  await page.getByRole('link', { name: '365 days' }).click()
  await page.waitForURL('**days=365**')
  assert.equal(await page.locator('.chart svg').count(), 1)
  await page.getByRole('link', { name: 'Movers' }).click()
  await page.getByRole('link', { name: 'Down', exact: true }).click()
  await page.waitForURL('**direction=down**')
  assert.ok((await page.locator('.cards .down').count()) > 0)
  await page.getByRole('link', { name: 'Sets', exact: true }).click()
  await page.locator('.sets a').first().click()
  await page.waitForURL('**/sets/**')
  await page.goto(BASE + '/docs')
  await page.getByText('Search cards', { exact: true }).click()
  assert.match(await page.locator('#cards_search pre').first().textContent(), /^curl -H 'X-API-Key: KEY' 'http.*\/v1\/cards'$/)
})

visit('an inline script is not run', {}, async (page, complaints) => {
  await open(page, '/')
  await page.evaluate(() => {
    const script = document.createElement('script')
    script.textContent = 'window.ran = true'
    document.body.append(script)
  })
  assert.equal(await page.evaluate(() => window.ran), undefined)
  assert.match(complaints.splice(0).join(), /Content Security Policy/)
})

visit('the page of a path that is not there', {}, async (page, complaints) => {
  await open(page, '/cards/not-a-card')
  assert.equal(await page.locator('h1').textContent(), 'Page not found')
  for (const complaint of complaints.splice(0)) assert.match(complaint, /404/)
})

visit('the reference: a key put in once, two operations tried, a link that opens one', {}, async page => {
  await open(page, '/docs')
  await check(page, '/docs')
  await page.getByLabel('Your API key').fill(KEY)
  for (const [id, want] of [['cards_get', /"market_price_cents": \d/], ['cards_batch', /"not_found": \[\]/], ['games_list', /"pokemon"/]]) {
    const operation = page.locator('#' + id)
    await operation.locator('summary').first().click()
    await operation.getByRole('button', { name: 'Send' }).click()
    await operation.locator('.answer pre').waitFor()
    assert.match(await operation.locator('.answer p').textContent(), /^200 /)
    assert.match(await operation.locator('.answer pre').textContent(), want)
  }
  const search = page.locator('#cards_search')
  await search.locator('summary').first().click()
  await search.getByLabel('q', { exact: true }).fill("farfetch'd")
  assert.match(await search.locator('pre code').first().textContent(), /\/v1\/cards\?q=farfetch%27d'$/)
  await search.getByRole('button', { name: 'Send' }).click()
  await search.locator('.answer pre').waitFor()
  assert.match(await search.locator('.answer pre').textContent(), /Farfetch'd/)
  await check(page, '/docs with answers')
  await page.goto(BASE + '/docs#market_movers')
  await page.reload()
  assert.ok(await page.locator('#market_movers form').isVisible())
  assert.equal(await page.getByLabel('Your API key').inputValue(), KEY)
})

async function aSealedProduct(page) {
  await open(page, '/search?q=booster+box')
  return page.locator('.sealed a').first().getAttribute('href')
}

// kinds are an address of each kind of page.
async function kinds(page) {
  const card = await aCard(page)
  const set = await page.locator('.trail a:last-child').first().getAttribute('href')
  return Object.entries({
    home: '/', card: card + '?days=90', printings: card + '/printings', set, checklist: set + '?view=checklist', sealed: await aSealedProduct(page), sets: '/sets', search: '/search?q=charizrd', nothing: '/search?q=zzzzqqqq', movers: '/movers', list: set + '?view=list', value: '/value', docs: '/docs',
    errors: '/errors', error: '/errors/rate_limit_exceeded',
  })
}

// Narrower than any phone is the 320 pixels of WCAG 1.4.10.
visit('every page on a narrow screen', { viewport: { width: 320, height: 640 } }, async page => {
  for (const [, path] of await kinds(page)) {
    await open(page, path)
    assert.ok(!(await scrollsSideways(page)), path + ' scrolls sideways')
  }
})

for (const [device, width] of [['phone', 390], ['desk', 1280]]) {
  for (const colorScheme of ['light', 'dark']) {
    visit(`every page on a ${device} in ${colorScheme}, with an accessibility checker`, { colorScheme, viewport: { width, height: 844 } }, async page => {
      for (const [name, path] of await kinds(page)) {
        await open(page, path)
        assert.ok(!(await scrollsSideways(page)), path + ' scrolls sideways')
        if (name === 'home') {
          await suggests(page, 'pika', () => page.getByLabel('Search cards').pressSequentially('pika', { delay: 20 }))
        }
        await check(page, path)
      }
    })
  }
}

async function check(page, path) {
  await page.evaluate(axe)
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }))
  const bad = violations.map(v => `${v.id}: ${v.help}: ${v.nodes.map(n => n.html.slice(0, 120)).join(' | ')}`)
  assert.deepEqual(bad, [], path)
}
