package text

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"ninepocket/cardvocab"
)

// smallIndex is an index with something of everything.
func smallIndex(tb testing.TB) *Index {
	tb.Helper()
	cards := []testCard{
		{name: "Charizard", number: "4", total: 102, set: "Base", code: "BS"},
		{name: "Charizard ex", number: "199/165", set: "SV: Scarlet & Violet 151", code: "MEW"},
		{name: "M Charizard-EX", number: "13", set: "Evolutions"},
		{name: "Nidoran ♀", number: "57", set: "Jungle"},
		{name: "Nidoran F - 2005 (Jeremy Maron)", number: "70/112"},
		{name: "Farfetch'd", number: "TG23/TG30"},
		{name: "_____'s Pikachu", number: "24"},
		{name: "Muk & Alolan Muk-GX", number: "61/214"},
		{name: "Unown [?]", number: "?"},
		{name: "ナッシー[Exeggutor]"},
		{name: "Poké Blower +", number: "A"},
		{name: "", number: "001/XY-P"},
		{name: "!!!"},
		{name: "Monkey.D.Luffy", number: "OP05-119_p1", set: "AWAKENING", code: "OP-05", game: onePiece},
		{name: "Mr.1(Daz.Bonez)", number: "P-001", game: onePiece},
		{name: "Baby 5", number: "OP01-005", game: onePiece},
		{name: "Zehahahahaha!", number: "OP09-098", game: onePiece},
	}

	for i := range cards {
		cards[i].setNumber = int32(i%4) - 1
	}

	c := testCatalog{cards: cards}
	ix, err := Build(context.Background(), c.corpus(), noStep)
	if err != nil {
		tb.Fatal(err)
	}

	return ix
}

func FuzzSearch(f *testing.F) {
	for _, q := range []string{
		"charizard", "4/102 charizard", "op05-119_p1", "pikachu&zekrom &amp; &#x110000;", "\xff\xfe é ß ½ ｆｕｌｌ",
		"a/b/c #4 #",
		"nidoran ♀ f m", "muk alolan muk gx", strings.Repeat("ab-", 70), strings.Repeat("x ", 100), "'''s 's",
		"- ( [ ] ) - ", "zehahahahaha autographed",
		"full art charizard 1st edition", "set base set set", longQuery, "\x00", "４／１０２", "ﬃ ﷺ",
	} {
		f.Add(q)
	}

	ix := smallIndex(f)
	f.Fuzz(func(t *testing.T, q string) {
		seen := map[uint32]bool{}
		s := newSearch(ix)
		s.query.parse(ix, q, false)
		for _, h := range ix.Search(nil, q, nil) {
			if int(h.Card) >= len(ix.groupOf) || seen[h.Card] {
				t.Fatalf("%q: card %d is unknown, or twice there", q, h.Card)
			}
			seen[h.Card] = true
			quality := QualityOf(h.Score)
			if quality.Missing > s.query.total/2 || quality.Typos > 3*maxQueryTerms ||
				quality.OutsideName > 2*maxQueryTerms {
				t.Fatalf("%q: %+v", q, quality)
			}
		}

		if len(s.query.terms) > 0 {
			s.accept = func(card uint32) bool { return card%3 == 0 }
			s.answer()
		}

		if steps := stepsOf(s, q); steps > 20_000 {
			t.Fatalf("%q takes %d steps", q, steps)
		}
	})
}

func FuzzNormalise(f *testing.F) {
	for _, s := range []string{
		"Mr. Mime's & Rayquaza ★ δ", "HS—Unleashed", "Flabe\u0301be\u0301", "&eacute;",
		"ǅ İ ﬁ ½", "\xc3(",
	} {
		f.Add(s)
	}

	f.Fuzz(func(t *testing.T, s string) {
		var norm, again normaliser
		norm.read(s, 0)
		var words []string
		for _, tok := range norm.tokens {
			w := norm.word(tok)
			for i := 0; i < len(w); {
				r, size := utf8.DecodeRune(w[i:])
				if !cardvocab.IsWordRune(r) {
					t.Fatalf("%q has the word %q", s, w)
				}
				i += size
			}
			words = append(words, string(w))
		}

		if len(words) > 0 && norm.tokens[0].before != ' ' {
			t.Fatalf("%q: the first word is tied to one before", s)
		}

		again.read(strings.Join(words, " "), 0)
		if len(again.tokens) != len(words) {
			t.Fatalf("%q: %d words, then %d", s, len(words), len(again.tokens))
		}

		for i, tok := range again.tokens {
			if string(again.word(tok)) != words[i] {
				t.Fatalf("%q: %q becomes %q", s, words[i], again.word(tok))
			}
		}

		if once := cardvocab.Fold(s); cardvocab.Fold(once) != once {
			t.Fatalf("%q folds to %q, that to %q", s, once, cardvocab.Fold(once))
		}

		reader := nameParser{}
		if got := reader.read(s, "4/102"); got.core > len(got.words) || len(got.words) > maxNameWords {
			t.Fatalf("%q has %d words, %d in its name", s, len(got.words), got.core)
		}

		reader.readSet(s, s)
	})
}
