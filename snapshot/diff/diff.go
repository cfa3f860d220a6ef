// Package diff lists the changes from one catalog to another: for an operator before
// publishing, and for the guards' verdicts.
//
// Cards, sets and sealed products with equal ids are matched. Prices are compared lane by lane,
// that is by item, variant and condition, even if they may not be distributed.
package diff

import (
	"cmp"
	"math"
	"slices"

	"ninepocket/snapshot"
)

// MovedPercent is how far a price must go for the guards to count it as moved.
const MovedPercent = 60

// Options define which prices have moved, and the length of a Diff's lists. With the zero value every
// change is a move, and all changes are listed.
type Options struct {
	// Prefix begins the ids of sealed products (decision 25); "" means prd.
	Prefix string
	// A price has moved that went up or down by more than MinPercent of the earlier one, and by
	// MinCents or more. From nothing it is more than any percentage.
	MinPercent float64
	MinCents   int64
	Limit      int // how many things of each list, 0 for all; counts are of everything
}

// hasMoved is the only rule for counts and lists.
func (o *Options) hasMoved(pair *Pair) bool {
	far := float64(pair.distance())*100 > o.MinPercent*float64(pair.From)
	return pair.From != pair.To && pair.distance() >= o.MinCents && far
}

// Diff is the changes from one catalog to another.
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
	// Moved are the prices that moved as far as MinPercent and MinCents say.
	Moved      int     `json:"moved"`
	MinPercent float64 `json:"min_percent"`
	MinCents   int64   `json:"min_cents"`
	// Largest are the moved prices, by percent if the options ask for percent, else by cents; then
	// prices that appeared and disappeared.
	Largest []Move `json:"largest"`
}

// Cents is a price in a Move: nil without a price.
func Cents(cents int64) *int64 {
	if cents == snapshot.NoCents {
		return nil
	}
	return &cents
}

// Move is a lane whose price changed.
type Move struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Set       string   `json:"set,omitempty"`    // name of its set
	Number    string   `json:"number,omitempty"` // printed on the card
	Variant   string   `json:"variant"`
	Condition string   `json:"condition"`
	FromCents *int64   `json:"from_cents"` // null where there is no price
	ToCents   *int64   `json:"to_cents"`
	Percent   *float64 `json:"percent"` // null when the earlier price was 0, and without both prices
}

// Coverage is how many cards have a display price.
type Coverage struct {
	PricedBefore int `json:"priced_before"`
	PricedAfter  int `json:"priced_after"`
}

// Compare lists the changes from catalog a to catalog b.
func Compare(a, b *snapshot.Catalog, o Options) *Diff {
	d := &Diff{From: a.ID, To: b.ID}
	o.Prefix = cmp.Or(o.Prefix, "prd") + "_"
	d.Cards = o.changes(named{&a.Cards.ID, &a.Cards.Name, ""}, named{&b.Cards.ID, &b.Cards.Name, ""})
	d.Sets = o.changes(named{&a.Sets.ID, &a.Sets.Name, ""}, named{&b.Sets.ID, &b.Sets.Name, ""})
	d.Sealed = o.changes(named{&a.Sealed.Tail, &a.Sealed.Name, o.Prefix},
		named{&b.Sealed.Tail, &b.Sealed.Name, o.Prefix})
	d.Coverage = Coverage{Priced(a), Priced(b)}
	d.Prices = o.comparePrices(NewPairs(a, b))
	return d
}

// named are the ids and names of things of one kind; the prefix makes an id public.
type named struct {
	id, name *snapshot.Strings
	prefix   string
}

func (n named) thing(i int) Thing { return Thing{n.prefix + n.id.At(i), n.name.At(i)} }

func (o *Options) changes(a, b named) Changes {
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
			changes.Examples.Added = limited(o, changes.Examples.Added, b.thing(i))
		case a.name.At(old) != b.name.At(i):
			changes.Renamed++
			changes.Examples.Renamed = limited(o, changes.Examples.Renamed,
				Renamed{b.prefix + b.id.At(i), a.name.At(old), b.name.At(i)})
		}
	}

	for i := range a.id.Len() {
		if _, stays := after[a.id.At(i)]; !stays {
			changes.Removed++
			changes.Examples.Removed = limited(o, changes.Examples.Removed, a.thing(i))
		}
	}

	return changes
}

// limited appends to a list while there is room for more.
func limited[T any](o *Options, list []T, one T) []T {
	if o.Limit == 0 || len(list) < o.Limit {
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

// Priced is the number of cards with a display price.
func Priced(c *snapshot.Catalog) int {
	n := 0
	for _, lane := range c.Cards.Display {
		if lane >= 0 {
			n++
		}
	}
	return n
}

func (o *Options) comparePrices(pairs *Pairs) Prices {
	prices := Prices{MinPercent: o.MinPercent, MinCents: o.MinCents, Largest: []Move{}}
	var moves, others []Pair
	var percents []float64
	for pair := range pairs.All {
		switch {
		case pair.From == snapshot.NoCents && pair.To == snapshot.NoCents:
		case pair.From == snapshot.NoCents:
			prices.Appeared++
			others = append(others, pair)
		case pair.To == snapshot.NoCents:
			prices.Disappeared++
			others = append(others, pair)
		default:
			prices.Compared++
			if pair.From == pair.To {
				continue
			}

			prices.Changed++
			if o.hasMoved(&pair) {
				moves = append(moves, pair)
			}

			if pair.From > 0 {
				percents = append(percents, pair.percent())
			}
		}
	}

	if n := len(percents); n > 0 {
		slices.Sort(percents)
		// Of an even number, the middle lies between two.
		prices.MedianPercent = new(round2((percents[(n-1)/2] + percents[n/2]) / 2))
	}

	// The largest come first, by the operator's measure.
	size := func(pair *Pair) float64 {
		if o.MinPercent > 0 {
			return float64(pair.distance()) / float64(pair.From)
		}
		return float64(pair.distance())
	}
	slices.SortStableFunc(moves, func(x, y Pair) int { return cmp.Compare(size(&y), size(&x)) })
	prices.Moved = len(moves)
	for _, pair := range append(moves, others...) {
		prices.Largest = limited(o, prices.Largest, pairs.move(pair, o.Prefix))
	}

	return prices
}

// round2 rounds to two decimals, half away from zero (decision 8).
func round2(v float64) float64 { return math.Round(v*100) / 100 }

// Row is a change as a row of a table. Things that came, went or were renamed have id and name alone.
type Row struct {
	Change, Kind string
	Was          string // the former name of a renamed thing
	Move
}

// Rows are all listed changes: things that came, went or were renamed, then prices.
func (d *Diff) Rows() (rows []Row) {
	for i, of := range []*Changes{&d.Cards, &d.Sets, &d.Sealed} {
		kind := []string{"card", "set", "sealed"}[i]
		for _, thing := range of.Examples.Added {
			rows = append(rows, Row{"added", kind, "", Move{ID: thing.ID, Name: thing.Name}})
		}
		for _, thing := range of.Examples.Removed {
			rows = append(rows, Row{"removed", kind, "", Move{ID: thing.ID, Name: thing.Name}})
		}
		for _, name := range of.Examples.Renamed {
			rows = append(rows, Row{"renamed", kind, name.From, Move{ID: name.ID, Name: name.To}})
		}
	}

	// Prices that appeared or disappeared have no percentage.
	for _, move := range d.Prices.Largest {
		change := "moved"
		if move.FromCents == nil {
			change = "new"
		} else if move.ToCents == nil {
			change = "gone"
		}
		rows = append(rows, Row{change, "price", "", move})
	}
	return rows
}
