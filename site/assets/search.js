// Type-ahead of the search box, an ARIA combobox whose options are links. Without this file the
// plain form works.
(() => {
  const box = document.getElementById('q'), list = document.getElementById('options')
  if (!box || !list) return
  let at = -1, timer, request
  const set = (name, value) => box.setAttribute(name, value)
  const options = () => list.querySelectorAll('[role=option]')
  const mark = next => {
    const all = options()
    all[at]?.removeAttribute('aria-selected')
    at = next
    all[at]?.setAttribute('aria-selected', 'true')
    all[at]?.scrollIntoView({ block: 'nearest' })
    set('aria-activedescendant', all[at]?.id ?? '')
  }
  const show = open => {
    list.hidden = !open
    set('aria-expanded', open)
    if (!open) mark(-1)
  }
  const ask = async () => {
    request?.abort()
    request = new AbortController()
    if (!box.value.trim()) return show(false)
    try {
      const answer = await fetch(list.dataset.from + '?q=' + encodeURIComponent(box.value), { signal: request.signal })
      if (!answer.ok) return show(false)
      mark(-1)
      list.innerHTML = await answer.text()
      show(options().length > 0)
    } catch {}
  }
  // Back from a suggestion finds the words again.
  list.addEventListener('click', () => history.replaceState({ ...history.state, words: box.value }, ''))
  if (history.state?.words) box.value = history.state.words
  set('role', 'combobox')
  set('aria-autocomplete', 'list')
  set('aria-controls', 'options')
  list.setAttribute('role', 'listbox')
  list.setAttribute('aria-label', 'Sets and cards')
  show(false)
  box.addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(ask, 150) })
  box.addEventListener('keydown', event => {
    const n = options().length, step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === 'Escape' && !list.hidden) event.preventDefault(), show(false)
    else if (event.key === 'Enter' && at >= 0) event.preventDefault(), options()[at].click()
    else if (step && n) {
      event.preventDefault()
      if (list.hidden) show(true)
      mark((at + step + n + (at < 0 && step < 0)) % n)
    }
  })
  // The box keeps the focus while a link is pressed, so that the list stays until it is followed.
  list.addEventListener('mousedown', event => event.preventDefault())
  box.addEventListener('blur', () => { clearTimeout(timer); request?.abort(); show(false) })
  document.addEventListener('keydown', event => {
    const typing = event.target.closest?.('input, textarea, select, [contenteditable]')
    if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    box.focus()
    box.select()
  })
})()
