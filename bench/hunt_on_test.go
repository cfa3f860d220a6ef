//go:build hunt

package bench

// clearsCache is true: this build can clear the caches of searches.
const clearsCache = true

func (w *world) clearCache() { w.view.Index.ClearCache() }
