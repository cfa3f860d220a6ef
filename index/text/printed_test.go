package text

import (
	"slices"
	"testing"
)

// holdFirst holds that a query finds a card of a shelf first, and no other card as well.
func holdFirst(t *testing.T, ix *Index, q string, want uint32) {
	t.Helper()
	hits := ix.Search(nil, q, nil)
	slices.SortStableFunc(hits, func(a, b Hit) int {
		if a.Score < b.Score {
			return -1
		}
		return 1
	})
	if len(hits) == 0 || hits[0].Card != want || len(hits) > 1 && hits[1].Score == hits[0].Score {
		t.Errorf("%q finds %v, want %d before all others", q, hits, want)
	}
}

// TestPrinted holds that what is printed on a card finds it, however many words that are.
func TestPrinted(t *testing.T) {
	const warlords = "Starter Deck 3: The Seven Warlords of The Sea"
	ix := shelf(t, nil, [][4]string{
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
		holdFirst(t, ix, q, uint32(card))
	}
}

// TestApartIsNoCode holds that a set and a number behind a space are no code, where a card fits them.
func TestApartIsNoCode(t *testing.T) {
	ix := shelf(t, nil, [][4]string{
		{"Charizard", "4", "Base", "Rare Holo"},
		{"Charizard", "4", "Base4: Base Set 2", "Rare Holo"},
	}...)
	holdFirst(t, ix, "charizard base 4", 0)
	holdFirst(t, ix, "charizard base4", 1)
}
