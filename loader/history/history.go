// Package history gathers the prices of lanes by day, in layers that lie over each other.
package history

import (
	"slices"

	"ninepocket/snapshot"
)

const (
	// pendingRows bounds the daily rows that wait to be packed.
	pendingRows = 1 << 20
	// maxRuns is how many packed runs there may be before they are packed together.
	maxRuns = 24
)

// run is a batch of encoded points, list k of the history being lane[k]'s. Prices are stored one
// higher, so that 0 can stand for a day whose row has no price and hides what weaker layers have.
type run struct {
	lane   []uint32
	points snapshot.History
}

// add appends a lane's points, which ascend by day.
func (r *run) add(lane int32, points []snapshot.Point) {
	r.lane = append(r.lane, uint32(lane))
	r.points.Points = snapshot.EncodePoints(r.points.Points, points)
	r.points.Of.Append(len(r.points.Points))
}

// Layers hold the points of all lanes in runs: rows of history files, weakest, and daily rows over them.
// No row is stored twice: daily rows wait in a bounded buffer and are packed from there.
type Layers struct {
	wide    run // as the files have them
	daily   []run
	pending []dailyRow
	oldest  snapshot.Day // rows before this date can no longer be part of the catalog
	points  []snapshot.Point

	// Pending bounds the daily rows that wait, and Runs the packed runs before they are packed together.
	Pending, Runs int
}

// New has no row yet.
func New() Layers {
	return Layers{oldest: snapshot.NoDay, Pending: pendingRows, Runs: maxRuns}
}

// dailyRow is a row that waits.
type dailyRow struct {
	lane  int32
	day   snapshot.Day
	cents int64
}

// AddDaily adds a day's row; NoCents hides the day.
func (h *Layers) AddDaily(lane int32, day snapshot.Day, cents int64, lanes int) {
	h.Observe(day)
	if day < h.oldest {
		return
	}

	h.pending = append(h.pending, dailyRow{lane, day, cents})
	if len(h.pending) >= h.Pending {
		h.flush(lanes)
	}
}

// Observe moves the date before which nothing is stored: the catalog's date is at least that of any row.
func (h *Layers) Observe(day snapshot.Day) { h.oldest = max(h.oldest, day-snapshot.HistoryDays+1) }

// AddWide adds a lane's points of a history file.
func (h *Layers) AddWide(lane int32, points []snapshot.Point) {
	if len(points) == 0 {
		return
	}

	h.Observe(points[len(points)-1].Day)
	// Days that are too old already are not stored at all.
	k, _ := slices.BinarySearchFunc(points, h.oldest,
		func(point snapshot.Point, day snapshot.Day) int { return int(point.Day - day) })
	h.points = h.points[:0]
	for _, point := range points[k:] {
		h.points = append(h.points, snapshot.Point{Day: point.Day, Cents: point.Cents + 1})
	}

	if len(h.points) > 0 {
		h.wide.add(lane, h.points)
	}
}

// flush packs what waits into a run.
func (h *Layers) flush(lanes int) {
	if len(h.pending) == 0 {
		return
	}

	start, sorted := byLane(lanes, h.pending, func(row dailyRow) int32 { return row.lane })
	var out run
	for lane := range lanes {
		rows := sorted[start[lane]:start[lane+1]]
		if len(rows) > 0 {
			out.add(int32(lane), h.pack(rows))
		}
	}

	h.pending = h.pending[:0]
	h.daily = append(h.daily, out)
	if len(h.daily) > h.Runs {
		h.compact(lanes)
	}
}

// pack turns a lane's rows, in the order of arrival, into points: of two rows of a day the later
// stands.
func (h *Layers) pack(rows []dailyRow) []snapshot.Point {
	// Feeds give days in order, as a rule.
	if !slices.IsSortedFunc(rows, func(a, b dailyRow) int { return int(a.day - b.day) }) {
		slices.SortStableFunc(rows, func(a, b dailyRow) int { return int(a.day - b.day) })
	}

	h.points = h.points[:0]
	for i, row := range rows {
		if i+1 == len(rows) || rows[i+1].day != row.day {
			h.points = append(h.points, snapshot.Point{Day: row.day, Cents: row.cents + 1})
		}
	}

	return h.points
}

// compact packs all daily runs into one and forgets what is too old.
func (h *Layers) compact(lanes int) {
	// Later runs lie over earlier ones, so that a lane's window holds what stands.
	reader := &Reader{daily: h.daily, from: h.oldest, to: h.oldest + snapshot.HistoryDays - 1}
	var out run
	w := &Window{From: h.oldest}
	for lane := range lanes {
		w.clear()
		reader.overlayDaily(w, int32(lane))
		h.points = h.points[:0]
		for i := range w.cents {
			if cents := w.cents[i]; cents != unset {
				h.points = append(h.points, snapshot.Point{Day: w.From + snapshot.Day(i), Cents: cents + 1})
			}
		}

		if len(h.points) > 0 {
			out.add(int32(lane), h.points)
		}
	}

	h.daily = []run{out}
}

// unset marks a day of a window of which no layer has said anything; NoCents is a row without a
// price.
const unset = snapshot.NoCents - 1

// Window is one lane's prices over HistoryDays dates.
type Window struct {
	From  snapshot.Day
	cents [snapshot.HistoryDays]int64
}

func (w *Window) clear() {
	for i := range w.cents {
		w.cents[i] = unset
	}
}

// set notes a day's price if the day is in the window.
func (w *Window) set(day snapshot.Day, cents int64) {
	if i := int(day - w.From); i >= 0 && i < len(w.cents) {
		w.cents[i] = cents
	}
}

// AppendPoints appends the days of the window that have a price.
func (w *Window) AppendPoints(dst []snapshot.Point) []snapshot.Point {
	for i, cents := range &w.cents {
		if cents >= 0 {
			dst = append(dst, snapshot.Point{Day: w.From + snapshot.Day(i), Cents: cents})
		}
	}
	return dst
}

// Base returns the price that a change over days compares with (decision 20). It is the latest
// observation on or before that many days before the window's last date, at most 7 days older.
func (w *Window) Base(days int) int64 {
	for i := len(w.cents) - 1 - days; i >= len(w.cents)-1-days-7 && i >= 0; i-- {
		if w.cents[i] >= 0 {
			return w.cents[i]
		}
	}
	return snapshot.NoCents
}

// Reader reads the layers of one lane after another, in any order.
type Reader struct {
	wide     *run
	order    []int32 // of the wide run's lists: by lane, then arrival
	start    []int32 // lane's part of order begins here
	daily    []run
	base     *snapshot.Catalog
	from, to snapshot.Day
	points   []snapshot.Point
}

// Read reads the dates in [from, to]; base is what lies between the two layers, nil for nothing. Nothing
// is added afterwards.
func (h *Layers) Read(base *snapshot.Catalog, lanes int, from, to snapshot.Day) *Reader {
	h.flush(lanes)
	if len(h.daily) > 1 {
		h.compact(lanes)
	}
	r := &Reader{wide: &h.wide, daily: h.daily, base: base, from: from, to: to}
	arrival := make([]int32, len(h.wide.lane))
	for i := range arrival {
		arrival[i] = int32(i)
	}
	r.start, r.order = byLane(lanes, arrival, func(k int32) int32 { return int32(h.wide.lane[k]) })
	return r
}

// byLane sorts a list by lane and says where each lane's part begins. It is a counting sort, which
// keeps the order of arrival within a lane.
func byLane[T any](lanes int, list []T, laneOf func(T) int32) (start []int32, sorted []T) {
	start = make([]int32, lanes+1)
	for _, e := range list {
		start[laneOf(e)+1]++
	}

	for i := range lanes {
		start[i+1] += start[i]
	}

	// Each one goes behind those of its lane that came before it.
	sorted = make([]T, len(list))
	at := slices.Clone(start)
	for _, e := range list {
		lane := laneOf(e)
		sorted[at[lane]] = e
		at[lane]++
	}

	return start, sorted
}

// Overlay clears the window and applies a lane's layers over each other, weakest first. baseLane is
// the lane in the base, -1 for none. Of the days in again, which this build read as a whole, the base
// says nothing.
func (r *Reader) Overlay(w *Window, lane, baseLane int32, again []snapshot.Day) {
	w.clear()
	for _, k := range r.order[r.start[lane]:r.start[lane+1]] {
		r.applyLayer(w, &r.wide.points, int(k), 1)
	}

	if baseLane >= 0 {
		// The base's newest row may have had no price; then no history file has one for that day
		// either.
		w.set(r.base.Lanes.LastSeen[baseLane], snapshot.NoCents)
		r.applyLayer(w, &r.base.History, int(baseLane), 0, again...)
	}

	r.overlayDaily(w, lane)
}

// overlayDaily lays the daily runs of a lane over what is there.
func (r *Reader) overlayDaily(w *Window, lane int32) {
	for i := range r.daily {
		run := &r.daily[i]
		if k, ok := slices.BinarySearch(run.lane, uint32(lane)); ok {
			r.applyLayer(w, &run.points, k, 1)
		}
	}
}

// applyLayer writes the points of one list over the window, but for some days; stored prices are shift
// too high.
func (r *Reader) applyLayer(w *Window, h *snapshot.History, list int, shift int64, except ...snapshot.Day) {
	r.points = h.AppendPoints(r.points[:0], list, r.from, r.to)
	for _, point := range r.points {
		if !slices.Contains(except, point.Day) {
			w.set(point.Day, point.Cents-shift)
		}
	}
}
