package cardvocab_test

import (
	"testing"

	"ninepocket/cardvocab"
)

// TestEras holds that sets are of the eras that their days and names say.
func TestEras(t *testing.T) {
	for set, want := range map[[2]string]string{
		{"Jungle", "1999-06-16"}:                "90s Wizards of the Coast",
		{"Neo Genesis", "2000-12-16"}:           "Wizards of the Coast Neo",
		{"Skyridge", "2003-05-12"}:              "Wizards of the Coast e-Card",
		{"EX Ruby", "2003-07-01"}:               "EX",
		{"POP Series 6", ""}:                    "Diamond & Pearl",
		{"POP Series 5", "2007-03-01"}:          "EX",
		{"XY Promos", "2013-10-12"}:             "XY",
		{"Legendary", "2013-11-06"}:             "Black & White",
		{"SM - Team Up", "2019-01-31"}:          "Sun & Moon",
		{"ME: 30th Celebration", ""}:            "Mega Evolution",
		{"Metal", ""}:                           "",
		{"Jumbo Cards", "2015-04-01"}:           "",
		{"League & Championship", "2016-06-01"}: "",
		{"Undated", ""}:                         "",
	} {
		got := ""

		for i := range cardvocab.Eras {
			if cardvocab.Eras[i].Has(set[0], set[1]) {
				if got != "" {
					got += " "
				}
				got += cardvocab.Eras[i].Name
			}
		}

		if got != want {
			t.Errorf("%v is of %q, want %q", set, got, want)
		}
	}
}
