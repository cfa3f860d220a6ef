// Package feed downloads a price feed politely, as a whole tree or not at all, and archives the
// prices of each day. A tree is one complete copy of the feed's files.
//
// A directory of the feed holds:
//
//	current        a symbolic link to the newest whole tree, moved by one rename
//	trees/STAMP    whole trees by the time that the feed gives them; the newest two stay
//	days/DAY.tar.zst  the prices of each day, from which a build fills gaps
//	partial        what a pull that did not end has fetched so far; the next one goes on with it
//
// Only a whole tree becomes current. Its day is archived first, so that no build uses a tree
// whose day is not archived.
package feed
