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

// The bounds of a list: what is valued in a few milliseconds, and more than most people have at hand.
const (
	ValueLines = 100
	ValueText  = 64 << 10
)

// maxPicks is how many cards the page offers for a line that several fit; those behind the first
// few are folded away.
const (
	maxPicks   = 12
	shownPicks = 3
)

// Pick is an answer to a question about a line: the card that it means, and perhaps the variant.
type Pick struct {
	Line    int // from 1
	Card    string
	Variant string
}

// ParsePick reads what a button of the page sends.
func ParsePick(text string) (pick Pick, ok bool) {
	fields := strings.SplitN(text, " ", 3)
	if len(fields) < 2 {
		return pick, false
	}

	line, err := strconv.Atoi(fields[0])
	if err != nil || line < 1 || line > ValueLines || fields[1] == "" {
		return pick, false
	}
	pick = Pick{Line: line, Card: fields[1]}
	if len(fields) > 2 {
		pick.Variant = fields[2]
	}
	return pick, true
}

// String is the pick as a button sends it.
func (p Pick) String() string {
	return strings.TrimSpace(strconv.Itoa(p.Line) + " " + p.Card + " " + p.Variant)
}

// ValueQuery is a list to value.
type ValueQuery struct {
	List
	More  bool   // the list goes on beyond what was counted
	Picks []Pick // of two of a line the last one counts
}

// TooLong says how long a list is that is not valued, and how long one may be; "" for one that is valued.
func (asked *ValueQuery) TooLong() string {
	rows := asked.Rows()
	if asked.Empty() || asked.Text() != "" && rows <= ValueLines {
		return ""
	}

	size := plural(rows, "row", "rows") + " and " + plural(asked.bytes, "byte", "bytes")
	if asked.More {
		size = "more than " + size
	}
	return "This list has " + size + ". Up to " + plural(ValueLines, "row", "rows") + " and " +
		plural(ValueText, "byte", "bytes") + " are valued at a time: send it in parts. Nothing of it was valued."
}

// valuedLine is a line with what became of it.
type valuedLine struct {
	number int // from 1
	text   string
	item   valuation.Item
	valuation.Line
}

// valuedLines take what became of each line.
type valuedLines []valuedLine

// Line keeps what became of a line.
func (lines valuedLines) Line(line *valuation.Line) { lines[line.N].Line = *line }

type valuePage struct {
	pageLayout
	text   string // the list, "" without one
	picks  []Pick
	why    string // it was not valued, "" where it was
	lines  []valuedLine
	totals valuation.Totals
}

func (p *Pages) valuePage(v *engine.View, now time.Time, asked *ValueQuery) *valuePage {
	page := &valuePage{
		pageLayout: p.newLayout(v, now, "Value a list", "What a list of trading cards is worth, line by line."),
		picks:      asked.Picks,
	}
	if !asked.Empty() {
		page.text = asked.Text()
	}
	page.canonical = canonical(v, "/value")
	return page
}

// ValueRefused appends the page that says why a list is not valued. The form has the list, as far
// as it may be valued with fewer lines.
func (p *Pages) ValueRefused(dst []byte, v *engine.View, now time.Time, asked ValueQuery, why string) []byte {
	page := p.valuePage(v, now, &asked)
	page.why = why
	return appendPage(dst, page)
}

// Value appends the page that values a list. Nothing of the list is kept.
func (p *Pages) Value(dst []byte, v *engine.View, now time.Time, asked ValueQuery) []byte {
	page := p.valuePage(v, now, &asked)
	page.lines, page.totals = valueLines(v, &asked)
	return appendPage(dst, page)
}

// valueLines values each line of a list that says anything. A list with the header of an export is
// read by its columns, as the API reads one; a header of another kind says nothing.
func valueLines(v *engine.View, asked *ValueQuery) (lines []valuedLine, totals valuation.Totals) {
	list := asked.Text()
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
	for _, pick := range asked.Picks {
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

// readLines reads a list as people write it.
func readLines(list string) (lines []valuedLine) {
	for text := range strings.Lines(list) {
		text = strings.TrimSpace(text)
		if text != "" && !isHeader(text) {
			lines = append(lines, valuedLine{number: len(lines) + 1, text: text, item: valuation.Item{Line: text}})
		}
	}
	return lines
}

// headerCells are the names of columns of which every export has two.
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

// lanePicks are the variants of a card that a line may be priced as, each once.
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

// csvSafe is a cell that no spreadsheet takes for a formula.
func csvSafe(cell string) string {
	if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}

// AppendValueCSV appends a valued list as a table for spreadsheets.
func (p *Pages) AppendValueCSV(dst []byte, v *engine.View, asked ValueQuery) ([]byte, error) {
	c := v.Catalog
	out := bytebufferpool.ByteBuffer{B: dst}
	w := csv.NewWriter(&out)
	rows := [][]string{{
		"line", "status", "quantity", "card", "set", "number", "variant", "condition", "unit_price_usd", "total_usd",
		"assumed", "card_id", "text",
	}}

	lines, _ := valueLines(v, &asked)
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
			row[6] = title(line.Variant)
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

// assumptionText says which assumptions a price rests on, as a sentence.
func assumptionText(r *valuation.Result) string {
	var all []string
	for _, one := range r.Assumed {
		used := title(one.Used)
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

// between is what the whole list may be worth: what is priced, and of each line that several cards fit the
// cheapest and the dearest.
func (p *valuePage) between() (from, to int64) {
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

// assumptions are what a price does not follow as it was given, in words.
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

// openText says what a line without a card leaves open.
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
