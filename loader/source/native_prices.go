package source

import (
	"context"
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

// readDays reads the price files by day. Each file is read twice. A lane that it has twice is
// refused with all its rows. The first pass finds those lanes at the cost of 8 bytes a row
// instead of the rows themselves.
func (s *native) readDays(ctx context.Context, to Sink) error {
	// Days ascend, and history is built in that order.
	names := make([]string, len(s.prices))
	days := make(map[string]*nativeDay, len(s.prices))
	for i := range s.prices {
		names[i] = s.prices[i].name
		days[names[i]] = &s.prices[i]
	}

	err := s.eachUnpacked(ctx, Discard{}, "", names, func(name string, r io.Reader) (err error) {
		days[name].possibleDuplicates, err = findSuspects(ctx, r, name)
		return err
	})
	if err != nil {
		return err
	}

	return s.eachUnpacked(ctx, to, "prices", names, func(name string, r io.Reader) error {
		day := days[name]
		reader := priceReader{
			file: name, day: day.day, asOf: msOf(s.opts.AsOf), possibleDuplicates: day.possibleDuplicates, to: to,
			variants: newVariantReader(false),
		}
		return reader.read(ctx, r)
	})
}

// read finds the columns in a header, which must have all of them and no others.
func (cols *nativeColumns) read(fields [][]byte) error {
	if len(fields) != len(cols) {
		return fmt.Errorf("header must have the columns %s", strings.Join(nativePriceColumns[:], ","))
	}

	for i, name := range nativePriceColumns {
		// Columns may come in any order, but all must be there.
		cols[i] = slices.IndexFunc(fields, func(f []byte) bool { return string(f) == name })
		if cols[i] < 0 {
			return fmt.Errorf("header lacks the column %q", name)
		}
	}

	return nil
}

// laneHash is FNV-1a over a lane's key as the file has it.
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
func findSuspects(ctx context.Context, r io.Reader, name string) ([]uint64, error) {
	var cols nativeColumns
	var all []uint64
	err := readTable(ctx, r, name, Discard{}, cols.read, func(_ Location, fields [][]byte) *recordError {
		all = append(all, laneHash(&cols, fields))
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
	file               string
	day                snapshot.Day
	asOf               int64
	possibleDuplicates []uint64
	to                 Sink
	cols               nativeColumns
	variants           variantReader
	deferred           []deferredRow
	times              [2]struct { // the last value of each time column: they hardly vary
		text string
		ms   int64
	}
}

// deferredRow is a row whose lane may be there twice.
type deferredRow struct {
	key   string
	price Price
	bad   *recordError
}

func (p *priceReader) read(ctx context.Context, r io.Reader) error {
	err := readTable(ctx, r, p.file, p.to, p.cols.read, func(at Location, fields [][]byte) *recordError {
		price, bad := p.row(at, fields)
		if len(p.possibleDuplicates) > 0 {
			if _, is := slices.BinarySearch(p.possibleDuplicates, laneHash(&p.cols, fields)); is {
				// Its rows wait for the end of the file: only then is it known whether the lane is
				// there twice.
				key := string(p.get(fields, colRef)) + "\x00" + string(p.get(fields, colVariant)) + "\x00" +
					string(p.get(fields, colCondition))
				p.deferred = append(p.deferred, deferredRow{key: key, price: price, bad: bad})
				return nil
			}
		}

		if bad == nil {
			p.to.Price(price)
		}

		return bad
	})

	// Equal hashes need not be equal lanes, so the keys themselves are counted.
	counts := map[string]int{}
	for _, h := range p.deferred {
		counts[h.key]++
	}

	for _, h := range p.deferred {
		if h.bad == nil && counts[h.key] > 1 {
			lane := strings.TrimSpace(h.price.Variant + " " + h.price.Condition)
			h.bad = &recordError{ReasonDuplicateLane, h.price.Ref, lane}
		}
		if h.bad != nil {
			h.bad.quarantine(p.to, h.price.At)
			continue
		}
		p.to.Price(h.price)
	}

	return err
}

func (p *priceReader) get(fields [][]byte, col int) []byte { return fields[p.cols[col]] }

// row reads the values of a row.
func (p *priceReader) row(at Location, fields [][]byte) (Price, *recordError) {
	price := Price{At: at, Ref: string(p.get(fields, colRef)), Day: p.day, Cents: snapshot.NoCents}
	if !validRef(price.Ref) {
		return price, &recordError{reason: ReasonBadRef, value: price.Ref}
	}

	// The first error is reported.
	var c validator
	price.Variant = p.variants.read(&c, p.get(fields, colVariant))
	price.Condition = readCondition(&c, price.Variant, p.get(fields, colCondition))
	if cents := p.get(fields, colCents); len(cents) > 0 {
		var ok bool
		price.Cents, ok = parseCents(cents)
		c.cell(ok, ReasonBadPrice, cents)
	}

	p.readTimes(&c, &price, p.get(fields, colCollected), p.get(fields, colAsOf))
	// A row that does not say so may be distributed.
	licensed := p.get(fields, colLicensed)
	price.Licensed = string(licensed) != "false"
	c.cell(!price.Licensed || len(licensed) == 0 || string(licensed) == "true", ReasonBadLicence, licensed)
	return price, c.done(price.Ref)
}

// readTimes reads when a price was fetched and when it was observed.
func (p *priceReader) readTimes(c *validator, price *Price, collected, asOf []byte) {
	c.must(len(collected) > 0, ReasonMissingValue, "collected_at")
	var ok bool
	price.CollectedAt, ok = p.time(0, collected)
	c.cell(ok, ReasonBadTime, collected)

	// The operator's assertion for the feed fills empty times of a row, unless it is later than
	// the row.
	price.SourceAsOf = snapshot.NoTime
	if p.asOf <= price.CollectedAt {
		price.SourceAsOf = p.asOf
	}
	if len(asOf) > 0 {
		price.SourceAsOf, ok = p.time(1, asOf)
		c.cell(ok, ReasonBadTime, asOf)
	}
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

// variantReader reads a column of variants. A file has a handful of them, so that each is judged
// and copied once.
type variantReader struct {
	names bool              // the column holds names to make codes of
	codes map[string]string // by the column's text
}

func newVariantReader(names bool) variantReader { return variantReader{names, map[string]string{}} }

// read returns a variant's code, which is "" for sealed products.
func (v *variantReader) read(c *validator, raw []byte) string {
	code, known := v.codes[string(raw)]
	if known {
		return code
	}

	code = string(raw)
	if v.names {
		code = variantCode(code)
	}

	ok := IsCode(code) || code == "" && !v.names
	c.cell(ok, ReasonBadVariant, raw)
	// Bad values are not cached: there is no end to them.
	if ok {
		v.codes[string(raw)] = code
	}

	return code
}

// readCondition returns a condition's code. Sealed products have neither variant nor condition,
// cards have both.
func readCondition(c *validator, variant string, raw []byte) string {
	// The code is the table's own text, so that no row copies it.
	condition, ok := snapshot.ParseCondition(string(raw))
	if len(raw) == 0 {
		c.cell(variant == "", ReasonBadCondition, raw)
		return ""
	}

	c.cell(ok && variant != "", ReasonBadCondition, raw)
	return condition.Code()
}
