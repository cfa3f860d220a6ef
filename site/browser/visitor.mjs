// A visitor who does errands in one of several ways: with a mouse or a finger, with the keyboard alone, without script. Used
// by errands.test.mjs.
import assert from 'node:assert/strict'

// ways are how a visitor may use the pages. modes combine all ways with three widths: with a
// pointer in both schemes, which an accessibility checker judges, the others in each scheme by
// turns.
export const ways = {
  pointer: {}, keys: { keys: true }, 'no script': { noScript: true }, 'keys, no script': { keys: true, noScript: true },
}
const schemes = (way, width) => way === 'pointer' ? ['light', 'dark'] : [Object.keys(ways).indexOf(way) + width / 20 & 1 ? 'dark' : 'light']
export const modes = [360, 820, 1280].flatMap(width => Object.entries(ways).flatMap(([way, uses]) =>
  schemes(way, width).map(colorScheme => ({ name: `${width} ${way} ${colorScheme}`, width, way, colorScheme, ...uses }))))

export class Visitor {
  constructor(page, mode, base) {
    Object.assign(this, { page, mode, base, stops: 0 })
  }

  open(path) {
    return this.page.goto(this.base + path)
  }

  // reach presses Tab until an element has the focus. Each stop on the way must be visible, with a
  // ring.
  async reach(target) {
    await target.waitFor({ state: 'attached' })
    const wanted = await target.elementHandle()
    for (let n = 0, ends = 0; n < 900 && ends < 2; n++) {
      await this.page.keyboard.press('Tab')
      this.stops++
      const stop = await wanted.evaluate(wanted => {
        const at = document.activeElement
        if (!at || at === document.body) return { end: true }
        const style = getComputedStyle(at)
        const box = at.getBoundingClientRect()
        const shown = box.width > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth
        const ring = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0
        return { here: at === wanted, wrong: shown && ring ? '' : at.outerHTML.slice(0, 120) + (shown ? ' has no ring' : ' is out of sight') }
      })
      assert.ok(!stop.wrong, stop.wrong)
      if (stop.end) ends++
      if (stop.here) return
    }
    assert.fail(`Tab does not reach ${target}`)
  }

  // press follows a link, presses a button, opens a summary or ticks a box.
  async press(target) {
    if (this.mode.keys) {
      await this.reach(target)
      const kind = await target.evaluate(element => element.type ?? '')
      await this.page.keyboard.press(['checkbox', 'radio'].includes(kind) ? 'Space' : 'Enter')
    } else if (this.mode.width === 360) {
      await target.tap()
    } else {
      await target.click()
    }
  }

  // follow presses a link and waits for its page.
  async follow(target, url) {
    await this.press(target)
    await this.page.waitForURL(url)
    await this.page.waitForLoadState()
  }

  async write(target, text) {
    if (this.mode.keys) await this.reach(target)
    else await target.focus()
    await this.page.keyboard.press('ControlOrMeta+A')
    if (text.length < 100) await this.page.keyboard.type(text)
    else await this.page.keyboard.insertText(text)
  }

  async choose(target, label) {
    if (!this.mode.keys) return target.selectOption({ label })
    await this.reach(target)
    await this.page.keyboard.type(label)
    assert.equal(await target.evaluate(select => select.selectedOptions[0].label), label)
  }

  // give puts a file into an input, by its dialog.
  async give(target, text, name = 'list.csv') {
    const [dialog] = await Promise.all([this.page.waitForEvent('filechooser'), this.press(target)])
    await dialog.setFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(text) })
  }

  download(target) {
    return Promise.all([this.page.waitForEvent('download'), this.press(target)]).then(([download]) => download.path())
  }

  // search writes words into the box of any page and sends them.
  async search(words) {
    await this.write(this.page.getByLabel('Search cards'), words)
    if (this.mode.keys) await this.page.keyboard.press('Enter')
    else await this.press(this.page.getByRole('button', { name: 'Search', exact: true }))
    await this.page.waitForURL(url => url.searchParams.get('q') === words)
    await this.page.waitForLoadState()
  }

  // suggested chooses a card of the list under the search box.
  async suggested(words, name) {
    await this.write(this.page.getByLabel('Search cards'), words)
    const option = this.page.getByRole('option').filter({ hasText: name }).and(this.page.locator('[href*="/cards/"]')).first()
    await option.waitFor()
    if (!this.mode.keys) return this.follow(option, '**/cards/**')
    for (let n = 0; n < 20 && (await option.getAttribute('aria-selected')) !== 'true'; n++) await this.page.keyboard.press('ArrowDown')
    await this.page.keyboard.press('Enter')
    await this.page.waitForURL('**/cards/**')
    await this.page.waitForLoadState()
  }
}

// scrollsSideways reports whether a page is wider than its window.
export const scrollsSideways = page =>
  page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)
