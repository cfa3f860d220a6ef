// Draws the API reference from this service's own document. Everything that would ask another host is off.
const reference = document.getElementById('reference')
Scalar.createApiReference(reference, {
  url: reference.dataset.document,
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  proxyUrl: '',
  hideClientButton: true,
  showDeveloperTools: 'never',
  documentDownloadType: 'none',
  persistAuth: false,
})
document.getElementById('plain').remove()

// Some of its buttons have no name, and some one that is not what they show; they come and go as one scrolls.
new MutationObserver(() => {
  for (const button of reference.querySelectorAll('button[class*="copy-button"]:not([aria-label])')) button.setAttribute('aria-label', 'Copy')
  for (const button of reference.querySelectorAll('button.show-more[aria-label]')) button.removeAttribute('aria-label')
}).observe(reference, { childList: true, subtree: true })
