package loader

import "testing"

// TestPrintedTotal follows a set's printed total from the source that has it to the joined set, and
// through a daily build of prices alone.
func TestPrintedTotal(t *testing.T) {
	other := newFake("other").set("b", "Base").card("4", "b", "Alakazam", "4").card("5", "b", "Abra", "5").card("130",
		"b", "Mewtwo", "130")

	other.sets[0].Total = 102
	f := newFake("shop").set("s", "Base").card("4", "s", "Alakazam", "4").card("5", "s", "Abra", "5").card("130", "s",
		"Mewtwo", "130")
	f.set("j", "Jungle").card("j4", "j", "Jynx", "4").card("j102", "j", "Gastly", "102") // whose highest number is 102
	f.price(priceRow("4", "normal", today, 1), priceRow("j4", "normal", today, 900))
	first := mustBuild(t, Options{Sources: []Input{{"native", "a"}, {"native", "b"}}},
		map[string]*fake{"a": f, "b": other}).Catalog
	day := newFake("shop")
	day.feed.HasCatalog = false
	day.price(priceRow("4", "normal", today+1, 2), priceRow("j4", "normal", today+1, 901))

	second := mustBuild(t, Options{Sources: []Input{{"native", "day"}}, Base: first},
		map[string]*fake{"day": day}).Catalog
	for _, c := range []*struct {
		what  string
		total uint16
	}{{"Base", 102}, {"Jungle", 0}} {
		for i := range second.Sets.ID.Len() {
			if second.Sets.Name.At(i) == c.what && (first.Sets.Total[i] != c.total || second.Sets.Total[i] != c.total) {
				t.Errorf("%s has the totals %d and %d, want %d", c.what, first.Sets.Total[i], second.Sets.Total[i],
					c.total)
			}
		}
	}
}
