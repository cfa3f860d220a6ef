package diff_test

import (
	stdcmp "cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
	"ninepocket/snapshot/diff"
)

// next edits a world as days and mistakes do.
func next(w *fixture.World, dice *rand.Rand) *fixture.World {
	n := w.Clone()
	lanes := func(lanes []fixture.Lane) []fixture.Lane {
		lanes = slices.DeleteFunc(lanes, func(fixture.Lane) bool { return dice.IntN(12) == 0 })
		for i := range lanes {
			l := &lanes[i]
			switch dice.IntN(5) {
			case 0:
				l.Cents = snapshot.NoCents
			case 1, 2:
				if l.Cents != snapshot.NoCents {
					l.Cents = max(0, l.Cents+int64(dice.IntN(4000))-1500)
				}
			case 3:
				if l.Cents == snapshot.NoCents {
					l.Cents = int64(dice.IntN(300))
					l.CollectedAt = w.At
				}
			}
		}

		return lanes
	}

	n.Cards = slices.DeleteFunc(n.Cards, func(fixture.Card) bool { return dice.IntN(9) == 0 })
	for i := range n.Cards {
		if dice.IntN(8) == 0 {
			n.Cards[i].Name += " (Renamed)"
		}
		n.Cards[i].Lanes = lanes(n.Cards[i].Lanes)
	}

	more := fixture.Random(dice.Uint64(), fixture.Size{Sets: 2, Cards: dice.IntN(5), Sealed: 2, Days: 9})
	for _, c := range more.Cards {
		c.Set = ""
		n.Cards = append(n.Cards, c)
	}

	n.Sets = append(n.Sets, more.Sets...)
	n.Sets[0].Name += " Renewed"
	n.Sealed = append(slices.Delete(n.Sealed, 0, 1), more.Sealed...)
	for i := range n.Sealed {
		n.Sealed[i].Lanes = lanes(n.Sealed[i].Lanes)
	}

	return n
}

// plain is the expected count of a diff, computed in the plainest way.
type plain struct {
	Added, Removed, Renamed                         int
	Compared, Changed, Appeared, Disappeared, Moved int
	Median                                          string
	Listed                                          []string // the lanes that moved, came and went
}

func named(a, b map[string]string) (p plain) {
	for id, name := range b {
		if was, ok := a[id]; !ok {
			p.Added++
		} else if was != name {
			p.Renamed++
		}
	}

	for id := range a {
		if _, ok := b[id]; !ok {
			p.Removed++
		}
	}

	return p
}

func cardNames(w *fixture.World) map[string]string {
	m := map[string]string{}
	for _, c := range w.Cards {
		m[c.ID] = c.Name
	}
	return m
}

func setNames(w *fixture.World) map[string]string {
	m := map[string]string{}
	for _, s := range w.Sets {
		m[s.ID] = s.Name
	}
	return m
}

func sealedNames(w *fixture.World) map[string]string {
	m := map[string]string{}
	for _, s := range w.Sealed {
		m[s.Tail] = s.Name
	}
	return m
}

// prices maps every lane to its current price.
func prices(w *fixture.World) map[string]int64 {
	m := map[string]int64{}
	for _, c := range w.Cards {
		for _, l := range c.Lanes {
			m[fmt.Sprint("card ", c.ID, l.Variant, l.Condition)] = l.Cents
		}
	}

	for _, s := range w.Sealed {
		for _, l := range s.Lanes {
			m[fmt.Sprint("sealed ", s.Tail, l.Variant, l.Condition)] = l.Cents
		}
	}

	return m
}

func comparePrices(a, b map[string]int64, o diff.Options) (p plain) {
	var percents []float64
	list := func(lane string, from, to int64) {
		p.Listed = append(p.Listed, fmt.Sprintf("%s from %d to %d", lane, from, to))
	}
	for lane, to := range b {
		from, ok := a[lane]
		if !ok {
			from = snapshot.NoCents
		}

		switch {
		case from < 0 && to >= 0:
			p.Appeared++
			list(lane, from, to)
		case from >= 0 && to < 0:
			p.Disappeared++
			list(lane, from, to)
		case from >= 0 && to >= 0:
			p.Compared++
			if from == to {
				continue
			}

			p.Changed++
			// In thousandths of a percent, and in whole numbers.
			far := max(to-from, from-to)
			if far*100_000 > int64(math.Round(o.MinPercent*1000))*from && far >= o.MinCents {
				p.Moved++
				list(lane, from, to)
			}

			if from > 0 {
				percents = append(percents, float64(to)/float64(from)*100-100)
			}
		}
	}

	for lane, from := range a {
		if _, ok := b[lane]; !ok && from >= 0 {
			p.Disappeared++
			list(lane, from, snapshot.NoCents)
		}
	}

	slices.Sort(percents)
	p.Median = "none"
	if n := len(percents); n > 0 {
		p.Median = fmt.Sprintf("%.2f", (percents[(n-1)/2]+percents[n/2])/2)
	}

	slices.Sort(p.Listed)

	return p
}

func centsOf(cents *int64) int64 {
	if cents == nil {
		return snapshot.NoCents
	}
	return *cents
}

func counted(c diff.Changes) plain {
	return plain{Added: c.Added, Removed: c.Removed, Renamed: c.Renamed}
}

func pricesOf(p diff.Prices) plain {
	out := plain{
		Compared: p.Compared, Changed: p.Changed, Appeared: p.Appeared, Disappeared: p.Disappeared,
		Moved: p.Moved, Median: "none",
	}
	if p.MedianPercent != nil {
		out.Median = fmt.Sprintf("%.2f", *p.MedianPercent)
	}

	// Ids and conditions as the plain rows have them.
	for _, m := range p.Largest {
		kind, id, _ := strings.Cut("card "+m.ID, " prd_")
		if id == "" {
			id = m.ID
		} else {
			kind = "sealed"
		}
		kind, _, _ = strings.Cut(kind, " ")
		condition := slices.IndexFunc(conditionCodes, func(code string) bool { return code == m.Condition })
		lane := fmt.Sprint(kind+" ", id, m.Variant, snapshot.Condition(condition))
		out.Listed = append(out.Listed,
			fmt.Sprintf("%s from %d to %d", lane, centsOf(m.FromCents), centsOf(m.ToCents)))
	}
	slices.Sort(out.Listed)

	return out
}

// conditionCodes are the codes of the conditions in their order.
var conditionCodes = []string{
	snapshot.NearMint.Code(), snapshot.Ungraded.Code(), snapshot.LightlyPlayed.Code(),
	snapshot.ModeratelyPlayed.Code(), snapshot.HeavilyPlayed.Code(), snapshot.Damaged.Code(),
	snapshot.FactorySealed.Code(),
}

// TestCompare compares Compare with counts over the plain rows, with every kind of threshold: the
// counted changes are the listed changes.
func TestCompare(t *testing.T) {
	for seed := range uint64(120) {
		dice := rand.New(rand.NewPCG(seed, 3))
		a := fixture.Random(seed, fixture.Size{Sets: 5, Cards: 30 + int(seed), Sealed: 4, Days: 20})
		b := next(a, dice)
		o := diff.Options{
			MinPercent: []float64{0, 50, 60, 12.5, 100}[dice.IntN(5)], MinCents: []int64{0, 1, 100}[dice.IntN(3)],
		}
		d := diff.Compare(a.Catalog(), b.Catalog(), o)
		check := func(what string, want, got plain) {
			t.Helper()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("seed %d, %+v: %s (-want +got):\n%s", seed, o, what, diff)
			}
		}

		check("cards", named(cardNames(a), cardNames(b)), counted(d.Cards))
		check("sets", named(setNames(a), setNames(b)), counted(d.Sets))
		check("sealed", named(sealedNames(a), sealedNames(b)), counted(d.Sealed))
		check("prices", comparePrices(prices(a), prices(b), o), pricesOf(d.Prices))
		size := func(m diff.Move) float64 {
			from := float64(centsOf(m.FromCents))
			if o.MinPercent > 0 {
				return math.Abs(float64(centsOf(m.ToCents))-from) / from
			}
			return math.Abs(float64(centsOf(m.ToCents)) - from)
		}
		if !slices.IsSortedFunc(d.Prices.Largest[:d.Prices.Moved], func(x, y diff.Move) int {
			return stdcmp.Compare(size(y), size(x))
		}) {
			t.Errorf("seed %d: the largest moves do not descend: %+v", seed, d.Prices.Largest)
		}

		// Lists are cut, counts are not, and rows are the listed changes.
		o.Limit = 1 + dice.IntN(5)
		cut := diff.Compare(a.Catalog(), b.Catalog(), o)
		if want := d.Prices.Largest[:min(o.Limit, len(d.Prices.Largest))]; cut.Prices.Moved != d.Prices.Moved ||
			!cmp.Equal(want, cut.Prices.Largest) || cut.Cards.Added != d.Cards.Added ||
			len(cut.Cards.Examples.Added) != min(o.Limit, d.Cards.Added) {
			t.Errorf("seed %d: cut to %d: %+v", seed, o.Limit, cut)
		}
		rows := len(d.Rows())
		all := d.Prices.Moved + d.Prices.Appeared + d.Prices.Disappeared
		for _, c := range []diff.Changes{d.Cards, d.Sets, d.Sealed} {
			all += c.Added + c.Removed + c.Renamed
		}
		if rows != all {
			t.Errorf("seed %d: %d rows of %d changes", seed, rows, all)
		}
	}
}

func TestCompareWithItself(t *testing.T) {
	w := fixture.Random(1, fixture.Small)
	d := diff.Compare(w.Catalog(), w.Catalog(), diff.Options{})
	if d.Cards.Any() || d.Sets.Any() || d.Sealed.Any() ||
		d.Prices.Changed+d.Prices.Appeared+d.Prices.Disappeared > 0 || d.Prices.MedianPercent != nil {
		t.Errorf("a catalog differs from itself: %+v", d)
	}

	if d.Prices.Compared == 0 || d.Coverage.PricedAfter == 0 {
		t.Errorf("nothing was compared: %+v", d)
	}
}

// TestMoves shows a card and a sealed product in the list of moves.
func TestMoves(t *testing.T) {
	a := fixture.Random(1, fixture.Size{})
	lane := func(variant string, c snapshot.Condition, cents int64) fixture.Lane {
		return fixture.Lane{
			Variant: variant, Condition: c, Licensed: true, Cents: cents, CollectedAt: a.At,
			SourceAsOf: snapshot.NoTime, Seen: a.Date(),
			Points: []snapshot.Point{{Day: a.Date(), Cents: cents}},
		}
	}

	world := func(holo, normal, box int64) *snapshot.Catalog {
		w := a.Clone()
		w.Cards = []fixture.Card{{ID: "card_a", Slug: "a", Name: "Abra", Lanes: []fixture.Lane{
			lane("normal", snapshot.NearMint, normal), lane("holofoil", snapshot.Ungraded, holo),
		}}}
		w.Sealed = []fixture.Sealed{{
			Tail: "boxxx", Name: "Box", PackageType: "booster_box", UnitKind: "booster_pack", Edition: "standard",
			Units: 36,
			Lanes: []fixture.Lane{lane("", snapshot.FactorySealed, box)},
		}}

		return w.Catalog()
	}

	d := diff.Compare(world(100, 0, 9000), world(90, 55, 9001), diff.Options{Prefix: "np"})
	percent := func(v float64) *float64 { return &v }
	cents := func(v int64) *int64 { return &v }
	want := []diff.Move{
		{
			ID: "card_a", Name: "Abra", Variant: "normal", Condition: "near_mint", FromCents: cents(0),
			ToCents: cents(55),
		},
		{
			ID: "card_a", Name: "Abra", Variant: "holofoil", Condition: "ungraded", FromCents: cents(100),
			ToCents: cents(90),
			Percent: percent(-10),
		},
		{
			ID: "np_boxxx", Name: "Box", Condition: "factory_sealed", FromCents: cents(9000), ToCents: cents(9001),
			Percent: percent(0.01),
		},
	}

	if diff := cmp.Diff(want, d.Prices.Largest); diff != "" {
		t.Errorf("largest (-want +got):\n%s", diff)
	}
}
