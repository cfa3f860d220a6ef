// Package diff says what changed from one catalog to another: what an operator looks at before
// publishing, and what the guards judge by.
//
// Cards, sets and sealed products are the same in both catalogs when their ids are equal; prices
// are compared lane by lane, that is by item, variant and condition, whether they may be
// distributed or not.
package diff

import (
	"cmp"
	"math"
	"slices"

	"ninepocket/snapshot"
)

// Bounds of what a Diff lists; the counts next to the lists are of everything.
const (
	// MaxLargest is how many of the largest moves are listed.
	MaxLargest = 20
	// MaxExamples is how many added, removed and renamed things are listed of each.
	MaxExamples = 10
)

// Diff is what changed from one catalog to another.
type Diff struct {
	From     string   `json:"from"` // snapshot ids
	To       string   `json:"to"`
	Cards    Changes  `json:"cards"`
	Sets     Changes  `json:"sets"`
	Sealed   Changes  `json:"sealed"`
	Prices   Prices   `json:"prices"`
	Coverage Coverage `json:"coverage"`
}

// Changes are the things of one kind that came, went or have another name.
type Changes struct {
	Before   int      `json:"before"`
	After    int      `json:"after"`
	Added    int      `json:"added"`
	Removed  int      `json:"removed"`
	Renamed  int      `json:"renamed"`
	Examples Examples `json:"examples"`
}

// Any reports whether anything came, went or was renamed.
func (c *Changes) Any() bool { return c.Added+c.Removed+c.Renamed > 0 }

// Examples are the first of each in the order of the catalogs.
type Examples struct {
	Added   []Thing   `json:"added"`
	Removed []Thing   `json:"removed"`
	Renamed []Renamed `json:"renamed"`
}

// Thing is a card, set or sealed product.
type Thing struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Renamed is a thing that has another name.
type Renamed struct {
	ID   string `json:"id"`
	From string `json:"from"`
	To   string `json:"to"`
}

// Prices are the changes of current prices.
type Prices struct {
	Compared    int `json:"compared"`    // lanes with a price in both
	Changed     int `json:"changed"`     // of those, with another price
	Appeared    int `json:"appeared"`    // lanes with a price in the later catalog alone
	Disappeared int `json:"disappeared"` // lanes with a price in the earlier catalog alone
	// MedianPercent is the median of the changes in percent, of changed prices whose earlier one is
	// above zero; null without any.
	MedianPercent *float64 `json:"median_percent"`
	// Moved are the prices that went up or down by more than MovedShare of the earlier one.
	Moved int `json:"moved"`
	// Largest are the changes of most cents, largest first.
	Largest []Move `json:"largest"`
}

// MovedShare is how far a price must go to count as moved.
const MovedShare = 0.60

// Move is a lane whose price changed.
type Move struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Set       string   `json:"set,omitempty"`    // name of its set
	Number    string   `json:"number,omitempty"` // printed on the card
	Variant   string   `json:"variant"`
	Condition string   `json:"condition"`
	FromCents int64    `json:"from_cents"`
	ToCents   int64    `json:"to_cents"`
	Percent   *float64 `json:"percent"` // null when the earlier price was 0
}

// Coverage is how many cards have a display price.
type Coverage struct {
	PricedBefore int `json:"priced_before"`
	PricedAfter  int `json:"priced_after"`
}

// Compare says what changed from catalog a to catalog b. The prefix begins the ids of sealed products
// (decision 25); "" means prd.
func Compare(a, b *snapshot.Catalog, prefix string) *Diff {
	d := &Diff{From: a.ID, To: b.ID}
	prefix = cmp.Or(prefix, "prd") + "_"
	d.Cards = changes(named{&a.Cards.ID, &a.Cards.Name, ""}, named{&b.Cards.ID, &b.Cards.Name, ""})
	d.Sets = changes(named{&a.Sets.ID, &a.Sets.Name, ""}, named{&b.Sets.ID, &b.Sets.Name, ""})
	d.Sealed = changes(named{&a.Sealed.Tail, &a.Sealed.Name, prefix}, named{&b.Sealed.Tail, &b.Sealed.Name, prefix})
	d.Coverage = Coverage{priced(a), priced(b)}
	d.Prices = comparePrices(NewPairs(a, b), prefix)
	return d
}

// named are the ids and names of things of one kind; the prefix makes an id public.
type named struct {
	id, name *snapshot.Strings
	prefix   string
}

func (n named) thing(i int) Thing { return Thing{n.prefix + n.id.At(i), n.name.At(i)} }

func changes(a, b named) Changes {
	changes := Changes{
		Before: a.id.Len(), After: b.id.Len(),
		Examples: Examples{Added: []Thing{}, Removed: []Thing{}, Renamed: []Renamed{}},
	}
	before := Rows(a.id)
	after := Rows(b.id)

	for i := range b.id.Len() {
		// Ids never change, so that a thing of another id is another thing.
		old, known := before[b.id.At(i)]
		switch {
		case !known:
			changes.Added++
			changes.Examples.Added = addUnique(changes.Examples.Added, b.thing(i))
		case a.name.At(old) != b.name.At(i):
			changes.Renamed++
			changes.Examples.Renamed = addUnique(changes.Examples.Renamed,
				Renamed{b.prefix + b.id.At(i), a.name.At(old), b.name.At(i)})
		}
	}

	for i := range a.id.Len() {
		if _, stays := after[a.id.At(i)]; !stays {
			changes.Removed++
			changes.Examples.Removed = addUnique(changes.Examples.Removed, a.thing(i))
		}
	}

	return changes
}

// addUnique appends an example while there is room for more.
func addUnique[T any](list []T, one T) []T {
	if len(list) < MaxExamples {
		list = append(list, one)
	}
	return list
}

// Rows maps ids to rows.
func Rows(ids *snapshot.Strings) map[string]int {
	m := make(map[string]int, ids.Len())
	for i := range ids.Len() {
		m[ids.At(i)] = i
	}
	return m
}

// priced is the number of cards with a display price.
func priced(c *snapshot.Catalog) int {
	n := 0
	for _, lane := range c.Cards.Display {
		if lane >= 0 {
			n++
		}
	}
	return n
}

func comparePrices(pairs *Pairs, prefix string) Prices {
	prices := Prices{Largest: []Move{}}
	var moves []Pair
	var percents []float64
	for pair := range pairs.All {
		switch {
		case pair.From == snapshot.NoCents && pair.To == snapshot.NoCents:
		case pair.From == snapshot.NoCents:
			prices.Appeared++
		case pair.To == snapshot.NoCents:
			prices.Disappeared++
		default:
			prices.Compared++
			if pair.From == pair.To {
				continue
			}

			prices.Changed++
			moves = append(moves, pair)
			if pair.Moved() {
				prices.Moved++
			}

			if pair.From > 0 {
				percents = append(percents, pair.percent())
			}
		}
	}

	if n := len(percents); n > 0 {
		slices.Sort(percents)
		// Of an even number, the middle lies between two.
		median := round2((percents[(n-1)/2] + percents[n/2]) / 2)
		prices.MedianPercent = &median
	}

	// The largest in cents are what an operator wants to see first.
	slices.SortStableFunc(moves, func(x, y Pair) int { return cmp.Compare(y.distance(), x.distance()) })
	for _, pair := range moves[:min(len(moves), MaxLargest)] {
		prices.Largest = append(prices.Largest, pairs.move(pair, prefix))
	}

	return prices
}

// round2 rounds to two decimals, half away from zero (decision 8).
func round2(v float64) float64 { return math.Round(v*100) / 100 }
