// Package wal is a write-ahead log: it numbers records of bytes, and returns them in that order after
// a crash. It knows nothing of their meaning.
//
// A [Log] commits in groups and has no timer that delays a commit. [Log.Append] queues a record.
// While one write or fsync runs, later records wait in the queue, and the next write or fsync takes
// all of them. [Log.AwaitWritten] returns when a record survives the death of the process,
// [Log.AwaitSynced] when it survives a power cut. A record that no call waits for is on disk within
// 100 ms.
//
// A log is a directory of segments, files named after their first record. [Log.Rotate] starts a new
// one and [Log.RemoveThrough] removes old ones. [Read] reads them back. It distinguishes the torn end
// that a crash leaves from damage that a crash cannot explain.
//
// On Linux, on ext4, XFS and tmpfs, the open segment is mapped and a record is a copy into the page
// cache. Blocks are allocated before they are mapped, so that a full disk is an error and no
// signal. Elsewhere a record is a write(2). Durability and the stored data are the same, except
// zeros that follow a segment's records.
//
// After a failed write or fsync the content of the disk is unknown. The log has every record since the
// last good fsync in memory, and writes all of them again into a new segment: at once, and then four
// times a second until that succeeds. Meanwhile it is down, and every wait fails; a caller whose wait
// failed cancels its record ([Log.Cancel]). One directory has one writer at a time, which the caller
// ensures.
package wal
