package server

import (
	"context"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
)

// waitForTwin is how long a request waits for the one in flight with the same idempotency key and
// body.
const waitForTwin = 10 * time.Second

// charge is the metered side of one request. An admitted request holds a ticket, which ends exactly
// once: with finish, commit or abort, or with release where a handler panicked.
type charge struct {
	gate      *access.Gate
	principal *keys.Principal // nil before the key was recognised
	decision  access.Decision
	ticket    ticketState
	claim     access.Claim   // of an idempotent request, valid while the ticket is claimed
	receipt   access.Receipt // valid once the ticket is settled
}

// ticketState is how far a request's ticket has come.
type ticketState uint8

const (
	noTicket ticketState = iota // not admitted
	held                        // to be finished
	claimed                     // held with a claim: to be committed or aborted
	settled                     // ended, and the receipt says what it cost
	lost                        // ended as far as this request goes: the meter failed
)

// admit asks for a ticket; it is false when the decision says why there is none.
func (ch *charge) admit(op access.Operation, now access.Instant) bool {
	ch.decision = ch.gate.Admit(ch.principal, op, now)
	if ch.decision.Verdict != access.Admitted {
		return false
	}
	ch.ticket = held
	return true
}

// begin claims an idempotency key for a body. The outcome says whether the request is to run
// (access.Fresh), what it is answered with (access.Replay), or why it is refused. The ticket stays
// to be finished unless it is Fresh.
func (ch *charge) begin(key string, body access.BodyHash, now access.Instant) (access.Claim, error) {
	ctx, cancel := context.WithTimeout(context.Background(), waitForTwin)
	defer cancel()

	claim, err := ch.gate.Begin(ctx, ch.decision.Ticket, key, body, now)
	switch {
	case err != nil: // the ticket is finished as a failure later
	case claim.Outcome == access.Fresh:
		ch.claim = claim
		ch.ticket = claimed
	case claim.Outcome == access.Exhausted:
		ch.decision.Allowance = claim.Allowance
	}
	return claim, err
}

// commit keeps the reply of a claimed request and charges it: all or nothing. Where it fails, the
// claim is given up.
func (ch *charge) commit(reply []byte) error {
	receipt, err := ch.gate.Commit(ch.decision.Ticket, ch.claim, reply)
	if err != nil {
		ch.abort()
		return err
	}

	ch.receipt = receipt
	ch.ticket = settled
	return nil
}

// abort gives up a claim, so that nobody waits for it in vain, and ends the ticket. If a failed
// commit gave the claim up already, the store ignores this call.
func (ch *charge) abort() {
	receipt, err := ch.gate.Abort(ch.decision.Ticket, ch.claim)
	// The meter failed, and that was told already: what remains is shown as it was at admission.
	if err != nil {
		receipt.Allowance = ch.decision.Allowance
	}

	ch.receipt = receipt
	ch.ticket = settled
}

// finish ends the ticket, unless a commit or an abort did: a success is charged, anything else is
// not.
func (ch *charge) finish(success bool) error {
	if ch.ticket != held {
		return nil
	}

	receipt, err := ch.gate.Finish(ch.decision.Ticket, success)
	if err != nil {
		ch.ticket = lost
		return err
	}
	ch.receipt = receipt
	ch.ticket = settled
	return nil
}

// release ends the ticket of a request whose handler panicked.
func (ch *charge) release() error {
	if ch.ticket == claimed {
		ch.abort()
		return nil
	}
	return ch.finish(false)
}

// allowance is what the caller may still do, as far as the meter was asked.
func (ch *charge) allowance() access.Policy {
	if ch.ticket == settled {
		return ch.receipt.Allowance
	}
	return ch.decision.Allowance
}
