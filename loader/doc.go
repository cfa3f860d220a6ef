// Package loader turns raw catalog and price feeds into one verified catalog.
//
// # Basics
//
// [Build] reads every input once, in two passes: first the records (sets, cards, sealed products),
// then their prices by day. Between the two it joins records that describe one card, gives every
// item its public id and slug, and decides which identities are verified products. At the end it
// numbers the cards by price and writes history, changes, statistics and movers as columns of a
// [snapshot.Catalog].
//
// An item is a card or a sealed product. A lane is an item in one variant and condition, as one
// feed gives it; a row is one day of a lane. A full reference is a namespace, a zero byte and the
// source's own key: identity derives from it alone, never from a name (decision 25).
//
// The catalog is a function of the inputs and the base, never of map order or of the order of files
// inside an input. [Options.Base] describes the base's part in a build. It also describes when the
// result may differ from a build over all days at once.
//
// # Caveats
//
// Memory grows with the catalog, not with the number of price days. Rows are gathered in a bounded
// buffer and packed into runs of encoded points, and runs are packed together when they become
// many.
package loader
