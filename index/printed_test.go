package index_test

import (
	"os"
	"strings"
	"testing"

	"ninepocket/internal/testsweep"
	"ninepocket/snapshot"
)

// printedOrders are the orders in which people copy the printed texts of a card.
var printedOrders = []string{"NAME SET NUMBER", "NAME NUMBER SET", "SET NAME NUMBER", "NUMBER NAME SET"}

// TestPrinted searches for cards by the catalog's name, set and number. The first hit must be
// that card, or one with equal name, set and number, which is counted separately.
func TestPrinted(t *testing.T) {
	testsweep.OnlyFull(t)
	step := 7
	if os.Getenv("NINEPOCKET_TORTURE") != "" {
		step = 1
	}

	for _, catalog := range []string{"t", "n", "j"} {
		x := openReal(t, catalog)
		for _, order := range printedOrders {
			var n printedTally
			for card := 0; card < x.c.Cards.ID.Len(); card += step {
				n.ask(t, x, order, card)
			}

			t.Logf("%s %s: of %d cards %d first, %d behind one of the same name, set and number, %d behind another",
				catalog, order, n.all, n.first, n.twin, n.other)
			if 2000*n.other > n.all+2000 {
				t.Errorf("%s %s: the first hit for %d of %d cards is another one", catalog, order, n.other, n.all)
			}
		}
	}
}

// A printedTally counts the first hits.
type printedTally struct{ all, first, twin, other int }

func (n *printedTally) ask(t *testing.T, x *realIndex, order string, card int) {
	t.Helper()
	c := x.c
	number := c.Cards.Number.At(card)
	set := c.Cards.Set[card]
	if number == "" || set == snapshot.NoSet {
		return
	}

	name := c.Cards.Name.At(card)
	setName := c.Sets.Name.At(int(set))
	q := strings.NewReplacer("NAME", name, "SET", setName, "NUMBER", number).Replace(order)
	n.all++
	switch first := x.firstCard(q); {
	case first == card:
		n.first++
	case first >= 0 && c.Cards.Set[first] == set && c.Cards.Name.At(first) == name &&
		c.Cards.Number.At(first) == number:
		n.twin++
	default:
		n.other++
		t.Logf("%s %q: first is %s", order, q, x.firstOf(q))
	}
}
