package loader

import "time"

// Report describes a build's use of its inputs, for people and for the summary of a command.
type Report struct {
	Sources []SourceReport `json:"sources"`
	Prices  []PriceReport  `json:"prices"`
	Games   []GameReport   `json:"games"`
	// SealedLeftOut counts sealed products without a verified identity, by their missing part
	// (decision 27).
	SealedLeftOut map[string]int `json:"sealed_left_out"`
	// CardsUnverified counts cards that are served but are not products, by their missing part
	// (decision 27).
	CardsUnverified map[string]int `json:"cards_unverified"`
	// Added, Removed and Renamed compare the cards with the base's; Renamed counts new slugs.
	Added   int `json:"added"`
	Removed int `json:"removed"`
	// Unlisted counts the cards and sealed products that no source lists since this build.
	Unlisted int `json:"unlisted"`
	// UnlistedExamples names them. Relisted are cards among all unlisted ones that a new
	// card seems to continue.
	UnlistedExamples []string   `json:"unlisted_examples"`
	Relisted         []Relisted `json:"relisted"`
	// LacksRecords says that the base is of a version that dropped the history of such cards.
	LacksRecords bool `json:"lacks_records,omitempty"`
	Renamed      int  `json:"renamed"`
	// LanesExpired counts lanes that were dropped because their last row is older than the history
	// kept.
	LanesExpired int `json:"lanes_expired"`
	// Filled are the days that were read from the archive. Days are runs of days without prices of a
	// feed. Groups are the groups that the newest day lacks, with their replacement.
	Filled  []string       `json:"filled"`
	Refused []RefusedDay   `json:"refused_days"`
	Days    []DayGap       `json:"missing_days"`
	Groups  []CarriedGroup `json:"missing_groups"`
	// GroupReasons counts the groups without usable prices of the newest day, by reason.
	GroupReasons map[string]int `json:"held_groups"`
	// QuarantineCut is how many quarantine lines were counted but not stored, because there were too
	// many.
	QuarantineCut int `json:"quarantine_cut"`
	// AliasesUnmatched counts the operator's search aliases that stand for no card, or for several;
	// AliasRemarks describes the first of them.
	AliasesUnmatched int      `json:"aliases_unmatched"`
	AliasRemarks     []string `json:"alias_notes"`
	// MappingRemarks describe rows of the operator's mapping that had no effect.
	MappingRemarks []string `json:"mapping_notes"`
}

// RefusedDay is an archived day, or one of its files, that was left out: its prices cannot be real, or
// it cannot be read.
type RefusedDay struct {
	Day   string `json:"day"`
	Input Input  `json:"input"`
	File  string `json:"file,omitempty"`
	Why   string `json:"why"`
	// Damaged says that the file cannot be read.
	Damaged bool `json:"damaged,omitempty"`
}

// Relisted is an unlisted card, and a listed one with its set, number and name.
type Relisted struct {
	Old  string `json:"old"` // the reference, as namespace/ref
	New  string `json:"new"`
	Name string `json:"name"`
	Row  string `json:"row"` // the row of aliases.csv that makes them one
}

// DayGap is a run of days that a feed has no prices of.
type DayGap struct {
	Feed string `json:"feed"`
	Game string `json:"game"`
	From string `json:"from"`
	To   string `json:"to"`
}

// CarriedGroup is a group that a feed has no prices of on a day. Those of the newest day keep the
// prices of an earlier one for a while.
type CarriedGroup struct {
	Feed  string `json:"feed"`
	Game  string `json:"game"`
	Group string `json:"group"`
	Name  string `json:"name"`
	Day   string `json:"day"`
	// Reason is a reason of quarantine, implausible or unlisted, and Why is the same in words.
	Reason string `json:"reason,omitempty"`
	Why    string `json:"why,omitempty"`
	Lanes  int    `json:"lanes"`           // that keep a price
	Of     string `json:"of,omitempty"`    // the day of these prices
	Until  string `json:"until,omitempty"` // the last day that they stand
}

// SourceReport describes the use of one source's catalog.
type SourceReport struct {
	Input     Input  `json:"input"`
	Namespace string `json:"namespace"`
	Sets      int    `json:"sets"`
	// Cards and Sealed are records that were read and are clean.
	Cards  int `json:"cards"`
	Sealed int `json:"sealed"`
	// SetsJoined, CardsJoined and SealedJoined are those that an earlier source has too;
	// CardsEnriched gave the earlier one something that it lacked.
	SetsJoined    int `json:"sets_joined"`
	CardsJoined   int `json:"cards_joined"`
	CardsEnriched int `json:"cards_enriched"`
	// CardsUnmatched and SetsUnmatched are of a game that an earlier source has, without a partner there.
	CardsUnmatched int `json:"cards_apart"`
	CardsAdded     int `json:"cards_added"` // became items of their own
	// CodeCardsLeftOut are slips of paper with a code, which are no cards (decision 27).
	CodeCardsLeftOut int `json:"code_cards_left_out"`
	SetsUnmatched    int `json:"sets_apart"`
	SealedJoined     int `json:"sealed_joined"`
	// PartnersShared are items whose partner id an earlier item has: a lookup finds all of them.
	PartnersShared int `json:"partners_shared"`
	// IdentifiersShared are identifiers in other namespaces that an earlier item has: they join
	// nothing. SharedExample is the first of them, with whose it is.
	IdentifiersShared int    `json:"identifiers_shared"`
	SharedExample     string `json:"identifier_shared"`
	// SetReferencesWrong are cards whose set the source does not have; they stay without one.
	SetReferencesWrong int `json:"set_references_wrong"`
	// Carried are items of the base in groups whose products the source lacks.
	Carried int `json:"carried"`
}

// PriceReport describes the use of one input's prices.
type PriceReport struct {
	Input    Input  `json:"input"`
	Feed     string `json:"feed"`
	Rows     int    `json:"rows"`            // daily rows of items in the catalog
	Series   int    `json:"series"`          // wide rows of items in the catalog
	Unknown  int    `json:"unknown"`         // rows and series of items that no catalog has
	LeftOut  int    `json:"left_out"`        // rows and series of items that are known and are not part of the catalog
	Variants int    `json:"variants"`        // rows and series of sealed products in a card's variant
	First    string `json:"first,omitempty"` // the dates that the rows span, as YYYY-MM-DD
	Last     string `json:"last,omitempty"`
	// FileTime is the time of the newest file, where nothing else gives the day of the prices.
	FileTime *time.Time `json:"file_time,omitempty"`
	// TooOld are the prices of days before those that a snapshot keeps, null when there are none.
	TooOld *TooOld `json:"too_old"`
}

// TooOld says how many prices were left out because of their day, with the oldest one as an
// example.
type TooOld struct {
	Prices int    `json:"prices"`
	Before string `json:"before"` // the first day of the history
	Day    string `json:"day"`
	Ref    string `json:"ref"`
	File   string `json:"file"`
	Line   int    `json:"line"`
}

// GameReport counts the catalog's records of a game.
type GameReport struct {
	Slug         string `json:"slug"`
	Sets         int    `json:"sets"`
	Cards        int    `json:"cards"`
	Sealed       int    `json:"sealed"`
	Priced       int    `json:"priced"`
	CardProducts int    `json:"card_products"`
	Lanes        int    `json:"lanes"`
	Current      int    `json:"current"`
}
