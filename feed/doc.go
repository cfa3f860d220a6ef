// Package feed brings a price feed onto this machine: a whole tree of it or nothing, politely, and
// keeps the prices of each day.
//
// A directory of the feed holds:
//
//	current        a symbolic link to the newest whole tree, moved by one rename
//	trees/STAMP    whole trees by the time that the feed gives them; the newest two stay
//	days/DAY.tar.zst  the prices of each day, from which a build fills gaps
//	partial        what a pull that did not end has fetched so far; the next one goes on with it
//
// Only a tree that is whole moves current. Its day is packed before that, so that no tree is ever
// built on whose day was not archived.
package feed
