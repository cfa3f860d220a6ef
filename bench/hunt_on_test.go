//go:build hunt

package bench

// forgets: this build can drop what earlier searches left in memory.
const clearsCache = true

func (w *world) clearCache() { w.view.Index.ClearCache() }
