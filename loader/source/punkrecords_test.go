package source

import (
	"maps"
	"strings"
	"testing"

	"ninepocket/snapshot"
)

func punkFixture() files {
	return files{
		"english/manifest.json": `{}`,
		"english/packs.json": `{"12": {"id": "12", "raw_title": "BOOSTER PACK -TIDES &amp; WAVES- [TT-01]",
				"title_parts": {"label": "TT-01", "prefix": "BOOSTER PACK", "title": "TIDES &amp; WAVES"}},
			"15": {"id": "15", "raw_title": "BOOSTER PACK [TT15-EB04]", "title_parts": {"label": "TT15-EB04",
				"prefix": null, "title": "BOOSTER PACK"}},
			"90": {"id": "90", "raw_title": "Promotion card", "title_parts": {"label": null, "prefix": null,
				"title": "Promotion card"}}}`,
		"english/data/12.json": `[{"id": "TT01-001", "pack_id": "12", "name": "Marrow", "rarity": "Leader",
				"cost": null, "colors": ["Red"]},
			{"id": "TT01-001_p1", "pack_id": "12", "name": "Marrow", "rarity": "Leader"}, {"id": "TT01-002_r2",
				"pack_id": "12", "name": "Brine &quot;Salt&quot;", "rarity": "SuperRare"}]`,
		"english/data/15.json": `[{"id": "TT15-001", "pack_id": "15", "name": "Coral", "rarity": "TreasureRare"}]`,
		"english/data/90.json": `[{"id": "TT01-001_p1", "pack_id": "90", "name": "Marrow", "rarity": "Promo"}]`,
	}
}

func TestPunkRecords(t *testing.T) {
	bare := files{}
	for name, text := range punkFixture() {
		bare[strings.TrimPrefix(name, "english/")] = text
	}

	f := func(path, prefix string) {
		t.Helper()
		rec, src, err := readAll(KindPunkRecords, path, Options{})
		if err != nil {
			t.Fatal(err)
		}

		rec.wantReasons(t, map[string]int{})
		set := func(line int, s Set) Set {
			s.At = Location{File: prefix + "packs.json", Line: line}
			s.Game = "one-piece"
			s.Release = snapshot.NoDay
			return s
		}

		equal(t, "sets", rec.sets, []Set{
			set(1, Set{
				Ref: "12", Name: "TIDES &amp; WAVES", Series: "BOOSTER PACK", Code: "TT-01",
				Aliases: []string{"TT01", "BOOSTER PACK -TIDES &amp; WAVES- [TT-01]"},
			}),
			set(2, Set{Ref: "15", Name: "BOOSTER PACK [TT15-EB04]", Code: "TT15-EB04", Aliases: []string{"TT15"}}),
			set(3, Set{Ref: "90", Name: "Promotion card"}),
		})

		card := func(file string, line int, set, id, name, rarity, printing string) Card {
			return Card{
				At: Location{File: prefix + "data/" + file, Line: line}, Ref: id, Game: "one-piece", SetRef: set,
				Name: name, Number: id, Rarity: rarity,
				Printing: printing, Identifiers: []Identifier{{Namespace: "punk-records", Value: id}},
				UpdatedAt: snapshot.NoTime,
			}
		}

		equal(t, "cards", rec.cards, []Card{
			card("12.json", 1, "12", "TT01-001", "Marrow", "Leader", ""),
			card("12.json", 2, "12", "TT01-001_p1", "Marrow", "Leader", "Parallel 1"),
			card("12.json", 3, "12", "TT01-002_r2", "Brine &quot;Salt&quot;", "Super Rare", "Reprint 2"),
			card("15.json", 1, "15", "TT15-001", "Coral", "Treasure Rare", ""),
			card("90.json", 1, "90", "TT01-001_p1", "Marrow", "Promo",
				"Parallel 1"), // identity decides between the two
		})

		if feed := src.Feed(); !feed.HasCatalog || feed.Namespace != "punk-records" {
			t.Errorf("feed %+v", feed)
		}
	}

	f(punkFixture().dir(t), "english/")
	f(bare.dir(t), "")
	f(save(t, "p.tar.gz", gzipOf(t, punkFixture().tar(t))), "english/")
	f(save(t, "p.7z", punkFixture().sevenZip(t)), "english/")
}

func TestPunkRecordsDamage(t *testing.T) {
	f := func(name, text string, reasons map[string]int, sets, cards int) {
		t.Helper()
		tree := punkFixture()
		tree[name] = text
		if text == "" {
			delete(tree, name)
		}

		rec := mustRead(t, KindPunkRecords, tree.dir(t), Options{})
		if rec.wantReasons(t, reasons); len(rec.sets) != sets || len(rec.cards) != cards {
			t.Errorf("%d sets, %d cards", len(rec.sets), len(rec.cards))
		}
	}

	d90 := "english/data/90.json"
	f(d90, "", map[string]int{ReasonMissingFile: 1}, 3, 4)
	f(d90, "{", map[string]int{ReasonBrokenFile: 1}, 3, 4)
	f(d90, "[]", map[string]int{ReasonEmptyFile: 1}, 3, 4)
	f(d90, `[{"id": "P-1", "pack_id": "77", "name": "Stray"}, {"id": "", "pack_id": "90", "name": "x"}, {"id": `+
		`"P-2", "pack_id": "90"}, 1, {"id": "P-3", "pack_id": "90", "name": "Kept"}]`,
		map[string]int{ReasonBadRef: 2, ReasonMissingValue: 1, ReasonBadJSON: 1}, 3, 5)
	f("english/data/91.json", "[]", map[string]int{ReasonUnlistedFile: 1}, 3, 5)
	f("english/packs.json", `{"12": {"id": "12", "raw_title": "T"}, "15": {"id": "16", "raw_title": "T"}, "90": `+
		`{"id": "90", "raw_title": ""}, "91": []}`,
		map[string]int{ReasonBadRef: 1, ReasonMissingValue: 1, ReasonBadJSON: 1, ReasonUnlistedFile: 2}, 1, 3)
	g := func(change func(files), words ...string) {
		t.Helper()
		tree := punkFixture()
		change(tree)
		_, _, err := readAll(KindPunkRecords, tree.dir(t), Options{})
		wantError(t, err, words...)
	}

	g(func(f files) { f["english/packs.json"] = "[]" }, "packs.json", "an object")
	g(func(f files) { f["english/packs.json"] = "{}" }, "no usable pack")
	g(func(f files) { f["english/packs.json"] = `{} {}` }, "packs.json")
	g(func(f files) { f["french/packs.json"] = "{}" }, "more than one")
	g(func(f files) { maps.DeleteFunc(f, func(k, _ string) bool { return strings.Contains(k, "/data/") }) },
		"none of its card files")
}

func TestPrintingOf(t *testing.T) {
	for id, want := range map[string]string{
		"OP05-119": "", "OP05-119_p1": "Parallel 1", "OP05-119_p12": "Parallel 12", "OP05-119_r1": "Reprint 1",
		"OP05-119_x1": "", "OP05-119_p": "", "OP05-119_pp": "", "_": "",
	} {
		if got := printingOf(id); got != want {
			t.Errorf("printingOf(%q) = %q, want %q", id, got, want)
		}
	}
}
