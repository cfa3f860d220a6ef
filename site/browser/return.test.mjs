// Back, reload and a shared link on every kind of page: after each, the page has its former
// content. The browser's own store of whole pages is switched off here, as it is for many visitors.
// A run does a sample; TEST_DEPTH=whole does all.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { chromium } from 'playwright-core'

const { BASE, CHROMIUM, NAME = 'demo', ONLY, TEST_DEPTH } = process.env
const [set, product] = NAME === 'real' ? ['base-set', 'evolving skies booster box'] : ['kanto-classic', '251 etb']
const card = NAME === 'real' ? 'base-set-charizard-004-102' : 'kanto-classic-charizard-4-102'
let browser
before(async () => {
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update'] })
})
after(() => browser?.close())

// says is the visible content of a page and of its controls.
const says = page => page.evaluate(() => [
  location.pathname + location.search,
  document.querySelector('main').innerText.replace(/\s+/g, ' '),
  ...[...document.querySelectorAll('input:not([type=file]):not([type=hidden]), select, textarea')].map(control => control.type === 'checkbox' ? control.checked : control.value),
])

// A kind has an address, a visitor's actions there, and the parts that another visitor does not get
// from the address.
const kinds = {
  home: { path: '/' },
  card: { path: `/cards/${card}?days=180` },
  'card by its links': { path: '/cards/' + card, act: page => page.getByRole('link', { name: '365 days' }).click() },
  printings: { path: `/cards/${card}/printings?days=90` },
  set: { path: `/sets/${set}?sort=price&page=2`, link: '.pockets a' },
  list: { path: `/sets/${set}?view=list`, link: '.cards a' },
  checklist: {
    path: `/sets/${set}?view=checklist`, link: '#checklist li:nth-child(9) a', own: true,
    act: async page => {
      for (const n of [0, 4]) await page.getByRole('checkbox').nth(n).check()
      await page.getByRole('button', { name: 'Show what is missing' }).click()
    },
  },
  sets: { path: '/sets?game=pokemon&q=base', link: '.sets a' },
  'sets, a year': { path: '/sets', link: '.sets a', act: page => page.getByRole('navigation', { name: 'Year' }).getByRole('link').nth(3).click() },
  movers: { path: '/movers?days=30&direction=down&game=pokemon', link: '.cards a' },
  search: { path: '/search?q=charizard', link: '.pockets a' },
  'search with filters': {
    path: '/search?q=pikachu', link: '.cards a',
    act: async page => {
      await page.getByText('Filters', { exact: true }).click()
      await page.getByLabel('From $').fill('1')
      await page.getByRole('button', { name: 'Apply' }).click()
      await page.waitForURL('**min=1**')
      await page.getByRole('link', { name: 'List', exact: true }).click()
      await page.waitForURL('**view=list**')
    },
  },
  'search by words of order and price': { path: '/search?q=cheapest+charizard+over+%245', link: '.pockets a' },
  'search that finds nothing': { path: '/search?q=chxrxzxrd', link: 'main a' },
  sealed: {
    path: '/search?q=' + encodeURIComponent(product), link: '.trail a',
    act: async page => {
      await page.locator('.sealed a').first().click()
      await page.waitForURL('**/sealed/**')
      await page.getByRole('link', { name: '30 days', exact: true }).click()
      await page.waitForURL('**days=30**')
    },
  },
  value: { path: '/value', link: 'header a[href$="/movers"]' },
  'value with a list': {
    path: '/value', link: '.valued .what a', own: true, empty: true,
    act: async page => {
      await page.getByLabel('One card a line').fill('2x ' + (NAME === 'real' ? 'Charizard Base Set 004/102' : 'Charizard Kanto Classic 4/102') + '\nUmbreon VMAX\nqqqq zzzz')
      await page.getByRole('button', { name: 'Value it' }).click()
      await page.locator('.answered:not(.running)').waitFor()
      await page.locator('button[name=pick]').first().click()
      await page.getByText('2 lines of 3 priced').waitFor()
    },
  },
  'value with a list, without script': {
    path: '/value', link: '.valued .what a', own: true, empty: true, noScript: true,
    act: async page => {
      await page.getByLabel('One card a line').fill('2x ' + (NAME === 'real' ? 'Charizard Base Set 004/102' : 'Charizard Kanto Classic 4/102') + '\nUmbreon VMAX')
      await page.getByRole('button', { name: 'Value it' }).click()
      await page.locator('.total').waitFor()
    },
  },
  docs: { path: '/docs#cards_get', link: 'header a[href$="/movers"]' },
  errors: { path: '/errors', link: 'main a' },
  error: { path: '/errors/rate_limit_exceeded', link: 'main a' },
  embed: { path: '/embed/' + card, link: '', root: 'body' },
}

for (const [i, [name, { path, act, link = 'main a[href*="/cards/"]', own, empty, noScript, root }]] of Object.entries(kinds).entries()) {
  // A sample has those with something of a visitor's own, and some of the others.
  if (ONLY ? !name.includes(ONLY) : TEST_DEPTH !== 'whole' && !own && i % 5 !== 2) continue
  test(`Back, reload and a shared link: ${name}`, async () => {
    const options = { viewport: { width: 390, height: 844 }, javaScriptEnabled: !noScript, reducedMotion: 'reduce' }
    const context = await browser.newContext(options)
    const page = await context.newPage()
    page.setDefaultTimeout(10_000)
    const told = async page => {
      await page.waitForLoadState()
      if (root) return [await page.locator(root).innerText()]
      if (own && empty && !noScript && page === first) await page.locator('.answered:not(.running)').waitFor()
      return says(page)
    }
    const first = page

    // Away by a link within the page, and back to the same place.
    const awayAndBack = async (wanted, address) => {
      const target = page.locator(link + ' >> visible=true').last()
      await target.scrollIntoViewIfNeeded()
      const place = await page.evaluate(() => scrollY)
      await Promise.all([page.waitForEvent('framenavigated'), target.click()])
      await page.waitForLoadState()
      assert.notEqual(page.url(), address)
      await page.goBack()
      assert.equal(page.url(), address)
      assert.deepEqual(await told(page), wanted, 'Back')
      await page.waitForFunction(place => Math.abs(scrollY - place) < 60, place).catch(() => assert.fail(`Back scrolls away from ${place}`))
      await page.goForward()
      await page.goBack()
      assert.deepEqual(await told(page), wanted, 'Forward and Back')
    }
    try {
      await page.goto(BASE + path)
      await act?.(page)
      await page.waitForLoadState()
      const wanted = await told(page), address = page.url()
      assert.ok(wanted.join(' ').length > 60)

      await page.reload()
      assert.deepEqual(await told(page), wanted, 'a reload')

      if (link) await awayAndBack(wanted, address)

      // Another visitor has the address alone, without the first visitor's own entries.
      const other = await browser.newContext(options)
      try {
        const shared = await other.newPage()
        await shared.goto(address)
        const seen = await told(shared)
        if (!own) assert.deepEqual(seen, wanted, 'a shared link')
        else assert.notDeepEqual(seen, wanted)
        if (empty) assert.equal(await shared.locator('.total').count(), 0, 'a list is not in the address')
      } finally {
        await other.close()
      }
    } finally {
      await context.close()
    }
  })
}
