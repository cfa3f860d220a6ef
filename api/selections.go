package api

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"strings"
	"unicode/utf8"

	"ninepocket/access"
	"ninepocket/internal/jsonwalk"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// hashSelections reads POST /v1/prices/batch of the preview contract: its key and 1 to 50 distinct
// selections. It returns the hash of the selections in order, whatever the order of their members
// (decision 30).
func hashSelections(r *Request) (access.BodyHash, *wire.APIError) {
	switch {
	case len(r.Key) == 0:
		r.problem(`the header Idempotency-Key is required: send 1 to 64 letters, digits, "_" or "-", ` +
			"new for each request and the same for a retry")
	case len(r.Key) > 64 || strings.Trim(r.Key, idempotencyKeyBytes) != "":
		r.problem(`the header Idempotency-Key must be 1 to 64 letters, digits, "_" or "-" (got %s)`, QuoteInput(r.Key))
	}
	r.readSelections()
	if f := r.invalid(); f != nil {
		return access.BodyHash{}, f
	}

	// Lengths before texts: different lists of selections never have the same bytes.
	text := r.text[:0]
	for i := range r.selections {
		s := &r.selections[i]
		for _, part := range [...]*string{&s.Kind, &s.ProductID, &s.Variant, &s.Condition} {
			text = binary.BigEndian.AppendUint32(text, uint32(len(*part)))
			text = append(text, *part...)
		}
	}
	r.text = text
	return sha256.Sum256(text), nil
}

// idempotencyKeyBytes are the characters of an idempotency key.
const idempotencyKeyBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

// members is a set of the members of a selection.
type members uint8

const (
	hasKind members = 1 << iota
	hasProductID
	hasVariant
	hasCondition
)

// memberNames are the names of the members in the order of their bits.
var memberNames = [...]string{"kind", "product_id", "variant", "condition"}

// selectionMember returns where the value of a member goes, and its bit; nil for an unknown member.
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

// readSelections reads a body {"items": […]} of distinct selections into the request. It records
// problems. The selections alias the body.
func (r *Request) readSelections() {
	if !r.scanSelections() {
		r.decodeSelections()
	}
	r.checkRepeats()
}

// scanSelections is decodeSelections for a body in the usual encoding; false for any other.
func (r *Request) scanSelections() bool {
	r.selections = r.selections[:0]
	var given [wire.MaxSelections]members
	usual := scan(r.Body)

	ok := usual.list("items", wire.MaxSelections, func(in *scanner) bool {
		n := len(r.selections)
		r.selections = append(r.selections, wire.Selection{})
		return scanSelection(in, &r.selections[n], &given[n])
	})

	if ok { // problems are recorded only if the body was scanned completely
		for i := range r.selections {
			r.checkSelection(&r.selections[i], i, given[i])
		}
	}
	return ok
}

// scanSelection reads one selection whose members are strings, each at most once.
func scanSelection(in *scanner, s *wire.Selection, given *members) bool {
	if !in.next('{') {
		return false
	}

	for n := 0; ; n++ {
		// Most clients send the members in this order, without white space.
		name := memberNames[n%len(memberNames)]
		ok := in.expect(name)
		if !ok {
			name, ok = in.key()
		}
		if !ok {
			return false
		}
		value, bit := selectionMember(s, name)
		if bit == 0 || *given&bit != 0 {
			return false
		}
		*value, ok = in.str()
		if !ok {
			return false
		}
		*given |= bit

		if !in.next(',') {
			return in.next('}')
		}
	}
}

// decodeSelections is readSelections for any body, without the check for duplicates.
func (r *Request) decodeSelections() {
	r.selections = r.selections[:0]
	r.readArray("items", wire.Selections, func(value jsonwalk.Value, n int) {
		s := r.decodeSelection(value, n)
		if n < wire.MaxSelections {
			r.selections = append(r.selections, s)
		}
	})
}

// decodeSelection reads one selection. It records problems.
func (r *Request) decodeSelection(item jsonwalk.Value, n int) (s wire.Selection) {
	if item.Kind() != '{' {
		r.addItemError(n, " must be an object with kind and product_id (got %s)", jsonwalk.KindName(item.Kind()))
		return s
	}

	var given members
	for name, value := range item.Members() {
		member, bit := selectionMember(&s, name.Text())
		switch {
		case member == nil:
			r.addItemError(n, " has the unknown member %s (it takes %s)", QuoteInput(name.Text()),
				joinNames(memberNames[:]))
		case value.Kind() != '"':
			r.addItemError(n, ".%s must be a string (got %s)", name.Text(), jsonwalk.KindName(value.Kind()))
		default:
			*member = value.Text()
			given |= bit
		}
	}

	r.checkSelection(&s, n, given)
	return s
}

// checkSelection records the members that a selection of its kind lacks or must not have. Members
// of the wrong type are recorded already.
func (r *Request) checkSelection(s *wire.Selection, n int, given members) {
	if given&hasProductID != 0 && !r.validProductID(s.ProductID) {
		r.addItemError(n, ".product_id%s", r.badProductID(s.ProductID))
	}

	// The kind says which members belong to the selection.
	switch {
	case given&hasKind == 0:
	case s.Kind == "card":
		r.checkLane(s, n, given)
	case s.Kind == "sealed":
		r.itemProblems(n, given&(hasVariant|hasCondition), "does not belong to a sealed selection: leave it out")
	default:
		r.addItemError(n, ".kind must be one of card, sealed (got %s)", QuoteInput(s.Kind))
	}
	r.itemProblems(n, hasKind&^given, "is required: one of card, sealed")
	r.itemProblems(n, hasProductID&^given, "is required: GET /v1/products lists them")
}

// itemProblems records the same problem for each of some members of a selection.
func (r *Request) itemProblems(n int, of members, wrong string) {
	for ; of != 0; of &= of - 1 {
		r.addItemError(n, ".%s %s", memberNames[bits.TrailingZeros8(uint8(of))], wrong)
	}
}

// conditions are the values of a condition in a sentence.
const conditions = "one of near_mint, lightly_played, moderately_played, heavily_played, damaged, ungraded"

// checkLane records what is wrong with the variant and condition of a card.
func (r *Request) checkLane(s *wire.Selection, n int, given members) {
	r.itemProblems(n, hasVariant&^given,
		"is required of a card: price_options of GET /v1/products/{product_id} has them")
	r.itemProblems(n, hasCondition&^given, "is required of a card: "+conditions)

	length := int64(utf8.RuneCountInString(s.Variant))
	if given&hasVariant != 0 && (!wire.PriceVariantText.Has(length) || textProblem(s.Variant) != "") {
		r.addItemError(n, ".variant must have between %d and %d characters (got %d)",
			wire.PriceVariantText.Min, wire.PriceVariantText.Max, length)
	}
	if _, ok := snapshot.ParseCondition(s.Condition); given&hasCondition != 0 && !ok {
		r.addItemError(n, ".condition must be "+conditions+" (got %s)", QuoteInput(s.Condition))
	}
}

// checkRepeats records exact duplicates, whatever the order of their members.
func (r *Request) checkRepeats() {
	var seen duplicateSet
	for i := range r.selections {
		s := &r.selections[i]
		if *s == (wire.Selection{}) {
			continue // it could not be read, which is recorded already
		}

		// Selections of one product are few.
		hash := maphash.String(duplicateSeed, s.ProductID)
		same := func(k int) bool { return r.selections[k] == *s }
		if first, again := seen.add(hash, i, same); again {
			r.addItemError(i, " repeats items[%d]: ask for each selection once", first)
		}
	}
}
