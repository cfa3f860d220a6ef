// Pictures of each kind of page at three widths, light and dark, for people to look at. See shots.sh.
import { mkdirSync } from 'node:fs'
import { chromium } from 'playwright-core'

const { BASE, CHROMIUM, SHOTS, NAME, ONLY } = process.env
const widths = { phone: 390, tablet: 768, desk: 1440 }
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
  await page.close()
  return {
    home: '/', typing: '/', card: card + '?days=90', other: one, printings: card + '/printings', set, list: set + '?view=list', checklist: set + '?view=checklist', sets: '/sets', search: '/search?q=pikachu',
    named: '/search?q=base+set', nothing: '/search?q=pikachu+zzzzqqq', movers: '/movers', sealed: '/search?q=booster+box', value: '/value', docs: '/docs', error: '/errors/rate_limit_exceeded',
  }
}

const wanted = (ONLY ?? '').split(',').filter(Boolean)
for (const [kind, path] of Object.entries(await kinds())) {
  if (wanted.length && !wanted.includes(kind)) continue
  for (const [device, width] of Object.entries(widths)) {
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
      if (kind === 'sealed') {
        if (!(await page.locator('.sealed a').count())) continue
        await page.locator('.sealed a').first().click()
        await page.waitForURL('**/sealed/**')
      }
      if (kind === 'checklist') {
        for (const n of [0, 1, 4]) await page.getByRole('checkbox').nth(n).check()
      }
      if (kind === 'typing') {
        await page.getByRole('combobox').pressSequentially('char')
        await page.getByRole('option').first().waitFor()
      }
      await page.screenshot({ path: `${SHOTS}/${NAME}-${kind}-${width}-${colorScheme}.png`, fullPage: kind !== 'typing' && width !== 390 || kind === 'value' })
      if (width === 390) await page.screenshot({ path: `${SHOTS}/${NAME}-${kind}-${width}-${colorScheme}-whole.png`, fullPage: true })
      await context.close()
    }
  }
}
await browser.close()
