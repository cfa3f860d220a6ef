package loader

import (
	"slices"
	"strings"
	"testing"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// dayOf builds a day of a shop on a base: cards by reference and name, each with a price of the day.
func dayOf(t *testing.T, o Options, date snapshot.Day, names map[string]string) *Result {
	t.Helper()
	shop := newFake(source.KindTCGCSV).set("s", "Base")
	for _, ref := range []string{"3/1", "3/2", "3/3", "3/4"} {
		if name := names[ref]; name != "" {
			shop.card(ref, "s", name, "4/102").price(priceRow(ref, "normal", date, int64(date)))
		}
	}
	o.Sources = []Input{{source.KindTCGCSV, "shop"}}
	o.SnapshotAt = atDay(date)
	return mustBuild(t, o, map[string]*fake{"shop": shop})
}

// TestUnlisted: a card that its source does not list any more stays with id, slug and history. Its price
// stands for a week, and after a year without a price it leaves.
func TestUnlisted(t *testing.T) {
	both := map[string]string{"3/1": "Abra", "3/2": "Mew"}
	one := map[string]string{"3/2": "Mew"}
	first := dayOf(t, Options{}, today, both).Catalog
	id := first.Cards.ID.At(cardRow(first, source.KindTCGCSV, "3/1"))

	c := first
	for _, later := range []snapshot.Day{1, 7, 8, 300, 365, 366} {
		c = dayOf(t, Options{Base: c}, today+later, one).Catalog
		row := slices.Index(stringsOf(&c.Cards.ID), id)
		if row < 0 {
			t.Fatalf("after %d days the card is gone", later)
		}
		if since := c.UnlistedSince(row); since != today+1 {
			t.Errorf("after %d days it is unlisted since %s", later, since)
		}
		if priced := c.Cards.Display[row] >= 0; priced != (later <= 7) {
			t.Errorf("after %d days it has a price: %t", later, priced)
		}
	}

	gone := dayOf(t, Options{Base: c}, today+367, one).Catalog
	if slices.Contains(stringsOf(&gone.Cards.ID), id) {
		t.Error("it stays after a year")
	}

	// Listed again, it is unchanged.
	back := dayOf(t, Options{Base: dayOf(t, Options{Base: first}, today+1, one).Catalog}, today+2, both).Catalog
	row := cardRow(back, source.KindTCGCSV, "3/1")
	if back.Cards.ID.At(row) != id || back.UnlistedSince(row) != snapshot.NoDay {
		t.Errorf("it came back as %q, unlisted since %s", back.Cards.ID.At(row), back.UnlistedSince(row))
	}
	if points := lane(t, back, source.KindTCGCSV, "3/1", "normal near_mint").History; len(points) != 2 {
		t.Errorf("its history is %v", points)
	}
}

// TestRemoved: only an operator's word takes a card out of the catalog at once, and its row's deletion
// brings it back.
func TestRemoved(t *testing.T) {
	both := map[string]string{"3/1": "Abra", "3/2": "Mew"}
	first := dayOf(t, Options{}, today, both).Catalog
	row := cardRow(first, source.KindTCGCSV, "3/1")
	id := first.Cards.ID.At(row)
	dir := t.TempDir()
	writeFile(t, dir, removedFile, "kind,namespace,ref,reason\ncard,tcgcsv,3/1,it is a proxy\n")

	second := dayOf(t, Options{Base: first, Mapping: dir}, today+1, both)
	if cardRow(second.Catalog, source.KindTCGCSV, "3/1") >= 0 || second.Report.Removed != 1 {
		t.Errorf("it stays; the report says %+v", second.Report)
	}
	if n := second.QuarantineCounts[source.ReasonUnknownItem]; n > 0 {
		t.Errorf("%d of its prices are mistakes", n)
	}

	if len(second.Report.MappingRemarks) > 0 {
		t.Errorf("a row with an effect has the remark %q", second.Report.MappingRemarks)
	}

	if name, last, gone := second.Catalog.GoneCard(id); !gone || name != "Abra" || last != today {
		t.Errorf("of the card is known %q, last on %s", name, last)
	}
	if _, _, gone := second.Catalog.GoneCard(first.Cards.Slug.At(row)); !gone {
		t.Error("its slug leads nowhere")
	}

	// A row that names nothing is reported; a row of a card that left before is not.
	writeFile(t, dir, removedFile, "kind,namespace,ref,reason\ncard,tcgcsv,3/1,a proxy\ncard,tcgcsv,3/77,a proxy\n"+
		"set,tcgcsv,3/1,no set\n")
	wrong := dayOf(t, Options{Base: second.Catalog, Mapping: dir}, today+2, map[string]string{"3/2": "Mew"})
	want := []string{
		`removed.csv: no source lists the card "tcgcsv/3/77", and no earlier catalog had it`,
		`removed.csv: no source lists the set "tcgcsv/3/1", and no earlier catalog had it`,
	}
	if !slices.Equal(wrong.Report.MappingRemarks, want) {
		t.Errorf("the remarks are %q", wrong.Report.MappingRemarks)
	}

	third := dayOf(t, Options{Base: second.Catalog}, today+2, both).Catalog
	if _, _, gone := third.GoneCard(id); gone {
		t.Error("it is there and gone")
	}
	row = cardRow(third, source.KindTCGCSV, "3/1")
	if row < 0 || third.Cards.ID.At(row) != id {
		t.Error("it did not come back with its id")
	}
}

// TestContinued: a card that its source lists under another reference is proposed as one card. With an
// operator's alias it continues as one, whether the alias comes at once or after both were published.
func TestContinued(t *testing.T) {
	before := map[string]string{"3/1": "Abra", "3/2": "Mew"}
	after := map[string]string{"3/3": "Abra", "3/2": "Mew"}
	first := dayOf(t, Options{}, today, before).Catalog
	old := cardRow(first, source.KindTCGCSV, "3/1")
	id := first.Cards.ID.At(old)
	slug := first.Cards.Slug.At(old)

	apart := dayOf(t, Options{Base: first}, today+1, after)
	if len(apart.Report.Relisted) != 1 || apart.Report.Relisted[0].Row != "card,tcgcsv,3/3,tcgcsv,3/1" {
		t.Fatalf("proposed is %+v", apart.Report.Relisted)
	}
	remarks := strings.Join(apart.Report.Remarks(first.Date().String(), func() string { return "" }), "\n")
	if !strings.Contains(remarks, "card,tcgcsv,3/3,tcgcsv,3/1") || !strings.Contains(remarks, "no source lists") {
		t.Errorf("the remarks are %s", remarks)
	}

	dir := t.TempDir()
	writeFile(t, dir, aliasesFile, strings.Join(aliasesHeader, ",")+"\n"+apart.Report.Relisted[0].Row+"\n")
	for name, base := range map[string]*snapshot.Catalog{"at once": first, "a day later": apart.Catalog} {
		date := max(base.Date()+1, today+1)
		c := dayOf(t, Options{Base: base, Mapping: dir}, date, after).Catalog
		row := cardRow(c, source.KindTCGCSV, "3/3")
		if c.Cards.ID.Len() != 2 || c.Cards.ID.At(row) != id || c.Cards.Slug.At(row) != slug {
			t.Errorf("%s: %d cards, one is %q %q, want %q %q", name, c.Cards.ID.Len(), c.Cards.ID.At(row),
				c.Cards.Slug.At(row), id, slug)
		}
		points := lane(t, c, source.KindTCGCSV, "3/3", "normal near_mint").History
		if len(points) != int(date-today)+1 {
			t.Errorf("%s: its history is %v", name, points)
		}
	}

	writeFile(t, dir, aliasesFile, strings.Join(aliasesHeader, ",")+"\ncard,tcgcsv,3/3,tcgcsv,3/99\n")
	shop := newFake(source.KindTCGCSV).set("s", "Base").card("3/3", "s", "Abra", "4/102")
	_, err := buildFrom(Options{Sources: []Input{{source.KindTCGCSV, "shop"}}, Base: first, Mapping: dir},
		map[string]*fake{"shop": shop})
	if err == nil || !strings.Contains(err.Error(), "has no effect") {
		t.Errorf("an alias of nothing: %v", err)
	}
}

// TestAliasRemarks checks that the operator gets a message about each alias that does not have its effect.
func TestAliasRemarks(t *testing.T) {
	shop := newFake(source.KindTCGCSV).set("s", "Base").set("u", "Fossil").
		card("3/1", "s", "Abra", "1/102").card("3/2", "s", "Mew", "2/102").card("3/3", "s", "Mew", "3/102")
	files := map[string]*fake{"shop": shop}
	o := Options{Sources: []Input{{source.KindTCGCSV, "shop"}}, SnapshotAt: atDay(today)}
	first := mustBuild(t, o, files).Catalog
	remarks := func(rows ...string) string {
		t.Helper()
		dir := t.TempDir()
		writeFile(t, dir, aliasesFile, strings.Join(aliasesHeader, ",")+"\n"+strings.Join(rows, "\n")+"\n")
		o := Options{
			Sources: []Input{{source.KindTCGCSV, "shop"}}, Base: first, Mapping: dir, SnapshotAt: atDay(today + 1),
		}
		return strings.Join(mustBuild(t, o, files).Report.MappingRemarks, "\n")
	}

	for row, want := range map[string]string{
		"card,tcgcsv,3/1,tcgcsv,3/2": `tcgcsv/3/1 ("Abra") and tcgcsv/3/2 ("Mew") have become one card`,
		"card,tcgcs,3/9,tcgcsv,3/2":  "1 aliases name a source that no build has read (is it misspelt?): tcgcs/3/9",
		"set,tcgcsv,s,tcgcsv,u":      "1 aliases have no effect, because sources list both sides apart: tcgcsv/s",
	} {
		if got := remarks(row); !strings.HasPrefix(got, "aliases.csv: "+want) {
			t.Errorf("%s: the remarks are %q, want %q", row, got, want)
		}
	}

	for _, row := range []string{"card,tcgcsv,3/2,tcgcsv,3/3", "card,pokemon-tcg-data,base1-1,tcgcsv,3/2"} {
		if got := remarks(row); got != "" {
			t.Errorf("%s has the remarks %q", row, got)
		}
	}
}

// TestSetOfAnAlias checks that a set of the base that is listed under another reference, with few of its
// cards, continues by an operator's alias.
func TestSetOfAnAlias(t *testing.T) {
	shop := newFake(source.KindTCGCSV).set("s", "Base").card("3/1", "s", "Abra", "1/102").
		card("3/2", "s", "Mew", "2/102")
	o := Options{Sources: []Input{{source.KindTCGCSV, "shop"}}, SnapshotAt: atDay(today)}
	first := mustBuild(t, o, map[string]*fake{"shop": shop}).Catalog

	o.Base = first
	o.Mapping = t.TempDir()
	again := newFake(source.KindTCGCSV).set("v", "Base Set").card("3/2", "v", "Mew", "2/102").
		card("3/7", "v", "Muk", "7/102")
	for _, alias := range []bool{false, true} {
		if alias {
			writeFile(t, o.Mapping, aliasesFile, strings.Join(aliasesHeader, ",")+"\nset,tcgcsv,v,tcgcsv,s\n")
		}
		c := mustBuild(t, o, map[string]*fake{"shop": again}).Catalog
		if is := slices.Contains(stringsOf(&c.Sets.ID), first.Sets.ID.At(0)) && c.Sets.ID.Len() == 1; is != alias {
			t.Errorf("with an alias (%t) the sets are %q", alias, stringsOf(&c.Sets.ID))
		}
	}
}
