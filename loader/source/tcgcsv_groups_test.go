package source

import (
	"strings"
	"testing"
)

// TestEqualRowsAreOne: a file that has each row twice is as good as one that has each once.
func TestEqualRowsAreOne(t *testing.T) {
	row := tcgRow(1, "Normal", "1.00")
	other := tcgRow(2, "Foil", "2.00")
	rec := mustRead(t, KindTCGCSV,
		files{"2026-04-20/3/7/prices": pricesFile(row, other, row, other)}.dir(t), Options{})

	rec.wantReasons(t, map[string]int{})
	if len(rec.prices) != 2 || len(rec.missing) > 0 {
		t.Errorf("%d prices, missing %v", len(rec.prices), rec.missing)
	}
}

// TestPricesOfTheWrongType: a file mostly without numeric prices gives no price and is missing; one bad
// price among good ones is refused alone.
func TestPricesOfTheWrongType(t *testing.T) {
	good := tcgRow(1, "Normal", "1.00")
	text := func(id int) string { return tcgRow(id, "Normal", `"1.00"`) }
	rec := mustRead(t, KindTCGCSV, files{
		"2026-04-20/3/7/prices": pricesFile(good, text(2), text(3)),
		"2026-04-20/3/8/prices": pricesFile(tcgRow(4, "Normal", "1.00"), tcgRow(5, "Normal", "1.00"), text(6)),
	}.dir(t), Options{})

	if len(rec.prices) != 2 || rec.prices[0].Ref != "3/4" {
		t.Errorf("the prices are %v", rec.prices)
	}
	if len(rec.missing) != 1 || rec.missing[0].SetRef != "3/7" || rec.missing[0].Reason != ReasonBadPrice {
		t.Errorf("missing is %v", rec.missing)
	}
}

// TestHugeName: a name of megabytes is refused before its words are read, which took seconds.
func TestHugeName(t *testing.T) {
	tree := tcgTreeFixture()
	tree["tcgplayer/3/1/products"] = reply(
		tcgItem(11, strings.Repeat("Fox (Holo) - 4/102 ", 5<<20/19), "Number", "4/102", "Rarity", "Rare"),
		tcgItem(12, "Hare", "Number", "5/102", "Rarity", "Rare"))

	rec := mustRead(t, KindTCGCSV, tree.dir(t), Options{})
	if rec.reasons()[ReasonTooLong] != 1 {
		t.Errorf("refused: %v", rec.lines())
	}
	for _, q := range rec.refused {
		if len(q.Value) > 200 {
			t.Errorf("%d bytes are quoted", len(q.Value))
		}
	}
}
