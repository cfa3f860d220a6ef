//go:build hunt

package bench

// forgets: this build can drop what earlier searches left in memory.
const forgets = true

func (w *world) forget() { w.view.Index.ClearCache() }
