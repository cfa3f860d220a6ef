// Type-ahead of the search box, an ARIA combobox. Without this file the form works as it is.
(() => {
  const box = document.getElementById('q'), list = document.getElementById('options')
  if (!box || !list) return
  let at = -1, timer, request
  const set = (name, value) => box.setAttribute(name, value)
  const mark = next => {
    list.children[at]?.removeAttribute('aria-selected')
    at = next
    list.children[at]?.setAttribute('aria-selected', 'true')
    list.children[at]?.scrollIntoView({ block: 'nearest' })
    set('aria-activedescendant', list.children[at]?.id ?? '')
  }
  const show = open => {
    list.hidden = !open
    set('aria-expanded', open)
    if (!open) mark(-1)
  }
  const go = option => { location.href = option.dataset.href }
  const ask = async () => {
    request?.abort()
    request = new AbortController()
    if (!box.value.trim()) return show(false)
    try {
      const answer = await fetch(list.dataset.from + '?q=' + encodeURIComponent(box.value), { signal: request.signal })
      if (!answer.ok) return show(false)
      at = -1
      list.innerHTML = await answer.text()
      show(list.children.length > 0)
    } catch {}
  }
  set('role', 'combobox')
  set('aria-autocomplete', 'list')
  set('aria-controls', 'options')
  list.setAttribute('role', 'listbox')
  list.setAttribute('aria-label', 'Cards')
  show(false)
  box.addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(ask, 150) })
  box.addEventListener('keydown', event => {
    const n = list.children.length, step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === 'Escape' && !list.hidden) event.preventDefault(), show(false)
    else if (event.key === 'Enter' && at >= 0) event.preventDefault(), go(list.children[at])
    else if (step && n) {
      event.preventDefault()
      if (list.hidden) show(true)
      mark((at + step + n + (at < 0 && step < 0)) % n)
    }
  })
  list.addEventListener('mousedown', event => event.preventDefault())
  list.addEventListener('click', event => { const option = event.target.closest('li'); if (option) go(option) })
  box.addEventListener('blur', () => { clearTimeout(timer); request?.abort(); show(false) })
})()
