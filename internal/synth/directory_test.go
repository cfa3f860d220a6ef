package synth

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"ninepocket/internal/testsweep"
)

func dayBefore(t testing.TB, day string) string {
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		t.Fatal(err)
	}
	return at.AddDate(0, 0, -1).Format(time.DateOnly)
}

// within fails the test if the length of a string in characters is out of bounds, or if it has
// control characters.
func within(t *testing.T, what, s string, lo, hi int) {
	if n := utf8.RuneCountInString(s); n < lo || n > hi || strings.ContainsFunc(s, unicode.IsControl) ||
		strings.TrimSpace(s) != s || !utf8.ValidString(s) {
		t.Errorf("%s %q is not a trimmed text of %d..%d characters", what, s, lo, hi)
	}
}

func TestCardsAreWithinBounds(t *testing.T) {
	dir, sum := write(t, Options{Cards: 2500 / testsweep.Stride(2), HistoryDays: 1})
	s := read(t, dir)
	if len(s.sets) != sum.Sets || len(s.cards) != sum.Cards || len(s.sealed) != sum.Sealed {
		t.Errorf("%d sets, %d cards, %d sealed, summary says %d, %d, %d", len(s.sets), len(s.cards), len(s.sealed),
			sum.Sets, sum.Cards, sum.Sealed)
	}

	numbered := map[string]bool{}
	for _, k := range s.cards {
		within(t, "name", k.Name, 1, 200)
		within(t, "number", k.Number, 0, 32)
		within(t, "rarity", k.Rarity, 0, 64)
		within(t, "printing", k.Printing, 0, 100)
		for _, id := range k.Identifiers {
			within(t, "namespace", id.Namespace, 1, 100)
			within(t, "value", id.Value, 1, 200)
			if id.Namespace == partnerNamespace && strings.Trim(id.Value, "0123456789") != "" {
				t.Errorf("partner value %q is not numeric", id.Value)
			}
		}

		if set, ok := s.sets[k.Set]; k.Set != "" && (!ok || set.Game != k.Game) {
			t.Errorf("%s is in set %q, which is not a set of its game", k.Ref, k.Set)
		}
		if at := instant(t, k.UpdatedAt); at.After(sum.SnapshotAt) {
			t.Errorf("%s was updated at %s, after the snapshot", k.Ref, k.UpdatedAt)
		}
		if key := k.Set + " " + k.Number; k.Set != "" && k.Number != "" {
			if numbered[key] && k.Name != "Eevee" {
				t.Errorf("number %s twice", key)
			}
			numbered[key] = true
		}
	}
}

func TestSetsAndSealedAreWithinBounds(t *testing.T) {
	dir, _ := write(t, Options{Cards: 2500 / testsweep.Stride(2), HistoryDays: 1})
	s := read(t, dir)
	names := map[string]int{}
	for _, set := range s.sets {
		within(t, "set name", set.Name, 1, 200)
		names[set.Name]++
		if set.ReleaseDate != "" {
			dayBefore(t, set.ReleaseDate)
		}
	}

	maps.DeleteFunc(names, func(_ string, n int) bool { return n == 1 })
	if len(names) != 1 || names[sharedSetName] != 2 {
		t.Errorf("sets that share a name: %v", names)
	}

	for _, k := range s.sealed {
		within(t, "sealed name", k.Name, 1, 200)
		if k.UnitsPerPackage < 1 {
			t.Errorf("%s has %d units", k.Ref, k.UnitsPerPackage)
		}
		if k.Edition == "pokemon_center" && k.Game != pokemon {
			t.Errorf("%s is of the Pokémon Center and of %s", k.Ref, k.Game)
		}
		if (k.PackageType == "booster_case") != (k.UnitKind == "booster_box") {
			t.Errorf("%s: %s of %s", k.Ref, k.PackageType, k.UnitKind)
		}
	}
}

func TestPricesAreWellFormed(t *testing.T) {
	dir, sum := write(t, Options{Cards: 1200 / testsweep.Stride(2), HistoryDays: 50, PriceDays: 4})
	s := read(t, dir)
	code := regexp.MustCompile(`^(normal|holofoil|reverse_holofoil|unlimited|unlimited_holofoil|1st_edition|1st_edition_holofoil|foil)` + // air: one text
		` (near_mint|lightly_played|moderately_played|heavily_played|damaged|ungraded)$`)
	if len(s.prices) != 4 || s.rows != sum.HistoryRows {
		t.Errorf("%d price files and %d rows of history, want 4 and %d", len(s.prices), s.rows, sum.HistoryRows)
	}

	rows := 0
	newest := time.Time{}
	for day, prices := range s.prices {
		rows += len(prices)
		end := instant(t, day+"T20:00:00Z")
		for at, p := range prices {
			_, sealed := s.sealed[at.Ref]
			_, card := s.cards[at.Ref]
			if (!sealed || at.Variant != "" || at.Condition != "") &&
				(!card || !code.MatchString(at.Variant+" "+at.Condition)) {
				t.Errorf("%v is no lane", at)
			}
			if p.cents < centsNoPrice || p.cents > 9007199254740991 || p.asOf.After(p.collected) ||
				p.collected.After(end) {
				t.Errorf("%v on %s: %+v", at, day, p)
			}
			newest = later(newest, p.collected)
		}
	}

	if rows != sum.PriceRows || !newest.Equal(sum.SnapshotAt) || len(s.prices[sum.Day]) != sum.NewestRows {
		t.Errorf("%d rows, newest %v, %d of that day; summary %+v", rows, newest, len(s.prices[sum.Day]), sum)
	}

	checkFreshness(t, s, sum)
	checkLanes(t, s, sum)
}

// checkLanes counts the lanes and their prices.
func checkLanes(t *testing.T, s *source, sum Summary) {
	t.Helper()
	lanes := map[Lane]bool{}
	points := 0
	for at, days := range s.history {
		lanes[at] = true
		for _, cents := range days {
			if cents >= 0 {
				points++
			}
		}
	}

	for _, prices := range s.prices {
		for at, p := range prices {
			lanes[at] = true
			if p.cents >= 0 {
				points++
			}
		}
	}

	if len(lanes) != sum.Lanes || points != sum.Points {
		t.Errorf("%d lanes with %d prices, summary says %d with %d", len(lanes), points, sum.Lanes, sum.Points)
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// checkFreshness counts the newest rows as a loader would.
func checkFreshness(t *testing.T, s *source, sum Summary) {
	t.Helper()
	var got Summary
	for at, p := range s.prices[sum.Day] {
		age := sum.SnapshotAt.Sub(p.asOf)
		switch {
		case p.cents < 0:
			got.Missing++
		case p.asOf.IsZero():
			got.Unknown++
		case age > 36*time.Hour:
			got.Stale++
		default:
			got.Fresh++
		}

		if !p.licensed {
			got.Unlicensed++
		}
		if sum.Has(caseEdge, at.Ref) && age != 36*time.Hour {
			t.Errorf("%v is %v old, want exactly 36 hours", at, age)
		}
	}

	if got.Fresh != sum.Fresh || got.Stale != sum.Stale || got.Unknown != sum.Unknown || got.Missing != sum.Missing ||
		got.Unlicensed != sum.Unlicensed {
		t.Errorf("counted %+v, summary says %+v", got, sum)
	}
}

func TestWorseConditionsCostLess(t *testing.T) {
	dir, _ := write(t, Options{Cards: 500, HistoryDays: 8, PriceDays: 8})
	order := []string{"near_mint", "lightly_played", "moderately_played", "heavily_played", "damaged"}
	compared := 0
	for _, prices := range read(t, dir).prices {
		for at, p := range prices {
			mint, ok := prices[Lane{at.Ref, at.Variant, "near_mint"}]
			if i := slices.Index(order, at.Condition); i > 0 && ok && mint.cents >= 0 && p.cents >= 0 {
				compared++
				if p.cents >= mint.cents {
					t.Errorf("%v costs %d, near mint %d", at, p.cents, mint.cents)
				}

				better, ok := prices[Lane{at.Ref, at.Variant, order[i-1]}]
				if ok && better.cents >= 0 && p.cents > better.cents {
					t.Errorf("%v costs %d, %s %d", at, p.cents, order[i-1], better.cents)
				}
			}
		}
	}

	if compared < 5_000 {
		t.Errorf("compared only %d prices", compared)
	}
}

func TestQuarantineIsPlantedOnlyOnRequest(t *testing.T) {
	good, without := write(t, Options{Cards: 500, HistoryDays: 3})
	bad, with := write(t, Options{Cards: 500, HistoryDays: 3, PlantQuarantine: true})
	if without.Quarantine != nil || without.Rejected != nil {
		t.Errorf("quarantine without being asked: %v", without.Quarantine)
	}

	total := 0
	for _, r := range allReasons {
		total += with.Quarantine[r]
		if with.Quarantine[r] == 0 {
			t.Errorf("nothing planted for %s", r)
		}
	}

	if total != len(with.Rejected) || len(with.Quarantine) != len(allReasons) {
		t.Errorf("%d rejections counted, %d listed", total, len(with.Rejected))
	}
	if added := with.Cards - without.Cards; added != 5 {
		t.Errorf("%d good cards beside the bad rows, want 5", added)
	}

	for _, name := range []string{"cards.jsonl", "sets.jsonl", "sealed.jsonl"} {
		a, err := os.ReadFile(filepath.Join(good, name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(bad, name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(b), string(a)) || len(a) == len(b) {
			t.Errorf("%s does not begin as without quarantine, or ends as such", name)
		}
	}

	rejected := map[string]bool{}
	seen := 0
	for _, r := range with.Rejected {
		rejected[r.Value] = true
	}
	rows(t, glob(t, bad, "prices/*")[0], func(_, row []string) {
		if rejected[strings.Join(row, ",")] {
			seen++
		}
	})
	if seen != 14 {
		t.Errorf("%d rejected rows in the price file, want 14", seen)
	}
}
