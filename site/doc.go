// Package site renders the public pages of a View: HTML, Open Graph, structured data and charts. It
// knows neither HTTP nor keys: package server limits the requests and sets the headers.
//
// # Basics
//
// [Pages] has the assets; every method appends one page to a byte slice and stores nothing. All
// content of a page comes from the View, with the same search, display prices, statistics and
// movers as the API.
//
// The Go files choose the content of a page, and the template with the same name (card.qtpl for
// card.go) has the HTML. Templates are compiled: after a change, run "make generate".
//
// # Caveats
//
// Names, attributions and queries are untrusted. In a template, {%s … %} escapes a text for two
// places only: between tags, and within a quoted attribute. So every attribute has quotes, and no
// text is written into a script or a style. URLs are made here and percent-encoded. Structured data
// is the only text that is written unescaped, by {%z= … %}; encoding/json escapes it for a script
// element.
package site
