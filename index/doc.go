// Package index finds items by id or slug and cards by filters, and pages through cards in each
// sort order. Package index/text does the search by words.
//
// A card is its number in the catalog, which is its rank in price_desc (see snapshot.Catalog).
// Every list of cards here ascends by that number. So it is already in price_desc order, and a
// price range is a range of the list.
package index
