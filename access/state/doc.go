// Package state keeps what a store counts in a state directory: a write-ahead log of finished calls
// ([ninepocket/internal/wal]), and now and then a checkpoint of everything in a bbolt file, which bounds
// the log. It handles bytes: what they mean is for the [Content] that it saves and loads.
//
// [Open] locks a directory for one server, hands the checkpoint and then the log's records to the
// content, and returns a [Dir], whose Log the content's owner writes to. [Load] and [LoadOnce] read the
// same from any process; [Copy] makes a copy, and [Salvage] and [Rebuild] keep what is whole of a
// damaged one.
//
// The bbolt file is open only while a checkpoint is written or a reply is read from it, so that other
// processes can read it between. Nothing in it is believed without its checksum, nor are its pages.
package state
