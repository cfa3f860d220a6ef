package source

import (
	"context"
	"time"

	"ninepocket/snapshot"
)

// Source reads one input of a build. A Source is used once, by one goroutine: Catalog, then Prices.
//
// Both pass every record to the sink in the order of the input, which never varies. A faulty
// record goes to Sink.Quarantine and the reading continues. A fault of the input as a whole (a
// truncated archive, a file that is not JSON in place of the catalog) is the returned error.
type Source interface {
	// Feed describes whose records these are. It is known after Open.
	Feed() Feed
	// Catalog reads sets, cards and sealed products. An input of prices alone has none.
	Catalog(ctx context.Context, to Sink) error
	// Prices reads daily rows and wide history, days ascending where the input has several files.
	Prices(ctx context.Context, to Sink) error
}

// Skipper is a Source that passes over records on purpose, such as code cards (decision 27). They
// are counted in the report and are no quarantine.
type Skipper interface {
	// Skipped are the references that were passed over so far, in the order of first sight. Prices of these
	// in any feed of the same namespace are of no item, and that is as it should be.
	Skipped() []string
}

// Feed has the common properties of all records of a source.
type Feed struct {
	Namespace   string // of refs: the identity of an item is Namespace and Ref (decision 25)
	Attribution string // shown with every observation
	Partner     string // namespace of the identifiers that answer partner_id, "" for none
	HasCatalog  bool   // whether the input holds a catalog at all
	// ProductRefs says that references are a shop's product ids, which are also identifiers in the
	// namespace Partner: one that comes twice stands for two items.
	ProductRefs bool
}

// Sink takes the records of a source.
type Sink interface {
	Set(Set)
	Card(Card)
	Sealed(Sealed)
	Price(Price)
	Series(Series)
	Missing(MissingFile)
	Quarantine(Quarantine)
	// Progress reports the read part of the input. It gets a phase for people, and how many of its
	// total steps are done (total 0 when not known).
	Progress(phase string, done, total int64)
}

// Discard is a sink that ignores everything. A sink that wants some records embeds one.
type Discard struct{}

// Set passes over sets.
func (Discard) Set(Set) {}

// Card passes over cards.
func (Discard) Card(Card) {}

// Sealed passes over sealed products.
func (Discard) Sealed(Sealed) {}

// Price passes over prices.
func (Discard) Price(Price) {}

// Series passes over series.
func (Discard) Series(Series) {}

// Missing ignores missing groups.
func (Discard) Missing(MissingFile) {}

// Quarantine ignores refused records.
func (Discard) Quarantine(Quarantine) {}

// Progress passes over progress.
func (Discard) Progress(string, int64, int64) {}

// Location is where in the input a record stands, for the quarantine report.
type Location struct {
	File string // relative to the input
	Line int    // 1-based line of a text file, 1-based element of a JSON array, 0 when neither applies
}

// Identifier is an alias of an item in another namespace.
type Identifier struct {
	Namespace string `json:"namespace"`
	Value     string `json:"value"`
}

// Set is a set as its source gives it. Text is as in the source; the loader cleans it (decision
// 25).
type Set struct {
	At      Location
	Ref     string // the source's own key, never a name
	Game    string // slug, as in the table of games
	Name    string
	Series  string
	Code    string       // abbreviation such as OP05 or BS, "" for none
	Total   int          // printed behind the numbers of its cards (102 of "4/102"), 0 when not known
	Release snapshot.Day // NoDay when not known
	Aliases []string
}

// Card is a card as its source gives it.
type Card struct {
	At          Location
	Ref         string
	Game        string
	SetRef      string // "" for none
	Name        string
	Number      string
	Rarity      string
	Printing    string // the source's own value, "" for none
	Image       string // file name in the operator's image folder, "" for none
	Identifiers []Identifier
	UpdatedAt   int64 // ms since 1970, snapshot.NoTime when the source does not say
}

// Sealed is a sealed product. PackageType is "" when the source does not say that it is one of the
// verified types; rules and the operator's mapping may supply it (decision 27).
type Sealed struct {
	At          Location
	Ref         string
	Game        string
	SetRef      string // of the group that the feed has it in, "" for none
	Name        string
	PackageType string // booster_bundle, elite_trainer_box, booster_box, booster_case
	Units       int    // units_per_package, 0 when not known
	UnitKind    string // booster_pack or booster_box
	Edition     string // standard, or one of the game's own
	Identifiers []Identifier
	UpdatedAt   int64
}

// Price is one row of a day's price file.
//
// TCGCSV prices sealed products under a variant too, and its price files do not distinguish them from
// cards. There a sealed product's row has variant and condition like a card's row, and they mean
// nothing. This is true for Series, too.
type Price struct {
	At          Location
	Ref         string // an item's Ref; a TCGCSV row whose category is not known carries the product id alone
	Variant     string // code such as reverse_holofoil; "" for sealed products
	Condition   string // code; "" for sealed products
	Day         snapshot.Day
	Cents       int64 // snapshot.NoCents: the lane is tracked and has no price
	SourceAsOf  int64 // ms, snapshot.NoTime when not known
	CollectedAt int64 // ms
	Licensed    bool
	// Further prices of the feed, in cents or NoCents: only from TCGCSV.
	Low, Mid, High, DirectLow int64
}

// Series is one row of a wide history file: the points of one lane. Missing days have no point; a
// day whose cell is "-" has a row without a price and is in Blank.
type Series struct {
	At        Location
	Ref       string
	Variant   string
	Condition string
	Points    []snapshot.Point // ascending; owned by the source, valid until Sink.Series returns
	Blank     []snapshot.Day   // ascending; owned likewise
	Last      snapshot.Day     // the newest day of the file, whether this lane has it or not
}

// MissingFile is a file of a group that an input should have and has not, or cannot be used.
type MissingFile struct {
	Game   string
	SetRef string // of the group's set
	Name   string
	Day    snapshot.Day
	Prices bool // the group's prices, else its products
	// CollectedAt is when the tree was collected that lacks the file, in ms.
	CollectedAt int64
	// Reason is why the file cannot be used: a reason of quarantine.
	Reason string
	// Empty says that the file is there and has no record, which is correct for a group that never
	// had one.
	Empty bool
}

// NewestDayer is a Source that knows before it is read which day its newest prices are of.
type NewestDayer interface {
	// Newest is the newest day, NoDay for none. The instant is that of its files where nothing but
	// the times of the files gives the day, else zero.
	Newest() (day snapshot.Day, fileTime time.Time)
}

// Quarantine is a record that was refused, or a part of one (an image) without which the record
// stays. Its reason is from the list in reasons.go.
type Quarantine struct {
	At     Location
	Reason string
	Ref    string
	Value  string // the offending value as the source has it, cut to a readable length
}

// Options say how to read an input.
type Options struct {
	// CollectedAt is the time a live tree was fetched when the tree does not say (--collected-at);
	// zero for unknown.
	CollectedAt time.Time
	// DefaultCondition, AsOf, Attribution and Partner are operator knowledge of the feed
	// (feeds.toml), zero for none.
	DefaultCondition string
	AsOf             time.Time
	AsCollected      bool // rows were observed when they were collected, in the place of AsOf
	Attribution      string
	Partner          string
	Reserved         bool // it may not be passed on as a whole

	// Unpack is the command line of a process that runs ServeUnpacking. None unpacks 7z archives in
	// this process, which is for archives that can be trusted.
	Unpack []string

	limits limits // of what an input may make us read
}
