package site

import (
	"errors"
	"slices"
	"strings"

	"ninepocket/engine"
	"ninepocket/valuation"
	"ninepocket/wire"
)

// listRows reads the lines of a list one after the other. A list with the header of an export is
// read by its columns, as in the API; another header line is skipped.
type listRows struct {
	text   string
	export *valuation.Export // nil for a list with one card a line
	count  int               // lines before the next one
	at     int               // where the next one begins in text
	line   valuedLine        // the last one, not yet valued
}

// readRows begins to read a list. Its first RowsAtATime rows decide whether it is an export. The
// warning says why a list that looks like one is read line by line. Without last, the text may end
// within a row.
func readRows(text string, last bool) (rows *listRows, warning string) {
	export, err := valuation.OpenExport(text)
	if err != nil {
		return &listRows{text: text}, headerWarning(text, err)
	}
	for export.Rows < RowsAtATime && export.Next() { // until one is no row
	}
	if export.Err != nil && (last || export.Offset() < len(text)) {
		return &listRows{text: text}, ""
	}
	rows, _ = exportRows(text) // as before
	return rows, ""
}

// exportRows begins to read a list that is an export.
func exportRows(text string) (*listRows, error) {
	export, err := valuation.OpenExport(text)
	if err != nil {
		return nil, err
	}
	return &listRows{text: text, export: export, at: export.Offset()}, nil
}

// next reads the next line that is not blank, and reports whether there is one.
func (r *listRows) next() bool {
	if r.export != nil {
		r.export.Rows = r.count
		if !r.export.Next() {
			return false
		}
		item := r.export.Item()
		r.found(joined(item.Name, item.Set, item.Number), item, r.export.Offset())
		return true
	}

	for r.at < len(r.text) {
		text, _, _ := strings.Cut(r.text[r.at:], "\n")
		end := min(r.at+len(text)+1, len(r.text))
		text = strings.TrimSpace(text)
		if text != "" && !isHeader(text) {
			r.found(text, valuation.Item{Line: text}, end)
			return true
		}
		r.at = end
	}
	return false
}

// found sets the line that was read.
func (r *listRows) found(text string, item valuation.Item, end int) {
	r.count++
	r.at = end
	r.line = valuedLine{number: r.count, text: text, item: item}
}

// err returns the error that ended the lines before the end of the list.
func (r *listRows) err() error {
	if r.export == nil {
		return nil
	}
	return r.export.Err
}

// headerWarning returns why a header is not used, "" for a first row that does not look like a header.
func headerWarning(text string, err error) string {
	first, rest, _ := strings.Cut(text, "\n")
	second, _, _ := strings.Cut(rest, "\n")
	isTable := slices.ContainsFunc([]string{",", ";", "\t"}, func(sign string) bool {
		cells := strings.Count(first, sign)
		return cells >= 2 && strings.Count(second, sign) >= cells
	})
	// No header has a number in it, and hardly a row of cards has none.
	if errors.Is(err, valuation.ErrHeader) && (!isTable || strings.ContainsAny(first, "0123456789")) {
		return ""
	}
	return capitalize(err.Error()) + ". Each line was read by itself."
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

// RowsQuery is a piece of a list that the page's script asks to value.
type RowsQuery struct {
	// Text begins with the header of an export unless Kind is "lines".
	Text string
	// Kind is "export" or "lines", as the response to the first piece says; "" for the first piece.
	Kind    string
	Before  int    // rows before this piece
	Last    bool   // the list ends with it
	Picks   []Pick // of its rows
	Version string // of the script
}

// AppendRows appends the rows of a piece as JSON for the page's script, which adds them up. The
// last row of a piece may be incomplete, so it is left for the next piece. The error names the
// unreadable row.
func (p *Pages) AppendRows(dst []byte, v *engine.View, query *RowsQuery) ([]byte, error) {
	rows := &listRows{text: query.Text}
	warning := ""
	var err error
	switch query.Kind {
	case "lines":
	case "export":
		rows, err = exportRows(query.Text)
	default:
		rows, warning = readRows(query.Text, query.Last)
	}
	if err != nil {
		return dst, err
	}
	header := rows.at
	rows.count = query.Before

	lines, ends := rows.piece(query.Last)
	err = rows.err()
	if err != nil && (query.Last || rows.export.Offset() < len(query.Text)) {
		return dst, err
	}
	valueLines(v, lines, query.Picks)

	kind := "lines"
	if rows.export != nil {
		kind = "export"
	}
	dst = wire.AppendText(dst, `{"snapshot":`, v.ID)
	dst = wire.AppendText(dst, `,"as_of":`, momentOf(v.Catalog.SnapshotAt).Text)
	dst = wire.AppendText(dst, `,"kind":`, kind)
	dst = wire.AppendText(dst, `,"warning":`, warning)
	dst = wire.AppendInt(dst, `,"header":`, int64(header))
	dst = append(dst, `,"rows":[`...)
	page := &valuePage{pageLayout: pageLayout{Pages: p, view: v}}
	for i := range lines {
		dst = page.appendRow(wire.AppendComma(dst), &lines[i], ends[i])
	}
	return append(wire.AppendInt(dst, `],"read":`, int64(rows.at)), '}'), nil
}

// piece reads up to RowsAtATime lines and where each ends. Without last, the line that the text
// ends with is left.
func (r *listRows) piece(last bool) (lines []valuedLine, ends []int) {
	for len(lines) <= RowsAtATime && r.next() {
		lines = append(lines, r.line)
		ends = append(ends, r.at)
	}

	n := len(lines)
	complete := n <= RowsAtATime && (last || n == 0) && r.err() == nil
	if n > RowsAtATime || n > 0 && !last && r.err() == nil {
		lines = lines[:n-1]
		ends = ends[:n-1]
	}

	switch {
	case complete:
		r.at = len(r.text) // the rest is blank
	case len(ends) > 0:
		r.at = ends[len(ends)-1]
	default:
		r.at = 0 // the script sends a longer piece
	}
	return lines, ends
}

// appendRow appends a row as JSON: where it ends in the piece, its numbers, and its texts for the
// table and for the page.
func (p *valuePage) appendRow(dst []byte, line *valuedLine, end int) []byte {
	dst = wire.AppendInt(dst, `{"end":`, int64(end))
	dst = wire.AppendInt(dst, `,"copies":`, line.Quantity)
	dst = wire.AppendInt(dst, `,"cents":`, line.Total)
	dst = wire.AppendInt(dst, `,"from":`, line.From)
	dst = wire.AppendInt(dst, `,"to":`, line.To)
	dst = append(dst, `,"cells":[`...)
	for _, cell := range valueCells(p.view, line) {
		dst = wire.AppendString(wire.AppendComma(dst), cell)
	}
	return append(wire.AppendText(dst, `],"html":`, p.row(line, true)), '}')
}
