package source

// Reasons of quarantine (decision 26). The summary counts by them and the quarantine file contains
// them, so they never change once released; the comment of each explains it to an operator. The
// loader adds records under these names for faults that only it can see: identities, times against
// the snapshot, and text after cleaning.
const (
	// ReasonMissingFile means: a file in the input's own listing is not there; the rest was read.
	ReasonMissingFile = "missing_file"
	// ReasonBrokenFile means: a file cannot be read in the format of its name and was not used;
	// the rest was read.
	ReasonBrokenFile = "broken_file"
	// ReasonEmptyFile means: a file has no records where some are expected.
	ReasonEmptyFile = "empty_file"
	// ReasonDuplicateDay means: an input has one day twice; the live feed or else the first was
	// used.
	ReasonDuplicateDay = "duplicate_day"
	// ReasonUnlistedFile means: a file belongs to a set that the input does not list, so it was not
	// used.
	ReasonUnlistedFile = "unlisted_file"
	// ReasonFailedReply means: a file reports its own failure (success is not true), so it was
	// not used.
	ReasonFailedReply = "failed_reply"

	// ReasonBadRow means: a row does not have the fields of the header, or its quotes do not close.
	ReasonBadRow = "bad_row"
	// ReasonBadJSON means: a line or element is not the JSON object that the format asks for.
	ReasonBadJSON = "bad_json"
	// ReasonDuplicateKey means: an object has the same member twice.
	ReasonDuplicateKey = "duplicate_key"
	// ReasonUnknownMember means: an object has a member that the format does not know.
	ReasonUnknownMember = "unknown_member"
	// ReasonBadText means: text is not valid UTF-8 or has control characters.
	ReasonBadText = "bad_text"
	// ReasonMissingValue means: a value that every record must have is absent, null or empty.
	ReasonMissingValue = "missing_value"
	// ReasonTooLong means: text, a row or a list is longer than its bound.
	ReasonTooLong = "too_long"

	// ReasonBadRef means: a reference is not in the form that the source uses.
	ReasonBadRef = "bad_ref"
	// ReasonBadGame means: a game is not one of the games that are served.
	ReasonBadGame = "bad_game"
	// ReasonBadVariant means: a variant is not a code of lower-case letters, digits and underscores.
	ReasonBadVariant = "bad_variant"
	// ReasonBadCondition means: a condition is not one of the six codes, or does not belong on this
	// kind of product.
	ReasonBadCondition = "bad_condition"
	// ReasonBadPrice means: a price is not a plain decimal amount from 0 to 9007199254740991 cents.
	ReasonBadPrice = "bad_price"
	// ReasonBadTime means: a time is not RFC 3339 with Z.
	ReasonBadTime = "bad_time"
	// ReasonBadDate means: a date is not YYYY-MM-DD from 1970 on.
	ReasonBadDate = "bad_date"
	// ReasonBadLicence means: licensed is neither true, false nor empty.
	ReasonBadLicence = "bad_licence"
	// ReasonBadImage means: an image is not a plain file name; the card stays without it.
	ReasonBadImage = "bad_image"
	// ReasonBadIdentifier means: an identifier has no namespace or value, or they exceed 100 and 200
	// characters.
	ReasonBadIdentifier = "bad_identifier"
	// ReasonBadPackage means: package_type or unit_kind is not one of the known ones.
	ReasonBadPackage = "bad_package"
	// ReasonBadUnits means: units_per_package is not a whole number from 1 on.
	ReasonBadUnits = "bad_units"
	// ReasonBadTotal means: printed_total is not a whole number from 1 to 9999.
	ReasonBadTotal = "bad_total"
	// ReasonBadEdition means: an edition is neither standard nor one that a game has.
	ReasonBadEdition = "bad_edition"
	// ReasonEditionOfGame means: the edition is one of another game's products.
	ReasonEditionOfGame = "edition_of_other_game"
	// ReasonDuplicateLane means: one file prices the same lane twice. All its rows of a day's file
	// are refused; of a history file, all but the first.
	ReasonDuplicateLane = "duplicate_lane"

	// ReasonAsOfAfterFetch means: source_as_of is later than collected_at.
	ReasonAsOfAfterFetch = "source_as_of_after_collected_at"
	// ReasonFetchAfterSnapshot means: collected_at is later than the snapshot's time.
	ReasonFetchAfterSnapshot = "collected_at_after_snapshot_at"
	// ReasonDuplicateID means: two records of a source have one reference.
	ReasonDuplicateID = "duplicate_id"
	// ReasonListedTwice means: a source lists a record a second time, such as a product in two groups.
	// The first one stands.
	ReasonListedTwice = "listed_twice"
	// ReasonProductOnTwoCards means: one source product id stands for two cards.
	ReasonProductOnTwoCards = "product_on_two_cards"
	// ReasonUnknownItem means: a price names an item that no catalog of the build has.
	ReasonUnknownItem = "unknown_item"
)

// Reasons why a group has no prices of a day, in addition to those of quarantine (decision 3402).
const (
	// ReasonImplausible means: more than half of the group's prices moved further than in any real day.
	ReasonImplausible = "implausible"
	// ReasonUnlisted means: the feed does not list the group any more.
	ReasonUnlisted = "unlisted"
)

// Duplicates are the reasons for two records that claim one identity.
var Duplicates = []string{ReasonDuplicateID, ReasonProductOnTwoCards}
