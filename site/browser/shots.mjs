// Pictures of each kind of page at three widths, light and dark, for people to look at. See shots.sh.
import { mkdirSync } from 'node:fs'
import { chromium } from 'playwright-core'

const { BASE, CHROMIUM, SHOTS, NAME, ONLY, WIDTHS } = process.env
const widths = (WIDTHS ?? '390,768,1440').split(',').map(Number)
const phone = width => width < 400
mkdirSync(SHOTS, { recursive: true })
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] })

// The addresses are found as a visitor finds them, so that the same script serves any catalog.
async function kinds() {
  const page = await browser.newPage()
  const first = async (path, selector) => {
    await page.goto(BASE + path)
    return page.locator(selector).first().getAttribute('href')
  }
  const card = await first('/search?q=charizard+4%2F102', '.pockets a')
  const set = await first(card, '.trail a:last-child')
  const one = await first('/search?game=one-piece', '.pockets a')
  const kinds = {
    home: '/', typing: '/', card: card + '?days=90', other: one, printings: card + '/printings', set, list: set + '?view=list', checklist: set + '?view=checklist', sets: '/sets', search: '/search?q=pikachu',
    named: '/search?q=base+set', nothing: '/search?q=pikachu+zzzzqqq', movers: '/movers', falling: '/movers?direction=down&days=30', sealed: '/search?q=booster+box', form: '/value', value: '/value', collection: '/value', refused: '/value', docs: '/docs', operation: '/docs#cards_get',
    found: '/search?q=pikachu&view=list', filters: '/search?q=charizard&min=5', reading: '/search?q=cheapest+booster+box+of+151', beyond: '/search?q=pikachu&page=99', embed: card.replace('cards', 'embed'), missing: '/cards/not-a-card', error: '/errors/rate_limit_exceeded',
    errors: '/errors', variants: await variants(first), readme: card + '?days=90',
  }
  await page.close()
  return kinds
}

// variants is a card with a chart of many lines.
async function variants(first) {
  return await first('/search?q=pikachu+58%2F102', '.pockets a') + '?days=180'
}

const wanted = (ONLY ?? '').split(',').filter(Boolean)
for (const [kind, path] of Object.entries(await kinds())) {
  if (wanted.length && !wanted.includes(kind)) continue
  for (const width of widths) {
    for (const colorScheme of ['light', 'dark']) {
      if (wanted.length && process.env.SCHEME && colorScheme !== process.env.SCHEME) continue
      const context = await browser.newContext({ viewport: { width, height: 844 }, colorScheme, deviceScaleFactor: 1 })
      const page = await context.newPage()
      await page.goto(BASE + path, { waitUntil: 'load' })
      if (kind === 'value') {
        await page.getByLabel('One card a line').fill('2x Charizard Base Set 4/102 NM\nUmbreon VMAX\nPikachu 58/102\n1 Monkey.D.Luffy OP05-119\nnothing of this name')
        await page.getByRole('button', { name: 'Value it' }).click()
        await page.waitForLoadState()
      }
      if (kind === 'collection' || kind === 'refused') {
        const rows = kind === 'refused' ? 21_000 : 700
        const lines = Array.from({ length: rows }, (_, i) => ['2x Charizard Base Set 4/102', 'Pikachu 58/102', 'Umbreon VMAX', 'nothing of this name'][i % 4])
        await page.getByLabel('Or a CSV file').setInputFiles({ name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from(lines.join('\n')) })
        await page.getByRole('button', { name: 'Value it' }).click()
        await page.locator('.answered:not(.running), [role=alert]').waitFor()
      }
      if (kind === 'sealed') {
        if (!(await page.locator('.sealed a').count())) continue
        await page.locator('.sealed a').first().click()
        await page.waitForURL('**/sealed/**')
      }
      if (kind === 'checklist') {
        for (const n of [0, 1, 4]) await page.getByRole('checkbox').nth(n).check()
      }
      if (kind === 'readme') { // docs/card.png: ONLY=readme SCHEME=light WIDTHS=1040
        await page.screenshot({ path: `${SHOTS}/${NAME}-readme.png`, clip: { x: 0, y: 0, width, height: 640 } })
        continue
      }
      if (kind === 'typing') {
        await page.getByRole('combobox').pressSequentially('char')
        await page.getByRole('option').first().waitFor()
      }
      await page.screenshot({ path: `${SHOTS}/${NAME}-${kind}-${width}-${colorScheme}.png`, fullPage: kind !== 'typing' && !phone(width) || kind === 'value' })
      if (phone(width)) await page.screenshot({ path: `${SHOTS}/${NAME}-${kind}-${width}-${colorScheme}-whole.png`, fullPage: true })
      await context.close()
    }
  }
}
await browser.close()
