package text

import (
	"cmp"
	"slices"
	"testing"
)

// checkFirst checks that a query finds a card of a shelf first, and no other card as well.
func checkFirst(t *testing.T, ix *Index, q string, want uint32) {
	t.Helper()
	hits := ix.Search(nil, q, nil)
	slices.SortFunc(hits, func(a, b Hit) int { return cmp.Compare(a.Score, b.Score) })
	if len(hits) == 0 || hits[0].Card != want || len(hits) > 1 && hits[1].Score == hits[0].Score {
		t.Errorf("%q finds %v, want %d before all others", q, hits, want)
	}
}

// TestPrinted checks that a card is found by its printed text, however many words that has.
func TestPrinted(t *testing.T) {
	const warlords = "Starter Deck 3: The Seven Warlords of The Sea"
	ix := buildSmall(t, nil, [][4]string{
		{"Trafalgar Law (CS 2023 Top Players Pack)", "ST03-008", "One Piece Promotion Cards", "C"},
		{"Trafalgar Law (CS 2023 Top Players Pack) [Winner]", "ST03-008", "One Piece Promotion Cards", "C"},
		{"Jinbe", "ST03-006", warlords, "C"},
		{"Jinbe", "ST03-006", "Super Pre-Release " + warlords, "C"},
		{"Sylveon (#30 - Holo)", "30/30", "XY Trainer Kit: Sylveon & Noivern", "Common"},
		{"Noivern (#30 - Holo)", "30/30", "XY Trainer Kit: Sylveon & Noivern", "Common"},
		{"Team Rocket's Diglett", "100/217", "Ascended Heroes", "Common"},
		{"Team Rocket's Diglett (Team Rocket)", "100/217", "Ascended Heroes", "Common"},
		{"St. Marcus Mars (Parallel)", "OP13-091", "Carrying On His Will", "R"},
		{"St. Marcus Mars (Alternate Art)", "OP13-091", "Carrying On His Will", "R"},
		{"Darkrai", "3/100", "Majestic Dawn", "Holo Rare"},
		{"Darkrai (3)", "3/106", "Great Encounters", "Holo Rare"},
		{"Unown", "W", "Unseen Forces", "Rare"},
		{"Unown", "V", "Unseen Forces", "Rare"},
	}...)

	for card, q := range []string{
		"Trafalgar Law (CS 2023 Top Players Pack) One Piece Promotion Cards ST03-008",
		"One Piece Promotion Cards Trafalgar Law (CS 2023 Top Players Pack) [Winner] ST03-008",
		"Jinbe " + warlords + " ST03-006",
		"Jinbe ST03-006 Super Pre-Release " + warlords,
		"Sylveon (#30 - Holo) 30/30 XY Trainer Kit: Sylveon & Noivern",
		"Noivern (#30 - Holo) 30/30 XY Trainer Kit: Sylveon & Noivern",
		"Team Rocket's Diglett Ascended Heroes 100/217",
		"Team Rocket's Diglett (Team Rocket) Ascended Heroes 100/217",
		"St. Marcus Mars (Parallel) Carrying On His Will OP13-091",
		"St. Marcus Mars (Alternate Art) Carrying On His Will OP13-091",
		"Darkrai 3/100",
		"Darkrai (3) 3/106",
		"Unown W Unseen Forces",
		"V Unown Unseen Forces",
	} {
		checkFirst(t, ix, q, uint32(card))
	}
}

// TestSetsAlone checks that the whole name of a set means its cards without products, and that
// none of them ranks higher for its name.
func TestSetsAlone(t *testing.T) {
	ix := buildSmall(t, nil, [][4]string{
		{"Perilous Jungle", "156/162", "Temporal Forces", "Uncommon"},
		{"Snorlax", "11/64", "Jungle", "Holo Rare"},
		{"Mr. Mime (Prerelease)", "6/64", "Jungle", "Holo Rare"},
	}...)
	for _, q := range []string{"jungle", "jungle booster pack", "jungle set"} {
		hits := sorted(ix.Search(nil, q, nil))
		if len(hits) < 2 || hits[0].Card+hits[1].Card != 3 || hits[0].Score != hits[1].Score {
			t.Errorf("%q finds %v, want the two cards of the set alike", q, hits)
		}
	}
}

// TestTotalsApart holds that a total may stand behind a slash with spaces, and behind "of".
func TestTotalsApart(t *testing.T) {
	ix := buildSmall(t, nil, smallCards...)
	for _, q := range []string{"4 / 102", "4/ 102", "4 of 102", "charizard 4 / 102", "charizard number 4 of 102"} {
		checkFirst(t, ix, q, 0)
	}
	checkFirst(t, ix, "199 / 165", 2)
}

// TestTagTeam holds that Tag Team is a preference, and that a set's code that is a word stays part
// of a name.
func TestTagTeam(t *testing.T) {
	ix := buildSmall(t, nil, [][4]string{
		{"Mewtwo", "150/165", "MEW: 151", "Rare"},
		{"Mewtwo & Mew GX", "71/236", "Unified Minds", "Ultra Rare"},
		{"Team Rocket's Mewtwo ex", "81/182", "Destined Rivals", "Double Rare"},
	}...)
	checkFirst(t, ix, "mewtwo & mew tag team", 1)
	checkFirst(t, ix, "tag team mewtwo mew gx", 1)
}

// TestOtherGames checks that a query of another game finds nothing, although cards have some of
// its words. A name next to one more word still counts.
func TestOtherGames(t *testing.T) {
	ix := buildSmall(t, nil, [][4]string{
		{"Blue Dragon Seal Water Stream", "OP06-019", "Wings of the Captain", "UC"},
		{"White Kyurem GX", "48/70", "Dragon Majesty", "Ultra Rare"},
		{"Monkey.D.Dragon", "OP13-017", "RED/BLACK Sabo", "R"},
		{"Charizard", "4/102", "Base Set", "Holo Rare"},
	}...)
	for _, q := range []string{"blue eyes white dragon", "red eyes white dragon"} {
		if hits := ix.Search(nil, q, nil); len(hits) > 0 {
			t.Errorf("%q finds %v", q, hits)
		}
	}
	checkFirst(t, ix, "fun charizard shirt", 3)
	checkFirst(t, ix, "white kyurem poster", 1)
}

// TestNoiseInBrackets checks that a language in brackets belongs to a name that has it.
func TestNoiseInBrackets(t *testing.T) {
	ix := buildSmall(t, nil, [][4]string{
		{"Pikachu", "58/102", "Base Set", "Common"},
		{"Pikachu (Portuguese)", "PW 9", "Pikachu World Collection", "Promo"},
	}...)
	checkFirst(t, ix, "pikachu (portuguese)", 1)
	checkFirst(t, ix, "portuguese pikachu", 0)
	checkFirst(t, ix, "pikachu (english)", 0)
}

// TestApartIsNoCode checks that a set and a number after a space are no code, if a card matches them.
func TestApartIsNoCode(t *testing.T) {
	ix := buildSmall(t, nil, [][4]string{
		{"Charizard", "4", "Base", "Rare Holo"},
		{"Charizard", "4", "Base4: Base Set 2", "Rare Holo"},
	}...)
	checkFirst(t, ix, "charizard base 4", 0)
	checkFirst(t, ix, "charizard base4", 1)
}
