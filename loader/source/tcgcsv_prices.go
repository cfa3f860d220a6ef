package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"ninepocket/snapshot"
)

// tcgPrice is an element of a prices file. lowPrice, midPrice, highPrice and directLowPrice never
// become a market price (decision 18).
type tcgPrice struct {
	ProductID   jsontext.Value `json:"productId"`
	SubTypeName jsontext.Value `json:"subTypeName"`
	MarketPrice jsontext.Value `json:"marketPrice"`
	Low         jsontext.Value `json:"lowPrice"`
	Mid         jsontext.Value `json:"midPrice"`
	High        jsontext.Value `json:"highPrice"`
	DirectLow   jsontext.Value `json:"directLowPrice"`

	id, variant string
	cents       int64
}

func checkPrice(price *tcgPrice) *recordError {
	id, ok := wholeNumber(price.ProductID)
	if !ok {
		return &recordError{reason: ReasonBadRef, value: string(price.ProductID)}
	}

	price.id = id
	price.variant = variantCode(scalar(price.SubTypeName))
	if price.SubTypeName.Kind() != '"' || !IsCode(price.variant) {
		return &recordError{ReasonBadVariant, id, string(price.SubTypeName)}
	}

	switch price.MarketPrice.Kind() {
	case 'n':
		price.cents = snapshot.NoCents
		return nil
	case 0:
		return &recordError{ReasonMissingValue, id, "marketPrice"}
	default:
	}

	// Text that is no number, such as a price in quotes, is no price either.
	price.cents, ok = centsOf(string(price.MarketPrice))
	if !ok {
		return &recordError{ReasonBadPrice, id, string(price.MarketPrice)}
	}

	return nil
}

// quote reads a price that is no market price: a value that is no amount is unknown.
func quote(v jsontext.Value) int64 {
	if cents, ok := centsOf(string(v)); ok {
		return cents
	}
	return snapshot.NoCents
}

// centsOf reads an amount of dollars as cents from its decimal text, exactly: int(price*100) is
// wrong on 4.2 % of real rows (decision 18). Digits beyond the cents, which One Piece prices have,
// round half away from zero. Signs and exponents are refused: no price has them, so they are a sign
// of damage.
func centsOf(text string) (int64, bool) {
	whole, fraction, point := strings.Cut(text, ".")
	dollars, ok := parseCents([]byte(whole))
	if !ok || dollars > snapshot.MaxCents/100 || point && fraction == "" {
		return 0, false
	}

	cents := int64(0)
	// Two digits are cents; a missing one is zero, and the third one rounds.
	for i := range max(2, len(fraction)) {
		digit := byte('0')
		if i < len(fraction) {
			digit = fraction[i]
		}

		switch {
		case !isDigit(digit):
			return 0, false
		case i < 2:
			cents = cents*10 + int64(digit-'0')
		case i == 2 && digit >= '5':
			cents++
		}
	}

	v := dollars*100 + cents
	return v, v <= snapshot.MaxCents
}

// Prices implements Source: wide history first, then the trees by day.
func (s *tcgCSV) Prices(ctx context.Context, to Sink) error {
	if err := readHistory(ctx, s.in, s.layout(), s.opts, to); err != nil {
		return err
	}

	for _, t := range s.duplicateTrees {
		quarantineFile(to, t.at(t.prefix), ReasonDuplicateDay, t.day.String())
	}

	read := priceFiles{s: s, to: to}
	for _, t := range s.trees {
		read.total += int64(len(t.leaves["prices"]))
	}

	if read.total == 0 && len(historyIn(s.in)) == 0 {
		return errors.New("cannot read the prices: there is no prices file")
	}

	// Broken files are quarantined one by one, but not all of them.
	to.Progress("prices", 0, read.total)
	for rest := s.trees; len(rest) > 0; {
		// Trees of one folder are read together: an archive of many days is decompressed once.
		n := slices.IndexFunc(rest, func(t *tcgTree) bool { return t.in != rest[0].in })
		if n < 0 {
			n = len(rest)
		}
		if err := read.trees(ctx, rest[:n]); err != nil {
			return fmt.Errorf("cannot read the prices: %w", err)
		}
		rest = rest[n:]
	}

	if read.usable == 0 && read.total > 0 {
		return fmt.Errorf("cannot read the prices: none of %d prices files is usable", read.total)
	}

	return s.missingPrices(ctx, to)
}

// priceFiles is the reading of all prices files.
type priceFiles struct {
	s                   *tcgCSV
	to                  Sink
	done, total, usable int64
}

// trees reads the prices files of some trees of one folder.
func (p *priceFiles) trees(ctx context.Context, list []*tcgTree) error {
	type place struct {
		tree *tcgTree
		leaf tcgFile
	}

	var names []string
	places := map[string]place{}
	for _, t := range list {
		for _, l := range t.leaves["prices"] {
			names = append(names, l.name)
			places[l.name] = place{t, l}
		}
	}

	return eachInOrder(ctx, list[0].in, names, func(f file, r io.Reader) error {
		at := places[f.name]
		list, err := readReplyFile(r, checkPrice)
		if err == nil {
			p.usable++
			p.s.prices(p.to, at.tree, at.leaf, list)
		} else {
			err = quarantineOrFail(p.to, at.tree.at(f.name), err)
			p.s.missing(p.to, at.tree, at.leaf.category+"/"+at.leaf.group,
				MissingFile{Prices: true, Reason: ReasonBrokenFile})
		}

		p.done++
		p.to.Progress("prices", p.done, p.total)
		return err
	})
}

// prices emits the rows of one file. A lane that the file has twice has no price that could be
// trusted.
func (s *tcgCSV) prices(to Sink, t *tcgTree, l tcgFile, list []record[tcgPrice]) {
	name := t.at(l.name)
	if len(list) == 0 {
		quarantineFile(to, name, ReasonEmptyFile, "")
		s.missing(to, t, l.category+"/"+l.group, MissingFile{Prices: true, Empty: true, Reason: ReasonEmptyFile})
	}

	// Rows are compared by lane before any is emitted: equal ones are one row.
	type lane struct{ id, variant string }
	const differ = snapshot.NoCents - 1
	lanes := make(map[lane]int64, len(list))
	badPrices := 0
	list = slices.DeleteFunc(list, func(row record[tcgPrice]) bool {
		if bad := row.bad; bad != nil {
			if bad.ref != "" {
				bad.ref = l.category + "/" + bad.ref
			}
			if bad.reason == ReasonBadPrice {
				badPrices++
			}
			return false
		}

		key := lane{row.rec.id, row.rec.variant}
		cents, again := lanes[key]
		if again && cents != row.rec.cents {
			lanes[key] = differ
			return false
		}
		lanes[key] = row.rec.cents
		return again
	})

	// A file whose prices are mostly missing is not read for the few that look correct.
	if badPrices*2 > len(list) {
		quarantineFile(to, name, ReasonBadPrice, fmt.Sprintf("%d of %d rows", badPrices, len(list)))
		s.missing(to, t, l.category+"/"+l.group, MissingFile{Prices: true, Reason: ReasonBadPrice})
		return
	}

	// All rows of a file were observed and collected at once.
	asOf := s.asOf(t)
	emit(to, name, list, func(row *tcgPrice, at Location) *recordError {
		ref := l.category + "/" + row.id
		if lanes[lane{row.id, row.variant}] == differ {
			return &recordError{ReasonDuplicateLane, ref, row.variant}
		}

		to.Price(Price{
			At: at, Ref: ref, Variant: row.variant, Condition: s.opts.DefaultCondition, Day: t.day, Cents: row.cents,
			SourceAsOf: asOf, CollectedAt: t.collected, Licensed: true,
			Low: quote(row.Low), Mid: quote(row.Mid), High: quote(row.High), DirectLow: quote(row.DirectLow),
		})
		return nil
	})
}

// missingPrices reports the groups of a live tree that have no prices file.
func (s *tcgCSV) missingPrices(ctx context.Context, to Sink) error {
	t := s.catalog
	if t == nil || !t.has("groups") {
		return nil
	}

	// If prices alone were asked for, bad groups are the catalog's business.
	if err := s.readGroups(ctx, t, Discard{}); err != nil {
		return nil //nolint:nilerr // a listing that cannot be read lists nothing that is missing
	}

	// Only groups that the catalog lists are missed.
	there := map[string]bool{}
	for _, l := range t.leaves["prices"] {
		there[l.name] = true
	}

	for _, g := range s.listed {
		if name := t.pathOf(g, "prices"); !there[name] {
			quarantineFile(to, t.at(name), ReasonMissingFile, g.Name)
			s.missing(to, t, g.ref(), MissingFile{Prices: true, Reason: ReasonMissingFile})
		}
	}

	return nil
}

// missing reports a group of a tree that lacks a file.
func (s *tcgCSV) missing(to Sink, t *tcgTree, ref string, m MissingFile) {
	category, _, _ := strings.Cut(ref, "/")
	m.Game = gameOfCategory(category)
	m.SetRef = ref
	m.Day = t.day
	m.CollectedAt = t.collected
	if g := s.groups[ref]; g != nil {
		m.Name = g.Name
	}
	to.Missing(m)
}
