// Package source reads raw catalog and price feeds into records: the live TCGCSV tree and its
// archives, pokemon-tcg-data, punk-records, the native directory and wide price history. It knows
// the formats and their traps and nothing of identity, merging or what a snapshot looks like.
package source
