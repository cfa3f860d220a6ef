// Package keys authenticates API keys and knows what their tenants may do. It has the keys file of a
// state directory, the plans, and the ring in which a server looks up keys.
//
// A [Ring] has the current content of the keys file: an immutable table from the SHA-256 of a key to its
// [Principal], swapped as a whole when the file changes. [Ring.FindCached] is a hash and a lookup.
// [Update] changes the file, from any process and while a server runs.
//
// A key whose plan is not configured gets [ErrUnavailable]; [Ring.WithoutPlan] returns such keys.
package keys
