// Package snapshot defines what a published catalog is: its records as columns, its bytes on disk,
// and the directory store that publishes one atomically.
//
// # Basics
//
// There are four types to know. A [Catalog] is one whole catalog at one instant, decoded and
// immutable. A [Manifest] lists the sections of its stored form with lengths and checksums. A [Dir]
// is a directory store that holds many snapshots and one pointer, CURRENT, that names the published
// one. A [Strings] is a column of strings in one arena, the building block of everything else.
//
// Records are columns: the n-th element of every column of a table is the n-th record. Columns hold
// no pointers, so a catalog of a million cards is a few dozen objects to the garbage collector and
// is decoded by copying.
//
// # Caveats
//
// A Catalog is never changed after it was built or loaded; everything that reads it may keep
// strings and slices of it for as long as it likes. The byte format is specified in
// docs/SNAPSHOT.md.
package snapshot
