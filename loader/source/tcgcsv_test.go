package source

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ninepocket/snapshot"
)

// Fixtures in the words of TCGCSV.

func reply(results ...string) string {
	return fmt.Sprintf(`{"totalItems": %d, "success": true, "errors": [], "results": [%s]}`, len(results),
		strings.Join(results, ", "))
}

func pricesFile(rows ...string) string { return reply(rows...) }

func tcgRow(id int, variant, market string) string {
	return fmt.Sprintf(`{"productId": %d, "lowPrice": 0.01, "midPrice": 0.5, "highPrice": 9999.99, `+
		`"marketPrice": %s, "directLowPrice": null, "subTypeName": %q}`, id, market, variant)
}

func tcgGroupRow(id int, name, code, published string) string {
	return fmt.Sprintf(`{"groupId": %d, "name": %q, "abbreviation": %q, "isSupplemental": false, "publishedOn": `+
		`%q, "modifiedOn": "2026-08-22T00:00:00", "categoryId": 3}`, id, name, code, published)
}

// tcgItem is a product with attributes given as name, value, name, value.
func tcgItem(id int, name string, attributes ...string) string {
	var list []string
	for i := 0; i < len(attributes); i += 2 {
		list = append(list, fmt.Sprintf(`{"name": %q, "displayName": "", "value": %q}`, attributes[i], attributes[i+1]))
	}
	return fmt.Sprintf(`{"productId": %d, "name": %q, "cleanName": "", "imageUrl": "", "categoryId": 3, `+
		`"groupId": 1, "url": "", "modifiedOn": "2026-08-20T10:00:00.5", "imageCount": 1, "presaleInfo": `+
		`{"isPresale": false, "note": null}, "extendedData": [%s]}`,
		id, name, strings.Join(list, ", "))
}

func tcgTreeFixture() files {
	return files{
		"tcgplayer/last-updated.txt": "2026-08-22T20:05:43+0000\n",
		"tcgplayer/3/groups": reply(
			tcgGroupRow(1, "SV09: Garden", "GRD", "2025-03-28T00:00:00"),
			tcgGroupRow(2, "Fresh", "", "2026-08-22T20:00:05.5426956Z")),

		"tcgplayer/3/1/products": reply(
			tcgItem(11, "Fox", "Number", "4/102", "Rarity", "Rare"),
			tcgItem(12, "Hare - 014/172 (Prerelease) [Staff]", "Rarity", "Promo", "Number", "014/172"),
			tcgItem(13, "Grass Energy", "Rarity", "None"),
			tcgItem(14, "Garden Pokemon Center Elite Trainer Box (Exclusive)"),
			tcgItem(15, "Code Card - Garden Elite Trainer Box", "Rarity", "Code Card"),
			tcgItem(16, "Garden Sleeves")),
		"tcgplayer/3/1/prices": pricesFile(
			tcgRow(11, "Normal", "4.35"), tcgRow(11, "Reverse Holofoil", "null"), tcgRow(14, "Normal", "120.0"),
			tcgRow(15, "Normal", "0.1")),

		"tcgplayer/3/2/products": reply(tcgItem(21, "Owl", "Number", "7", "Rarity", "Common")),
		"tcgplayer/3/2/prices":   pricesFile(tcgRow(21, "1st Edition Holofoil", "1234567.8951")),
		"tcgplayer/68/groups":    reply(tcgGroupRow(9, "Tides", "OP01", "2022-12-02T00:00:00")),
		"tcgplayer/68/9/products": reply(
			tcgItem(91, "Marrow (Parallel)", "Number", "OP01-001", "Rarity", "L"),
			tcgItem(92, "DON!! Card (Red)", "Rarity", "DON!!")),
		"tcgplayer/68/9/prices":  pricesFile(tcgRow(91, "Foil", "10.0050")),
		"tcgplayer/1/groups":     "not read: another category",
		"tcgplayer/3/1/extras":   "not read: another file",
		"tcgplayer/3/one/prices": "not read: not a group",
	}
}

func TestTCGCSVTree(t *testing.T) {
	want := mustRead(t, KindTCGCSV, tcgTreeFixture().dir(t), Options{})
	want.wantReasons(t, map[string]int{})
	at := func(file string, line int) Location { return Location{File: "tcgplayer/" + file, Line: line} }
	id := func(v string) []Identifier { return []Identifier{{Namespace: "tcgplayer", Value: v}} }
	updated := ms(t, "2026-08-20T10:00:00Z") + 500
	equal(t, "sets", want.sets, []Set{
		{
			At: at("3/groups", 1), Ref: "3/1", Game: "pokemon", Name: "SV09: Garden", Code: "GRD",
			Release: day(t, "2025-03-28"), Aliases: []string{"Garden"},
		},
		{At: at("3/groups", 2), Ref: "3/2", Game: "pokemon", Name: "Fresh", Release: snapshot.NoDay},
		{
			At: at("68/groups", 1), Ref: "68/9", Game: "one-piece", Name: "Tides", Code: "OP01",
			Release: day(t, "2022-12-02"),
		},
	})

	equal(t, "cards", want.cards, []Card{
		{
			At: at("3/1/products", 1), Ref: "3/11", Game: "pokemon", SetRef: "3/1", Name: "Fox", Number: "4/102",
			Rarity: "Rare", Identifiers: id("11"), UpdatedAt: updated,
		},
		{
			At: at("3/1/products", 2), Ref: "3/12", Game: "pokemon", SetRef: "3/1",
			Name: "Hare - 014/172 (Prerelease) [Staff]", Number: "014/172", Rarity: "Promo", Identifiers: id("12"),
			UpdatedAt: updated,
		},
		{
			At: at("3/1/products", 3), Ref: "3/13", Game: "pokemon", SetRef: "3/1", Name: "Grass Energy",
			Rarity:      "None",
			Identifiers: id("13"), UpdatedAt: updated,
		},
		{
			At: at("3/2/products", 1), Ref: "3/21", Game: "pokemon", SetRef: "3/2", Name: "Owl", Number: "7",
			Rarity: "Common", Identifiers: id("21"), UpdatedAt: updated,
		},
		{
			At: at("68/9/products", 1), Ref: "68/91", Game: "one-piece", SetRef: "68/9", Name: "Marrow (Parallel)",
			Number: "OP01-001", Rarity: "L", Identifiers: id("91"), UpdatedAt: updated,
		},
		{
			At: at("68/9/products", 2), Ref: "68/92", Game: "one-piece", SetRef: "68/9", Name: "DON!! Card (Red)",
			Rarity: "DON!!", Identifiers: id("92"), UpdatedAt: updated,
		},
	})

	equal(t, "sealed", want.sealed, []Sealed{
		{
			At: at("3/1/products", 4), Ref: "3/14", Game: "pokemon", SetRef: "3/1",
			Name: "Garden Pokemon Center Elite Trainer Box (Exclusive)", PackageType: "elite_trainer_box",
			UnitKind: "booster_pack", Edition: "pokemon_center", Identifiers: id("14"), UpdatedAt: updated,
		},
		{
			At: at("3/1/products", 6), Ref: "3/16", Game: "pokemon", SetRef: "3/1", Name: "Garden Sleeves",
			Edition: "standard", Identifiers: id("16"), UpdatedAt: updated,
		},
	})

	price := func(file string, line int, ref, variant string, cents int64) Price {
		return Price{
			At: at(file, line), Ref: ref, Variant: variant, Condition: "ungraded", Day: day(t, "2026-08-22"),
			Cents:      cents,
			SourceAsOf: snapshot.NoTime, CollectedAt: ms(t, "2026-08-22T20:05:43Z"), Licensed: true,
			Low: 1, Mid: 50, High: 999999, DirectLow: snapshot.NoCents,
		}
	}

	equal(t, "prices", want.prices, []Price{
		price("3/1/prices", 1, "3/11", "normal", 435),
		price("3/1/prices", 2, "3/11", "reverse_holofoil", snapshot.NoCents),
		price("3/1/prices", 3, "3/14", "normal", 12000), price("3/1/prices", 4, "3/15", "normal", 10),
		price("3/2/prices", 1, "3/21", "1st_edition_holofoil", 123456790),
		price("68/9/prices", 1, "68/91", "foil", 1001),
	})

	if want.progress["catalog"] != [2]int64{3, 3} || want.progress["prices"] != [2]int64{3, 3} {
		t.Errorf("progress %v", want.progress)
	}

	// The same content from an archive, and with the path one folder further in, with
	// last-updated.txt next to it.
	packed := tcgTreeFixture().tar(t)
	for name, data := range map[string][]byte{
		"t.tar": packed, "t.tar.zst": zstdOf(t, packed),
		"t.tar.gz": gzipOf(t, packed), "t.7z": tcgTreeFixture().sevenZip(t),
	} {
		got := mustRead(t, KindTCGCSV, save(t, name, data), Options{})
		equal(t, name, got.cards, want.cards)
		equal(t, name, got.prices, want.prices)
	}

	for _, stamp := range []string{"tcgplayer/last-updated.txt", "last-updated.txt"} {
		tree := tcgTreeFixture()
		text := tree["tcgplayer/last-updated.txt"]
		delete(tree, "tcgplayer/last-updated.txt")
		tree[stamp] = text

		root := tree.dir(t)
		for _, path := range []string{root, filepath.Join(root, "tcgplayer")} {
			got := mustRead(t, KindTCGCSV, path, Options{CollectedAt: time.Unix(0, 0)})
			if len(got.prices) != len(want.prices) || got.prices[0].CollectedAt != want.prices[0].CollectedAt {
				t.Errorf("%s: %d prices, the first %+v", path, len(got.prices), got.prices[0])
			}
		}
	}
}

func equal[T any](t *testing.T, what string, got, want []T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestTCGCSVPassesOverCodeCards(t *testing.T) {
	_, src, err := readAll(KindTCGCSV, tcgTreeFixture().dir(t), Options{})
	if err != nil {
		t.Fatal(err)
	}

	s, ok := src.(Skipper)
	if !ok {
		t.Fatal("not a Skipper")
	}

	equal(t, "skipped", s.Skipped(), []string{"3/15"})
}

func TestTCGCSVCollectedAt(t *testing.T) {
	tree := tcgTreeFixture()
	delete(tree, "tcgplayer/last-updated.txt")
	f := func(tree files, path string, o Options, collected, asOf, priceDay string) {
		t.Helper()
		rec := mustRead(t, KindTCGCSV, filepath.Join(tree.dir(t), path), o)
		p := rec.prices[0]
		want := snapshot.NoTime
		if asOf != "" {
			want = ms(t, asOf)
		}

		if p.CollectedAt != ms(t, collected) || p.SourceAsOf != want || p.Day != day(t, priceDay) {
			t.Errorf("collected %v as of %v day %v", time.UnixMilli(p.CollectedAt).UTC(), p.SourceAsOf, p.Day)
		}
	}

	given := time.Date(2026, 8, 21, 3, 0, 0, 0, time.UTC)
	f(tree, "", Options{}, "2026-08-22T21:00:00Z", "", "2026-08-22") // the newest file
	f(tree, "", Options{CollectedAt: given}, "2026-08-21T03:00:00Z", "", "2026-08-21")
	f(tree, "", Options{CollectedAt: given, AsOf: given}, "2026-08-21T03:00:00Z", "2026-08-21T03:00:00Z", "2026-08-21")
	f(tcgTreeFixture(), "", Options{CollectedAt: given}, "2026-08-22T20:05:43Z", "",
		"2026-08-22") // the tree says it itself
	archive := files{"2026-04-20/3/1/prices": pricesFile(tcgRow(1, "Normal", "1"))}
	f(archive, "", Options{CollectedAt: given}, "2026-04-20T20:00:00Z", "", "2026-04-20")
	f(archive, "2026-04-20", Options{}, "2026-04-20T20:00:00Z", "", "2026-04-20")
	f(archive, "", Options{AsOf: given}, "2026-04-20T20:00:00Z", "", "2026-04-20") // asserted of a later day
	f(archive, "", Options{AsOf: time.Date(2026, 4, 20, 6, 0, 0, 0, time.UTC)}, "2026-04-20T20:00:00Z",
		"2026-04-20T06:00:00Z", "2026-04-20")

	tree["tcgplayer/last-updated.txt"] = "yesterday"
	_, err := Open(KindTCGCSV, tree.dir(t), Options{CollectedAt: given})
	wantError(t, err, "last-updated.txt", `"yesterday"`)
	// Inside an archive it is the header's time.
	delete(tree, "tcgplayer/last-updated.txt")
	if p := mustRead(t, KindTCGCSV, save(t, "a.tar", tree.tar(t)),
		Options{}).prices[0]; p.CollectedAt != mtime.UnixMilli() {
		t.Errorf("collected %v", time.UnixMilli(p.CollectedAt).UTC())
	}
}

func TestTCGCSVReleaseDates(t *testing.T) {
	fetched := ms(t, "2026-08-22T20:05:43Z")
	for text, want := range map[string]string{
		"2025-03-28T00:00:00": "2025-03-28", "1999-01-09T00:00:00": "1999-01-09", "2026-08-22T20:00:05.5426956Z": "",
		"2020-01-01T00:00:00.1234567": "", "2026-08-21T00:00:00": "", "2026-08-23T00:00:00": "",
		"2026-08-20T00:00:00": "2026-08-20",
		"2026-08-24T00:00:00": "2026-08-24", "2020-01-01T00:00:00.123": "2020-01-01", "": "", "soon": "",
		"0001-01-01T00:00:00": "", "2020-13-01T00:00:00": "",
	} {
		got := releaseOf(text, fetched)
		if want == "" && got != snapshot.NoDay || want != "" && got != day(t, want) {
			t.Errorf("releaseOf(%q) = %v, want %q", text, got, want)
		}
	}
}

func TestCentsOf(t *testing.T) {
	f := func(text string, want int64) {
		t.Helper()
		got, ok := centsOf(text)
		if !ok && want >= 0 || ok && got != want {
			t.Errorf("centsOf(%q) = %d %v, want %d", text, got, ok, want)
		}
	}

	f("4.35", 435)     // int(4.35*100) is 434
	f("1.15", 115)     // and 114
	f("0.29", 29)      // and 28
	f("8.2", 820)      // and 819
	f("16.4", 1640)    // one digit
	f("120", 12000)    // none
	f("0", 0)          // free is a price
	f("0.0", 0)        //
	f("0.005", 1)      // half away from zero
	f("0.0049", 0)     //
	f("0.0050", 1)     //
	f("10.0050", 1001) // real One Piece prices have four digits
	f("10.0149", 1001) //
	f("9.995", 1000)   // carries
	f("90071992547409.91", snapshot.MaxCents)

	for _, bad := range []string{
		"", "-1", "-0.5", "+1", "1e2", "1E2", "1.5e0", "NaN", "Infinity", ".5", "1.",
		"1.2.3", "1,000", " 1", "90071992547409.92", "90071992547409.915", "90071992547410", "9999999999999999",
		"10000000000000000000000", "0x10",
	} {
		f(bad, -1)
	}
}

func TestTCGCSVRefusesRowsOneByOne(t *testing.T) {
	good := tcgRow(1, "Normal", "1.00")
	f := func(row, reason, ref string) {
		t.Helper()
		rec := mustRead(t, KindTCGCSV, files{"2026-04-20/3/7/prices": pricesFile(row, good)}.dir(t), Options{})
		if len(rec.prices) != 1 || len(rec.refused) != 1 {
			t.Fatalf("%s: %d prices, refused %v", row, len(rec.prices), rec.lines())
		}

		if q := rec.refused[0]; q.Reason != reason || q.Ref != ref || q.At.Line != 1 ||
			q.At.File != "2026-04-20/3/7/prices" {
			t.Errorf("%s: %+v", row, q)
		}
	}

	for _, market := range []string{"-1.00", "1e2", "9007199254740992", `"1.00"`, "true", "[]", "{}"} {
		f(tcgRow(5, "Normal", market), ReasonBadPrice, "3/5")
	}

	f(`{"productId": 5, "subTypeName": "Normal"}`, ReasonMissingValue, "3/5")
	f(`{"productId": "5", "subTypeName": "Normal", "marketPrice": 1}`, ReasonBadRef, "")
	f(`{"productId": -5, "subTypeName": "Normal", "marketPrice": 1}`, ReasonBadRef, "")
	f(`{"productId": 5.0, "subTypeName": "Normal", "marketPrice": 1}`, ReasonBadRef, "")
	f(`{"productId": 0, "subTypeName": "Normal", "marketPrice": 1}`, ReasonBadRef, "")
	f(`{"subTypeName": "Normal", "marketPrice": 1}`, ReasonBadRef, "")
	f(`{"productId": 5, "subTypeName": null, "marketPrice": 1}`, ReasonBadVariant, "3/5")
	f(`{"productId": 5, "marketPrice": 1}`, ReasonBadVariant, "3/5")
	f(`{"productId": 5, "subTypeName": "??", "marketPrice": 1}`, ReasonBadVariant, "3/5")
	f(`[1]`, ReasonBadJSON, "")
	f(`null`, ReasonBadJSON, "")

	rec := mustRead(t, KindTCGCSV,
		files{"2026-04-20/3/7/prices": pricesFile(good, tcgRow(2, "Foil", "1"),
			tcgRow(1, "normal", "2.00"))}.dir(t), Options{})
	if rec.wantReasons(t, map[string]int{ReasonDuplicateLane: 2}); len(rec.prices) != 1 || rec.prices[0].Ref != "3/2" {
		t.Errorf("%+v", rec.prices)
	}
}

func TestTCGCSVDamage(t *testing.T) {
	base := "tcgplayer/3/1/"
	f := func(change func(files), reasons map[string]int, cards, prices int) {
		t.Helper()
		tree := tcgTreeFixture()
		change(tree)
		for _, path := range []string{tree.dir(t), save(t, "t.tar.zst", zstdOf(t, tree.tar(t)))} {
			rec := mustRead(t, KindTCGCSV, path, Options{})
			rec.wantReasons(t, reasons)
			if len(rec.cards) != cards || len(rec.prices) != prices {
				t.Errorf("%d cards and %d prices, want %d and %d", len(rec.cards), len(rec.prices), cards, prices)
			}

			for _, q := range rec.refused {
				if !strings.Contains(q.At.File, "/") {
					t.Errorf("a refused record names no file: %+v", q)
				}
			}
		}
	}

	set := func(name, text string) func(files) { return func(f files) { f[base+name] = text } }
	without := func(name string) func(files) { return func(f files) { delete(f, base+name) } }
	f(without("products"), map[string]int{ReasonMissingFile: 1}, 3, 6)
	f(without("prices"), map[string]int{ReasonMissingFile: 1}, 6, 2)
	for _, text := range []string{
		"", "{", `{"results": [`, `{"success": true}`, `[]`, `<html>busy</html>`,
		`{"results": {}}`, reply() +
			"x", `{"results": [], "results": []}`, "{\"results\": [\"\xff\"]}", strings.Repeat("[", 20_000),
	} {
		f(set("products", text), map[string]int{ReasonBrokenFile: 1}, 3, 6)
		f(set("prices", text), map[string]int{ReasonBrokenFile: 1}, 6, 2)
	}

	half := tcgTreeFixture()[base+"products"]
	f(set("products", half[:len(half)/2]), map[string]int{ReasonBrokenFile: 1}, 3, 6)
	f(set("products", reply()), map[string]int{ReasonEmptyFile: 1}, 3, 6)
	f(set("prices", reply()), map[string]int{ReasonEmptyFile: 1}, 6, 2)
	f(set("prices", `{"success": false, "errors": ["busy"], "results": []}`), map[string]int{ReasonFailedReply: 1}, 6,
		2)
	f(set("products", `{"results": [], "success": null}`), map[string]int{ReasonFailedReply: 1}, 3, 6)
	f(func(f files) { f["tcgplayer/3/77/products"] = reply(tcgItem(5, "Stray", "Number", "1")) },
		map[string]int{ReasonUnlistedFile: 1}, 6, 6)
	f(set("products", reply(tcgItem(5, "  ", "Number", "1"), `7`, `{"productId": 9, "name": 3}`,
		tcgItem(6, "Kept", "Number", "1"))),
		map[string]int{ReasonMissingValue: 1, ReasonBadJSON: 2}, 4, 6)
	// New members are passed over: the feed adds some now and then.
	f(set("products", `{"new": {"a": [1, {}]}, "results": [{"productId": 5, "name": "Kept", "extendedData": `+
		`[{"name": "Number", "value": 25, "new": 1}], "new": null}]}`),
		map[string]int{}, 4, 6)
	// Both of two products with one id are passed on; identity decides between them.
	f(func(f files) { f["tcgplayer/3/2/products"] = reply(tcgItem(11, "Fox again", "Number", "9")) },
		map[string]int{}, 6, 6)
	f(func(f files) {
		f["tcgplayer/3/groups"] = reply(`{"groupId": "x", "name": "Bad"}`, `{"groupId": 3, "name": ""}`,
			tcgGroupRow(1, "Garden", "", ""), tcgGroupRow(2, "Fresh", "", ""))
	}, map[string]int{ReasonBadRef: 1, ReasonMissingValue: 1}, 6, 6)
}

func TestTCGCSVErrors(t *testing.T) {
	f := func(change func(files), words ...string) {
		t.Helper()
		tree := tcgTreeFixture()
		change(tree)
		for _, path := range []string{tree.dir(t), save(t, "t.tar", tree.tar(t))} {
			_, _, err := readAll(KindTCGCSV, path, Options{})
			wantError(t, err, words...)
		}
	}

	f(func(f files) { delete(f, "tcgplayer/68/groups") }, "category 68", "groups")
	f(func(f files) { f["tcgplayer/3/groups"] = "{" }, "tcgplayer/3/groups")
	f(func(f files) { f["tcgplayer/3/groups"] = reply() }, "tcgplayer/3/groups", "no usable group")
	f(func(f files) { f["tcgplayer/3/groups"] = `{"success": false, "results": []}` }, "failed")
	each := func(f files, kind, text string) {
		for name := range f {
			if strings.HasSuffix(name, kind) {
				f[name] = text
			}
		}
	}

	f(func(f files) { each(f, "/products", "{") }, "none of its 3 groups")
	f(func(f files) { each(f, "/prices", "{") }, "none of 3 prices files")
	f(func(f files) {
		for name := range f {
			if strings.HasSuffix(name, "/prices") {
				delete(f, name)
			}
		}
	}, "no prices file")
}

// An unreadable file is no matter for quarantine: its content is unknown.
func TestUnreadableFilesAreErrors(t *testing.T) {
	in := &memFolder{tree: tcgTreeFixture(), broken: "tcgplayer/3/1/prices"}
	for _, name := range slices.Sorted(maps.Keys(in.tree)) {
		in.list = append(in.list, file{name: name, mod: mtime})
	}

	src, err := newTCGCSV(in, "mem", Options{DefaultCondition: "ungraded", limits: defaultLimits})
	if err != nil {
		t.Fatal(err)
	}

	rec := &recorder{}
	wantError(t, src.Prices(t.Context(), rec), "tcgplayer/3/1/prices", "input/output error")
	rec.wantReasons(t, map[string]int{})
}

func TestTCGCSVPricesDoNotNeedTheCatalog(t *testing.T) {
	tree := tcgTreeFixture()
	delete(tree, "tcgplayer/68/groups")
	tree["tcgplayer/3/1/products"] = "{"
	src, err := Open(KindTCGCSV, tree.dir(t), Options{})
	if err != nil {
		t.Fatal(err)
	}

	rec := &recorder{}
	if err := src.Prices(t.Context(), rec); err != nil || len(rec.prices) != 6 {
		t.Errorf("%d prices, %v", len(rec.prices), err)
	}

	rec.wantReasons(t, map[string]int{})
}

func TestTCGCSVDays(t *testing.T) {
	row := func(cents string) string { return pricesFile(tcgRow(1, "Normal", cents)) }
	days := files{
		"x/2026-04-19/3/1/prices": row("19"), "x/2026-04-20/3/1/prices": row("20"),
		"x/2026-04-20/68/2/prices": row("21"), "x/2026-04-18/3/1/prices": row("18"),
	}
	got := func(rec *recorder) (out []string) {
		for _, p := range rec.prices {
			out = append(out, fmt.Sprintf("%s %s %d", p.Day, p.Ref, p.Cents/100))
		}
		return out
	}

	want := []string{"2026-04-18 3/1 18", "2026-04-19 3/1 19", "2026-04-20 3/1 20", "2026-04-20 68/1 21"}
	equal(t, "directory", got(mustRead(t, KindTCGCSV, days.dir(t), Options{})), want)
	equal(t, "tar", got(mustRead(t, KindTCGCSV, save(t, "d.tar", days.tar(t)), Options{})), want)
	equal(t, "7z", got(mustRead(t, KindTCGCSV, save(t, "d.7z", days.sevenZip(t)), Options{})), want)

	// An archive packed in another order is still read in the order of the days.
	var headers []tarHeader
	for _, name := range []string{
		"x/2026-04-20/3/1/prices", "x/2026-04-18/3/1/prices", "x/2026-04-19/3/1/prices",
		"x/2026-04-20/68/2/prices",
	} {
		h := tarHeader{text: days[name]}
		h.Name = name
		headers = append(headers, h)
	}

	equal(t, "shuffled tar", got(mustRead(t, KindTCGCSV, save(t, "d.tar.gz", gzipOf(t, packTar(t, headers...))),
		Options{})), want)

	// A directory of archives, one a day, with one day twice, a live feed of a later day and a
	// history file.
	one := func(d, cents string) files { return files{d + "/3/1/prices": row(cents)} }
	root := files{
		"b.tar.zst":   string(zstdOf(t, one("2026-04-18", "18").tar(t))),
		"a.7z":        string(one("2026-04-19", "19").sevenZip(t)),
		"c.tar":       string(one("2026-04-19", "77").tar(t)),
		"history.csv": "productId,subTypeName,2026-04-01\n1,Normal,5\n", "README.txt": "hello",
	}

	maps.Copy(root, tcgTreeFixture())
	rec, src, err := readAll(KindTCGCSV, root.dir(t), Options{})
	if err != nil {
		t.Fatal(err)
	}

	list := got(rec)
	equal(t, "archives", list[:2], []string{"2026-04-18 3/1 18", "2026-04-19 3/1 19"})
	if rec.wantReasons(t, map[string]int{ReasonDuplicateDay: 1}); !src.Feed().HasCatalog || len(rec.cards) != 6 ||
		len(list) != 8 || len(rec.series) != 1 {
		t.Errorf("%d cards, %d prices, %d series", len(rec.cards), len(list), len(rec.series))
	}

	if rec.prices[0].At.File != "b.tar.zst/2026-04-18/3/1/prices" ||
		!slices.IsSortedFunc(rec.prices, func(a, b Price) int { return int(a.Day - b.Day) }) {
		t.Errorf("first %+v", rec.prices[0])
	}

	// Of two live trees the newer one has the catalog.
	two := files{}
	for name, text := range tcgTreeFixture() {
		two["new/"+name] = text
		two["old/"+name] = strings.NewReplacer(`"Fox"`, `"Old Fox"`, "2026-08-22T20:05",
			"2026-08-21T20:05").Replace(text)
	}

	rec = mustRead(t, KindTCGCSV, two.dir(t), Options{})
	if len(rec.cards) != 6 || rec.cards[0].Name != "Fox" || len(rec.prices) != 12 ||
		rec.prices[0].Day != day(t, "2026-08-21") {
		t.Errorf("%+v", rec.cards[0])
	}

	bad := files{"a.tar.zst": "junk", "2026-04-19/3/1/prices": row("1")}.dir(t)
	_, err = Open(KindTCGCSV, bad, Options{})
	wantError(t, err, `"a.tar.zst"`)
	if _, err := os.Stat(filepath.Join(bad, "3")); err == nil {
		t.Error("something was written")
	}
}

func TestCutNumber(t *testing.T) {
	f := func(name, number, wantName, wantNumber string) {
		t.Helper()
		if gotName, gotNumber := cutNumber(name, number); gotName != wantName || gotNumber != wantNumber {
			t.Errorf("cutNumber(%q, %q) = %q, %q, want %q, %q", name, number, gotName, gotNumber, wantName, wantNumber)
		}
	}

	// The shapes of the real names.
	f("Fox VSTAR - 014/172", "014/172", "Fox VSTAR", "014/172")
	f("Fox - 17/146 (Cosmos Holo)", "017/146", "Fox - 17/146 (Cosmos Holo)", "017/146")
	f("Fox - 59/108 (Prerelease) [Staff]", "59/108", "Fox - 59/108 (Prerelease) [Staff]", "59/108")
	f("Fox - 40a/70", "040a/070", "Fox", "040a/070")
	f("Fox - OP01-001 (Alternate Art)", "OP01-001", "Fox - OP01-001 (Alternate Art)", "OP01-001")
	f("Fox - PRB02-007(Alternate Art)", "PRB02-007", "Fox - PRB02-007(Alternate Art)", "PRB02-007")
	f("Fox -  P-088 (Reprint)", "P-088", "Fox -  P-088 (Reprint)", "P-088")
	f("Fox - OP14-34", "OP14-034", "Fox", "OP14-034")
	f("Fox - SVP 9", "SVP009", "Fox", "SVP009")
	f("Fox - 6 [Winner]", "006/009", "Fox - 6 [Winner]", "006/009")
	f("Fox - 11/116 (Promo)", "11", "Fox - 11/116 (Promo)", "11")
	f("Fox & Hare Legend - 99/102 & 100/102 (Oversized)", "099/102 & 100/102",
		"Fox & Hare Legend - 99/102 & 100/102 (Oversized)", "099/102 & 100/102")
	f("Fox -160/091", "160/091", "Fox", "160/091")
	f("Fox - 11/116", "11", "Fox", "11/116")
	f("Fox- 43/147", "043/147", "Fox", "043/147")
	f("Fox- 43/147 (Stamped)", "043/147", "Fox- 43/147 (Stamped)", "043/147")
	f("Fox V 100/159", "100/159", "Fox V 100/159", "100/159")
	f("Fox 128/202 (Base Set)", "128/202", "Fox 128/202 (Base Set)", "128/202")
	f("Fox - 049/68 (#26 Stamped)", "049/068", "Fox - 049/68 (#26 Stamped)", "049/068")
	// Text that is no number of the card stays.
	f("Fox - 2008 (Someone)", "72/100", "Fox - 2008 (Someone)", "72/100")
	f("Fox - Dark Deck", "137/193", "Fox - Dark Deck", "137/193")
	f("Fox - Armarouge 50", "198/198", "Fox - Armarouge 50", "198/198")
	f("Fox (20 - Holo)", "20/30", "Fox (20 - Holo)", "20/30")
	f("Fox (Set - Event)", "OP10-111", "Fox (Set - Event)", "OP10-111")
	f("Fox2 2", "2/10", "Fox2 2", "2/10")
	f("Ho-Oh", "7", "Ho-Oh", "7")
	f(" - 4/102", "4/102", " - 4/102", "4/102")
	f("4/102", "4/102", "4/102", "4/102")
	f("Fox -", "-", "Fox -", "-")
	f("Fox", "", "Fox", "")
}

func TestPackageOf(t *testing.T) {
	f := func(name, kind, unit, edition string) {
		t.Helper()
		gotKind, gotUnit := packageOf(name)
		if gotKind != kind || gotUnit != unit || editionOf(name) != edition {
			t.Errorf("%q: %q %q %q", name, gotKind, gotUnit, editionOf(name))
		}
	}

	f("Garden Booster Box", "booster_box", "booster_pack", "standard")
	f("Garden - Booster Box (Wave 1 - Blue)", "booster_box", "booster_pack", "standard")
	f("Base Set (Shadowless) [1st Edition] Booster Box", "booster_box", "booster_pack", "standard")
	f("Black and White Booster Box", "booster_box", "booster_pack", "standard")
	f("Garden Booster Box Case", "booster_case", "booster_box", "standard")
	f("Garden Booster Bundle (Retail)", "booster_bundle", "booster_pack", "standard")
	f("Garden Elite Trainer Box [Fox]", "elite_trainer_box", "booster_pack", "standard")
	f("Elite Trainer Box [Fox]", "elite_trainer_box", "booster_pack", "standard")
	f("Garden Pokemon Center Elite Trainer Box (Exclusive) [Fox]", "elite_trainer_box", "booster_pack",
		"pokemon_center")
	f("Garden Elite Trainer Box (Pokemon Center)", "elite_trainer_box", "booster_pack", "pokemon_center")
	f("Garden Elite Trainer Box [Pokémon Center]", "elite_trainer_box", "booster_pack", "pokemon_center")
	f("Garden Pokemon Center Elite Trainer Box Plus", "elite_trainer_box", "booster_pack", "pokemon_center")

	for _, name := range []string{
		"Code Card - Garden Elite Trainer Box", "Garden Elite Trainer Box Case",
		"Garden Elite Trainer Box (Exclusive) Case [Fox]",
		"Garden Elite Trainer Box [Set of 2]", "Garden Elite Trainer Boxes [Set of 2]", "Garden Half Booster Box",
		"Garden Enhanced Booster Box",
		"Garden Sleeved Booster Case", "Garden Booster Bundle Display", "Garden Booster Bundle Case",
		"Garden Booster Bundle Bulk Case",
		"Costco Garden 2-Pack Trainer Box and Booster Bundle", "Fox Battle Deck & 2 Booster Bundle",
		"Trick or Trade BOOster Bundle (120 ct)",
		"Garden Elite Trainer Box & 6 Bonus Cards", "Garden Elite Trainer Boxing Gloves", "Garden Booster Boxes",
		"Rebooster Box", "Garden Booster Pack",
	} {
		f(name, "", "", "standard")
	}
}

func TestSetAlias(t *testing.T) {
	for name, want := range map[string]string{
		"SV09: Garden": "Garden", "SWSH: Crown: Gallery": "Crown: Gallery", "XY - Evolutions": "Evolutions",
		"ME06: Delta":               "Delta",
		"Hidden Fates: Shiny Vault": "", "Base Set": "", "EX Trainer Kit 1: Fox & Hare": "", "SM Base Set": "",
		"SV: ": "", "SWSHX: A": "", "SV123: A": "", "sv09: A": "",
	} {
		if got := setAlias(name); got != want {
			t.Errorf("setAlias(%q) = %q, want %q", name, got, want)
		}
	}
}
