package synth

// edits are the changes to the catalog after day zero, with the day of the last one.
type edits struct {
	removed     map[int]int // by ordinal
	renamed     map[int]int // by ordinal
	renamedSets map[int]int // by set index
}

// How much a day changes, in parts of the catalog.
const (
	addedPart       = 2000
	removedPart     = 2500
	renamedPart     = 1000
	renamedSetsPart = 100
)

func (c *catalog) addedPerDay() int { return max(3, c.Cards/addedPart) }

// bornOn returns the day that added a card.
func (c *catalog) bornOn(ordinal int) int {
	if ordinal < c.Cards {
		return always
	}
	return 1 + (ordinal-c.Cards)/c.addedPerDay()
}

// planEdits replays the edits of every day up to the one to write. Only cards of day zero are
// edited.
func (c *catalog) planEdits() edits {
	e := edits{removed: map[int]int{}, renamed: map[int]int{}, renamedSets: map[int]int{}}
	// Edits are planned from day zero on, so that every day agrees with the earlier ones.
	sets := c.setCount()
	for day := 1; day <= c.Day; day++ {
		d := roll(c.Seed, forEdits, uint64(day))
		for range max(2, c.Cards/removedPart) {
			if ordinal, ok := c.pickCard(d, e, day); ok && len(e.removed) < c.Cards/4 {
				e.removed[ordinal] = day
			}
		}

		for range max(3, c.Cards/renamedPart) {
			if ordinal, ok := c.pickCard(d, e, day); ok {
				e.renamed[ordinal] = day
			}
		}

		for range 1 + sets/renamedSetsPart {
			e.renamedSets[plantedSets+d.below(sets-plantedSets)] = day
		}
	}
	return e
}

// pickCard picks a card that exists and that the day has not renamed yet.
func (c *catalog) pickCard(d *dice, e edits, day int) (ordinal int, ok bool) {
	// Most cards qualify, so that a few draws find one.
	for range 64 {
		ordinal := plantedCards + d.below(c.Cards-plantedCards)
		// A card has one edit a day, and a removed card cannot be renamed.
		if _, gone := e.removed[ordinal]; !gone && e.renamed[ordinal] != day {
			return ordinal, true
		}
	}
	return 0, false
}

// setCount counts the sets of day zero. Edits do not yet exist when it is called, and do not matter
// to it.
func (c *catalog) setCount() int {
	n := 0
	for s := range c.sets {
		if s.first >= c.Cards {
			break
		}
		n++
	}
	return n
}
