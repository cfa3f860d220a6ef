// Package control keeps in PostgreSQL what many servers share and what is billed: keys and tenants,
// the keys that sign cursors, and the ledger of calls and charges (docs/FLEET.md, Bills and keys).
//
// The ledger is a grow-only counter for each server. A server sends the rows that changed as totals of
// its own, and the database keeps the larger of what it has and what it gets. So a statement may come
// twice, late or never, and the next one makes up for it: there are no offsets and nothing to replay.
// A server's rows are named by its incarnation, the name of its state directory. A view sums up over
// incarnations.
//
// Nothing here is on the path of a request. While the database is away, servers go on with the keys
// that they have, and what they charge waits in their state directories: rows, not calls.
package control
