package valuation

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"ninepocket/cardvocab"
)

// ErrHeader reports that the first row of an export is no header.
var ErrHeader = errors.New("the first row is no header of TCGplayer, Collectr, Dragon Shield or Cardmarket, " +
	"and has no columns such as Name, Set, Number and Quantity")

// ReadExport reads a file that an app exported: a header row, and a row for each line of the list.
// The columns of the header identify the app, in any order; other headers are read by their words.
// The number of lines is rows; items has at most the first limit lines.
func ReadExport(text string, limit int) (items []Item, rows int, err error) {
	export, err := OpenExport(text)
	if err != nil {
		return nil, 0, err
	}

	for export.Next() {
		if export.Rows <= limit { // the others are only counted
			items = append(items, export.Item())
		}
	}
	if export.Err != nil {
		return nil, 0, export.Err
	}
	return items, export.Rows, nil
}

// Export reads the rows of an export one after the other, by the rules of [ReadExport].
type Export struct {
	Rows int   // that were read; a caller that continues within a file sets it for the messages
	Err  error // the reason why the rows ended before the end of the text, nil for none

	rows   *csv.Reader
	before int // bytes before the header
	layout *layout
	header []string
	row    []string
}

// OpenExport reads the header of an export. The error gives the fault, and is ErrHeader if the
// first row is not a header.
func OpenExport(text string) (*Export, error) {
	size := len(text)
	text = strings.TrimPrefix(text, "\ufeff")

	// Some files begin with a line that names the separator for spreadsheets.
	if line, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(strings.Trim(line, "\"\r "), "sep=") {
		text = rest
	}

	first, _, _ := strings.Cut(text, "\n")
	r := csv.NewReader(strings.NewReader(text))
	r.Comma = separatorOf(first)
	r.LazyQuotes = true
	r.FieldsPerRecord = -1
	r.ReuseRecord = true

	header, err := r.Read()
	if err != nil {
		return nil, ErrHeader
	}
	display := slices.Clone(header)
	header = foldedCells(header)
	known := layoutOf(header)
	if known == nil {
		known = &byColumns
		header, err = readColumns(display)
		if err != nil {
			return nil, err
		}
	}
	if twice := duplicateColumns(header, display); len(twice) > 0 {
		return nil, fmt.Errorf("the header has a column more than once: %s", strings.Join(twice, ", "))
	}
	return &Export{rows: r, before: size - len(text), layout: known, header: header}, nil
}

// Next reads the next row that is not blank, and reports whether there is one.
func (e *Export) Next() bool {
	for e.Err == nil {
		row, err := e.rows.Read()
		switch {
		case errors.Is(err, io.EOF):
			return false
		case err != nil:
			e.Err = fmt.Errorf("cannot read row %d: %w", e.Rows+1, err)
		case !slices.ContainsFunc(row, func(cell string) bool { return strings.TrimSpace(cell) != "" }):
		case e.layout == &byColumns && len(row) < minColumns:
			// A list of texts below a header is no table.
			e.Err = fmt.Errorf("row %d has a single cell", e.Rows+1)

		default:
			e.Rows++
			e.row = row
			return true
		}
	}
	return false
}

// Item returns the last row as a line of a list.
func (e *Export) Item() Item { return e.layout.item(e.header, e.row) }

// Offset returns where the last row of the text ended, in bytes.
func (e *Export) Offset() int { return e.before + int(e.rows.InputOffset()) }

// separatorOf returns the separator of the cells of a header.
func separatorOf(header string) rune {
	count := func(sign rune) int { return strings.Count(header, string(sign)) }
	return slices.MaxFunc([]rune{',', ';', '\t'}, func(a, b rune) int { return cmp.Compare(count(a), count(b)) })
}

func foldedCells(row []string) []string {
	cells := make([]string, len(row))
	for i, cell := range row {
		cells[i] = cardvocab.Fold(cell)
	}
	return cells
}

// duplicateColumns returns the columns that a header repeats, as written: it is unknown which of
// them counts.
func duplicateColumns(header, display []string) (twice []string) {
	for i, column := range header {
		if column != "" && column != ignored && slices.Index(header, column) < i {
			twice = append(twice, `"`+clip(strings.TrimSpace(display[i]))+`"`)
		}
	}
	return twice
}

// layoutOf returns the layout whose own columns a header has, nil for none.
func layoutOf(header []string) *layout {
	for i := range layouts {
		own := layouts[i].own
		if len(own) > 0 && !slices.ContainsFunc(own, func(column string) bool {
			return !slices.Contains(header, column)
		}) {
			return &layouts[i]
		}
	}
	return nil
}
