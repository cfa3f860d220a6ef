//go:build hunt

package index

// ClearCache drops what searches have remembered of words: see text.Index.
func (ix *Index) ClearCache() { ix.words.ClearCache() }
