package source

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ninepocket/internal/testsweep"
	"ninepocket/snapshot"
)

// data is the path of one of the real catalogs, which are not part of this repository. It skips the
// test without them.
func data(tb testing.TB, name string) string {
	tb.Helper()
	root, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}

	for ; filepath.Dir(root) != root; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
	}

	path := filepath.Join(root, "..", "shared", "data", filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		tb.Skip("skipped: the real catalogs are not beside the repository")
	}

	return path
}

func TestRealTCGCSV(t *testing.T) {
	testsweep.OnlyFull(t)
	path := data(t, "tcgcsv/tcgplayer-current.tar.zst")
	fetched := time.Date(2026, 8, 22, 20, 5, 43, 0, time.UTC)
	rec, src, err := readAll(KindTCGCSV, path, Options{CollectedAt: fetched})
	if err != nil {
		t.Fatal(err)
	}

	sets := map[string]int{}
	cards := map[string]int{}
	sealed := map[string]int{}
	prices := map[string]int{}
	rarityOnly := map[string]int{}
	priced := map[string]int64{}

	released := 0
	for _, s := range rec.sets {
		sets[s.Game]++
		if s.Release != snapshot.NoDay {
			released++
		}
	}

	for _, c := range rec.cards {
		cards[c.Game]++
		if c.Number == "" {
			rarityOnly[c.Game]++
		}
	}

	for _, s := range rec.sealed {
		sealed[s.Game]++
	}

	for _, p := range rec.prices {
		prices[p.Ref[:strings.IndexByte(p.Ref, '/')]]++
		priced[p.Ref+" "+p.Variant] = p.Cents
	}

	skipped := src.(Skipper).Skipped()
	f := func(what string, got, want any) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}

	// The catalog has 215 + 83 groups and 32,569 + 7,008 products. 2,919 + 380 products have
	// neither number nor rarity. 1,845 + 214 have a rarity only, and 1,252 of the latter are
	// code cards. There are 45,157 + 7,008 price rows.
	f("sets", sets, map[string]int{pokemon: 215, onePiece: 83})
	f("cards", cards, map[string]int{pokemon: 32569 - 2919 - 1252, onePiece: 7008 - 380})
	f("sealed", sealed, map[string]int{pokemon: 2919, onePiece: 380})
	f("rarity only", rarityOnly, map[string]int{pokemon: 1845 - 1252, onePiece: 214})
	f("code cards", len(skipped), 1252)
	f("prices", prices, map[string]int{"3": 45157, "68": 7008})
	f("release dates", released, 215+83-14-1) // 14 have the time of the fetch for one, and one comes out on that day
	rec.wantReasons(t, map[string]int{ReasonEmptyFile: 2})
	none := 0
	for _, cents := range priced {
		if cents == snapshot.NoCents {
			none++
		}
	}

	f("lanes without a price", none, 768+262)

	types := map[string]int{}
	for _, s := range rec.sealed {
		if s.PackageType != "" {
			types[s.PackageType]++
		}
	}

	f("package types", types, map[string]int{BoosterBox: 136, BoosterCase: 52, BoosterBundle: 28, EliteTrainerBox: 125})

	byRef := map[string]Card{}
	for _, c := range rec.cards {
		byRef[c.Ref] = c
	}

	card := func(ref, set, name, number, rarity string) {
		t.Helper()
		if c := byRef[ref]; c.SetRef != set || c.Name != name || c.Number != number || c.Rarity != rarity {
			t.Errorf("%s: %+v", ref, c)
		}
	}

	card("3/42346", "3/604", "Alakazam", "001/102", "Holo Rare")
	card("3/106999", "3/1663", "Charizard", "004/102", "Holo Rare")
	card("3/97706", "3/1453", "Latios - HGSS11 (Cracked Ice Holo)", "HGSS11", "Promo")
	card("3/166499", "3/1539", "Infernape - 23/156 (Pokemon League)", "023/156", "Promo")
	card("3/480554", "3/2282", "Energy Retrieval - 2012 (Shuto Itagaki)", "92/114", "Uncommon")
	card("3/180457", "3/2364", "Dratini", "009/012", "Promo")
	card("3/704879", "3/24451", "Mega Greninja ex", "081", "Promo")
	if _, ok := byRef["68/288221"]; ok {
		t.Error("a starter deck is a card")
	}
}

// Every price is compared with the decimal text of the files themselves.
func TestRealTCGCSVPricesToTheCent(t *testing.T) {
	testsweep.OnlyFull(t)
	path := data(t, "tcgcsv/tcgplayer-current.tar.zst")
	in, err := openFolder(path, defaultLimits)
	if err != nil {
		t.Fatal(err)
	}

	want := map[string]string{} // "category/productId variant" → text
	err = in.each(t.Context(), func(name string) bool { return strings.HasSuffix(name, "/prices") },
		func(f file, r io.Reader) error {
			text, err := io.ReadAll(r)
			category := strings.Split(f.name, "/")[1]
			for _, row := range strings.Split(string(text), "{\"productId\": ")[1:] {
				id, rest, _ := strings.Cut(row, ",")
				_, rest, _ = strings.Cut(rest, `"marketPrice": `)
				market, rest, _ := strings.Cut(rest, ",")
				_, variant, _ := strings.Cut(rest, `"subTypeName": "`)
				variant, _, _ = strings.Cut(variant, `"`)
				want[category+"/"+id+" "+strings.ReplaceAll(strings.ToLower(variant), " ", "_")] = market
			}

			return err
		})
	if err != nil {
		t.Fatal(err)
	}

	rec := &recorder{}
	src, err := Open(KindTCGCSV, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := src.Prices(t.Context(), rec); err != nil {
		t.Fatal(err)
	}

	if len(want) != len(rec.prices) {
		t.Errorf("%d rows in the files, %d read", len(want), len(rec.prices))
	}

	rounded := 0
	for _, p := range rec.prices {
		text := want[p.Ref+" "+p.Variant]
		got := "null"
		if p.Cents != snapshot.NoCents {
			got = fmt.Sprintf("%d.%02d", p.Cents/100, p.Cents%100)
		}

		whole, fraction, _ := strings.Cut(text, ".")
		if text != "null" && len(fraction) > 2 {
			rounded++
			continue
		}

		for text != "null" && len(fraction) < 2 {
			fraction += "0"
		}

		if text != "null" {
			text = whole + "." + fraction
		}

		if got != text {
			t.Errorf("%s %s: %s, want %s", p.Ref, p.Variant, got, text)
		}
	}

	if rounded != 94 {
		t.Errorf("%d prices have more than two digits, want 94", rounded)
	}
}

func TestRealArchiveDayIsTheSameAs7z(t *testing.T) {
	testsweep.OnlyFull(t)
	packed := data(t, "tcgcsv/archive/prices-2026-04-20.tar.zst")
	seven := data(t, "tcgcsv/archive/prices-2026-04-20.ppmd.7z")
	sorted := func(path string) *recorder {
		rec := mustRead(t, KindTCGCSV, path, Options{})
		slices.SortFunc(rec.prices, func(a, b Price) int {
			return cmp.Or(cmp.Compare(a.At.File, b.At.File), cmp.Compare(a.At.Line, b.At.Line))
		})
		return rec
	}

	a := sorted(packed)
	b := sorted(seven)
	if len(a.prices) != 50689 || !slices.Equal(a.prices, b.prices) || !maps.Equal(a.reasons(), b.reasons()) {
		t.Errorf("%d and %d prices, refused %v and %v", len(a.prices), len(b.prices), a.reasons(), b.reasons())
	}

	if p := a.prices[0]; p.Day != day(t, "2026-04-20") || p.CollectedAt != ms(t, "2026-04-20T20:00:00Z") ||
		p.SourceAsOf != snapshot.NoTime {
		t.Errorf("%+v", p)
	}

	// The folder holds three days, one of them twice.
	src, err := Open(KindTCGCSV, filepath.Dir(packed), Options{})
	if err != nil {
		t.Fatal(err)
	}

	if s, ok := src.(*tcgCSV); !ok || len(s.trees) != 3 || len(s.duplicateTrees) != 1 ||
		s.trees[2].day != day(t, "2026-04-20") {
		t.Errorf("%+v", src)
	}

	f := func(path string, size int) {
		t.Helper()
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = readAll(KindTCGCSV, save(t, filepath.Base(path), whole[:len(whole)-size]), Options{})
		wantError(t, err, "truncated")
	}

	f(packed, 1)
	f(packed, 100_000)
	f(seven, 1)
	f(seven, 100_000)
}

func TestRealWideHistory(t *testing.T) {
	testsweep.OnlyFull(t)
	f := func(kind, name string, series, points, blanks int, last string) *recorder {
		t.Helper()
		rec := mustRead(t, kind, data(t, "price-history/"+name), Options{})
		gotPoints := 0
		gotBlanks := 0
		for _, s := range rec.series {
			gotPoints += len(s.Points)
			gotBlanks += len(s.Blank)
		}

		rec.wantReasons(t, map[string]int{})
		if len(rec.series) != series || gotPoints != points || gotBlanks != blanks ||
			rec.series[0].Last != day(t, last) {
			t.Errorf("%s: %d series, %d points, %d blank until %s", name, len(rec.series), gotPoints, gotBlanks,
				rec.series[0].Last)
		}

		return rec
	}

	rec := f(KindTCGCSV, "pokemon-daily-250d-by-productId.csv.zst", 46166, 10588708, 232075, "2026-07-27")
	if s := rec.series[1]; s.Ref != "42346" || s.Variant != "holofoil" || s.Condition != "ungraded" ||
		s.Points[0] != (snapshot.Point{Day: day(t, "2025-08-17"), Cents: 5338}) {
		t.Errorf("%s %s: %v", s.Ref, s.Variant, s.Points[0])
	}

	rec = f(KindTCGCSV, "onepiece-daily-366d-by-productId.csv.zst", 7236, 2171067, 29483, "2026-08-08")
	if s := rec.series[0]; s.Ref != "288221" || s.Variant != "normal" || len(s.Points) != 366 ||
		s.Points[0].Cents != 2139 {
		t.Errorf("%s %s: %v", s.Ref, s.Variant, s.Points[0])
	}

	rec = f(KindTCGCSV, "pokemon-sealed-610d-by-productId.csv.zst", 1590, 681802, 55171, "2025-10-09")
	if s := rec.series[0]; s.Ref != "129888" || s.Variant != "" || s.Condition != "" || s.Points[1].Cents != 40211 {
		t.Errorf("%s %q: %v", s.Ref, s.Variant, s.Points[0])
	}

	rec = f(KindPokemonTCG, "pokemon-weekly-130w-by-pokemontcg-id.csv.zst", 32066, 3872512, 8957, "2026-07-30")
	if s := rec.series[1]; s.Ref != "base1-1" || s.Variant != "holofoil" || len(s.Points) != 130 {
		t.Errorf("%s %s: %d points", s.Ref, s.Variant, len(s.Points))
	}
}

func TestRealPokemonTCG(t *testing.T) {
	testsweep.OnlyFull(t)
	rec := mustRead(t, KindPokemonTCG, data(t, "pokemon-tcg-data/pokemon-tcg-data-en.tar.zst"), Options{})
	rec.wantReasons(t, map[string]int{})
	if len(rec.sets) != 172 || len(rec.cards) != 20106 {
		t.Fatalf("%d sets, %d cards", len(rec.sets), len(rec.cards))
	}

	f := func(ref, name, number, rarity, set string) {
		t.Helper()
		i := slices.IndexFunc(rec.cards, func(c Card) bool { return c.Ref == ref })
		if i < 0 {
			t.Fatalf("no card %s", ref)
		}

		if c := rec.cards[i]; c.Name != name || c.Number != number || c.Rarity != rarity || c.SetRef != set {
			t.Errorf("%+v", c)
		}
	}

	f("base1-1", "Alakazam", "1", "Rare Holo", "base1")
	f("me2pt5-1", "Erika's Oddish", "1", "Common", "me2pt5")
	rarities := map[string]int{}
	for _, c := range rec.cards {
		rarities[c.Rarity]++
	}

	if rarities["Double Rare"] != 249+43 || rarities[""] != 295 || rarities["Mega Attack Rare"] != 7 {
		t.Errorf("%v", rarities)
	}

	if s := rec.sets[0]; s.Ref != "base1" || s.Code != "BS" || s.Release != day(t, "1999-01-09") ||
		rec.cards[0].UpdatedAt != ms(t, "2022-10-10T15:12:00Z") {
		t.Errorf("%+v", s)
	}
}

func TestRealPunkRecords(t *testing.T) {
	rec := mustRead(t, KindPunkRecords, data(t, "punk-records/punk-records-english.tar.zst"), Options{})
	rec.wantReasons(t, map[string]int{})
	if len(rec.sets) != 59 || len(rec.cards) != 4673 {
		t.Fatalf("%d sets, %d cards", len(rec.sets), len(rec.cards))
	}

	refs := map[string]int{}
	numbers := map[string]bool{}
	entities := 0
	for _, c := range rec.cards {
		refs[c.Ref]++
		number, _, _ := strings.Cut(c.Number, "_")
		numbers[number] = true
		if strings.Contains(c.Name, "&") && strings.Contains(c.Name, ";") {
			entities++
		}
		if (c.Printing == "") != !strings.Contains(c.Ref, "_") {
			t.Errorf("%s: printing %q", c.Ref, c.Printing)
		}
	}

	if len(refs) != 4672 || refs["OP07-091_p1"] != 2 || len(numbers) != 2665 || entities != 46 {
		t.Errorf("%d ids, OP07-091_p1 %d times, %d numbers, %d names with entities", len(refs), refs["OP07-091_p1"],
			len(numbers), entities)
	}

	if c := rec.cards[0]; c.Ref != "ST01-001" || c.Name != "Monkey.D.Luffy" || c.Rarity != "Leader" ||
		c.SetRef != "569001" {
		t.Errorf("%+v", c)
	}

	if s := rec.sets[0]; s.Name != "Straw Hat Crew" || s.Code != "ST-01" || s.Series != "STARTER DECK" {
		t.Errorf("%+v", s)
	}
}

func BenchmarkRealSources(b *testing.B) {
	for _, x := range []struct{ kind, name string }{
		{KindTCGCSV, "tcgcsv/tcgplayer-current.tar.zst"},
		{KindTCGCSV, "tcgcsv/archive/prices-2026-04-20.tar.zst"},
		{KindTCGCSV, "tcgcsv/archive/prices-2026-04-20.ppmd.7z"},
		{KindTCGCSV, "price-history/pokemon-daily-250d-by-productId.csv.zst"},
		{KindTCGCSV, "price-history/onepiece-daily-366d-by-productId.csv.zst"},
		{KindTCGCSV, "price-history/pokemon-sealed-610d-by-productId.csv.zst"},
		{KindPokemonTCG, "price-history/pokemon-weekly-130w-by-pokemontcg-id.csv.zst"},
		{KindPokemonTCG, "pokemon-tcg-data/pokemon-tcg-data-en.tar.zst"},
		{KindPunkRecords, "punk-records/punk-records-english.tar.zst"},
	} {
		path := data(b, x.name)

		b.Run(filepath.Base(x.name), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				src, err := Open(x.kind, path, Options{})
				if err != nil {
					b.Fatal(err)
				}
				if err := src.Catalog(b.Context(), Discard{}); err != nil {
					b.Fatal(err)
				}
				if err := src.Prices(b.Context(), Discard{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
