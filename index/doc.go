// Package index answers which cards and in which order: it finds items by id or slug, cards by
// filters, and walks them in each of the sort orders. Words are the business of index/text.
//
// A card is its number in the catalog, which is its rank in price_desc (see snapshot.Catalog).
// Every list of cards here ascends by that number, so that it is already in price_desc order and a
// price range is a range of it.
package index
