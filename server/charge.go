package server

import (
	"context"
	"time"

	"ninepocket/access"
)

// waitForTwin is how long a request waits for the one in flight with the same idempotency key and
// body.
const waitForTwin = 10 * time.Second

// charge is the metered side of one request. An admitted request holds a ticket, which ends exactly
// once: with finish, commit or abort, or with release where a handler panicked.
type charge struct {
	gate      *access.Gate
	principal *access.Principal // nil before the key was recognised
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
func (c *charge) admit(op access.Operation, now access.Instant) bool {
	c.decision = c.gate.Admit(c.principal, op, now)
	if c.decision.Verdict != access.Admitted {
		return false
	}
	c.ticket = held
	return true
}

// begin claims an idempotency key for a body. The outcome says whether the request is to run
// (access.Fresh), what it is answered with (access.Replay), or why it is refused. The ticket stays
// to be finished unless it is Fresh.
func (c *charge) begin(key string, body access.BodyHash, now access.Instant) (access.Claim, error) {
	ctx, cancel := context.WithTimeout(context.Background(), waitForTwin)
	defer cancel()

	claim, err := c.gate.Begin(ctx, c.decision.Ticket, key, body, now)
	switch {
	case err != nil: // the ticket is finished as a failure later
	case claim.Outcome == access.Fresh:
		c.claim = claim
		c.ticket = claimed
	case claim.Outcome == access.Exhausted:
		c.decision.Allowance = claim.Allowance
	}
	return claim, err
}

// commit keeps the reply of a claimed request and charges it: all or nothing. Where it fails, the
// claim is given up.
func (c *charge) commit(reply []byte) error {
	receipt, err := c.gate.Commit(c.decision.Ticket, c.claim, reply)
	if err != nil {
		c.abort()
		return err
	}

	c.receipt = receipt
	c.ticket = settled
	return nil
}

// abort gives up a claim, so that nobody waits for it in vain, and ends the ticket. If a failed
// commit gave the claim up already, the store ignores this call.
func (c *charge) abort() {
	receipt, err := c.gate.Abort(c.decision.Ticket, c.claim)
	// The meter failed, and that was told already: what remains is shown as it was at admission.
	if err != nil {
		receipt.Allowance = c.decision.Allowance
	}

	c.receipt = receipt
	c.ticket = settled
}

// finish ends the ticket, unless a commit or an abort did: a success is charged, anything else is
// not.
func (c *charge) finish(success bool) error {
	if c.ticket != held {
		return nil
	}

	receipt, err := c.gate.Finish(c.decision.Ticket, success)
	if err != nil {
		c.ticket = lost
		return err
	}
	c.receipt = receipt
	c.ticket = settled
	return nil
}

// release ends the ticket of a request whose handler panicked.
func (c *charge) release() error {
	if c.ticket == claimed {
		c.abort()
		return nil
	}
	return c.finish(false)
}

// allowance is what the caller may still do, as far as the meter was asked.
func (c *charge) allowance() access.Policy {
	if c.ticket == settled {
		return c.receipt.Allowance
	}
	return c.decision.Allowance
}
