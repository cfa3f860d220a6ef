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

// wideForm is how one kind of source keys its wide history files: the contract's
// "productId,subTypeName", "cardId,subTypeName" and "ref,variant[,condition]".
type wideForm struct {
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

// columns reads a header row. A header that is not understood is an error of the file: every cell
// under it would be wrong.
func (form wideForm) columns(fields [][]byte) (wideColumns, error) {
	c := wideColumns{variant: -1, condition: -1, first: 1}
	if len(fields) == 0 || string(fields[0]) != form.key {
		return c, fmt.Errorf("header must start with %q", form.key)
	}

	if c.first < len(fields) && string(fields[c.first]) == form.variant {
		c.variant = c.first
		c.first++
		if c.first < len(fields) && string(fields[c.first]) == "condition" {
			c.condition = c.first
			c.first++
		}
	}

	// Every other column is a day.
	days := fields[c.first:]
	if len(days) == 0 {
		return c, errors.New("header has no days")
	}
	if len(days) > maxDays {
		return c, fmt.Errorf("header has %d days, more than %d", len(days), maxDays)
	}

	seen := make(map[snapshot.Day]bool, len(days))
	for i, field := range days {
		day, ok := parseDay(string(field))
		if !ok {
			return c, fmt.Errorf("header column %d is %q, not a day YYYY-MM-DD", c.first+i+1, clip(string(field)))
		}
		if seen[day] {
			return c, fmt.Errorf("header has day %s twice", day)
		}

		seen[day] = true
		c.days = append(c.days, day)
		c.order = append(c.order, i)
	}

	// Days may come in any order; points must ascend.
	slices.SortFunc(c.order, func(a, b int) int { return int(c.days[a]) - int(c.days[b]) })
	c.last = c.days[c.order[len(c.order)-1]]
	return c, nil
}

// wideReader reads one wide history file.
type wideReader struct {
	form wideForm
	cols wideColumns
	file string
	to   Sink

	codes      map[string]string // variant column → code, "" for bad ones
	conditions map[string]string
	lanes      map[string]struct{}
	fields     [][]byte
	key        []byte
	points     []snapshot.Point
	blank      []snapshot.Day
}

// readWide reads a wide history file and emits a Series for every row. Only a header that is not
// understood and an unreadable stream are errors.
func readWide(ctx context.Context, r io.Reader, name string, form wideForm, to Sink, progress func()) error {
	in := newLines(r)
	defer in.done()
	header, err := in.next()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the file is empty")
		}
		return fmt.Errorf("cannot read history file %q: %w", name, err)
	}

	fields, ok := splitRow(nil, header)
	if !ok {
		return fmt.Errorf("cannot read history file %q: header's quotes do not close", name)
	}

	w := &wideReader{
		form: form, file: name, to: to, codes: map[string]string{}, conditions: map[string]string{},
		lanes: map[string]struct{}{},
	}
	w.cols, err = form.columns(fields)
	if err != nil {
		return fmt.Errorf("cannot read history file %q: %w", name, err)
	}

	for {
		line, err := in.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errLongLine):
			w.refuse(in.n, ReasonTooLong, "", "")
		case err != nil:
			return fmt.Errorf("cannot read history file %q: %w", name, err)
		case len(line) > 0:
			w.row(in.n, line)
		}

		if in.n%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			progress()
		}
	}
}

func (w *wideReader) refuse(line int, reason, ref, value string) {
	w.to.Quarantine(Quarantine{At: At{File: w.file, Line: line}, Reason: reason, Ref: clip(ref), Value: clip(value)})
}

// row reads one lane.
func (w *wideReader) row(n int, line []byte) {
	fields, ok := splitRow(w.fields[:0], line)
	w.fields = fields
	if !ok || len(fields) != w.cols.first+len(w.cols.days) {
		w.refuse(n, ReasonBadRow, "", string(line))
		return
	}

	ref := string(fields[0])
	if !w.form.refOK(ref) {
		w.refuse(n, ReasonBadRef, "", ref)
		return
	}

	s := Series{At: At{File: w.file, Line: n}, Ref: ref, Last: w.cols.last}
	s.Variant, s.Condition, ok = w.lane(n, ref)
	if !ok {
		return
	}

	w.key = append(append(append(append(append(w.key[:0], ref...), 0), s.Variant...), 0), s.Condition...)
	if _, twice := w.lanes[string(w.key)]; twice {
		w.refuse(n, ReasonDuplicateLane, ref, strings.TrimSpace(s.Variant+" "+s.Condition))
		return
	}

	// The first row of a lane stands.
	w.lanes[string(w.key)] = struct{}{}
	w.cells(n, ref, fields[w.cols.first:])
	s.Points = w.points
	s.Blank = w.blank
	w.to.Series(s)
}

// lane reads the variant and condition of the row in fields.
func (w *wideReader) lane(n int, ref string) (variant, condition string, ok bool) {
	if w.cols.variant >= 0 {
		// A file has a handful of variants, so that each is judged once.
		raw := w.fields[w.cols.variant]
		variant, ok = w.codes[string(raw)]
		if !ok {
			variant = string(raw)
			if !w.form.codes {
				variant = variantCode(variant)
			}
			if variant != "" && !IsCode(variant) || variant == "" && !w.form.codes {
				w.refuse(n, ReasonBadVariant, ref, string(raw))
				return "", "", false
			}
			w.codes[string(raw)] = variant
		}
	}

	if w.cols.condition < 0 {
		// A sealed product has no condition.
		if variant != "" {
			condition = w.form.condition
		}
		return variant, condition, true
	}

	raw := w.fields[w.cols.condition]
	condition, ok = w.conditions[string(raw)]
	if !ok {
		condition = string(raw)
		if _, known := snapshot.ParseCondition(condition); !known && condition != "" {
			w.refuse(n, ReasonBadCondition, ref, condition)
			return "", "", false
		}
		w.conditions[condition] = condition
	}

	// Sealed products have neither, cards have both.
	if (variant == "") != (condition == "") {
		w.refuse(n, ReasonBadCondition, ref, condition)
		return "", "", false
	}

	return variant, condition, true
}

// cells reads the prices of a row into points and blank. A bad cell is refused by itself.
func (w *wideReader) cells(n int, ref string, cells [][]byte) {
	w.points = w.points[:0]
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
			w.refuse(n, ReasonBadPrice, ref, w.cols.days[i].String()+": "+string(cell))
			continue
		}

		w.points = append(w.points, snapshot.Point{Day: w.cols.days[i], Cents: cents})
	}
}
