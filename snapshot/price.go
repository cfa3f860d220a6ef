package snapshot

// FreshFor is the greatest age of a fresh observation, in milliseconds (decision 28).
const FreshFor = 36 * 60 * 60 * 1000

// Fresh reports whether an observation of one instant is fresh at another, both in milliseconds
// since 1970.
func Fresh(at, now int64) bool { return now-at <= FreshFor }

// DisplayCents is a card's display price in cents, NoCents without one (decision 19).
func (c *Catalog) DisplayCents(card int) int64 {
	if lane := c.Cards.Display[card]; lane >= 0 {
		return c.Lanes.Cents[lane]
	}

	return NoCents
}

// OfSet is what a column of sets says of a card's set, "" without one.
func (c *Catalog) OfSet(column *Strings, card int) string {
	if set := c.Cards.Set[card]; set != NoSet {
		return column.At(int(set))
	}
	return ""
}

// DisplayPrice is DisplayCents with the time of the price. Without a price it is the time of the
// snapshot (decision 19).
func (c *Catalog) DisplayPrice(card int) (cents, updatedAt int64) {
	lane := c.Cards.Display[card]
	if lane < 0 {
		return NoCents, c.SnapshotAt
	}

	return c.Lanes.Cents[lane], c.UpdatedAt(int(lane))
}

// UpdatedAt is price_updated_at of a lane with a price: source_as_of, else collected_at (decision
// 18).
func (c *Catalog) UpdatedAt(lane int) int64 {
	if at := c.Lanes.SourceAsOf[lane]; at != NoTime {
		return at
	}

	return c.Lanes.CollectedAt[lane]
}
