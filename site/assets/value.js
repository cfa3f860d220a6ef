// Values a list of any length. The list stays in this browser, which posts it in pieces and adds up
// the responses; the server stores nothing. Pieces and choices are in IndexedDB under an id of this
// tab, so that a reload and Back find them; a list is deleted a day later. Without this file the
// form works as it is.
(() => {
  const form = document.querySelector('form.value')
  if (!form) return
  const pieceRows = 500, pieceBytes = 96 << 10, maxRows = 20_000, maxBytes = 4 << 20, perPage = 100, tries = 60
  const { rows: address, version } = form.dataset
  const area = document.createElement('section')
  let list, stop

  const escaped = text => text.replace(/[&<>"]/g, sign => `&#${sign.charCodeAt()};`)
  const grouped = n => n.toLocaleString('en-US')
  const plural = (n, one, many) => n === 1 ? '1 ' + one : `${grouped(n)} ${many}`
  const dollars = cents => '$' + (cents / 100).toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })
  const find = selector => area.querySelector(selector)
  const say = (text, bad) => {
    find('.said').textContent = text
    find('.said').classList.toggle('warn', !!bad)
  }

  // A browser that stores nothing still values the list.
  const database = new Promise((done, failed) => {
    const request = indexedDB.open('value', 1)
    request.onupgradeneeded = () => request.result.createObjectStore('parts')
    request.onsuccess = () => done(request.result)
    request.onerror = () => failed(request.error)
  })
  const stored = async act => {
    try {
      const db = await database
      return await new Promise((done, failed) => {
        const transaction = db.transaction('parts', 'readwrite'), request = act(transaction.objectStore('parts'))
        transaction.oncomplete = () => done(request.result)
        transaction.onerror = transaction.onabort = () => failed(transaction.error)
      })
    } catch {}
  }
  const store = (name, value) => stored(parts => parts.put(value, list.id + name))
  const parts = id => IDBKeyRange.bound(id + '/', id + '0') // "0" is the sign after "/"

  // The end of a piece that begins at a byte: after so many lines, or so many bytes of whole lines.
  const cut = (from, lines) => {
    const text = list.text, limit = Math.min(text.length, from + pieceBytes - list.header)
    let end = from
    for (let n = 0; n < lines && end < limit; n++) {
      const next = text.indexOf(10, end) + 1 || text.length
      if (next > limit) break
      end = next
    }
    return end > from ? end : limit
  }

  // post sends a part of the list, and sends it again when the server has asked to wait.
  const post = async (from, to, fields) => {
    const body = new FormData()
    body.append('lines', new Blob([list.text.subarray(0, list.header), list.text.subarray(from, to)]))
    for (const [name, value] of Object.entries({ version, kind: list.kind, ...fields })) body.append(name, value)
    for (let n = 1; ; n++) {
      let answer, detail = 'The server cannot be reached.'
      try {
        answer = await fetch(address, { method: 'POST', body, headers: { Accept: 'application/json' }, signal: stop.signal })
        if (answer.ok) return await answer.json()
        detail = (await answer.json()).detail
      } catch (error) {
        if (stop.signal.aborted) throw error
      }
      if (n === tries || answer && ![408, 429, 503].includes(answer.status)) throw new Error(detail)
      const wait = Math.max(+answer?.headers.get('Retry-After'), 2)
      say(`${detail} Trying again in ${plural(wait, 'second', 'seconds')}.`)
      await new Promise(done => setTimeout(done, wait * 1000))
      if (stop.signal.aborted) throw new Error('Stopped.')
    }
  }

  // add adds the rows of a piece. Each knows its bytes of the list, so that it can be asked about alone.
  const add = piece => {
    Object.assign(list, piece.of, { at: piece.at })
    for (const row of piece.rows) list.rows.push(row)
  }
  const begin = () => Object.assign(list, { at: 0, header: 0, kind: '', snapshot: '', rows: [], picks: {} })

  const run = async () => {
    stop = new AbortController()
    let lines = pieceRows
    area.classList.add('running')
    try {
      while (list.at < list.text.length) {
        say(`${plural(list.rows.length, 'line', 'lines')} read, ${Math.floor(100 * list.at / list.text.length)} %`)
        find('progress').value = list.at / list.text.length
        const from = list.at, before = list.rows.length, to = cut(from, lines), last = to === list.text.length
        const answer = await post(from, to, { before, last: last ? '1' : '' })
        if (list.snapshot && answer.snapshot !== list.snapshot) {
          // There are new prices, and no total may be of two days.
          await stored(all => all.delete(IDBKeyRange.bound(list.id + '/rows/', list.id + '/rows0')))
          begin()
          continue
        }
        if (!answer.read) {
          if (to - from > pieceBytes / 2) throw new Error(`Row ${grouped(before + 1)} is longer than ${pieceBytes >> 10} KiB. Is there a quote that does not end?`)
          lines *= 4
          continue
        }
        lines = pieceRows
        const start = from - list.header
        let end = start + Math.max(answer.header, list.header)
        const rows = answer.rows.map(row => ({ ...row, start: end, end: end = start + row.end }))
        const { kind, snapshot, as_of, warning } = answer
        const of = from ? {} : { kind, snapshot, as_of, warning, header: kind === 'export' ? answer.header : 0 }
        const piece = { of, rows, at: start + answer.read }
        add(piece)
        if (list.rows.length > maxRows) throw new Error(`This list has more than ${grouped(maxRows)} rows: send it in parts.`)
        await store('/rows/' + String(before).padStart(6, '0'), piece)
        show()
      }
      say(list.rows.length ? '' : 'There is no card in this list.')
    } catch (error) {
      say(`${error.message} ${list.rows.length ? 'The total is of the lines so far.' : ''}`, true)
      area.classList.add('stopped')
    }
    area.classList.remove('running')
    show()
  }

  const current = n => list.picks[n] ?? list.rows[n - 1]
  const isOpen = row => row.cells[1] !== 'priced'

  // Open lines come first. A line that was picked stays in its place.
  const order = () => {
    const numbers = list.rows.map((_, i) => i + 1)
    return [...numbers.filter(n => isOpen(list.rows[n - 1])), ...numbers.filter(n => !isOpen(list.rows[n - 1]))]
  }

  const total = () => {
    let sum = 0, assumed = 0, copies = 0, open = 0, from = 0, to = 0
    for (let n = 1; n <= list.rows.length; n++) {
      const row = current(n)
      if (isOpen(row)) {
        open++
        from += Math.max(row.from, 0) * row.copies
        to += Math.max(row.to, 0) * row.copies
      } else {
        sum += row.cents
        copies += row.copies
        if (row.cells[10]) assumed += row.cents
      }
    }
    const unread = list.at < list.text.length, priced = list.rows.length - open
    const range = to > from ? ` With ${open === 1 ? 'it' : 'them'} the list comes to ${dollars(sum + from)} to ${dollars(sum + to)}.` : ''
    return `<p class="amount">${open || unread ? '<small>So far</small> ' : ''}${dollars(sum)}</p>
      <p>${plural(priced, 'line', 'lines')} of ${grouped(list.rows.length)} priced, ${plural(copies, 'copy', 'copies')}</p>
      ${assumed ? `<p class="when">${dollars(assumed)} of it rests on assumptions; each line below names its own.</p>` : ''}
      ${open ? `<p class="when"><b>${plural(open, 'line is', 'lines are')} open</b> and not in the total yet: see below.${range}</p>` : ''}
      <p class="when">Prices as of ${escaped(list.as_of)}.</p>`
  }

  const line = n => `<li id="line-${n}"><span class="n">${grouped(n)}</span> ${current(n).html}
    ${list.picks[n] ? `<button type="button" class="plain" data-undo="${n}">Undo this choice</button>` : ''}`
  const pages = () => Math.max(Math.ceil(list.rows.length / perPage), 1)
  const page = () => Math.min(Math.max(+/^#lines-(\d+)$/.exec(location.hash)?.[1] || 1, 1), pages())

  const show = () => {
    if (!list.rows.length) return
    const at = page(), link = (n, text) => `<a href="#lines-${n}">${text}</a>`
    find('.total').innerHTML = total()
    find('.reading').textContent = list.warning
    find('.reading').hidden = !list.warning
    find('.valued').innerHTML = order().slice((at - 1) * perPage, at * perPage).map(line).join('')
    for (const pager of area.querySelectorAll('.pager')) {
      pager.innerHTML = `${at > 1 ? link(at - 1, '← Previous') : ''} <span>Lines ${grouped((at - 1) * perPage + 1)} to ${grouped(Math.min(at * perPage, list.rows.length))} of ${grouped(list.rows.length)}</span> ${at < pages() ? link(at + 1, 'Next →') : ''}`
      pager.hidden = pages() === 1
    }
    area.classList.add('answered')
  }

  const replace = n => {
    store('/picks', list.picks)
    find('.total').innerHTML = total()
    find('#line-' + n).outerHTML = line(n)
    find(`#line-${n} button`)?.focus({ preventScroll: true })
  }
  const pick = async button => {
    const n = parseInt(button.value), row = list.rows[n - 1]
    button.disabled = true
    stop ??= new AbortController()
    try {
      const answer = await post(row.start, row.end, { before: n - 1, last: '1', pick: button.value })
      if (answer.snapshot !== list.snapshot) throw new Error('There are new prices: value the list again.')
      list.picks[n] = answer.rows[0]
      replace(n)
      if (!area.classList.contains('running')) say('')
    } catch (error) {
      say(error.message, true)
      button.disabled = false
    }
  }

  const table = () => {
    const cell = text => /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
    const columns = 'line,status,quantity,card,set,number,variant,condition,unit_price_usd,total_usd,assumed,card_id,text'
    return [columns, ...list.rows.map((_, i) => current(i + 1).cells.map(cell).join(','))].join('\n') + '\n'
  }
  const save = () => {
    const link = document.createElement('a')
    link.href = URL.createObjectURL(new Blob([table()], { type: 'text/csv' }))
    link.download = 'valued.csv'
    link.click()
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
  }

  // The printed sheet has every line, in the order of the list.
  const sheet = () => '<thead><tr><th>Line<th>Copies<th>Card<th>Variant<th>Each<th>Total<tbody>' + list.rows.map((_, i) => {
    const [number, , copies, name, set, no, variant, condition, each, sum, , , text] = current(i + 1).cells.map(escaped)
    const card = name ? [name, set, no].filter(Boolean).join(' · ') : text
    return `<tr><td>${number}<td>${copies}<td>${card}<td>${[variant, condition].filter(Boolean).join(', ')}<td>${each}<td>${sum || 'open'}`
  }).join('')

  const forget = () => {
    stop?.abort()
    stored(all => all.delete(parts(list.id)))
    sessionStorage.removeItem('list')
    list = undefined
    area.remove()
    history.replaceState(null, '', location.pathname)
    form.querySelector('textarea').focus()
  }

  const open = () => {
    document.querySelectorAll('h1 ~ :not(form.value)').forEach(part => part.remove())
    area.className = 'collection'
    area.innerHTML = `<section class="price total" aria-label="Total"></section>
      <p class="note warn reading" hidden></p>
      <div class="progress"><progress aria-label="How much of the list is read"></progress> <button type="button" class="plain" data-do="stop">Stop</button></div>
      <p class="note said" role="status"></p>
      <p class="on again"><button type="button" data-do="run">Go on</button></p>
      <p class="on tools"><button type="button" data-do="save">Download as CSV</button> <button type="button" class="plain" data-do="print">Print</button> <button type="button" class="plain" data-do="forget">Forget this list</button></p>
      <nav class="pager" aria-label="Pages of lines" hidden></nav><ol class="valued"></ol><nav class="pager" aria-label="Pages of lines, again" hidden></nav>
      <table class="sheet"></table>`
    form.before(area)
  }

  area.addEventListener('click', event => {
    const button = event.target.closest('button')
    if (!button) return
    const { undo } = button.dataset
    if (button.name === 'pick') pick(button)
    else if (undo) delete list.picks[undo], replace(undo)
    else ({ stop: () => stop.abort(), run: () => { area.classList.remove('stopped'); run() }, save, print, forget })[button.dataset.do]?.()
  })
  addEventListener('hashchange', () => {
    if (!list || location.hash && !location.hash.startsWith('#lines-')) return
    show()
    find('.pager').scrollIntoView()
  })
  addEventListener('beforeprint', () => list && (find('.sheet').innerHTML = sheet()))
  addEventListener('afterprint', () => list && find('.sheet').replaceChildren())
  addEventListener('pagehide', () => list && sessionStorage.setItem('scrolled', scrollY))

  form.querySelector('[name=as]').hidden = true
  form.addEventListener('submit', async event => {
    if (event.submitter?.name === 'as') return
    event.preventDefault()
    const [file] = form.elements.file.files
    const text = (file ? await file.text() : form.elements.lines.value).replace(/\r\n?/g, '\n').replace(/\0|^(\s*\n)+/g, '')
    const bytes = new TextEncoder().encode(text)

    // The server responds to an empty list, and reports the size of a list that is too long.
    const rows = text.includes('"') ? 0 : text.trimEnd().split('\n', maxRows + 2).length // a quoted cell may have several lines
    if (!text.trim() || bytes.length > maxBytes || rows > maxRows + 1) return form.submit()
    stop?.abort()
    if (list) stored(all => all.delete(parts(list.id)))
    list = { id: `${Date.now()}-${Math.random()}`, text: bytes }
    begin()
    sessionStorage.setItem('list', list.id)
    history.replaceState(null, '', location.pathname)
    open()
    scrollTo({ top: 0, behavior: 'instant' })
    store('/list', { version, text: bytes, typed: !file })
    run()
  })

  const restore = async () => {
    stored(all => all.delete(IDBKeyRange.upperBound(String(Date.now() - 864e5))))
    const id = sessionStorage.getItem('list')
    if (!id || document.querySelector('.total, [role=alert]')) return
    const saved = await stored(all => all.get(id + '/list'))
    if (!saved || list) return
    list = { id, text: saved.text }
    if (saved.typed) form.elements.lines.value = new TextDecoder().decode(saved.text)
    begin()
    if (saved.version === version) {
      for (const piece of await stored(all => all.getAll(IDBKeyRange.bound(id + '/rows/', id + '/rows0'))) ?? []) add(piece)
      list.picks = await stored(all => all.get(id + '/picks')) ?? {}
    }
    open()
    show()
    const [{ type }] = performance.getEntriesByType('navigation')
    if (type !== 'navigate') scrollTo({ top: +sessionStorage.getItem('scrolled'), behavior: 'instant' })
    if (list.at < list.text.length) run()
  }
  restore()
})()
