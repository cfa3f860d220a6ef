package snapshot

import (
	"math"
	"slices"

	"ninepocket/calendar"
)

// Limits of a catalog: the capacity of the fields of docs/API.md and of the format's 32-bit offsets.
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

// NoDay marks a date that is not known, and MaxDay is after all dates.
const (
	NoDay  = Day(math.MinInt32)
	MaxDay = Day(math.MaxInt32)
)

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

// Code is the condition as the preview contract writes it.
func (c Condition) Code() string { return conditionCodes[c] }

// Text is the condition as the live surface shows it (decision 17).
func (c Condition) Text() string { return conditionTexts[c] }

// ParseCondition reads the code of a condition that cards have.
func ParseCondition(code string) (Condition, bool) {
	i := slices.Index(conditionCodes[:FactorySealed], code)
	return Condition(max(i, 0)), i >= 0
}

// Catalog is one catalog at one instant.
//
// Cards are numbered by display price: the most expensive has number 0, and cards without a price come
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
	Registry    IDHistory
	Aliases     Aliases
	// Prior is the likelihood of each card if several cards match the words equally well. A larger
	// number is likelier. Fit is empty when the snapshot has no priors.
	Prior []uint32
	// Gaps are the days and groups that a feed has no prices for.
	Gaps Gaps
	// GapReasons says of each row of Gaps why its group has no prices of the day (decision 3402). It
	// is empty when no row has a reason.
	GapReasons Strings
	// Names are the names of cards in other languages.
	Names Names
	// Unlisted are the items that no source lists any more.
	Unlisted Unlisted
	// Gone are the cards of earlier catalogs that this one does not have.
	Gone Gone
	// Reserved are the feeds whose operator does not allow the catalog to be passed on as a whole.
	Reserved []uint8
	// Unclaimed are references that had prices before the catalog had an item for them.
	Unclaimed Unclaimed
	// Companion is for another API's contract. Load leaves it empty.
	Companion Companion
}

// GameNames are the games of a catalog in the order of decision 22. The tag of a field is the name
// of its column in the format, here and in the tables below.
type GameNames struct {
	Slug Strings `column:"slug"`
	Name Strings `column:"name"`
}

// Sets are in the order of decision 22: newest first, those without a date last, then by name and
// id.
type Sets struct {
	ID      Strings  `column:"id"`
	Slug    Strings  `column:"slug"`
	Name    Strings  `column:"name"`
	Series  Strings  `column:"series"`
	Code    Strings  `column:"code"`
	Game    []uint8  `column:"game"`
	Release []Day    `column:"release"` // NoDay when not known
	Cards   []uint32 `column:"cards"`
	Aliases Lists    `column:"aliases"` // list i is the rows of Alias that belong to set i
	Alias   Strings  `column:"alias"`   // names and codes that a filter takes besides ID, Slug, Name and Code
	// Total is the number that a set's cards have after the slash (102 of "4/102"). It is 0 if no
	// source has it.
	Total []uint16 `column:"total" since:"2"`
}

// Cards are the cards by number.
type Cards struct {
	ID        Strings  `column:"id"`
	Slug      Strings  `column:"slug"`
	Name      Strings  `column:"name"`
	Number    Strings  `column:"number"`
	Rarity    Strings  `column:"rarity"`
	Printing  Strings  `column:"printing"`
	Image     Strings  `column:"image"` // a file name in the operator's image folder
	Game      []uint8  `column:"game"`
	Set       []int32  `column:"set"`        // NoSet when the card has none
	Order     []uint32 `column:"order"`      // rank in catalog order (decision 22)
	UpdatedAt []int64  `column:"updated_at"` // when the catalog entry last changed, ms
	Product   []uint8  `column:"product"`    // 1 when the identity is verified (decision 27)
	Display   []int32  `column:"display"`    // the lane of the display price, -1 when unpriced
}

// Sealed are the verified sealed products, by id. Tail is the public id without its prefix.
type Sealed struct {
	Tail        Strings  `column:"tail"`
	Name        Strings  `column:"name"`
	PackageType Strings  `column:"package_type"`
	UnitKind    Strings  `column:"unit_kind"`
	Edition     Strings  `column:"edition"`
	Game        []uint8  `column:"game"`
	Units       []uint32 `column:"units"`
	UpdatedAt   []int64  `column:"updated_at"`
}

// Feeds are the price feeds. They say to whom an observation is attributed.
type Feeds struct {
	Namespace   Strings `column:"namespace"`
	Attribution Strings `column:"attribution"`
	Partner     Strings `column:"partner"`
}

// Identifiers are the ids that items have in other namespaces. List i of Of is item i's.
type Identifiers struct {
	Of        Lists   `column:"of"`
	Namespace Strings `column:"namespace"`
	Value     Strings `column:"value"`
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
	Of          Lists    `column:"of"`
	Variant     []uint16 `column:"variant"`
	Condition   []uint8  `column:"condition"`
	Flags       []uint8  `column:"flags"`
	Feed        []uint8  `column:"feed"`
	Cents       []int64  `column:"cents"`        // current price, NoCents when there is none
	SourceAsOf  []int64  `column:"source_as_of"` // when the source observed the current price, ms, or NoTime
	CollectedAt []int64  `column:"collected_at"` // when the current price was collected, ms; NoTime without a price
	// Price7DaysAgo is the price that the 7-day change begins at (decision 20), or NoCents
	Price7DaysAgo  []int64 `column:"base_7"`
	Price30DaysAgo []int64 `column:"base_30"` // the same for 30 days
	LastSeen       []Day   `column:"seen"`    // the last date with a row, with a price or without
}

// History holds the points of lanes, a list for each lane. List i of Of is a range of bytes of Points; see
// EncodePoints for their form. Points of closed days are in Closed.
type History struct {
	Of     Lists        `column:"of"`
	Points PackedPoints `column:"points"`
	List   []uint32     `column:"list" since:"4"` // the list of each lane; empty if lane i has list i
	Closed *Closed      // nil for no closed days
}

// Closed holds the points of days that are over for good (decision 4302). A day later the same lanes have
// the same, so that the next snapshot takes them over as they are. List i of Of is that of list i of History:
// its bytes are the points of that list's lane. Further lists of History have no point on these days.
type Closed struct {
	Days   []Day        `column:"days"` // the first and the last of them
	Of     Lists        `column:"of"`
	Points PackedPoints `column:"points"`

	stored *storedClosed // nil for a catalog that is not stored
}

// PackedPoints are the points of all lanes. They are most of a snapshot, so a catalog uses the
// bytes that were read, without a copy.
type PackedPoints []byte

// Stats are the statistics of display lanes over the windows of StatWindows. A lane has three rows:
// row 3*k+w is window w of lane Lane[k].
type Stats struct {
	Lane     []uint32 `column:"lane"` // ascending
	Min      []int64  `column:"min"`
	Max      []int64  `column:"max"`
	Mean     []int64  `column:"mean"`
	First    []int64  `column:"first"`
	Last     []int64  `column:"last"`
	FirstDay []Day    `column:"first_day"`
	LastDay  []Day    `column:"last_day"`
	Points   []uint16 `column:"points"`
}

// Movers are the cards whose display price changed over 7 days, biggest first (decision 21).
type Movers struct {
	Up   []uint32 `column:"up"`
	Down []uint32 `column:"down"`
}

// IDHistory maps all source references and slugs ever issued to ids. It has every source reference
// that was ever seen, with the id that it got. And it has every former slug, with the id that the
// slug leads to.
type IDHistory struct {
	Ref    Strings `column:"ref"` // ascending; "namespace\x00ref"
	RefID  Strings `column:"ref_id"`
	Slug   Strings `column:"slug"` // ascending, then by SlugID
	SlugID Strings `column:"slug_id"`
}

// Gaps are missing prices of a daily feed (decision 1903). A row is a whole day, or one group on a
// day on which other groups have prices. Rows are in the order of feed, game, day and group.
type Gaps struct {
	Feed  []uint8 `column:"feed"`
	Game  []uint8 `column:"game"`
	Day   []Day   `column:"day"`
	Group Strings `column:"group"` // the feed's own key of the group, "" for the whole day
	Set   []int32 `column:"set"`   // the set that the group is, NoSet when it is none
}

// Unlisted are the items that every source has stopped to list, ascending (decision 3401). They stay
// in the catalog for a year.
type Unlisted struct {
	Item  []uint32 `column:"item"`
	Since []Day    `column:"since"` // the first date that no source listed the item on
}

// Gone are cards that earlier catalogs had and this one has not (decision 3506). An operator removed them, or
// their year without a source was over.
type Gone struct {
	ID   Strings `column:"id"` // ascending
	Name Strings `column:"name"`
	Last []Day   `column:"last"` // the date of the last catalog that had it
}

// Unclaimed are the references of a daily feed that had prices while the catalog had no item for
// them (decision 3403). When one is listed, its history lacks the archived days from FirstDay on. The
// first row has no reference: it says that the catalog records them.
type Unclaimed struct {
	Ref      Strings `column:"ref"` // ascending; "namespace\x00ref"
	FirstDay []Day   `column:"first_day"`
}

// Aliases are phrases that people use for a card or for other words (docs/dev/SEARCH.md, Other names).
type Aliases struct {
	Phrase      Strings `column:"phrase"`
	Replacement Strings `column:"replacement"`
	Game        []uint8 `column:"game"` // AnyGame when the phrase means the same in every game
	Card        []int32 `column:"card"` // -1 when the phrase stands for words, which are its Replacement
}

// GapReason is why a row of Gaps has no prices of its day, "" if that is not known.
func (c *Catalog) GapReason(gap int) string {
	if c.GapReasons.Len() == 0 {
		return ""
	}
	return c.GapReasons.At(gap)
}

// AnyGame is the game of an alias that holds in every game.
const AnyGame = 255

// Names are names of cards in other languages (docs/dev/SEARCH.md, Other languages). Rows of AnyGame are words next
// to names, such as those of regional cards; a word without English means nothing.
type Names struct {
	English  Strings `column:"english"` // as in the names of cards; ascending
	Language Strings `column:"language"`
	Name     Strings `column:"name"`
	Game     []uint8 `column:"game"`
}

// NamesOf returns the rows of Names of the longest part of a card's name that has other names.
func (c *Catalog) NamesOf(card int) (from, til int) {
	name := c.Cards.Name.At(card)
	size := 0
	for i := range len(name) {
		for k := i + max(size, 1); k <= len(name); k++ {
			if i > 0 && !isBetweenWords(name[i-1]) || k < len(name) && !isBetweenWords(name[k]) {
				continue
			}
			row, found := c.Names.English.search(name[i:k])
			if found && c.Names.Game[row] == c.Cards.Game[card] {
				from = row
				size = k - i
			}
		}
	}

	for til = from; size > 0 && til < c.Names.English.Len() && c.Names.English.At(til) == c.Names.English.At(from); {
		til++
	}
	return from, til
}

func isBetweenWords(b byte) bool { return b == ' ' || b == '-' }

// NumItems is the number of cards and sealed products.
func (c *Catalog) NumItems() int { return c.Cards.ID.Len() + c.Sealed.Tail.Len() }

// UnlistedSince is the first date that no source listed an item on, NoDay for a listed item.
func (c *Catalog) UnlistedSince(item int) Day {
	if i, unlisted := slices.BinarySearch(c.Unlisted.Item, uint32(item)); unlisted {
		return c.Unlisted.Since[i]
	}
	return NoDay
}

// GoneCard finds a card that is gone by its id or a slug that it had. It returns its last name, and the date of
// the last catalog that had it.
func (c *Catalog) GoneCard(ref string) (name string, last Day, ok bool) {
	if k, former := c.Registry.Slug.search(ref); former {
		ref = c.Registry.SlugID.At(k)
	}
	i, ok := c.Gone.ID.search(ref)
	if !ok {
		return "", NoDay, false
	}
	return c.Gone.Name.At(i), c.Gone.Last[i], true
}

// Date is the UTC date of the snapshot.
func (c *Catalog) Date() Day { return DayOf(c.SnapshotAt) }

// MakeRoom makes room for so many lanes, some of them shown: tables that grow to that size are copied. It
// is for builders only.
func (c *Catalog) MakeRoom(lanes, shown int) {
	makeRoom(&c.Lanes, lanes)
	makeRoom(&c.Stats, shown*len(StatWindows))
}

// ShareTexts returns the catalog with the columns of text of an earlier one where their strings are equal.
// So one copy of them stays in memory. It calls step, which may pause, between columns.
func (c *Catalog) ShareTexts(earlier *Catalog, step func()) *Catalog {
	next := *c
	for _, section := range slices.Concat(sections, optionalSections) {
		own := section.columns(&next)
		for i, col := range section.columns(earlier) {
			step()
			texts, is := own[i].data.(*Strings)
			if shared, _ := col.data.(*Strings); is && texts.Equal(shared) {
				*texts = *shared
			}
		}
	}
	return &next
}

// Size is about how much memory the catalog holds, in bytes.
func (c *Catalog) Size() (bytes int64) {
	for _, section := range slices.Concat(sections, optionalSections) {
		for _, col := range section.columns(c) {
			bytes += int64(col.size())
		}
	}
	return bytes
}
