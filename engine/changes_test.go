package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ninepocket/engine"
	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
)

// month is a View with the changes of a number of releases. Each moves every n-th price.
func month(tb testing.TB, cards, publications, n int) (v *engine.View, first string, deltas []*snapshot.Delta) {
	tb.Helper()
	w := fixture.Random(1, fixture.Size{Sets: 20, Cards: cards, Days: 1})
	src := newSource()
	before := src.add(0, w)
	first = before
	for day := 1; day <= publications; day++ {
		w.At += 1000
		moved := 0
		for i := range w.Cards {
			for k := range w.Cards[i].Lanes {
				lane := &w.Cards[i].Lanes[k]
				if lane.Cents == snapshot.NoCents {
					continue
				}
				moved++
				if (moved+day)%n == 0 {
					lane.Cents += 10
					lane.Points = []snapshot.Point{{Day: w.Date(), Cents: lane.Cents}}
				}
			}
		}

		id := src.add(day, w)
		delta, err := snapshot.NewDelta(src.catalogs[before], src.catalogs[id], uint64(day))
		if err != nil {
			tb.Fatal(err)
		}
		deltas = append([]*snapshot.Delta{delta}, deltas...)
		if day > 1 {
			delete(src.catalogs, before)
		}
		before = id
	}

	src.publish(before)
	known := deltas
	e := engine.New(src, engine.Options{
		Site: site, Deltas: func() ([]*snapshot.Delta, error) { return known, errors.New("one is damaged") },
	})
	tb.Cleanup(e.Close)
	if err := e.Open(time.Now()); err != nil {
		tb.Fatal(err)
	}
	return e.View(), first, deltas
}

// TestChangesOfAMonth checks that a View knows the changes of 30 releases back, and not of 31, even
// if the store has more.
func TestChangesOfAMonth(t *testing.T) {
	v, first, deltas := month(t, 30, snapshot.MaxDeltas, 2)
	if !v.KnowsChanges(first) || !v.KnowsChanges(v.ID) || v.KnowsChanges("none") || len(deltas) != snapshot.MaxDeltas {
		t.Errorf("%d deltas, and it does not know the first", len(deltas))
	}
	page, last := v.AppendChanges(nil, engine.ChangesQuery{Kind: snapshot.PriceRow, Since: first, Limit: 3})
	if strings.Count(string(page), `{"id":`) != 3 || last == 0 {
		t.Errorf("a page of 3: %s", page)
	}

	v, first, _ = month(t, 30, snapshot.MaxDeltas+1, 2)
	if v.KnowsChanges(first) {
		t.Error("it knows 31 publications back")
	}
}

// BenchmarkChanges appends pages of a month of changes, a third of the prices a day.
func BenchmarkChanges(b *testing.B) {
	v, first, _ := month(b, 5000, snapshot.MaxDeltas, 3)
	for _, limit := range []int{100, 5000} {
		b.Run(fmt.Sprint(limit), func(b *testing.B) {
			query := engine.ChangesQuery{Kind: snapshot.PriceRow, Since: first, Limit: limit}
			page, last := v.AppendChanges(nil, query)
			if last == 0 {
				b.Fatalf("fewer than %d rows", limit)
			}

			b.ReportAllocs()
			pages := 0
			for b.Loop() {
				// The small pages have the rows of the large one: a page that is read again and again is in the caches.
				if pages%(5000/limit) == 0 {
					query.After = 0
				}
				page, query.After = v.AppendChanges(page[:0], query)
				pages++
			}
			b.ReportMetric(float64(len(page)), "bytes")
		})
	}
}

// BenchmarkComposeChanges makes the changes of 30 days for a View, and reports their memory.
func BenchmarkComposeChanges(b *testing.B) {
	v, _, deltas := month(b, 5000, snapshot.MaxDeltas, 3)
	rows := 0
	for _, delta := range deltas {
		named, err := delta.Rows(func() {})
		if err != nil {
			b.Fatal(err)
		}
		rows += len(named)
	}

	for b.Loop() {
		if err := engine.ComposeChanges(v, deltas); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rows), "rows")
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/float64(rows)*1e9, "ns/row")
}
