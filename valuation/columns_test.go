package valuation_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ninepocket/valuation"
)

// TestColumnsByTheirWords reads files whose headers have no layout: custom files, and files of apps that
// change their columns.
func TestColumnsByTheirWords(t *testing.T) {
	s := smallShop(t)
	const (
		moxfield = "Count,Tradelist Count,Name,Edition,Condition,Language,Foil,Tags,Last Modified," +
			"Collector Number,Alter,Proxy,Purchase Price\n"
		manabox = "Name,Set code,Set name,Collector number,Foil,Rarity,Quantity,ManaBox ID,Scryfall ID," +
			"Purchase price,Misprint,Altered,Condition,Language,Purchase price currency\n"
		seller = "TCGplayer Id,Product Line,Set Name,Product Name,Title,Number,Rarity,Condition,TCG Market Price," +
			"TCG Direct Low,TCG Low Price With Shipping,TCG Low Price,Total Quantity,Add to Quantity," +
			"TCG Marketplace Price,Photo URL\n"
		archidekt = "Quantity,Name,Finish,Condition,Date Added,Language,Purchase Price,Tags,Edition Name," +
			"Edition Code,Multiverse Id,Scryfall ID,Collector Number\n"
		cardmarket = "idProduct;GroupCount;Price;idLanguage;Condition;isFoil;Name;Expansion;Number\n"
		rattata    = "Card Name,Set,Number,Quantity"
	)

	for _, test := range []struct{ text, want string }{
		{rattata + "\nRattata,151,019/165,2\n", "priced card_rattata 10 20"},
		{
			"Qty;Card;Card #;Expansion;Variant;Condition\n2;Rattata;19;151;Reverse Holo;NM\n",
			"priced card_rattata 30 60 condition",
		},
		{"Name,#,Set,Edition\nLugia,9/111,Neo Genesis,1st Edition\n", "priced card_lugia 80000"},
		{
			"Name,#,Set,Edition\nCharizard,4/102,Base Set (Shadowless),Unlimited\n",
			"priced card_shadowless 200000",
		},
		{"Name,Number,Set,Price,Date Added\nRattata,19,151,$1.20,May\n", "priced card_rattata 10"},
		{"Set Code,No.,How many\nBS,4/102,2\n", `"How many"`},
		{"Set Code,Card No.,Owned\nBS,4/102,2\n", "ambiguous"},
		{"Name,Card ID,Qty\nRattata,sv3pt5-19,1\n", "priced card_rattata 10"},
		{"Name,Set Code,Edition,Number\nLugia,Neo Genesis,1st Edition,9\n", "priced card_lugia 80000"},

		// Fewer columns of TCGplayer's file, and the ids of products and conditions.
		{"Quantity,Name,Set,Product ID\n2,Charizard,Base Set,42382\n", "priced card_base 43000 86000"},
		{"Quantity,Name,Set,Product ID\n2,Rattata,151,42382\n", "unpriced card_base 43000-43000"},
		{"TCGplayer Id,Quantity\n42382,2\n", "priced card_base 43000 86000"},
		{"Product ID,Quantity\n42382,2\n", "names no card"},
		{
			seller + "42382,Pokemon,SV: Scarlet & Violet 151,Rattata,,019/165,," +
				"Near Mint Reverse Holofoil,1,1,1,1,3,0,1,\n",
			"priced card_rattata 30 90 condition",
		},
		{seller + "42382,Pokemon,Nowhere,Rattata,signed,019/165,,Near Mint,1,1,1,1,3,0,1,\n", "unmatched"},
		{seller + "1,Pokemon Japan,151,Rattata,,019/165,,Near Mint,1,1,1,1,3,0,1,\n", "unmatched"},

		{
			moxfield + "2,0,Rattata,151,NM,English,foil,trade,May,19,False,False,0.10\n",
			"priced card_rattata 30 60 condition variant",
		},
		{
			moxfield + "2,0,Rattata,151,NM,English,,signed,May,19,False,False,0.10\n",
			"unpriced card_rattata 10-30",
		},
		{moxfield + "2,0,Rattata,151,NM,English,,,May,19,True,False,0.10\n", "unpriced card_rattata 10-30"},
		{moxfield + "2,0,Rattata,151,NM,German,,,May,19,False,False,0.10\n", "unpriced card_rattata 10-30"},
		{
			manabox + "Rattata,MEW,151,19,normal,,1,5,a-b,1.00,false,false,near_mint,en,USD\n",
			"priced card_rattata 10 condition",
		},
		{
			manabox + "Rattata,MEW,151,19,foil,,1,5,a-b,1.00,true,false,near_mint,en,USD\n",
			"unpriced card_rattata 10-30",
		},
		{
			archidekt + "2,Rattata,Reverse Holo,NM,May,EN,0.10,,151,MEW,,,19\n",
			"priced card_rattata 30 60 condition",
		},
		{cardmarket + "42382;2;0.10;1;NM;0;Rattata;151;19\n", "priced card_rattata 10 20 condition"},
		{cardmarket + "42382;2;0.10;3;NM;0;Rattata;151;19\n", "unpriced card_rattata 10-30"},

		// All faults of a header.
		{
			"Name,Card Name,Wing,Shiny thing\na,b,c,d\n",
			`the header has a column more than once: "Card Name"; ` +
				`the header has columns that are not known: "Wing", "Shiny thing"`,
		},
		{
			"Set,Quantity,Colour\na,2,c\n",
			`it needs a name, a TCGplayer id, or set and number; the header has columns`,
		},
		{rattata + ",Qty\nRattata,151,19,2,3\n", `more than once: "Qty"`},
		{"Edition,Set,Name,Set Name\na,b,c,d\n", `more than once: "Set Name"`},
	} {
		items, _, err := valuation.ReadExport(test.text, 10)
		got := fmt.Sprint(err)
		if err == nil {
			r := s.Value(items[0])
			got = s.summary(&r)
		}

		open := strings.HasPrefix(got, test.want+" ask") || err != nil && strings.Contains(got, test.want)
		if got != test.want && !open {
			t.Errorf("%q is %s, want %s", test.text, got, test.want)
		}
	}

	for _, text := range []string{
		"Charizard, Base Set\nRattata\n", "Card\nRattata\n", "Price,Date,Name\n1,2,Rattata\n",
	} {
		if _, _, err := valuation.ReadExport(text, 10); !errors.Is(err, valuation.ErrHeader) {
			t.Errorf("%q is %v", text, err)
		}
	}
}

// headed are files whose headers are read by their words: the header, the cells of a card, and the number
// of priced rows in 100.
var headed = []struct {
	header string
	cells  func(s *shop, p valuation.Item, card int, variant string) []string
	priced int
}{
	{"Card Name,Set,Number,Quantity,Variant", func(_ *shop, p valuation.Item, _ int, variant string) []string {
		return []string{p.Name, p.Set, p.Number, "2", variant}
	}, 95},
	{"Qty,Product Name,Set Name,Card #,Finish,Price", func(_ *shop, p valuation.Item, _ int, variant string) []string {
		return []string{"2", p.Name, p.Set, p.Number, variant, "$1.00"}
	}, 95},
	{"Quantity,Name,Set,Product ID,Rarity", func(s *shop, p valuation.Item, card int, _ string) []string {
		return []string{"2", p.Name, p.Set, s.productOf(card), s.View.Catalog.Cards.Rarity.At(card)}
	}, 95},
	{
		"TCGplayer Id,Product Line,Set Name,Product Name,Title,Number,Rarity,Condition,Total Quantity,Add to Quantity",
		func(s *shop, p valuation.Item, card int, variant string) []string {
			condition := strings.TrimSpace("Near Mint " + strings.TrimPrefix(variant, "normal"))
			return []string{
				"77", p.Game, p.Set, p.Name, "", p.Number, s.View.Catalog.Cards.Rarity.At(card), condition, "2", "0",
			}
		}, 95,
	},
	{
		"Count,Tradelist Count,Name,Edition,Condition,Language,Foil,Tags,Last Modified,Collector Number,Proxy",
		func(s *shop, p valuation.Item, card int, variant string) []string {
			number, _, _ := strings.Cut(p.Number, "/")
			foil := ""
			if strings.Contains(variant, "foil") {
				foil = "foil"
			}
			return []string{"2", "0", p.Name, s.codeOf(card), "NM", "English", foil, "", "", number, "False"}
		}, 85,
	},
	{
		"Name,Set code,Set name,Collector number,Foil,Quantity,Scryfall ID,Purchase price,Misprint,Condition,Language",
		func(s *shop, p valuation.Item, card int, variant string) []string {
			foil := "normal"
			if strings.Contains(variant, "foil") {
				foil = "foil"
			}
			return []string{p.Name, s.codeOf(card), p.Set, p.Number, foil, "2", "a-b", "1.00", "false", "NM", "en"}
		}, 90,
	},
}

// TestOwnColumnsAreNeverWrong gives real cards in files with custom columns. Each priced row is the intended
// card, with a variant that the words may mean.
func TestOwnColumnsAreNeverWrong(t *testing.T) {
	s := realShop(t)
	c := s.View.Catalog
	for seed, file := range headed {
		r := rand.New(rand.NewPCG(uint64(seed), 4))
		const each = 2000
		lines := 0
		priced := 0
		for range each {
			card := s.random(r)
			variant := s.printing(r, card)
			if c.Cards.Display[card] < 0 || file.header[:1] == "T" && strings.Contains(variant, "1st") {
				continue
			}

			lines++
			row := file.cells(s, s.asPrinted(card), card, variant)
			items, _, err := valuation.ReadExport(file.header+"\n"+csvLine(row...)+"\n", 10)
			if err != nil {
				t.Fatal(err)
			}
			got := s.Value(items[0])
			if got.Card >= 0 && got.Card != card {
				t.Errorf("%s: %q is taken for %s", file.header, row, s.describe(got.Card))
			}
			if got.Status != valuation.Priced {
				continue
			}

			priced++
			used := strings.ReplaceAll(c.Variants.At(int(c.Lanes.Variant[got.Lane])), "_", " ")
			if slices.Contains(row, variant) && used != variant || got.Quantity != 2 {
				t.Errorf("%s: %q is %d of %s", file.header, row, got.Quantity, used)
			}
		}
		t.Logf("%s: %d of %d priced", file.header, priced, lines)
		if priced*100 < lines*file.priced {
			t.Errorf("%s: only %d of %d are priced", file.header, priced, lines)
		}
	}
}
