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

// nativePriceColumns are the header of a price file; the columns may come in any order.
var nativePriceColumns = [...]string{"ref", "variant", "condition", "cents", "source_as_of", "collected_at", "licensed"}

// Positions in nativePriceColumns.
const (
	colRef = iota
	colVariant
	colCondition
	colCents
	colAsOf
	colCollected
	colLicensed
)

// nativeColumns says where in a file's rows each of the columns is.
type nativeColumns [len(nativePriceColumns)]int

// readDays reads the price files by day. Each file is read twice: a lane that it has twice is
// refused with all its rows, and the first pass finds those lanes at the cost of 8 bytes a row
// instead of the rows themselves.
func (s *native) readDays(ctx context.Context, to Sink) error {
	names := make([]string, len(s.prices))
	days := make(map[string]snapshot.Day, len(s.prices))
	for i, p := range s.prices {
		names[i] = p.name
		days[p.name] = p.day
	}

	suspects := map[string][]uint64{}
	err := s.eachUnpacked(ctx, names, func(name string, r io.Reader) error {
		list, err := findSuspects(r)
		if len(list) > 0 {
			suspects[name] = list
		}

		if err != nil {
			return fmt.Errorf("cannot read price file %q: %w", name, err)
		}

		return nil
	})
	if err != nil {
		return err
	}

	done := int64(0)
	to.Progress("prices", 0, int64(len(names)))
	return s.eachUnpacked(ctx, names, func(name string, r io.Reader) error {
		p := priceReader{
			file: name, day: days[name], asOf: msOf(s.opts.AsOf), suspects: suspects[name], to: to,
			codes: map[string]string{},
		}
		if err := p.read(ctx, r); err != nil {
			return fmt.Errorf("cannot read price file %q: %w", name, err)
		}

		done++
		to.Progress("prices", done, int64(len(names)))
		return nil
	})
}

// priceColumns maps a header to column positions. A header that is not understood is an error of
// the file.
func priceColumns(line []byte) (cols nativeColumns, err error) {
	fields, ok := splitRow(nil, line)
	if !ok || len(fields) != len(nativePriceColumns) {
		return cols, fmt.Errorf("header must have the columns %s", strings.Join(nativePriceColumns[:], ","))
	}

	for i, name := range nativePriceColumns {
		// Columns may come in any order, but all must be there.
		k := slices.IndexFunc(fields, func(f []byte) bool { return string(f) == name })
		if k < 0 {
			return cols, fmt.Errorf("header lacks the column %q", name)
		}
		cols[i] = k
	}

	return cols, nil
}

// eachRow calls row for every line after the header with its fields, or without them for a line
// that is no row, and without the line too when that is longer than maxLine.
func eachRow(r io.Reader, row func(n int, cols *nativeColumns, fields [][]byte, line []byte) error) error {
	in := newLines(r)
	defer in.done()
	header, err := in.next()
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty")
	}
	if err != nil {
		return err
	}

	cols, err := priceColumns(header)
	if err != nil {
		return err
	}

	var fields [][]byte
	for {
		line, err := in.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errLongLine):
			err = row(in.n, &cols, nil, nil)
		case err != nil:
			return err
		case len(line) == 0:
			continue
		default:
			var ok bool
			fields, ok = splitRow(fields[:0], line)
			if !ok || len(fields) != len(cols) {
				err = row(in.n, &cols, nil, line)
			} else {
				err = row(in.n, &cols, fields, line)
			}
		}

		if err != nil {
			return err
		}
	}
}

// laneHash is FNV-1a over a lane's key as the file spells it.
func laneHash(cols *nativeColumns, fields [][]byte) uint64 {
	h := uint64(14695981039346656037)
	for _, col := range []int{colRef, colVariant, colCondition} {
		for _, b := range fields[cols[col]] {
			h = (h ^ uint64(b)) * 1099511628211
		}
		h *= 1099511628211
	}

	return h
}

// findSuspects returns the hashes that more than one row has, ascending. Rows with such a hash are
// compared exactly.
func findSuspects(r io.Reader) ([]uint64, error) {
	var all []uint64
	err := eachRow(r, func(_ int, cols *nativeColumns, fields [][]byte, _ []byte) error {
		if fields != nil {
			all = append(all, laneHash(cols, fields))
		}
		return nil
	})

	// Equal hashes stand side by side now.
	slices.Sort(all)
	var twice []uint64
	for i := 1; i < len(all); i++ {
		if all[i] == all[i-1] && (len(twice) == 0 || twice[len(twice)-1] != all[i]) {
			twice = append(twice, all[i])
		}
	}

	return twice, err
}

// priceReader reads one price file.
type priceReader struct {
	file     string
	day      snapshot.Day
	asOf     int64
	suspects []uint64
	to       Sink
	codes    map[string]string // variants seen, so that a row does not copy its own
	held     []heldRow
	times    [2]struct { // the last value of each time column: they hardly vary
		text string
		ms   int64
	}
}

// heldRow is a row whose lane may be there twice.
type heldRow struct {
	key   string
	price Price
	bad   *fault
}

func (p *priceReader) read(ctx context.Context, r io.Reader) error {
	err := eachRow(r, func(n int, cols *nativeColumns, fields [][]byte, line []byte) error {
		if fields == nil {
			bad := &fault{reason: ReasonBadRow, value: string(line)}
			if line == nil {
				bad = &fault{reason: ReasonTooLong, value: "line"}
			}
			bad.refuse(p.to, p.file, n)
			return nil
		}

		price, bad := p.row(n, cols, fields)
		if len(p.suspects) > 0 {
			if _, is := slices.BinarySearch(p.suspects, laneHash(cols, fields)); is {
				// Its rows wait for the end of the file: only then is it known whether the lane is there twice.
				key := string(fields[cols[colRef]]) + "\x00" + string(fields[cols[colVariant]]) + "\x00" +
					string(fields[cols[colCondition]])
				p.held = append(p.held, heldRow{key: key, price: price, bad: bad})
				return nil
			}
		}

		p.emit(price, bad)
		if n%1024 == 0 {
			return ctx.Err()
		}

		return nil
	})

	// Equal hashes need not be equal lanes, so the keys themselves are counted.
	counts := map[string]int{}
	for _, h := range p.held {
		counts[h.key]++
	}

	for _, h := range p.held {
		if h.bad == nil && counts[h.key] > 1 {
			h.bad = &fault{
				reason: ReasonDuplicateLane, ref: h.price.Ref,
				value: strings.TrimSpace(h.price.Variant + " " + h.price.Condition),
			}
		}
		p.emit(h.price, h.bad)
	}

	return err
}

func (p *priceReader) emit(price Price, bad *fault) {
	if bad != nil {
		bad.refuse(p.to, p.file, price.At.Line)
		return
	}
	p.to.Price(price)
}

// row reads the values of a row.
func (p *priceReader) row(n int, cols *nativeColumns, fields [][]byte) (Price, *fault) {
	get := func(col int) []byte { return fields[cols[col]] }
	price := Price{
		At: At{File: p.file, Line: n}, Ref: string(get(colRef)), Day: p.day, Cents: snapshot.NoCents,
		Licensed: true,
	}
	fail := func(reason string, value []byte) (Price, *fault) {
		return price, &fault{reason: reason, ref: price.Ref, value: string(value)}
	}
	if !refOK(price.Ref) {
		return price, &fault{reason: ReasonBadRef, value: price.Ref}
	}

	var ok bool
	// A file has a handful of variants, which are checked and copied once.
	price.Variant, ok = p.codes[string(get(colVariant))]
	if !ok {
		price.Variant = string(get(colVariant))
		if price.Variant != "" && !IsCode(price.Variant) {
			return fail(ReasonBadVariant, get(colVariant))
		}
		p.codes[price.Variant] = price.Variant
	}

	if code := get(colCondition); len(code) > 0 {
		c, ok := snapshot.ParseCondition(string(code))
		if !ok {
			return fail(ReasonBadCondition, code)
		}
		price.Condition = c.Code()
	}

	// Sealed products have neither, cards have both.
	if (price.Variant == "") != (price.Condition == "") {
		return fail(ReasonBadCondition, get(colCondition))
	}

	if cents := get(colCents); len(cents) > 0 {
		price.Cents, ok = parseCents(cents)
		if !ok {
			return fail(ReasonBadPrice, cents)
		}
	}

	if len(get(colCollected)) == 0 {
		return fail(ReasonMissingValue, []byte("collected_at"))
	}

	price.CollectedAt, ok = p.time(0, get(colCollected))
	if !ok {
		return fail(ReasonBadTime, get(colCollected))
	}

	// What the operator asserts for the feed fills in what a row leaves open, unless it is later
	// than the row.
	price.SourceAsOf = snapshot.NoTime
	if p.asOf <= price.CollectedAt {
		price.SourceAsOf = p.asOf
	}

	if text := get(colAsOf); len(text) > 0 {
		price.SourceAsOf, ok = p.time(1, text)
		if !ok {
			return fail(ReasonBadTime, text)
		}
	}

	switch licensed := get(colLicensed); string(licensed) {
	case "", "true":
	case "false":
		price.Licensed = false
	default:
		return fail(ReasonBadLicence, licensed)
	}

	return price, nil
}

func (p *priceReader) time(col int, text []byte) (int64, bool) {
	// Rows of a file were mostly fetched at one moment, which is parsed once.
	last := &p.times[col]
	if last.text == string(text) {
		return last.ms, true
	}

	ms, ok := parseInstant(string(text))
	if ok {
		last.text = string(text)
		last.ms = ms
	}

	return ms, ok
}
