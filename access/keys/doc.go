// Package keys answers whose key a request carries and what its tenant may do: it holds the keys file of
// a state directory, the plans, and the ring of keys that a server looks requests up in.
//
// A [Ring] is the current reading of the keys file: an immutable table from the SHA-256 of a key to its
// [Principal], swapped as a whole when the file changes. [Ring.FindCached] is a hash and a probe.
// [Update] changes the file, from any process and beside a running server.
//
// A key whose plan is not configured is answered with [ErrUnavailable]; [Ring.WithoutPlan] names
// such keys.
package keys
