// Package pokemontcg serves programs of the Pokémon TCG API, version 2, from a snapshot.
//
// Builds write the API's files into sections of their own (section.go). If the setting is on, the server
// (Service) indexes these sections with bleve. Snapshots with equal cards share one index, and prices come
// from the catalog. No other package knows the API.
package pokemontcg
