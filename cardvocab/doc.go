// Package cardvocab compares collector numbers and card terms: numbers in their canonical form and
// in natural order, texts folded to their letters and digits. It knows the words for conditions,
// rarities, finishes and editions.
//
// Notations of one game, such as the "_p1" of One Piece's parallels, apply to all games here,
// because the numbers of other games never contain them.
package cardvocab
