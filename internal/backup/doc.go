// Package backup copies state, store, archived days, mapping and configuration of a server into a folder, as
// one thing, and brings them back.
//
// A backup folder has
//
//	content/HASH         each file's bytes once, by their SHA-256
//	backups/ID.json      what a backup has: the [Manifest]; its id ends with its own hash
//	drills/TIME-good-ID  an empty file for the last [Drill] of a backup, or TIME-bad-ID
//	tombstones.jsonl     tenants that were deleted (package tombstone)
//	tmp/                 what is being written
//	LOCK                 held by a backup, and shared by a restore
//
// A manifest is written last and removed first, so that a crash leaves at worst content that no backup
// names. What it names is from one moment: trees are listed before and after they are copied, until nothing
// changed in between.
package backup
