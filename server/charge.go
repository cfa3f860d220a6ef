package server

import (
	"context"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
)

// idempotencyWait is how long a request waits for the one in flight with the same idempotency key
// and body.
const idempotencyWait = 10 * time.Second

// metering is the metered side of one request. An admitted request holds a ticket, which ends
// exactly once: with finish, commit or abort, or with release where a handler panicked.
type metering struct {
	gate        *access.Gate
	principal   *keys.Principal // nil before the key was recognised
	decision    access.Decision
	reservation reservationState
	claim       access.Claim  // of an idempotent request, valid while the ticket is claimed
	charge      access.Charge // valid once the ticket is settled
}

// reservationState is how far a request's ticket has come.
type reservationState uint8

const (
	stateNone     reservationState = iota // not admitted
	stateReserved                         // to be finished
	stateClaimed                          // held with a claim: to be committed or aborted
	stateSettled                          // ended, and the receipt says what it cost
	stateFailed                           // ended as far as this request goes: the meter failed
)

// allow asks for a ticket; it is false when the decision says why there is none.
func (ch *metering) admit(op access.Operation, now access.Instant) bool {
	ch.decision = ch.gate.Admit(ch.principal, op, now)
	if ch.decision.Result != access.Admitted {
		return false
	}
	ch.reservation = stateReserved
	return true
}

// begin claims an idempotency key for a body. The outcome says whether the request is to run
// (access.Fresh), what it is answered with (access.Replay), or why it is refused. The ticket stays
// to be finished unless it is Fresh.
func (ch *metering) begin(key string, body access.BodyHash, now access.Instant) (access.Claim, error) {
	ctx, cancel := context.WithTimeout(context.Background(), idempotencyWait)
	defer cancel()

	claim, err := ch.gate.Begin(ctx, ch.decision.Reservation, key, body, now)
	switch {
	case err != nil: // the ticket is finished as a failure later
	case claim.Result == access.Fresh:
		ch.claim = claim
		ch.reservation = stateClaimed
	case claim.Result == access.Exhausted:
		ch.decision.Result = access.QuotaExceeded
		ch.decision.Quota = claim.Quota
		ch.decision.RetryAfter = claim.RetryAfter
	}
	return claim, err
}

// commit keeps the reply of a claimed request and charges it: all or nothing. Where it fails, the
// claim is given up.
func (ch *metering) commit(reply []byte) error {
	charge, err := ch.gate.Commit(ch.decision.Reservation, ch.claim, reply)
	if err != nil {
		ch.abort()
		return err
	}

	ch.charge = charge
	ch.reservation = stateSettled
	return nil
}

// abort gives up a claim, so that nobody waits for it in vain, and ends the ticket. If a failed
// commit gave the claim up already, the store ignores this call.
func (ch *metering) abort() {
	charge, err := ch.gate.Abort(ch.decision.Reservation, ch.claim)
	// The meter failed, and that was told already: what remains is shown as it was at admission.
	if err != nil {
		charge.Quota = ch.decision.Quota
	}

	ch.charge = charge
	ch.reservation = stateSettled
}

// finish ends the ticket, unless a commit or an abort did: a success is charged, anything else is
// not.
func (ch *metering) finish(success bool) error {
	if ch.reservation != stateReserved {
		return nil
	}

	charge, err := ch.gate.Finish(ch.decision.Reservation, success)
	if err != nil {
		ch.reservation = stateFailed
		return err
	}
	ch.charge = charge
	ch.reservation = stateSettled
	return nil
}

// release ends the ticket of a request whose handler panicked.
func (ch *metering) release() error {
	if ch.reservation == stateClaimed {
		ch.abort()
		return nil
	}
	return ch.finish(false)
}

// allowance is what the caller may still do, as far as the meter was asked.
func (ch *metering) allowance() access.LimitState {
	if ch.reservation == stateSettled {
		return ch.charge.Quota
	}
	return ch.decision.Quota
}
