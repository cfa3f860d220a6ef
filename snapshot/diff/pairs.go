package diff

import "ninepocket/snapshot"

// Pairs are the lanes of two catalogs, matched by item, variant and condition.
type Pairs struct {
	a, b   *snapshot.Catalog
	others []int // the item of a that each item of b is, -1 when there is none
}

// Pair is a lane in one catalog or in both.
type Pair struct {
	// ItemA and ItemB are the items (cards, then sealed products), LaneA and LaneB the lanes; -1
	// where the catalog has none.
	ItemA, ItemB, LaneA, LaneB int
	// From and To are the current prices, NoCents where there is none.
	From, To int64
}

// NewPairs matches the items of two catalogs.
func NewPairs(a, b *snapshot.Catalog) *Pairs {
	p := &Pairs{a: a, b: b}
	p.match(&a.Cards.ID, &b.Cards.ID, 0)
	p.match(&a.Sealed.Tail, &b.Sealed.Tail, a.Cards.ID.Len())
	return p
}

// match finds the next items of b by their ids among the items of a from first on.
func (p *Pairs) match(a, b *snapshot.Strings, first int) {
	rows := Rows(a)
	for id := range b.All() {
		other := -1
		if row, known := rows[id]; known {
			other = first + row
		}
		p.others = append(p.others, other)
	}
}

// All yields every lane of either catalog once: those of b's items in order, then those of items
// that a has alone.
func (p *Pairs) All(yield func(Pair) bool) {
	seen := make([]bool, p.a.NumItems())
	for item, other := range p.others {
		if other >= 0 {
			// The rest of this catalog's items follow at the end.
			seen[other] = true
		}
		if !p.item(other, item, yield) {
			return
		}
	}

	for item, done := range seen {
		if !done && !p.item(item, -1, yield) {
			return
		}
	}
}

// item yields the lanes of one item; -1 stands for an item that a catalog does not have.
func (p *Pairs) item(itemA, itemB int, yield func(Pair) bool) bool {
	var fromA, toA, fromB, toB int
	if itemA >= 0 {
		fromA, toA = p.a.Lanes.Of.Range(itemA)
	}

	if itemB >= 0 {
		fromB, toB = p.b.Lanes.Of.Range(itemB)
	}

	// An item has a handful of lanes.
	var buffer [16]bool
	matched := append(buffer[:0], make([]bool, toA-fromA)...)
	for lane := fromB; lane < toB; lane++ {
		pair := Pair{itemA, itemB, -1, lane, snapshot.NoCents, p.b.Lanes.Cents[lane]}
		for other := fromA; other < toA; other++ {
			if p.same(other, lane) {
				pair.LaneA = other
				pair.From = p.a.Lanes.Cents[other]
				matched[other-fromA] = true
				break
			}
		}

		if !yield(pair) {
			return false
		}
	}

	for lane := fromA; lane < toA; lane++ {
		if !matched[lane-fromA] && !yield(Pair{itemA, itemB, lane, -1, p.a.Lanes.Cents[lane], snapshot.NoCents}) {
			return false
		}
	}

	return true
}

func (p *Pairs) same(laneA, laneB int) bool {
	a := &p.a.Lanes
	b := &p.b.Lanes
	return a.Condition[laneA] == b.Condition[laneB] &&
		p.a.Variants.At(int(a.Variant[laneA])) == p.b.Variants.At(int(b.Variant[laneB]))
}

// Moved reports whether a price went up or down by more than MovedPercent.
func (p *Pair) Moved() bool { return (&Options{MinPercent: MovedPercent}).hasMoved(p) }

// distance is the change in cents without its sign.
func (p *Pair) distance() int64 { return max(p.To-p.From, p.From-p.To) }

// percent is the change in percent of the earlier price, which is above zero.
func (p *Pair) percent() float64 { return float64(p.To-p.From) / float64(p.From) * 100 }

// move describes a pair, as the later catalog has it or else the earlier one.
func (p *Pairs) move(pair Pair, prefix string) Move {
	c, item, lane := p.b, pair.ItemB, pair.LaneB // air: a place
	if lane < 0 {
		c, item, lane = p.a, pair.ItemA, pair.LaneA // air: a place
	}
	m := Move{
		Variant:   c.Variants.At(int(c.Lanes.Variant[lane])),
		Condition: snapshot.Condition(c.Lanes.Condition[lane]).Code(),
		FromCents: Cents(pair.From), ToCents: Cents(pair.To),
	}

	if n := c.Cards.ID.Len(); item < n {
		m.ID = c.Cards.ID.At(item)
		m.Name = c.Cards.Name.At(item)
		m.Number = c.Cards.Number.At(item)
		m.Set = c.OfSet(&c.Sets.Name, item)
	} else {
		m.ID = prefix + c.Sealed.Tail.At(item-n)
		m.Name = c.Sealed.Name.At(item - n)
	}

	// A rise from nothing has no percentage.
	if pair.From > 0 && pair.To != snapshot.NoCents {
		m.Percent = new(round2(pair.percent()))
	}

	return m
}
