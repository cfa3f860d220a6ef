// Package engine keeps the current catalog in memory and serves every read from it.
//
// # Basics
//
// A [View] is everything that a request reads: one catalog, its index, and the JSON of its records,
// which is encoded once when the catalog is loaded. A request takes the current View by one atomic
// load and uses nothing else. An [Engine] follows a [Source] of snapshots. When a new snapshot is
// published, the engine makes its View while the old View serves, and then swaps one pointer.
//
// # Caveats
//
// Views are never closed. A View that was swapped out is retired: the engine retains it while a
// cursor may refer to it (decision 35), within a memory budget. Then the garbage collector frees
// it. A request that still uses a View is safe.
package engine
