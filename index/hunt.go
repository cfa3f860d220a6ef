//go:build hunt

package index

// Forget drops what searches have remembered of words: see text.Index.
func (x *Index) Forget() { x.words.Forget() }
