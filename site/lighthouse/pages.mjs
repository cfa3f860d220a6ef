// Holds every kind of page against Lighthouse as a phone on a slow line sees it: 95 of 100 in all four categories. See
// ../browser/run.sh.
import { launch } from 'chrome-launcher'
import lighthouse from 'lighthouse'

const { BASE, CHROMIUM, ONLY } = process.env
const least = 95
const sealed = /href="[^"]*(\/sealed\/[^"]*)"/.exec(await (await fetch(BASE + '/search?q=booster+box')).text())[1]
const pages = {
  home: '/', card: '/cards/kanto-classic-charizard-4-102', set: '/sets/kanto-classic', list: '/sets/kanto-classic?view=list', checklist: '/sets/kanto-classic?view=checklist',
  printings: '/cards/kanto-classic-charizard-4-102/printings', sets: '/sets', search: '/search?q=pikachu', modifiers: '/search?q=cheapest+charizard+over+%241', nothing: '/search?q=zzzzqqqq', sealed, movers: '/movers', falling: '/movers?days=30&direction=down', value: '/value', docs: '/docs', error: '/errors/rate_limit_exceeded',
}
// A page of search results asks not to be listed, which Lighthouse takes for a fault of searching.
const hidden = ['search', 'modifiers', 'nothing']

const chrome = await launch({ chromePath: CHROMIUM, chromeFlags: ['--headless=new', '--no-sandbox', '--disable-gpu'] })
let bad = 0
for (const [kind, path] of Object.entries(pages)) {
  if (ONLY && !ONLY.split(',').includes(kind)) continue
  const { lhr } = await lighthouse(BASE + path, { port: chrome.port, logLevel: 'error', output: 'json' })
  const scores = Object.values(lhr.categories).map(category => [category.id, Math.round(category.score * 100)])
  const low = scores.filter(([id, score]) => score < least && !(id === 'seo' && hidden.includes(kind)))
  console.log(kind.padEnd(9), scores.map(([id, score]) => `${id} ${score}`).join('  '))
  for (const [id] of low) {
    bad++
    for (const { id: audit } of lhr.categories[id].auditRefs) {
      const { score, title, displayValue } = lhr.audits[audit]
      if (score !== null && score < 0.9) console.log(`         ${audit}: ${title} ${displayValue ?? ''}`)
    }
  }
}
await chrome.kill()
process.exit(bad ? 1 : 0)
