package snapshot_test

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ninepocket/internal/disk/disktest"
	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
)

// TestClosedDays: from one day to the next, the closed days stay, or 32 more are closed. They are always within
// the history.
func TestClosedDays(t *testing.T) {
	first, last := snapshot.ClosedDays(20_000)
	moves := 0
	for date := snapshot.Day(20_001); date < 20_400; date++ {
		wasFirst := first
		wasLast := last
		first, last = snapshot.ClosedDays(date)

		if first < snapshot.WindowStart(date, snapshot.HistoryDays) || last >= date || last-first > 364-32 {
			t.Errorf("on day %d, days %d to %d are closed", date, first, last)
		}
		if first == wasFirst && last == wasLast {
			continue
		}

		moves++
		if first != wasFirst+32 || last != wasLast+32 || last != date-1 {
			t.Errorf("on day %d, days %d to %d are closed after %d to %d", date, first, last, wasFirst, wasLast)
		}
	}
	if moves != 12 {
		t.Errorf("days are closed %d times in 400 days", moves)
	}
}

// TestClosedPoints reads windows of lanes whose points are partly of closed days.
func TestClosedPoints(t *testing.T) {
	checkOften(t, func(t *rapid.T) {
		date := snapshot.Day(rapid.IntRange(1_000, 1_100).Draw(t, "date"))
		lanes := make([][]snapshot.Point, rapid.IntRange(1, 4).Draw(t, "lanes"))
		for lane := range lanes {
			lanes[lane] = drawClosable(t, date)
		}
		h := fixture.NewHistory(lanes, date)

		for lane, points := range lanes {
			from := snapshot.Day(rapid.IntRange(600, 1_110).Draw(t, "from"))
			to := snapshot.Day(rapid.IntRange(600, 1_110).Draw(t, "to"))
			outside := func(p snapshot.Point) bool { return p.Day < from || p.Day > to }
			want := slices.DeleteFunc(slices.Clone(points), outside)
			if got := h.AppendPoints(nil, lane, from, to); !slices.Equal(got, want) {
				t.Fatalf("lane %d from %d to %d: %v, want %v", lane, from, to, got, want)
			}
			if h.Has(lane) != (len(points) > 0) {
				t.Fatalf("lane %d has %d points, Has is %t", lane, len(points), h.Has(lane))
			}
			if len(points) == 0 {
				continue
			}

			end := points[len(points)-1]
			unchanged := 0
			for _, p := range slices.Backward(points[:len(points)-1]) {
				if p.Cents != end.Cents || p.Day != end.Day-snapshot.Day(unchanged)-1 {
					break
				}
				unchanged++
			}
			if got := h.DaysUnchanged(lane, end.Day); got != unchanged {
				t.Fatalf("lane %d has one price for %d days, want %d: %v", lane, got, unchanged, points)
			}
			if got := h.LastDay(lane); got != end.Day {
				t.Fatalf("the last day of lane %d is %d, want %d", lane, got, end.Day)
			}
		}
	})
}

// drawClosable draws points of the year up to a date, with long stretches of one price and few gaps.
func drawClosable(t *rapid.T, date snapshot.Day) (points []snapshot.Point) {
	price := int64(0)
	day := date - snapshot.Day(rapid.SampledFrom([]int{0, 20, 40, 364}).Draw(t, "days"))
	for day <= date {
		price = max(price+int64(rapid.SampledFrom([]int{0, 1, -1, 40, 900}).Draw(t, "change")), 0)
		for range rapid.SampledFrom([]int{0, 1, 5, 33, 400}).Draw(t, "days of one price") {
			if day <= date {
				points = append(points, snapshot.Point{Day: day, Cents: price})
			}
			day++
		}
		day += snapshot.Day(rapid.SampledFrom([]int{0, 0, 1, 70}).Draw(t, "gap"))
	}
	return points
}

// nextPrices is a world of a year, and the same world with other prices of its newest day.
func nextPrices() (day, next *snapshot.Catalog) {
	w := fixture.Random(7, fixture.Size{Sets: 2, Cards: 12, Sealed: 2, Days: 200})
	day = w.Catalog()
	other := w.Clone()
	for i := range other.Cards {
		for k := range other.Cards[i].Lanes {
			points := other.Cards[i].Lanes[k].Points
			for p := range points {
				if points[p].Day == w.Date() {
					points[p].Cents++
				}
			}
		}
	}
	return day, other.Catalog()
}

// TestClosedDaysAreShared: two snapshots with the same closed days have them once in memory, and each has its own
// file, which is checked.
func TestClosedDaysAreShared(t *testing.T) {
	day, next := nextPrices()
	root := t.TempDir()
	first := write(t, openDir(root), day)
	second := write(t, openDir(root), next)
	load := func(id string) *snapshot.Catalog {
		t.Helper()
		c, err := openDir(root).Load(t.Context(), id, func() {})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}

	a := load(first.ID)
	b := load(second.ID)
	if a.History.Closed.Len() == 0 || a.History.Closed != b.History.Closed {
		t.Errorf("%d lists are in memory twice", a.History.Closed.Len())
	}
	closed := sectionOf(second, "closed")
	other := sectionOf(second, "history")
	if !closed.InMemory() || other.InMemory() {
		t.Error("the memory that a load takes is wrong")
	}
	if dump(b) != dump(next) {
		t.Error("the catalog is not the one that was stored")
	}
	if points := first.Counts.HistoryPoints; points == 0 || points != second.Counts.HistoryPoints {
		t.Errorf("%d points, and then %d", points, second.Counts.HistoryPoints)
	}

	path := filepath.Join(openDir(root).Path(second.ID), "closed.msgpack.zst")
	disktest.FlipBit(t, path)
	if _, err := openDir(root).Load(context.Background(), second.ID, nil); !errors.Is(err, snapshot.ErrDamaged) {
		t.Errorf("a damaged file loads: %v", err)
	}
	if a.History.Closed == nil {
		t.Error("the first catalog has lost its days")
	}
}

// TestClosedDaysAreTakenOver: a catalog with the closed days of a stored one gets the file of that one. If that is
// damaged, it gets a new one of the same bytes.
func TestClosedDaysAreTakenOver(t *testing.T) {
	day, next := nextPrices()
	d := openDir(t.TempDir())
	first := write(t, d, day)
	base, err := d.LoadBase(t.Context(), first.ID)
	if err != nil {
		t.Fatal(err)
	}

	next.History.Closed = base.History.Closed
	for i := range 2 {
		next.SnapshotAt += 1000
		m := write(t, d, next)
		if got := sectionOf(m, "closed"); got != sectionOf(first, "closed") {
			t.Errorf("the section is %+v, want that of the base", got)
		}
		if err := d.Verify(m.ID); err != nil {
			t.Error(err)
		}
		if i == 0 {
			disktest.FlipBit(t, filepath.Join(d.Path(first.ID), "closed.msgpack.zst"))
		}
	}
}

func sectionOf(m *snapshot.Manifest, name string) snapshot.Section {
	return m.Sections[slices.IndexFunc(m.Sections, func(s snapshot.Section) bool { return s.Name == name })]
}

// TestOldCatalogIsWritten writes a catalog of format 3 as one of today: its content stays.
func TestOldCatalogIsWritten(t *testing.T) {
	old := snapshot.OpenStore(filepath.Join("testdata", "backcompat", "format-3"))
	cur, err := old.Current()
	if err != nil {
		t.Fatal(err)
	}
	c, err := old.Load(t.Context(), cur.ID, nil)
	if err != nil {
		t.Fatal(err)
	}

	d := openDir(t.TempDir())
	m := write(t, d, c)
	again, err := d.Load(t.Context(), m.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	if m.Format != snapshot.Format || dump(again) != dump(c) {
		t.Errorf("it is another catalog in format %d", m.Format)
	}
}

// TestSharedClosedDaysAreChecked: a snapshot with the closed days of a catalog in memory is refused if they do not
// fit the rest of it, as it is without that catalog.
func TestSharedClosedDaysAreChecked(t *testing.T) {
	day, _ := nextPrices()
	d := openDir(t.TempDir())
	m := write(t, d, day)
	files := snapshotFiles(t, d, m.ID)
	inMemory, err := d.Load(t.Context(), m.ID, nil)
	if err != nil {
		t.Fatal(err)
	}

	fewer := newForger(t)
	fewer.put("closed", files["closed.msgpack.zst"], int(sectionOf(m, "closed").Raw))
	*fewer.section("closed") = sectionOf(m, "closed")
	earlier := &forger{m: m, files: files, root: t.TempDir()}
	withoutOpen := *day
	withoutOpen.History.Points = nil
	withoutOpen.History.Of = snapshot.Lists{}
	for range day.History.Of.Len() {
		withoutOpen.History.Of.Append(0)
	}
	sections, err := snapshot.EncodeSections(&withoutOpen)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.Index(snapshot.SectionNames(), "history")
	earlier.put("history", pack(t, sections[i]), len(sections[i]))
	earlier.m.SnapshotAt = m.SnapshotAt.AddDate(0, 0, -100)

	for what, f := range map[string]*forger{"has lists that no lane has": fewer, "days of its points": earlier} {
		store, id := f.store(t)
		if _, err := store.Load(t.Context(), id, nil); !errors.Is(err, snapshot.ErrDamaged) ||
			!strings.Contains(err.Error(), what) {
			t.Errorf("want %q, got %v", what, err)
		}
	}
	runtime.KeepAlive(inMemory)
}

// TestUnverifiedClosedDays: closed days with the checksum of others are not taken for these where that counts.
func TestUnverifiedClosedDays(t *testing.T) {
	day, next := nextPrices()
	d := openDir(t.TempDir())
	honest := write(t, d, next)

	others := openDir(t.TempDir())
	forgedDays := *day.History.Closed
	forgedDays.Points = nil
	forgedDays.Of = snapshot.Lists{}
	var points []snapshot.Point
	for list := range day.History.Closed.Len() {
		points = snapshot.DecodePoints(points[:0], day.History.Closed.Stored(list), 0, day.Date())
		points[0].Cents += 7
		forgedDays.Points = snapshot.EncodePoints(forgedDays.Points, points)
		forgedDays.Of.Append(len(forgedDays.Points))
	}
	day.History.Closed = &forgedDays
	m := write(t, others, day)
	f := &forger{m: m, files: snapshotFiles(t, others, m.ID), root: t.TempDir()}
	f.section("closed").SHA256 = sectionOf(honest, "closed").SHA256
	store, id := f.store(t)
	forged, err := store.Load(t.Context(), id, nil)
	if err != nil {
		t.Fatal(err)
	}

	verified, err := d.LoadBase(t.Context(), honest.ID)
	if err != nil {
		t.Fatal(err)
	}
	// A build computes them again.
	verified.Stats = next.Stats
	verified.Movers = next.Movers
	if dump(verified) != dump(next) {
		t.Error("the verified catalog has other points")
	}

	// Nor are they written again under that checksum.
	forged.SnapshotAt += 1000
	again := write(t, d, forged)
	if sectionOf(again, "closed").SHA256 == sectionOf(honest, "closed").SHA256 || d.Verify(again.ID) != nil {
		t.Errorf("the section is %+v", sectionOf(again, "closed"))
	}
}
