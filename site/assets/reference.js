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
