package valuation_test

import (
	"testing"

	"ninepocket/valuation"
)

// FuzzLine values any line. The result has one of the statuses, a priced line has a card and a price
// above zero, and the copies are within the bounds of a list.
func FuzzLine(f *testing.F) {
	for _, seed := range []string{
		"2x Charizard ex MEW199 NM", "3 pcs Rattata 19/165 25 zł", "Lugia | Neo Genesis 2 EUR | NM | x4 | German",
		`1,"Rattata","Rattata","151",19,MEW,Normal,Near Mint,English,,,`, "qty: 9999 OP05-119", "(((((",
		"Pikachu ♀★δ & Zekrom-GX \xff\xfe", "1;2;Rattata;;;151;0.10;1;NM;;X;;;;3;1",
	} {
		f.Add(seed, "", "")
	}
	f.Add("Charzard", "Base Set", "4/102")

	s := smallShop(f)
	f.Fuzz(func(t *testing.T, line, set, number string) {
		r := s.Value(valuation.Item{Line: line, Set: set, Number: number})
		if r.Status == valuation.Priced && (r.Card < 0 || r.Lane < 0 || r.Total != r.Cents*r.Quantity) {
			t.Errorf("%+v", r)
		}
		if r.Quantity < 1 || r.Quantity > 9999 || len(r.Candidates) > valuation.MaxCandidates {
			t.Errorf("%+v", r)
		}
	})
}

// FuzzExport reads any file. There are as many items as rows, up to the limit. An error names the
// unreadable row, or says that there is no header.
func FuzzExport(f *testing.F) {
	f.Add("Name,Quantity,Printing,Set,Card Number\nRattata,3,Normal,151,19\n")
	f.Add("\ufeffsep=;\nidProduct;English Name;Exp. Name;Amount\n1;\"Ratt\"\"ata\";151;2\n\n;;;\n")
	f.Add("Quantity\tName\tSet\tCard Number\tPrinting\n\"")
	f.Add("Quantity,Name,Name,Set,Card Number,Printing\n")

	s := smallShop(f)
	const limit = 5
	f.Fuzz(func(t *testing.T, text string) {
		items, rows, err := valuation.ReadExport(text, limit)
		if err != nil {
			if len(items) > 0 || rows > 0 || err.Error() == "" {
				t.Errorf("%d items of %d rows with %v", len(items), rows, err)
			}
			return
		}
		if len(items) != min(rows, limit) {
			t.Errorf("%d items of %d rows", len(items), rows)
		}
		for _, item := range items {
			s.Value(item)
		}
	})
}
