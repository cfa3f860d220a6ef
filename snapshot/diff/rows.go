package diff

import (
	"fmt"
	"strconv"
)

// Rows hands out a diff as rows of a table, its header first: what came, went or has another name, then
// the prices that moved, are new or are gone.
func (d *Diff) Rows(yield func([]string)) {
	yield([]string{
		"change", "kind", "id", "name", "set", "number", "variant", "condition", "from", "to", "percent",
	})
	thing := func(change, kind, id, name, from, to string) {
		yield([]string{change, kind, id, name, "", "", "", "", from, to, ""})
	}
	for i, changes := range []*Changes{&d.Cards, &d.Sets, &d.Sealed} {
		kind := []string{"card", "set", "sealed"}[i]
		for _, one := range changes.Examples.Added {
			thing("added", kind, one.ID, one.Name, "", "")
		}
		for _, one := range changes.Examples.Removed {
			thing("removed", kind, one.ID, one.Name, "", "")
		}
		for _, one := range changes.Examples.Renamed {
			thing("renamed", kind, one.ID, one.To, one.From, one.To)
		}
	}

	price := func(change string, moves []Move) {
		for i := range moves {
			m := &moves[i]
			percent := ""
			if m.Percent != nil {
				percent = strconv.FormatFloat(*m.Percent, 'f', 2, 64)
			}
			yield([]string{
				change, "price", m.ID, m.Name, m.Set, m.Number, m.Variant, m.Condition, m.FromCents.text(),
				m.ToCents.text(), percent,
			})
		}
	}
	price("moved", d.Prices.Largest)
	price("new", d.Prices.New)
	price("gone", d.Prices.Gone)
}

// text is a price in cents, "" where there is none.
func (c Cents) text() string {
	if c < 0 {
		return ""
	}
	return fmt.Sprint(int64(c))
}
