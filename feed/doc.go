// Package feed downloads a price feed politely, all of its files or none, and archives the
// prices of each day. A feed directory is a complete copy of the feed's files.
//
// The folder of a pull holds:
//
//	current        a symbolic link to the newest feed directory, moved by one rename
//	trees/STAMP    feed directories by the feed's own time; the newest two stay
//	days/DAY.tar.zst  the prices of each day, from which a build fills gaps
//	partial        the files of a pull that did not end; the next pull resumes it
//
// Only a whole feed directory becomes current. Its day is archived first, so that no build uses
// a day that is not archived.
package feed
