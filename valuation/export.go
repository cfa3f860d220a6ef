package valuation

import (
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
// rows is the number of lines, of which items has the first limit.
func ReadExport(text string, limit int) (items []Item, rows int, err error) {
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
		return nil, 0, ErrHeader
	}
	display := slices.Clone(header)
	header = foldedCells(header)
	known := layoutOf(header)
	if known == nil {
		known = &byColumns
		header, err = readColumns(display)
		if err != nil {
			return nil, 0, err
		}
	}
	if twice := duplicateColumns(header, display); len(twice) > 0 {
		return nil, 0, fmt.Errorf("the header has a column more than once: %s", strings.Join(twice, ", "))
	}

	for {
		row, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			return items, rows, nil
		case err != nil:
			return nil, 0, fmt.Errorf("cannot read row %d: %w", rows+1, err)
		}
		if !slices.ContainsFunc(row, func(cell string) bool { return strings.TrimSpace(cell) != "" }) {
			continue
		}

		// A list of texts below a header is no table.
		if known == &byColumns && len(row) < minColumns {
			return nil, 0, fmt.Errorf("row %d has a single cell", rows+1)
		}

		rows++
		if rows <= limit {
			item := known.item(header, row)
			item.fromRow = true
			items = append(items, item)
		}
	}
}

// separatorOf returns the separator of the cells of a header.
func separatorOf(header string) rune {
	best := ','
	for _, sign := range []rune{';', '\t'} {
		if strings.Count(header, string(sign)) > strings.Count(header, string(best)) {
			best = sign
		}
	}
	return best
}

func foldedCells(row []string) []string {
	cells := make([]string, len(row))
	for i, cell := range row {
		cells[i] = cardvocab.Fold(cell)
	}
	return cells
}

// duplicateColumns returns the columns that a header repeats, as they are written: which of them
// counts is unknown.
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
