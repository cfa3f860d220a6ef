package server

import (
	"cmp"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/wire"
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
	claim       access.Claim         // of an idempotent request, valid in stateClaimed
	charge      access.Charge        // valid in stateSettled
	further     []access.Reservation // units beyond the first
}

// reservationState is the state of a request's reservation.
type reservationState uint8

const (
	stateNone     reservationState = iota // not admitted
	stateReserved                         // finish must follow
	stateClaimed                          // with a claim: commit or abort must follow
	stateSettled                          // ended, with a charge
	stateFailed                           // ended without a known charge: metering failed
)

// admit makes a reservation; if it returns false, the decision has the reason.
func (m *metering) admit(op access.Operation, now access.Instant) bool {
	m.decision = m.gate.Admit(m.principal, op, now)
	if m.decision.Result != access.Admitted {
		return false
	}
	m.reservation = stateReserved
	return true
}

// begin claims an idempotency key for a body. The result says whether the request runs
// (access.Fresh), which stored response it gets (access.Replay), or why it is refused. Unless it is
// Fresh, finish must still follow.
func (m *metering) begin(key string, body access.BodyHash, now access.Instant) (access.Claim, error) {
	claim, err := m.gate.Begin(idempotencyWait, m.decision.Reservation, key, body, now)
	switch {
	case err != nil: // finish ends the reservation as a failure later
	case claim.Result == access.Fresh:
		m.claim = claim
		m.reservation = stateClaimed
	case claim.Result == access.Exhausted:
		m.decision.Result = access.QuotaExceeded
		m.decision.Quota = claim.Quota
		m.decision.RetryAfter = claim.RetryAfter
	}
	return claim, err
}

// commit stores the response of a claimed request and charges the request, both or neither. If it
// fails, it aborts the claim, and returns why the commit failed.
func (m *metering) commit(reply []byte) error {
	charge, err := m.gate.Commit(m.decision.Reservation, m.claim, reply)
	if err != nil {
		_ = m.abort()
		return err
	}
	return m.settle(charge, nil)
}

// abort gives up a claim, so that no request waits for it in vain, and ends the reservation. If a
// failed commit gave up the claim already, the store ignores this call.
func (m *metering) abort() error { return m.settle(m.gate.Abort(m.decision.Reservation, m.claim)) }

// settle records how the store ended the reservation: with a charge, or with a failure, after which
// the quota has its value at admission.
func (m *metering) settle(charge access.Charge, err error) error {
	if err != nil {
		m.reservation = stateFailed
		return err
	}
	m.charge = charge
	m.reservation = stateSettled
	return nil
}

// finish ends the reservation, unless commit or abort did: only a success is charged.
func (m *metering) finish(success bool) error {
	if m.reservation != stateReserved {
		return nil
	}

	// The call's own reservation ends last, so that its charge shows the quota after all charges.
	var failure error
	if m.further != nil {
		failure = m.gate.FinishFurther(m.principal, m.further, success)
		m.further = nil
	}
	charge, err := m.gate.Finish(m.decision.Reservation, success)
	return m.settle(charge, cmp.Or(err, failure))
}

// Reserve admits n further units for an operation that counts as several requests, all or none.
func (m *metering) Reserve(n int) *wire.APIError {
	res := &m.decision.Reservation
	units, refused, busy := m.gate.AdmitFurther(m.principal, res.Spec.Operation, n, res.Now)
	switch {
	case busy:
		return rateLimited(int(m.decision.Minute.Wait),
			"a large request of this key is being worked on: send one after the other")
	case refused != nil:
		m.decision.Quota = refused.Quota
		return liveSurface.denied(refused)
	}
	m.further = units
	return nil
}

// release ends the reservation of a request whose handler panicked.
func (m *metering) release() error {
	if m.reservation == stateClaimed {
		return m.abort()
	}
	return m.finish(false)
}

// quotaState returns the caller's quota after the charge if that is known, else at admission.
func (m *metering) quotaState() access.LimitState {
	if m.reservation == stateSettled {
		return m.charge.Quota
	}
	return m.decision.Quota
}
