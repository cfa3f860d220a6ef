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

// OfSet is the value of a set's column for a card's set, "" without one.
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

// ChangedAt is the latest instant at which the value of a lane may have changed (decision 3503). It then got
// another price, its first price, or lost it. A lane observed again with an equal price has not changed. For
// earlier days than the newest, the history has the date alone, and the day's last millisecond stands for it.
// So a client that asks with an instant of that day gets too much rather than too little. NoTime for a lane
// that never had a price.
func (c *Catalog) ChangedAt(lane int) int64 {
	seen := c.Lanes.LastSeen[lane]
	if c.Lanes.Cents[lane] == NoCents {
		last := c.History.lastDay(lane)
		switch last {
		case NoDay:
			return NoTime
		case seen:
			// The price may have stood for a week in which the lane was not seen.
			last += CarryDays
		}
		return min((last+2).Start()-1, c.SnapshotAt)
	}

	day := seen - Day(c.History.daysUnchanged(lane, seen))
	// The source's own age does not count: the price was not known before it was collected.
	if day == seen {
		return c.Lanes.CollectedAt[lane]
	}
	return min((day+1).Start()-1, c.Lanes.CollectedAt[lane])
}

// CarryDays is the number of days for which a group's prices stay if its feed lacks them (decision 1903). A
// feed that loses a file has it again within days, and older prices are no prices of today.
const CarryDays = 7

// UpdatedAt is price_updated_at of a lane with a price: source_as_of, else collected_at (decision
// 18).
func (c *Catalog) UpdatedAt(lane int) int64 {
	if at := c.Lanes.SourceAsOf[lane]; at != NoTime {
		return at
	}

	return c.Lanes.CollectedAt[lane]
}
