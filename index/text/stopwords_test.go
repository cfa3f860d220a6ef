package text

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ninepocket/cardvocab"
	"ninepocket/internal/testsweep"
)

// TestNoiseAlone checks that a word that is dropped, or weighs little, counts if it is typed alone.
// If it is a whole card name, that card comes first. Few words are.
func TestNoiseAlone(t *testing.T) {
	words := map[string]stopClass{}
	for phrase, kind := range stopWords {
		words[strings.ReplaceAll(phrase, " ", "")] = kind
	}
	if len(words) < 1000 {
		t.Fatalf("stopwords.txt has only %d words", len(words))
	}

	names := 0
	c := officialCatalog(t)
	for i := range c.cards {
		name := cardvocab.Fold(c.cards[i].name)
		if words[name] == significant {
			continue
		}

		delete(words, name)
		names++
		found := c.search(name, "*")
		if len(found) == 0 || cardvocab.Fold(found[0].name) != name {
			t.Errorf("%q alone does not find the card %s first", name, c.cards[i].name)
		}
	}

	if names > 20 {
		t.Errorf("%d words of stopwords.txt are whole names", names)
	}
}

// TestTypedSample searches for the most frequent names in everyday forms; index has the whole.
func TestTypedSample(t *testing.T) {
	c := officialCatalog(t)
	counts := map[string]int{}
	for i := range c.cards {
		if c.cards[i].game == pokemon {
			counts[c.cards[i].name]++
		}
	}

	names := slices.SortedFunc(mapKeys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
	})
	all := 0
	good := 0
	for _, name := range names[:12] {
		for _, template := range []string{
			"the X", "my X", "how much is X", "X price", "psa 10 X", "X near mint english", "2023 X", "X card",
			"rare X",
			"X full art", "pokemon tcg X", "pokémon X", "X for sale 🔥", "looking for X from 151",
		} {
			q := strings.ReplaceAll(template, "X", name)
			all++
			if found := c.search(q, "*"); len(found) > 0 && strings.Contains(found[0].name, name) {
				good++
			} else {
				t.Logf("%q does not keep the name", q)
			}
		}
	}

	if good*100 < all*98 {
		t.Errorf("%d of %d keep the name first", good, all)
	}
}

// buildSmall is a small catalog: name, number, set, rarity.
func buildSmall(t *testing.T, aliases []Alias, cards ...[4]string) *Index {
	t.Helper()
	sets := map[string]int32{}
	for _, c := range cards {
		if _, ok := sets[c[2]]; !ok {
			sets[c[2]] = int32(len(sets))
		}
	}

	ix, err := Build(context.Background(), complete(Corpus{
		Len:     len(cards),
		Name:    func(i int) string { return cards[i][0] },
		Number:  func(i int) string { return cards[i][1] },
		SetName: func(i int) string { return cards[i][2] },
		Rarity:  func(i int) string { return cards[i][3] },
		Game:    func(i int) uint8 { return uint8(strings.Count(cards[i][2], "OP01")) },
		Set:     func(i int) int32 { return sets[cards[i][2]] },
		Year:    func(i int) int { return 1999 * strings.Count(cards[i][2], "Base Set") },
		Games:   []string{"Pokémon", "One Piece"},
		Aliases: aliases,
	}), noStep)
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

var smallCards = [][4]string{
	{"Charizard", "4/102", "Base Set", "Rare Holo"},                           // 0
	{"Charizard ex", "6/165", "151", "Double Rare"},                           // 1
	{"Charizard ex", "199/165", "151", "Special Illustration Rare"},           // 2
	{"The Peak", "1/50", "Sky", "Common"},                                     // 3
	{"Pokémon Catcher", "95/98", "Emerging Powers", "Uncommon"},               // 4
	{"Monkey.D.Luffy", "OP01-003", "OP01: Romance Dawn", "Leader"},            // 5
	{"Rare Candy", "60/100", "Sky", "Uncommon"},                               // 6
	{"Dragonite", "4/62", "Fossil", "Rare Holo"},                              // 7
	{"Umbreon VMAX", "95/203", "SWSH07: Evolving Skies", "Ultra Rare"},        // 8
	{"Umbreon VMAX (Alternate Art)", "215/203", "SWSH07: Evolving Skies", ""}, // 9
	{"Lotad", "1/80", "Sky", "Common"},                                        // 10
	{"Galar Mine", "160/192", "Sky", "Uncommon"},                              // 11
	{"Red Force", "2/80", "Sky", "Common"},                                    // 12
	{"Will", "208/236", "Sky", "Uncommon"},                                    // 13
	{"G Booster", "92/101", "Sky", "Rare"},                                    // 14
	{"Ancient Booster Energy Capsule", "140/162", "Sky", "Uncommon"},          // 15
	{"Boost Shake", "142/203", "SWSH07: Evolving Skies", "Uncommon"},          // 16
	{"Iron Bundle", "56/182", "Sky", "Uncommon"},                              // 17
	{"Sanji", "PRB01-001", "Premium Booster -The Best-", "Leader"},            // 18
}

// TestWordsBesideNames goes through the rules of docs/dev/SEARCH.md on a small catalog.
func TestWordsBesideNames(t *testing.T) {
	ix := buildSmall(t, []Alias{
		{Phrase: "zard", Replacement: "charizard", Card: -1, Game: -1},
		{Phrase: "moonbreon", Card: 9, Game: 0},
		{Phrase: "lot", Replacement: "evolving skies", Card: -1, Game: -1},
		{Phrase: "the peak", Replacement: "charizard", Card: -1, Game: -1},
	}, smallCards...)
	f := func(q string, want ...uint32) {
		t.Helper()
		hits := sorted(ix.Search(nil, q, nil))
		var got []uint32
		for i, h := range hits {
			if i < len(want) {
				got = append(got, h.Card)
			}
		}
		if !slices.Equal(got, want) || len(want) == 0 && len(hits) > 0 {
			t.Errorf("%q finds %v first, want %v", q, hits, want)
		}
	}

	// Stop words are dropped first, unless they belong to a whole name.
	f("the charizard", 0)
	f("how much is my charizard worth?", 0)
	f("psa 10 gem mint charizard", 0)
	f("the peak", 3)
	f("pokemon charizard", 0)
	f("pokemon catcher", 4)
	f("one piece luffy op01", 5)
	f("one piece charizard", 0)

	f("lot", 10)
	f("the", 3)
	f("mint")
	f("near mint")
	f("mint galar", 11)
	f("for sale")
	f("psa 10")
	f("my lot of cards")
	f("will", 13)
	f("will card", 13)
	f("how much is will", 13)
	f("will near mint", 13)
	f("pokemon will", 13)
	f("rare will", 13)
	f("will charizard", 0)

	// Product words are dropped, except in names that have them.
	f("dragonite booster pack", 7)
	f("fossil booster pack", 7)
	f("fossil booster box", 7)
	f("umbreon evolving skies booster box", 8)
	f("charizard tin", 0)
	f("151 etb charizard", 1)
	f("151 elite trainer box charizard", 1)
	f("151 booster bundle charizard", 1)
	f("g booster", 14)
	f("booster", 14)
	f("ancient booster", 15)
	f("booster energy", 15)
	f("iron bundle", 17)
	f("premium booster", 18)
	f("premium booster box", 18)
	f("booster box")
	f("50 card lot")
	f("charizard lot", 0)
	f("lot lotad", 10)

	// Rarities are preferences, or words of names that have them.
	f("charizard ex sir", 2, 1)
	f("charizard ex double rare", 1, 2)
	f("umbreon vmax alt art", 9, 8)
	f("umbreon vmax", 8, 9)
	f("charizard manga rare", 0)
	f("rare candy", 6)

	// Sets, numbers, and typing errors in them.
	f("charizard 151", 1, 2)
	f("umbreon swsh7", 8)
	f("charizard ex 199-165", 2)
	f("charizard ex199", 2)
	f("charizard ex 199/166", 2)
	f("evolving umbreon", 8)

	// Sounds and other names are last and first.
	f("dragonight", 7)
	f("zard ex sir", 2)
	f("moonbreon", 9)

	// An unknown word weighs more than a common word.
	f("black lotus")
	f("sky lotus diamond")
	f("xyzzy")
}

// TestRarities checks that cards and queries are distinguished by equal rules. One name in every
// rarity and art finds the requested card, independent of the catalog's order.
func TestRarities(t *testing.T) {
	const set = "OP01: Romance Dawn"
	cards := [][4]string{
		{"Sabo", "OP01-001", set, "C"},
		{"Sabo", "OP01-002", set, "UC"},
		{"Sabo", "OP01-003", set, "R"},
		{"Sabo", "OP01-004", set, "SR"},
		{"Sabo", "OP01-005", set, "SEC"},
		{"Sabo", "OP01-006", set, "L"},
		{"King", "OP01-007", set, "SR"},
		{"King (Parallel)", "OP01-007", set, "SR"},
		{"Yamato", "OP01-008", set, "SEC"},
		{"Yamato (Parallel)", "OP01-008", set, "SEC"},
		{"Sylveon V", "74/203", "Evolving Skies", "Ultra Rare"},
		{"Sylveon V (Full Art)", "183/203", "Evolving Skies", "Ultra Rare"},
		{"Sylveon V (Alternate Full Art)", "184/203", "Evolving Skies", "Ultra Rare"},
	}
	wanted := map[string]string{
		"sabo common": "C", "sabo uncommon": "UC", "sabo uc": "UC", "sabo rare": "R", "sabo sr": "SR",
		"sabo super rare": "SR", "sabo sec": "SEC", "sabo secret rare": "SEC", "sabo leader": "L",
		"king alt art": "King (Parallel)", "yamato alt art": "Yamato (Parallel)", "op01 king aa": "King (Parallel)",
		"sylveon v alt art":            "Sylveon V (Alternate Full Art)",
		"sylveon v alt full art":       "Sylveon V (Alternate Full Art)",
		"alternate full art sylveon v": "Sylveon V (Alternate Full Art)",
	}

	for range 2 {
		ix := buildSmall(t, nil, cards...)
		for q, want := range wanted {
			hits := sorted(ix.Search(nil, q, nil))
			if len(hits) == 0 || cards[hits[0].Card][0] != want && cards[hits[0].Card][3] != want {
				t.Errorf("%q finds %v first, want %s", q, hits[:min(len(hits), 1)], want)
			}
		}

		// Full art is either, alternate or not.
		hits := sorted(ix.Search(nil, "sylveon v full art", nil))
		if len(hits) == 0 || !strings.Contains(cards[hits[0].Card][0], "Full Art") {
			t.Errorf("full art finds %v", hits)
		}

		slices.Reverse(cards)
	}
}

// TestNameBeforeSet holds that a name outweighs the code or name of a set that has no such card, also
// where words of the set are rarer among names.
func TestNameBeforeSet(t *testing.T) {
	cards := [][4]string{
		{"Crobat", "33/119", "PHF: Phantom Forces", ""}, // 0
		{"Phantom Gate", "1/50", "Sky", ""},
		{"Perilous Jungle", "156/162", "Sky", ""},
		{"Speed L Energy", "173/192", "Sky", ""},
		{"Scyther", "10/64", "Jungle", ""},
	}
	for i := range 40 {
		name := "Charizard " + string(rune('a'+i%26)) + string(rune('a'+i/26)) + "zz"
		cards = append(cards, [4]string{name, "1/9", "Sea", ""})
	}

	ix := buildSmall(t, nil, cards...)
	for _, q := range []string{"phf charizard", "charizard phf", "charizard jungle", "l charizard"} {
		hits := sorted(ix.Search(nil, q, nil))
		if len(hits) == 0 || hits[0].Card < 5 {
			t.Errorf("%q finds %v first, want a Charizard", q, hits[:min(len(hits), 1)])
		}
	}

	if hits := sorted(ix.Search(nil, "phf crobat", nil)); len(hits) == 0 || hits[0].Card != 0 {
		t.Errorf("phf crobat finds %v", hits)
	}
}

// TestQualifiersAreNoNames checks that a name is not corrected to a word that only qualifies
// names, unless there is no such name.
func TestQualifiersAreNoNames(t *testing.T) {
	ix := buildSmall(t, nil, [][4]string{
		{"Pichu (Prerelease) [Staff]", "28/123", "Promos", "Promo"},
		{"Pichu (Prerelease)", "28/123", "Promos", "Promo"},
		{"Pikachu", "58/102", "Base Set", "Common"},
		{"Raichu (Prerelease)", "27/99", "Promos", "Promo"},
		{"Raichu", "14/102", "Base Set", "Rare Holo"},
		{"Eevee (Staff)", "1/9", "Promos", "Promo"},
	}...)

	for q, want := range map[string]uint32{
		"pikachu staff": 2, "pikachu prerelease": 2, "prerelease pikachu staff": 2,
		"raichu prerelease": 3, "raichu": 4, "pichu prerelease": 1, "pichu staff": 0,
		"raichuu prerelease": 3, "evee staff": 5, "pickachu": 2,
	} {
		if hits := sorted(ix.Search(nil, q, nil)); len(hits) == 0 || hits[0].Card != want {
			t.Errorf("%q finds %v, want %d", q, hits, want)
		}
	}
}

// TestPartsOfNames checks that no part of a whole name, or of a word that was typed as two, is read
// as another name.
func TestPartsOfNames(t *testing.T) {
	ix := buildSmall(t, []Alias{
		{Phrase: "captain kid", Replacement: "eustass captain kid", Card: -1, Game: 1},
		{Phrase: "pre", Replacement: "prismatic evolutions", Card: -1, Game: 0},
	}, [][4]string{
		{`Eustass"Captain"Kid (001)`, "ST02-001", "OP01: Romance Dawn", "L"},
		{"Pikachu ex", "28/131", "Prismatic Evolutions", "Double Rare"},
		{"Pikachu (Prerelease)", "1/9", "Promos", "Promo"},
	}...)
	f := func(q string, want uint32, readAs bool) {
		t.Helper()
		hits := sorted(ix.Search(nil, q, nil))
		if len(hits) == 0 || hits[0].Card != want {
			t.Fatalf("%q finds %v, want %d", q, hits, want)
		}
		replaced := slices.ContainsFunc(ix.Interpret(nil, q, hits[0]), func(n Note) bool { return n.Kind == Replaced })
		if replaced != readAs {
			t.Errorf("%q was read as other words: %t", q, replaced)
		}
	}

	f(`Eustass"Captain"Kid (001)`, 0, false)
	f("eustass captain kid ST02-001", 0, false)
	f("captain kid", 0, true)
	f("pikachu ex pre", 1, true)
	f("pikachu pre release", 2, false)
	f("pikachu pre release promo", 2, false)
}

func TestInterpret(t *testing.T) {
	ix := buildSmall(t, []Alias{{Phrase: "zard", Replacement: "charizard", Card: -1, Game: -1}}, smallCards...)
	f := func(q string, card uint32, want ...Note) {
		t.Helper()
		hits := ix.Search(nil, q, nil)
		at := slices.IndexFunc(hits, func(hit Hit) bool { return hit.Card == card })
		if at < 0 {
			t.Fatalf("%q does not find %d", q, card)
		}
		if got := ix.Interpret(nil, q, hits[at]); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", q, got, want)
		}
	}

	f("charizard", 0)
	f("charizard ex", 1)
	f("the charizard", 0, Note{Dropped, "the", ""})
	f("how much is charizrd", 0, Note{Dropped, "how much is", ""}, Note{Corrected, "charizrd", "charizard"})
	f("pokemon charizard ex sir", 2, Note{InGame, "pokemon", ""}, Note{Preferred, "sir", ""})
	f("charizard ex 151 199/165", 2, Note{MatchedSet, "151", ""}, Note{MatchedNumber, "199", ""})
	f("1999 charizard", 0, Note{Preferred, "1999", ""})
	f("2023 charizard", 0, Note{Missing, "2023", ""})
	f("op01 003 luffy", 5, Note{MatchedNumber, "op01 003", ""})
	f("charizard 4 of 102", 0, Note{MatchedNumber, "4", ""})
	f("umbreon evolvign skies", 8, Note{Corrected, "evolvign", "evolving"}, Note{MatchedSet, "skies", ""})
	f("charizard "+strings.Repeat("日", 39), 0, Note{Missing, strings.Repeat("日", 13), ""})
	f("charizard a"+strings.Repeat("д", 20), 0, Note{Missing, "a" + strings.Repeat("д", 19), ""})
	f("zard", 0, Note{Replaced, "zard", "charizard"})
	f("charizard xyzzy", 0, Note{Missing, "xyzzy", ""})
	f("umbreon vmax gold", 8, Note{Missing, "gold", ""})
	f("charizard ex secret", 2, Note{Missing, "secret", ""})
	f("swsh-07 umbreon", 8, Note{MatchedSet, "swsh", ""}, Note{MatchedSet, "07", ""})
	f("dragon ite", 7)
	f("dragonight", 7, Note{Corrected, "dragonight", "dragonite"})
	f("drogon", 7, Note{Corrected, "drogon", "dragonite"})
}

// TestInterpretationMatchesScore checks that notes and score agree: the words noted as missing
// have the weight that the first hit lacks.
func TestInterpretationMatchesScore(t *testing.T) {
	c := officialCatalog(t)
	rng := rand.New(rand.NewPCG(12, 12))
	lacking := 0
	for _, q := range someQueries(rng, c, 3000/testsweep.Stride(10)) {
		hits := sorted(c.index.Search(nil, q, nil))
		if len(hits) == 0 {
			continue
		}

		var parsed query
		parsed.parse(c.index, q, false)
		notes := c.index.Interpret(nil, q, hits[0])
		if parsed.rewritten && !slices.ContainsFunc(notes, func(n Note) bool { return n.Kind == Replaced }) {
			parsed.parse(c.index, q, true)
		}
		missing := func() (weight int) {
			for i := range parsed.terms {
				want := Note{Kind: Missing, From: string(parsed.terms[i].text)}
				if parsed.optional>>i&1 == 0 && slices.Contains(notes, want) {
					weight += int(parsed.weight[i])
				}
			}
			return weight
		}
		weight := missing()

		// A round in which words may be missing gives little weight to words that mostly qualify names.
		if QualityOf(hits[0].Score).Missing != weight && hits[0].by.partial {
			parsed.reduceWeight(parsed.minorTerms(c.index))
			weight = missing()
		}

		// A sound that matches a name only together with a word of the name is no word of the card,
		// and yet costs nothing.
		lacks := QualityOf(hits[0].Score).Missing
		if hits[0].by.pass == passPhonetic {
			weight = min(weight, lacks)
		}
		if lacks != weight {
			t.Errorf("%q: the hit lacks %d, what is told as missing weighs %d: %v", q, lacks, weight, notes)
		}
		if weight > 0 {
			lacking++
		}
	}
	if lacking < 10 {
		t.Errorf("only %d queries have a word that is missing", lacking)
	}
}
