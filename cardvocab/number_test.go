package cardvocab

import (
	"slices"
	"testing"
)

func TestNumberKey(t *testing.T) {
	for printed, want := range map[string]string{
		"4": "4", "004": "4", "004/102": "4", "4/102": "4", "#4": "4", " 4 ": "4", "4a": "4a", "0": "0", "000": "0",
		"TG23": "tg23", "tg 023": "tg23", "TG23/TG30": "tg23", "SWSH203": "swsh203", "XY67a": "xy67a",
		"SV 049/SV122": "sv49",
		"OP01-016":     "op1-16", "op1-16": "op1-16", "OP05-119_p1": "op5-119p1", "P-001": "p1", "p1": "p1",
		"H09/H32": "h9",
		"ONE":     "one", "!": "!", "?": "?", "": "", "001/XY-P": "1", "１２": "12",
	} {
		if got := NumberKey(printed); got != want {
			t.Errorf("NumberKey(%q) = %q, want %q", printed, got, want)
		}
	}
}

// matches reports whether a requested number is the number printed on a card (decision 23). The
// keys are equal, or the requested key is the base of the printed parallel. Totals must agree only
// if both numbers have one. index compares lists of cards by their keys in the same way.
func matches(wanted, printed string) bool {
	key := NumberKey(wanted)
	if key == "" || key != NumberKey(printed) && key != NumberBase(printed) {
		return false
	}

	a := NumberTotal(wanted)
	b := NumberTotal(printed)

	return a == "" || b == "" || a == b
}

func TestNumberMatches(t *testing.T) {
	f := func(wanted, printed string, want bool) {
		t.Helper()
		if got := matches(wanted, printed); got != want {
			t.Errorf("matches(%q, %q) = %v", wanted, printed, got)
		}
	}

	f("4", "004/102", true)
	f("004", "4", true)
	f("4/102", "4", true)
	f("4/102", "4/130", false)
	f("4", "14", false)
	f("tg23", "TG23/TG30", true)
	f("OP05-119", "OP05-119_p1", true)
	f("op5-119", "OP05-119_p1", true)
	f("OP05-119_P1", "op05-119_p1", true)
	f("OP05-119_p1", "OP05-119", false)
	f("OP05-119_p1", "OP05-119_p2", false)
	f("OP05-11", "OP05-119", false)
	f("op05 119", "OP05-119_r2", true)
	f("P-001", "P-001_p3", true)
	f("", "", false)
	f("!", "!", true)
}

func TestNumberParts(t *testing.T) {
	if got := NumberBase("OP05-119_p12"); got != "op5-119" {
		t.Errorf("base %q", got)
	}

	if got := NumberTotal("TG23/TG30"); got != "tg30" {
		t.Errorf("total %q", got)
	}

	for key, want := range map[string]string{
		"op5-119": "119", "p1": "1", "tg23": "", "4": "", "4a": "", "3-4": "",
		"prb1-1": "1",
	} {
		if got := NumberTail(key); got != want {
			t.Errorf("NumberTail(%q) = %q, want %q", key, got, want)
		}
	}
}

func TestCompareNumbers(t *testing.T) {
	want := []string{
		"", "!", "01", "1", "2", "4", "4a", "4b", "10", "100", "99999999999999999999999", "A", "H2", "H10", "OP01-001",
		"OP01-001_p1", "OP01-002", "OP10-001", "TG02", "TG2", "TG10", "XY67a",
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	if slices.SortFunc(got, compareNatural); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}

	if CompareNumbers("2", "10") >= 0 || CompareNumbers("4", "4a") >= 0 || CompareNumbers("4", "4") != 0 {
		t.Error("2, 4, 4a, 10 is the order")
	}

	if CompareNumbers("", "!") <= 0 || CompareNumbers("ZZ", "") >= 0 || CompareNumbers("", "") != 0 {
		t.Error("a card without a number does not come last")
	}
}

func TestFold(t *testing.T) {
	for s, want := range map[string]string{
		"Double Rare": "doublerare", "DoubleRare": "doublerare", "double-rare": "doublerare", "Pokémon GO": "pokemongo",
		"Champion's Path": "championspath", "Sword &amp; Shield": "swordshield", "": "", "!!": "", "ß": "ss",
		"Ｆｕｌｌ":         "full",
		"HS—Unleashed": "hsunleashed", "ready": "ready",
	} {
		if got := Fold(s); got != want {
			t.Errorf("Fold(%q) = %q, want %q", s, got, want)
		}
	}
}
