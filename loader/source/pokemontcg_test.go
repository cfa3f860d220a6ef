package source

import (
	"maps"
	"strings"
	"testing"

	"ninepocket/snapshot"
)

func ptcgFixture() files {
	return files{
		"sets/en.json": `[
			{"id": "gd1", "name": "Garden", "series": "Seasons", "printedTotal": 2, "total": 3,
				"legalities": {}, "ptcgoCode": "GD", "releaseDate": "1999/01/09",
				"updatedAt": "2022/10/10 15:12:00", "images": {}},
			{"id": "gdp", "name": "Promos", "series": "Seasons", "printedTotal": 1, "releaseDate": "soon"}]`,
		"cards/en/gd1.json": `[
			{"id": "gd1-1", "name": "Fox δ", "number": "1", "rarity": "Rare Holo", "hp": "80",
				"attacks": [{"cost": ["Grass"]}], "images": {}},
			{"id": "gd1-SV2", "name": "Hare", "number": "SV2"}]`,
		"cards/en/gdp.json": `[{"id": "gdp-1", "name": "Erika's Owl", "number": "1", "rarity": "DoubleRare",
				"hp": 60, "Craftable Date": null, "attacks": [{"cost": "G"}]}]`,
	}
}

func TestPokemonTCG(t *testing.T) {
	sets := "sets/en.json"
	id := func(v string) []Identifier { return []Identifier{{Namespace: "pokemontcg", Value: v}} }
	updated := ms(t, "2022-10-10T15:12:00Z")
	f := func(path, prefix string) {
		t.Helper()
		rec, src, err := readAll(KindPokemonTCG, path, Options{})
		if err != nil {
			t.Fatal(err)
		}

		rec.wantReasons(t, map[string]int{})
		equal(t, "sets", rec.sets, []Set{
			{
				At: Location{File: prefix + sets, Line: 1}, Ref: "gd1", Game: "pokemon", Name: "Garden",
				Series: "Seasons",
				Code:   "GD", Total: 2, Release: day(t, "1999-01-09"), Aliases: []string{"gd1"},
			},
			{
				At: Location{File: prefix + sets, Line: 2}, Ref: "gdp", Game: "pokemon", Name: "Promos",
				Series: "Seasons",
				Total:  1, Release: snapshot.NoDay, Aliases: []string{"gdp"},
			},
		})

		equal(t, "cards", rec.cards, []Card{
			{
				At: Location{File: prefix + "cards/en/gd1.json", Line: 1}, Ref: "gd1-1", Game: "pokemon", SetRef: "gd1",
				Name: "Fox δ", Number: "1", Rarity: "Rare Holo", Identifiers: id("gd1-1"), UpdatedAt: updated,
			},
			{
				At: Location{File: prefix + "cards/en/gd1.json", Line: 2}, Ref: "gd1-SV2", Game: "pokemon",
				SetRef: "gd1",
				Name:   "Hare", Number: "SV2", Identifiers: id("gd1-SV2"), UpdatedAt: updated,
			},
			{
				At: Location{File: prefix + "cards/en/gdp.json", Line: 1}, Ref: "gdp-1", Game: "pokemon", SetRef: "gdp",
				Name: "Erika's Owl", Number: "1", Rarity: "Double Rare", Identifiers: id("gdp-1"),
				UpdatedAt: snapshot.NoTime,
			},
		})

		if feed := src.Feed(); !feed.HasCatalog || feed.Namespace != "pokemon-tcg-data" || feed.Partner != "" {
			t.Errorf("feed %+v", feed)
		}

		if len(rec.prices)+len(rec.series) != 0 || rec.progress["catalog"] != [2]int64{2, 2} {
			t.Errorf("prices %v, progress %v", rec.prices, rec.progress)
		}
	}

	f(ptcgFixture().dir(t), "")
	f(save(t, "p.tar.zst", zstdOf(t, ptcgFixture().tar(t))), "")
	wrapped := files{}
	for name, text := range ptcgFixture() {
		wrapped["pokemon-tcg-data-master/"+name] = text
	}

	f(wrapped.dir(t), "pokemon-tcg-data-master/")
	f(save(t, "p.tar", wrapped.tar(t)), "pokemon-tcg-data-master/")
}

func TestPokemonTCGDamage(t *testing.T) {
	f := func(name, text string, reasons map[string]int, sets, cards int) {
		t.Helper()
		tree := ptcgFixture()
		tree[name] = text
		if text == "" {
			delete(tree, name)
		}

		for _, path := range []string{tree.dir(t), save(t, "p.tar", tree.tar(t))} {
			rec := mustRead(t, KindPokemonTCG, path, Options{})
			if rec.wantReasons(t, reasons); len(rec.sets) != sets || len(rec.cards) != cards {
				t.Errorf("%d sets, %d cards", len(rec.sets), len(rec.cards))
			}
		}
	}

	gdp := "cards/en/gdp.json"
	f(gdp, "", map[string]int{ReasonMissingFile: 1}, 2, 2)
	f(gdp, "[", map[string]int{ReasonBrokenFile: 1}, 2, 2)
	f(gdp, "{}", map[string]int{ReasonBrokenFile: 1}, 2, 2)
	f(gdp, "[] []", map[string]int{ReasonBrokenFile: 1}, 2, 2)
	f(gdp, `[{"id": "a", "id": "b"}]`, map[string]int{ReasonBrokenFile: 1}, 2, 2)
	f(gdp, "[]", map[string]int{ReasonEmptyFile: 1}, 2, 2)
	f(gdp, `[{"id": "", "name": "x"}, {"id": "gdp-2", "name": " "}, {"id": 3, "name": "x"}, {"id": "gdp-4", `+
		`"name": "Kept"}]`,
		map[string]int{ReasonBadRef: 1, ReasonMissingValue: 1, ReasonBadJSON: 1}, 2, 3)
	f("cards/en/zz9.json", `[{"id": "zz9-1", "name": "Stray"}]`, map[string]int{ReasonUnlistedFile: 1}, 2, 3)
	f("sets/en.json", `[{"id": "gd1", "name": "Garden"}, {"id": "a/b", "name": "Bad"}, {"id": "c", "name": ""}]`,
		map[string]int{ReasonBadRef: 1, ReasonMissingValue: 1, ReasonUnlistedFile: 1}, 1, 2)

	g := func(change func(files), words ...string) {
		t.Helper()
		tree := ptcgFixture()
		change(tree)
		_, _, err := readAll(KindPokemonTCG, tree.dir(t), Options{})
		wantError(t, err, words...)
	}

	g(func(f files) { f["sets/en.json"] = "[" }, "sets/en.json")
	g(func(f files) { f["sets/en.json"] = "[]" }, "no usable set")
	g(func(f files) { delete(f, "sets/en.json") }, "sets/en.json")
	g(func(f files) { f["more/sets/en.json"] = "[]" }, "more than one")
	g(func(f files) { maps.DeleteFunc(f, func(k, _ string) bool { return strings.HasPrefix(k, "cards/") }) },
		"none of its card files")
}

func TestSpaced(t *testing.T) {
	for in, want := range map[string]string{
		"DoubleRare": "Double Rare", "SpecialIllustrationRare": "Special Illustration Rare",
		"SuperRare": "Super Rare", "Common": "Common",
		"LEGEND": "LEGEND", "Rare Holo LV.X": "Rare Holo LV.X", "Rare ACE": "Rare ACE", "": "",
	} {
		if got := spaced(in); got != want {
			t.Errorf("spaced(%q) = %q, want %q", in, got, want)
		}
	}
}
