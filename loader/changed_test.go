package loader

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// TestChangedAt plays days of prices that change, stay, vanish and come back, with cards that the source
// leaves out now and then. A client with the snapshot of any earlier day misses no card with another price
// now. It gets no card whose price was equal on all days since (decision 3503).
func TestChangedAt(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 3503))
	var days []*snapshot.Catalog
	prices := make([]int64, 12)
	for n := range 30 {
		date := today + snapshot.Day(n)
		shop := newFake(source.KindTCGCSV).set("s", "Base")
		for card := range prices {
			ref := fmt.Sprintf("3/%d", card+1)
			switch r.IntN(8) {
			case 0:
				prices[card] = int64(100 + r.IntN(3))
			case 1:
				prices[card] = snapshot.NoCents
			}

			shop.card(ref, "s", "Card", fmt.Sprintf("%d/102", card+1))
			// The first card has a price each day, so that the shop has one.
			if card > 0 && r.IntN(9) == 0 {
				continue
			}
			row := priceRow(ref, "normal", date, max(prices[card], 0))
			if prices[card] == snapshot.NoCents && card > 0 {
				row.Cents = snapshot.NoCents
			}
			shop.price(row)
		}

		o := Options{Sources: []Input{{source.KindTCGCSV, "shop"}}, SnapshotAt: atDay(date)}
		if n > 0 {
			o.Base = days[n-1]
		}
		days = append(days, mustBuild(t, o, map[string]*fake{"shop": shop}).Catalog)
	}

	// price is the price of a card's one lane, and when it changed.
	price := func(c *snapshot.Catalog, ref string) (cents, at int64) {
		row := cardRow(c, source.KindTCGCSV, ref)
		from, to := c.Lanes.Of.Range(row)
		if from == to {
			return snapshot.NoCents, snapshot.NoTime
		}
		return c.Lanes.Cents[from], c.ChangedAt(from)
	}
	extra := 0
	for card := range prices {
		ref := fmt.Sprintf("3/%d", card+1)
		for i := range days {
			for j := i + 1; j < len(days); j++ {
				was, _ := price(days[i], ref)
				is, at := price(days[j], ref)
				same := !slices.ContainsFunc(days[i:j], func(c *snapshot.Catalog) bool {
					cents, _ := price(c, ref)
					return cents != is
				})
				switch returned := at >= days[i].SnapshotAt; {
				case was != is && !returned:
					t.Errorf("card %s: %d on day %d, %d on day %d, changed at %d", ref, was, i, is, j, at)
				case same && is != snapshot.NoCents && returned && j > i+1:
					extra++
				}
			}
		}
	}

	// A carried price and a gap look like a change; most unchanged prices are not returned.
	if extra > 300 {
		t.Errorf("%d cards are returned with the price that they had", extra)
	}
}
