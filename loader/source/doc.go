// Package source reads raw catalog and price feeds into records: the live TCGCSV feed and its
// archives, pokemon-tcg-data, punk-records, the native directory and wide price history. It knows
// the formats and their traps, and nothing about identity, merging or the form of a snapshot.
package source
