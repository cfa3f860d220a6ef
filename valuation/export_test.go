package valuation_test

import (
	"errors"
	"strings"
	"testing"

	"ninepocket/valuation"
)

// TestExports reads the files that apps write, changed as spreadsheets and editors change them.
func TestExports(t *testing.T) {
	s := smallShop(t)
	const (
		tcgplayer = "Quantity,Name,Simple Name,Set,Card Number,Set Code,Printing,Condition,Language,Rarity," +
			"Product ID,SKU"
		collectr = "Portfolio Name,Category,Set,Product Name,Card Number,Rarity,Variance,Grade,Card Condition," +
			"Average Cost Paid,Quantity,Market Price (As of 2026-05-01),Price Override,Watchlist,Date Added,Notes"
		dragon = "Folder Name,Quantity,Trade Quantity,Card Name,Set Code,Set Name,Card Number,Condition,Printing," +
			"Language,Price Bought,Date Bought,LOW,MID,MARKET"
		cardmarket = "idArticle;idProduct;English Name;Local Name;Exp.;Exp. Name;Price;Language;Condition;Foil?;" +
			"Signed?;Playset?;Altered?;Comments;Amount;onSale"
	)

	for _, test := range []struct {
		text string
		want []string
	}{
		{
			tcgplayer + "\r\n2,Charizard ex - 199/165,Charizard ex,SV: Scarlet & Violet 151,199/165,MEW,Holofoil," +
				"Near Mint,English,,,\r\n1,Rattata,Rattata,151,019/165,MEW,Reverse Holofoil,,English,,,\r\n",
			[]string{"priced card_sir 24950 49900 condition", "priced card_rattata 30"},
		},
		{
			tcgplayer + "\n1,Charizard,Charizard,Base Set,004/102,BS,,,German,,42382,\n",
			[]string{"unpriced card_base 43000-43000"},
		},
		{"\ufeff" + tcgplayer + "\n1,,,,,,,,,,42382,\n", []string{"priced card_base 43000"}},

		// Columns are identified by name, not by order.
		{"Name,Quantity,Printing,Set,Card Number\nRattata,3,Normal,151,19\n", []string{"priced card_rattata 10 30"}},
		{
			collectr + "\nMain,Pokemon,151,Rattata,19,,Normal,Ungraded,Near Mint,0,4,0.10,0,false,2026-05-01,\n" +
				"Main,Pokemon (Japan),151,Rattata,19,,Normal,Ungraded,,0,1,0.10,0,false,2026-05-01,\n" +
				"Main,Pokemon,151,Rattata,19,,Normal,PSA 10,,0,1,9.99,0,false,2026-05-01,\n" +
				"Main,Pokemon,151,Rattata,19,,Normal,Ungraded,,0,1,0.10,0,false,2026-05-01,signed\n",
			[]string{
				"priced card_rattata 10 40 condition", "unpriced card_rattata 10-30", "unpriced card_rattata 10-30",
				"unpriced card_rattata 10-30",
			},
		},
		{
			"\"sep=,\"\n" + dragon + "\nBinder,2,0,Rattata,MEW,151,019,NearMint,Normal,English,0.00,2026-04-06," +
				"1,2,3\n\n,,,\n",
			[]string{"priced card_rattata 10 20 condition"},
		},
		{
			cardmarket + "\n" + `"1";"2";"Rattata";"Rattfratz";"MEW";"151";"0.10";"1";"NM";"";"";"";"";"";"3";"1"`,
			[]string{"priced card_rattata 10 30 condition"},
		},
		{cardmarket + "\n" + `1;2;Rattata;;;151;0.10;1;NM;;X;;;;3;1`, []string{"unpriced card_rattata 10-30"}},
		{
			strings.ReplaceAll(tcgplayer, ",", "\t") + "\n1\tRattata\tRattata\t151\t19\n",
			[]string{"priced card_rattata 10"},
		},
		{tcgplayer, nil},
	} {
		items, rows, err := valuation.ReadExport(test.text, 10)
		if err != nil || rows != len(test.want) || len(items) != rows {
			t.Errorf("%q: %d items of %d rows, %v", test.text, len(items), rows, err)
			continue
		}
		for i, item := range items {
			r := s.Value(item)
			if got := s.summary(&r); got != test.want[i] {
				t.Errorf("row %d of %q is %s, want %s (%s)", i, test.text, got, test.want[i], r.Remark)
			}
		}
	}

	// Rows beyond the limit are only counted.
	items, rows, err := valuation.ReadExport(tcgplayer+strings.Repeat("\n1,Rattata", 25), 10)
	if len(items) != 10 || rows != 25 || err != nil {
		t.Errorf("%d items of %d rows, %v", len(items), rows, err)
	}

	for _, text := range []string{
		"", "\n", "sep=,\n", "Name\nRattata\n", "2x Rattata", `{"items":[]}`, "\"", "a;b;c\n1;2;3",
	} {
		if items, _, err := valuation.ReadExport(text, 10); !errors.Is(err, valuation.ErrHeader) {
			t.Errorf("%q has %d items, %v", text, len(items), err)
		}
	}
}
