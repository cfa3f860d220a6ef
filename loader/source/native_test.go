package source

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ninepocket/snapshot"
)

const exampleDir = "../../docs/examples/native"

// example is the example directory as a tree that tests may change.
func example(tb testing.TB) files {
	tb.Helper()
	tree := files{}
	err := filepath.WalkDir(exampleDir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(exampleDir, path)
		tree[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}

	return tree
}

func TestNativeExample(t *testing.T) {
	want, src, err := readAll(KindNative, exampleDir, Options{})
	if err != nil {
		t.Fatal(err)
	}

	want.wantReasons(t, map[string]int{})
	if f := src.Feed(); f != (Feed{
		Namespace: "example-shop", Attribution: "Prices by Example Shop",
		Partner: "example-partner", HasCatalog: true,
	}) {
		t.Errorf("feed %+v", f)
	}

	if len(want.sets) != 3 || len(want.cards) != 8 || len(want.sealed) != 2 || len(want.series) != 7 ||
		len(want.prices) != 32 {
		t.Fatalf("%d sets, %d cards, %d sealed, %d series, %d prices", len(want.sets), len(want.cards),
			len(want.sealed), len(want.series), len(want.prices))
	}

	equal(t, "set", want.sets[:1], []Set{{
		At: Location{File: "sets.jsonl", Line: 1}, Ref: "meadow", Game: "pokemon", Name: "Meadow Days",
		Series:  "Seasons",
		Release: day(t, "2026-03-27"), Aliases: []string{"MD", "Meadow"},
	}})
	equal(t, "card", want.cards[1:2], []Card{{
		At: Location{File: "cards.jsonl", Line: 2}, Ref: "meadow-25", Game: "pokemon", SetRef: "meadow",
		Name: "Thunder Hare ex", Number: "25/80", Rarity: "Double Rare", Printing: "standard",
		Identifiers: []Identifier{{"example-partner", "700125"}, {"tcgplayer", "900125"}},
		UpdatedAt:   ms(t, "2026-08-01T09:30:00Z"),
	}})

	equal(t, "bare card", want.cards[7:],
		[]Card{{
			At: Location{File: "cards.jsonl", Line: 8}, Ref: "loose-1", Game: "one-piece", Name: "Paper Crown",
			UpdatedAt: snapshot.NoTime,
		}})

	equal(t, "sealed", want.sealed[:1], []Sealed{{
		At: Location{File: "sealed.jsonl", Line: 1}, Ref: "meadow-etb", Game: "pokemon",
		Name: "Meadow Days Elite Trainer Box (Pokémon Center)", PackageType: "elite_trainer_box", Units: 11,
		UnitKind: "booster_pack", Edition: "pokemon_center", Identifiers: []Identifier{{"example-partner", "700900"}},
		UpdatedAt: ms(t, "2026-08-01T09:30:00Z"),
	}})

	file := "prices/2026-08-20.csv"
	d := day(t, "2026-08-20")
	collected := ms(t, "2026-08-20T20:00:00Z")
	equal(t, "prices", []Price{want.prices[0], want.prices[5], want.prices[7], want.prices[8]}, []Price{
		{
			At: Location{file, 2}, Ref: "meadow-1", Variant: "normal", Condition: "near_mint", Day: d, Cents: 25,
			SourceAsOf: ms(t, "2026-08-20T14:00:00Z"), CollectedAt: collected, Licensed: true,
		},
		{
			At: Location{file, 7}, Ref: "promo-7", Variant: "normal", Condition: "ungraded", Day: d, Cents: 310,
			SourceAsOf: snapshot.NoTime, CollectedAt: collected, Licensed: true,
		},
		{
			At: Location{file, 9}, Ref: "tides-001-p1", Variant: "foil", Condition: "near_mint", Day: d, Cents: 9100,
			SourceAsOf: ms(t, "2026-08-20T14:00:00Z"), CollectedAt: collected, Licensed: false,
		},
		{
			At: Location{file, 10}, Ref: "meadow-etb", Day: d, Cents: 7999, SourceAsOf: ms(t, "2026-08-20T14:00:00Z"),
			CollectedAt: collected, Licensed: true,
		},
	})

	if p := want.prices[13]; p.Cents != snapshot.NoCents || p.Ref != "meadow-25-alt" {
		t.Errorf("a tracked lane without a price: %+v", p)
	}

	// The operator's settings go before the directory's.
	src, err = Open(KindNative, exampleDir, Options{Attribution: "A", Partner: "p"})
	if err != nil || src.Feed().Attribution != "A" || src.Feed().Partner != "p" {
		t.Errorf("feed %+v, %v", src.Feed(), err)
	}

	// The same from archives, wrapped in a folder or not, with compressed files, and with the days
	// in any order.
	tree := example(t)
	tree["prices/2026-08-21.csv.zst"] = string(zstdOf(t, []byte(tree["prices/2026-08-21.csv"])))
	tree["history/2026-08-first-weeks.csv.gz"] = string(gzipOf(t, []byte(tree["history/2026-08-first-weeks.csv"])))
	delete(tree, "prices/2026-08-21.csv")
	delete(tree, "history/2026-08-first-weeks.csv")
	wrapped := files{}
	for name, text := range tree {
		wrapped["shop/"+name] = text
	}

	var backwards []tarHeader
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(tree))) {
		h := tarHeader{text: tree[name]}
		h.Name = name
		backwards = append(backwards, h)
	}

	for _, path := range []string{
		tree.dir(t), save(t, "n.tar.zst", zstdOf(t, wrapped.tar(t))), save(t, "n.tar.gz", gzipOf(t, tree.tar(t))),
		save(t, "n.tar", packTar(t, backwards...)), save(t, "n.7z", wrapped.sevenZip(t)),
	} {
		got := mustRead(t, KindNative, path, Options{})
		if fmt.Sprint(withoutFiles(got)) != fmt.Sprint(withoutFiles(want)) {
			t.Errorf("%s differs:\n%v\n%v", path, withoutFiles(got), withoutFiles(want))
		}
	}
}

// withoutFiles is everything that was read but the names of the files.
func withoutFiles(r *recorder) []any {
	var out []any
	for _, v := range r.sets {
		v.At.File = ""
		out = append(out, v)
	}

	for _, v := range r.cards {
		v.At.File = ""
		out = append(out, v)
	}

	for _, v := range r.sealed {
		v.At.File = ""
		out = append(out, v)
	}

	for _, v := range r.series {
		v.At.File = ""
		out = append(out, v)
	}

	for _, v := range r.prices {
		v.At.File = ""
		out = append(out, v)
	}

	return out
}

func TestNativeIncrementHasNoCatalog(t *testing.T) {
	tree := files{"source.toml": `namespace = "shop"`, "prices/2026-08-22.csv": example(t)["prices/2026-08-22.csv"]}
	rec, src, err := readAll(KindNative, tree.dir(t), Options{})
	if err != nil {
		t.Fatal(err)
	}

	if f := src.Feed(); f.HasCatalog || f.Attribution != "shop" || f.Partner != "" || len(rec.prices) != 13 {
		t.Errorf("%+v, %d prices", f, len(rec.prices))
	}
}

func TestNativeSourceToml(t *testing.T) {
	f := func(text string, words ...string) {
		t.Helper()
		_, err := Open(KindNative, files{"source.toml": text}.dir(t), Options{})
		wantError(t, err, words...)
	}

	f("", "namespace", `""`)
	f(`namespace = "Shop"`, `"Shop"`)
	f(`namespace = "a b"`, `"a b"`)
	f(`namespace = "`+strings.Repeat("a", 101)+`"`, "namespace")
	f("namespace = \"shop\"\npartner_namespace = \"No\"", "partner_namespace")
	f("namespace = \"shop\"\nattribution = \"a\\u0007\"", "attribution")
	f("namespace = \"shop\"\n\ncolour = \"red\"\n", "unknown key", `colour = "red"`, "3|")
	f("namespace = \"shop\"\nnamespace = \"b\"\n", "source.toml")
	f("namespace = [", "source.toml", "1|")
	f("namespace = 3", "source.toml")
}

func TestNativeCatalogLines(t *testing.T) {
	f := func(file, line, reason, ref string) {
		t.Helper()
		good := map[string]string{
			"sets.jsonl":  `{"ref":"ok","game":"pokemon","name":"Ok"}`,
			"cards.jsonl": `{"ref":"ok","game":"pokemon","name":"Ok"}`,
			"sealed.jsonl": `{"ref":"ok","game":"pokemon","name":"Ok","package_type":"booster_box",` +
				`"units_per_package":36,"unit_kind":"booster_pack","edition":"standard"}`,
		}[file]

		tree := files{"source.toml": `namespace = "x"`, file: good + "\n\n" + line + "\r\n" + good + "\n"}
		rec, _, err := readAll(KindNative, tree.dir(t), Options{})
		if err != nil {
			t.Fatal(err)
		}

		records := len(rec.sets) + len(rec.cards) + len(rec.sealed)
		if reason == "" {
			if records != 3 || len(rec.refused) != 0 {
				t.Errorf("%s: %d records, refused %v", clip(line), records, rec.lines())
			}
			return
		}

		if records != 2 || len(rec.refused) != 1 {
			t.Errorf("%s: %d records, refused %v", clip(line), records, rec.lines())
			return
		}

		if q := rec.refused[0]; q.Reason != reason || q.Ref != ref || q.At != (Location{file, 3}) || q.Value == "" {
			t.Errorf("%s: %+v, want %s", clip(line), q, reason)
		}
	}

	long := func(n int) string { return strings.Repeat("é", n) }
	set := func(extra, reason, ref string) {
		t.Helper()
		f("sets.jsonl", `{"ref":"a","game":"pokemon","name":"A"`+extra+`}`, reason, ref)
	}
	set(``, "", "")
	set(`,"series":"S","release_date":"2026-03-27","aliases":["B"]`, "", "")
	set(`,"series":null,"release_date":null,"aliases":null`, "", "")
	set(`,"release_date":""`, "", "")
	set(`,"printed_total":102`, "", "")
	set(`,"printed_total":null`, "", "")
	for _, bad := range []string{"0", "-1", "10000", "1.5", "1e2", `"102"`, "true", "[]"} {
		set(`,"printed_total":`+bad, ReasonBadTotal, "a")
	}

	set(`,"name":"B"`, ReasonDuplicateKey, "")
	set(`,"Name":"B"`, ReasonUnknownMember, "")
	set(`,"colour":"red"`, ReasonUnknownMember, "")
	set(`,"series":3`, ReasonBadJSON, "")
	set(`,"aliases":"B"`, ReasonBadJSON, "")
	set(`,"aliases":[""]`, ReasonMissingValue, "a")
	set(`,"aliases":["`+long(201)+`"]`, ReasonTooLong, "a")
	set(`,"aliases":[`+strings.TrimSuffix(strings.Repeat(`"b",`, 101), ",")+`]`, ReasonTooLong, "a")
	set(`,"release_date":"2026-02-30"`, ReasonBadDate, "a")
	set(`,"release_date":"27.3.2026"`, ReasonBadDate, "a")
	set(`,"release_date":"3000-01-01"`, ReasonBadDate, "a")
	set(`,"series":"`+long(201)+`"`, ReasonTooLong, "a")

	card := func(line, reason, ref string) {
		t.Helper()
		f("cards.jsonl", line, reason, ref)
	}
	with := func(extra, reason string) {
		t.Helper()
		card(`{"ref":"a","game":"one-piece","name":"A"`+extra+`}`, reason, "a")
	}
	card(`{"game":"pokemon","name":"A"}`, ReasonMissingValue, "")
	card(`{"ref":null,"game":"pokemon","name":"A"}`, ReasonMissingValue, "")
	card(`{"ref":"a","name":"A"}`, ReasonMissingValue, "a")
	card(`{"ref":"a","game":"pokemon"}`, ReasonMissingValue, "a")
	card(`{"ref":"a","game":"pokemon","name":" "}`, ReasonMissingValue, "a")
	card(`{"ref":"a","game":"one_piece","name":"A"}`, ReasonBadGame, "a")
	card(`{"ref":" a","game":"pokemon","name":"A"}`, ReasonBadRef, " a")
	card(`{"ref":"a\u0000","game":"pokemon","name":"A"}`, ReasonBadRef, "a\x00")
	card(`{"ref":"`+long(201)+`","game":"pokemon","name":"A"}`, ReasonBadRef, clip(long(201)))
	card(`{"ref":"`+long(200)+`","game":"pokemon","name":"`+long(200)+`"}`, "", "")
	card(`{"ref":"a","game":"pokemon","name":"`+long(201)+`"}`, ReasonTooLong, "a")
	card(`{"ref":"a","game":"pokemon","name":"A\n"}`, "", "")
	card(`{"ref":"a","game":"pokemon","name":"A`+"\xff"+`"}`, ReasonBadText, "")
	card(`{"ref":"a"`, ReasonBadJSON, "")
	card(`{"ref":"a","game":"pokemon","name":"A"} x`, ReasonBadJSON, "")
	card(`["a"]`, ReasonBadJSON, "")
	card(`null`, ReasonBadJSON, "")
	card(`{"ref":5,"game":"pokemon","name":"A"}`, ReasonBadJSON, "")
	card(strings.Repeat("x", maxLine+1), ReasonTooLong, "")
	with(`,"set":"s","number":"4/102","rarity":"Rare","printing":"P","image":"a.webp",`+
		`"identifiers":[{"namespace":"n","value":"v"}],"updated_at":"2026-08-01T09:30:00.25Z"`, "")
	with(`,"set":null,"number":null,"identifiers":null,"updated_at":null`, "")
	with(`,"set":" s"`, ReasonBadRef)
	with(`,"number":"`+long(101)+`"`, ReasonTooLong)
	with(`,"rarity":"`+long(65)+`"`, ReasonTooLong)
	with(`,"printing":"`+long(101)+`"`, ReasonTooLong)

	for _, image := range []string{
		"a/b.webp", "../a.webp", `a\\b`, ".", "..", ".hidden", "C:a", "a\\u0000b",
		strings.Repeat("a", 256),
	} {
		rec := mustRead(t, KindNative, files{
			"source.toml": `namespace = "x"`,
			"cards.jsonl": `{"ref":"a","game":"one-piece","name":"A","image":"` + image + `"}`,
		}.dir(t), Options{})
		if len(rec.cards) != 1 || rec.cards[0].Ref != "a" || rec.cards[0].Image != "" { // the card stays
			t.Errorf("image %s: cards %+v", clip(image), rec.cards)
		}

		if q := rec.refused; len(q) != 1 || q[0].Reason != ReasonBadImage || q[0].Ref != "a" ||
			q[0].At != (Location{"cards.jsonl", 1}) || q[0].Value == "" {
			t.Errorf("image %s: refused %v", clip(image), rec.lines())
		}
	}

	with(`,"identifiers":[{"namespace":"n"}]`, ReasonBadIdentifier)
	with(`,"identifiers":[{"namespace":"","value":"v"}]`, ReasonBadIdentifier)
	with(`,"identifiers":[{"namespace":"`+long(101)+`","value":"v"}]`, ReasonBadIdentifier)
	with(`,"identifiers":[{"namespace":"n","value":"`+long(201)+`"}]`, ReasonBadIdentifier)
	with(`,"identifiers":[`+strings.TrimSuffix(strings.Repeat(`{"namespace":"n","value":"v"},`, 101), ",")+`]`,
		ReasonTooLong)
	f("cards.jsonl", `{"ref":"a","game":"pokemon","name":"A","identifiers":[{"namespace":"n","value":"v","x":1}]}`,
		ReasonUnknownMember, "")

	for _, at := range []string{
		"2026-08-01", "2026-08-01T09:30:00+00:00", "2026-08-01T09:30:00",
		"2026-08-32T09:30:00Z", "1969-12-31T23:59:59Z", "now",
	} {
		with(`,"updated_at":"`+at+`"`, ReasonBadTime)
	}

	sealed := func(replace, by, reason string) {
		t.Helper()
		line := `{"ref":"a","game":"one-piece","name":"A","package_type":"booster_case","units_per_package":6,` +
			`"unit_kind":"booster_box","edition":"standard"}`
		if !strings.Contains(line, replace) {
			t.Fatalf("no %s in the line", replace)
		}
		f("sealed.jsonl", strings.Replace(line, replace, by, 1), reason, "a")
	}

	sealed("6", "1000000", "")
	sealed("booster_case", "tin", ReasonBadPackage)
	sealed(`,"package_type":"booster_case"`, "", ReasonBadPackage)
	sealed("booster_box", "card", ReasonBadPackage)
	for _, units := range []string{"0", "-1", "6.0", "6e0", `"6"`, "null", "1000001", "9999999999999999999"} {
		sealed("6", units, ReasonBadUnits)
	}

	sealed(`"units_per_package":6,`, "", ReasonBadUnits)
	sealed("standard", "first", ReasonBadEdition)
	sealed("standard", "pokemon_center", ReasonEditionOfGame)
}

func TestNativePriceRows(t *testing.T) {
	head := "ref,variant,condition,cents,source_as_of,collected_at,licensed\n"
	good := "ok,normal,near_mint,5,,2026-08-22T20:00:00Z,\n"
	read := func(text string, o Options) *recorder {
		t.Helper()
		return mustRead(t, KindNative, files{"source.toml": `namespace = "x"`, "prices/2026-08-22.csv": text}.dir(t), o)
	}
	f := func(row, reason, ref string) {
		t.Helper()
		rec := read(head+row+"\n"+good, Options{})
		if len(rec.refused) != 1 || len(rec.prices) != 1 {
			t.Errorf("%s: %d prices, refused %v", clip(row), len(rec.prices), rec.lines())
			return
		}

		if q := rec.refused[0]; q.Reason != reason || q.Ref != ref || q.At != (Location{"prices/2026-08-22.csv", 2}) {
			t.Errorf("%s: %+v", clip(row), q)
		}
	}

	f("a,normal,near_mint,5,,2026-08-22T20:00:00Z", ReasonBadRow, "")
	f("a,normal,near_mint,5,,2026-08-22T20:00:00Z,,", ReasonBadRow, "")
	f(`a,"normal,near_mint,5,,2026-08-22T20:00:00Z,`, ReasonBadRow, "")
	f(strings.Repeat("a", maxLine+1), ReasonTooLong, "")
	f(",normal,near_mint,5,,2026-08-22T20:00:00Z,", ReasonBadRef, "")
	f("a\x01,normal,near_mint,5,,2026-08-22T20:00:00Z,", ReasonBadRef, "")
	f("a,Normal,near_mint,5,,2026-08-22T20:00:00Z,", ReasonBadVariant, "a")
	f("a,normal,Near Mint,5,,2026-08-22T20:00:00Z,", ReasonBadCondition, "a")
	f("a,,factory_sealed,5,,2026-08-22T20:00:00Z,", ReasonBadCondition, "a")
	f("a,normal,,5,,2026-08-22T20:00:00Z,", ReasonBadCondition, "a")
	f("a,,near_mint,5,,2026-08-22T20:00:00Z,", ReasonBadCondition, "a")
	for _, cents := range []string{"-", "-5", "5.0", "5e1", "+5", " 5", "9007199254740992", "five"} {
		f("a,normal,near_mint,"+cents+",,2026-08-22T20:00:00Z,", ReasonBadPrice, "a")
	}

	f("a,normal,near_mint,5,,,", ReasonMissingValue, "a")
	for _, at := range []string{
		"2026-08-22", "2026-08-22T20:00:00", "2026-08-22T20:00:00+00:00",
		"1969-01-01T00:00:00Z",
	} {
		f("a,normal,near_mint,5,,"+at+",", ReasonBadTime, "a")
		f("a,normal,near_mint,5,"+at+",2026-08-22T20:00:00Z,", ReasonBadTime, "a")
	}

	f("a,normal,near_mint,5,,2026-08-22T20:00:00Z,yes", ReasonBadLicence, "a")

	// Columns come in any order, and text may be quoted.
	rec := read("\xef\xbb\xbflicensed,cents,ref,condition,variant,collected_at,source_as_of\r\nfalse,"+
		"9007199254740991,\"a,b\",damaged,foil,2026-08-22T20:00:00.5Z,2026-08-22T20:00:00Z", Options{})
	rec.wantReasons(t, map[string]int{})
	equal(t, "row", rec.prices, []Price{{
		At: Location{"prices/2026-08-22.csv", 2}, Ref: "a,b", Variant: "foil", Condition: "damaged",
		Day: day(t, "2026-08-22"), Cents: snapshot.MaxCents,
		SourceAsOf: ms(t, "2026-08-22T20:00:00Z"), CollectedAt: ms(t, "2026-08-22T20:00:00Z") + 500,
	}})

	// The operator's assertions fill empty cells.
	asserted := time.Date(2026, 8, 22, 6, 0, 0, 0, time.UTC)
	for _, o := range []Options{{AsOf: asserted}, {AsOf: asserted.AddDate(0, 0, 1)}} {
		rec = read(head+good+"b,normal,near_mint,5,2026-08-22T10:00:00Z,2026-08-22T20:00:00Z,\n", o)
		want := o.AsOf.UnixMilli()
		if o.AsOf.Day() == 23 {
			want = snapshot.NoTime
		}
		if rec.prices[0].SourceAsOf != want || rec.prices[1].SourceAsOf != ms(t, "2026-08-22T10:00:00Z") {
			t.Errorf("as of %v and %v", rec.prices[0].SourceAsOf, rec.prices[1].SourceAsOf)
		}
	}
}

func TestNativeLaneTwiceRefusesAllItsRows(t *testing.T) {
	text := "ref,variant,condition,cents,source_as_of,collected_at,licensed\n"
	row := func(lane, cents string) string { return lane + "," + cents + ",,2026-08-22T20:00:00Z,\n" }
	text += row("a,normal,near_mint", "1") + row("a,normal,damaged", "2") + row("b,,",
		"3") + row("a,normal,near_mint", "4") + row("b,,", "5") + row("c,foil,ungraded", "bad") +
		row("c,foil,ungraded", "6") + row("a,foil,near_mint", "7")
	rec := mustRead(t, KindNative, files{"source.toml": `namespace = "x"`, "prices/2026-08-22.csv": text}.dir(t),
		Options{})
	rec.wantReasons(t, map[string]int{ReasonDuplicateLane: 5, ReasonBadPrice: 1})
	if len(rec.prices) != 2 || rec.prices[0].Cents != 2 || rec.prices[1].Cents != 7 {
		t.Errorf("%+v", rec.prices)
	}

	// Rows whose hashes are equal and whose lanes are not are both kept.
	p := priceReader{file: "f", possibleDuplicates: nil, to: &recorder{}, variants: newVariantReader(false)}
	var cols nativeColumns
	for i := range cols {
		cols[i] = i
	}

	for _, lane := range []string{"a,normal,near_mint", "a,normal,damaged"} {
		fields, _ := splitRow(nil, []byte(row(lane, "1")))
		p.possibleDuplicates = append(p.possibleDuplicates, laneHash(&cols, fields))
	}

	slices.Sort(p.possibleDuplicates)
	if err := p.read(context.Background(),
		strings.NewReader("ref,variant,condition,cents,source_as_of,collected_at,licensed\n"+row("a,normal,near_mint",
			"1")+row("a,normal,damaged", "2"))); err != nil {
		t.Fatal(err)
	}

	if got := p.to.(*recorder); len(got.prices) != 2 || len(got.refused) != 0 {
		t.Errorf("%d prices, refused %v", len(got.prices), got.lines())
	}
}

func TestNativeFilesThatAreErrors(t *testing.T) {
	f := func(name, text string, words ...string) {
		t.Helper()
		_, _, err := readAll(KindNative, files{"source.toml": `namespace = "x"`, name: text}.dir(t), Options{})
		wantError(t, err, append(words, name)...)
	}

	name := "prices/2026-08-22.csv"
	f(name, "", "empty")
	f(name, "ref,variant,condition,cents,source_as_of,collected_at\n", "header", "licensed")
	f(name, "ref,variant,condition,cents,source_as_of,collected_at,license\n", `"licensed"`)
	f(name, "ref,ref,condition,cents,source_as_of,collected_at,licensed\n", `"variant"`)
	f(name, "a,normal,near_mint,5,,2026-08-22T20:00:00Z,\n", "header")
	whole := zstdOf(t, []byte(example(t)[name]))
	f(name+".zst", string(whole[:len(whole)-8]), "unexpected EOF")
	f(name+".zst", "junk")
	f("history/a.csv", "ref,variant,2026-08-22,2026-08-22\n", "twice")

	rec := mustRead(t, KindNative,
		files{
			"source.toml": `namespace = "x"`, name: example(t)[name], name + ".zst": string(whole),
			"prices/today.csv": "", "notes.txt": "", "prices/old/2026-08-01.csv": "junk",
		}.dir(t), Options{})
	if rec.wantReasons(t, map[string]int{ReasonDuplicateDay: 1, ReasonBadDate: 1}); len(rec.prices) != 13 {
		t.Errorf("%d prices", len(rec.prices))
	}
}
