// Package state stores the data of a store in a state directory: a write-ahead log of finished calls
// ([ninepocket/internal/wal]), and regularly a checkpoint of everything in a bbolt file, which bounds
// the log. It handles bytes: the [Content] that it saves and loads knows their meaning.
//
// [Open] locks a directory for one server, passes the checkpoint and then the log's records to the
// content, and returns a [Dir], whose Log the content's owner writes to. [Load] and [LoadOnce] read the
// same from any process; [Copy] makes a copy, and [Salvaged.Salvage] and [Salvaged.Rebuild] recover the
// undamaged parts of a damaged one.
//
// The bbolt file is open only while a checkpoint is written or a reply is read from it, so that other
// processes can read it between. No value in it is used without checking its checksum, and no page
// without checking its structure.
package state
