// Package pokemontcg answers programs of the Pokémon TCG API, version 2, from a snapshot.
//
// Builds write what its files say into sections of their own (section.go). A server that is asked to
// (Service) makes an index of them with bleve, which it shares between snapshots that have the same cards,
// and looks prices up in the catalog beside it. Nothing of the API is known outside of this folder.
package pokemontcg
