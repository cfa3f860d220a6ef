// Package engine holds the current catalog in memory and answers every read from it.
//
// # Basics
//
// A [View] is the whole world that a request sees: one catalog with its index and the JSON of its
// records, made when it was loaded. A request takes the current View once, by one atomic load, and
// uses nothing else. An [Engine] follows a [Source] of snapshots, makes the View of each newly
// published one beside the serving one, and swaps one pointer.
//
// # Caveats
//
// Views are never closed. A View that was swapped out is kept for as long as a cursor may lead back
// to it, within a memory budget, and then left to the garbage collector: a request that still holds
// it is safe.
package engine
