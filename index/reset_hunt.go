//go:build hunt

package index

// ClearCache clears what searches have cached: see text.Index.
func (ix *Index) ClearCache() { ix.words.ClearCache() }
