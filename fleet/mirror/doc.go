// Package mirror distributes snapshots through an S3-compatible bucket, so that many servers serve the
// same ones. An operator publishes into a directory store, with all its checks and guards, and
// pushes the release. A server pulls it into its own directory store and serves that. The bucket has
//
//	blobs/sha256/HEX    the files of sections, named by their content
//	manifests/ID        the manifest of a snapshot, byte for byte
//	epochs/NNNNNNNNNNNN every CURRENT ever published
//	trust/NNNNNNNNNNNN  every TRUST ever published
//	TRUST               the newest list of the keys that may sign
//	CURRENT             the release, signed: the only object that changes, besides TRUST
//
// An attacker who can write to the bucket can only withhold new releases: servers accept nothing
// that a trusted key did not sign, and no epoch below their own.
package mirror
