package source

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ninepocket/snapshot"
)

func readWideText(t *testing.T, layout wideLayout, text string) (*recorder, error) {
	t.Helper()
	rec := &recorder{}
	err := readWide(context.Background(), strings.NewReader(text), "h.csv", layout, rec)
	return rec, err
}

func tcgLayout() wideLayout { return (&tcgCSV{opts: Options{DefaultCondition: "ungraded"}}).layout() }

func nativeLayout() wideLayout {
	return wideLayout{key: "ref", variant: "variant", condition: "ungraded", codes: true, refOK: validRef}
}

func TestWideHistory(t *testing.T) {
	d1 := day(t, "2026-04-19")
	d2 := day(t, "2026-04-20")
	d3 := day(t, "2026-07-25")
	f := func(layout wideLayout, text string, want ...Series) {
		t.Helper()
		rec, err := readWideText(t, layout, text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}

		for i := range want {
			want[i].At.File = "h.csv"
			want[i].Last = d3
		}

		if diff := cmp.Diff(want, rec.series,
			cmp.Comparer(func(a,
				b []snapshot.Day,
			) bool {
				return fmt.Sprint(a) == fmt.Sprint(b)
			}), cmp.Comparer(func(a, b []snapshot.Point) bool { return fmt.Sprint(a) == fmt.Sprint(b) })); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}

		rec.wantReasons(t, map[string]int{})
	}

	days := "2026-04-19,2026-04-20,2026-07-25\n"
	f(tcgLayout(), "productId,subTypeName,"+days+
		"42346,1st Edition Holofoil,-,,5338\n42346,Holofoil,1,0,9007199254740991",
		Series{
			At: Location{Line: 2}, Ref: "42346", Variant: "1st_edition_holofoil", Condition: "ungraded",
			Points: []snapshot.Point{{Day: d3, Cents: 5338}}, Blank: []snapshot.Day{d1},
		},
		Series{
			At: Location{Line: 3}, Ref: "42346", Variant: "holofoil", Condition: "ungraded",
			Points: []snapshot.Point{{Day: d1, Cents: 1}, {Day: d2, Cents: 0}, {Day: d3, Cents: snapshot.MaxCents}},
		})

	// Sealed products have no subTypeName column; CRLF, a byte order mark and empty lines are
	// taken.
	f(tcgLayout(), "\xef\xbb\xbfproductId,"+strings.TrimSpace(days)+"\r\n\r\n129888,39901,40211,\r\n",
		Series{
			At: Location{Line: 3}, Ref: "129888",
			Points: []snapshot.Point{{Day: d1, Cents: 39901}, {Day: d2, Cents: 40211}},
		})

	// Days in any order come out ascending; references may be quoted.
	f(nativeLayout(), "ref,variant,condition,2026-07-25,2026-04-19,2026-04-20\n\"a,\"\"b\"\"\",normal,near_mint,3,"+
		"1,-\nbox,,,7,,\n",
		Series{
			At: Location{Line: 2}, Ref: `a,"b"`, Variant: "normal", Condition: "near_mint",
			Points: []snapshot.Point{{Day: d1, Cents: 1}, {Day: d3, Cents: 3}}, Blank: []snapshot.Day{d2},
		},
		Series{At: Location{Line: 3}, Ref: "box", Points: []snapshot.Point{{Day: d3, Cents: 7}}})

	// Without a condition column everything with a variant is ungraded.
	f(nativeLayout(), "ref,variant,"+days+"a,foil,1,,\nbox,,2,,\n",
		Series{
			At: Location{Line: 2}, Ref: "a", Variant: "foil", Condition: "ungraded",
			Points: []snapshot.Point{{Day: d1, Cents: 1}},
		},
		Series{At: Location{Line: 3}, Ref: "box", Points: []snapshot.Point{{Day: d1, Cents: 2}}})
}

func TestWideHeadersThatAreErrors(t *testing.T) {
	f := func(header string, words ...string) {
		t.Helper()
		_, err := readWideText(t, tcgLayout(), header)
		wantError(t, err, append(words, "h.csv")...)
	}

	f("", "empty")
	f("cardId,subTypeName,2026-04-19\n", `"productId"`)
	f("productId,subTypeName\n", "no days")
	f("productId,subTypeName,2026-04-19,2026-04-19\n", "2026-04-19 twice")
	f("productId,subTypeName,2026-04-31\n", `"2026-04-31"`, "column 3")
	f("productId,variant,2026-04-19\n", `"variant"`)
	f("productId,subTypeName,20260419\n", `"20260419"`)
	f("productId,subTypeName,1969-12-31\n", `"1969-12-31"`)
	f("productId,subTypeName,2026-4-19\n", `"2026-4-19"`)
	f(`productId,"subTypeName,2026-04-19`, "quotes")
	f("productId,subTypeName,"+strings.Repeat("2026-04-19,", maxLine/11+1), "line too long")
}

func TestWideRefusesCellsAndRowsOneByOne(t *testing.T) {
	head := "productId,subTypeName,2026-04-19,2026-04-20\n"
	f := func(layout wideLayout, text, reason string, line, rows, points int) {
		t.Helper()
		rec, err := readWideText(t, layout, text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}

		if len(rec.refused) != 1 || rec.refused[0].Reason != reason || rec.refused[0].At.Line != line {
			t.Errorf("%q: refused %v", clip(text), rec.lines())
		}

		got := 0
		for _, s := range rec.series {
			got += len(s.Points)
		}

		if len(rec.series) != rows || got != points {
			t.Errorf("%q: %d rows of %d points, want %d of %d", clip(text), len(rec.series), got, rows, points)
		}
	}

	for _, cell := range []string{
		"1.5", "-1", "+1", " 1", "1e3", "NaN", "--", "9007199254740992",
		"99999999999999999999", "0x1", "１",
	} {
		f(tcgLayout(), head+"1,Normal,"+cell+",7\n2,Normal,8,9\n", ReasonBadPrice, 2, 2, 3)
	}

	f(tcgLayout(), head+"1,Normal,7\n2,Normal,8,9\n", ReasonBadRow, 2, 1, 2)
	f(tcgLayout(), head+"1,Normal,7,8,9\n2,Normal,8,9\n", ReasonBadRow, 2, 1, 2)
	f(tcgLayout(), head+"1,\"Normal,7,8\n2,Normal,8,9\n", ReasonBadRow, 2, 1, 2)
	f(tcgLayout(), head+"1,Nor\"mal,7,8\n2,Normal,8,9\n", ReasonBadRow, 2, 1, 2)
	for _, ref := range []string{"", "x", "-1", "01", "1.0", " 1", "1234567890123456789", "3/1"} {
		f(tcgLayout(), head+ref+",Normal,7,8\n2,Normal,8,9\n", ReasonBadRef, 2, 1, 2)
	}

	f(tcgLayout(), head+"1,,7,8\n2,Normal,8,9\n", ReasonBadVariant, 2, 1, 2)
	f(tcgLayout(), head+"1,***,7,8\n2,Normal,8,9\n", ReasonBadVariant, 2, 1, 2)
	f(tcgLayout(), head+"1,"+strings.Repeat("x", 101)+",7,8\n2,Normal,8,9\n", ReasonBadVariant, 2, 1, 2)
	f(tcgLayout(), head+"1,Normal,7,8\n1,Normal,8,9\n", ReasonDuplicateLane, 3, 1, 2)
	f(tcgLayout(), head+strings.Repeat("9", maxLine+1)+"\n2,Normal,8,9\n", ReasonTooLong, 2, 1, 2)
	f(tcgLayout(), head+"2,Normal,8,9\n"+strings.Repeat("9", maxLine+1), ReasonTooLong, 3, 1, 2)
	native := "ref,variant,condition,2026-04-19,2026-04-20\n"
	f(nativeLayout(), native+"a,Normal,near_mint,1,2\n", ReasonBadVariant, 2, 0, 0)
	f(nativeLayout(), native+"a,normal,mint,1,2\n", ReasonBadCondition, 2, 0, 0)
	f(nativeLayout(), native+"a,normal,factory_sealed,1,2\n", ReasonBadCondition, 2, 0, 0)
	f(nativeLayout(), native+"a,normal,,1,2\n", ReasonBadCondition, 2, 0, 0)
	f(nativeLayout(), native+"a,,near_mint,1,2\n", ReasonBadCondition, 2, 0, 0)
	f(nativeLayout(), native+"a\tb,normal,near_mint,1,2\n", ReasonBadRef, 2, 0, 0)
	f(nativeLayout(), native+"a\xff,normal,near_mint,1,2\n", ReasonBadRef, 2, 0, 0)
	f(nativeLayout(), native+strings.Repeat("é", 201)+",normal,near_mint,1,2\n", ReasonBadRef, 2, 0, 0)
}

func TestWideFilesOfBothKinds(t *testing.T) {
	text := "productId,subTypeName,2026-04-19\n1,Reverse Holofoil,25\n"
	for name, data := range map[string][]byte{
		"h.csv": []byte(text), "h.csv.zst": zstdOf(t, []byte(text)),
		"h.csv.gz": gzipOf(t, []byte(text)),
	} {
		rec, src, err := readAll(KindTCGCSV, save(t, name, data), Options{DefaultCondition: "near_mint"})
		if err != nil {
			t.Fatal(err)
		}

		if f := src.Feed(); f.HasCatalog || f.Namespace != "tcgcsv" || f.Partner != "tcgplayer" || f.Attribution == "" {
			t.Errorf("feed %+v", f)
		}

		if len(rec.series) != 1 || rec.series[0].Variant != "reverse_holofoil" ||
			rec.series[0].Condition != "near_mint" {
			t.Errorf("%s: %+v", name, rec.series)
		}

		if p := rec.progress["history "+name]; p[0] != p[1] || p[1] != int64(len(data)) {
			t.Errorf("progress %v of %d bytes", p, len(data))
		}
	}

	rec := mustRead(t, KindPokemonTCG,
		save(t, "w.csv", []byte("cardId,subTypeName,2024-02-08\nbase1-4,1st Edition Holofoil,40000\n")), Options{})
	if len(rec.series) != 1 || rec.series[0].Ref != "base1-4" || rec.series[0].Variant != "1st_edition_holofoil" {
		t.Errorf("%+v", rec.series)
	}

	// A directory of history files is read by name.
	rec = mustRead(t, KindTCGCSV, files{"b.csv": strings.Replace(text, "1,R", "2,R", 1), "a.csv": text}.dir(t),
		Options{})
	if len(rec.series) != 2 || rec.series[0].At.File != "a.csv" || rec.series[1].Ref != "2" {
		t.Errorf("%+v", rec.series)
	}

	cut := zstdOf(t, []byte(text+strings.Repeat("2,Normal,1\n", 100)))
	_, _, err := readAll(KindTCGCSV, save(t, "h.csv.zst", cut[:len(cut)-20]), Options{})
	wantError(t, err, "truncated")
}

func TestVariantCode(t *testing.T) {
	for in, want := range map[string]string{
		"Normal": "normal", "Reverse Holofoil": "reverse_holofoil", "1st Edition Holofoil": "1st_edition_holofoil",
		"Unlimited Holofoil": "unlimited_holofoil", "Foil": "foil", " Cold  Foil! ": "cold_foil",
		"Poké Ball": "pok_ball", "***": "",
	} {
		if got := variantCode(in); got != want {
			t.Errorf("variantCode(%q) = %q, want %q", in, got, want)
		}
	}
}

// wideText is a wide file of the size of the real one.
func wideText(rows, days int) []byte {
	var b bytes.Buffer
	b.WriteString("productId,subTypeName")
	for d := range days {
		b.WriteString("," + snapshot.Day(20_000+d).String())
	}

	for r := range rows {
		fmt.Fprintf(&b, "\n%d,Reverse Holofoil", r+1)
		for d := range days {
			fmt.Fprintf(&b, ",%d", 100+(r*7+d)%900)
		}
	}

	return b.Bytes()
}

func BenchmarkReadWide(b *testing.B) {
	text := wideText(2000, 250)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()

	for b.Loop() {
		if err := readWide(context.Background(), bytes.NewReader(text), "h.csv", tcgLayout(), Discard{}); err != nil {
			b.Fatal(err)
		}
	}
}
