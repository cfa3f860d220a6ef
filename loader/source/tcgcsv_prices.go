package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"ninepocket/snapshot"
)

// tcgPrice is an element of a prices file. lowPrice, midPrice, highPrice and directLowPrice are
// never used (decision 18).
type tcgPrice struct {
	ProductID   jsontext.Value `json:"productId"`
	SubTypeName jsontext.Value `json:"subTypeName"`
	MarketPrice jsontext.Value `json:"marketPrice"`

	id, variant string
	cents       int64
}

func checkPrice(p *tcgPrice) *fault {
	id, ok := wholeNumber(p.ProductID)
	if !ok {
		return &fault{reason: ReasonBadRef, value: string(p.ProductID)}
	}

	p.id = id
	if p.SubTypeName.Kind() != '"' {
		return &fault{reason: ReasonBadVariant, ref: id, value: string(p.SubTypeName)}
	}

	p.variant = variantCode(scalar(p.SubTypeName))
	if !IsCode(p.variant) {
		return &fault{reason: ReasonBadVariant, ref: id, value: string(p.SubTypeName)}
	}

	switch p.MarketPrice.Kind() {
	case 'n':
		p.cents = snapshot.NoCents
	case '0':
		p.cents, ok = centsOf(string(p.MarketPrice))
		if !ok {
			return &fault{reason: ReasonBadPrice, ref: id, value: string(p.MarketPrice)}
		}

	case 0:
		return &fault{reason: ReasonMissingValue, ref: id, value: "marketPrice"}
	default:
		return &fault{reason: ReasonBadPrice, ref: id, value: string(p.MarketPrice)}
	}

	return nil
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
	for _, f := range s.history {
		if err := readHistoryFile(ctx, f, s.form(), s.lim, to); err != nil {
			return err
		}
	}

	for _, t := range s.twice {
		refuseFile(to, t.at(t.prefix), ReasonDuplicateDay, errors.New(t.day.String()))
	}

	total := int64(0)
	done := int64(0)
	for _, t := range s.trees {
		for _, l := range t.leaves {
			if l.kind == "prices" {
				total++
			}
		}
	}

	if total == 0 && len(s.history) == 0 {
		return errors.New("cannot read the prices: there is no prices file")
	}

	// Broken files are quarantined one by one, but not all of them.
	usable := 0
	to.Progress("prices", 0, total)
	for _, run := range s.runs() {
		n, err := s.priceRun(ctx, run, to, func() {
			done++
			to.Progress("prices", done, total)
		})
		if err != nil {
			return fmt.Errorf("cannot read the prices: %w", err)
		}
		usable += n
	}

	if usable == 0 && total > 0 {
		return fmt.Errorf("cannot read the prices: none of %d prices files is usable", total)
	}

	return s.missingPrices(ctx, to)
}

// runs groups the trees that one pass over one folder visits in order, so that an archive of many
// days is decompressed once. Days that do not ascend in an archive take a pass each.
func (s *tcgCSV) runs() [][]*tcgTree {
	rank := map[string]int{}
	var runs [][]*tcgTree
	var in folder
	for _, t := range s.trees {
		// Another folder begins a run of its own.
		if t.in != in {
			in = t.in
			clear(rank)
			for i, f := range in.files() {
				rank[f.name] = i
			}
		} else if last := runs[len(runs)-1]; follows(last[len(last)-1], t, rank) {
			runs[len(runs)-1] = append(last, t)
			continue
		}

		runs = append(runs, []*tcgTree{t})
	}

	return runs
}

// follows reports whether all files of b come after those of a.
func follows(a, b *tcgTree, rank map[string]int) bool {
	most := 0
	for _, l := range a.leaves {
		most = max(most, rank[l.name])
	}

	for _, l := range b.leaves {
		if rank[l.name] < most {
			return false
		}
	}

	return true
}

// priceRun reads the prices files of some trees of one folder and counts the usable ones.
func (s *tcgCSV) priceRun(ctx context.Context, run []*tcgTree, to Sink, step func()) (usable int, err error) {
	type place struct {
		tree *tcgTree
		leaf tcgLeaf
	}

	wanted := map[string]place{}
	for _, t := range run {
		for _, l := range t.leaves {
			if l.kind == "prices" {
				wanted[l.name] = place{t, l}
			}
		}
	}

	err = run[0].in.each(ctx, keyOf(wanted), func(f file, r io.Reader) error {
		defer step()
		p := wanted[f.name]
		list, err := readReplyFile(r, checkPrice)
		if err != nil {
			return refuseOrFail(to, p.tree.at(f.name), err)
		}

		usable++
		s.prices(to, p.tree, p.leaf, list)
		return nil
	})

	return usable, err
}

// prices emits the rows of one file. A lane that the file has twice has no price that could be
// trusted.
func (s *tcgCSV) prices(to Sink, t *tcgTree, l tcgLeaf, list []record[tcgPrice]) {
	name := t.at(l.name)
	if len(list) == 0 {
		refuseFile(to, name, ReasonEmptyFile, nil)
	}

	// Rows are counted by lane before any is emitted.
	type lane struct{ id, variant string }
	lanes := make(map[lane]int, len(list))
	for i := range list {
		if list[i].bad == nil {
			lanes[lane{list[i].rec.id, list[i].rec.variant}]++
		}
	}

	asOf := s.asOf(t)
	for i := range list {
		e := &list[i]
		if e.bad == nil && lanes[lane{e.rec.id, e.rec.variant}] > 1 {
			e.bad = &fault{reason: ReasonDuplicateLane, ref: e.rec.id, value: e.rec.variant}
		}

		if e.bad != nil {
			if e.bad.ref != "" {
				e.bad.ref = l.category + "/" + e.bad.ref
			}
			e.bad.refuse(to, name, e.line)
			continue
		}

		ref := l.category + "/" + e.rec.id
		to.Price(Price{
			At: At{File: name, Line: e.line}, Ref: ref, Variant: e.rec.variant, Condition: s.opts.DefaultCondition,
			Day: t.day, Cents: e.rec.cents, SourceAsOf: asOf, CollectedAt: t.collected, Licensed: true,
		})
	}
}

// missingPrices reports the groups of a live tree that have no prices file.
func (s *tcgCSV) missingPrices(ctx context.Context, to Sink) error {
	t := s.catalog
	if t == nil || !t.has("groups") {
		return nil
	}

	if s.groups == nil {
		// Prices alone were asked for: bad groups are the catalog's business.
		if err := s.readGroups(ctx, t, Discard{}); err != nil {
			return nil //nolint:nilerr // a listing that cannot be read lists nothing that is missing
		}
	}

	// Only groups that the catalog lists are missed.
	there := map[string]bool{}
	for _, l := range t.leaves {
		if l.kind == "prices" {
			there[l.category+"/"+l.group] = true
		}
	}

	for _, g := range s.listed {
		if !there[g.category+"/"+g.id] {
			refuseFile(to, t.at(t.pathOf(g, "prices")), ReasonMissingFile, errors.New(g.Name))
		}
	}

	return nil
}
