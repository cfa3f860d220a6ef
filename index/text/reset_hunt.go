//go:build hunt

package text

// ClearCache drops what words were expanded to, so that a search costs what its words cost whoever
// asks for them first. It is part of the program only where the hunt for dear requests is built
// (make hunt).
func (ix *Index) ClearCache() {
	for i := range ix.expander.cache {
		if slot := &ix.expander.cache[i]; slot.Load() != nil {
			slot.Store(nil)
		}
	}
}
