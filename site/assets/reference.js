// Lets the forms of the reference be sent, with a key that is put in once. Without this file every operation has a
// command to copy.
(() => {
  const keyForm = document.getElementById('key-form'), key = document.getElementById('key')
  if (!keyForm) return
  const kept = 'ninepocket-key'
  keyForm.addEventListener('submit', event => event.preventDefault())
  try { key.value = sessionStorage.getItem(kept) ?? '' } catch {}
  key.addEventListener('input', () => { try { sessionStorage.setItem(kept, key.value.trim()) } catch {} })

  // An operation that the address names is open.
  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1))
    if (target instanceof HTMLDetailsElement) target.open = true
  }
  addEventListener('hashchange', reveal)
  reveal()

  const quoted = text => "'" + text.replaceAll("'", "'\\''") + "'"
  for (const form of document.querySelectorAll('form.try')) {
    const command = form.querySelector('pre code'), answer = form.querySelector('.answer'), button = form.querySelector('button')
    const request = () => {
      let path = form.dataset.path, body
      const query = new URLSearchParams()
      for (const field of form.querySelectorAll('[data-in]')) {
        const value = field.value.trim()
        if (field.dataset.in === 'path') path = path.replace('{' + field.name + '}', encodeURIComponent(value))
        else if (field.dataset.in === 'body') body = value
        else if (value) query.append(field.name, value)
      }
      const text = query.toString()
      return { url: location.origin + path + (text && '?' + text), method: form.dataset.method, body }
    }
    const tell = () => {
      const { url, body } = request()
      let text = 'curl'
      if (!form.dataset.open) text += " -H 'X-API-Key: KEY'"
      if (body !== undefined) text += " -H 'Content-Type: application/json' -d " + quoted(body)
      command.textContent = text + ' ' + quoted(url)
    }
    form.addEventListener('input', tell)
    button.hidden = false
    form.addEventListener('submit', async event => {
      event.preventDefault()
      const show = (heading, text) => {
        const title = document.createElement('p'), pre = document.createElement('pre')
        title.textContent = heading
        pre.tabIndex = 0
        pre.textContent = text
        answer.replaceChildren(title, ...(text ? [pre] : []))
        answer.hidden = false
      }
      if (!form.dataset.open && !key.value.trim()) {
        show('Put your API key in at the top of this page first.', '')
        key.focus()
        return
      }
      const { url, method, body } = request()
      const headers = {}
      if (!form.dataset.open) headers['X-API-Key'] = key.value.trim()
      if (body !== undefined) headers['Content-Type'] = 'application/json'
      const began = performance.now()
      button.disabled = true
      try {
        const reply = await fetch(url, { method, headers, body, cache: 'no-store' })
        let text = await reply.text()
        try { text = JSON.stringify(JSON.parse(text), null, 2) } catch {}
        const most = 100_000
        show(`${reply.status} ${reply.statusText} in ${Math.round(performance.now() - began)} ms`, text.length > most ? text.slice(0, most) + '\n…' : text)
      } catch (error) {
        show('The request could not be sent: ' + error.message, '')
      }
      button.disabled = false
    })
  }
})()
