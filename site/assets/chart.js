// Makes a chart interactive: the price and the day under a pointer, a finger or the arrow keys, and
// the lines of other variants. Without this file the picture and the table are there.
(() => {
  const chart = document.getElementById('chart')
  if (!chart) return
  const svg = chart.querySelector('svg'), axis = chart.querySelector('.axis')
  const days = +chart.dataset.days, from = +chart.dataset.first, height = 200, isLog = !!chart.dataset.log
  const scale = cents => isLog ? Math.log10(Math.max(cents, 1)) : cents
  const make = (name, parent, attributes = {}) => {
    const made = parent instanceof SVGElement ? document.createElementNS('http://www.w3.org/2000/svg', name) : document.createElement(name)
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
    return parent.appendChild(made)
  }
  const dollars = cents => '$' + (cents / 100).toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })
  const date = day => new Date((from + day) * 864e5).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' })

  const lines = [...chart.querySelectorAll('data')].map((data, i) => {
    let day = -1, cents = 0
    const points = data.dataset.points === '' ? [] : data.dataset.points.split(';').map(point => {
      const [gap, change] = point.split(',')
      day += gap === '' || gap === undefined ? 1 : +gap
      cents += change ? +change : 0
      return { day, cents }
    })
    return { name: data.value, points, i, shown: data.className === 'chosen', chosen: data.className === 'chosen' }
  })
  const drawn = line => line.chosen && line.points.length > 0
  const original = { svg: svg.innerHTML, axis: axis.innerHTML }

  // The server's drawing: the axis of site/chart.go. It is measured from the labels, so that both
  // agree.
  const cents = text => Math.round(parseFloat(text.replace(/[$,]/g, '')) * 100)
  let base, top
  const measure = () => { base = scale(cents(axis.lastElementChild.textContent)); top = scale(cents(axis.firstElementChild.textContent)) }
  const y = cents => height - (scale(cents) - base) / (top - base) * height

  const redraw = () => {
    const shown = lines.filter(line => line.shown && line.points.length)
    if (shown.every(drawn) && shown.length === lines.filter(drawn).length) {
      svg.innerHTML = original.svg
      axis.innerHTML = original.axis
      measure()
    } else if (shown.length) {
      const all = shown.flatMap(line => line.points.map(point => point.cents))
      const high = Math.max(...all, 1)
      let step = 1
      for (let power = 1; 4 * step < high; power *= 10) for (const factor of [1, 2, 5]) if (4 * step < high) step = power * factor
      const steps = Math.max(Math.ceil(high / step), 2)
      const least = Math.floor(scale(Math.min(...all))), powers = Math.max(Math.ceil(scale(high)) - least, 1)
      const labels = isLog ? Array.from({ length: powers + 1 }, (_, i) => 10 ** (least + i)) : Array.from({ length: steps + 1 }, (_, i) => i * step)
      axis.replaceChildren()
      for (const label of labels.toReversed()) make('span', axis).textContent = dollars(label)
      measure()
      for (const path of svg.querySelectorAll('path')) path.remove()
      let grid = ''
      for (const i of labels.keys()) grid += `M0 ${height * i / (labels.length - 1)}h${days - 1}`
      make('path', svg, { class: 'grid', d: grid })
      for (const line of shown) {
        let path = '', gaps = '', before
        for (const point of line.points) {
          const at = `${point.day} ${y(point.cents).toFixed(1)}`
          if (before && point.day - before.day <= 7) path += 'L' + at
          else {
            if (before) gaps += `M${before.day} ${y(before.cents).toFixed(1)}L${at}`
            path += 'M' + at + 'h0'
          }
          before = point
        }
        make('path', svg, { class: 'line c' + line.i % 12, d: path })
        make('path', svg, { class: 'gaps c' + line.i % 12, d: gaps })
      }
    }
    hair = undefined
  }
  measure()

  // The line of each variant can be switched on and off.
  if (lines.length > 1) {
    chart.querySelector('ul.lines')?.remove()
    const legend = make('fieldset', chart, { class: 'lines' })
    make('legend', legend).textContent = 'Show'
    for (const line of lines) {
      const label = make('label', legend, { class: 'c' + line.i % 12 })
      const box = make('input', label, { type: 'checkbox' })
      box.checked = line.shown
      box.disabled = !line.points.length
      label.append(' ' + line.name)
      box.addEventListener('change', () => {
        line.shown = box.checked
        redraw()
        hide()
      })
    }
  }

  // The reading: a hair over the drawing, and words below it.
  const reading = make('output', chart, { class: 'reading', 'aria-live': 'polite' })
  const hint = matchMedia('(pointer: coarse)').matches ? 'Touch the line to see the price of a day.' : 'Point at the line, or use the arrow keys.'
  let hair, at = -1
  const hide = () => {
    hair?.remove()
    hair = undefined
    at = -1
    reading.textContent = hint
  }
  const read = day => {
    const near = line => line.points.reduce((best, point) => Math.abs(point.day - day) < Math.abs(best.day - day) ? point : best)
    const shown = lines.filter(line => line.shown && line.points.length)
    if (!shown.length) return hide()
    const lead = near(shown.find(line => line.chosen) ?? shown[0])
    at = lead.day
    hair ??= make('path', svg, { class: 'hair' })
    hair.setAttribute('d', `M${at} 0V${height}`)
    reading.textContent = date(at) + ': ' + shown.map(line => {
      const point = near(line)
      const price = dollars(point.cents) + (point.day === at ? '' : ` (${date(point.day)})`)
      return shown.length > 1 || lines.length > 1 ? line.name + ' ' + price : price
    }).join(', ')
  }
  const point = event => {
    const box = svg.getBoundingClientRect()
    read(Math.round((event.clientX - box.left) / box.width * (days - 1)))
  }
  svg.addEventListener('pointermove', point)
  svg.addEventListener('pointerdown', point)
  svg.addEventListener('pointerleave', event => { if (event.pointerType === 'mouse') hide() })

  svg.setAttribute('tabindex', '0')
  svg.addEventListener('keydown', event => {
    const line = lines.find(line => line.shown && line.chosen) ?? lines.find(line => line.shown)
    if (!line?.points.length) return
    const last = line.points.length - 1
    const now = line.points.findIndex(point => point.day === at)
    const next = { ArrowLeft: now < 0 ? last : now - 1, ArrowRight: now < 0 ? last : now + 1, Home: 0, End: last }[event.key]
    if (event.key === 'Escape') hide()
    if (next === undefined) return
    event.preventDefault()
    read(line.points[Math.min(Math.max(next, 0), last)].day)
  })
  svg.addEventListener('blur', hide)
  hide()
})()
