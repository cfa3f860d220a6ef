// Package access decides whether a key may make a call now, and what the call costs. It has minute
// limits, daily quotas, credits, idempotency records and the ledger, which the pages call usage
// records. Keys and plans are in [ninepocket/access/keys], and the files of a state directory in
// [ninepocket/access/state]. It knows nothing of HTTP, of routes or of cards.
//
// # Basics
//
// There are three things to know.
//
// A [LimitSpec] is what an operation takes: the minute window that it passes, and the quota (daily
// requests or credits) that a success is charged to. [SpecFor] derives it from the principal and the
// [Operation]; nothing else decides what a call costs.
//
// A [Store] has the counters. Those of [NewMemory] end with the process; [OpenLocal] stores them in a
// state directory. Both consist of limits, which decide, and of a usage log, which records. They
// answer from counters in memory. The usage log of a [LocalStore] writes each finished call into a
// write-ahead log, and regularly a checkpoint into a file. Every store passes the conformance suite of
// package accesstest; a store on another technology implements the same interface.
//
// A [Gate] combines a key ring and a store. One request is
//
//	principal, err := gate.Authenticate(rawKey, now)
//	decision := gate.Admit(principal, access.CardsSearch, now)
//	if decision.Result != access.Admitted { … 429 or 503, nothing was taken … }
//	… do the work …
//	charge, err := gate.Finish(decision.Reservation, success)
//	if err != nil { … 503 instead of the response … }
//	… write the response; its limits are decision.Minute and charge.Quota …
//
// and a call with an idempotency key is
//
//	claim, err := gate.Begin(timeout, decision.Reservation, key, bodyHash, now)
//	switch claim.Result {
//	case access.Replay:    // claim.Reply is the stored reply; Finish(res, false)
//	case access.Conflict:  // 409; Finish(res, false)
//	case access.Exhausted: // 429 quota_exceeded; Finish(res, false)
//	case access.Fresh:     // Commit(res, claim, reply) or Abort(res, claim)
//	}
//
// A [Reservation] is a value: it is not pooled, keeps nothing of the request, and is finished exactly
// once.
//
// Time is always passed in, as an [Instant] made by the one [Clock] of the process; the admission
// logic never reads a clock.
//
// # Caveats
//
// A request credit or a request of the day is reserved at admission, and charged or given back at
// Finish. While requests that will fail reserve the last credits, other requests are refused with
// quota_exceeded. So the quota is never exceeded, but a request may be refused although a credit
// comes back a moment later.
//
// Limits, quota days and credit periods do not go backwards with a wall clock that is set back: the
// tenant stays in the later day until the clock arrives there. A day more than a day ahead of the
// clock is ignored, and the tenant returns to today with what it has used. A clock that is set forward
// over a reboot looks like time that passed, and opens the minute windows early.
//
// A [LocalStore] returns [ErrUnavailable] while its log cannot be written, and recovers by itself.
// Such a call is charged neither then nor later. Only a process that dies while the disk fails may
// leave such a charge to the next process, or lose live calls that were written and never on disk.
// A live request (daily quota) survives the death of the process once Finish returned, but only
// reaches the disk within 100 ms; credits and stored replies are on disk before Finish or Commit
// returns.
//
// One state directory has one server. The keys file, the readers [ReadLedger] and [ReadLastUse],
// [VerifyState] and [BackupState] work next to it, from any process; [RepairState] does not.
package access
