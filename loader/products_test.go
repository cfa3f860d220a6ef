package loader

import (
	"strings"
	"testing"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

func TestPrintingOf(t *testing.T) {
	f := func(name, number, want string) {
		t.Helper()
		if got := printingOf(name, number); got != want {
			t.Errorf("printingOf(%q, %q) = %q, want %q", name, number, got, want)
		}
	}

	f("Pikachu", "4/102", "standard")
	f("Nami (Alternate Art)", "OP01-016", "Alternate Art")
	f("Nami (016) (Manga)", "OP01-016", "Manga")
	f("Nami (016)", "OP01-016", "standard")
	f("Nami (OP01-016)", "OP01-016", "standard")
	f("Monkey.D.Luffy (119) (SP) (Gold)", "OP05-119", "SP, Gold")
	f("Machamp (Prerelease) [Staff]", "59/108", "Prerelease, Staff")
	f("Deck Exclusive (151)", "4/102", "151")
	f("Lonely (", "1", "standard")
	f("Empty ()", "1", "standard")
	f("X ("+strings.Repeat("a", 60)+") ("+strings.Repeat("b", 60)+")", "1", strings.Repeat("a", 60))
	f("X ("+strings.Repeat("a", 160)+")", "1", "standard")
}

func TestVerifiedCards(t *testing.T) {
	f := newFake("shop").set("s", "Base").
		card("ok", "s", "Abra (Gold)", "1").card("no set", "", "Mew", "2").card("no number", "s", "Energy",
		"").card("wrong set", "z", "Ditto", "3").
		card("told", "s", "Eevee (Gold)", "4")
	f.cards[4].Printing = "Galaxy Foil"
	f.card("code", "s", "Code Card - Base Elite Trainer Box", "")
	f.skipped = []string{"skipped"}
	f.price(priceRow("skipped", "normal", today, 1), priceRow("code", "normal", today, 1))
	r := one(t, Options{}, f)

	c := r.Catalog
	for ref, want := range map[string]struct {
		product  uint8
		printing string
	}{"ok": {1, "Gold"}, "no set": {0, "standard"}, "no number": {0, "standard"}, "wrong set": {
		0,
		"standard",
	}, "told": {1, "Galaxy Foil"}} {
		row := cardRow(c, "shop", ref)
		if c.Cards.Product[row] != want.product || c.Cards.Printing.At(row) != want.printing {
			t.Errorf("card %q has product %d and printing %q", ref, c.Cards.Product[row], c.Cards.Printing.At(row))
		}
	}

	if u := r.Report.CardsUnverified; u["set"] != 2 || u["collector_number"] != 1 {
		t.Errorf("cards are unverified for %v", u)
	}

	if s := r.Report.Sources[0]; s.CodeCardsLeftOut != 2 || s.SetReferencesWrong != 1 ||
		r.Report.Prices[0].LeftOut != 2 || c.Cards.ID.Len() != 5 {
		t.Errorf("the report says %+v and %+v", s, r.Report.Prices[0])
	}
}

func TestProductOnTwoCards(t *testing.T) {
	f := newFake("shop").card("1", "", "Abra", "1").card("2", "", "Mew", "2").card("3", "", "Ditto", "3")
	same := []source.Identifier{{Namespace: "tcgplayer", Value: "85"}}
	f.cards[0].Identifiers = same
	f.cards[1].Identifiers = same
	f.cards[2].Identifiers = []source.Identifier{
		{Namespace: "shop", Value: "x"},
		{Namespace: "", Value: "y"},
		{Namespace: "z", Value: strings.Repeat("1", 201)},
	}

	f.feed.Partner = "tcgplayer"
	r := one(t, Options{SnapshotAt: atDay(today)}, f)
	if r.Catalog.Cards.ID.Len() != 3 {
		t.Error("a partner's number that stands for two cards is refused, but lookups return every candidate")
	}

	if q := r.QuarantineCounts; q[source.ReasonBadIdentifier] != 1 || q[source.ReasonTooLong] != 1 {
		t.Errorf("bad identifiers give %v", q)
	}

	f.feed.ProductRefs = true
	r = one(t, Options{SnapshotAt: atDay(today)}, f)
	if r.Catalog.Cards.ID.Len() != 2 || r.QuarantineCounts[source.ReasonProductOnTwoCards] != 1 ||
		cardRow(r.Catalog, "shop", "1") < 0 {
		t.Errorf("one product on two cards gives %v", r.QuarantineCounts)
	}

	f.feed.ProductRefs = false
	f.cards[1].Identifiers = []source.Identifier{{Namespace: "shop", Value: "x"}}
	r = one(t, Options{SnapshotAt: atDay(today)}, f)
	if r.Catalog.Cards.ID.Len() != 2 || r.QuarantineCounts[source.ReasonProductOnTwoCards] != 1 {
		t.Errorf("one own identifier on two cards gives %v", r.QuarantineCounts)
	}
}

func TestOwnRefIsPartnerIdentifier(t *testing.T) {
	f := newFake("shop").card("85", "", "Abra", "1")
	f.feed.Partner = "shop"
	c := one(t, Options{SnapshotAt: atDay(today)}, f).Catalog
	if c.Identifiers.Value.Len() != 1 || c.Identifiers.Value.At(0) != "85" ||
		c.Identifiers.Namespace.At(0) != "shop" || c.Feeds.Partner.At(0) != "shop" {
		t.Errorf("the card's identifiers are %q", stringsOf(&c.Identifiers.Value))
	}
}

func TestCatalogOrder(t *testing.T) {
	f := newFake("shop").set("old", "Old").set("new", "New").set("undated", "A").set("new2", "Also New")
	// two are announced
	f.sets[0].Release = 10_000
	f.sets[1].Release = today + 30
	f.sets[3].Release = today + 30
	want := []string{
		"new2-1", "new-2", "new-4", "new-4a", "new-10", "new-tg2", "new-tg10", "new-none", "old-1",
		"undated-1", "none-1",
	}

	numbers := map[string]string{"new-none": "", "new-tg2": "TG02/TG30", "new-tg10": "TG10/TG30"}
	for _, ref := range []string{
		"none-1", "new-10", "new-none", "new-4a", "undated-1", "new-tg10", "new-2", "old-1",
		"new-tg2", "new-4", "new2-1",
	} {
		set, number, _ := strings.Cut(ref, "-")
		if n, ok := numbers[ref]; ok {
			number = n
		}
		if set == "none" {
			set = ""
		}
		f.card(ref, set, "Card "+ref, number)
	}

	f.price(priceRow("old-1", "normal", today, 5), priceRow("none-1", "foil", today, 900),
		priceRow("new-2", "foil", today, 5))
	c := one(t, Options{}, f).Catalog
	for rank, ref := range want {
		if got := c.Cards.Order[cardRow(c, "shop", ref)]; int(got) != rank {
			t.Errorf("card %q has rank %d, want %d", ref, got, rank)
		}
	}

	for row, ref := range []string{"none-1", "new-2", "old-1", "new2-1", "new-4"} {
		if got := cardRow(c, "shop", ref); got != row {
			t.Errorf("card %q has row %d, want %d", ref, got, row)
		}
	}

	if got := strings.Join(stringsOf(&c.Sets.Name), ","); got != "Also New,New,Old,A" {
		t.Errorf("the sets are %q", got)
	}

	if c.Sets.Cards[1] != 7 || c.Sets.Cards[0] != 1 {
		t.Errorf("the sets have %v cards", c.Sets.Cards)
	}

	if got := strings.Join(stringsOf(&c.Variants), ","); got != ",normal,foil" {
		t.Errorf("the variants are %q", got)
	}

	if at := c.Cards.UpdatedAt[cardRow(c, "shop", "old-1")]; at != snapshot.Day(10_000).Start() {
		t.Errorf("a card of a dated set changed at %s", timeText(at))
	}

	for _, ref := range []string{"none-1", "new-2"} {
		if at := c.Cards.UpdatedAt[cardRow(c, "shop", ref)]; at != c.SnapshotAt {
			t.Errorf("card %q, which has no past date, changed at %s", ref, timeText(at))
		}
	}
}
