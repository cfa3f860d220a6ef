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
	// bucketCount is the length of the bucket ring: bucketSpan, and 40 s more for calls that arrive out of
	// order.
	bucketCount = 1024
)

// window admits at most limit calls in any 60 seconds. Times are milliseconds of the store's own
// time, which only runs forward, but calls may arrive slightly out of order. The zero window is
// empty, and resize sets its limit. The caller locks.
//
// Up to ringLimit it is a ring of the last admissions: a call is admitted when the limit-th last
// admission is a minute old. Only
// a newer admission overwrites an old one, and age never does. So a late call still finds every
// admission that can refuse it.
type window struct {
	limit    int
	restored []burst // admissions from before this process, until resize

	times []int64 // ring; len is its capacity, at least limit
	head  int     // position of the oldest
	count int     // admissions in the ring
	// live counts the newest of these: those under a minute old at the last peek, and those since.
	// It serves the remaining calls and the wait, not admission.
	live int

	buckets   []uint32 // by bucket number modulo bucketCount
	newest    int64    // highest bucket number used
	sumFrom   int64    // sum counts the buckets sumFrom..newest
	firstUsed int64    // no bucket of sumFrom..firstUsed-1 has an admission
	sum       int64
}

// burst is n admissions that share one millisecond.
type burst struct {
	at int64
	n  int64
}

// resize sets the limit, and preserves the admissions of the last minute.
func (w *window) resize(limit int, at int64) {
	if w.limit == limit {
		return
	}

	// Admissions of the last minute move over; older ones do not count any more.
	bursts := w.bursts(at)
	*w = window{limit: limit}

	var total int64
	for _, burst := range bursts {
		total += burst.n
	}

	if limit > ringLimit {
		w.buckets = make([]uint32, bucketCount)
		w.newest = at / bucketMillis
		w.sumFrom = w.newest - bucketSpan + 1
		w.firstUsed = w.sumFrom
		for _, burst := range bursts {
			w.put(burst.at/bucketMillis, burst.n)
		}
		return
	}

	// A lowered limit may be below the number of admissions: the ring has all of them.
	w.times = make([]int64, max(int64(limit), total))
	for _, burst := range bursts {
		for range burst.n {
			w.push(burst.at)
		}
	}
}

// peek reports whether a call at a time fits, how many calls fit in all, this one included, and after how
// many milliseconds one more unit is free (0 if no unit is taken). If the call does not fit, nothing remains and
// the wait is at least 1. It forgets no admission, but brings live, sum, sumFrom and firstUsed up to
// that time.
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
	if !w.sumFromBucket(at/bucketMillis - bucketSpan + 1) {
		return false, 0, calendar.MinuteMillis
	}

	if w.sum > 0 {
		for w.buckets[w.firstUsed%bucketCount] == 0 {
			w.firstUsed++
		}
		wait = max(1, (w.firstUsed+bucketSpan)*bucketMillis-at)
	}

	remaining = int64(w.limit) - w.sum
	if remaining <= 0 {
		return false, 0, wait
	}
	return true, remaining, wait
}

// sumFromBucket makes sum count the buckets from first on, also if first is lower than before. It
// returns false if a bucket that it needs was reused.
func (w *window) sumFromBucket(first int64) bool {
	if first <= w.newest-bucketCount {
		return false
	}
	if first > w.newest {
		w.sumFrom = w.newest + 1 // a minute without an admission
		w.firstUsed = w.sumFrom
		w.sum = 0
		return true
	}

	for ; w.sumFrom < first; w.sumFrom++ {
		w.sum -= int64(w.buckets[w.sumFrom%bucketCount])
	}
	w.firstUsed = max(w.firstUsed, w.sumFrom)

	// A late call needs earlier buckets than the calls before it.
	for w.sumFrom > first {
		w.sumFrom--
		w.sum += int64(w.buckets[w.sumFrom%bucketCount])
		w.firstUsed = w.sumFrom
	}
	return true
}

// put counts n admissions in a bucket, and clears the buckets that come into use.
func (w *window) put(bucket, n int64) {
	if bucket > w.newest {
		for number := max(w.newest+1, bucket-bucketCount+1); number <= bucket; number++ {
			// The slot has the counts of an earlier bucket. If that is between sumFrom and newest, sum
			// includes them, and they are subtracted. The counts of an even older one are not in sum.
			if before := number - bucketCount; before >= w.sumFrom && before <= w.newest {
				w.sum -= int64(w.buckets[number%bucketCount])
			}
			w.buckets[number%bucketCount] = 0
		}
		w.newest = bucket
		w.sumFrom = max(w.sumFrom, w.newest-bucketCount+1)
		w.firstUsed = max(w.firstUsed, w.sumFrom)
	}
	if bucket <= w.newest-bucketCount {
		return // too old to be checked again
	}

	w.buckets[bucket%bucketCount] += uint32(n)
	if bucket >= w.sumFrom {
		w.sum += n
		w.firstUsed = min(w.firstUsed, bucket)
	}
}

// bursts returns the admissions that are less than a minute old, oldest first. A bucket's admissions
// count as made in its last millisecond.
func (w *window) bursts(at int64) []burst {
	var out []burst
	add := func(one burst) {
		if at-one.at >= calendar.MinuteMillis || one.n == 0 {
			return
		}
		if last := len(out) - 1; last >= 0 && out[last].at == one.at {
			out[last].n += one.n
			return
		}
		out = append(out, one)
	}

	for _, burst := range w.restored { // the oldest
		add(burst)
	}
	for n := w.count; n > 0; n-- {
		add(burst{at: w.nthNewest(n), n: 1})
	}
	if w.buckets != nil {
		for number := max(0, w.newest-bucketCount+1); number <= w.newest; number++ {
			add(burst{at: number*bucketMillis + bucketMillis - 1, n: int64(w.buckets[number%bucketCount])})
		}
	}
	return out
}

// restore adds the admissions of one millisecond from before this process, in any order. It may
// only be called before the first resize.
func (w *window) restore(one burst) {
	compareAt := func(have burst, at int64) int { return cmp.Compare(have.at, at) }
	i, _ := slices.BinarySearchFunc(w.restored, one.at+1, compareAt)
	if i > 0 && w.restored[i-1].at == one.at {
		w.restored[i-1].n += one.n
		return
	}
	w.restored = slices.Insert(w.restored, i, one)
}
