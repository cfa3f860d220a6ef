package loader

import (
	"strings"
	"testing"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

func TestRecordsThatAreRefused(t *testing.T) {
	at := source.Location{File: "cards.jsonl", Line: 7}
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
