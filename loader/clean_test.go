package loader

import (
	"strings"
	"testing"

	"ninepocket/internal/depth"
	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

func TestCleanText(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		got, ok := cleanText(in)
		if !ok || got != want {
			t.Errorf("cleanText(%q) = %q, %v, want %q", in, got, ok, want)
		}

		if again, _ := cleanText(got); again != got && !strings.Contains(got, "&") {
			t.Errorf("cleanText is not stable: %q, then %q", got, again)
		}
	}

	f("", "")
	f("Pikachu", "Pikachu")
	f("  Pikachu   V  ", "Pikachu V")
	f("Team Rocket&#39;s Meowth", "Team Rocket's Meowth")
	f("Tag &amp; Team", "Tag & Team")
	f("Pikachu & Zekrom", "Pikachu & Zekrom")
	f("Tag&notit", "Tag&notit")
	f("A\tB\r\nC\x00D", "A B CD")
	f("Poke\u0301mon", "Pokémon")
	f("Ni\u200bdoran\u00a0♀", "Nidoran ♀")
	f("\ufeffAbra", "Abra")
	f(" \t ", "")
	if _, ok := cleanText("Pika\xffchu"); ok {
		t.Error("cleanText takes what is not UTF-8")
	}
}

func TestRecordsThatAreRefused(t *testing.T) {
	at := source.At{File: "cards.jsonl", Line: 7}
	f := newFake("shop").set("s", "Base")
	good := source.Card{
		At: at, Ref: "good", Game: "pokemon", SetRef: "s", Name: "Abra", Number: "1",
		UpdatedAt: snapshot.NoTime,
	}
	f.cards = append(f.cards, good)
	refuse := func(reason string, change func(*source.Card)) {
		c := good
		c.Ref = "bad " + reason
		change(&c)
		f.cards = append(f.cards, c)
	}

	refuse(source.ReasonMissingValue, func(c *source.Card) { c.Name = " \u200b " })
	refuse(source.ReasonTooLong, func(c *source.Card) { c.Name = strings.Repeat("é", 201) })
	refuse(source.ReasonBadText, func(c *source.Card) { c.Name = "\xff" })
	refuse(source.ReasonBadGame, func(c *source.Card) { c.Game = "chess" })
	refuse(source.ReasonDuplicateID, func(c *source.Card) { c.Ref = "good" })
	refuse(source.ReasonBadRef, func(c *source.Card) { c.Ref = "a\x00b" })
	f.cards = append(f.cards, source.Card{
		At: at, Ref: "long", Game: "pokemon", SetRef: "s", Name: strings.Repeat("é", 200),
		Number: strings.Repeat("1", 101), Rarity: "None", UpdatedAt: snapshot.NoTime,
	})
	r := one(t, Options{SnapshotAt: atDay(today)}, f)
	want := map[string]int{
		source.ReasonMissingValue: 1, source.ReasonTooLong: 2, source.ReasonBadText: 1, source.ReasonBadGame: 1,
		source.ReasonDuplicateID: 1, source.ReasonBadRef: 1,
	}
	for reason, n := range want {
		if r.QuarantineCounts[reason] != n {
			t.Errorf("%d records are refused as %q, want %d", r.QuarantineCounts[reason], reason, n)
		}
	}

	if n := r.Catalog.Cards.ID.Len(); n != 2 {
		t.Fatalf("the catalog has %d cards, want 2", n)
	}

	row := cardRow(r.Catalog, "shop", "long")
	number := r.Catalog.Cards.Number.At(row)
	rarity := r.Catalog.Cards.Rarity.At(row)
	if number != "" || rarity != "" {
		t.Errorf("the card has number %q and rarity %q, want neither", number, rarity)
	}

	if lines := strings.Split(strings.TrimSpace(string(r.Quarantine)), "\n"); len(lines) != 7 ||
		lines[0] != `{"reason":"missing_value","file":"cards.jsonl","line":7,"ref":"bad missing_value",`+
			`"value":"name"}` {
		t.Errorf("the quarantine report is %q", lines)
	}
}

func TestQuarantineIsBounded(t *testing.T) {
	// To write a line takes the same time for each of them, so that make test begins with most of them.
	begun := maxQuarantine - maxQuarantine/depth.Every(20)
	q := quarantine{kept: begun, counts: map[string]int{source.ReasonBadRow: begun}}
	for range maxQuarantine - begun + 5 {
		q.add(source.Quarantine{Reason: source.ReasonBadRow})
	}

	q.refuse(source.At{}, source.ReasonBadText, "r", strings.Repeat("é", 400))
	if q.counts[source.ReasonBadRow] != maxQuarantine+5 || q.cut != 6 || q.kept != maxQuarantine {
		t.Errorf("the report counts %v, keeps %d and cuts %d", q.counts, q.kept, q.cut)
	}

	if got := source.Clip(strings.Repeat("é", 101), maxQuarantineValue); got != strings.Repeat("é", 100)+"…" {
		t.Errorf("cut gives %q", got)
	}
}
