// Lets a visitor tick the cards of a set. The ticks stay in his browser. Without this file the list is there.
(() => {
  const list = document.getElementById('checklist')
  if (!list) return
  const place = 'ninepocket-set-' + list.dataset.set, rows = [...list.children]
  const dollars = cents => '$' + (cents / 100).toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })
  const count = n => n.toLocaleString('en-US')
  let owned = new Set(), lasting = true
  const read = () => {
    try { owned = new Set(JSON.parse(localStorage.getItem(place) ?? '[]')) } catch { lasting = false }
  }
  const write = () => {
    try { localStorage.setItem(place, JSON.stringify([...owned])) } catch { lasting = false }
  }

  const bar = document.createElement('div'), said = document.createElement('p'), toggle = document.createElement('button')
  bar.className = 'ticked'
  said.setAttribute('role', 'status')
  toggle.type = 'button'
  toggle.textContent = 'Show what is missing'
  const only = alone => {
    list.classList.toggle('missing', alone)
    toggle.setAttribute('aria-pressed', alone)
  }
  // It is in the address, so that a reload and Back find it.
  toggle.addEventListener('click', () => {
    only(location.hash !== '#missing')
    history.replaceState(null, '', location.pathname + location.search + (location.hash === '#missing' ? '' : '#missing'))
  })
  bar.append(said, toggle)
  list.before(bar)

  const boxes = rows.map(row => {
    const label = document.createElement('label'), box = document.createElement('input')
    box.type = 'checkbox'
    box.setAttribute('aria-label', 'I have ' + row.querySelector('a').textContent + ' ' + row.querySelector('span').textContent)
    box.addEventListener('change', () => {
      read() // another tab may have changed it
      owned[box.checked ? 'add' : 'delete'](row.dataset.card)
      write()
      show()
    })
    label.append(box)
    row.prepend(label)
    return box
  })

  const show = () => {
    let have = 0, cents = 0, unpriced = 0
    rows.forEach((row, i) => {
      const has = owned.has(row.dataset.card)
      boxes[i].checked = has
      row.classList.toggle('owned', has)
      if (has) have++
      else if (row.dataset.price) cents += Math.round(row.dataset.price * 100)
      else unpriced++
    })
    const missing = rows.length - have
    said.textContent = `You have ${count(have)} of ${count(rows.length)}. ` +
      (missing ? `The ${count(missing)} missing cost ${dollars(cents)}` + (unpriced ? `, not counting ${count(unpriced)} without a price. ` : '. ') : '') +
      (lasting ? 'Ticks stay in this browser alone.' : 'This browser does not store ticks: they are gone with this page.')
  }
  read()
  show()
  only(location.hash === '#missing')
  addEventListener('storage', event => { if (event.key === place || event.key === null) read(), show() })
  addEventListener('pageshow', event => { if (event.persisted) read(), show() })
})()
