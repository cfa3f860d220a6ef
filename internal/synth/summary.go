package synth

import "time"

// Case is the name of a special case in a catalog.
type Case string

// The special cases. Every catalog of day zero with 2,000 cards and 40 days or more has all of
// them. A smaller one has all but the cases of sets. The places in Summary.Cases were found in the
// written rows, not planned.
const (
	// Names of cards.

	caseNameAccent     Case = "name_accent"
	caseNameFemale     Case = "name_female"
	caseNameMale       Case = "name_male"
	caseNameDelta      Case = "name_delta"
	caseNameStar       Case = "name_star"
	caseNameApostrophe Case = "name_apostrophe"
	caseNameHyphen     Case = "name_hyphen"
	caseNameDot        Case = "name_dot"
	caseNameOneLetter  Case = "name_one_letter"
	caseNameFifty      Case = "name_fifty" // exactly 50 characters
	caseNameEntity     Case = "name_entity"
	caseNameShared     Case = "name_shared" // an earlier card has the name

	// Collector numbers.

	caseNumberPlain     Case = "number_plain"      // 4/102
	caseNumberPadded    Case = "number_padded"     // 004/102
	caseNumberSecret    Case = "number_secret"     // 215/203
	caseNumberTrainer   Case = "number_trainer"    // TG23/TG30
	caseNumberGalarian  Case = "number_galarian"   // GG69/GG70
	caseNumberBlackStar Case = "number_black_star" // SWSH203
	caseNumberBooster   Case = "number_booster"    // OP05-119
	caseNumberParallel  Case = "number_parallel"   // OP05-119_p1
	caseNumberPromotion Case = "number_promotion"  // P-001
	caseNumberStarter   Case = "number_starter"    // ST01-001
	caseNumberExtra     Case = "number_extra"      // EB01-006

	// Counts of the attributes of cards.

	caseWithoutSet       Case = "without_set"
	caseWithoutNumber    Case = "without_number"
	caseWithoutRarity    Case = "without_rarity"
	caseWithoutImage     Case = "without_image"
	caseWithoutLanes     Case = "without_lanes"
	caseWithImage        Case = "with_image"
	caseWithPrinting     Case = "with_printing"
	caseWithUpdatedAt    Case = "with_updated_at"
	caseWithPartner      Case = "with_partner"
	caseSharedPartner    Case = "shared_partner"     // an earlier card has the same partner value
	caseTwinPrinting     Case = "twin_printing"      // an earlier card has the same set, name and number
	caseOnlyUnlicensed   Case = "only_unlicensed"    // a card all of whose lanes are unlicensed
	caseDisplayForbidden Case = "display_unlicensed" // near mint unlicensed, with a licensed ungraded lane

	// Lanes, by their row in the newest price file.

	caseFresh      Case = "fresh"
	caseEdge       Case = "exactly_36h"
	casePastEdge   Case = "36h_and_a_second"
	caseStale      Case = "stale"
	caseUnknown    Case = "unknown"
	caseNoCents    Case = "missing"
	caseUnlicensed Case = "unlicensed"
	caseZero       Case = "zero_cents"

	// Lanes, by their days.

	caseHistoryOnly  Case = "history_only" // no row on the newest day, but earlier ones
	caseDayGap       Case = "day_gap"      // priced, not priced, priced again
	caseUp           Case = "up"           // against 7 days before, at least 5 %
	caseDown         Case = "down"
	caseUnchanged    Case = "unchanged"     // priced today and 7 days before, equal
	caseZeroBase     Case = "zero_base"     // free 7 days before
	caseTenfold      Case = "tenfold"       // at least ten times the price of 7 days before
	caseOlderBase    Case = "older_base"    // no price 7 days before, but one up to 7 days earlier
	caseNoWeek       Case = "no_week"       // younger than 7 days
	caseNoMonth      Case = "no_month"      // younger than 30 days, older than 7
	caseLostBase     Case = "lost_base"     // prices older than 14 days, none from there to 7 days before
	caseNewCondition Case = "new_condition" // a near mint lane of few days, with an old ungraded one

	// Sets, whose refs are in Lane.Ref.

	caseSetPlain    Case = "set_without_series"
	caseSetUndated  Case = "set_without_release_date"
	caseSetUnnamed  Case = "set_without_aliases"
	caseSetAliased  Case = "set_with_aliases"
	caseSetRecent   Case = "set_recent"      // released within the last 30 days
	caseSetTwinName Case = "set_shared_name" // an earlier set, of the other game, has the name

	// Sealed products.

	caseSealedSharedPartner Case = "sealed_shared_partner" // a card has the same partner value
)

// allCases are all special cases, in the order above.
var allCases = []Case{
	caseNameAccent, caseNameFemale, caseNameMale, caseNameDelta, caseNameStar, caseNameApostrophe, caseNameHyphen,
	caseNameDot, caseNameOneLetter, caseNameFifty, caseNameEntity, caseNameShared,
	caseNumberPlain, caseNumberPadded, caseNumberSecret, caseNumberTrainer, caseNumberGalarian, caseNumberBlackStar,
	caseNumberBooster, caseNumberParallel, caseNumberPromotion,
	caseNumberStarter, caseNumberExtra,
	caseWithoutSet, caseWithoutNumber, caseWithoutRarity, caseWithoutImage, caseWithoutLanes, caseWithImage,
	caseWithPrinting, caseWithUpdatedAt, caseWithPartner, caseSharedPartner,
	caseTwinPrinting, caseOnlyUnlicensed, caseDisplayForbidden,
	caseFresh, caseEdge, casePastEdge, caseStale, caseUnknown, caseNoCents, caseUnlicensed, caseZero,
	caseHistoryOnly, caseDayGap, caseUp, caseDown, caseUnchanged, caseZeroBase, caseTenfold, caseOlderBase,
	caseNoWeek, caseNoMonth, caseLostBase, caseNewCondition,
	caseSetPlain, caseSetUndated, caseSetUnnamed, caseSetAliased, caseSetRecent, caseSetTwinName,
	caseSealedSharedPartner,
}

// Lane is the place of a case: a card, a set or a sealed product by its ref. A case of a lane has
// the lane, too. A sealed product's lane has neither variant nor condition.
type Lane struct {
	Ref, Variant, Condition string
}

// placesPerCase bounds Summary.Cases, which would otherwise grow with the catalog.
const placesPerCase = 24

// Summary has counts and special cases of a written catalog.
type Summary struct {
	// SnapshotAt is the instant that the newest price file describes.
	SnapshotAt time.Time
	// Day is the date of that file, YYYY-MM-DD.
	Day string

	// Sets, Cards and Sealed are the lines of the files of those names, quarantined ones not
	// counted.
	Sets, Cards, Sealed int
	// CardsByGame and SetsByGame count by the live slug.
	CardsByGame, SetsByGame map[string]int
	// Lanes counts the lanes with any row. SealedLanes counts those of sealed products among them.
	Lanes, SealedLanes int
	// HistoryRows are the rows of the wide files; PriceRows those of all price files, NewestRows
	// those of the newest.
	HistoryRows, PriceRows, NewestRows int
	// Points are the prices in all of them: a lane on a day. Changes are those that differ from the
	// lane's price on the previous day, of Pairs days on which both are known.
	Points, Pairs, Changes int
	// Fresh, Stale, Unknown and Missing divide NewestRows, Unlicensed is another count of them.
	Fresh, Stale, Unknown, Missing, Unlicensed int

	// Variants and Conditions count lanes; Rarities count cards; PackageTypes, UnitKinds and
	// Editions sealed products.
	Variants, Conditions, Rarities, PackageTypes, UnitKinds, Editions map[string]int

	// Cases has the first places of each special case in the order written, at most 24 of each.
	Cases map[Case][]Lane

	// Added, Removed and Renamed are the refs of cards that Options.Day changed, RenamedSets those
	// of sets, in ascending order. The old name of a card or set is in the directory of the
	// previous day.
	Added, Removed, Renamed, RenamedSets []string

	// Quarantine counts the lines and rows to be quarantined by reason (see the constants of source), Rejected
	// lists them with their refs.
	Quarantine map[Reason]int
	// Rejected lists what Quarantine counts.
	Rejected []Rejection
}

func newSummary() Summary {
	summary := Summary{Cases: map[Case][]Lane{}}
	for _, m := range []*map[string]int{
		&summary.CardsByGame, &summary.SetsByGame, &summary.Variants, &summary.Conditions, &summary.Rarities,
		&summary.PackageTypes, &summary.UnitKinds, &summary.Editions,
	} {
		*m = map[string]int{}
	}
	return summary
}

// Has reports whether a place is among those recorded for a case.
func (s *Summary) Has(c Case, ref string) bool {
	for _, lane := range s.Cases[c] {
		if lane.Ref == ref {
			return true
		}
	}
	return false
}

func (s *Summary) addCase(c Case, at Lane) {
	if places := s.Cases[c]; len(places) < placesPerCase {
		s.Cases[c] = append(places, at)
	}
}

// found is a case and whether it is true.
type found struct {
	Case
	applies bool
}

// addCases records the cases that are true.
func (s *Summary) addCases(at Lane, cases []found) {
	for _, found := range cases {
		if found.applies {
			s.addCase(found.Case, at)
		}
	}
}
