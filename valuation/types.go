package valuation

import (
	"math/bits"
	"slices"

	"ninepocket/snapshot"
)

// Item is a line of a list; fields that it does not state are "".
type Item struct {
	ID         string // a card's id, slug or former slug, or a value of Identifier
	Identifier string // NAMESPACE:VALUE
	Line       string // the whole line, as an app or a person wrote it
	Name       string
	Set        string
	Number     string
	Game       string
	Variant    string
	Condition  string
	Quantity   int64 // 0 for the quantity in Line, or 1
	// Picked means that a person who saw the line chose ID and Variant for it. These take
	// precedence over the line, except for the quantity.
	Picked bool

	// Further columns of exports.
	code          string    // of the set, if its name is unknown
	otherCopy     string    // the word that makes the copy another one: a language, a grade
	uncertainID   bool      // the catalog may not have Identifier
	fromRow       bool      // Line is a row of cells, so Name is only a name
	unreadCells   string    // cells of the line that belong to no other field
	amount        moneyText // found in Name
	setTail       moneyText // found in Set
	assertions    []assertion
	chosen        bool   // an id has chosen the card
	onlyLine      bool   // only Line was given to find the card, and it is no row of an app
	reread        bool   // the line is as reread has it
	noPriceReason string // why the line cannot be priced, whichever card it means
	translated    string // a name in another language, as typed, "" for none
	remark        string // remarks for the caller about the reading of the line
}

// Status is the outcome of a line.
type Status uint8

// The statuses.
const (
	Priced Status = iota
	Unpriced
	Ambiguous
	Unmatched
	Statuses
)

// StatusNames are the statuses as responses write them.
var StatusNames = [Statuses]string{"priced", "unpriced", "ambiguous", "unmatched"}

// FieldSet is a set of fields that settle a line if the client sends them with the correct
// card's values.
type FieldSet uint8

// The fields.
const (
	NameField FieldSet = 1 << iota
	SetField
	NumberField
	VariantField

	cardFields = NameField | SetField | NumberField // the fields that identify a card
)

// First returns the name of the field to send first, "" for none. The whole name comes before all
// others, because a plain name with set and number means the plain card.
func (a FieldSet) First() string { return fieldNames[bits.TrailingZeros8(uint8(a))] }

// fieldNames are the names of the fields by bit; the last one is for the empty set.
var fieldNames = [8 + 1]string{"name", "set", "number", "variant"}

// fieldTexts are the sets of fields as a sentence has them.
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

// MaxCandidates is the maximum number of candidates of a line, and of alternates.
const MaxCandidates = 3

// Result is the meaning and the price of a line.
type Result struct {
	Status   Status
	Card     int // -1 if it is not certain
	Lane     int // of the price, -1 without one
	Quantity int64
	Cents    int64 // for one copy, snapshot.NoCents without a price
	Total    int64 // of all copies, 0 without a price

	Assumed    []Assumption // of a priced line
	Candidates []uint32     // likeliest first
	MatchCount int          // how many cards match, if not one
	// Other printings that match a line with a card as well, likeliest first, and their number.
	Alternates     []uint32
	AlternateCount int
	// The lowest and the highest price of the matching cards, NoCents without any. They are the
	// cards of an ambiguous line, or the variants and conditions of an unpriced line.
	From, To int64
	Needed   FieldSet
	Remark   string // what the caller should know, "" for nothing
	// Ignored is text next to an id that belongs to no card and changes nothing.
	Ignored []string
}

// Assumes reports whether the price differs from a given field.
func (r *Result) Assumes(field string) bool {
	return slices.ContainsFunc(r.Assumed, func(a Assumption) bool { return a.Field == field })
}

// newResult is the result of a line before a card is found.
func newResult(quantity int64) Result {
	return Result{
		Status: Unmatched, Card: -1, Lane: -1, Quantity: max(quantity, 1),
		Cents: snapshot.NoCents, From: snapshot.NoCents, To: snapshot.NoCents,
	}
}

// extendRange extends the range to a price.
func (r *Result) extendRange(cents int64) {
	if cents < 0 {
		return
	}

	if r.From < 0 || cents < r.From {
		r.From = cents
	}
	r.To = max(r.To, cents)
}

// Totals are the sums of results.
type Totals struct {
	Exact, Assumed int64 // cents of lines without and with assumptions
	Quantity       int64 // copies of priced lines
	Lines          int
	Counts         [Statuses]int
}

// Add adds the result of a line.
func (t *Totals) Add(r *Result) {
	t.Lines++
	t.Counts[r.Status]++
	if r.Status != Priced {
		return
	}

	t.Quantity += r.Quantity

	// Lines with assumptions have a total of their own (decision 2204).
	if len(r.Assumed) > 0 {
		t.Assumed += r.Total
	} else {
		t.Exact += r.Total
	}
}
