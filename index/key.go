package index

import "encoding/binary"

// AppendKey appends the identity of a query: every field that decides which cards it finds, or
// their order. Two queries have the same key only if all their fields are equal. Cursors and caches
// identify a query by it.
func (q *Query) AppendKey(dst []byte) []byte {
	given := byte(0)
	if q.HasWords {
		given = 1
	}
	if q.Ordered {
		given |= 2
	}
	dst = append(dst, byte(q.Sort), given)
	dst = binary.AppendVarint(dst, q.Min)
	dst = binary.AppendVarint(dst, q.Max)
	dst = binary.AppendVarint(dst, int64(q.ReleasedAfter))
	dst = binary.AppendVarint(dst, int64(q.ReleasedBefore))
	dst = binary.AppendVarint(dst, q.UpdatedSince)
	return appendTexts(dst, q.Words, q.Game, q.Set, q.Number, q.Rarity, q.Identifier, q.Variant)
}

// AppendKey appends the identity of a filter of sets, in the way of Query.AppendKey.
func (f *SetFilter) AppendKey(dst []byte) []byte {
	given := byte(0)
	if f.Released.Given {
		given = 1
	}
	dst = binary.AppendVarint(append(dst, given), int64(f.Released.From))
	dst = binary.AppendVarint(dst, int64(f.Released.To))
	return appendTexts(dst, f.Game, f.Series, f.Query)
}

// AppendKey appends the identity of a filter of products, in the way of Query.AppendKey.
func (f *ProductFilter) AppendKey(dst []byte) []byte {
	return appendTexts(dst, f.Game, f.Kind, f.Partner)
}

// appendTexts appends texts with their lengths, so that different lists of texts never have the
// same bytes.
func appendTexts(dst []byte, texts ...string) []byte {
	for _, s := range texts {
		dst = binary.AppendUvarint(dst, uint64(len(s)))
		dst = append(dst, s...)
	}
	return dst
}
