package wire

// Range bounds a client's input: the characters of a text, the value of an integer, or the
// entries of a list.
type Range struct{ Min, Max int64 }

// Has reports whether n is within the range.
func (r Range) Has(n int64) bool { return r.Min <= n && n <= r.Max }

// MaxSelections is the largest number of selections in a preview price batch.
const MaxSelections = 50

// The bounds of all parameters, arguments and bodies. REST, the schemas of MCP and the OpenAPI
// document share these bounds; a test compares the document with them.
var (
	QueryText         = Range{1, 200} // free text
	SetText           = Range{1, 200} // a set's id, slug, code or name
	SeriesText        = Range{1, 200}
	RefText           = Range{1, 200} // id or slug of a card or set
	GameText          = Range{1, 64}
	NumberText        = Range{1, 32}
	RarityText        = Range{1, 64}
	VariantText       = Range{1, 64}
	IdentifierText    = Range{3, 301}  // NAMESPACE:VALUE
	DateText          = Range{10, 10}  // YYYY-MM-DD
	InstantText       = Range{20, 35}  // a date and time of RFC 3339
	PriceVariantText  = Range{1, 100}  // variant of a preview price selection
	SnapshotText      = Range{1, 200}  // a snapshot's id
	CursorText        = Range{1, 512}  // cursor of the live surface
	PreviewCursorText = Range{1, 1024} // cursor of the preview contract
	ProductTail       = Range{3, 64}   // what follows the prefix of a product id

	PriceCents  = Range{0, 100_000_000}
	PageLimit   = Range{1, 50} // entries of a page
	HistoryDays = Range{1, 365}
	Suggestions = Range{1, 10}
	ChangeLimit = Range{1, 5000} // of prices, which are some 750 KB

	CardIDs    = Range{1, 200} // ids and identifiers of a card batch, together
	PriceIDs   = Range{1, 100} // ids and identifiers of a live price batch, together
	HistoryIDs = Range{1, 50}  // ids and identifiers of a batch of histories, together
	Selections = Range{1, MaxSelections}
	ValueLines = Range{1, 50}   // lines of an MCP valuation
	ValueItems = Range{1, 1000} // items of a valuation over REST
	ValueLine  = Range{1, 400}  // a line as an app wrote it; the longest export rows have 300
	Copies     = Range{1, 9999} // copies of a card on one line
)

// Defaults of absent parameters.
const (
	DefaultPageLimit = 20
	DefaultDays      = 90

	DefaultSuggestions = 10
	DefaultChangeLimit = 1000
	MaxRecordChanges   = 1000 // of cards and of sets on a page
	MoversMinCents     = 500
)
