package loader

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// aliasFile writes an operator's search_aliases.csv and returns its folder.
func aliasFile(t *testing.T, rows ...string) string {
	t.Helper()
	dir := t.TempDir()
	text := strings.Join(searchHeader, ",") + "\n" + strings.Join(rows, "\n") + "\n"
	if err := os.WriteFile(filepath.Join(dir, searchFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// phrases are the aliases of a catalog: the meaning of each phrase, a card by its name.
func phrases(c *snapshot.Catalog) map[string]string {
	all := map[string]string{}
	for i := range c.Aliases.Phrase.Len() {
		stands := c.Aliases.Replacement.At(i)
		if card := c.Aliases.Card[i]; card >= 0 {
			stands = "card " + c.Cards.Name.At(int(card))
		}
		all[c.Aliases.Phrase.At(i)] = stands
	}
	return all
}

func TestSearchAliases(t *testing.T) {
	f := newFake("shop").set("s", "Sky").card("r1", "s", "Fox", "1").card("r2", "s", "Owl", "2")
	dir := aliasFile(t, "reynard,pokemon,fox,,", "night bird,,,shop,r2", "gone,,,shop,r9", "zard,pokemon,,,",
		"ttar,,tar pit,,", "nami san,one-piece,nami,,")
	got := phrases(one(t, Options{SnapshotAt: atDay(today), Mapping: dir}, f).Catalog)

	for phrase, want := range map[string]string{
		"reynard": "fox", "night bird": "card Owl",
		"gone": "", // its card is not in the catalog
		"zard": "", // taken away
		"ttar": "tar pit",
		// The catalog has no One Piece.
		"nami san": "", "doffy": "",
		"blasty": "blastoise",
	} {
		if got[phrase] != want {
			t.Errorf("%q stands for %q, want %q", phrase, got[phrase], want)
		}
	}
}

// TestSearchAliasReferences checks that a card is found by every reference that clients see. A row
// without its card leaves the shipped phrase and is reported.
func TestSearchAliasReferences(t *testing.T) {
	f := newFake("pokemon-tcg-data").set("s", "Sky")
	for i, id := range []source.Identifier{
		{Namespace: "tcgplayer", Value: "534919"},
		{Namespace: "pokemontcg", Value: "old-4"},
		{Namespace: "artist", Value: "one"},
		{Namespace: "artist", Value: "one"},
	} {
		ref := "3/7" + strconv.Itoa(i+1)
		f.card(ref, "s", []string{"Fox", "Owl", "Hare", "Toad"}[i], strconv.Itoa(i+1))
		f.cards[i].Identifiers = []source.Identifier{id}
	}
	dir := aliasFile(t, "a,,,tcgplayer,534919", "b,,,pokemon-tcg-data,3/71", "c,,,pokemon-tcg-data,71",
		"d,,,pokemon-tcg-data,old-4", "e,,,pokemontcg,old-4", "blasty,,,nosuch,1", "moonbreon,,,tcgplayer,9",
		"gg,,,artist,one")
	built := one(t, Options{SnapshotAt: atDay(today), Mapping: dir}, f)
	got := phrases(built.Catalog)
	for phrase, want := range map[string]string{
		"a": "card Fox", "b": "card Fox", "c": "card Fox", "d": "card Owl", "e": "card Owl", "gg": "",
		"blasty": "blastoise", "moonbreon": "umbreon vmax 215 evolving skies",
	} {
		if got[phrase] != want {
			t.Errorf("%q stands for %q, want %q", phrase, got[phrase], want)
		}
	}

	remarks := strings.Join(built.Report.AliasRemarks, "\n")
	for _, want := range []string{
		`"blasty" stands for nosuch:1, but no card has an id in this namespace`,
		`"gg" stands for artist:one, but several cards have it`,
		`"moonbreon" stands for tcgplayer:9, but no card has it`,
	} {
		if !strings.Contains(remarks, want) {
			t.Errorf("the notes lack %q: %s", want, remarks)
		}
	}
	if built.Report.AliasesUnmatched != 3 {
		t.Errorf("%d rows are unmatched, want 3", built.Report.AliasesUnmatched)
	}
}

func TestSearchAliasMistakes(t *testing.T) {
	f := func(want string, rows ...string) {
		t.Helper()
		_, err := loadMapping(aliasFile(t, rows...))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", rows, err, want)
		}
	}

	f("line 2 has no phrase", "?!,,fox,,")
	f("line 3 has", "fox,,owl,,", "FOX,,hare,,")
	f(`has game "chess"`, "fox,chess,owl,,")
	f("without a ref", "fox,,,shop,")
	f("give one of them", "fox,,owl,shop,r1")
	f("replaces a phrase by itself", "fox,,Fox!,,")
	f("bytes", "fox,,"+strings.Repeat("x", 201)+",,")
}

// TestFit checks that cards of expansions are likelier to be meant than promos, and more expensive
// cards than cheap ones of an equally large set, in steps.
func TestFit(t *testing.T) {
	c := &snapshot.Catalog{}
	for _, name := range []string{"Sky", "Sky Promos"} {
		c.Sets.Name.Append(name)
		c.Sets.Cards = append(c.Sets.Cards, uint32(100))
	}
	c.Sets.Name.Append("Starter")
	c.Sets.Cards = append(c.Sets.Cards, 12)

	for i, card := range []struct {
		set   int32
		cents int64
	}{{1, 90_000}, {0, 300}, {0, 500}, {0, 20}, {2, 800}, {snapshot.NoSet, snapshot.NoCents}} {
		c.Cards.ID.Append("card_" + string(rune('a'+i)))
		c.Cards.Set = append(c.Cards.Set, card.set)
		display := int32(-1)
		if card.cents != snapshot.NoCents {
			display = int32(len(c.Lanes.Cents))
			c.Lanes.Cents = append(c.Lanes.Cents, card.cents)
		}
		c.Cards.Display = append(c.Cards.Display, display)
	}

	(&assembly{c: c}).writePrior()
	fit := c.Prior
	if fit[1] != fit[2] || fit[2] <= fit[3] || fit[3] <= fit[0] || fit[0] <= fit[4] || fit[4] <= fit[5] {
		t.Errorf("fits are %v", fit)
	}
}
