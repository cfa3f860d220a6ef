// Package cardvocab knows how collectors' numbers and names are compared: numbers in their
// canonical form and in natural order, texts folded to their letters and digits.
//
// A form of numbers that one game alone uses, such as the "_p1" of One Piece's parallels, is known
// here for all games: no other game's numbers have it.
package cardvocab
