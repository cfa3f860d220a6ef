package access

import (
	"ninepocket/access/keys"
	"ninepocket/calendar"
)

// BodyHash is the hash of a normalised request body (decision 30).
type BodyHash [32]byte

// ClaimResult is the result of Begin.
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
	ID         uint64          // Fresh: identifies this claim's record in the store
	Reply      []byte          // Replay: owned by the caller
	Done       <-chan struct{} // InProgress: closed when the owner commits or aborts
	Quota      LimitState      // Exhausted: the credits
	RetryAfter int64           // Exhausted: seconds until the period ends, at least 1
}

// Store has the limits of tenants and what calls have taken of them. Implementations are safe for
// concurrent use and never do half of a call. While recording is not possible, every method but
// Usage and Abort returns ErrUnavailable (Admit: the result Unavailable). Such a call is charged
// neither then nor later. The store recovers by itself.
//
// Every implementation gives these guarantees, and the conformance suite checks them:
//
//   - No 60 seconds of Instant.Mono have more admissions in a window than its
//     limit, also when calls arrive out of order, a limit changes, or the store
//     is opened again (decision 12).
//   - Charges of a day or period never exceed the limit; reserved units count as
//     taken for admission and not for Usage.
//   - Days and periods of a tenant go back only from one that begins more than a
//     day ahead of Instant.Wall (decisions 16 and 1754).
//   - A tenant's state is changed only by that tenant's principals.
type Store interface {
	// Admit takes a token of the window and reserves the cost, or takes nothing. A full window is
	// reported before a full quota.
	Admit(p *keys.Principal, spec LimitSpec, now Instant) Decision

	// Finish ends an admitted call and writes its ledger row. A success turns the reservation into
	// a charge, anything else gives it back. When it returns nil the call is recorded as durably as
	// its spec asks. With ReserveAtBegin a call cannot succeed here: ErrReservation.
	Finish(res Reservation, success bool) (Charge, error)

	// Begin looks up the idempotency key of a tenant and operation. It reserves the cost if the
	// result is Fresh. It does not block and keeps no part of key.
	Begin(res Reservation, key string, body BodyHash, now Instant) (Claim, error)

	// Commit charges a fresh claim and finishes the reservation as a success, all or nothing. It is
	// on disk before Commit returns nil. A copy of the reply stays for ten minutes from the
	// admission. On ErrIdempotencyFull the claim is aborted and the reservation finished as a failure.
	Commit(res Reservation, claim Claim, reply []byte) (Charge, error)

	// Abort ends a fresh claim, wakes the callers that wait for it, and finishes the reservation as
	// a failure. After Commit it does nothing, so that it can be deferred.
	Abort(res Reservation, claim Claim) (Charge, error)

	// Usage returns a principal's use of its quota.
	Usage(p *keys.Principal, spec LimitSpec, now Instant) (Usage, error)

	// Ledger returns the rows of a tenant ("" = all) from a day on, ordered by tenant, key, day and
	// operation.
	Ledger(tenant string, since calendar.Day) ([]LedgerRow, error)

	// Stats returns the figures of the store. They are not taken at one instant.
	Stats() StoreStats

	// Err returns why the store is unavailable now, or nil. It is cheap, and readiness depends on it.
	Err() error

	// Close writes what is pending and closes the store. Later calls return ErrUnavailable.
	Close() error
}
