package loader

import (
	"testing"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// TestLostDays checks that a day is missing as a whole, for each of its games, if its feed names groups but
// has no price of any. This holds if another feed has prices of that day, and not if one row is left.
func TestLostDays(t *testing.T) {
	missing := source.MissingFile{
		Game: "pokemon", SetRef: "s", Day: today, Prices: true, Empty: true, CollectedAt: today.Start() + archiveHour,
	}
	days := func(base *snapshot.Catalog, other bool, rows ...source.Price) (snapshot.Day, []snapshot.Day, []string) {
		t.Helper()
		shop := newFake("shop").set("s", "Base").card("1", "s", "Abra", "1").price(rows...)
		shop.missing = []source.MissingFile{missing}
		o := Options{Sources: []Input{{"native", "shop"}}, Base: base}
		inputs := map[string]*fake{"shop": shop}
		if other {
			inputs["other"] = newFake("other").price(priceRow("x", "normal", today, 5))
			inputs["other"].feed.HasCatalog = false
			shop.cards[0].Identifiers = []source.Identifier{{Namespace: "other", Value: "x"}}
			o.Prices = []Input{{"native", "other"}}
		}

		c := mustBuild(t, o, inputs).Catalog
		var groups []string
		for i := range c.Gaps.Day {
			groups = append(groups, c.Gaps.Group.At(i))
		}
		return c.Date(), c.Gaps.Day, groups
	}

	first := one(t, Options{}, newFake("shop").set("s", "Base").card("1", "s", "Abra", "1").
		price(priceRow("1", "normal", today-1, 7))).Catalog
	for name, base := range map[string]*snapshot.Catalog{"the first": nil, "on a base": first} {
		for _, other := range []bool{false, true} {
			date, lost, groups := days(base, other)
			if date != today || len(lost) != 1 || lost[0] != today || groups[0] != "" {
				t.Errorf("%s, beside another feed: %t: the catalog is of %s and lacks %v %q", name, other, date, lost,
					groups)
			}
		}

		date, lost, groups := days(base, false, priceRow("1", "normal", today, 8))
		if date != today || len(lost) > 0 {
			t.Errorf("%s, with a row: the catalog is of %s and lacks %v %q", name, date, lost, groups)
		}
	}
}
