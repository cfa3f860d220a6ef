//go:build hunt

package text

// ClearCache clears the cache of expanded words, so that the next search pays its full cost. It is
// part of the program only where the hunt for dear requests is built (make hunt).
func (ix *Index) ClearCache() {
	for i := range ix.expander.cache {
		if slot := &ix.expander.cache[i]; slot.Load() != nil {
			slot.Store(nil)
		}
	}
}
