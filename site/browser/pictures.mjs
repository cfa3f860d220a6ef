// Makes pictures for cards of a real catalog, none of them a real picture: a folder for serve
// --images. See run.sh.
import { mkdirSync } from 'node:fs'
import { chromium } from 'playwright-core'

const { BASE, CHROMIUM, KEY, PICTURES } = process.env
mkdirSync(PICTURES, { recursive: true })
const ask = async path => (await (await fetch(BASE + path, { headers: { 'X-API-Key': KEY } })).json()).data
const found = await Promise.all(['/v1/cards?q=charizard&limit=50', '/v1/cards?q=pikachu&limit=50', '/v1/cards?game=one-piece&limit=50', '/v1/cards?set=base-set-shadowless&limit=50', '/v1/cards?q=charizard+4%2F102'].map(ask))
const cards = found.flat().filter(Boolean)

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] })
const page = await browser.newPage({ viewport: { width: 367, height: 512 } })
let made = 0
for (let i = 0; i < cards.length; i += 100) {
  const { data } = await (await fetch(BASE + '/v1/cards/batch', {
    method: 'POST', headers: { 'X-API-Key': KEY, 'Content-Type': 'application/json' }, body: JSON.stringify({ ids: cards.slice(i, i + 100).map(card => card.id) }),
  })).json()
  for (const card of data) {
    const product = card.identifiers.find(id => id.namespace === 'tcgplayer')
    // A fifth has no picture, as in any folder.
    if (!product || product.value % 5 === 0) continue
    await page.evaluate(([name, number, seed]) => {
      document.body.innerHTML = '<canvas width="367" height="512"></canvas>'
      document.body.style.margin = 0
      const c = document.querySelector('canvas').getContext('2d')
      const hue = seed * 47 % 360
      c.fillStyle = '#e8c84a'; c.fillRect(0, 0, 367, 512)
      c.fillStyle = `hsl(${hue} 60% 78%)`; c.fillRect(16, 16, 335, 480)
      for (let i = 0; i < 400; i++) {
        c.fillStyle = `hsl(${(hue + seed * i % 90)} ${40 + i % 40}% ${30 + i * 7 % 50}%)`
        c.beginPath(); c.arc(40 + seed * i * 31 % 287, 70 + seed * i * 17 % 190, 4 + i % 26, 0, 7); c.fill()
      }
      c.fillStyle = '#111'; c.font = 'bold 24px sans-serif'; c.fillText(name.slice(0, 22), 30, 50)
      c.font = '16px sans-serif'
      for (let line = 0; line < 6; line++) c.fillText('generated for a screenshot '.repeat(2).slice(line, line + 38), 34, 320 + line * 24)
      c.fillText(number ?? '', 34, 482)
    }, [card.name, card.number, Number(product.value)])
    await page.screenshot({ path: `${PICTURES}/${product.value}.jpg`, type: 'jpeg', quality: 88 })
    made++
  }
}
await browser.close()
console.log(`${made} pictures`)
