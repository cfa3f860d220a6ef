package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"ninepocket/access"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

const (
	maxSelections = 50
	maxVariant    = 100
	// waitForTwin is how long a request waits for the one in flight with the same idempotency key and body.
	waitForTwin = 10 * time.Second
)

// priceSelections answers POST /v1/prices/batch of the preview contract: parameters, then the idempotency key's
// record (decision 30), then the prices, then one transaction that keeps the reply and charges the unit.
func (x *exchange) priceSelections() *wire.Fault {
	key := string(x.field("Idempotency-Key")) // two lines make a list, which is no key
	if !validIdempotencyKey(key) {
		x.problem("the header Idempotency-Key is required: 1 to 64 of A-Z a-z 0-9 _ -")
	}
	selections := x.readSelections()
	if f := x.invalid(); f != nil {
		return f
	}
	ctx, cancel := context.WithTimeout(context.Background(), waitForTwin)
	defer cancel()
	ticket := x.decision.Ticket
	claim, err := x.s.Gate.Begin(ctx, ticket, key, hashSelections(selections), x.now)
	if err != nil {
		return x.unmetered(err)
	}
	switch claim.Outcome {
	case access.Replay:
		return x.replay(claim.Reply)
	case access.Conflict:
		return &wire.Fault{Code: wire.IdempotencyConflict, Detail: "The idempotency key was used with a different body within the last 10 minutes."}
	case access.Exhausted:
		x.decision.Allowance = claim.Allowance
		return &wire.Fault{
			Code: wire.QuotaExceeded, Detail: "The credits of the period are used up.", RetryAfter: int(claim.RetryAfter),
		}
	case access.Fresh, access.Wait:
	}
	defer func() {
		if x.charged {
			return
		}
		// A panic or a failed commit: nobody waits for this claim in vain. Abort ends the ticket.
		receipt, err := x.s.Gate.Abort(ticket, claim)
		if err != nil {
			receipt.Allowance = x.decision.Allowance
		}
		x.receipt, x.charged, x.admitted = receipt, true, false
	}()
	return x.price(selections, ticket, claim)
}

// price makes the data, keeps it with the claim and charges one unit.
func (x *exchange) price(selections []wire.Selection, ticket access.Ticket, claim access.Claim) *wire.Fault {
	// The kept reply is the snapshot's instant and the data: all of an answer that a replay repeats.
	reply := binary.BigEndian.AppendUint64(x.body[:0], uint64(x.view.Catalog.SnapshotAt))
	reply = append(reply, '[')
	for i := range selections {
		if i > 0 {
			reply = append(reply, ',')
		}
		reply = x.view.AppendPrice(reply, &selections[i])
	}
	reply = append(reply, ']')
	x.body = reply
	receipt, err := x.s.Gate.Commit(ticket, claim, reply)
	if err != nil {
		return x.unmetered(err)
	}
	x.receipt, x.charged, x.admitted = receipt, true, false
	x.wrapReply(bytes.Clone(reply), int(receipt.Charged), false)
	return nil
}

// replay answers with a kept reply: the original data and instant, a new request id, nothing charged.
func (x *exchange) replay(reply []byte) *wire.Fault {
	if len(reply) < 8 {
		return x.unmetered(errors.New("a kept reply is damaged"))
	}
	x.free = true
	x.wrapReply(reply, 0, true)
	return nil
}

func (x *exchange) wrapReply(reply []byte, units int, again bool) {
	x.body = append(x.body[:0], `{"data":`...)
	x.body = append(x.body, reply[8:]...)
	x.body = append(x.body, `,"meta":`...)
	x.body = wire.AppendMeta(x.body, wire.Meta{
		RequestID: string(x.id), SnapshotAt: int64(binary.BigEndian.Uint64(reply)), Units: units, Replay: again,
	})
	x.body = append(x.body, '}')
}

func validIdempotencyKey(key string) bool {
	for i := range len(key) {
		if !isWord(key[i]) && key[i] != '-' {
			return false
		}
	}
	return key != "" && len(key) <= 64
}

// hashSelections is the hash of a normalised body: its selections in order, whatever the order of their members.
func hashSelections(selections []wire.Selection) access.BodyHash {
	h := sha256.New()
	var length [4]byte
	for i := range selections {
		s := &selections[i]
		for _, part := range []string{s.Kind, s.ProductID, s.Variant, s.Condition} {
			binary.BigEndian.PutUint32(length[:], uint32(len(part)))
			_, _ = h.Write(length[:])
			_, _ = io.WriteString(h, part)
		}
	}
	return access.BodyHash(h.Sum(nil))
}

// readSelections reads a body {"items": […]} with 1 to maxSelections distinct selections. Problems are noted.
func (x *exchange) readSelections() []wire.Selection {
	var items []wire.Selection
	x.readArray("items", maxSelections, func(d *jsontext.Decoder, n int) error {
		s, err := x.decodeSelection(d, n)
		if err == nil && n < maxSelections {
			items = append(items, s)
		}
		return err
	})
	x.checkSelections(items)
	return items
}

// quoteName shows a member's name without letting it grow or hide anything.
func quoteName(name string) string {
	const longest = 40
	if len(name) > longest {
		name = name[:longest] + "…"
	}
	return string(wire.AppendString(nil, name))
}

// decodeSelection reads one selection; only the first few broken ones are described, the rest would be noise.
func (x *exchange) decodeSelection(d *jsontext.Decoder, n int) (s wire.Selection, err error) {
	at := "items[" + decimal(int64(n)) + "]"
	if d.PeekKind() != '{' {
		x.problem(at + " must be an object")
		return s, skipValue(d)
	}
	if _, err = d.ReadToken(); err != nil {
		return s, err
	}
	given := map[string]bool{}
	for d.PeekKind() != '}' {
		token, err := d.ReadToken()
		if err != nil {
			return s, err
		}
		name := token.String()
		given[name] = true
		field := map[string]*string{"kind": &s.Kind, "product_id": &s.ProductID, "variant": &s.Variant, "condition": &s.Condition}[name]
		switch {
		case field == nil:
			x.problem(at + " has the unknown member " + quoteName(name))
			err = skipValue(d)
		case d.PeekKind() != '"':
			x.problem(at + "." + name + " must be a string")
			delete(given, name)
			err = skipValue(d)
		default:
			if token, err = d.ReadToken(); err == nil {
				*field = token.String()
			}
		}
		if err != nil {
			return s, err
		}
	}
	if _, err = d.ReadToken(); err != nil {
		return s, err
	}
	x.checkSelection(&s, at, given)
	return s, nil
}

// checkSelection notes what a selection lacks or has too much, by its kind. Members of the wrong type were noted.
func (x *exchange) checkSelection(s *wire.Selection, at string, given map[string]bool) {
	if given["product_id"] && !x.validProductID(s.ProductID) {
		x.problem(at + ".product_id must have the form " + x.view.Site().ProductPrefix + "_[a-z0-9_]{3,64}")
	}
	needed := []string{"kind", "product_id"}
	switch {
	case !given["kind"]:
	case s.Kind == "card":
		needed = append(needed, "variant", "condition")
		if n := utf8.RuneCountInString(s.Variant); given["variant"] && (n < 1 || n > maxVariant || textProblem(s.Variant) != "") {
			x.problem(at + ".variant must have 1 to 100 characters")
		}
		if _, ok := snapshot.ParseCondition(s.Condition); given["condition"] && !ok {
			x.problem(at + ".condition must be one of near_mint, lightly_played, moderately_played, heavily_played, damaged, ungraded")
		}
	case s.Kind == "sealed":
		for _, name := range []string{"variant", "condition"} {
			if given[name] {
				x.problem(at + "." + name + " does not belong to a sealed selection")
			}
		}
	default:
		x.problem(at + ".kind must be card or sealed")
	}
	for _, name := range needed {
		if !given[name] {
			x.problem(at + "." + name + " is required")
		}
	}
}

// checkSelections notes exact duplicates, in whatever order their members were.
func (x *exchange) checkSelections(items []wire.Selection) {
	seen := make(map[wire.Selection]int, len(items))
	for i, s := range items {
		if s == (wire.Selection{}) {
			continue // nothing of it was read; that was noted
		}
		if first, again := seen[s]; again {
			x.problem("items[" + decimal(int64(i)) + "] repeats items[" + decimal(int64(first)) + "]")
			continue
		}
		seen[s] = i
	}
}
