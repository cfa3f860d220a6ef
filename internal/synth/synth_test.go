package synth

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"ninepocket/internal/testsweep"
)

// hashOf returns a hash of the names and contents of a directory.
func hashOf(t testing.TB, dir string) string {
	t.Helper()
	h := xxhash.New()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}

		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}

		name, _ := filepath.Rel(dir, path)
		h.WriteString(filepath.ToSlash(name))
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(data))))
		h.Write(data)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// A change of these hashes changes every test and benchmark with synthetic catalogs, so change them
// only deliberately.
func TestSameOptionsSameBytes(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Cards: 400, HistoryDays: 60, Plain: true}, "1a3d3af5a5bac087"},
		{
			Options{Cards: 400, HistoryDays: 60, PriceDays: 3, Seed: 7, Day: 2, Plain: true, PlantQuarantine: true},
			"58466820d575247e",
		},
	} {
		dir, _ := write(t, c.o)
		if got := hashOf(t, dir); got != c.want {
			t.Errorf("%+v: hash %s, want %s", c.o, got, c.want)
		}
	}

	o := Options{Cards: 600, Seed: 3, HistoryDays: 60 / testsweep.Stride(3)}
	a, _ := write(t, o)
	b, _ := write(t, o)
	other, _ := write(t, Options{Cards: 600, Seed: 4})
	if hashOf(t, a) != hashOf(t, b) {
		t.Error("equal options wrote different bytes")
	}
	if hashOf(t, a) == hashOf(t, other) {
		t.Error("the seed changed nothing")
	}
}

// TestConditions bounds the lanes of a variant.
func TestConditions(t *testing.T) {
	const cards = 1500
	_, all := write(t, Options{Cards: cards, HistoryDays: 2})
	_, two := write(t, Options{Cards: cards, HistoryDays: 2, Conditions: 2})
	if a, b := float64(all.Lanes)/cards, float64(two.Lanes)/cards; a < 3.5 || a > 4 || b < 2 || b > 2.3 { // air: a pair
		t.Errorf("%.2f lanes a card, %.2f with two conditions", a, b)
	}
}

func TestEveryCaseIsThere(t *testing.T) {
	for i, o := range []Options{
		{Cards: 2000, HistoryDays: 45},
		{Cards: 4000, HistoryDays: 45},
		{Cards: minCards, HistoryDays: 40},
		{Cards: 2000, Seed: 99, HistoryDays: 40},
	} {
		if i%testsweep.Stride(2) != 0 {
			continue
		}

		_, sum := write(t, o)
		name := fmt.Sprintf("%d cards, seed %d", o.Cards, o.Seed)
		for _, c := range allCases {
			if len(sum.Cases[c]) == 0 && (o.Cards != minCards || !strings.HasPrefix(string(c), "set_")) {
				t.Errorf("%s: no case of %s", name, c)
			}
		}

		if o.Cards == minCards {
			continue
		}

		has := func(counts map[string]int, keys string) {
			t.Helper()
			for key := range strings.FieldsSeq(keys) {
				if counts[key] == 0 {
					t.Errorf("%s: no %s in %v", name, key, counts)
				}
			}
		}
		has(sum.Variants, "normal holofoil reverse_holofoil unlimited unlimited_holofoil 1st_edition "+
			"1st_edition_holofoil foil")
		has(sum.Conditions, "near_mint lightly_played moderately_played heavily_played damaged ungraded")
		has(sum.PackageTypes, "booster_bundle elite_trainer_box booster_box booster_case")
		has(sum.UnitKinds, "booster_pack booster_box")
		has(sum.Editions, "standard pokemon_center")
		has(sum.Rarities, "Common Uncommon Rare Promo C UC R SR SEC L P DON!!")
		has(sum.SetsByGame, "pokemon one-piece")
	}
}

func TestCasesAreAllListed(t *testing.T) {
	_, sum := write(t, Options{Cards: 2000, HistoryDays: 30})
	for c := range sum.Cases {
		if !slices.Contains(allCases, c) {
			t.Errorf("%s is not in allCases", c)
		}
	}
}

func TestProportions(t *testing.T) {
	testsweep.OnlyFull(t)
	_, sum := write(t, Options{HistoryDays: 2})
	within := func(what string, got, lo, hi int) {
		t.Helper()
		if got < lo || got > hi {
			t.Errorf("%s: %d, want %d..%d", what, got, lo, hi)
		}
	}

	within("cards", sum.Cards, 20_000, 20_000)
	within("Pokémon sets", sum.SetsByGame["pokemon"], 180, 220)
	within("One Piece sets", sum.SetsByGame["one-piece"], 50, 70)
	within("lanes", sum.Lanes, 70_000, 90_000)
	within("fresh of 100", sum.Fresh*100/sum.NewestRows, 60, 80)
	within("stale of 100", sum.Stale*100/sum.NewestRows, 10, 20)
	within("unknown of 100", sum.Unknown*100/sum.NewestRows, 7, 15)
	within("missing of 100", sum.Missing*100/sum.NewestRows, 2, 7)
	within("unlicensed of 100", sum.Unlicensed*100/sum.NewestRows, 3, 6)
	within("distinct rarities", len(sum.Rarities), 20, 40)
}

// Prices change as real ones do: 27 % of them a day, by 3 % in the median.
func TestPricesMoveAsRealOnesDo(t *testing.T) {
	dir, sum := write(t, Options{Cards: 1500 / testsweep.Stride(2), HistoryDays: 100 / testsweep.Stride(2)})
	s := read(t, dir)
	var changes []float64
	pairs := 0
	newest := []int64{}

	for _, days := range s.history {
		for day, cents := range days {
			before, ok := days[dayBefore(t, day)]
			if cents <= 0 || !ok || before <= 0 {
				continue
			}

			pairs++
			if cents != before {
				changes = append(changes, max(float64(cents-before), float64(before-cents))/float64(before))
			}
		}
	}

	for _, p := range s.prices[sum.Day] {
		newest = append(newest, p.cents)
	}

	slices.Sort(changes)
	slices.Sort(newest)
	rate := float64(len(changes)) / float64(pairs)
	median := changes[len(changes)/2]
	t.Logf("%.1f %% of prices change a day, the median change is %.2f %%, the median price %d cents", rate*100,
		median*100, newest[len(newest)/2])
	if rate < 0.25 || rate > 0.29 {
		t.Errorf("%.1f %% of prices change a day, want about 27 %%", rate*100)
	}
	if median < 0.027 || median > 0.033 {
		t.Errorf("the median change is %.2f %%, want about 3 %%", median*100)
	}
	if low, high := newest[len(newest)/10], newest[len(newest)-1]; low > 50 || high < 200_000 { // air: a pair
		t.Errorf("prices from %d (a tenth) to %d cents are not log-normal from cents to thousands of dollars", low,
			high)
	}
}

func TestSmallCatalogBeginsTheLargeOne(t *testing.T) {
	small, _ := write(t, Options{Cards: 500, HistoryDays: 30 / testsweep.Stride(2)})
	large, _ := write(t, Options{Cards: 1000, HistoryDays: 60 / testsweep.Stride(2)})
	a := read(t, small)
	b := read(t, large)
	for i, ref := range a.order {
		if b.order[i] != ref || fmt.Sprint(a.cards[ref]) != fmt.Sprint(b.cards[ref]) {
			t.Fatalf("card %d: %v, in the large catalog %v", i, a.cards[ref], b.cards[b.order[i]])
		}
	}

	for at, days := range a.history {
		for day, cents := range days {
			if b.history[at][day] != cents {
				t.Fatalf("%v on %s: %d, in the large catalog %d", at, day, cents, b.history[at][day])
			}
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "cards.jsonl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct {
		dir  string
		o    Options
		want string
	}{
		{full, Options{}, "not empty"},
		{t.TempDir(), Options{Cards: 5}, "cards 5 is not within 300..1000000"},
		{t.TempDir(), Options{Cards: maxCards + 1}, "cards"},
		{t.TempDir(), Options{HistoryDays: -1}, "history days -1"},
		{t.TempDir(), Options{HistoryDays: 5, PriceDays: 6}, "price days 6 is not within 1..5"},
		{t.TempDir(), Options{PriceDays: 40}, "price days 40"},
		{t.TempDir(), Options{Conditions: 7}, "conditions 7 is not within 0..6"},
		{t.TempDir(), Options{Day: -1}, "day -1"},
	} {
		err := Write(c.dir, c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(),
			"cannot write catalog ") {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
}

func TestBanksHaveNoRepeats(t *testing.T) {
	for name, bank := range map[string][]string{
		"pokemon": pokemonNames, "trainers": pokemonTrainers, "one piece": onePieceNames, "moves": onePieceMoves,
		"blows":               onePieceBlows,
		"pokemon sets, first": pokemonSetFirst, "last": pokemonSetLast, "one piece sets, first": onePieceSetFirst,
		"of": onePieceSetLast,
	} {
		sorted := slices.Sorted(slices.Values(bank))
		if n := len(slices.Compact(slices.Clone(sorted))); n != len(bank) {
			for i := range sorted[1:] {
				if cmp.Compare(sorted[i], sorted[i+1]) == 0 {
					t.Errorf("%s: %q twice", name, sorted[i])
				}
			}
		}
	}

	if len(pokemonNames) < 250 || len(onePieceNames) < 100 {
		t.Errorf("%d Pokémon and %d One Piece names are too few", len(pokemonNames), len(onePieceNames))
	}
}

func BenchmarkWrite(b *testing.B) {
	b.ReportAllocs()
	base := b.TempDir()
	for i := 0; b.Loop(); i++ {
		sum, err := Summarize(filepath.Join(base, fmt.Sprint(i)), Options{Cards: 3000})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(sum.Points), "points/op")
	}
}
