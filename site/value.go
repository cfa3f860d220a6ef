package site

import (
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/bytebufferpool"

	"ninepocket/engine"
	"ninepocket/snapshot"
	"ninepocket/valuation"
)

// Bounds of a list. It is valued in a few milliseconds, and is longer than most people need.
const (
	ValueLines = 100
	ValueText  = 64 << 10
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
	if err != nil || line < 1 || line > ValueLines || card == "" {
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
	More  bool   // the list is longer than what was counted
	Picks []Pick // the last pick of a line counts
}

// TooLong returns a message with the size of the list and the limits if the list is too long, else
// "".
func (query *ValueQuery) TooLong() string {
	rows := query.Rows()
	if query.Empty() || query.Text() != "" && rows <= ValueLines {
		return ""
	}

	size := plural(rows, "row", "rows") + " and " + plural(query.bytes, "byte", "bytes")
	if query.More {
		size = "more than " + size
	}
	return "This list has " + size + ". Up to " + plural(ValueLines, "row", "rows") + " and " +
		plural(ValueText, "byte", "bytes") + " are valued at a time: send it in parts. Nothing of it was valued."
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
	text   string // the list, "" without one
	picks  []Pick
	reason string // why the list was not valued, "" if it was
	lines  []valuedLine
	totals valuation.Totals
}

func (p *Pages) valuePage(v *engine.View, now time.Time, query *ValueQuery) *valuePage {
	page := &valuePage{
		pageLayout: p.newLayout(v, now, "Value a list", "What a list of trading cards is worth, line by line."),
		picks:      query.Picks,
	}
	if !query.Empty() {
		page.text = query.Text()
	}
	page.canonical = canonical(v, "/value")
	return page
}

// ValueRefused appends the page that says why a list is not valued. The form has the list unless
// that is too long.
func (p *Pages) ValueRefused(dst []byte, v *engine.View, now time.Time, query ValueQuery, reason string) []byte {
	page := p.valuePage(v, now, &query)
	page.reason = reason
	return appendPage(dst, page)
}

// Value appends the page that values a list. Nothing of the list is stored.
func (p *Pages) Value(dst []byte, v *engine.View, now time.Time, query ValueQuery) []byte {
	page := p.valuePage(v, now, &query)
	page.lines, page.totals = valueLines(v, &query)
	return appendPage(dst, page)
}

// valueLines values each line of a list. A list with the header of a known export is read by its
// columns, as in the API; another header line is skipped.
func valueLines(v *engine.View, query *ValueQuery) (lines []valuedLine, totals valuation.Totals) {
	list := query.Text()
	items, _, err := valuation.ReadExport(list, ValueLines)
	if err == nil {
		for i := range items {
			text := joined(items[i].Name, items[i].Set, items[i].Number)
			lines = append(lines, valuedLine{number: i + 1, text: text, item: items[i]})
		}
	} else {
		lines = readLines(list)
	}

	picked := map[int]Pick{}
	for _, pick := range query.Picks {
		picked[pick.Line] = pick
	}
	items = make([]valuation.Item, len(lines))
	for i := range lines {
		items[i] = lines[i].item
		if pick, answered := picked[i+1]; answered {
			items[i].ID = pick.Card
			items[i].Variant = pick.Variant
			items[i].Picked = true
		}
	}
	appraiser := &valuation.Appraiser{Candidates: maxPicks}
	totals = appraiser.ValueList(v, items, valuedLines(lines))
	return lines, totals
}

// readLines reads a list with one card a line.
func readLines(list string) (lines []valuedLine) {
	for text := range strings.Lines(list) {
		text = strings.TrimSpace(text)
		if text != "" && !isHeader(text) {
			lines = append(lines, valuedLine{number: len(lines) + 1, text: text, item: valuation.Item{Line: text}})
		}
	}
	return lines
}

// headerCells are column names; every export has at least two of them.
var headerCells = []string{
	"quantity", "name", "card name", "product name", "english name", "condition", "amount", "set",
}

// isHeader reports whether a line is the header row of an export.
func isHeader(text string) bool {
	found := 0
	for cell := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return r == ',' || r == ';' }) {
		if slices.Contains(headerCells, strings.Trim(cell, `" `)) {
			found++
		}
	}
	return found >= 2
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

// AppendValueCSV appends a valued list as CSV for spreadsheets.
func (p *Pages) AppendValueCSV(dst []byte, v *engine.View, query ValueQuery) ([]byte, error) {
	c := v.Catalog
	out := bytebufferpool.ByteBuffer{B: dst}
	w := csv.NewWriter(&out)
	rows := [][]string{{
		"line", "status", "quantity", "card", "set", "number", "variant", "condition", "unit_price_usd", "total_usd",
		"assumed", "card_id", "text",
	}}

	lines, _ := valueLines(v, &query)
	for i := range lines {
		line := &lines[i]
		row := make([]string, len(rows[0]))
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
		rows = append(rows, row)
	}

	err := w.WriteAll(rows)
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

// totalRange returns the lowest and highest value of the whole list: the priced lines, and for each
// ambiguous line its cheapest or most expensive card.
func (p *valuePage) totalRange() (from, to int64) {
	from = p.totals.Exact + p.totals.Assumed
	to = from
	for i := range p.lines {
		if r := &p.lines[i].Result; r.Status != valuation.Priced && r.From >= 0 {
			from += r.From * r.Quantity
			to += r.To * r.Quantity
		}
	}
	return from, to
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

// openText returns what is unresolved about a line without a card.
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
