// Package mirror keeps what is published in an S3-compatible store, so that many servers serve the
// same snapshots. An operator publishes into a directory store, with all its checks and guards, and
// pushes what was published. A server pulls it into a directory store of its own and serves that:
//
//	blobs/sha256/HEX    the files of sections, by what is in them
//	manifests/ID        the manifest of a snapshot, byte by byte
//	epochs/NNNNNNNNNNNN every CURRENT that there was
//	trust/NNNNNNNNNNNN  every TRUST that there was
//	TRUST               the newest list of the keys that may sign
//	CURRENT             what is published, signed: besides TRUST the only object that changes
//
// Whoever can write to the store can withhold what is new, and no more: servers take up nothing
// that a trusted key did not sign, and no epoch below the one that they have.
package mirror
