// Package counters counts on hot paths: tables of counters and histograms of durations that are
// cheap to add to and expensive to read.
//
// A table has a copy in each of several shards, so that cores that count at the same time do not
// share one cache line. A writer takes a shard once and stores it in its pooled object, so it stays on
// one core. A reader adds the shards up. Adding is one atomic addition, without a lock and without an
// allocation.
//
// Sums over several counters are not taken at one instant: a reader may see a call counted in one and
// not yet in another.
package counters

import (
	"sync/atomic"
	"time"
)

// Shards is the number of copies of a table, a power of two. More cores than that share copies.
const Shards = 16

// Shard is one copy of each table.
type Shard uint32

var lastShard atomic.Uint32

// NextShard returns the shards in turn.
func NextShard() Shard { return Shard(lastShard.Add(1) % Shards) }

// shardGap is how many counters separate two shards: two cache lines, because processors fetch them in
// pairs.
const shardGap = 128 / 8

// Counters is a table of numbers that only grow. It is safe for concurrent use.
type Counters struct {
	columns int
	shards  [Shards][]atomic.Uint64
}

// NewCounters returns a table of zeros.
func NewCounters(rows, columns int) *Counters {
	c := &Counters{columns: columns}
	for s := range c.shards {
		c.shards[s] = make([]atomic.Uint64, shardGap+rows*columns+shardGap)[shardGap : shardGap+rows*columns]
	}
	return c
}

// Add adds n to a counter.
func (c *Counters) Add(s Shard, row, column int, n uint64) {
	c.shards[s%Shards][row*c.columns+column].Add(n)
}

// Sum is a counter's value.
func (c *Counters) Sum(row, column int) (n uint64) {
	for s := range c.shards {
		n += c.shards[s][row*c.columns+column].Load()
	}
	return n
}

// Durations is a histogram of durations for each of several rows. It is safe for concurrent use.
type Durations struct {
	bounds []time.Duration
	counts *Counters // of each row: a counter per bucket, one for durations above all bounds, and the sum
}

// NewDurations returns empty histograms whose buckets end at bounds, in ascending order.
func NewDurations(rows int, bounds ...time.Duration) *Durations {
	return &Durations{bounds: bounds, counts: NewCounters(rows, len(bounds)+2)}
}

// Observe counts a duration.
func (d *Durations) Observe(s Shard, row int, took time.Duration) {
	took = max(took, 0) // a clock may step back

	bucket := 0
	for bucket < len(d.bounds) && took > d.bounds[bucket] { // most calls end in the first few
		bucket++
	}

	d.counts.Add(s, row, bucket, 1)
	d.counts.Add(s, row, len(d.bounds)+1, uint64(took))
}

// Since counts the duration from a time until now. It takes the shards in turn, for callers that have no
// shard of their own.
func (d *Durations) Since(row int, began time.Time) { d.Observe(NextShard(), row, time.Since(began)) }

// Histogram is what was observed.
type Histogram struct {
	Bounds []time.Duration // the upper ends of the buckets; shared, not to be changed
	Counts []uint64        // of each bucket, and of durations above the last bound
	Sum    time.Duration
}

// Count returns the number of durations.
func (h *Histogram) Count() (n uint64) {
	for _, c := range h.Counts {
		n += c
	}
	return n
}

// Row returns the histogram of a row.
func (d *Durations) Row(row int) Histogram {
	h := Histogram{Bounds: d.bounds, Counts: make([]uint64, len(d.bounds)+1)}
	for k := range h.Counts {
		h.Counts[k] = d.counts.Sum(row, k)
	}
	h.Sum = time.Duration(d.counts.Sum(row, len(d.bounds)+1))
	return h
}

// Decades returns bounds of 1, 2 and 5 in every power of ten from one duration to another.
func Decades(from, to time.Duration) (bounds []time.Duration) {
	for power := time.Duration(1); power <= to; power *= 10 {
		for _, b := range []time.Duration{power, 2 * power, 5 * power} {
			if from <= b && b <= to {
				bounds = append(bounds, b)
			}
		}
	}
	return bounds
}
