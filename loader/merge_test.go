package loader

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// joinWorld are two sources that describe some of the same cards in different words.
func joinWorld() map[string]*fake {
	shop := newFake("shop").set("s1", "SWSH04: Vivid Voltage").set("s2", "Base Set").set("s3", "Jungle").set("s4",
		"Only Here")
	shop.sets[1].Code = "BS"
	shop.card("a", "s1", "Pikachu", "043/185").card("b", "s1", "Pikachu (Cosmos Holo)", "043/185").
		card("c", "s2", "Nidoran F", "4/102").card("d", "s2", "Abra", "7").card("e", "s3", "Eevee", "51").
		card("f", "s3", "Twin", "1").card("g", "s3", "Twin (Gold)", "1").card("h", "s4", "Mew", "9")
	data := newFake("data").set("swsh4", "Vivid Voltage").set("base1", "Base").set("base2", "Jungle").set("x",
		"Unknown Set")
	data.sets[1].Code = "bs"
	data.sets[1].Series = "Original"
	data.sets[1].Release = 10_600
	data.sets[1].Aliases = []string{"First Edition"}
	data.card("swsh4-43", "swsh4", "Pikachu", "43").card("base1-4", "base1", "Nidoran ♀", "4").card("base1-7",
		"base1", "Kadabra", "7").
		card("base2-51", "base2", "Eevee", "51").card("base2-1", "base2", "Twin", "1").card("base2-1b", "base2",
		"Twin", "1").
		card("x-1", "x", "Mew", "9")

	for i := range data.cards {
		data.cards[i].Rarity = "Rare"
		data.cards[i].Image = data.cards[i].Ref + ".png"
	}

	return map[string]*fake{"shop": shop, "data": data}
}

func twoSources(mapping string, include bool) Options {
	return Options{
		Sources: []Input{{"native", "shop"}, {"native", "data"}}, SnapshotAt: atDay(today), Mapping: mapping,
		IncludeUnmatched: include,
	}
}

func TestSourcesJoin(t *testing.T) {
	r := mustBuild(t, twoSources("", false), joinWorld())
	c := r.Catalog
	f := func(dataRef, shopRef string) {
		t.Helper()
		got := idOf(c, "data", dataRef, cardPrefix)
		want := idOf(c, "shop", shopRef, cardPrefix)
		if got != want {
			t.Errorf("card %q is joined with %q, want %q", dataRef, got, want)
		}
	}

	f("swsh4-43", "a")
	f("base2-51", "e")
	f("base1-4", "") // the names do not agree
	f("base1-7", "")
	f("base2-1", "") // not one to one
	f("x-1", "")     // another set
	if n := c.Cards.ID.Len(); n != 8 {
		t.Errorf("the catalog has %d cards, want the first source's 8", n)
	}

	s := r.Report.Sources[1]
	if s.SetsJoined != 3 || s.SetsUnmatched != 1 || s.CardsJoined != 2 || s.CardsEnriched != 2 ||
		s.CardsUnmatched != 5 || s.CardsAdded != 0 {
		t.Errorf("the report says %+v", s)
	}

	row := cardRow(c, "shop", "a")
	if c.Cards.Rarity.At(row) != "Rare" || c.Cards.Image.At(row) != "swsh4-43.png" ||
		c.Cards.Number.At(row) != "043/185" {
		t.Errorf("the joined card has rarity %q, image %q, number %q", c.Cards.Rarity.At(row), c.Cards.Image.At(row),
			c.Cards.Number.At(row))
	}

	set := int(c.Cards.Set[cardRow(c, "shop", "c")])
	if c.Sets.Name.At(set) != "Base Set" || c.Sets.Series.At(set) != "Original" || c.Sets.Release[set] != 10_600 ||
		c.Sets.Code.At(set) != "BS" {
		t.Errorf("the joined set is %q of %q", c.Sets.Name.At(set), c.Sets.Series.At(set))
	}

	from, to := c.Sets.Aliases.Range(set)
	if got := stringsOf(&c.Sets.Alias)[from:to]; !slices.Equal(got, []string{"Base", "First Edition", "bs"}) {
		t.Errorf("the joined set has aliases %q", got)
	}
}

func TestIncludeUnmatched(t *testing.T) {
	r := mustBuild(t, twoSources("", true), joinWorld())
	if n := r.Catalog.Cards.ID.Len(); n != 13 {
		t.Errorf("the catalog has %d cards, want 13", n)
	}
	if s := r.Report.Sources[1]; s.CardsUnmatched != 5 || s.CardsAdded != 5 {
		t.Errorf("the report says %+v", s)
	}
}

func TestAliasesAndIdentifiersJoin(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, aliasesFile, "kind,namespace,ref,target_namespace,target_ref\n"+
		"card,data,base1-7,shop,d\ncard,shop,f,data,base2-1\nset,data,x,shop,s4\n")
	inputs := joinWorld()
	inputs["data"].cards[1].Identifiers = []source.Identifier{
		{Namespace: "shop", Value: "c"},
		{Namespace: "grader", Value: "77"},
	}
	inputs["data"].price(priceRow("base1-7", "normal", today, 50))
	r := mustBuild(t, twoSources(dir, false), inputs)
	c := r.Catalog
	for dataRef, shopRef := range map[string]string{"base1-7": "d", "base2-1": "f", "base1-4": "c", "x-1": "h"} {
		if got, want := idOf(c, "data", dataRef, cardPrefix), idOf(c, "shop", shopRef, cardPrefix); got != want { // air: got and want
			t.Errorf("card %q is joined with %q, want %q", dataRef, got, want)
		}
	}

	if v := lane(t, c, "shop", "d", "normal near_mint"); v.Cents != 50 || v.Feed != "data" {
		t.Errorf("the joined card's price from the second source is %+v", v)
	}

	from, to := c.Identifiers.Of.Range(cardRow(c, "shop", "c"))
	if got := stringsOf(&c.Identifiers.Value)[from:to]; !slices.Equal(got, []string{"77", "c"}) {
		t.Errorf("the joined card's identifiers are %q", got)
	}
}

// TestJoinDoesNotDependOnOrder: the order of records inside a source changes nothing.
func TestJoinDoesNotDependOnOrder(t *testing.T) {
	want := sections(t, mustBuild(t, twoSources("", true), joinWorld()))
	inputs := joinWorld()
	for _, f := range inputs {
		slices.Reverse(f.cards)
		slices.Reverse(f.sets)
	}

	for name, sum := range sections(t, mustBuild(t, twoSources("", true), inputs)) {
		if want[name] != sum {
			t.Errorf("section %q depends on the order of records", name)
		}
	}
}

// TestSecondGame: a later source owns the games that no earlier one has.
func TestSecondGame(t *testing.T) {
	inputs := joinWorld()
	for i := range inputs["data"].sets {
		inputs["data"].sets[i].Game = "one-piece"
	}

	for i := range inputs["data"].cards {
		inputs["data"].cards[i].Game = "one-piece"
	}

	r := mustBuild(t, twoSources("", false), inputs)
	if s := r.Report.Sources[1]; s.CardsAdded != 7 || s.CardsUnmatched != 0 || s.CardsJoined != 0 ||
		r.Catalog.Cards.ID.Len() != 15 {
		t.Errorf("the report says %+v", s)
	}

	if got := stringsOf(&r.Catalog.Games.Slug); !slices.Equal(got, []string{"pokemon", "one-piece"}) {
		t.Errorf("the games are %q", got)
	}
}

func writeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestMappingErrorsNameTheLine(t *testing.T) {
	f := func(name, text, want string) {
		t.Helper()
		dir := t.TempDir()
		writeFile(t, dir, name, text)
		if _, err := loadMapping(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("mapping %q gives %v, want %q", text, err, want)
		}
	}

	const sealedHead = "namespace,ref,package_type,units_per_package,unit_kind,edition\n"
	const aliasHead = "kind,namespace,ref,target_namespace,target_ref\n"
	f(sealedFile, "ref\n", "its first line must be")
	f(sealedFile, sealedHead+"a,1,box,1,,\n", `line 2 has "box"`)
	f(sealedFile, sealedHead+"a,1,booster_box,none,,\n", `line 2 has units_per_package "none"`)
	f(sealedFile, sealedHead+"a,1,booster_box,0,,\n", `line 2 has units_per_package "0"`)
	f(sealedFile, sealedHead+"a,1,,1,,\na,1,,1,,\n", "line 3 has")
	f(sealedFile, sealedHead+",1,,1,,\n", "line 2 has no namespace")
	f(sealedFile, sealedHead+"a,1\n", "record on line 2")
	f(aliasesFile, aliasHead+"deck,a,1,b,2\n", `line 2 has kind "deck"`)
	f(aliasesFile, aliasHead+"card,a,,b,2\n", "line 2 has an empty field")
	f(aliasesFile, aliasHead+"card,a,1,a,1\n", "line 2 is an alias of itself")
	f(aliasesFile, aliasHead+"card,a,1,a,1\ncard,a,1,b,1\ndeck,a,1,b,2\n", "line 4 has kind \"deck\"")
	f(feedsFile, "[tcgcsv]\ndefault_conditions = \"x\"\n", "default_conditions")
	f(feedsFile, "[tcgcsv]\ndefault_condition = \"mint\"\n", "default_condition")
	f(feedsFile, "[tcgcsv]\nas_of = \"yesterday\"\n", "as_of")
	f(feedsFile, "[tcgcsv]\nas_of = 5\n", "no time")
	if _, err := loadMapping(filepath.Join(t.TempDir(), "absent")); err == nil {
		t.Error("an absent mapping directory is accepted")
	}
}

func TestFeedOptions(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, feedsFile,
		"[shop]\ndefault_condition = \"near_mint\"\nas_of = 2026-08-22T19:00:00Z\nattribution = "+
			"\"Us\"\npartner_namespace = \"p\"\n"+
			"[tcgcsv]\nas_of = \"2026-08-22T19:00:00Z\"\n")
	m, err := loadMapping(dir)
	if err != nil {
		t.Fatal(err)
	}

	if o := m.feeds["shop"]; o.DefaultCondition != "near_mint" || o.Attribution != "Us" || o.Partner != "p" ||
		o.AsOf != m.feeds["tcgcsv"].AsOf || o.AsOf.IsZero() {
		t.Errorf("the feed's options are %+v", o)
	}

	// A native source is known by its namespace, which is known only after opening.
	var opened []source.Options
	b, err := newBuilder(Options{Sources: []Input{{"native", "a"}}, Mapping: dir},
		func(_, _ string, o source.Options) (source.Source, error) {
			opened = append(opened, o)
			return newFake("shop"), nil
		})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.openAll(b.o.Sources); err != nil || len(opened) != 2 || opened[1].Attribution != "Us" {
		t.Errorf("the source was opened with %+v: %v", opened, err)
	}
}

func TestSealedMapping(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, sealedFile, "namespace,ref,package_type,units_per_package,unit_kind,edition\n"+
		"shop,etb,,9,,\nshop,case,booster_case,6,,standard\nshop,pc,,9,,pokemon_center\n")
	f := newFake("shop")
	add := func(ref, game, kind, edition string, units int) {
		f.sealed = append(f.sealed, source.Sealed{
			Ref: ref, Game: game, Name: "Product " + ref, PackageType: kind, Units: units, Edition: edition,
			UpdatedAt: snapshot.NoTime,
		})
	}

	add("etb", "pokemon", source.EliteTrainerBox, snapshot.StandardEdition, 0)
	add("case", "pokemon", "", "", 0)
	add("pc", "one-piece", source.BoosterBox, snapshot.StandardEdition, 24) // the mapping makes it impossible
	add("pc2", "one-piece", source.BoosterBox, "pokemon_center", 24)
	add("unknown", "pokemon", "", snapshot.StandardEdition, 1)
	add("units", "pokemon", source.BoosterBundle, snapshot.StandardEdition, 0)
	add("edition", "pokemon", source.BoosterBundle, "", 6)
	add("crate", "pokemon", "crate", snapshot.StandardEdition, 6)
	f.price(priceRow("units", "", today, 5))
	r := one(t, Options{SnapshotAt: atDay(today), Mapping: dir}, f)
	c := r.Catalog
	if c.Sealed.Tail.Len() != 2 {
		t.Fatalf("there are %d products, want 2: %v", c.Sealed.Tail.Len(), r.Report.SealedLeftOut)
	}

	for i := range 2 {
		want := map[string]string{
			"Product etb":  "elite_trainer_box booster_pack",
			"Product case": "booster_case booster_box",
		}[c.Sealed.Name.At(i)]
		if got := c.Sealed.PackageType.At(i) + " " + c.Sealed.UnitKind.At(i); got != want ||
			c.Sealed.Edition.At(i) != snapshot.StandardEdition {
			t.Errorf("%q is %q", c.Sealed.Name.At(i), got)
		}
	}

	left := r.Report.SealedLeftOut
	if left["package_type"] != 1 || left["units_per_package"] != 1 || left["edition"] != 1 ||
		left[source.ReasonEditionOfGame] != 1 {
		t.Errorf("products were left out for %v", left)
	}

	if q := r.QuarantineCounts; q[source.ReasonEditionOfGame] != 2 || q[source.ReasonBadPackage] != 1 ||
		q[source.ReasonUnknownItem] != 0 {
		t.Errorf("products were refused for %v", q)
	}

	if r.Report.Prices[0].LeftOut != 1 {
		t.Errorf("the price of a product that was left out counts as %+v", r.Report.Prices[0])
	}
}

// TestSetsJoinByContent: sets that are named differently are the same when their cards agree, and
// only then.
func TestSetsJoinByContent(t *testing.T) {
	shop := newFake("shop")
	data := newFake("data")
	fill := func(f *fake, set, name string, numbers ...string) {
		f.set(set, name)
		for _, n := range numbers {
			f.card(set+n, set, "Card "+strings.TrimLeft(n, "0"), n)
		}
	}

	fill(shop, "a", "WoTC Promo", "1", "2", "3", "4", "5")
	fill(data, "x", "Wizards Black Star Promos", "01", "02", "03", "99")
	fill(shop, "b", "Kit: Plus and Minus", "11", "12", "13", "14", "15", "16") // two kits in one
	fill(data, "y", "Kit Plus", "11", "12", "13")
	fill(shop, "c", "First Print", "21", "22", "23") // tied
	fill(shop, "d", "Second Print", "21", "22", "23")
	fill(data, "z", "Prints", "21", "22", "23")
	fill(shop, "e", "Few", "31", "32")
	fill(data, "w", "Small", "31", "32")
	fill(shop, "f", "Expedition", "41")
	fill(data, "v", "Expedition Base Set", "41")
	c := mustBuild(t, twoSources("", false), map[string]*fake{"shop": shop, "data": data}).Catalog
	for dataRef, shopRef := range map[string]string{"x": "a", "y": "", "z": "", "w": "", "v": "f"} {
		if got, want := idOf(c, "data", dataRef, setPrefix), idOf(c, "shop", shopRef, setPrefix); got != want { // air: got and want
			t.Errorf("set %q is joined with %q, want %q", dataRef, got, want)
		}
	}

	if idOf(c, "data", "x02", cardPrefix) != idOf(c, "shop", "a2", cardPrefix) {
		t.Error("the cards of a set that was joined by content are not joined")
	}
}
