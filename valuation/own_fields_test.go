package valuation_test

import (
	"encoding/csv"
	"strings"
	"testing"

	"ninepocket/snapshot"
	"ninepocket/valuation"
)

// ownFields are the fields that a client may copy next to an id, by the bit of their combination.
var ownFields = []func(item, printed *valuation.Item){
	func(item, printed *valuation.Item) { item.Name = printed.Name },
	func(item, printed *valuation.Item) { item.Set = printed.Set },
	func(item, printed *valuation.Item) { item.Number = printed.Number },
	func(item, printed *valuation.Item) { item.Game = printed.Game },
	func(item, printed *valuation.Item) { item.Variant = printed.Variant },
	func(item, printed *valuation.Item) { item.Condition = printed.Condition },
}

// TestOwnFieldsBesideTheID gives each priced card its own fields next to its id, in every
// combination: all get the display price.
func TestOwnFieldsBesideTheID(t *testing.T) {
	s := realShop(t)
	c := s.View.Catalog
	lines := 0
	priced := 0
	for card := range c.Cards.ID.Len() {
		if c.Cards.Display[card] < 0 {
			continue
		}

		display := int(c.Cards.Display[card])
		printed := s.asPrinted(card)
		printed.Variant = c.Variants.At(int(c.Lanes.Variant[display]))
		printed.Condition = snapshot.Condition(c.Lanes.Condition[display]).Text()
		for fields := range 1 << len(ownFields) {
			item := valuation.Item{ID: s.cardID(card)}
			for bit, set := range ownFields {
				if fields&(1<<bit) != 0 {
					set(&item, &printed)
				}
			}

			lines++
			r := s.Value(item)
			if r.Status == valuation.Priced && r.Lane == display && len(r.Assumed) == 0 {
				priced++
				continue
			}
			t.Errorf("%+v is %s of %s, lane %d: %s", item, valuation.StatusNames[r.Status], s.describe(r.Card), r.Lane,
				r.Remark)
		}
	}
	t.Logf("%d of %d lines of own fields are priced", priced, lines)
}

// TestOwnFieldsInAnExport gives each card with a price as the row of an export with its product: all are
// priced by the display price.
func TestOwnFieldsInAnExport(t *testing.T) {
	s := realShop(t)
	c := s.View.Catalog
	rows := 0
	for card := range c.Cards.ID.Len() {
		display := int(c.Cards.Display[card])
		if display < 0 || s.productOf(card) == "" || glued.MatchString(c.Cards.Name.At(card)) {
			continue
		}

		rows++
		p := s.asPrinted(card)
		line := csvLine("1", p.Name, bare(p.Name), p.Set, p.Number, "", c.Variants.At(int(c.Lanes.Variant[display])),
			"Near Mint", "English", c.Cards.Rarity.At(card), s.productOf(card), "")
		if r := s.Value(valuation.Item{Line: line}); r.Status != valuation.Priced || r.Lane != display {
			t.Errorf("%s is %s of %s, lane %d: %s", line, valuation.StatusNames[r.Status], s.describe(r.Card), r.Lane,
				r.Remark)
		}
	}
	t.Logf("%d rows of own fields", rows)
}

// csvLine is a row of an export.
func csvLine(cells ...string) string {
	var row strings.Builder
	w := csv.NewWriter(&row)
	_ = w.Write(cells) // a string takes all
	w.Flush()
	return strings.TrimSpace(row.String())
}
