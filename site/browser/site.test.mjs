// What a visitor does, in a real browser. Every test also wants no error in the console, no request to another host and
// no page that scrolls sideways. See run.sh.
import assert from 'node:assert/strict'
import { readFileSync, mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'
import { chromium } from 'playwright-core'

const { BASE, CHROMIUM, SHOTS } = process.env
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
let browser

before(async () => {
  browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  })
})
after(() => browser?.close())

// visit runs a test in a browser profile of its own and judges what the browser said meanwhile.
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

// aCard is the address of a card with several variants, found as a visitor finds it.
async function aCard(page) {
  await open(page, '/search?q=charizard')
  const links = await page.locator('.cards a').evaluateAll(all => all.map(a => a.getAttribute('href')))
  for (const link of links) {
    await open(page, link)
    if (await page.getByRole('navigation', { name: 'Variant' }).count()) return link
  }
  return links[0]
}

visit('search with a typo, choose with the mouse, switch range and variant, open the set', {}, async page => {
  await open(page, '/')
  await page.getByLabel('Search cards').pressSequentially('charizrd', { delay: 20 })
  const options = page.getByRole('option')
  await options.first().waitFor()
  assert.match(await options.first().textContent(), /Charizard/)
  await options.first().click()
  await page.waitForURL('**/cards/**')
  assert.match(await page.locator('h1').textContent(), /Charizard/)
  assert.match(await page.locator('.amount').textContent(), /^\$[\d,]+\.\d\d$|No current price/)

  await open(page, await aCard(page))
  const ranges = page.getByRole('navigation', { name: 'Range' })
  for (const days of [7, 30, 90, 365]) {
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

  const set = await page.locator('dl a').first().textContent()
  await page.locator('dl a').first().click()
  await page.waitForURL('**/sets/**')
  assert.equal(await page.locator('h1').textContent(), set)
  await page.getByRole('link', { name: 'By price' }).click()
  await page.waitForURL('**sort=price**')
  const prices = (await page.locator('.cost b').allTextContents()).map(text => Number(text.replace(/[$,]/g, '')))
  assert.deepEqual(prices, prices.toSorted((a, b) => b - a))
})

visit('search by keyboard alone', {}, async page => {
  await open(page, '/')
  await page.keyboard.press('Tab')
  assert.equal(await focused(page), 'Skip to the content')
  for (const want of ['ninepocket', 'Movers', 'Sets', 'API', 'q']) {
    await page.keyboard.press('Tab')
    assert.equal(await focused(page), want)
  }
  const box = page.getByRole('combobox')
  await page.keyboard.type('pikachu', { delay: 20 })
  await page.getByRole('option').first().waitFor()
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

visit('everything without script', { javaScriptEnabled: false }, async page => {
  await page.goto(BASE + '/')
  await page.getByLabel('Search cards').fill('charizrd')
  await page.getByRole('button', { name: 'Search' }).click()
  await page.waitForURL('**/search?q=charizrd')
  await page.locator('.cards a').first().click()
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
  assert.ok(await page.getByText('The reference is drawn by a script').isVisible())
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

for (const colorScheme of ['light', 'dark']) {
  visit(`the API reference in ${colorScheme}`, { colorScheme }, async page => {
    await page.goto(BASE + '/docs', { waitUntil: 'networkidle' })
    await page.getByRole('heading', { name: 'Ninepocket' }).waitFor()
    assert.equal(await page.getByText('is drawn by a script').count(), 0)
    for (const tag of ['catalog', 'prices']) await page.getByText(tag, { exact: true }).first().waitFor()
    await check(page, '/docs')
    await page.getByText('Search cards').first().click()
    await page.getByText('/v1/cards', { exact: true }).first().waitFor()
    await page.mouse.move(700, 500)
    for (let i = 0; i < 20; i++) await page.mouse.wheel(0, 1500)
    await page.waitForTimeout(500) // for what scrolls into view to be drawn, and asked for
    await check(page, '/docs, further down')
  })
}

// kinds are an address of each kind of page.
async function kinds(page) {
  const card = await aCard(page)
  const set = await page.locator('dl a').first().getAttribute('href')
  return Object.entries({
    home: '/', card: card + '?days=90', set, sets: '/sets', search: '/search?q=charizrd', nothing: '/search?q=zzzzqqqq', movers: '/movers',
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
          await page.getByLabel('Search cards').pressSequentially('pika', { delay: 20 })
          await page.getByRole('option').first().waitFor()
        }
        await check(page, path)
        if (SHOTS) {
          mkdirSync(SHOTS, { recursive: true })
          await page.screenshot({ path: `${SHOTS}/${name}-${device}-${colorScheme}.png`, fullPage: true })
        }
      }
    })
  }
}

async function check(page, path) {
  await page.evaluate(axe)
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }))
  const bad = violations
    .filter(v => ['serious', 'critical'].includes(v.impact))
    .map(v => `${v.id}: ${v.help}: ${v.nodes.map(n => n.html.slice(0, 120)).join(' | ')}`)
  assert.deepEqual(bad, [], path)
  const minor = violations.filter(v => !['serious', 'critical'].includes(v.impact)).map(v => v.id)
  if (minor.length) console.log(`${path}: lesser findings: ${minor.join(', ')}`)
}
