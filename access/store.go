package access

import (
	"ninepocket/access/keys"
	"ninepocket/calendar"
)

// BodyHash is the hash of a normalised request body (decision 30).
type BodyHash [32]byte

// ClaimResult is the answer of Begin.
type ClaimResult uint8

const (
	// Fresh means: the caller owns the record; it ends with Commit or Abort.
	Fresh ClaimResult = iota
	// Replay means: the same body was answered within ten minutes; Claim.Reply is that answer.
	Replay
	// Conflict means: the key is bound to another body; 409.
	Conflict
	// Exhausted means: fresh, but no credit is left; 429 quota_exceeded.
	Exhausted
	// InProgress means: the same body is being answered; wait for Claim.Done, then Begin again.
	InProgress
)

// Claim is the answer of Begin.
type Claim struct {
	Result     ClaimResult
	Key        string          // Fresh: the idempotency key, owned by the claim
	Body       BodyHash        // Fresh
	ID         uint64          // Fresh: names the record of this claim to the store
	Reply      []byte          // Replay: owned by the caller
	Done       <-chan struct{} // InProgress: closed when the owner commits or aborts
	Quota      LimitState      // Exhausted: the credits
	RetryAfter int64           // Exhausted: seconds until the period ends, at least 1
}

// Store holds what calls have taken. Implementations are safe for concurrent use and never do half
// of a call. While nothing can be recorded every method but Usage and Abort answers ErrUnavailable
// (Admit: the Unavailable verdict) and charges nothing; a call that fails so is charged neither then
// nor later. It passes by itself.
//
// Guarantees every implementation gives, and the conformance suite checks:
//
//   - No 60 seconds of Instant.Mono hold more admissions in a window than its
//     limit, also when calls arrive out of order, a limit changes, or the store
//     is opened again (decision 12).
//   - Charges of a day or period never exceed the limit; reserved units count as
//     taken for admission and not for Usage.
//   - Days and periods of a tenant go back only from one that begins more than a
//     day ahead of Instant.Wall (decisions 16 and 1754).
//   - A tenant's state is touched only by that tenant's principals.
type Store interface {
	// Admit takes a token of the rule's window and reserves the rule's cost, or takes nothing. A
	// window that is full is reported before a quota that is.
	Admit(p *keys.Principal, spec LimitSpec, now Instant) Decision

	// Finish ends an admitted call and writes its ledger row. A success turns the reservation into
	// a charge, anything else gives it back. When it returns nil the call is recorded as durably as
	// its rule asks. A deferred ticket cannot succeed here: ErrReservation.
	Finish(res Reservation, success bool) (Charge, error)

	// Begin looks up the idempotency key of a tenant and operation. It reserves the cost when the
	// outcome is Fresh. It does not block and keeps no part of key.
	Begin(res Reservation, key string, body BodyHash, now Instant) (Claim, error)

	// Commit charges a fresh claim and finishes the reservation as a success, all or nothing. It is
	// on disk before Commit returns nil. A copy of the reply stays for ten minutes from the
	// admission. On ErrIdempotencyFull the claim is aborted and the ticket finished as a failure.
	Commit(res Reservation, claim Claim, reply []byte) (Charge, error)

	// Abort gives up a fresh claim, wakes the callers that wait for it, and finishes the ticket as
	// a failure. After Commit it does nothing, so that it can be deferred.
	Abort(res Reservation, claim Claim) (Charge, error)

	// Usage reads the allowance of a principal.
	Usage(p *keys.Principal, spec LimitSpec, now Instant) (Usage, error)

	// Ledger returns the rows of a tenant ("" = all) from a day on, ordered by tenant, key, day and
	// operation.
	Ledger(tenant string, since calendar.Day) ([]LedgerRow, error)

	// Stats returns the figures of the store. They are not of one moment.
	Stats() StoreStats

	// Err returns why the store is unavailable now, or nil. It is cheap, and what readiness asks.
	Err() error

	// Close writes what is pending and ends the store. Calls after it answer ErrUnavailable.
	Close() error
}
