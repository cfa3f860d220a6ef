package server

import (
	"context"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
)

// idempotencyWait is how long a request waits for another request in flight with the same
// idempotency key and body.
const idempotencyWait = 10 * time.Second

// metering is the metering of one request. An admitted request has a reservation, which ends
// exactly once: by finish, commit or abort, or by release if a handler panicked.
type metering struct {
	gate        *access.Gate
	principal   *keys.Principal // nil before the key is recognised
	decision    access.Decision
	reservation reservationState
	claim       access.Claim  // of an idempotent request, valid in stateClaimed
	charge      access.Charge // valid in stateSettled
}

// reservationState is the state of a request's reservation.
type reservationState uint8

const (
	stateNone     reservationState = iota // not admitted
	stateReserved                         // finish must follow
	stateClaimed                          // with a claim: commit or abort must follow
	stateSettled                          // ended, and the charge is known
	stateFailed                           // given up by this request: metering failed
)

// admit makes a reservation; if it returns false, the decision has the reason.
func (ch *metering) admit(op access.Operation, now access.Instant) bool {
	ch.decision = ch.gate.Admit(ch.principal, op, now)
	if ch.decision.Result != access.Admitted {
		return false
	}
	ch.reservation = stateReserved
	return true
}

// begin claims an idempotency key for a body. The result says whether the request runs
// (access.Fresh), which stored response it gets (access.Replay), or why it is refused. Unless it is
// Fresh, finish must still follow.
func (ch *metering) begin(key string, body access.BodyHash, now access.Instant) (access.Claim, error) {
	ctx, cancel := context.WithTimeout(context.Background(), idempotencyWait)
	defer cancel()

	claim, err := ch.gate.Begin(ctx, ch.decision.Reservation, key, body, now)
	switch {
	case err != nil: // finish ends the reservation as a failure later
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

// commit stores the response of a claimed request and charges the request, both or neither. If it
// fails, it aborts the claim.
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

// abort gives up a claim, so that no request waits for it in vain, and ends the reservation. If a
// failed commit gave up the claim already, the store ignores this call.
func (ch *metering) abort() {
	charge, err := ch.gate.Abort(ch.decision.Reservation, ch.claim)
	// The failure of metering was reported already: the quota is shown as it was at admission.
	if err != nil {
		charge.Quota = ch.decision.Quota
	}

	ch.charge = charge
	ch.reservation = stateSettled
}

// finish ends the reservation, unless commit or abort did: only a success is charged.
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

// release ends the reservation of a request whose handler panicked.
func (ch *metering) release() error {
	if ch.reservation == stateClaimed {
		ch.abort()
		return nil
	}
	return ch.finish(false)
}

// quotaState returns the caller's quota after the charge if that is known, else as it was at
// admission.
func (ch *metering) quotaState() access.LimitState {
	if ch.reservation == stateSettled {
		return ch.charge.Quota
	}
	return ch.decision.Quota
}
