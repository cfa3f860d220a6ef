//go:build hunt

package text

// ClearCache clears the cache of expanded words, so that the next search pays its full cost. It is
// compiled only for the hunt for expensive requests (make hunt).
func (ix *Index) ClearCache() {
	for i := range ix.expander.cache {
		if slot := &ix.expander.cache[i]; slot.Load() != nil {
			slot.Store(nil)
		}
	}
}
