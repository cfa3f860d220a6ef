//go:build hunt

package index

// Forget drops what searches have remembered of words: see text.Index.
func (ix *Index) Forget() { ix.words.Forget() }
