// Package access answers one question: may this key make this call now, and what does it cost. It
// holds minute limits, daily quotas, credits, idempotency records and the ledger. Keys and plans are in
// [ninepocket/access/keys], and what a state directory holds in [ninepocket/access/state]. It knows
// nothing of HTTP, of routes or of cards.
//
// # Basics
//
// There are three things to know.
//
// A [LimitSpec] says what an operation takes: which minute window it passes and which allowance
// (daily quota or credits) a success costs. [SpecFor] derives it from the principal and the
// [Operation]; nothing else decides what a call costs.
//
// A [Store] holds the counters. [NewMemory] forgets them when the process ends; [OpenLocal] keeps
// them in a state directory. Both are made of limits, which decide, and of a journal, which records.
// They answer from counters in memory. The journal of an embedded store writes each finished call into
// a write-ahead log and now and then a checkpoint into a file. Every store passes the conformance
// suite of package accesstest; a store on another technology implements the same interface.
//
// A [Gate] joins a ring and a store. One request is
//
//	principal, err := gate.Authenticate(rawKey, now)
//	decision := gate.Admit(principal, access.CardsSearch, now)
//	if decision.Verdict != access.Admitted { … 429 or 503, nothing was taken … }
//	… do the work …
//	receipt, err := gate.Finish(decision.Ticket, success)
//	if err != nil { … 503 instead of the response … }
//	… write the response; its limits are decision.Minute and receipt.Allowance …
//
// and a call with an idempotency key is
//
//	claim, err := gate.Begin(ctx, decision.Ticket, key, bodyHash, now)
//	switch claim.Outcome {
//	case access.Replay:    // claim.Reply is the stored reply; Finish(ticket, false)
//	case access.Conflict:  // 409; Finish(ticket, false)
//	case access.Exhausted: // 429 quota_exceeded; Finish(ticket, false)
//	case access.Fresh:     // Commit(ticket, claim, reply) or Abort(ticket, claim)
//	}
//
// A [Reservation] is a value: it is not pooled, holds nothing of the request, and is finished
// exactly once.
//
// Time is always passed in, as an [Instant] made by the one [Clock] of the process; the admission
// logic never reads a clock.
//
// # Caveats
//
// A unit of allowance is reserved at admission and taken or given back at Finish. While requests
// that will fail hold the last units, others are refused with quota_exceeded: the quota is never
// exceeded, but it may be refused for the length of a request although a unit comes back.
//
// Limits, quota days and credit periods do not go backwards with a wall clock that is set back: the
// tenant stays in the later day until the clock arrives there. A day that lies more than a day ahead
// of the clock is not believed, and the account returns to today with what it has used. A clock set
// forward over a reboot cannot be told from time that passed, and opens the minute windows early.
//
// The embedded store answers [ErrUnavailable] while its log cannot be written, and comes back by
// itself. A call that was answered so is charged neither then nor later; only a process that dies
// while the disk fails may leave such a charge to the next one, or lose live calls that were written
// and never on disk. A live request (daily quota) survives the death of the process once Finish
// returned, but only reaches the disk within 100 ms; credits and stored replies are on disk before
// Finish or Commit returns.
//
// One state directory has one server. The keys file, the readers [ReadLedger] and [ReadLastUse],
// [VerifyState] and [BackupState] work beside it, from any process; [RepairState] does not.
package access
