package guard_test

import (
	"slices"
	"testing"

	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
	"ninepocket/snapshot/diff"
	"ninepocket/snapshot/guard"
)

// TestPastIsJudgedAlike compares the verdicts on a past day with the guards' verdicts on a release of
// equal prices. It does so at their limits and beyond, for default and raised limits, over some days.
func TestPastIsJudgedAlike(t *testing.T) {
	const cards = 200
	for _, limits := range []guard.Limits{
		nil,
		{"prices_moved": 0.3},
		{"sets_repriced": 70},
		{"prices_moved": 1, "sets_repriced": 1e9, "repeated_feed": 1},
	} {
		for _, days := range []int{1, 20, 90} {
			for _, factor := range []int64{1, 2, 12, 100} {
				for _, moved := range []int{4, 5, 10, 11, 20, 60, cards} {
					base := shelf(cards)
					next := later(base, days)
					for i := range next.Cards {
						next.Cards[i].Lanes[0].Cents = base.Cards[i].Lanes[0].Cents
						if i < moved {
							next.Cards[i].Lanes[0].Cents *= factor
						}
					}
					likePublished(t, base, next, limits, days)

					// All of them of one set.
					next = later(base, days)
					for i := range next.Cards {
						if i%10 == 3 && i/10 < moved {
							next.Cards[i].Lanes[0].Cents *= factor
						}
					}
					likePublished(t, base, next, limits, days)
				}
			}
		}
	}
}

// likePublished compares the two ways to judge one day.
func likePublished(t *testing.T, base, next *fixture.World, limits guard.Limits, days int) {
	t.Helper()
	was := stored(base)
	is := stored(next)
	refused := refusals(guard.Judge(was, is, guard.Options{Now: clock.AddDate(0, 0, days), Limits: limits}))

	var changes []guard.Change
	for pair := range diff.NewPairs(was.Catalog, is.Catalog).All {
		changes = append(changes, guard.Change{
			Set: is.Catalog.Cards.Set[pair.ItemB], From: pair.From, To: pair.To,
		})
	}
	why, wrong := limits.Past(changes, float64(days))
	if len(refused) > 0 != (why != "" || len(wrong) > 0) {
		t.Errorf("%v over %d days: the guards that refuse are %v, and of the past day %q is said, and %v", limits,
			days, refused, why, wrong)
	}
	for set := range wrong {
		if set == snapshot.NoSet || !slices.Contains(refused, "sets_repriced") {
			t.Errorf("set %d is wrong, and %v refuse", set, refused)
		}
	}
}
