package snapshot

import (
	"math"

	"ninepocket/calendar"
)

// Limits of a catalog: what the fields of docs/API.md and the format's 32-bit offsets can carry.
const (
	// MaxCents is the largest amount of money (docs/API.md, Money).
	MaxCents = 9007199254740991
	// MaxName bounds names in code points (docs/API.md, Product).
	MaxName = 200
	// MaxNumber bounds collector numbers in code points (docs/API.md, Product).
	MaxNumber = 100
	// MaxPrinting bounds printings in code points (docs/API.md, Product).
	MaxPrinting = 100
	// MaxVariant bounds variants in code points (docs/API.md, PriceOption).
	MaxVariant = 100
	// HistoryDays is how many UTC dates of history a lane keeps, the snapshot's own date included.
	HistoryDays = 365
	// NoCents marks a price that is not known: it is never zero.
	NoCents = int64(-1)
	// NoTime marks an instant that is not known.
	NoTime = int64(math.MinInt64)
	// NoSet is the Set of a card without one.
	NoSet = int32(-1)
)

// Day is a UTC date as days since 1970-01-01.
type Day = calendar.Day

// NoDay marks a date that is not known.
const NoDay = Day(math.MinInt32)

// DayOf is [calendar.DayOf].
func DayOf(ms int64) Day { return calendar.DayOf(ms) }

// ParseDay is [calendar.ParseDay].
func ParseDay(s string) (Day, error) { return calendar.ParseDay(s) }

// Condition is the state of a copy of a card. A variant's display price is that of the first
// condition, in the order of the values, that has a price (decision 19).
type Condition uint8

// The conditions. Sealed products have FactorySealed and no other; cards never have it.
const (
	NearMint Condition = iota
	Ungraded
	LightlyPlayed
	ModeratelyPlayed
	HeavilyPlayed
	Damaged
	FactorySealed
	conditions // how many there are
)

var conditionCodes = [conditions]string{
	"near_mint", "ungraded", "lightly_played", "moderately_played", "heavily_played", "damaged", "factory_sealed",
}

var conditionTexts = [conditions]string{
	"Near Mint", "Ungraded", "Lightly Played", "Moderately Played", "Heavily Played", "Damaged", "Factory Sealed",
}

// Code is the condition as the preview contract spells it.
func (c Condition) Code() string { return conditionCodes[c] }

// Text is the condition as the live surface shows it (decision 17).
func (c Condition) Text() string { return conditionTexts[c] }

// ParseCondition reads the code of a condition that cards have.
func ParseCondition(code string) (Condition, bool) {
	for condition := range FactorySealed {
		if conditionCodes[condition] == code {
			return condition, true
		}
	}
	return 0, false
}

// Catalog is one catalog at one instant.
//
// Cards are numbered by display price: the dearest has number 0, and cards without a price come
// last. Cards of one price are in catalog order (decision 22). So a card's number is its rank in
// price_desc, and a price range is a range of numbers.
//
// An item is a card or a sealed product. Items are numbered, cards first: item i is card i, or else
// sealed product i-len(cards).
type Catalog struct {
	// ID is the snapshot's id; empty until the catalog was stored.
	ID string
	// SnapshotAt is the instant the catalog describes, in milliseconds since 1970 (decision 28).
	SnapshotAt int64

	Games       GameNames
	Sets        Sets
	Cards       Cards
	Sealed      Sealed
	Feeds       Feeds
	Variants    Strings // in display order (decision 19); entry 0 is "", the variant of sealed products
	Identifiers Identifiers
	Lanes       Lanes
	History     History
	Stats       Stats
	Movers      Movers
	Registry    Registry
	Aliases     Aliases
	// Fit says for each card how likely a searcher means it, when several cards answer the words
	// equally well. A larger number is likelier. Fit is empty when the snapshot does not say.
	Fit []uint32
	// Gaps are the days and groups that a feed has no prices for.
	Gaps Gaps
}

// GameNames are the games of a catalog in the order of decision 22.
type GameNames struct{ Slug, Name Strings }

// Sets are in the order of decision 22: newest first, those without a date last, then by name and
// id.
type Sets struct {
	ID, Slug, Name, Series, Code Strings
	Game                         []uint8
	Release                      []Day // NoDay when not known
	Cards                        []uint32
	Aliases                      Lists   // list i is the rows of Alias that belong to set i
	Alias                        Strings // names and codes that a filter takes besides ID, Slug, Name and Code
	// Total is the number that a set's cards have after the slash (102 of "4/102"). It is 0 when no
	// source says it.
	Total []uint16
}

// Cards are the cards by number.
type Cards struct {
	ID, Slug, Name, Number, Rarity, Printing, Image Strings // Image is a file name in the operator's image folder
	Game                                            []uint8
	Set                                             []int32  // NoSet when the card has none
	Order                                           []uint32 // rank in catalog order (decision 22)
	UpdatedAt                                       []int64  // when the catalog entry last changed, ms
	Product                                         []uint8  // 1 when the identity is verified (decision 27)
	Display                                         []int32  // the lane of the display price, -1 when unpriced
}

// Sealed are the verified sealed products, by id. Tail is the public id without its prefix.
type Sealed struct {
	Tail, Name, PackageType, UnitKind, Edition Strings
	Game                                       []uint8
	Units                                      []uint32
	UpdatedAt                                  []int64
}

// Feeds are the price feeds. They say to whom an observation is attributed.
type Feeds struct{ Namespace, Attribution, Partner Strings }

// Identifiers are the ids that items have in other namespaces. List i of Of is item i's.
type Identifiers struct {
	Of               Lists
	Namespace, Value Strings
}

// Flags of a lane.
const (
	// LaneLicensed: the lane's price may be distributed.
	LaneLicensed = 1 << iota
	// LaneDisplay: the lane stands for its variant in display prices, history, statistics and
	// changes (decision 19).
	LaneDisplay
)

// Lanes are the prices of items: a lane is one item in one variant and one condition. List i of Of
// is item i's lanes, in variant order and then in condition order. A catalog keeps a lane that was
// observed within HistoryDays, licensed or not (decision 27). It stores no price that may not be
// distributed.
type Lanes struct {
	Of          Lists
	Variant     []uint16
	Condition   []uint8
	Flags       []uint8
	Feed        []uint8
	Cents       []int64 // current price, NoCents when there is none
	SourceAsOf  []int64 // when the source observed the current price, ms; NoTime when not known
	CollectedAt []int64 // when the current price was collected, ms; NoTime without a price
	Base7       []int64 // the price that the 7-day change begins at (decision 20), NoCents without one
	Base30      []int64 // the same for 30 days
	Seen        []Day   // the last date with a row, with a price or without
}

// History holds the points of each lane. List i of Of is the range of bytes of Points that is lane
// i's; see AppendPoints for their form.
type History struct {
	Of     Lists
	Points []byte
}

// Stats are the statistics of display lanes over the windows of StatWindows. A lane has three rows:
// row 3*k+w is window w of lane Lane[k].
type Stats struct {
	Lane                        []uint32 // ascending
	Min, Max, Mean, First, Last []int64
	FirstDay, LastDay           []Day
	Points                      []uint16
}

// Movers are the cards whose display price changed over 7 days, biggest first (decision 21).
type Movers struct{ Up, Down []uint32 }

// Registry is what must outlive a card. It has every source reference that was ever seen, with the
// id that it got. And it has every former slug, with the id that the slug leads to.
type Registry struct {
	Ref, RefID   Strings // ascending by Ref; Ref is "namespace\x00ref"
	Slug, SlugID Strings // ascending by Slug, then SlugID
}

// Gaps are what a daily feed has no prices for (decision 1903). A row is a whole day, or one group
// on a day on which other groups have prices. Rows are in the order of feed, game, day and group.
type Gaps struct {
	Feed  []uint8
	Game  []uint8
	Day   []Day
	Group Strings // the feed's own key of the group, "" for the whole day
	Set   []int32 // the set that the group is, NoSet when it is none
}

// Aliases are phrases that people use for a card or for other words (docs/SEARCH.md, Other names).
type Aliases struct {
	Phrase, Replacement Strings
	Game                []uint8 // AnyGame when the phrase means the same in every game
	Card                []int32 // -1 when the phrase stands for words, which are its Replacement
}

// AnyGame is the game of an alias that holds in every game.
const AnyGame = 255

// NumItems is the number of cards and sealed products.
func (c *Catalog) NumItems() int { return c.Cards.ID.Len() + c.Sealed.Tail.Len() }

// Date is the UTC date of the snapshot.
func (c *Catalog) Date() Day { return DayOf(c.SnapshotAt) }

// Size is about how much memory the catalog holds, in bytes.
func (c *Catalog) Size() int64 {
	measure := &measure{format: Format}
	for _, section := range sections {
		section.walk(c, measure)
	}
	for _, section := range optionalSections {
		section.walk(c, measure)
	}
	return measure.memory
}
