package engine

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"ninepocket/index"
	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// nextDay moves the prices of a world to other cards.
func nextDay(w *fixture.World, seed uint64) *fixture.World {
	r := rand.New(rand.NewPCG(seed, 43))
	next := w.Clone()
	r.Shuffle(len(next.Cards), func(i, k int) {
		next.Cards[i].Lanes, next.Cards[k].Lanes = next.Cards[k].Lanes, next.Cards[i].Lanes // air: a swap
	})
	return next
}

// viewAfter is the View of a catalog, made with an earlier one.
func viewAfter(tb testing.TB, earlier *View, c *snapshot.Catalog) *View {
	tb.Helper()
	site := wire.URLs{URL: "https://cards.example", ProductPrefix: "np"}
	v, err := newView(tb.Context(), earlier, c, site, func() {}, &Phases{})
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// TestViewAfterIsView compares Views that were made with an earlier one to those that were made alone:
// after a day of prices, after a day with another card and another name, and back.
func TestViewAfterIsView(t *testing.T) {
	first := fixture.Random(3, fixture.Size{Sets: 5, Cards: 900, Sealed: 9, Days: 30})
	prices := nextDay(first, 1)
	texts := nextDay(prices, 2)
	texts.Cards[3].Name = "Another Name"
	texts.Cards = append(texts.Cards[:8:8], texts.Cards[9:]...)

	v := viewAfter(t, nil, first.Catalog())
	for _, day := range []*fixture.World{prices, texts, prices, first} {
		v = viewAfter(t, v, day.Catalog())
		alone := viewAfter(t, nil, day.Catalog())
		if all := sizeOf(alone.texts.chunks); v.Shared() < all*9/10 || v.texts.size() > alone.texts.size()*5/4 {
			t.Errorf("%d of %d bytes are shared", v.Shared(), all)
		}
		sameView(t, v, alone)
	}
}

func sameView(t *testing.T, v, alone *View) {
	t.Helper()
	f := func(what string, of func(v *View) []byte) {
		t.Helper()
		got := string(of(v))
		if want := string(of(alone)); got != want {
			t.Fatalf("%s is\n%s\nwant\n%s", what, got, want)
		}
	}

	var cards, sets, rows []uint32
	for card := range v.Catalog.Cards.ID.Len() {
		cards = append(cards, uint32(card))
		f("detail", func(v *View) []byte { return v.AppendDetail(nil, card) })
		f("entry", func(v *View) []byte { return v.AppendPriceEntry(nil, card) })
		f("rows", func(v *View) []byte { return v.AppendLaneRows(nil, card, "") })
		if v.DetailTag(card) != alone.DetailTag(card) {
			t.Fatalf("card %d has two tags", card)
		}
	}
	for set := range v.Catalog.Sets.ID.Len() {
		sets = append(sets, uint32(set))
		f("set", func(v *View) []byte { return v.SetDetail(set) })
	}
	for row := range v.Index.Products().Items() {
		rows = append(rows, uint32(row))
	}

	f("summaries", func(v *View) []byte { return v.AppendSummaries(nil, cards) })
	f("sets", func(v *View) []byte { return v.AppendSets(nil, sets) })
	f("products", func(v *View) []byte { return v.AppendProducts(nil, rows) })
	f("facets", (*View).Facets)
	if v.ProductsHash != alone.ProductsHash {
		t.Error("the products have two hashes")
	}

	for card := 0; card < len(cards); card += 7 {
		q := index.Query{Words: v.Catalog.Cards.Name.At(card), HasWords: true, Filter: index.NoFilter}
		matches := v.Index.Matches(nil, q, 50)
		if len(matches) == 0 || !slices.Equal(matches, alone.Index.Matches(nil, q, 50)) {
			t.Fatalf("search for %q differs", q.Words)
		}
	}
}

// TestEarlierViewIsFreed checks that a View holds nothing of the one that it was made with but what it
// shares.
func TestEarlierViewIsFreed(t *testing.T) {
	world := fixture.Random(3, fixture.Size{Sets: 5, Cards: 900, Sealed: 9, Days: 30})
	freed := make(chan string, 5)
	v := func() *View {
		first := viewAfter(t, nil, world.Catalog())
		runtime.AddCleanup(first, func(what string) { freed <- what }, "View")
		runtime.AddCleanup(first.Catalog, func(what string) { freed <- what }, "catalog")
		runtime.AddCleanup(first.Index, func(what string) { freed <- what }, "index")
		for what, column := range map[string]*snapshot.Strings{
			"names": &first.Catalog.Cards.Name, "namespaces": &first.Catalog.Identifiers.Namespace,
		} {
			runtime.AddCleanup(unsafe.StringData(column.At(0)), func(what string) { freed <- what }, what)
		}
		return viewAfter(t, first, nextDay(world, 1).Catalog())
	}()

	left := []string{"View", "catalog", "index", "names", "namespaces"}
	for try := 0; try < 1000 && len(left) > 0; try++ {
		runtime.GC() // a search may be in a pool, which two collections empty
		select {
		case what := <-freed:
			left = slices.DeleteFunc(left, func(of string) bool { return of == what })
		default:
		}
	}
	if len(left) > 0 {
		t.Errorf("not freed: %q", left)
	}
	runtime.KeepAlive(v)
}

// TestUnusedChunks changes a part of the records again and again: those that nobody reads take a quarter
// of the bytes at most.
func TestUnusedChunks(t *testing.T) {
	const n = 1000
	version := make([]byte, n)
	encode := func(dst []byte, i int) []byte {
		return append(append(dst, make([]byte, 500)...), version[i], byte(i), byte(i>>8))
	}
	same := func(i int) (int, bool) { return i, true }

	f := newFragments(nil, nil, func() {}, n, encode)
	shared := 0
	for day := range 100 {
		// A twentieth of the records changes.
		for i := range n / 20 {
			version[(day*n/20+i)%n]++
		}

		f = newFragments(&f, same, func() {}, n, encode)
		for i := range n {
			if string(f.at(i)) != string(encode(nil, i)) {
				t.Fatalf("day %d: record %d differs", day, i)
			}
		}

		if bytes := sizeOf(f.chunks); bytes > 503*n*5/4 {
			t.Fatalf("day %d: %d bytes for %d", day, bytes, 503*n)
		}
		if f.shared > 0 {
			shared++
		}
	}
	if shared < 60 {
		t.Errorf("on %d of 100 days records were shared", shared)
	}

	// A record a day leaves a small chunk a day.
	for day := range 100 {
		version[day]++
		f = newFragments(&f, same, func() {}, n, encode)
		if len(f.chunks) > 2*2+maxSmall {
			t.Fatalf("day %d: %d chunks", day, len(f.chunks))
		}
	}

	// If all differ, few are compared.
	calls := 0
	f = newFragments(nil, nil, func() {}, 9*n, func(dst []byte, i int) []byte { return encode(dst, i%n) })
	f = newFragments(&f, same, func() {}, 9*n, func(dst []byte, i int) []byte {
		calls++
		return append(encode(dst, i%n), 'x')
	})
	if f.shared != 0 || calls > 11*n {
		t.Errorf("%d chunks are shared, and %d records were encoded", f.shared, calls)
	}
}

// TestOwnSize serves another View, two days that share texts, and the first of them again. What is retired is
// counted whole, but for texts of the View that was made after it.
func TestOwnSize(t *testing.T) {
	world := fixture.Random(3, fixture.Size{Sets: 5, Cards: 900, Sealed: 9, Days: 30})
	day := func(id string, earlier *View, w *fixture.World) *View {
		c := w.Catalog()
		c.ID = id
		return viewAfter(t, earlier, c)
	}

	small := day("20260101T000000Z-0000000000000001", nil, fixture.Random(1, fixture.Small))
	first := day("20260101T000000Z-0000000000000002", nil, world)
	second := day("20260101T000000Z-0000000000000003", first, nextDay(world, 1))
	again := day(first.ID, second, world)

	e := New(nil, Options{RetiredBudget: 1 << 30})
	for _, served := range []struct {
		view *View
		want int64
	}{
		{small, 0},
		{first, small.Size()},
		{second, small.Size() + first.Size() - second.Shared()},
		{again, small.Size() + second.Size() - again.Shared()}, // first is current again
	} {
		e.Swap(served.view, time.Now())
		if _, bytes := e.retiredStats(); bytes != served.want {
			t.Errorf("%d bytes are retired, want %d", bytes, served.want)
		}
	}
	if second.Shared() == 0 || again.Shared() == 0 {
		t.Error("nothing is shared")
	}
}

// BenchmarkView makes the View of a catalog alone and with that of the day before. live is the memory of
// the View and its catalog.
func BenchmarkView(b *testing.B) {
	world := fixture.Random(3, fixture.Size{Sets: 20, Cards: 4000, Sealed: 20, Days: 30})
	next := nextDay(world, 1)
	catalog := next.Catalog()
	first := viewAfter(b, nil, world.Catalog())
	for _, with := range []struct {
		name    string
		earlier *View
	}{{"alone", nil}, {"after", first}} {
		b.Run(with.name, func(b *testing.B) {
			for b.Loop() {
				viewAfter(b, with.earlier, catalog)
			}
			b.StopTimer()

			before := liveHeap()
			v := viewAfter(b, with.earlier, next.Catalog())
			b.ReportMetric(float64(liveHeap()-before), "live")
			runtime.KeepAlive(v)
		})
	}
	runtime.KeepAlive(first)
}

func liveHeap() uint64 {
	runtime.GC()
	runtime.GC() // what pools held
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return memory.HeapAlloc
}
