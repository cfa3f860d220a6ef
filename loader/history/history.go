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

// blockLists is how many lists a block of a run has. Blocks end up full, and are not copied then.
const blockLists = 4096

// run is a batch of encoded points, list k of the blocks being lane[k]'s. Prices are stored one
// higher, so that 0 can stand for a day whose row has no price and hides the weaker layers.
type run struct {
	lane   []uint32
	last   []snapshot.Point // of each list
	blocks []snapshot.History
}

// add appends a lane's points, which ascend by day. A day without a price has NoCents.
func (r *run) add(lane int32, points []snapshot.Point) {
	if len(r.lane)%blockLists == 0 {
		var next snapshot.History
		// Blocks of a run are about equally long.
		if n := len(r.blocks); n > 0 {
			next.Points = make([]byte, 0, len(r.blocks[n-1].Points)*9/8)
		}
		r.blocks = append(r.blocks, next)
	}

	r.lane = append(r.lane, uint32(lane))
	r.last = append(r.last, points[len(points)-1])
	block := &r.blocks[len(r.blocks)-1]
	// Only the first price is stored as such, all others by their difference.
	first := snapshot.Point{Day: points[0].Day, Cents: points[0].Cents + 1}
	block.Points = snapshot.EncodePoints(block.Points, []snapshot.Point{first})
	block.Points = snapshot.ExtendPoints(block.Points, points[0], points[1:])
	block.Of.Append(len(block.Points))
}

// list is the stored form of list k.
func (r *run) list(k int32) []byte { return r.blocks[k/blockLists].Stored(int(k % blockLists)) }

func (r *run) size() (bytes int) {
	for i := range r.blocks {
		bytes += len(r.blocks[i].Points)
	}
	return bytes
}

// of is a lane's list in a run whose lanes ascend, nil without one.
func (r *run) of(lane int32) []byte {
	if k, ok := slices.BinarySearch(r.lane, uint32(lane)); ok {
		return r.list(int32(k))
	}
	return nil
}

// Layers hold the points of all lanes in runs: rows of history files, weakest, and daily rows over them.
// No row is stored twice: daily rows wait in a bounded buffer and are packed from there.
type Layers struct {
	wide    run // as the files have them
	daily   []run
	pending []dailyRow
	oldest  snapshot.Day // rows before this date can no longer be part of the catalog
	first   snapshot.Day // no row is before this date
	points  []snapshot.Point

	// Pending bounds the daily rows that wait, and Runs the packed runs before they are packed together.
	Pending, Runs int
}

// New has no row yet.
func New() Layers {
	return Layers{oldest: snapshot.NoDay, first: snapshot.MaxDay, Pending: pendingRows, Runs: maxRuns}
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

	h.first = min(h.first, day)
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

	h.first = min(h.first, points[0].Day)
	h.Observe(points[len(points)-1].Day)
	// Days that are too old already are not stored at all.
	k, _ := slices.BinarySearchFunc(points, h.oldest,
		func(point snapshot.Point, day snapshot.Day) int { return int(point.Day - day) })
	if k < len(points) {
		h.wide.add(lane, points[k:])
	}
}

// flush packs the waiting rows into a run.
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
			h.points = append(h.points, snapshot.Point{Day: row.day, Cents: row.cents})
		}
	}

	return h.points
}

// compact packs all daily runs into one and drops rows that are too old.
func (h *Layers) compact(lanes int) {
	reader := &Reader{daily: h.daily, from: h.oldest, to: h.oldest + snapshot.HistoryDays - 1}
	var out run
	for lane := range lanes {
		reader.over = reader.over[:0]
		reader.overlayDaily(int32(lane))
		if len(reader.over) > 0 {
			out.add(int32(lane), reader.over)
		}
	}

	h.daily = []run{out}
}

// Reader reads the layers of one lane after another, in any order.
type Reader struct {
	wide     *run
	order    []int32 // of the wide run's lists: by lane, then arrival
	start    []int32 // lane's part of order begins here
	daily    []run
	base     *snapshot.Catalog
	from, to snapshot.Day

	// First is the day of the first row above the base, and Open omits the base's closed days.
	First snapshot.Day
	Open  bool

	// over has the points of a lane's layers above its lowest one, NoCents for a day without a price.
	// The others are room for a layer and for two in one.
	over, points, merged []snapshot.Point
	whole                []byte // the last result of ofBase
}

// Read reads the dates in [from, to]; base lies between the two layers, nil for none. Nothing is added
// afterwards.
func (h *Layers) Read(base *snapshot.Catalog, lanes int, from, to snapshot.Day) *Reader {
	h.flush(lanes)
	if len(h.daily) > 1 {
		h.compact(lanes)
	}
	r := &Reader{wide: &h.wide, daily: h.daily, base: base, from: from, to: to, First: h.first}
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

// Size is about how many bytes all lanes will have.
func (r *Reader) Size() int {
	bytes := max(r.wide.size(), len(r.base.History.Points)+int(r.base.History.Closed.Size()))
	for i := range r.daily {
		bytes += r.daily[i].size()
	}
	return bytes
}

// Splice appends a lane's points to stored ones: its layers lie over each other, weakest first. baseLane
// is the lane in the base, -1 for none. For the days in again, which this build read as a whole, the
// base does not count.
//
// The lowest layer is mostly the only one but for the newest days: up to the first day of another
// layer, its bytes are copied unchanged.
func (r *Reader) Splice(dst []byte, lane, baseLane int32, again []snapshot.Day) (stored []byte) {
	lowest, shift, end := r.overlayAll(lane, baseLane, again)
	until := snapshot.MaxDay
	if len(r.over) > 0 && r.over[0].Day <= end.Day {
		until = max(r.over[0].Day, r.from)
	}

	// A list is long, and decoded once at most.
	dst, last, rest := snapshot.CutPoints(dst, lowest, shift, r.from, until)
	if until > end.Day && last.Day != snapshot.NoDay {
		last = end
	}
	if last.Day == snapshot.NoDay {
		r.decode(lowest, shift, until)
	} else {
		r.points, _, _ = snapshot.DecodeNext(r.points[:0], last, rest, last.Day, r.to)
	}

	r.merged = merge(r.merged[:0], r.points, r.over)
	tail := slices.DeleteFunc(r.merged, func(point snapshot.Point) bool { return point.Cents < 0 })
	return snapshot.ExtendPoints(dst, last, tail)
}

// ofBase is the stored form of a lane of the base. It stays until the next call.
func (r *Reader) ofBase(lane int32) []byte {
	h := &r.base.History
	list := h.ListOf(int(lane))
	if r.Open || list >= h.Closed.Len() {
		return h.Stored(list)
	}
	r.points = h.AppendPoints(r.points[:0], int(lane), r.from, r.to)
	r.whole = snapshot.EncodePoints(r.whole[:0], r.points)
	return r.whole
}

// overlayAll lays the layers of a lane over its lowest one, and returns that one and its last point. The day of
// a last point that is not known is after all days.
func (r *Reader) overlayAll(
	lane, baseLane int32, again []snapshot.Day,
) (lowest []byte, shift int64, end snapshot.Point) {
	r.over = r.over[:0]
	end.Day = snapshot.MaxDay
	wide := r.order[r.start[lane]:r.start[lane+1]]
	for i, k := range wide {
		if i == 0 {
			lowest = r.wide.list(k)
			shift = 1
			end = r.wide.last[k]
		} else {
			r.overlay(r.wide.list(k), 1)
		}
	}

	switch {
	case baseLane < 0:
	case len(wide)+len(again) == 0:
		lowest = r.ofBase(baseLane)
	default:
		// The base's newest row may have had no price; then no history file has one for that day
		// either.
		r.lay([]snapshot.Point{{Day: r.base.Lanes.LastSeen[baseLane], Cents: snapshot.NoCents}})
		r.overlay(r.ofBase(baseLane), 0, again...)
	}

	r.overlayDaily(lane)
	return lowest, shift, end
}

// overlayDaily lays the daily runs of a lane over the present points.
func (r *Reader) overlayDaily(lane int32) {
	for i := range r.daily {
		r.overlay(r.daily[i].of(lane), 1)
	}
}

// overlay lays a stored list over the present points, but for some days; stored prices are shift too high.
func (r *Reader) overlay(stored []byte, shift int64, except ...snapshot.Day) {
	if len(stored) > 0 {
		points := r.decode(stored, shift, r.from)
		r.lay(slices.DeleteFunc(points, func(point snapshot.Point) bool { return slices.Contains(except, point.Day) }))
	}
}

// lay lays points over the present points.
func (r *Reader) lay(points []snapshot.Point) {
	r.merged = merge(r.merged[:0], r.over, points)
	r.over, r.merged = r.merged, r.over // air: a swap
}

// decode decodes a stored list from a day on. The points stay until the next call.
func (r *Reader) decode(stored []byte, shift int64, from snapshot.Day) []snapshot.Point {
	r.points = snapshot.DecodePoints(r.points[:0], stored, from, r.to)
	for i := range r.points {
		r.points[i].Cents -= shift
	}
	return r.points
}

// merge appends the points of two layers to dst, ascending by day. Of two of a day the upper one stands.
func merge(dst, lower, upper []snapshot.Point) []snapshot.Point {
	for _, point := range upper {
		for len(lower) > 0 && lower[0].Day < point.Day {
			dst = append(dst, lower[0])
			lower = lower[1:]
		}
		if len(lower) > 0 && lower[0].Day == point.Day {
			lower = lower[1:]
		}
		dst = append(dst, point)
	}
	return append(dst, lower...)
}
