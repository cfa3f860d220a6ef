package loader

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// TestTooOldPricesAreCounted checks that prices of days before the snapshot's history are reported.
// It covers both kinds of input, and any order of the days; the first day of the history is not among
// them.
func TestTooOldPricesAreCounted(t *testing.T) {
	const oldest = today - snapshot.HistoryDays + 1
	at := func(p source.Price, file string, line int) source.Price {
		p.At = source.Location{File: file, Line: line}
		return p
	}
	f := func(what string, want *TooOld, prices []source.Price, series ...source.Series) *Result {
		t.Helper()
		in := newFake("shop").set("s", "Base").card("1", "s", "Abra", "1").card("2", "s", "Mew", "2").price(prices...)
		in.series = series
		r := one(t, Options{}, in)
		got := r.Report.Prices[0].TooOld
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}

		return r
	}

	now := priceRow("1", "normal", today, 100)
	edge := at(priceRow("1", "normal", oldest, 90), "b.csv", 2)
	last := at(priceRow("1", "normal", oldest-1, 80), "a.csv", 7)
	f("all are kept", nil, []source.Price{edge, now})
	blank := last
	blank.Cents = snapshot.NoCents
	f("a row without a price", nil, []source.Price{blank, now})

	want := &TooOld{Prices: 1, Before: oldest.String(), Day: (oldest - 1).String(), Ref: "1", File: "a.csv", Line: 7}
	for what, rows := range map[string][]source.Price{
		"the old one first": {last, edge, now},
		"the old one last":  {now, edge, last},
	} {
		r := f(what, want, rows)
		if v := lane(t, r.Catalog, "shop", "1", "normal near_mint"); len(v.History) != 2 || v.History[0].Day != oldest {
			t.Errorf("%s: the history is %+v", what, v.History)
		}
	}

	f("a history file", &TooOld{
		Prices: 3, Before: oldest.String(), Day: "1970-01-10", Ref: "2", File: "h.csv",
		Line: 3,
	}, []source.Price{now}, source.Series{
		At: source.Location{File: "h.csv", Line: 2}, Ref: "1", Variant: "normal", Condition: "near_mint", Last: today,
		Points: []snapshot.Point{{Day: oldest - 300, Cents: 5}, {Day: oldest - 1, Cents: 5}, {Day: oldest, Cents: 6}},
	}, source.Series{
		At: source.Location{File: "h.csv", Line: 3}, Ref: "2", Variant: "normal", Condition: "near_mint", Last: today,
		Points: []snapshot.Point{{Day: 9, Cents: 5}, {Day: today, Cents: 6}},
	})

	f("prices of what no catalog has",
		nil, []source.Price{at(priceRow("nobody", "normal", oldest-1, 80), "a.csv", 7), now})
}

// TestSharedIdentifiers: two items of a source with one identifier both stay, and are counted. A
// source's product id stands for one item alone.
func TestSharedIdentifiers(t *testing.T) {
	build := func(kind, namespace string, ids ...[]source.Identifier) *Result {
		in := newFake("shop").set("s", "Base")
		in.feed.Partner = "partner"
		in.feed.ProductRefs = kind == source.KindTCGCSV
		if kind == source.KindTCGCSV {
			in.feed.Partner = "tcgplayer"
		}

		for i, of := range ids {
			ref := string(rune('a' + i))
			in.card(ref, "s", "Card "+ref, ref)
			in.cards[i].Identifiers = of
			in.cards[i].At = source.Location{File: "cards.jsonl", Line: i + 1}
		}

		in.feed.Namespace = namespace
		in.price(priceRow("a", "normal", today, 100))
		return one(t, Options{}, in)
	}

	is := func(namespace, value string) source.Identifier {
		return source.Identifier{Namespace: namespace, Value: value}
	}
	f := func(what string, r *Result, cards int, reason, line string) {
		t.Helper()
		if n := r.Catalog.Cards.ID.Len(); n != cards {
			t.Errorf("%s: %d cards, want %d", what, n, cards)
		}

		switch want := strings.Count(line, "\n"); {
		case reason == "" && len(r.QuarantineCounts) != 0, reason != "" &&
			(len(r.QuarantineCounts) != 1 || r.QuarantineCounts[reason] != want):
			t.Errorf("%s: quarantined %v, want %s", what, r.QuarantineCounts, reason)
		case !bytes.Equal(r.Quarantine, []byte(line)):
			t.Errorf("%s: quarantined\n%s, want\n%s", what, r.Quarantine, line)
		}
	}

	one := []source.Identifier{is("tcgplayer", "42346")}
	f("identifiers of their own",
		build(source.KindNative, "shop", one,
			[]source.Identifier{is("tcgplayer", "42347"), is("other", "42346")}), 2, "", "")
	f("one identifier twice on one card",
		build(source.KindNative, "shop", []source.Identifier{is("tcgplayer", "1"), is("tcgplayer", "1")}), 1, "", "")
	thrice := build(source.KindNative, "shop", one, one, one)
	f("one on three cards", thrice, 3, "", "")
	if s := thrice.Report.Sources[0]; s.IdentifiersShared != 2 || s.SharedExample != "tcgplayer 42346 of b" {
		t.Errorf("%d identifiers are shared, such as %q, want 2", s.IdentifiersShared, s.SharedExample)
	}

	partner := []source.Identifier{is("partner", "8")}
	shared := build(source.KindNative, "shop", partner, partner, partner)
	f("a partner's", shared, 3, "", "")
	if n := shared.Report.Sources[0].PartnersShared; n != 2 {
		t.Errorf("%d items share a partner id, want 2", n)
	}

	f("the source's own product id",
		build(source.KindNative, "shop", []source.Identifier{is("shop", "7")}, []source.Identifier{is("shop", "7")}), 1,
		source.ReasonProductOnTwoCards, `{"reason":"product_on_two_cards","file":"cards.jsonl","line":2,`+
			`"ref":"b","value":"7"}`+"\n")
	f("TCGCSV's", build(source.KindTCGCSV, "tcgcsv", one, one), 1, source.ReasonProductOnTwoCards,
		`{"reason":"product_on_two_cards","file":"cards.jsonl","line":2,"ref":"b","value":"42346"}`+"\n")
}

// TestDayCounts counts random rows of days in any order, and holds the counts against the days one by one.
func TestDayCounts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		var counts dayCounts
		var want TooOld
		limit := snapshot.Day(random.IntN(400))
		oldest := limit
		for n := range random.IntN(60) {
			at := source.Location{File: "a.csv", Line: n}
			ref := fmt.Sprint(n)
			gaps := random.IntN(3) // none, some, many
			var row []snapshot.Point
			day := snapshot.Day(random.IntN(500) - 20)
			for range random.IntN(40) {
				row = append(row, snapshot.Point{Day: day})
				day += 1 + snapshot.Day(random.IntN(10)*gaps/9*random.IntN(1+gaps*2))
			}
			// Such a day has no room in the table.
			if random.IntN(9) == 0 {
				row = append(row, snapshot.Point{Day: max(day, maxCountedDay)})
			}

			counts.observe(row, &at, ref)
			for _, point := range row {
				if point.Day >= limit {
					continue
				}
				want.Prices++
				if point.Day < oldest {
					oldest = point.Day
					want.Line = n
					want.Ref = ref
				}
			}
		}

		got := counts.before(limit)
		if want.Prices == 0 {
			if got != nil {
				t.Fatalf("%+v, want none", got)
			}
			continue
		}
		if got == nil || got.Prices != want.Prices || got.Line != want.Line || got.Ref != want.Ref ||
			got.Day != oldest.String() {
			t.Fatalf("%+v, want %+v of %s", got, want, oldest)
		}
	}
}
