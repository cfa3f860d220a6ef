package server

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/maphash"
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
	claim, err := x.s.Gate.Begin(ctx, ticket, key, x.hashSelections(selections), x.now)
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
	// The kept reply is the snapshot's instant and the data: all of an answer that a replay repeats. The instant stands where
	// the answer's beginning will.
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
	copy(x.body, replyStart)
	x.endReply(x.view.Catalog.SnapshotAt, int(receipt.Charged), false)
	return nil
}

// replay answers with a kept reply: the original data and instant, a new request id, nothing charged.
func (x *exchange) replay(reply []byte) *wire.Fault {
	if len(reply) < len(replyStart) {
		return x.unmetered(errors.New("a kept reply is damaged"))
	}
	x.free = true
	x.body = append(append(x.body[:0], replyStart...), reply[len(replyStart):]...)
	x.endReply(int64(binary.BigEndian.Uint64(reply)), 0, true)
	return nil
}

// replyStart begins an answer, in as many bytes as the instant has that begins what is kept of it.
const replyStart = `{"data":`

// endReply ends an answer whose body holds the data.
func (x *exchange) endReply(snapshotAt int64, units int, again bool) {
	x.body = append(x.body, `,"meta":`...)
	x.body = wire.AppendMeta(x.body, wire.Meta{RequestID: string(x.id), SnapshotAt: snapshotAt, Units: units, Replay: again})
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
func (x *exchange) hashSelections(selections []wire.Selection) access.BodyHash {
	text := x.text[:0]
	for i := range selections {
		s := &selections[i]
		for _, part := range [...]string{s.Kind, s.ProductID, s.Variant, s.Condition} {
			text = binary.BigEndian.AppendUint32(text, uint32(len(part)))
			text = append(text, part...)
		}
	}
	x.text = text
	return sha256.Sum256(text)
}

// members is a set of a selection's members.
type members uint8

const (
	hasKind members = 1 << iota
	hasProductID
	hasVariant
	hasCondition
)

// selectionMember is a member by its name, where its value goes, and its bit; nil for what is none.
func selectionMember(s *wire.Selection, name string) (*string, members) {
	switch name {
	case "kind":
		return &s.Kind, hasKind
	case "product_id":
		return &s.ProductID, hasProductID
	case "variant":
		return &s.Variant, hasVariant
	case "condition":
		return &s.Condition, hasCondition
	}
	return nil, 0
}

// readSelections reads a body {"items": […]} with 1 to maxSelections distinct selections. Problems are noted. The
// selections alias the request, and the list is the exchange's.
func (x *exchange) readSelections() []wire.Selection {
	if !x.scanSelections() {
		x.decodeSelections()
	}
	x.checkRepeats(x.selections)
	return x.selections
}

// decodeSelections is readSelections of any body, but for repeated ones.
func (x *exchange) decodeSelections() {
	x.selections = x.selections[:0]
	x.readArray("items", maxSelections, func(d *jsontext.Decoder, n int) error {
		s, err := x.decodeSelection(d, n)
		if err == nil && n < maxSelections {
			x.selections = append(x.selections, s)
		}
		return err
	})
}

// scanSelections is decodeSelections of a body that is spelt as usual; false for any other.
func (x *exchange) scanSelections() bool {
	x.selections = x.selections[:0]
	var given [maxSelections]members
	usual := scan(x.ctx.PostBody())
	ok := usual.list("items", maxSelections, func(in *scanner) bool {
		n := len(x.selections)
		x.selections = append(x.selections, wire.Selection{})
		s := &x.selections[n]
		if !in.next('{') {
			return false
		}
		for {
			name, ok := in.key()
			if !ok {
				return false
			}
			value, bit := selectionMember(s, name)
			if bit == 0 || given[n]&bit != 0 {
				return false
			}
			if *value, ok = in.str(); !ok {
				return false
			}
			given[n] |= bit
			if !in.next(',') {
				return in.next('}')
			}
		}
	})
	if ok { // problems are noted once nothing can be wrong with the body as such
		for i := range x.selections {
			x.checkSelection(&x.selections[i], i, given[i])
		}
	}
	return ok
}

// quoteName shows a member's name without letting it grow or hide anything.
func quoteName(name string) string {
	const longest = 40
	if len(name) > longest {
		name = name[:longest] + "…"
	}
	return string(wire.AppendString(nil, name))
}

// itemProblem notes what is wrong with a selection.
func (x *exchange) itemProblem(n int, text string) {
	if len(x.problems) == maxProblems {
		x.unnamed++ // only the first few are described, the rest would be noise
		return
	}
	x.problem("items[" + decimal(int64(n)) + "]" + text)
}

// decodeSelection reads one selection.
func (x *exchange) decodeSelection(d *jsontext.Decoder, n int) (s wire.Selection, err error) {
	if d.PeekKind() != '{' {
		x.itemProblem(n, " must be an object")
		return s, skipValue(d)
	}
	if _, err = d.ReadToken(); err != nil {
		return s, err
	}
	var given members
	for d.PeekKind() != '}' {
		token, err := d.ReadToken()
		if err != nil {
			return s, err
		}
		name := token.String()
		value, bit := selectionMember(&s, name)
		switch {
		case value == nil:
			x.itemProblem(n, " has the unknown member "+quoteName(name))
			err = skipValue(d)
		case d.PeekKind() != '"':
			x.itemProblem(n, "."+name+" must be a string")
			err = skipValue(d)
		default:
			if token, err = d.ReadToken(); err == nil {
				*value = token.String()
				given |= bit
			}
		}
		if err != nil {
			return s, err
		}
	}
	if _, err = d.ReadToken(); err != nil {
		return s, err
	}
	x.checkSelection(&s, n, given)
	return s, nil
}

// checkSelection notes what a selection lacks or has too much, by its kind. Members of the wrong type were noted.
func (x *exchange) checkSelection(s *wire.Selection, n int, given members) {
	if given&hasProductID != 0 && !x.validProductID(s.ProductID) {
		x.itemProblem(n, ".product_id must have the form "+x.view.Site().ProductPrefix+"_[a-z0-9_]{3,64}")
	}
	needed := hasKind | hasProductID
	switch {
	case given&hasKind == 0:
	case s.Kind == "card":
		needed |= hasVariant | hasCondition
		if given&hasVariant != 0 && !validVariant(s.Variant) {
			x.itemProblem(n, ".variant must have 1 to 100 characters")
		}
		if _, ok := snapshot.ParseCondition(s.Condition); given&hasCondition != 0 && !ok {
			x.itemProblem(n, ".condition must be one of near_mint, lightly_played, moderately_played, heavily_played, damaged, ungraded")
		}
	case s.Kind == "sealed":
		if given&hasVariant != 0 {
			x.itemProblem(n, ".variant does not belong to a sealed selection")
		}
		if given&hasCondition != 0 {
			x.itemProblem(n, ".condition does not belong to a sealed selection")
		}
	default:
		x.itemProblem(n, ".kind must be card or sealed")
	}
	if needed&^given == 0 {
		return
	}
	for bit, name := range [...]string{"kind", "product_id", "variant", "condition"} { // in the order of their bits
		if (needed&^given)>>bit&1 != 0 {
			x.itemProblem(n, "."+name+" is required")
		}
	}
}

// validVariant reports whether a variant has 1 to maxVariant characters.
func validVariant(s string) bool {
	n := utf8.RuneCountInString(s)
	return n >= 1 && n <= maxVariant && textProblem(s) == ""
}

// checkRepeats notes exact duplicates, in whatever order their members were.
func (x *exchange) checkRepeats(items []wire.Selection) {
	var seen doubles
	for i := range items {
		s := &items[i]
		if *s == (wire.Selection{}) {
			continue // nothing of it was read; that was noted
		}
		// Selections of one product are few.
		hash := maphash.String(doublesSeed, s.ProductID)
		if first, again := seen.enter(hash, i, func(k int) bool { return items[k] == *s }); again {
			x.itemProblem(i, " repeats items["+decimal(int64(first))+"]")
		}
	}
}
