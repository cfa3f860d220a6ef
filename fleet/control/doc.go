// Package control is the PostgreSQL database that the servers of a fleet share (docs/FLEET.md,
// Run). It has three parts: tenants and API keys (keys.go), the secrets that sign cursors
// (cursors.go), and billing: the ledger of calls and charges with the servers that export to it
// (export.go, servers.go, usage.go).
//
// The ledger is a grow-only counter for each server. A server sends its totals of the rows that
// changed, and the database stores the larger of the old total and the new one. So a statement may
// arrive twice, late or never, and the next one corrects it: there are no offsets and nothing to replay.
// A server's rows carry its server id, the incarnation: it is the name of its state directory. A view
// sums over all servers.
//
// No request waits for this database. While it is unavailable, servers continue with the keys
// that they have, and their charges wait in their state directories: rows, not calls.
package control
