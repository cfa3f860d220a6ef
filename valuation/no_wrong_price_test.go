package valuation_test

import (
	"fmt"
	"strings"
	"testing"

	"ninepocket/valuation"
)

// TestNothingIsPassedOver gives lines with one word more than a card has: none is priced, unless the
// price is for that word.
func TestNothingIsPassedOver(t *testing.T) {
	s := realShop(t)
	const umbreon = "Umbreon VMAX Evolving Skies 215/203"
	const lugia = "Lugia Neo Genesis 9/111"
	const sir = "1x Charizard ex (MEW 199) | 151 | NM"

	for line, want := range map[string]string{
		// The lines without that word.
		umbreon: "priced holofoil", sir: "priced holofoil", lugia + " 1st edition": "priced 1st_edition_holofoil",

		// Cells behind the set.
		sir + " | PSA 10": "", sir + " | BGS 9.5": "", sir + " | Japanisch": "", sir + " | Signed | Altered": "",
		"1x Charizard ex | 151 | NM | 199/165 | 006/165": "", sir + " | LP": "", sir + " | EX": "",
		sir + " | x3": "", "Charizard ex (MEW 199) | 151 | x3": "priced holofoil",
		"2x Charizard ex (MEW 199) | 151 | NM | x3": "",
		sir + " | $97": "priced holofoil",

		// Words of no card.
		umbreon + " psa10": "", umbreon + " FR": "", umbreon + " cgc10": "", umbreon + " staff": "",
		umbreon + " 2020": "",
		umbreon + " 2021": "priced holofoil", umbreon + " promo": "", umbreon + " error": "", umbreon + " jumbo": "",
		umbreon + " stamped": "", umbreon + " case": "", "Umbreon VMAX staff Evolving Skies 215/203": "",
		umbreon + " gold": "", umbreon + " full art": "",

		// Prices.
		"Umbreon VMAX Evolving Skies 215$": "", "Umbreon VMAX Evolving Skies $215": "",
		"Umbreon VMAX Evolving Skies 95$": "", "Umbreon VMAX Evolving Skies 95 €": "",
		"Umbreon VMAX Evolving Skies £95": "", "Umbreon VMAX Evolving Skies @95": "",
		"Umbreon VMAX Evolving Skies for 95": "", "Charizard Base Set 2$": "", "Hongo OP09-011 $5": "same",
		umbreon + " $1,200.50": "priced holofoil",

		// Finishes.
		"1x Lugia (N1 9) | Neo Genesis | NM | Holo | First Edition": "priced 1st_edition_holofoil",
		lugia + " holo 1st edition":                                 "priced 1st_edition_holofoil",
		lugia + " 1st edition holo":                                 "priced 1st_edition_holofoil",
		lugia + " 1st edition unlimited":                            "",
		"Rattata 151 019/165 holo reverse holo":                     "",
		"Rattata 151 019/165 no rev":                                "", "Rattata 151 019/165 no holo": "",

		// Copies and conditions.
		"0x " + umbreon: "", "2x 3x " + umbreon: "", umbreon + " x2 x3": "", "x12000 " + umbreon: "",
		umbreon + " NM LP": "", umbreon + " x2": "priced holofoil",

		// Words of a set that are another card's name, or of a name with two readings.
		"Azumarill EX Delta Species": "", "Orangguru Base Set 113/149": "", "Mr.1 The Azure Sea's Seven OP14-090": "",
		"Suicune 30/30 XY Trainer Kit: Pikachu Libre & Suicune": "", "Mew Base Set 10/102": "",
		"Mr.1 Kingdoms of Intrigue OP04-073": "", "Reuniclus WoTC Promo": "", "Gin Pillars of Strength": "",
		"Mewtwo Base Set 10/102": "priced holofoil",

		// Codes and totals of another card, years, versions and rarities that only nearly match.
		"1x Torterra (AGS 10) | Unleashed | NM": "", "1x Charizard ex (OP05 199) | 151 | NM": "",
		"Charizard SWSH050/072": "", "1999 " + umbreon: "", "Charizard 1999": "", "Iono FA": "",
		"1x Umbreon VMAX (V.1) | Evolving Skies | 215/203 | NM": "",
		"1x Umbreon VMAX (V.9) | Evolving Skies | 215/203":      "",
		"1x Umbreon VMAX (V.3) | Evolving Skies | 215/203":      "priced holofoil",
	} {
		r := s.Value(valuation.Item{Line: line})
		got := ""
		if r.Status == valuation.Priced {
			got = "priced " + s.View.Catalog.Variants.At(int(s.View.Catalog.Lanes.Variant[r.Lane]))
		}
		if want == "same" {
			plain := s.Value(valuation.Item{Line: strings.TrimSuffix(line, " $5")})
			if r.Status != plain.Status || r.Cents != plain.Cents {
				t.Errorf("%s is %+v, without its price %+v", line, r, plain)
			}
			continue
		}
		if got != want {
			t.Errorf("%s is %q of %s, want %q (%s)", line, got, s.describe(r.Card), want, r.Remark)
		}
		if r.Status != valuation.Priced && r.Remark == "" {
			t.Errorf("%s is %s without a note", line, valuation.StatusNames[r.Status])
		}
	}
}

// TestEveryday gives lines as lists, shops and apps write them. Each is priced at once, as a quantity of one
// card in one variant, or has no price for the given reason.
func TestEveryday(t *testing.T) {
	s := realShop(t)
	const rattata = "Rattata 151 019/165"
	const normal = "019/165 normal"
	const reverse = "019/165 reverse_holofoil"
	const row = "2,Rattata,Rattata,SV: Scarlet & Violet 151,019/165,"

	for line, want := range map[string]string{
		// Lists and their copies.
		"- 3x " + rattata: "3 " + normal, "• 3x " + rattata: "3 " + normal, "1. " + rattata: "1 " + normal,
		"12) 3x " + rattata: "3 " + normal, "3 x " + rattata: "3 " + normal, "3 × " + rattata: "3 " + normal,
		rattata + " × 3": "3 " + normal, rattata + " x 3": "3 " + normal, "[3x] " + rattata: "3 " + normal,
		rattata + " (3x)": "3 " + normal, "3. 2x " + rattata: "2 " + normal, "2x " + rattata + " x 3": "",
		"0 x " + rattata: "", "mega charizard x 13": "",

		// Conditions.
		rattata + " mint": "1 " + normal, rattata + " excellent condition": "1 " + normal, rattata + " NM poor": "",
		rattata + " gem mint": "", rattata + " graded mint": "",

		// Sets: by code next to a number, after a series, with their own code, and under the code of the parent set.
		"Pikachu ex SV08 238/191": "1 238/191 holofoil", "Charizard ex SV3 125": "1 125/197 holofoil",
		"Charizard GX SV49": "1 SV49/SV94 holofoil", "Eevee SV8 74": "", "Pikachu ex SV03 238/191": "",
		"1x Pikachu ex | Scarlet & Violet: Surging Sparks | 238/191":        "1 238/191 holofoil",
		"1x Pikachu ex | Scarlet & Violet—Surging Sparks (SSP) | 238/191":   "1 238/191 holofoil",
		"1x Pikachu ex | Sword & Shield: Surging Sparks | 238/191":          "",
		"1x Pikachu ex | Surging Sparks (EVS) | 238/191":                    "",
		"1x Enel (100) | OP-05 Awakening of the New Era | OP05-100":         "1 OP05-100 foil",
		"4x Charizard GX (HIF SV49) | Hidden Fates: Shiny Vault | NM":       "4 SV49/SV94 holofoil",
		"4x Charizard GX (EVS SV49) | Hidden Fates: Shiny Vault | NM":       "",
		"Base Set - Charizard #004/102 - Pokemon TCG Near Mint":             "1 004/102 holofoil",
		"Base Set - Charizard #004/102 - Pokemon TCG Near Mint black error": "",

		// Rows of graded copies, and conditions with a finish.
		"Main,Pokemon,151,Rattata,019/165,Common,Normal,PSA 10,,0,1,,0,false,2026-05-01,": "",
		row + ",Normal,Near Mint,English":                                                 "2 " + normal,
		row + ",,Near Mint Reverse Holofoil,English":                                      "2 " + reverse,
		row + ",Reverse Holofoil,Near Mint Reverse Holofoil,English":                      "2 " + reverse,
		row + ",Normal,Near Mint Reverse Holofoil,English":                                "",
	} {
		r := s.Value(valuation.Item{Line: line})
		got := ""
		if c := s.View.Catalog; r.Status == valuation.Priced {
			got = fmt.Sprint(r.Quantity, " ", c.Cards.Number.At(r.Card), " ",
				c.Variants.At(int(c.Lanes.Variant[r.Lane])))
		}
		if got != want {
			t.Errorf("%s is %q of %s, want %q (%s)", line, got, s.describe(r.Card), want, r.Remark)
		}
	}
}

// TestVersionsBesideANameSettle follows the question of a version literally: the name goes before it.
func TestVersionsBesideANameSettle(t *testing.T) {
	s := realShop(t)
	line := valuation.Item{Line: "1x Monkey.D.Luffy (OP05-119) (V.2) | Awakening of the New Era | NM | English"}
	first := s.Value(line)
	if first.Status != valuation.Ambiguous || first.Needed.Text() != "the whole name and the number" {
		t.Fatalf("%s is %+v", line.Line, first)
	}
	for _, card := range first.Candidates {
		again := line
		again.Name = s.View.Catalog.Cards.Name.At(int(card))
		again.Number = s.View.Catalog.Cards.Number.At(int(card))
		if second := s.Value(again); second.Card != int(card) {
			t.Errorf("%+v is %s: %s", again, s.describe(second.Card), second.Remark)
		}
	}
}

// TestFieldsContradictTheLine gives lines and fields that contradict each other.
func TestFieldsContradictTheLine(t *testing.T) {
	s := smallShop(t)
	type item = valuation.Item

	for _, test := range []struct {
		item         item
		want, remark string
	}{
		{
			item{Name: "Lugia 1st edition", Set: "Neo Genesis", Variant: "Holo"}, "priced card_lugia 80000", "",
		},
		{
			item{Line: "3x Rattata", Quantity: 2},
			"priced card_rattata 10 20",
			"quantity 2 was given; the line says 3",
		},
		{
			item{ID: "card_sir", Game: "one-piece"}, "unmatched", `the card of this id is not of the game "one-piece"`,
		},
		{item{ID: "tcgplayer:42382", Game: "pokemon"}, "priced card_base 43000", ""},
		{
			item{Name: "Rattata", Line: "Rattata | 151 | NM | Signed"},
			"unpriced card_rattata 10-30", "",
		},
	} {
		r := s.Value(test.item)
		if got := s.summary(&r); got != test.want || test.remark != "" && r.Remark != test.remark {
			t.Errorf("%+v is %s (%s), want %s (%s)", test.item, got, r.Remark, test.want, test.remark)
		}
	}
}
