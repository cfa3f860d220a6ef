package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"ninepocket/snapshot"
)

// wideLayout is one kind of source's keys of its wide history files: the contract's
// "productId,subTypeName", "cardId,subTypeName" and "ref,variant[,condition]".
type wideLayout struct {
	key, variant string // headers of the key columns; the variant's column may be missing, for sealed products
	condition    string // code of the lanes of a file without a condition column
	codes        bool   // whether the variant column holds codes; else they are names to make codes of
	refOK        func(string) bool
}

// wideSuffixes are the names of wide history files.
var wideSuffixes = []string{".csv", ".csv.zst", ".csv.gz"}

// wideColumns is a file's header, understood.
type wideColumns struct {
	variant, condition int // column numbers, -1 when there is none
	first              int // the first day's column
	days               []snapshot.Day
	order              []int // day columns in ascending order of days
	last               snapshot.Day
}

// maxDays bounds the days of one wide file: 20 years.
const maxDays = 7320

// columns reads a header row.
func (layout wideLayout) columns(fields [][]byte) (wideColumns, error) {
	columns := wideColumns{variant: -1, condition: -1, first: 1}
	if string(fields[0]) != layout.key {
		return columns, fmt.Errorf("header must start with %q", layout.key)
	}

	if columns.first < len(fields) && string(fields[columns.first]) == layout.variant {
		columns.variant = columns.first
		columns.first++
		if columns.first < len(fields) && string(fields[columns.first]) == "condition" {
			columns.condition = columns.first
			columns.first++
		}
	}

	// Every other column is a day.
	days := fields[columns.first:]
	if len(days) == 0 {
		return columns, errors.New("header has no days")
	}
	if len(days) > maxDays {
		return columns, fmt.Errorf("header has %d days, more than %d", len(days), maxDays)
	}

	seen := make(map[snapshot.Day]bool, len(days))
	for i, field := range days {
		day, ok := parseDay(string(field))
		if !ok {
			return columns, fmt.Errorf("header column %d is %q, not a day YYYY-MM-DD", columns.first+i+1,
				clip(string(field)))
		}
		if seen[day] {
			return columns, fmt.Errorf("header has day %s twice", day)
		}

		seen[day] = true
		columns.days = append(columns.days, day)
		columns.order = append(columns.order, i)
	}

	// Days may come in any order; points must ascend.
	slices.SortFunc(columns.order, func(a, b int) int { return int(columns.days[a] - columns.days[b]) })
	columns.last = columns.days[columns.order[len(columns.order)-1]]
	return columns, nil
}

// wideReader reads one wide history file.
type wideReader struct {
	layout wideLayout
	cols   wideColumns
	to     Sink

	variants variantReader
	lanes    map[string]struct{}
	key      []byte
	points   []snapshot.Point
	blank    []snapshot.Day
}

// readWide reads a wide history file and emits a Series for every row. Only a header that is not
// understood and an unreadable stream are errors.
func readWide(ctx context.Context, r io.Reader, name string, layout wideLayout, to Sink) error {
	w := &wideReader{layout: layout, to: to, variants: newVariantReader(!layout.codes), lanes: map[string]struct{}{}}
	header := func(fields [][]byte) (err error) {
		w.cols, err = layout.columns(fields)
		return err
	}

	return readTable(ctx, r, name, to, header, w.row)
}

// row reads one lane.
func (w *wideReader) row(at Location, fields [][]byte) *recordError {
	// The key is copied once: series and messages use one copy.
	ref := string(fields[0])
	if !w.layout.refOK(ref) {
		return &recordError{reason: ReasonBadRef, value: ref}
	}

	s := Series{At: at, Ref: ref, Last: w.cols.last}
	var c validator
	s.Variant, s.Condition = w.lane(&c, fields)
	if c.bad != nil {
		return c.done(ref)
	}

	w.key = append(append(append(append(append(w.key[:0], ref...), 0), s.Variant...), 0), s.Condition...)
	if _, twice := w.lanes[string(w.key)]; twice {
		return &recordError{ReasonDuplicateLane, ref, strings.TrimSpace(s.Variant + " " + s.Condition)}
	}

	// The first row of a lane stands.
	w.lanes[string(w.key)] = struct{}{}
	w.cells(at, ref, fields[w.cols.first:])
	s.Points = w.points
	s.Blank = w.blank
	w.to.Series(s)
	return nil
}

// lane reads the variant and condition of a row.
func (w *wideReader) lane(c *validator, fields [][]byte) (variant, condition string) {
	// A file of sealed products has neither column.
	if w.cols.variant < 0 {
		return "", ""
	}

	variant = w.variants.read(c, fields[w.cols.variant])
	switch {
	case w.cols.condition >= 0:
		condition = readCondition(c, variant, fields[w.cols.condition])
	case variant != "":
		condition = w.layout.condition
	}

	return variant, condition
}

// cells reads the prices of a row into points and blank. A bad cell is refused by itself.
func (w *wideReader) cells(at Location, ref string, cells [][]byte) {
	points := w.points[:0] // a local slice stays in registers
	w.blank = w.blank[:0]
	for _, i := range w.cols.order {
		cell := cells[i]
		if len(cell) == 0 {
			continue
		}

		if len(cell) == 1 && cell[0] == '-' {
			// The lane was seen, and had no price.
			w.blank = append(w.blank, w.cols.days[i])
			continue
		}

		cents, ok := parseCents(cell)
		if !ok {
			(&recordError{ReasonBadPrice, ref, w.cols.days[i].String() + ": " + string(cell)}).quarantine(w.to, at)
			continue
		}

		points = append(points, snapshot.Point{Day: w.cols.days[i], Cents: cents})
	}
	w.points = points
}
