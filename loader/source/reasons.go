package source

// Reasons of quarantine (decision 26). They are what the summary counts by and what the quarantine
// file carries, so they never change once released; Reasons says each in a sentence. The loader
// adds records under the same names for what only it can see: identities, times against the
// snapshot, and text after cleaning.
const (
	// ReasonMissingFile and those up to ReasonFailedReply are of the files of an input.
	ReasonMissingFile  = "missing_file"
	ReasonBrokenFile   = "broken_file"
	ReasonEmptyFile    = "empty_file"
	ReasonDuplicateDay = "duplicate_day"
	ReasonUnlistedFile = "unlisted_file"
	ReasonFailedReply  = "failed_reply"

	// ReasonBadRow and those up to ReasonTooLong are of the records of a file.
	ReasonBadRow        = "bad_row"
	ReasonBadJSON       = "bad_json"
	ReasonDuplicateKey  = "duplicate_key"
	ReasonUnknownMember = "unknown_member"
	ReasonBadText       = "bad_text"
	ReasonMissingValue  = "missing_value"
	ReasonTooLong       = "too_long"

	// ReasonBadRef and those up to ReasonDuplicateLane are of the values of a record.
	ReasonBadRef        = "bad_ref"
	ReasonBadGame       = "bad_game"
	ReasonBadVariant    = "bad_variant"
	ReasonBadCondition  = "bad_condition"
	ReasonBadPrice      = "bad_price"
	ReasonBadTime       = "bad_time"
	ReasonBadDate       = "bad_date"
	ReasonBadLicence    = "bad_licence"
	ReasonBadImage      = "bad_image"
	ReasonBadIdentifier = "bad_identifier"
	ReasonBadPackage    = "bad_package"
	ReasonBadUnits      = "bad_units"
	ReasonBadTotal      = "bad_total"
	ReasonBadEdition    = "bad_edition"
	ReasonEditionOfGame = "edition_of_other_game"
	ReasonDuplicateLane = "duplicate_lane"

	// ReasonAsOfAfterFetch and those below are what the loader finds, for all sources alike.
	ReasonAsOfAfterFetch     = "source_as_of_after_collected_at"
	ReasonFetchAfterSnapshot = "collected_at_after_snapshot_at"
	ReasonDuplicateID        = "duplicate_id"
	ReasonProductOnTwoCards  = "product_on_two_cards"
	ReasonUnknownItem        = "unknown_item"
)

// Reasons lists every reason with the sentence that explains it to an operator.
var Reasons = []struct{ Reason, Meaning string }{
	{ReasonMissingFile, "A file that the input's own listing calls for is not there; the rest was read."},
	{ReasonBrokenFile, "A file cannot be read as what its name says, so none of it was used; the rest was read."},
	{ReasonEmptyFile, "A file has no records where some are expected."},
	{ReasonDuplicateDay, "An input holds the same day twice; the live tree or else the first was used."},
	{ReasonUnlistedFile, "A file belongs to a set that the input does not list, so none of it was used."},
	{ReasonFailedReply, "A file holds a reply that says it failed (success is not true), so none of it was used."},
	{ReasonBadRow, "A row does not have the fields of the header, or its quotes do not close."},
	{ReasonBadJSON, "A line or element is not the JSON object that the format asks for."},
	{ReasonDuplicateKey, "An object has the same member twice."},
	{ReasonUnknownMember, "An object has a member that the format does not know."},
	{ReasonBadText, "Text is not valid UTF-8 or has control characters."},
	{ReasonMissingValue, "A value that every record must have is absent, null or empty."},
	{ReasonTooLong, "Text, a row or a list is longer than its bound."},
	{ReasonBadRef, "A reference is not in the form that the source uses."},
	{ReasonBadGame, "A game is not one of the games that are served."},
	{ReasonBadVariant, "A variant is not a code of lower-case letters, digits and underscores."},
	{ReasonBadCondition, "A condition is not one of the six codes, or does not belong on this kind of product."},
	{ReasonBadPrice, "A price is not a plain decimal amount from 0 to 9007199254740991 cents."},
	{ReasonBadTime, "A time is not RFC 3339 with Z."},
	{ReasonBadDate, "A date is not YYYY-MM-DD from 1970 on."},
	{ReasonBadLicence, "licensed is neither true, false nor empty."},
	{ReasonBadImage, "An image is not a plain file name; the card is kept without it."},
	{ReasonBadIdentifier, "An identifier has no namespace or value, or they exceed 100 and 200 characters."},
	{ReasonBadPackage, "package_type or unit_kind is not one of the known ones."},
	{ReasonBadUnits, "units_per_package is not a whole number from 1 on."},
	{ReasonBadTotal, "printed_total is not a whole number from 1 to 9999."},
	{ReasonBadEdition, "An edition is neither standard nor one that a game has."},
	{ReasonEditionOfGame, "The edition is one of another game's products."},
	{ReasonDuplicateLane, "One file prices the same lane twice. All its rows of a day's file are refused; " +
		"of a history file, all but the first."},
	{ReasonAsOfAfterFetch, "source_as_of is later than collected_at."},
	{ReasonFetchAfterSnapshot, "collected_at is later than the snapshot's time."},
	{ReasonDuplicateID, "Two records of a source have one reference."},
	{ReasonProductOnTwoCards, "One source product id stands for two cards."},
	{ReasonUnknownItem, "A price names an item that no catalog of the build has."},
}

// Duplicates are the reasons by which two records claim one identity.
var Duplicates = []string{ReasonDuplicateID, ReasonProductOnTwoCards}

// Reasons to pass over a record without quarantine.
const (
	// SkipCodeCard: a TCGCSV product named "Code Card - …" with a rarity only is a slip of paper
	// with a code (decision 27).
	SkipCodeCard = "code_card"
)
