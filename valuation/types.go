package valuation

import (
	"math/bits"
	"slices"

	"ninepocket/snapshot"
)

// Item is a line of a list; "" for what it does not say.
type Item struct {
	ID         string // a card's id, slug or former slug, or what Identifier takes
	Identifier string // NAMESPACE:VALUE
	Line       string // the whole line, as an app or a person wrote it
	Name       string
	Set        string
	Number     string
	Game       string
	Variant    string
	Condition  string
	Quantity   int64 // 0 is what Line says, else 1
	// Picked says that somebody who saw the line chose ID and Variant for it. They know better than the
	// line, but for how many copies there are.
	Picked bool

	// What exports say besides.
	code          string    // of the set, where its name is none
	otherCopy     string    // that the copy is another one: a language, a grade
	uncertainID   bool      // Identifier may be one that the catalog does not have
	row           bool      // Line is a row, so that Name is a name
	unreadCells   string    // cells of the line that are no field of their own
	amount        moneyText // that stood in Name
	setTail       moneyText // that stood in Set
	assertions    []assertion
	noPriceReason string // why the line cannot be priced, whichever card it means
	remark        string // what the caller is to know of the reading
}

// Status is what became of a line.
type Status uint8

// The statuses.
const (
	Priced Status = iota
	Unpriced
	Ambiguous
	Unmatched
	Statuses
)

// StatusNames are the statuses as answers spell them.
var StatusNames = [Statuses]string{"priced", "unpriced", "ambiguous", "unmatched"}

// FieldSet is a set of fields that settle a line when they are given as the right card has them.
type FieldSet uint8

// The fields.
const (
	NameField FieldSet = 1 << iota
	SetField
	NumberField
	VariantField

	cardFields = NameField | SetField | NumberField // of what tells a card
)

// First is the field to give first, "" for none. A whole name goes before all others, because a plain
// name with set and number means the plain card.
func (a FieldSet) First() string { return fieldNames[bits.TrailingZeros8(uint8(a))] }

// fieldNames are the fields by their bits, the last one for no bit.
var fieldNames = [8 + 1]string{"name", "set", "number", "variant"}

// fieldTexts are the fields as a sentence says them.
var fieldTexts = [...]string{
	NumberField:             "the number",
	SetField:                "the set",
	SetField | NumberField:  "set and number",
	NameField:               "the whole name",
	NameField | NumberField: "the whole name and the number",
	NameField | SetField:    "the whole name and the set",
	cardFields:              "the whole name, set and number",
	VariantField:            "the variant",
}

// Text names the fields in a sentence, "" for none.
func (a FieldSet) Text() string { return fieldTexts[a] }

// Assumption is a given field that the returned price does not match.
type Assumption struct{ Field, Given, Used string }

// MaxCandidates is how many candidates a line gets.
const MaxCandidates = 3

// Result is what a line means and costs.
type Result struct {
	Status   Status
	Card     int // -1 when it is not certain
	Lane     int // of the price, -1 without one
	Quantity int64
	Cents    int64 // of one copy, snapshot.NoCents without a price
	Total    int64 // of all copies, 0 without a price

	Assumed    []Assumption // of a priced line
	Candidates []uint32     // likeliest first
	MatchCount int          // how many cards fit, where that is not one
	// Range is the lowest and the highest price of the matching cards, NoCents where none has a
	// price. They are the cards of an ambiguous line, or the variants and conditions of an unpriced
	// one.
	From, To int64
	Needed   FieldSet
	Remark   string // what the caller is to know, "" for nothing
}

// Assumes reports whether the price does not follow a field as it was given.
func (r *Result) Assumes(field string) bool {
	return slices.ContainsFunc(r.Assumed, func(a Assumption) bool { return a.Field == field })
}

// newResult is what a line means before a card is found.
func newResult(quantity int64) Result {
	return Result{
		Status: Unmatched, Card: -1, Lane: -1, Quantity: max(quantity, 1),
		Cents: snapshot.NoCents, From: snapshot.NoCents, To: snapshot.NoCents,
	}
}

// widen makes the range hold a price.
func (r *Result) widen(cents int64) {
	if cents < 0 {
		return
	}

	if r.From < 0 || cents < r.From {
		r.From = cents
	}
	r.To = max(r.To, cents)
}

// Totals add up results.
type Totals struct {
	Exact, Assumed int64 // cents of lines without and with assumptions
	Quantity       int64 // copies of priced lines
	Lines          int
	Counts         [Statuses]int
}

// Add adds a line.
func (t *Totals) Add(r *Result) {
	t.Lines++
	t.Counts[r.Status]++
	if r.Status != Priced {
		return
	}

	t.Quantity += r.Quantity

	// What is assumed has a total of its own (decision 2204).
	if len(r.Assumed) > 0 {
		t.Assumed += r.Total
	} else {
		t.Exact += r.Total
	}
}
