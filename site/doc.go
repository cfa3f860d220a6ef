// Package site renders the public pages of a View: HTML, Open Graph, structured data and charts. It knows neither
// HTTP nor keys: package server decides who may ask, how often, and with which headers the answer leaves.
//
// # Basics
//
// [Pages] hold the parsed templates and the assets; every method appends one page to a byte slice and keeps nothing.
// What a page shows comes from the View alone, by the same search, display prices, statistics and movers as the API.
//
// # Caveats
//
// Names, attributions and queries are not to be trusted: they reach a page through html/template alone, which
// escapes by context. The few values of type template.HTML are made here of digits, dates and fixed words.
package site
