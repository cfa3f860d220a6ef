//go:build hunt

package index

// ClearCache clears the caches of searches: see text.Index.
func (ix *Index) ClearCache() { ix.words.ClearCache() }
