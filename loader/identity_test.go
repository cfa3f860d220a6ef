package loader

import (
	"errors"
	"regexp"
	"testing"

	"ninepocket/snapshot"
)

// TestTailIsFrozen pins the derivation: ids are public.
func TestTailIsFrozen(t *testing.T) {
	// printf 'tcgcsv\0003/85' | sha256sum, the first 10 bytes in base32.
	if got := tailOf(fullRef("tcgcsv", "3/85")); got != "3avpeeff7zdon7bj" {
		t.Errorf("the tail is %q", got)
	}
	if !regexp.MustCompile(`^[a-z2-7]{16}$`).MatchString(tailOf("x")) {
		t.Errorf("the tail is %q", tailOf("x"))
	}
}

func TestCollisionIsAnError(t *testing.T) {
	r := newRegistry(&snapshot.Catalog{})
	r.derive = func(string) string { return "aaaaaaaaaaaaaaaa" }
	_, err := r.assignTails([][]string{{"a\x001"}, {"a\x002"}}, r.items)
	var collision *CollisionError
	if !errors.As(err, &collision) || collision.A != "a\x001" || collision.B != "a\x002" {
		t.Errorf("the error is %v", err)
	}

	r = newRegistry(&snapshot.Catalog{})
	r.derive = func(string) string { return "aaaaaaaaaaaaaaaa" }
	r.items["gone\x009"] = "aaaaaaaaaaaaaaaa"
	_, err = r.assignTails([][]string{{"a\x001"}}, r.items)
	if !errors.As(err, &collision) {
		t.Errorf("a collision with an item that left gives %v", err)
	}
}

// TestIdentityOfJoinedItems: an id once published stays while a reference to it does.
func TestIdentityOfJoinedItems(t *testing.T) {
	r := newRegistry(&snapshot.Catalog{})
	a := "first\x00a"
	b := "second\x00b"
	get := func(known map[string]string, claims ...[]string) []string {
		t.Helper()
		tails, err := r.assignTails(claims, known)
		if err != nil {
			t.Fatal(err)
		}
		return tails
	}

	if got := get(nil, []string{a, b}); got[0] != tailOf(a) {
		t.Errorf("the first source does not own the id")
	}

	joined := map[string]string{a: tailOf(a), b: tailOf(a)}
	if got := get(joined, []string{b, a}); got[0] != tailOf(a) {
		t.Errorf("the order of sources changed an id")
	}

	if got := get(map[string]string{b: tailOf(b)}, []string{a, b}); got[0] != tailOf(b) {
		t.Errorf("a new source in front changed an id")
	}

	for _, claims := range [][][]string{{{a}, {b}}, {{b}, {a}}} {
		got := get(joined, claims...)
		for i, c := range claims {
			if got[i] != tailOf(c[0]) {
				t.Errorf("items that came apart have %v", got)
			}
		}
	}
}

// TestJoinedLaterLeadsOn: two cards become one, and the slug of the removed card leads to the
// other.
func TestJoinedLaterLeadsOn(t *testing.T) {
	inputs := func(name string) map[string]*fake {
		a := newFake("first").set("s", "Base").card("a", "s", "Abra", "1")
		b := newFake("second").set("s", "Base").card("b", "s", name, "1")
		return map[string]*fake{"a": a, "b": b}
	}

	o := Options{Sources: []Input{{"native", "a"}, {"native", "b"}}, SnapshotAt: atDay(today), IncludeUnmatched: true}
	apart := mustBuild(t, o, inputs("Kadabra")).Catalog
	if apart.Cards.ID.Len() != 2 {
		t.Fatalf("there are %d cards, want 2", apart.Cards.ID.Len())
	}

	o.Base = apart
	c := mustBuild(t, o, inputs("Abra")).Catalog
	id := cardPrefix + tailOf(fullRef("first", "a"))
	if c.Cards.ID.Len() != 1 || idOf(c, "second", "b", cardPrefix) != id {
		t.Fatalf("the second source's card is %q, want %q", idOf(c, "second", "b", cardPrefix), id)
	}

	if c.Registry.Slug.Len() != 1 || c.Registry.Slug.At(0) != "base-kadabra-1" || c.Registry.SlugID.At(0) != id {
		t.Errorf("the registry's slugs are %v of %v", stringsOf(&c.Registry.Slug), stringsOf(&c.Registry.SlugID))
	}
}

// TestReturningCard: a card that left and came back has its id and its slug.
func TestReturningCard(t *testing.T) {
	with := func(base *snapshot.Catalog, both bool) *snapshot.Catalog {
		f := newFake("shop").card("1", "", "Abra", "1")
		if both {
			f.card("2", "", "Mew", "2")
		}
		return one(t, Options{Base: base, SnapshotAt: atDay(today)}, f).Catalog
	}

	first := with(nil, true)
	back := with(with(first, false), true)
	for i := range first.Cards.ID.Len() {
		if first.Cards.ID.At(i) != back.Cards.ID.At(i) || first.Cards.Slug.At(i) != back.Cards.Slug.At(i) {
			t.Errorf("card %q became %q with slug %q", first.Cards.ID.At(i), back.Cards.ID.At(i), back.Cards.Slug.At(i))
		}
	}

	if back.Registry.Slug.Len() != 0 {
		t.Errorf("there are former slugs %v", stringsOf(&back.Registry.Slug))
	}
}

func TestSetAndCardOfOneRef(t *testing.T) {
	c := one(t, Options{SnapshotAt: atDay(today)}, newFake("shop").set("x", "Base").card("x", "x", "Abra", "1")).Catalog
	set := idOf(c, "shop", "x", setPrefix)
	card := idOf(c, "shop", "x", cardPrefix)
	if set != setPrefix+tailOf("shop\x00x") || card != cardPrefix+tailOf("shop\x00x") {
		t.Errorf("the set is %q and the card %q", set, card)
	}
}
