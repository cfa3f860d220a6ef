package synth

import "time"

// Case names a special case that a catalog holds.
type Case string

// The special cases. Every catalog of day zero with 2,000 cards and 40 days or more holds all of them, a smaller one those that are not of
// sets. What Summary.Cases tells about each was found in the rows written, not planned.
const (
	// Names of cards.

	NameAccent     Case = "name_accent"
	NameFemale     Case = "name_female"
	NameMale       Case = "name_male"
	NameDelta      Case = "name_delta"
	NameStar       Case = "name_star"
	NameApostrophe Case = "name_apostrophe"
	NameHyphen     Case = "name_hyphen"
	NameDot        Case = "name_dot"
	NameOneLetter  Case = "name_one_letter"
	NameFifty      Case = "name_fifty" // exactly 50 characters
	NameEntity     Case = "name_entity"
	NameShared     Case = "name_shared" // an earlier card has the name

	// Collector numbers.

	NumberPlain     Case = "number_plain"      // 4/102
	NumberPadded    Case = "number_padded"     // 004/102
	NumberSecret    Case = "number_secret"     // 215/203
	NumberTrainer   Case = "number_trainer"    // TG23/TG30
	NumberGalarian  Case = "number_galarian"   // GG69/GG70
	NumberBlackStar Case = "number_black_star" // SWSH203
	NumberBooster   Case = "number_booster"    // OP05-119
	NumberParallel  Case = "number_parallel"   // OP05-119_p1
	NumberPromotion Case = "number_promotion"  // P-001
	NumberStarter   Case = "number_starter"    // ST01-001
	NumberExtra     Case = "number_extra"      // EB01-006

	// What cards have and lack.

	WithoutSet       Case = "without_set"
	WithoutNumber    Case = "without_number"
	WithoutRarity    Case = "without_rarity"
	WithoutImage     Case = "without_image"
	WithoutLanes     Case = "without_lanes"
	WithImage        Case = "with_image"
	WithPrinting     Case = "with_printing"
	WithUpdatedAt    Case = "with_updated_at"
	WithPartner      Case = "with_partner"
	SharedPartner    Case = "shared_partner"     // the partner value is also an earlier card's
	TwinPrinting     Case = "twin_printing"      // set, name and number are also an earlier card's
	OnlyUnlicensed   Case = "only_unlicensed"    // a card all of whose lanes are unlicensed
	DisplayForbidden Case = "display_unlicensed" // near mint unlicensed beside a licensed ungraded lane

	// Lanes, by their row in the newest price file.

	Fresh      Case = "fresh"
	Edge       Case = "exactly_36h"
	PastEdge   Case = "36h_and_a_second"
	Stale      Case = "stale"
	Unknown    Case = "unknown"
	NoCents    Case = "missing"
	Unlicensed Case = "unlicensed"
	Zero       Case = "zero_cents"

	// Lanes, by their days.

	HistoryOnly  Case = "history_only" // no row any more, since before the newest day
	DayGap       Case = "day_gap"      // priced, not priced, priced again
	Up           Case = "up"           // against 7 days before, at least 5 %
	Down         Case = "down"
	Unchanged    Case = "unchanged"     // priced today and 7 days before, equal
	ZeroBase     Case = "zero_base"     // free 7 days before
	Tenfold      Case = "tenfold"       // at least ten times the price of 7 days before
	OlderBase    Case = "older_base"    // no price 7 days before, but one up to 7 days earlier
	NoWeek       Case = "no_week"       // younger than 7 days
	NoMonth      Case = "no_month"      // younger than 30 days, older than 7
	LostBase     Case = "lost_base"     // prices older than 14 days, none from there to 7 days before
	NewCondition Case = "new_condition" // a near mint lane of few days beside an old ungraded one

	// Sets, whose refs stand in Lane.Ref.

	SetPlain    Case = "set_without_series"
	SetUndated  Case = "set_without_release_date"
	SetUnnamed  Case = "set_without_aliases"
	SetAliased  Case = "set_with_aliases"
	SetRecent   Case = "set_recent"      // released within the last 30 days
	SetTwinName Case = "set_shared_name" // an earlier set, of the other game, has the name

	// Sealed products.

	SealedSharedPartner Case = "sealed_shared_partner" // the partner value is a card's
)

// Cases are all special cases, in the order above.
var Cases = []Case{
	NameAccent, NameFemale, NameMale, NameDelta, NameStar, NameApostrophe, NameHyphen, NameDot, NameOneLetter, NameFifty, NameEntity, NameShared,
	NumberPlain, NumberPadded, NumberSecret, NumberTrainer, NumberGalarian, NumberBlackStar, NumberBooster, NumberParallel, NumberPromotion,
	NumberStarter, NumberExtra,
	WithoutSet, WithoutNumber, WithoutRarity, WithoutImage, WithoutLanes, WithImage, WithPrinting, WithUpdatedAt, WithPartner, SharedPartner,
	TwinPrinting, OnlyUnlicensed, DisplayForbidden,
	Fresh, Edge, PastEdge, Stale, Unknown, NoCents, Unlicensed, Zero,
	HistoryOnly, DayGap, Up, Down, Unchanged, ZeroBase, Tenfold, OlderBase, NoWeek, NoMonth, LostBase, NewCondition,
	SetPlain, SetUndated, SetUnnamed, SetAliased, SetRecent, SetTwinName,
	SealedSharedPartner,
}

// Lane says where a case is: a card, a set or a sealed product by its ref, and the lane when the case is one of a lane. A sealed
// product's lane has neither variant nor condition.
type Lane struct {
	Ref, Variant, Condition string
}

// placesPerCase bounds Summary.Cases, which would otherwise grow with the catalog.
const placesPerCase = 24

// Summary says what a call wrote.
type Summary struct {
	// SnapshotAt is the instant that the newest price file describes.
	SnapshotAt time.Time
	// Day is the date of that file, YYYY-MM-DD.
	Day string

	// Sets, Cards and Sealed are the lines of the files of those names, quarantined ones not counted.
	Sets, Cards, Sealed int
	// CardsByGame and SetsByGame count by the live slug.
	CardsByGame, SetsByGame map[string]int
	// Lanes are the lanes with a row anywhere, SealedLanes those of them of sealed products.
	Lanes, SealedLanes int
	// HistoryRows are the rows of the wide files; PriceRows those of all price files, NewestRows those of the newest.
	HistoryRows, PriceRows, NewestRows int
	// Points are the prices in all of them: a lane on a day. Changes are those that differ from the lane's price the day before, of
	// Pairs days on which both are known.
	Points, Pairs, Changes int
	// Fresh, Stale, Unknown and Missing divide NewestRows, Unlicensed is another count of them.
	Fresh, Stale, Unknown, Missing, Unlicensed int

	// Variants and Conditions count lanes; Rarities count cards; PackageTypes, UnitKinds and Editions sealed products.
	Variants, Conditions, Rarities, PackageTypes, UnitKinds, Editions map[string]int

	// Cases has the first places of each special case in the order written, at most 24 of each.
	Cases map[Case][]Lane

	// Added, Removed and Renamed are the refs of cards that Options.Day changed, RenamedSets those of sets, in ascending order. A
	// card's or set's old name is in the directory of the day before.
	Added, Removed, Renamed, RenamedSets []string

	// Quarantine counts the lines and rows to be quarantined by reason (see Reasons), Rejected lists them with their refs.
	Quarantine map[Reason]int
	// Rejected lists what Quarantine counts.
	Rejected []Rejection
}

func newSummary() Summary {
	s := Summary{Cases: map[Case][]Lane{}}
	for _, m := range []*map[string]int{
		&s.CardsByGame, &s.SetsByGame, &s.Variants, &s.Conditions, &s.Rarities, &s.PackageTypes, &s.UnitKinds, &s.Editions,
	} {
		*m = map[string]int{}
	}
	return s
}

// Has reports whether the place is among those noted for a case.
func (s *Summary) Has(c Case, ref string) bool {
	for _, l := range s.Cases[c] {
		if l.Ref == ref {
			return true
		}
	}
	return false
}

func (s *Summary) note(c Case, at Lane) {
	if places := s.Cases[c]; len(places) < placesPerCase {
		s.Cases[c] = append(places, at)
	}
}

// found is a case and whether it holds.
type found struct {
	Case
	holds bool
}

// noteIf notes those of the cases that hold.
func (s *Summary) noteIf(at Lane, cases []found) {
	for _, f := range cases {
		if f.holds {
			s.note(f.Case, at)
		}
	}
}
