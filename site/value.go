package site

import (
	"encoding/csv"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/bytebufferpool"

	"ninepocket/engine"
	"ninepocket/snapshot"
	"ninepocket/valuation"
)

// Bounds of a list.
const (
	// ValueLines and ValueText bound a list whose page shows every line with its questions. That
	// takes a few milliseconds, and the page has the list in its form.
	ValueLines = 100
	ValueText  = 64 << 10
	// MaxListRows and MaxListText bound a list that is valued at all: the whole collection of a
	// shop, which takes a second. Of a list larger than ValueLines the page shows openShown lines.
	MaxListRows = 20_000
	MaxListText = 4 << 20
	openShown   = 200
	// RowsAtATime is how many rows are valued at a time. A script posts as many at once, they count
	// as a page of a visitor's limit, and the first ones decide whether a list is an export.
	RowsAtATime = 500
)

// maxPicks is how many cards the page offers for a line that matches several. shownPicks of them
// are visible at once.
const (
	maxPicks   = 12
	shownPicks = 3
)

// Pick is the user's choice for an ambiguous line: the card, and optionally the variant.
type Pick struct {
	Line    int // from 1
	Card    string
	Variant string
}

// ParsePick parses the value that a button of the page sends.
func ParsePick(text string) (pick Pick, ok bool) {
	number, rest, _ := strings.Cut(text, " ")
	card, variant, _ := strings.Cut(rest, " ")
	line, err := strconv.Atoi(number)
	if err != nil || line < 1 || line > MaxListRows || card == "" {
		return Pick{}, false
	}
	return Pick{Line: line, Card: card, Variant: variant}, true
}

// String returns the pick as a button sends it.
func (p Pick) String() string {
	return strings.TrimSpace(strconv.Itoa(p.Line) + " " + p.Card + " " + p.Variant)
}

// ValueQuery is a list to value, with the choices made so far.
type ValueQuery struct {
	List
	More  bool   // the list is longer than the counted part
	Picks []Pick // the last pick of a line counts
}

// TooLong returns a message with the size of the list and the limits if the list is too long, else
// "".
func (query *ValueQuery) TooLong() string {
	rows := query.Rows()
	if query.Empty() || query.Text() != "" && rows <= MaxListRows {
		return ""
	}

	size := plural(rows, "row", "rows") + " and " + plural(query.bytes, "byte", "bytes")
	if query.More {
		size = "more than " + size
	}
	return "This list has " + size + ". Up to " + plural(MaxListRows, "row", "rows") + " and " +
		plural(MaxListText, "byte", "bytes") + " are valued at a time: send it in parts. Nothing of it was valued."
}

// isLarge reports whether the page of the list shows only a part.
func (query *ValueQuery) isLarge() bool {
	return len(query.Text()) > ValueText || query.Rows() > ValueLines
}

// valuedLine is a line of a list with its result.
type valuedLine struct {
	number int // from 1
	text   string
	item   valuation.Item
	valuation.Line
}

// valuedLines receives the result of each line.
type valuedLines []valuedLine

// Line stores the result of a line.
func (lines valuedLines) Line(line *valuation.Line) {
	lines[line.N].Line = *line
	if len(line.Ignored) > 0 {
		ignored := `"` + strings.Join(line.Ignored, `", "`) + `" is nothing of the card and was ignored`
		lines[line.N].Remark = strings.TrimPrefix(line.Remark+"; "+ignored, "; ")
	}
}

type valuePage struct {
	pageLayout
	text    string // the list, "" without one and for a large one
	picks   []Pick
	reason  string // why the list was not valued, "" if it was
	warning string // why the list was read line by line
	large   bool   // lines has the first open ones alone
	lines   []valuedLine
	totals  valuation.Totals
	// The lowest and highest value of the whole list: the priced lines, and for each ambiguous line
	// its cheapest or most expensive card.
	from, to int64
}

func (p *Pages) valuePage(v *engine.View, now time.Time, query *ValueQuery) *valuePage {
	page := &valuePage{
		pageLayout: p.newLayout(v, now, "Value a list", "The worth of a list of trading cards, line by line."),
		picks:      query.Picks,
	}
	if !query.Empty() && !query.isLarge() {
		page.text = query.Text()
	}
	page.canonical = canonical(v, "/value")
	page.script = valueScript
	return page
}

// ValueRefused appends the page that says why a list is not valued. The form has the list unless
// that is too long.
func (p *Pages) ValueRefused(dst []byte, v *engine.View, now time.Time, query ValueQuery, reason string) []byte {
	page := p.valuePage(v, now, &query)
	page.reason = reason
	return appendPage(dst, page)
}

// Value appends the page that values a list. Nothing of the list is stored. The error names the
// unreadable row of a large export.
func (p *Pages) Value(dst []byte, v *engine.View, now time.Time, query ValueQuery) ([]byte, error) {
	page := p.valuePage(v, now, &query)
	page.large = !query.Empty() && query.isLarge()
	rows, warning := readRows(query.Text(), true)
	page.warning = warning
	err := valueEach(v, rows, query.Picks, page.add)
	if err != nil {
		return dst, err
	}
	return appendPage(dst, page), nil
}

// add adds a line to the totals, and to the lines that the page shows.
func (p *valuePage) add(line *valuedLine) {
	r := &line.Result
	p.totals.Add(r)
	switch {
	case r.Status == valuation.Priced:
		p.from += r.Total
		p.to += r.Total
	case r.From >= 0:
		p.from += r.From * r.Quantity
		p.to += r.To * r.Quantity
	}

	if !p.large || r.Status != valuation.Priced && len(p.lines) < openShown {
		p.lines = append(p.lines, *line)
	}
}

// valueEach values the lines of a list in pieces, and passes each to take.
func valueEach(v *engine.View, rows *listRows, picks []Pick, take func(*valuedLine)) error {
	lines := make([]valuedLine, 0, ValueLines)
	for more := true; more; {
		lines = lines[:0]
		more = false
		for len(lines) < RowsAtATime && rows.next() {
			lines = append(lines, rows.line)
			more = true
		}

		valueLines(v, lines, picks)
		for i := range lines {
			take(&lines[i])
		}
	}
	return rows.err()
}

// valueLines values lines of a list, and those that were picked as the user chose.
func valueLines(v *engine.View, lines []valuedLine, picks []Pick) {
	picked := map[int]Pick{}
	for _, pick := range picks {
		picked[pick.Line] = pick
	}

	items := make([]valuation.Item, len(lines))
	for i := range lines {
		items[i] = lines[i].item
		if pick, answered := picked[lines[i].number]; answered {
			items[i].ID = pick.Card
			items[i].Variant = pick.Variant
			items[i].Picked = true
		}
	}
	appraiser := &valuation.Appraiser{Candidates: maxPicks}
	appraiser.ValueList(v, items, valuedLines(lines))
}

// lanePicks returns a pick for each variant of a card with a price.
func lanePicks(c *snapshot.Catalog, line *valuedLine) (picks []Pick) {
	id := c.Cards.ID.At(line.Card)
	for lane, to := c.Lanes.Of.Range(line.Card); lane < to; lane++ {
		variant := c.Variants.At(int(c.Lanes.Variant[lane]))
		if c.Lanes.Cents[lane] < 0 || len(picks) > 0 && picks[len(picks)-1].Variant == variant {
			continue
		}
		picks = append(picks, Pick{Line: line.number, Card: id, Variant: variant})
	}
	return picks
}

// csvSafe returns a cell that no spreadsheet interprets as a formula.
func csvSafe(cell string) string {
	if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}

// valueColumns are the columns of a valued list as a table.
var valueColumns = []string{
	"line", "status", "quantity", "card", "set", "number", "variant", "condition", "unit_price_usd", "total_usd",
	"assumed", "card_id", "text",
}

// valueCells returns a line as a row of the table.
func valueCells(v *engine.View, line *valuedLine) []string {
	c := v.Catalog
	row := make([]string, len(valueColumns))
	row[0] = strconv.Itoa(line.number)
	row[1] = valuation.StatusNames[line.Status]
	row[2] = strconv.FormatInt(line.Quantity, 10)
	row[12] = line.text

	if line.Card >= 0 {
		row[3] = c.Cards.Name.At(line.Card)
		row[4] = v.Index.SetName(uint32(line.Card))
		row[5] = c.Cards.Number.At(line.Card)
		row[11] = c.Cards.ID.At(line.Card)
	}
	if line.Lane >= 0 {
		row[6] = displayName(line.Variant)
		row[7] = line.Condition
		row[8] = decimal(line.Cents)
		row[9] = decimal(line.Total)
	}

	row[10] = assumptions(&line.Result)
	for k := range row {
		row[k] = csvSafe(row[k])
	}
	return row
}

// AppendValueCSV appends a valued list as CSV for spreadsheets.
func (p *Pages) AppendValueCSV(dst []byte, v *engine.View, query ValueQuery) ([]byte, error) {
	out := bytebufferpool.ByteBuffer{B: dst}
	w := csv.NewWriter(&out)
	_ = w.Write(valueColumns) // a buffer takes everything
	rows, _ := readRows(query.Text(), true)
	err := valueEach(v, rows, query.Picks, func(line *valuedLine) { _ = w.Write(valueCells(v, line)) })
	w.Flush()
	return out.B, err
}

// assumptionText returns the assumptions of a price as a sentence.
func assumptionText(r *valuation.Result) string {
	var all []string
	for _, one := range r.Assumed {
		used := displayName(one.Used)
		switch {
		case one.Field == "condition" && used == snapshot.Ungraded.Text():
			all = append(all, "the price names no condition, "+one.Given+" was given")
		case one.Given == "":
			all = append(all, one.Field+" "+used)
		default:
			all = append(all, one.Field+" "+used+", "+one.Given+" was given")
		}
	}
	return "Assumed: " + strings.Join(all, "; ")
}

// assumptions returns the assumptions of a price for the CSV.
func assumptions(r *valuation.Result) string {
	var all []string
	for _, one := range r.Assumed {
		text := one.Field + " " + one.Used
		if one.Given != "" {
			text += " for " + one.Given
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// openText returns the open question of a line without a card.
func openText(r *valuation.Result) string {
	switch {
	case r.Status == valuation.Ambiguous && r.From >= 0:
		return plural(r.MatchCount, "card fits", "cards fit") + ", from " + dollars(r.From) + " to " + dollars(r.To) +
			". Which one is it?"
	case r.Status == valuation.Ambiguous:
		return plural(r.MatchCount, "card fits", "cards fit") + ". Which one is it?"
	case len(r.Candidates) > 0:
		return "No card fits all of it. Is it one of these?"
	}
	return "No card fits: " + r.Remark + "."
}
