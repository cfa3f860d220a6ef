package text

import (
	"slices"
	"strings"
	"testing"
)

var translatedCards = [][4]string{
	{"Charizard ex", "199/165", "151", "Double Rare"},                          // 0
	{"Charizard VMAX", "20/189", "Sky", "Ultra Rare"},                          // 1
	{"Charizard", "4/102", "Base Set", "Rare Holo"},                            // 2
	{"Mega Charizard X ex", "125/94", "Flames", "Ultra Rare"},                  // 3
	{"Alolan Vulpix", "21/145", "Sky", "Common"},                               // 4
	{"Vulpix", "68/102", "Base Set", "Common"},                                 // 5
	{"Mew ex", "232/91", "Fates", "Ultra Rare"},                                // 6
	{"Mewtwo", "10/102", "Base Set", "Rare Holo"},                              // 7
	{"Roaring Moon ex", "124/182", "Rift", "Double Rare"},                      // 8
	{"Lillie's Clefairy ex", "184/159", "Sky", "Double Rare"},                  // 9
	{"Thunder Mountain", "191/214", "Sky", "Rare"},                             // 10
	{"Zapdos", "16/102", "Base Set", "Rare Holo"},                              // 11
	{"Monkey.D.Luffy", "OP01-003", "OP01: Romance Dawn", "Leader"},             // 12
	{"Roronoa Zoro", "OP01-025", "OP01: Romance Dawn", "SR"},                   // 13
	{"Charlotte Linlin", "OP01-070", "OP01: Romance Dawn", "SR"},               // 14
	{"The Weak Cannot Choose", "OP01-038", "OP01: Romance Dawn", "C"},          // 15
	{"Umbreon", "32/75", "Sky", "Rare"},                                        // 16
	{"Dragonite", "4/62", "Sky", "Rare"},                                       // 17
	{"Charmander", "46/102", "Base Set", "Common"},                             // 18
	{"Hitmonlee", "7/62", "Sky", "Rare"},                                       // 19
	{"Tony Tony.Chopper", "OP01-015", "OP01: Romance Dawn", "UC"},              // 20
	{"Team Rocket's Mewtwo ex", "231/182", "Destined", "Special Illustration"}, // 21
}

// translated makes an alias of each name: the English name, and the name elsewhere. Words next to names, and
// particles, apply in all games.
func translated(game int, english string, names ...string) (all []Alias) {
	for _, name := range names {
		all = append(all, Alias{Phrase: name, Replacement: english, Card: -1, Game: game, Translated: true})
	}
	return all
}

func translatedIndex(t *testing.T) *Index {
	t.Helper()
	aliases := slices.Concat(
		translated(0, "Charizard", "Glurak", "Dracaufeu", "リザードン", "Lizardon", "리자몽", "喷火龙", "噴火龍"),
		translated(0, "Charmander", "Glumanda", "Salamèche", "ヒトカゲ", "파이리"),
		translated(0, "Vulpix", "Goupix", "ロコン", "六尾"), translated(0, "Mew", "ミュウ", "뮤", "梦幻"),
		translated(0, "Mewtwo", "Mewtu", "ミュウツー", "뮤츠", "超梦"), translated(0, "Clefairy", "ピッピ", "삐삐", "皮皮"),
		translated(0, "Roaring Moon", "Donnersichel", "Rugit-Lune", "トドロクツキ"),
		translated(0, "Zapdos", "Thunder", "Electhor", "サンダー"), translated(0, "Umbreon", "Nachtara", "ブラッキー", "블래키"),
		translated(0, "Hitmonlee", "Kicklee", "サワムラー"),
		translated(-1, "Alolan", "Alola", "d'Alola", "アローラ", "阿罗拉"), translated(-1, "Mega", "メガ", "超级"),
		translated(-1, "", "の", "의", "的"), translated(-1, "Team Rocket's", "ロケット団"),
		translated(1, "Monkey.D.Luffy", "モンキー・Ｄ・ルフィ", "蒙其・D・魯夫"),
		translated(1, "Roronoa Zoro", "ロロノア・ゾロ", "羅羅亞・索隆"),
		translated(1, "Charlotte Linlin", "夏洛特・莉莉"), translated(1, "Tony Tony.Chopper", "多尼多尼・喬巴"),
		translated(1, "The Weak Cannot Choose", "Les faibles ne peuvent pas choisir leur mort"),
		[]Alias{{Phrase: "lizardon", Replacement: "dragonite", Card: -1, Game: 0}},
	)

	return buildSmall(t, aliases, translatedCards...)
}

// TestTranslations holds the rules of docs/dev/SEARCH.md, Other languages: which card each query finds first.
func TestTranslations(t *testing.T) {
	ix := translatedIndex(t)

	for what, queries := range map[string]map[string]uint32{
		"alone": {
			"Glurak 4/102": 2, "dracaufeu 4/102": 2, "リザードン 4/102": 2, "喷火龙 199": 0, "ロコン": 5, "Rugit-Lune": 8,
			"Donnersichel ex": 8, "Salamèche": 18,
		},
		"kana in other letters": {
			"りざーどん 4/102": 2, "ﾘｻﾞｰﾄﾞﾝ vmax": 1,
		},
		"glued": {
			"リザードンVMAX": 1, "GlurakVMAX": 1, "리자몽ex": 0, "メガリザードンXex": 3,
			"噴火龍ex 199/165": 0,
		},
		"regional": {
			"Alola-Goupix": 4, "Goupix d'Alola": 4, "goupix d alola": 4, "アローラロコン": 4,
			"阿罗拉六尾": 4, "超级喷火龙X ex": 3,
		},
		"particles": {
			"ロケット団のミュウツーex": 21, "リーリエのピッピ": 9, "Lillieの皮皮": 9,
			"の ピッピ": 9,
		},
		"being typed": {
			"ロ": 5, "リザ 199": 0, "リ": 2, "미": 99, "뮤": 6, "ミュウツ": 7, "アローラロ": 4,
			"nachta": 16, "nac": 99, "ドロ": 99,
		},
		"misspelt": {
			"glurack 4/102": 2, "dracofeu vmax": 1, "nachtarra": 16, "블레키": 16, "donersichel": 8, "xachtara": 99,
		},
		"another meaning": {"thunder": 10, "lizardon": 17},
		"parts": {
			"ルフィ": 12, "魯夫": 12, "ゾロ": 13, "索隆 OP01-025": 13, "モンキーDルフィ": 12, "喬巴": 20,
			"les faibles ne peuvent pas choisir leur mort": 15,
		},
		// Two characters inside other words are no name: 莉莉艾 is Lillie, and no Linlin.
		"inside words": {"莉莉艾的皮皮": 9},
	} {
		for q, want := range queries {
			hits := sorted(ix.Search(nil, q, nil))
			switch {
			case len(hits) == 0:
				if want != 99 {
					t.Errorf("%s: %q finds nothing, want %d", what, q, want)
				}
			case hits[0].Card != want:
				t.Errorf("%s: %q finds %d, want %d", what, q, hits[0].Card, want)
			}
		}
	}
}

// TestTranslationsAreExplained checks that a note has a name as typed, and its English name.
func TestTranslationsAreExplained(t *testing.T) {
	ix := translatedIndex(t)

	for q, want := range map[string][]Note{
		"Glurak &amp; Goupix": {
			{Replaced, "Glurak", "Charizard"}, {Replaced, "Goupix", "Vulpix"}, {Missing, "vulpix", ""},
		},
		"Glurak-EX":      {{Replaced, "Glurak", "Charizard"}},
		"ﾘｻﾞｰﾄﾞﾝ vmax":   {{Replaced, "ﾘｻﾞｰﾄﾞﾝ", "Charizard"}},
		"りざーどんex":        {{Replaced, "りざーどん", "Charizard"}},
		"アローラロコン":        {{Replaced, "アローラ", "Alolan"}, {Replaced, "ロコン", "Vulpix"}},
		"メガリザードンXex":     {{Replaced, "メガ", "Mega"}, {Replaced, "リザードン", "Charizard"}},
		"glurakvmax":     {{Replaced, "glurak", "Charizard"}},
		"glurack vmax":   {{Corrected, "glurack", "charizard"}},
		"Goupix d’Alola": {{Replaced, "Goupix", "Vulpix"}, {Replaced, "d’Alola", "Alolan"}},
		"カスミのロコン":        {{Replaced, "ロコン", "Vulpix"}, {Missing, "カスミ", ""}},
	} {
		hits := sorted(ix.Search(nil, q, nil))
		if len(hits) == 0 {
			t.Errorf("%q finds nothing", q)
			continue
		}
		if got := ix.Interpret(nil, q, hits[0]); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", q, got, want)
		}
	}
}

// TestDearTranslations checks that no query takes long to divide: a name of two characters repeated to the limit,
// and almost such a name.
func TestDearTranslations(t *testing.T) {
	ix := translatedIndex(t)
	for _, q := range []string{strings.Repeat("皮皮", 66), strings.Repeat("皮皮", 65) + "皮艾", strings.Repeat("の", 133)} {
		var q1 query
		q1.parse(ix, q, false)
		if len(q1.norm.tokens) > maxTokens || len(q1.terms) > maxQueryTerms {
			t.Errorf("%q has %d words and %d terms", q, len(q1.norm.tokens), len(q1.terms))
		}
		if n := testing.AllocsPerRun(10, func() { q1.parse(ix, q, false) }); n > 100 {
			t.Errorf("%q takes %v allocations", q, n)
		}
	}
}
