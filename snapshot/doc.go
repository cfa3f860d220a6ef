// Package snapshot defines a published catalog: its records as columns, its bytes on disk, and the
// directory store that publishes one atomically.
//
// # Basics
//
// There are four types to know. A [Catalog] is one whole catalog at one instant, decoded and
// immutable. A [Manifest] lists the sections of its stored form with lengths and checksums. A
// [Store] is a directory store that holds many snapshots and one pointer, CURRENT, that names the
// published one. A [Strings] is a column of strings in one arena, the building block of everything
// else.
//
// A table is a set of columns: the n-th element of each column belongs to the n-th record. Columns
// hold no pointers. So a catalog of a million cards is a few dozen objects to the garbage
// collector, and to decode it is to copy it.
//
// # Caveats
//
// A Catalog never changes after it was built or loaded. Its readers may keep its strings and slices
// for as long as they like. docs/dev/SNAPSHOT.md specifies the byte format.
package snapshot
