package valuation

import (
	"cmp"
	"encoding/csv"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"ninepocket/cardvocab"
)

// layout is the header row of an app's export: it maps columns to fields.
type layout struct {
	app    string
	header []string // folded
	// own are columns that no other app's header has together.
	own []string
	// shape has columns that identify a row, with the test of each.
	shape map[int]func(cell string) bool
}

// collectr is the header of Collectr: a graded copy has no condition.
var collectr = headerOf("Portfolio Name,Category,Set,Product Name,Card Number,Rarity,Variance,Grade,Card Condition," +
	"Average Cost Paid,Quantity,Market Price,Price Override,Watchlist,Date Added,Notes")

// layouts are the supported exports.
var layouts = []layout{
	{
		"TCGplayer",
		headerOf("Quantity,Name,Simple Name,Set,Card Number,Set Code,Printing,Condition,Language,Rarity," +
			"Product ID,SKU"),
		[]string{"quantity", "name", "set", "cardnumber", "printing"},
		map[int]func(string) bool{0: cardvocab.IsInteger[string], 7: hasCondition},
	},
	{
		"Collectr",
		collectr,
		[]string{"set", "productname", "cardnumber", "variance", "quantity"},
		map[int]func(string) bool{8: isCondition, 10: cardvocab.IsInteger[string]},
	},
	{
		"Collectr, graded",
		collectr,
		nil, // the file has the other layout
		map[int]func(string) bool{
			7: isSlab, 8: func(cell string) bool { return cell == "" }, 10: cardvocab.IsInteger[string],
		},
	},
	{
		"Dragon Shield",
		headerOf("Folder Name,Quantity,Trade Quantity,Card Name,Set Code,Set Name,Card Number,Condition,Printing," +
			"Language,Price Bought,Date Bought,LOW,MID,MARKET"),
		[]string{"quantity", "cardname", "setname", "cardnumber", "printing"},
		map[int]func(string) bool{1: cardvocab.IsInteger[string], 2: cardvocab.IsInteger[string], 7: isCondition},
	},
	{
		"Cardmarket",
		headerOf("idArticle,idProduct,English Name,Local Name,Exp.,Exp. Name,Price,Language,Condition,Foil?,Signed?," +
			"Playset?,Altered?,Comments,Amount,onSale"),
		[]string{"idproduct", "englishname", "expname", "amount"},
		map[int]func(string) bool{
			0: cardvocab.IsInteger[string], 1: cardvocab.IsInteger[string], 8: isCondition,
			14: cardvocab.IsInteger[string],
		},
	},
}

func headerOf(columns string) []string { return foldedCells(strings.Split(columns, ",")) }

func isCondition(cell string) bool {
	_, ok := ParseCondition(cell)
	return ok
}

// hasCondition reports whether a cell is a condition, perhaps with a finish: "Near Mint Foil".
func hasCondition(cell string) bool {
	f := parsedLine{condition: cell}
	f.splitCondition()
	return isCondition(f.condition)
}

// isSlab reports whether a cell is a grade: "PSA 10".
func isSlab(cell string) bool {
	company, _, _ := strings.Cut(cell, " ")
	return isGrader(cardvocab.Fold(company))
}

// cells are the cells of a row; those that were read are "" in unread.
type cells struct {
	header, row, unread []string
}

// of returns the first cell of some columns that is not blank, "" for none.
func (c *cells) of(names ...string) string {
	for _, name := range names {
		at := slices.Index(c.header, name)
		if at >= 0 && at < len(c.row) && strings.TrimSpace(c.row[at]) != "" {
			c.unread[at] = ""
			return strings.TrimSpace(c.row[at])
		}
	}
	return ""
}

// item reads a row under a folded header that has the layout's columns.
func (l *layout) item(header, row []string) Item {
	cells := cells{header: header, row: row, unread: slices.Clone(row)}
	cell := cells.of
	item := Item{
		Name: cell("name", "productname", "cardname", "englishname", "simplename"),
		Set:  cell("set", "setname", "expname"), Number: cell("cardnumber"), Variant: cell("printing", "variance"),
		Condition: cell("condition", "cardcondition"), code: cell("setcode", "exp"), fromRow: true,
	}

	// The app appends the number to names that several cards have.
	if name, number, ok := strings.Cut(item.Name, " - "); ok && number == item.Number {
		item.Name = name
	}

	// Collectr has the language of a game's cards behind its name: "Pokemon (Japan)".
	game, edition, _ := strings.Cut(cell("category"), "(")
	item.Game = strings.TrimSpace(game)

	// Product ids are the app's own: another app's id would be another card.
	if id := cell("productid"); cardvocab.IsInteger(id) && (l.app == "TCGplayer" || l == &byColumns) {
		item.Identifier = "tcgplayer:" + id
		item.uncertainID = true
	}

	// Cardmarket has a flag in place of a printing, and others the finish itself.
	if foil := cell("foil"); isYes(foil) && item.Variant == "" {
		item.Variant = "foil"
		if _, ok := cardvocab.Finish(foil); ok {
			item.Variant = foil
		}
	}
	item.Variant = strings.TrimSpace(cell("edition") + " " + item.Variant)

	item.otherCopy = cmp.Or(otherCopyOf(cmp.Or(cell("language"), strings.TrimRight(edition, ") ")), cell("grade")),
		folderCopy(cell("foldername", "portfolioname")))
	item.readQuantity(cell("quantity", "amount"))

	// Cardmarket says the rest with flags.
	for _, flag := range copyFlags {
		if isYes(cell(flag)) {
			item.otherCopy = flag
		}
	}

	item.assertCells(&cells)
	return item
}

// assertCells makes assertions of the cells of a row that do not identify the card.
func (item *Item) assertCells(cells *cells) {
	item.assert(ofWords, cells.of("simplename"))
	item.assert(ofWords, cells.of("notes", "comments"))
	item.assert(ofRarity, cells.of("rarity"))
	item.assert(ofCode, item.code)

	// A name in the seller's language may be of an English card.
	cells.of("localname")
	cells.of("watchlist")

	// Other cells with letters are of unknown columns: amounts and days have none.
	for i, text := range cells.unread {
		if (i >= len(cells.header) || cells.header[i] != ignored) && strings.ContainsFunc(text, unicode.IsLetter) {
			item.assert(ofWords, text)
		}
	}
}

// otherCopyOf returns the word that gives a copy another price: a language or a grade.
func otherCopyOf(language, grade string) string {
	switch cardvocab.Fold(language) {
	case "", "en", "eng", "english", "1": // Cardmarket numbers its languages
	default:
		// A number alone might be part of the card's name.
		return "language " + language
	}

	// Collectr has a grade for every copy, also for those without one.
	if cardvocab.Fold(grade) == "ungraded" {
		return ""
	}
	return grade
}

// maxCopies is the largest number of copies of a line.
const maxCopies = 9999

// readQuantity reads a quantity, which must be within bounds and the only one of the line.
func (item *Item) readQuantity(written string) {
	if written == "" {
		return
	}
	n, err := strconv.ParseInt(strings.Trim(strings.ToLower(written), "x"), 10, 64)
	switch {
	case err != nil || n < 1 || n > maxCopies:
		item.noPriceReason = `"` + clip(written) + `" is no quantity from 1 to ` + strconv.Itoa(maxCopies)
	case item.Quantity == 0:
		item.Quantity = n
	case item.Quantity != n:
		item.noPriceReason = "the line has two quantities, " + strconv.FormatInt(item.Quantity, 10) + " and " +
			strconv.FormatInt(n, 10)
	}
}

// readLine reads the item's whole line into its fields; fields that were given take precedence.
func readLine(item *Item) {
	item.amount = amountIn(item.Name)
	item.Name = withoutPrices(item.Name)
	item.cutNumber()
	text := item.Line
	if text == "" && isWholeLine(item.Name) {
		text = item.Name
		item.Name = ""
	}
	if strings.TrimSpace(text) == "" {
		return
	}

	read, ok := readRow(text)
	if !ok {
		read = readText(text)
		item.onlyLine = item.Name+item.Set+item.Number == ""
	}

	// nameKey depends on Line: a name that was cut out of a line may contain other fields.
	item.Line = text
	item.fill(&read)
}

// cutNumber cuts the number off a set: search results have "Evolving Skies #215/203".
func (item *Item) cutNumber() {
	at := strings.LastIndex(item.Set, " #")
	if at > 0 && item.Number == "" {
		item.Number = strings.TrimSpace(item.Set[at+len(" #"):])
		item.Set = item.Set[:at]
	}
}

// fill sets the empty fields of an item from another item.
func (item *Item) fill(from *Item) {
	item.fromRow = from.fromRow || item.Name != ""
	item.assertions = append(item.assertions, from.assertions...)
	if item.Name == "" {
		item.amount = from.amount
	}
	if item.Set == "" {
		item.setTail = from.setTail
	} else if from.setTail.number != "" && cardvocab.Fold(item.Set) == cardvocab.Fold(from.Set+from.setTail.number) {
		from.Set = item.Set
	}

	for _, field := range []struct {
		of        *string
		from      string
		assertion assertionKind
	}{
		{&item.Name, from.Name, ofWords},
		{&item.Set, from.Set, ofSetName},
		{&item.Number, from.Number, ofNumber},
	} {
		// A field that differs must still match the card.
		switch {
		case *field.of == "":
			*field.of = field.from
		case *field.of != field.from:
			item.assert(field.assertion, field.from)
		}
	}

	item.ID = cmp.Or(item.ID, from.ID)
	item.Identifier = cmp.Or(item.Identifier, from.Identifier)
	item.Game = cmp.Or(item.Game, from.Game)
	item.Condition = cmp.Or(item.Condition, from.Condition)
	if item.Variant != "" && from.Variant != "" && !cardvocab.SameVariant(item.Variant, from.Variant) {
		item.addRemark(`variant "` + clip(item.Variant) + `" was given; the line says "` + clip(from.Variant) + `"`)
	}
	item.Variant = cmp.Or(item.Variant, from.Variant)

	item.code = from.code
	item.otherCopy = from.otherCopy
	item.uncertainID = from.uncertainID
	item.unreadCells = from.unreadCells
	item.noPriceReason = from.noPriceReason
	if from.Condition != "" && item.Condition != from.Condition {
		item.checkConditions(from.Condition, item.Condition)
	}
	switch {
	case item.Quantity == 0:
		item.Quantity = from.Quantity
	case from.Quantity > 0 && from.Quantity != item.Quantity:
		item.addRemark("quantity " + strconv.FormatInt(item.Quantity, 10) + " was given; the line says " +
			strconv.FormatInt(from.Quantity, 10))
	}
}

// addRemark adds a sentence about how the line was read.
func (item *Item) addRemark(text string) { item.remark = joinSentences(item.remark, text) }

// isWholeLine reports whether a name is a line of an app: no name has bars or so many commas.
func isWholeLine(name string) bool {
	return strings.Contains(name, " | ") || strings.Count(name, ",") >= minSeparators ||
		strings.Count(name, ";") >= minSeparators
}

// minSeparators is the least number of separators in a row of an export.
const minSeparators = 8

// readRow reads a row of an export without its header.
func readRow(text string) (Item, bool) {
	separator := ','
	if strings.Count(text, ";") >= minSeparators {
		separator = ';'
	} else if strings.Count(text, ",") < minSeparators {
		return Item{}, false
	}

	// A name may contain a quote, and a truncated row still identifies its card.
	r := csv.NewReader(strings.NewReader(text))
	r.Comma = separator
	r.LazyQuotes = true
	r.FieldsPerRecord = -1

	row, err := r.Read()
	if err != nil {
		return Item{}, false
	}

	// A line has no header: the shapes of its columns identify the app (decision 2209).
	for i := range layouts {
		if layouts[i].matchesRow(row) {
			return layouts[i].item(layouts[i].header, row), true
		}
	}
	return Item{}, false
}

// matchesRow reports whether a row has the shape of the layout.
func (l *layout) matchesRow(row []string) bool {
	for at, is := range l.shape {
		if at >= len(row) || !is(strings.TrimSpace(row[at])) {
			return false
		}
	}
	return true
}

// readText reads a line of an order or a message: quantity and name, and further fields behind
// bars.
func readText(text string) (item Item) {
	cells := strings.Split(strings.ReplaceAll(text, "×", "x"), "|")
	name, copies := cutCopies(strings.TrimSpace(withoutPrices(cells[0])))
	item.Name = name
	item.amount = amountIn(cells[0])
	item.readQuantity(copies)
	item.fromRow = len(cells) > 1

	for _, written := range cells[1:] {
		cell := strings.TrimSpace(withoutPrices(written))
		_, finish := cardvocab.Finish(cell)

		// Unambiguous cells come first; the rest is the set.
		switch {
		case cell == "":
		case strings.HasPrefix(cell, "card_"):
			item.ID = cell
		case item.Condition == "" && isCondition(cell):
			item.Condition = cell
		case isCondition(cell):
			item.checkConditions(cell, item.Condition)
		case isCopies(cell):
			item.readQuantity(cell)
		case strings.HasPrefix(cell, "= ") && strings.HasSuffix(cell, " x"):
			// The total of several copies, as the tool prints it: "$0.48 = 2 × $0.24".
			item.readQuantity(strings.Trim(cell, "= x") + "x")
		case item.Variant == "" && finish:
			item.Variant = cell
		case isLanguage(cell):
			item.otherCopy = otherCopyOf(cell, "")
		case item.Number == "" && (isNumberLike(cell) || isSignNumber(cell)) && !cardvocab.IsInteger(cell):
			item.Number = cell
		case item.Set == "":
			item.Set = cell
			item.setTail = amountIn(written)
			item.cutNumber()
		default:
			// The card must have it, as it must have every word of the name.
			item.unreadCells += " " + cell
		}
	}
	return item
}

// checkConditions sets the reason for no price if two conditions of a line differ.
func (item *Item) checkConditions(one, other string) {
	x, _ := ParseCondition(one)
	y, _ := ParseCondition(other)
	if x != y {
		item.noPriceReason = `the line has two conditions, "` + clip(other) + `" and "` + clip(one) + `"`
	}
}

func isLanguage(cell string) bool { return slices.Contains(languages, cardvocab.Fold(cell)) }

var languages = []string{
	"english", "en", "eng", "japanese", "jp", "jpn", "german", "deutsch", "french", "francais", "italian",
	"italiano", "spanish", "espanol", "portuguese", "korean", "chinese", "simplifiedchinese", "traditionalchinese",
	"dutch", "polish", "russian", "thai", "indonesian", "it", "de", "fr", "es", "pt", "ko", "kr", "zh", "cn", "ru",
}

// cutCopies cuts the quantity off a line. It finds "2x", "3", "x4", "(2x)" in front, "x4" at
// the end, "3 pcs" and "qty 3" on either side, and also list bullets.
func cutCopies(text string) (rest, copies string) {
	text = text[len(bullet.FindString(text)):]
	if rest, copies, ok := cutCounted(text); ok {
		return rest, copies
	}

	first, rest, ok := strings.Cut(text, " ")

	// One Piece's deck lists have no space: "4xOP01-016".
	if count, number, glued := strings.Cut(first, "x"); glued && cardvocab.IsInteger(count) && len(count) <= 2 &&
		isFullNumber(number) {
		return strings.TrimSpace(number + " " + rest), count
	}
	if !ok {
		return text, ""
	}

	// A short integer in front of a word is a quantity: "151 001" has none.
	number := strings.Trim(first, "()[]")
	short := cardvocab.IsInteger(first) && len(first) <= 2
	times, left, _ := strings.Cut(rest, " ")
	if strings.EqualFold(times, "x") && cardvocab.IsInteger(first) && left != "" {
		return strings.TrimSpace(left), first
	}
	if isCopies(number) || short && startsWord(rest) {
		return strings.TrimSpace(rest), number
	}

	at := strings.LastIndexByte(text, ' ')
	last := strings.Trim(text[at+1:], "()[]")
	if isCopies(last) {
		return strings.TrimSpace(text[:at]), last
	}
	before := strings.TrimSpace(text[:at])

	// Without a number before it, an X may be part of the name: "Mega Charizard X 13".
	name, ok := strings.CutSuffix(before, " x")
	if ok && cardvocab.IsInteger(last) && strings.ContainsAny(name, "0123456789") {
		return name, last
	}
	return text, ""
}

// Quantities with a word: "3 pcs Charizard", "3 copies of", "qty: 3", "(3 pieces)".
var (
	countedFirst = regexp.MustCompile(`(?i)^(?:(?:qty|quantity)\b:?\s*([0-9]{1,4})x?|` +
		`([0-9]{1,4})\s*x?\s*(?:pcs?|pieces?|copies|copy)\b\.?(?:\s+of)?)\s+`)
	countedLast = regexp.MustCompile(`(?i)[\s,(]+(?:(?:qty|quantity)\b:?\s*([0-9]{1,4})|` +
		`([0-9]{1,4})\s*(?:pcs?|pieces?|copies|copy)\b\.?)\)?$`)
)

// countWords are these words; a line without any of these words skips the expressions.
var countWords = []string{"pc", "piece", "cop", "qty", "quantity"}

// cutCounted cuts a quantity with such a word off a line.
func cutCounted(text string) (rest, copies string, ok bool) {
	lower := strings.ToLower(text)
	if !slices.ContainsFunc(countWords, func(word string) bool { return strings.Contains(lower, word) }) {
		return text, "", false
	}

	for _, counted := range []*regexp.Regexp{countedFirst, countedLast} {
		at := counted.FindStringSubmatch(text)
		if at != nil {
			rest := strings.TrimSpace(counted.ReplaceAllLiteralString(text, ""))
			return rest, cmp.Or(at[1], at[2]), rest != ""
		}
	}
	return text, "", false
}

// isFullNumber reports whether a text is a number that names its set as well: OP01-016.
func isFullNumber(s string) bool {
	return isNumberLike(s) && startsWord(s) && strings.Contains(s, "-")
}

// bullet is the sign or number before a line of a list. Such a number has a dot or a bracket after
// it.
var bullet = regexp.MustCompile(`^(?:[-*•–—·>+]\s+|[0-9]{1,3}[.)]\s+)+`)

// startsWord reports whether a text begins with a letter.
func startsWord(s string) bool { return s != "" && !cardvocab.IsDigit(s[0]) && s[0] != '#' }
