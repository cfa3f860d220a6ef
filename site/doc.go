// Package site renders the public pages of a View: HTML, Open Graph, structured data and charts. It knows neither
// HTTP nor keys: package server decides who may ask, how often, and with which headers the answer leaves.
//
// # Basics
//
// [Pages] hold the assets; every method appends one page to a byte slice and keeps nothing. What a page shows comes
// from the View alone, by the same search, display prices, statistics and movers as the API.
//
// The Go files choose what a page shows, and the template beside each (card.qtpl beside card.go) says how. Templates
// are compiled: after a change of one, "make generate" writes its Go file anew.
//
// # Caveats
//
// Names, attributions and queries are not to be trusted. In a template, {%s … %} escapes a text for between tags and
// for within a quoted attribute, and nowhere else: no attribute goes without quotes, and no text goes into a script or
// a style. Addresses are made here and percent-encoded. The only thing that a page writes as it is, by {%z= … %}, is
// structured data, which encoding/json escapes for a script element.
package site
