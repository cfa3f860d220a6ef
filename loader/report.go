package loader

import "ninepocket/snapshot"

// Report says what a build did with its inputs, for people and for the summary of a command.
type Report struct {
	Sources []SourceReport
	Prices  []PriceReport
	Games   []GameReport
	// SealedLeftOut counts sealed products that are not verified identities, by what they lack (decision 27).
	SealedLeftOut map[string]int
	// CardsUnverified counts cards that are served but are not products, by what they lack (decision 27).
	CardsUnverified map[string]int
	// Added, Removed and Renamed compare the cards with the base's; Renamed counts new slugs.
	Added, Removed, Renamed int
	// LanesExpired counts lanes that were dropped because their last row is older than the history kept.
	LanesExpired int
	// QuarantineCut is how many quarantine lines were counted but not kept, because there were too many.
	QuarantineCut int
}

// SourceReport says what became of one source's catalog.
type SourceReport struct {
	Input              Input
	Namespace          string
	Sets, Cards        int // records that were read and are clean
	Sealed             int
	SetsJoined         int // sets that an earlier source has too
	CardsJoined        int // cards that an earlier source has too
	CardsEnriched      int // joined cards that gave the earlier one something it lacked
	CardsApart         int // cards of a game that an earlier source has, without a partner there
	CardsAdded         int // cards that became items of their own
	CodeCardsLeftOut   int // code cards, which are not cards (decision 27)
	SetsApart          int
	SealedJoined       int
	SetReferencesWrong int // cards whose set the source does not have; they are kept without one
}

// PriceReport says what became of one input's prices.
type PriceReport struct {
	Input    Input
	Feed     string
	Rows     int // daily rows of items in the catalog
	Series   int // wide rows of items in the catalog
	Unknown  int // rows and series of items that no catalog has
	LeftOut  int // rows and series of items that are known and are not part of the catalog
	Variants int // rows and series of sealed products in a variant that sealed products do not have
	First    snapshot.Day
	Last     snapshot.Day
}

// GameReport counts what the catalog holds of a game.
type GameReport struct {
	Slug                         string
	Sets, Cards, Sealed, Priced  int
	CardProducts, Lanes, Current int
}
