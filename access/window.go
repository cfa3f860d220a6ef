package access

import (
	"cmp"
	"slices"

	"ninepocket/calendar"
)

const (
	// ringLimit is the highest limit kept as single admission times; above it, admissions are
	// counted in buckets (decision 12).
	ringLimit = 1000
	// bucketMillis is the width of a bucket. A unit of a bucketed window frees at most this much later
	// than necessary.
	bucketMillis = int64(100)
	// bucketSpan is how many buckets, including the current one, can have admissions less than a
	// minute old.
	bucketSpan = calendar.MinuteMillis/bucketMillis + 1
	// bucketCount leaves room for calls that arrive up to 40 s after later ones.
	bucketCount = 1024
)

// window admits at most limit calls in any 60 seconds. Times are milliseconds of the store's own
// time, which only runs forward, but calls may arrive slightly out of order. The zero window is
// empty, and resize sets its limit. The caller locks.
//
// Up to ringLimit it is a ring of the last admissions: a call is admitted when the limit-th last
// admission is a minute old. Nothing else removes an admission, so a late call is checked against
// all that it can collide with.
type window struct {
	limit    int
	restored []tick // admissions from before this process, until resize

	times []int64 // ring; len is its capacity, at least limit
	head  int     // position of the oldest
	count int     // admissions in the ring
	live  int     // of these, the newest that are under a minute old: for Remaining only

	buckets []uint32 // by bucket number modulo bucketCount
	newest  int64    // highest bucket number used
	tail    int64    // lowest bucket number counted in sum
	oldest  int64    // the buckets from tail up to here are empty
	sum     int64
}

// tick is n admissions at one millisecond.
type tick struct {
	at int64
	n  int64
}

// resize sets the limit, and preserves the window's admissions.
func (w *window) resize(limit int, at int64) {
	if w.limit == limit {
		return
	}

	// Admissions of the last minute move over; older ones do not count any more.
	ticks := w.ticks(at)
	*w = window{limit: limit}

	var total int64
	for _, tick := range ticks {
		total += tick.n
	}

	if limit > ringLimit {
		w.buckets = make([]uint32, bucketCount)
		w.newest = at / bucketMillis
		w.tail = w.newest - bucketSpan + 1
		w.oldest = w.tail
		for _, tick := range ticks {
			w.put(tick.at/bucketMillis, tick.n)
		}
		return
	}

	// A lowered limit may be below the number of admissions: the ring has all of them.
	w.times = make([]int64, max(int64(limit), total))
	for _, tick := range ticks {
		for range tick.n {
			w.push(tick.at)
		}
	}
}

// peek reports whether one more call fits at a time, how many units remain without it, and in how many
// milliseconds the next unit frees (0 when none is taken). If the call does not fit, nothing remains
// and the wait is at least 1.
func (w *window) peek(at int64) (ok bool, remaining, wait int64) {
	if w.buckets != nil {
		return w.peekBuckets(at)
	}

	// Admissions that are a minute old no longer reduce what remains.
	for w.live > 0 && at-w.nthNewest(w.live) >= calendar.MinuteMillis {
		w.live--
	}

	// Only the limit-th last admission decides, not live.
	if w.count >= w.limit {
		if age := at - w.nthNewest(w.limit); age < calendar.MinuteMillis {
			return false, 0, calendar.MinuteMillis - age
		}
	}
	return true, max(0, int64(w.limit-w.live)), w.untilFree(at)
}

// take records an admission that peek allowed. It returns what remains after it, and the wait.
func (w *window) take(at int64) (remaining, wait int64) {
	if w.buckets != nil {
		w.put(at/bucketMillis, 1)
		_, remaining, wait = w.peekBuckets(at)
		return remaining, wait
	}
	w.push(at)
	return max(0, int64(w.limit-w.live)), w.untilFree(at)
}

func (w *window) untilFree(at int64) int64 {
	if w.live == 0 {
		return 0
	}
	return max(1, calendar.MinuteMillis-(at-w.nthNewest(w.live)))
}

// nthNewest returns the n-th last admission time, 1 being the newest.
func (w *window) nthNewest(n int) int64 {
	return w.times[w.slotOf(w.count-n)]
}

// slotOf returns the ring's position of admission n, 0 being the oldest.
func (w *window) slotOf(n int) int {
	n += w.head
	if n >= len(w.times) {
		n -= len(w.times)
	}
	return n
}

// push adds an admission, and overwrites the oldest of a full ring. Times stay sorted: a late call
// gets the time of the newest.
func (w *window) push(at int64) {
	if w.count > 0 {
		at = max(at, w.nthNewest(1))
	}

	if w.count == len(w.times) { // the oldest leaves
		w.head = w.slotOf(1)
		w.count--
	}

	w.times[w.slotOf(w.count)] = at
	w.count++
	w.live = min(w.live+1, len(w.times))
}

func (w *window) peekBuckets(at int64) (ok bool, remaining, wait int64) {
	if !w.dropBefore(at/bucketMillis - bucketSpan + 1) {
		return false, 0, calendar.MinuteMillis
	}

	if w.sum > 0 {
		for w.buckets[w.oldest%bucketCount] == 0 {
			w.oldest++
		}
		wait = max(1, (w.oldest+bucketSpan)*bucketMillis-at)
	}

	remaining = int64(w.limit) - w.sum
	if remaining <= 0 {
		return false, 0, wait
	}
	return true, remaining, wait
}

// dropBefore makes sum count the buckets from first on. It fails if the call is so late that the
// buckets it needs were reused.
func (w *window) dropBefore(first int64) bool {
	if first <= w.newest-bucketCount {
		return false
	}
	if first > w.newest {
		w.tail = w.newest + 1 // a minute without an admission
		w.oldest = w.tail
		w.sum = 0
		return true
	}

	for ; w.tail < first; w.tail++ {
		w.sum -= int64(w.buckets[w.tail%bucketCount])
	}
	w.oldest = max(w.oldest, w.tail)

	// A late call needs earlier buckets than the calls before it.
	for w.tail > first {
		w.tail--
		w.sum += int64(w.buckets[w.tail%bucketCount])
		w.oldest = w.tail
	}
	return true
}

// put counts n admissions in a bucket, and clears the buckets that come into use.
func (w *window) put(bucket, n int64) {
	if bucket > w.newest {
		for number := max(w.newest+1, bucket-bucketCount+1); number <= bucket; number++ {
			// The slot has the counts of an earlier bucket. If that is between tail and newest, sum
			// includes them, and they are subtracted. The counts of an even older one are not in sum.
			if before := number - bucketCount; before >= w.tail && before <= w.newest {
				w.sum -= int64(w.buckets[number%bucketCount])
			}
			w.buckets[number%bucketCount] = 0
		}
		w.newest = bucket
		w.tail = max(w.tail, w.newest-bucketCount+1)
		w.oldest = max(w.oldest, w.tail)
	}
	if bucket <= w.newest-bucketCount {
		return // too old to be checked again
	}

	w.buckets[bucket%bucketCount] += uint32(n)
	if bucket >= w.tail {
		w.sum += n
		w.oldest = min(w.oldest, bucket)
	}
}

// ticks returns the admissions that are less than a minute old, oldest first. A bucket's admissions
// count as made in its last millisecond.
func (w *window) ticks(at int64) []tick {
	var out []tick
	add := func(one tick) {
		if at-one.at >= calendar.MinuteMillis || one.n == 0 {
			return
		}
		if last := len(out) - 1; last >= 0 && out[last].at == one.at {
			out[last].n += one.n
			return
		}
		out = append(out, one)
	}

	for _, tick := range w.restored { // the oldest
		add(tick)
	}
	for n := w.count; n > 0; n-- {
		add(tick{at: w.nthNewest(n), n: 1})
	}
	if w.buckets != nil {
		for number := max(0, w.newest-bucketCount+1); number <= w.newest; number++ {
			add(tick{at: number*bucketMillis + bucketMillis - 1, n: int64(w.buckets[number%bucketCount])})
		}
	}
	return out
}

// restore adds an admission from before this process. It may only be called before the first resize.
func (w *window) restore(one tick) {
	later := func(have tick, at int64) int { return cmp.Compare(have.at, at) }
	i, _ := slices.BinarySearchFunc(w.restored, one.at+1, later)
	if i > 0 && w.restored[i-1].at == one.at {
		w.restored[i-1].n += one.n
		return
	}
	w.restored = slices.Insert(w.restored, i, one)
}
